//! In which order questions are asked, and by what ids: both follow from a seed, and neither says anything of the key.

use std::fmt;
use std::str::FromStr;

use super::EvaluateError;
use crate::object::ObjectId;

/// 32 random bytes, drawn once a run and recorded with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed([u8; 32]);

impl Seed {
    /// A seed of these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// BLAKE3 of a purpose, a round and a question, keyed with the seed.
    fn keyed(&self, purpose: &str, round: u32, question: usize) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(purpose.as_bytes());
        hasher.update(&round.to_be_bytes());
        hasher.update(&(question as u64).to_be_bytes());
        hasher.finalize()
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ObjectId::from_bytes(self.0).fmt(f)
    }
}

impl FromStr for Seed {
    type Err = EvaluateError;

    fn from_str(text: &str) -> Result<Self, EvaluateError> {
        text.parse().map(|id: ObjectId| Self(*id.as_bytes())).map_err(|_| EvaluateError::Seed)
    }
}

/// What is asked when, and under which id.
#[derive(Debug, Clone)]
pub struct Plan {
    seed: Seed,
    rounds: u32,
    questions: usize,
}

impl Plan {
    /// `rounds` times all of `questions`.
    pub fn new(seed: Seed, rounds: u32, questions: usize) -> Self {
        Self { seed, rounds, questions }
    }

    /// The seed.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// How often every question is asked.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// How many questions there are.
    pub fn questions(&self) -> usize {
        self.questions
    }

    /// How many answers there will be.
    pub fn total(&self) -> u64 {
        u64::from(self.rounds) * self.questions as u64
    }

    /// The id under which the system sees a question, 32 hexadecimal digits: another one in every run and round.
    pub fn id(&self, round: u32, question: usize) -> String {
        self.seed.keyed("id", round, question).to_hex()[..32].to_owned()
    }

    /// The questions of a round in the order in which they are asked.
    pub fn order(&self, round: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.questions).collect();
        order.sort_by_cached_key(|question| *self.seed.keyed("order", round, *question).as_bytes());
        order
    }

    /// A number in `[0, 1)` that spreads the retries of different questions.
    pub(super) fn spread(&self, round: u32, question: usize, attempt: u32) -> f64 {
        let hash = self.seed.keyed(&format!("retry {attempt}"), round, question);
        f64::from(hash.as_bytes()[0]) / 256.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn order_and_ids_follow_from_the_seed_and_say_nothing_of_the_key() {
        let plan = Plan::new(Seed([7; 32]), 2, 200);
        let order = plan.order(0);
        assert_eq!(order, Plan::new(Seed([7; 32]), 2, 200).order(0));
        assert_ne!(order, plan.order(1));
        assert_ne!(order, Plan::new(Seed([8; 32]), 2, 200).order(0));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..200).collect::<Vec<_>>());
        assert_ne!(order, sorted);
        let ids: HashSet<_> = (0..2).flat_map(|round| (0..200).map(move |question| (round, question))).collect();
        let ids: HashSet<_> = ids.into_iter().map(|(round, question)| plan.id(round, question)).collect();
        assert_eq!(ids.len(), 400);
        assert!(ids.iter().all(|id| id.len() == 32));
    }

    #[test]
    fn a_seed_is_64_digits() {
        let text = "0707070707070707070707070707070707070707070707070707070707070707";
        assert_eq!(text.parse::<Seed>().unwrap().to_string(), text);
        for text in ["", "07", &text.replace('7', "G"), &format!("{text}0")] {
            assert!(text.parse::<Seed>().is_err(), "{text}");
        }
    }
}
