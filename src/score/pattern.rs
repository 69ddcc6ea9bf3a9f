//! `regex/v1`: the expected answer is a pattern.

use regex::{Regex, RegexBuilder};

use crate::object::FieldError;

/// The longest pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 4096;

/// The largest compiled pattern, in bytes; bounds what counted repetitions may grow to.
pub const MAX_COMPILED_BYTES: usize = 256 << 10;

/// `regex/v1`: right when the pattern in `expected` matches anywhere in the reply, which is not stripped. Anchor it
/// (`^…$`) to ask for the whole reply.
///
/// The syntax is that of the Rust crate `regex` 1: Unicode, case counts unless `(?i)`, no look-around and no back
/// references, `^` and `$` are the ends of the reply unless `(?m)`.
///
/// Limits: patterns longer than [`MAX_PATTERN_BYTES`] or compiling to more than [`MAX_COMPILED_BYTES`] are refused, as is a
/// pattern that matches the empty reply, for most of those match every reply. Time is linear in the reply, by a factor
/// that grows with the pattern. A class such as `\w` follows the Unicode version of the crate.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
}

impl Pattern {
    /// A judge for this expected answer, compiled once.
    pub fn parse(expected: &str) -> Result<Self, FieldError> {
        let refuse = |reason: String| FieldError::new("expected", reason);
        if expected.len() > MAX_PATTERN_BYTES {
            return Err(refuse(format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes")));
        }
        let built = RegexBuilder::new(expected).size_limit(MAX_COMPILED_BYTES).build();
        let regex = built.map_err(|error| refuse(complaint(&error)))?;
        if regex.is_match("") {
            return Err(refuse("the pattern matches an empty reply, so it cannot discriminate".to_owned()));
        }
        Ok(Self { regex })
    }

    /// Whether the reply is right; takes time linear in it.
    pub fn judge(&self, reply: &str) -> bool {
        self.regex.is_match(reply)
    }
}

/// What is wrong with a pattern, in one line: the crate's message ends in `error: …` below a drawing of the place.
fn complaint(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("the pattern compiles to more than {limit} bytes"),
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            format!("not a regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_searched_for_and_anchored_on_request() {
        let cases = [
            (r"\b42\b", "it is 42.", true),
            (r"\b42\b", "it is 421.", false),
            (r"^\d{4}$", "1492", true),
            (r"^\d{4}$", "1492\n", false),
            (r"(?i)paris|lutetia", "LUTETIA", true),
            (r"paris", "Paris", false),
            (r"^é$", "e\u{301}", false),
        ];
        for (pattern, reply, right) in cases {
            assert_eq!(Pattern::parse(pattern).unwrap().judge(reply), right, "{pattern} in {reply:?}");
        }
    }

    #[test]
    fn patterns_that_are_broken_huge_or_empty_are_refused() {
        let refusal = |pattern: &str| Pattern::parse(pattern).unwrap_err().reason;
        assert_eq!(refusal("(a"), "not a regular expression: unclosed group");
        assert_eq!(refusal(r"\w{1000}"), "the pattern compiles to more than 262144 bytes");
        assert_eq!(refusal(&"a".repeat(4097)), "the pattern is longer than 4096 bytes");
        assert_eq!(refusal("a*"), "the pattern matches an empty reply, so it cannot discriminate");
        assert!(refusal(r"(a)\1").contains("backreferences are not supported"));
        assert!(Pattern::parse(r"^\w+ (?i:straße)$").is_ok());
    }

    #[test]
    fn a_pattern_that_backtracks_elsewhere_is_quick() {
        let judge = Pattern::parse("(a+)+b").unwrap();
        assert!(!judge.judge(&"a".repeat(100_000)));
    }
}
