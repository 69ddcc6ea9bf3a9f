//! What came of one question: an answer, or a failed answer that says why.

use std::fmt;

use crate::object::{FieldError, Json};
use crate::question::Answer;

/// A question's spend above this is no spend (and would let one answer make the round's cost infinite).
const MAX_COST: f64 = 1e12;

/// A failed answer says why in at most so many characters.
const MAX_DETAIL: usize = 300;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The process ended, or could not be started.
    Crash,
    /// No answer came in time.
    Timeout,
    /// What came is no answer.
    Malformed,
    /// What came is too large.
    Oversize,
    /// The answer is to another question.
    OutOfOrder,
    /// A line that nobody asked for.
    Extra,
    /// The endpoint says no.
    Http,
    /// The connection failed.
    Connection,
    /// The endpoint answered without a reply.
    NoReply,
    /// The answer spent more than it may.
    Overspent,
    /// There was no budget left to ask with.
    MaxCost,
    /// The run was killed between question and answer.
    InFlight,
    /// The answer repeats a secret.
    Secret,
    /// The run's time was up before the question was asked.
    TimeUp,
}

impl Fault {
    const ALL: [Self; 14] = [
        Self::Crash,
        Self::Timeout,
        Self::Malformed,
        Self::Oversize,
        Self::OutOfOrder,
        Self::Extra,
        Self::Http,
        Self::Connection,
        Self::NoReply,
        Self::Overspent,
        Self::MaxCost,
        Self::InFlight,
        Self::Secret,
        Self::TimeUp,
    ];

    /// The word in receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Malformed => "malformed",
            Self::Oversize => "oversize",
            Self::OutOfOrder => "out-of-order",
            Self::Extra => "extra",
            Self::Http => "http",
            Self::Connection => "connection",
            Self::NoReply => "no-reply",
            Self::Overspent => "overspent",
            Self::MaxCost => "max-cost",
            Self::InFlight => "in-flight",
            Self::Secret => "secret",
            Self::TimeUp => "time-up",
        }
    }

    /// The fault of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.as_str() == word)
    }

    /// Not asked for want of budget or time is `refused`; everything else is `failed`. Neither is grounded.
    fn status(self) -> &'static str {
        if matches!(self, Self::MaxCost | Self::TimeUp) { "refused" } else { "failed" }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What came of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    reply: Json,
    receipt: Json,
    cost: f64,
    says_answered: bool,
    fault: Option<Fault>,
}

impl Outcome {
    /// An answer with the receipt that came with it; refused where it is none.
    pub fn answered(reply: Option<String>, receipt: Json) -> Result<Self, FieldError> {
        Self::of(reply.map_or(Json::Null, Json::String), receipt, None)
    }

    /// A failed answer that may have cost this many frontier calls. `detail` is for people.
    pub fn failed(fault: Fault, detail: impl AsRef<str>, calls: f64) -> Self {
        let text = |text: &str| Json::String(text.chars().take(MAX_DETAIL).collect());
        let mut members = vec![
            ("status".to_owned(), text(fault.status())),
            ("failure".to_owned(), text(fault.as_str())),
            ("detail".to_owned(), text(detail.as_ref())),
        ];
        if calls > 0.0 {
            members.push(("spend".to_owned(), spend(calls)));
        }
        Self {
            reply: Json::Null,
            receipt: Json::Object(members),
            cost: calls,
            says_answered: false,
            fault: Some(fault),
        }
    }

    /// Reads what a journal kept.
    pub(super) fn kept(answer: &Json, fault: Option<Fault>) -> Result<Self, FieldError> {
        let Json::Object(members) = answer else {
            return Err(FieldError::new("answer", "must be an object"));
        };
        let of = |name: &str| {
            let member = members.iter().find(|(member, _)| member == name).map(|(_, value)| value.clone());
            member.ok_or_else(|| FieldError::new(format!("answer.{name}"), "is missing"))
        };
        Self::of(of("reply")?, of("receipt")?, fault)
    }

    fn of(reply: Json, receipt: Json, fault: Option<Fault>) -> Result<Self, FieldError> {
        let record = record(None, &reply, &receipt);
        let answer = Answer::parse(&record)?;
        let cost = answer.receipt().spend().cost();
        if !(0.0..=MAX_COST).contains(&cost) {
            return Err(FieldError::new("receipt.spend", format!("is more than {MAX_COST:e} units")));
        }
        let says_answered = answer.receipt().status() == "answered";
        Ok(Self { reply, receipt, cost, says_answered, fault })
    }

    /// What it cost, in spend units; finite and not negative.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Why there is no answer, if there is none.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// What came of the question in a word: `answered`, `declined` by the system's own word, or a fault.
    pub fn word(&self) -> &'static str {
        match self.fault {
            Some(fault) => fault.as_str(),
            None if self.says_answered => "answered",
            None => "declined",
        }
    }

    /// What a failed answer says about it.
    pub fn detail(&self) -> Option<&str> {
        let Json::Object(members) = &self.receipt else { return None };
        self.fault?;
        members.iter().find_map(|(name, value)| match value {
            Json::String(text) if name == "detail" => Some(text.as_str()),
            _ => None,
        })
    }

    /// The answer record, with the question's own id where answers are joined by it.
    pub fn record(&self, id: Option<&str>) -> Json {
        record(id, &self.reply, &self.receipt)
    }
}

/// Frontier calls, written as an integer where they are one.
pub(super) fn spend(calls: f64) -> Json {
    #[allow(clippy::cast_possible_truncation)] // a few calls
    let number = if calls.fract() == 0.0 && calls < 1e9 { Json::Integer(calls as i128) } else { Json::Float(calls) };
    Json::Object(vec![("frontier_calls".to_owned(), number)])
}

fn record(id: Option<&str>, reply: &Json, receipt: &Json) -> Json {
    let id = id.map(|id| ("id".to_owned(), Json::String(id.to_owned())));
    let rest = [("reply".to_owned(), reply.clone()), ("receipt".to_owned(), receipt.clone())];
    Json::Object(id.into_iter().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_answer_is_a_record_that_is_not_grounded_and_says_why() {
        for fault in Fault::ALL {
            let outcome = Outcome::failed(fault, "x".repeat(1000), 2.0);
            let answer = Answer::parse(&outcome.record(Some("q1"))).unwrap();
            assert!(!answer.receipt().grounded() && answer.reply().is_none());
            assert_eq!((answer.receipt().spend().cost(), outcome.detail().unwrap().len()), (2.0, MAX_DETAIL));
            assert_eq!(Fault::parse(fault.as_str()), Some(fault));
            assert_eq!(Outcome::kept(&outcome.record(None), Some(fault)).unwrap(), outcome);
        }
        assert_eq!(Fault::parse("fine"), None);
    }

    #[test]
    fn no_single_answer_can_cost_infinitely() {
        let receipt = |calls: &str| {
            let text =
                format!("{{\"status\":\"answered\",\"spend\":{{\"frontier_calls\":{calls},\"oracle_calls\":1}}}}");
            crate::object::parse(text.as_bytes()).unwrap()
        };
        assert_eq!(Outcome::answered(None, receipt("2.5")).unwrap().cost(), 3.5);
        for calls in ["1e308", "1e12", "-1"] {
            assert!(Outcome::answered(None, receipt(calls)).is_err(), "{calls}");
        }
    }
}
