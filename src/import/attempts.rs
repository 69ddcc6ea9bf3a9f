//! Items that were asked more than once: the tries are kept, and reduced to one judgement. They are no samples of their own.

use super::round::{Attempt, State};

/// How the scores of the tries become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reducer {
    /// Their mean.
    Mean,
    /// The middle one, or the mean of the two in the middle.
    Median,
    /// The one that occurs most often; of several the one that came first.
    Mode,
    /// The best.
    Max,
    /// 1 where at least so many are right, else 0.
    AtLeast(usize),
    /// The chance that of so many tries, drawn without putting back, one is right.
    PassAt(usize),
}

impl Reducer {
    /// By the name that Inspect gives it, as in `mean` or `at_least_2`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let counted = |prefix: &str| name.strip_prefix(prefix)?.parse().ok().filter(|count| *count > 0);
        match name {
            "mean" => Some(Self::Mean),
            "median" => Some(Self::Median),
            "mode" => Some(Self::Mode),
            "max" => Some(Self::Max),
            _ => counted("at_least_").map(Self::AtLeast).or_else(|| counted("pass_at_").map(Self::PassAt)),
        }
    }

    /// The one score of a list that is not empty.
    #[allow(clippy::cast_precision_loss)] // as many tries as one sample has
    pub(super) fn reduce(self, scores: &[f64]) -> f64 {
        let n = scores.len();
        let right = scores.iter().filter(|score| **score >= 1.0).count();
        match self {
            Self::Mean => scores.iter().sum::<f64>() / n as f64,
            Self::Median => {
                let mut sorted = scores.to_vec();
                sorted.sort_by(f64::total_cmp);
                (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
            }
            Self::Mode => {
                let times = |score: f64| scores.iter().filter(|other| **other == score).count();
                let most = scores.iter().map(|score| times(*score)).max().unwrap_or_default();
                scores.iter().copied().find(|score| times(*score) == most).unwrap_or_default()
            }
            Self::Max => scores.iter().copied().fold(0.0, f64::max),
            Self::AtLeast(count) => f64::from(u8::from(right >= count)),
            Self::PassAt(count) if n - right < count => 1.0,
            // 1 - C(n - right, k) / C(n, k), as a product.
            Self::PassAt(count) => {
                1.0 - ((n - right + 1)..=n).map(|of| 1.0 - count as f64 / of as f64).product::<f64>()
            }
        }
    }
}

/// What is said of tries that should be there.
pub(super) fn lost_tries(lost: u64) -> Option<String> {
    (lost > 0).then(|| format!("{lost} of these tries are not in the files, and count as wrong"))
}

/// The state and score of an item by its tries. One that failed or was not judged is worth nothing.
pub(super) fn reduced(attempts: &[Attempt], reducer: Reducer) -> (State, Option<f64>) {
    let all = |state: State| attempts.iter().all(|attempt| attempt.state == state);
    if let Some(state) = [State::Errored, State::Unscored, State::Skipped, State::Missing].into_iter().find(|s| all(*s))
    {
        return (state, None);
    }
    let scores: Vec<f64> = attempts.iter().map(|attempt| attempt.score.unwrap_or(0.0)).collect();
    let score = reducer.reduce(&scores);
    (State::of_score(score).unwrap_or(State::Unscored), Some(score))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduce(name: &str, scores: &[f64]) -> f64 {
        Reducer::parse(name).unwrap().reduce(scores)
    }

    #[test]
    fn reducers_do_what_their_names_say() {
        let scores = [1.0, 0.0, 1.0, 0.5];
        assert_eq!(reduce("mean", &scores), 0.625);
        assert_eq!(reduce("median", &scores), 0.75);
        assert_eq!(reduce("median", &scores[..3]), 1.0);
        assert_eq!(reduce("mode", &scores), 1.0);
        assert_eq!(reduce("max", &[0.0, 0.5]), 0.5);
        assert_eq!((reduce("at_least_2", &scores), reduce("at_least_3", &scores)), (1.0, 0.0));
        // One right of three: a draw of two misses it once in three.
        assert!((reduce("pass_at_2", &[1.0, 0.0, 0.0]) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(reduce("pass_at_2", &[1.0, 1.0, 0.0]), 1.0);
        for name in ["", "average", "at_least_0", "at_least_x", "pass_at_"] {
            assert_eq!(Reducer::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_failed_try_is_worth_nothing_and_all_failed_is_a_failure() {
        let attempt = |state, score| Attempt { reply: None, state, score };
        let (right, error) = (attempt(State::Pass, Some(1.0)), attempt(State::Errored, None));
        assert_eq!(reduced(&[right, error.clone()], Reducer::Mean), (State::Partial, Some(0.5)));
        assert_eq!(reduced(&[error.clone(), error], Reducer::Mean), (State::Errored, None));
    }
}
