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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::score::{BUILT_IN, Judge, Scorer};

    fn judges() -> Vec<Judge> {
        let expected = |name: &str| if name == "numeric/v1" { "5" } else { "b" };
        BUILT_IN
            .iter()
            .map(|scorer| Scorer::parse(scorer.name).unwrap().prepare(expected(scorer.name)).unwrap())
            .collect()
    }

    #[test]
    fn no_reply_is_wrong_and_the_plain_answer_right() {
        for judge in judges() {
            assert!(!judge.judge(None) && !judge.judge(Some("")), "{judge:?}");
            let plain = if matches!(judge, Judge::Numeric(_)) { "5" } else { "b" };
            assert!(judge.judge(Some(plain)), "{judge:?}");
        }
    }

    /// Each of these takes a judge of quadratic time a minute and more.
    #[test]
    fn long_replies_take_linear_time() {
        for part in
            ["answer ", "answer:", "answer is (", "(", "a ", "the\u{1c}", "1", "1,", ",000", ".", "Σ", "Σ'", " ", "e+"]
        {
            let reply = part.repeat(100_000);
            for judge in judges() {
                judge.judge(Some(&reply));
            }
        }
    }

    proptest! {
        #[test]
        fn judges_never_panic(
            expected in "\\PC{0,12}",
            reply in "(?s)(.|answer(:| is )|[-+0-9,.eE()]|[ABIΣ\u{1c}’]|or){0,20}",
            name in 0usize..6,
        ) {
            let scorer = Scorer::parse(BUILT_IN[name].name).unwrap();
            if let Ok(judge) = scorer.prepare(&expected) {
                prop_assert_eq!(judge.judge(Some(&reply)), judge.judge(Some(&reply)));
                prop_assert!(!judge.judge(None));
            }
            for judge in judges() {
                judge.judge(Some(&reply));
            }
        }

        #[test]
        fn the_stricter_judge_is_never_laxer(text in "[a-zA-ZÀ-ž0-9 .,]{1,12}", reply in "[a-zA-ZÀ-ž0-9 .,]{0,12}") {
            let judge = |name: &str, reply: &str| Scorer::parse(name).unwrap().judge(Some(reply), &text);
            for reply in [&reply, &text] {
                if let Ok(true) = judge("exact/v1", reply) {
                    prop_assert!(judge("substring/v2", reply).unwrap());
                    prop_assert!(judge("normalized/v1", reply).unwrap_or(true));
                }
            }
        }
    }
}
