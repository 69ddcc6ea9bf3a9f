//! `choice/v1`: the letter or label of a multiple-choice question.

use crate::object::FieldError;
use crate::question::python_strip;

/// The longest label, in bytes.
pub const MAX_CHOICE_BYTES: usize = 32;

/// `choice/v1`: right when the reply names the expected letter or label, upper or lower case.
///
/// The expected answer is 1 to [`MAX_CHOICE_BYTES`] ASCII letters (`B`, `yes`). A reply names a label in one of two ways:
///
/// 1. the stripped reply is the label and nothing else, bare or as `(B)`, `B)`, `B.` or `(B).`;
/// 2. it says `answer is` or `answer:` (any case, `answer is:` too) and then the label on the same line, perhaps in parentheses; the last
///    such place counts, whatever it names.
///
/// A single letter after `answer is` must be upper case, for there "a" is a word. What stays ambiguous is wrong: `A` or
/// `I` followed by another word, and a second letter listed with the first ("answer: B or C", "answer is B, C").
///
/// Limits: English wording only. "B) Paris", "**B**" and "I would pick B" name nothing. It does not see "the answer is B"
/// taken back later in other words.
#[derive(Debug, Clone)]
pub struct Choice {
    expected: String,
}

impl Choice {
    /// A judge for this expected answer; refuses what is not a letter or a label.
    pub fn parse(expected: &str) -> Result<Self, FieldError> {
        let label = python_strip(expected);
        let fits = (1..=MAX_CHOICE_BYTES).contains(&label.len());
        if !fits || !label.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            let reason = format!("must be a letter or a label of at most {MAX_CHOICE_BYTES} ASCII letters");
            return Err(FieldError::new("expected", reason));
        }
        Ok(Self { expected: label.to_owned() })
    }

    /// Whether the reply is right; takes time linear in it.
    pub fn judge(&self, reply: &str) -> bool {
        let named = bare_label(reply).or_else(|| announced_label(reply));
        named.is_some_and(|label| label.eq_ignore_ascii_case(&self.expected))
    }
}

/// The label that the whole reply is.
fn bare_label(reply: &str) -> Option<&str> {
    let reply = python_strip(reply);
    let reply = reply.strip_suffix('.').unwrap_or(reply);
    let label = match reply.strip_prefix('(') {
        Some(inside) => inside.strip_suffix(')')?,
        None => reply.strip_suffix(')').unwrap_or(reply),
    };
    is_label(label).then_some(label)
}

/// The label after the last "answer is" or "answer:", unless it is ambiguous.
fn announced_label(reply: &str) -> Option<&str> {
    let lower = reply.to_ascii_lowercase();
    let after = lower.rmatch_indices("answer").find_map(|(at, word)| announcement_end(&lower, at + word.len()))?;
    let after = reply.get(after..)?.trim_start_matches(' ');
    let (after, bracketed) = match after.strip_prefix('(') {
        Some(inside) => (inside, true),
        None => (after, false),
    };
    let (label, rest) = split_letters(after);
    let rest = if bracketed { rest.strip_prefix(')')? } else { rest };
    if !is_label(label) || rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '\'' | '’')) {
        return None;
    }
    let letter = label.len() == 1;
    let upper = label.starts_with(|c: char| c.is_ascii_uppercase());
    let (word, _) = split_letters(rest.trim_start_matches(' '));
    let is_word_too = matches!(label, "A" | "I") && !bracketed && rest.starts_with(' ') && !word.is_empty();
    if letter && (!(upper || bracketed) || is_word_too || lists_another(rest)) {
        return None;
    }
    Some(label)
}

/// Where the label may begin when `answer` at this place announces one: after `is`, `:` or `is:`.
fn announcement_end(lower: &str, after: usize) -> Option<usize> {
    let rest = lower.get(after..)?.trim_start_matches(' ');
    let rest = match rest.strip_prefix("is") {
        Some(rest) if rest.starts_with([' ', ':']) => {
            let rest = rest.trim_start_matches(' ');
            rest.strip_prefix(':').unwrap_or(rest)
        }
        _ => rest.strip_prefix(':')?,
    };
    Some(lower.len() - rest.len())
}

/// Whether another single upper-case letter is listed right after the first; the words "A …" and "I …" are not.
fn lists_another(rest: &str) -> bool {
    let separators = [' ', ',', '/', '&', '(', ')'];
    let joins = |word: &str| word.eq_ignore_ascii_case("or") || word.eq_ignore_ascii_case("and");
    let (word, after) = split_letters(rest.trim_start_matches(separators));
    let (word, after) = if joins(word) { split_letters(after.trim_start_matches(separators)) } else { (word, after) };
    let (next, _) = split_letters(after.trim_start_matches(' '));
    let is_word = matches!(word, "A" | "I") && !next.is_empty() && !joins(next);
    word.len() == 1 && word.starts_with(|c: char| c.is_ascii_uppercase()) && !is_word && !after.starts_with(['\'', '’'])
}

fn is_label(text: &str) -> bool {
    (1..=MAX_CHOICE_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn split_letters(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(expected: &str, reply: &str) -> bool {
        Choice::parse(expected).unwrap().judge(reply)
    }

    #[test]
    fn replies_that_name_the_letter() {
        for reply in [
            "B",
            " b\n",
            "(B)",
            "B)",
            "B.",
            "(b).",
            "Answer: B",
            "answer:B",
            "The answer is B.",
            "The answer is (B) because",
            "the Answer is: B",
            "Answer is B, since 2 + 2 is 4",
            "Answer: A. No, answer: B",
            "The answer is B because A is odd",
            "Final answer: (b)",
            "I think\nAnswer: B\nI am sure",
            "ANSWER IS B",
            "The answer is   B!",
            "answer : B",
            "The answer is B, I think",
            "answer: B, I'm sure",
        ] {
            assert!(right("B", reply), "{reply:?}");
        }
    }

    #[test]
    fn replies_that_do_not() {
        for reply in [
            "",
            "A",
            "BB",
            "B or C",
            "(B",
            "B, C",
            "Answer: A",
            "Answer: B. Wait, answer: C",
            "Answer: B or C",
            "Answer: B, C",
            "Answer: B/C",
            "answer: B, A or C",
            "answer is B and C",
            "The answer is not B",
            "answer is b because",
            "The answer is B-flat",
            "The answer is Bé",
            "the answer isn't B",
            "The answer is",
            "Answer:",
            "answer B",
            "The answer is (B or C)",
            "Ⓑ",
            "answer is\nB",
            "B) Paris",
            "**B**",
            "The answer is B's",
        ] {
            assert!(!right("B", reply), "{reply:?}");
        }
    }

    #[test]
    fn the_letters_that_are_words() {
        assert!(!right("A", "The answer is a dog"));
        assert!(!right("A", "The answer is A dog"));
        assert!(right("A", "The answer is A."));
        assert!(right("A", "The answer is A, because"));
        assert!(right("A", "The answer is (A) because"));
        assert!(!right("I", "The answer is I don't know"));
        assert!(right("a", "A") && right("A", "a"));
    }

    #[test]
    fn labels_of_several_letters() {
        assert!(right("yes", "Yes.") && right("Yes", "the answer is yes") && right("no", "answer: NO"));
        assert!(!right("no", "the answer is not known") && !right("yes", "yes it is"));
        for expected in ["", "1", "A B", "é", &"x".repeat(33)] {
            assert!(Choice::parse(expected).is_err(), "{expected:?}");
        }
    }
}
