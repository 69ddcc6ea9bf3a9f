//! When a refused request is sent again: after what the server asks for, or a wait that doubles.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The first wait.
const FIRST: Duration = Duration::from_millis(500);

/// No wait of ours is longer.
const LONGEST: Duration = Duration::from_secs(30);

/// No wait that a server asks for is longer: a server that wants more time has said no.
pub(super) const MOST_PATIENT: Duration = Duration::from_secs(300);

/// Whether a status may be another one next time.
pub(super) fn is_passing(status: u16) -> bool {
    status == 429 || (500..=599).contains(&status)
}

/// The wait before the next attempt: between half and the whole of 0.5 s, doubled with each attempt (from 0), up to 30 s.
/// `spread`, in `[0, 1)`, keeps workers apart.
pub(super) fn backoff(attempt: u32, spread: f64) -> Duration {
    let whole = FIRST.saturating_mul(1 << attempt.min(16)).min(LONGEST);
    whole.mul_f64(0.5 + spread / 2.0)
}

/// What `Retry-After` asks for (RFC 9110, section 10.2.3): seconds, or a date.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Until when all workers hold back, since the server told one of them.
#[derive(Debug, Default)]
pub(super) struct Hold(Mutex<Option<Instant>>);

impl Hold {
    /// Holds everyone back until then.
    pub(super) fn extend(&self, until: Instant) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(held.map_or(until, |held| held.max(until)));
    }

    /// Until when to wait, if at all.
    pub(super) fn until(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_a_limit_and_spread() {
        let millis: Vec<_> = (0..8).map(|attempt| backoff(attempt, 0.0).as_millis()).collect();
        assert_eq!(millis, [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
        assert_eq!(backoff(0, 0.5).as_millis(), 375);
        assert_eq!(backoff(u32::MAX, 0.0).as_millis(), 15_000);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(retry_after(" 120 ", now), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now), Some(Duration::from_secs(10)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:27 GMT", now), Some(Duration::ZERO));
        for value in ["", "soon", "-1", "1.5", "99999999999"] {
            assert_eq!(retry_after(value, now), None, "{value}");
        }
    }

    #[test]
    fn only_429_and_5xx_pass() {
        let passing: Vec<_> = [200, 301, 400, 401, 404, 408, 428, 429, 430, 499, 500, 503, 599, 600]
            .into_iter()
            .filter(|status| is_passing(*status))
            .collect();
        assert_eq!(passing, [429, 500, 503, 599]);
    }
}
