//! The questions that changed sides between two rounds, by name.

use serde::Serialize;

/// One question both rounds answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedQuestion<'a> {
    /// Its id, or `#k` for the k-th without one.
    pub name: &'a str,
    /// Right in the base round.
    pub base: bool,
    /// Right in the current round.
    pub current: bool,
    /// Must pass: flagged so in the questions of either round.
    pub must_pass: bool,
    /// Its cluster, if it has one.
    pub cluster: Option<&'a str>,
}

/// Who flipped. Names are in the order of the question set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flips {
    /// Right in the base round, wrong now.
    pub newly_failing: Vec<String>,
    /// Wrong in the base round, right now.
    pub newly_passing: Vec<String>,
    /// Questions that must pass and fail now, whether or not they did before.
    pub must_pass_failing: Vec<String>,
    /// How many were right in both rounds.
    pub n11: u64,
    /// How many newly fail.
    pub n10: u64,
    /// How many newly pass.
    pub n01: u64,
    /// How many were wrong in both rounds.
    pub n00: u64,
}

impl Flips {
    /// The flips among these questions.
    pub fn of(questions: &[PairedQuestion<'_>]) -> Self {
        let count = |base, current| questions.iter().filter(|q| q.base == base && q.current == current).count() as u64;
        Self {
            newly_failing: names(questions, |q| q.base && !q.current),
            newly_passing: names(questions, |q| !q.base && q.current),
            must_pass_failing: names(questions, |q| q.must_pass && !q.current),
            n11: count(true, true),
            n10: count(true, false),
            n01: count(false, true),
            n00: count(false, false),
        }
    }
}

fn names(questions: &[PairedQuestion<'_>], chosen: impl Fn(&PairedQuestion<'_>) -> bool) -> Vec<String> {
    questions.iter().filter(|question| chosen(question)).map(|question| question.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_must_pass_is_named_even_if_it_failed_before() {
        let question =
            |name, base, current, must_pass| PairedQuestion { name, base, current, must_pass, cluster: None };
        let flips = Flips::of(&[
            question("q1", true, true, true),
            question("q2", true, false, true),
            question("q3", false, false, true),
            question("q4", true, false, false),
            question("q5", false, true, false),
        ]);
        assert_eq!(flips.newly_failing, ["q2", "q4"]);
        assert_eq!(flips.newly_passing, ["q5"]);
        assert_eq!(flips.must_pass_failing, ["q2", "q3"]);
        assert_eq!((flips.n11, flips.n10, flips.n01, flips.n00), (1, 2, 1, 1));
    }
}
