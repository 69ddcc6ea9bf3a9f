//! When to stop asking: on a signal, or when the run's time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long waiting goes on between two looks at whether to stop.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// After a signal, an answer in flight may still come within this time.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Whether to go on. Clones share the flag.
#[derive(Debug, Clone)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Stop {
    /// Stops when `flag` is set (by a signal), or asks no more questions after `deadline`.
    pub fn new(flag: Arc<AtomicBool>, deadline: Option<Instant>) -> Self {
        Self { flag, deadline }
    }

    /// Whether a signal came, or the run failed elsewhere.
    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Asks everyone to stop.
    pub fn request(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the run's time is up.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Until when an answer may come that is asked for now and has this long: not beyond the end of the run.
    pub fn until(&self, patience: Duration) -> Instant {
        let own = Instant::now() + patience;
        self.deadline.map_or(own, |deadline| own.min(deadline))
    }

    /// Sleeps until `wake`; `false` where it was cut short by a signal, or the run's time is up.
    pub(super) fn sleep_until(&self, wake: Instant) -> bool {
        loop {
            if self.requested() || self.is_late() {
                return false;
            }
            let left = wake.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(TICK));
        }
    }
}

/// Waits in ticks: until an answer may no longer come, cut short once stopping was asked for.
pub(super) struct Patience<'a> {
    stop: &'a Stop,
    until: Instant,
    stopped: Option<Instant>,
}

/// Why to wait no longer.
pub(super) enum Over {
    /// Its time is up.
    Late,
    /// The run is being stopped.
    Stopped,
}

impl<'a> Patience<'a> {
    pub(super) fn new(stop: &'a Stop, patience: Duration) -> Self {
        Self { stop, until: stop.until(patience), stopped: None }
    }

    /// How long to wait before asking again.
    pub(super) fn tick(&mut self) -> Result<Duration, Over> {
        let now = Instant::now();
        if self.stop.requested() && now >= *self.stopped.get_or_insert(now) + GRACE {
            return Err(Over::Stopped);
        }
        let left = self.until.saturating_duration_since(now);
        if left.is_zero() { Err(Over::Late) } else { Ok(left.min(TICK)) }
    }
}
