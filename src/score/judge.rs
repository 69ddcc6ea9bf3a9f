//! A scorer made ready for one expected answer.

use super::choice::Choice;
use super::lexical::{Exact, Normalized, Substring};
use super::numeric::Numeric;
use super::pattern::Pattern;

/// A built-in scorer made ready for one expected answer: what can be computed once is.
#[derive(Debug, Clone)]
pub enum Judge {
    /// `substring/v2`
    Substring(Substring),
    /// `exact/v1`
    Exact(Exact),
    /// `normalized/v1`
    Normalized(Normalized),
    /// `numeric/v1`
    Numeric(Numeric),
    /// `choice/v1`
    Choice(Choice),
    /// `regex/v1`
    Pattern(Pattern),
}

impl Judge {
    /// Whether the reply is right. No reply is wrong. Takes time linear in the reply and never panics.
    pub fn judge(&self, reply: Option<&str>) -> bool {
        let Some(reply) = reply else { return false };
        match self {
            Self::Substring(judge) => judge.judge(reply),
            Self::Exact(judge) => judge.judge(reply),
            Self::Normalized(judge) => judge.judge(reply),
            Self::Numeric(judge) => judge.judge(reply),
            Self::Choice(judge) => judge.judge(reply),
            Self::Pattern(judge) => judge.judge(reply),
        }
    }
}
