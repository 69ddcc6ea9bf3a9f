//! Judges that compare text: `substring/v2`, `exact/v1`, `normalized/v1`.

use crate::object::FieldError;
use crate::question::{is_blank, is_python_space, python_strip};

/// `substring/v2`: mixle's default judge. Right when the expected answer, stripped and lower-cased, stands anywhere in
/// the reply, stripped and lower-cased (Python's `str.strip` and `str.lower`).
///
/// Limits: a weak judge that bounds quality from above. It sees neither negation ("not Paris" is right for "Paris") nor
/// paraphrase, and short answers occur inside words ("4" is in "1492"). Lower-casing is not case folding ("STRASSE" is
/// wrong for "straße"), nothing is normalised to one Unicode form, and letters whose case mapping is younger than the
/// Unicode version of the Python at hand may differ from mixle there.
#[derive(Debug, Clone)]
pub struct Substring {
    expected: String,
}

impl Substring {
    /// A judge for this expected answer; refuses a blank one.
    pub fn parse(expected: &str) -> Result<Self, FieldError> {
        refuse_blank(expected)?;
        Ok(Self { expected: python_strip(expected).to_lowercase() })
    }

    /// Whether the reply is right; takes time linear in it.
    pub fn judge(&self, reply: &str) -> bool {
        python_strip(reply).to_lowercase().contains(&self.expected)
    }
}

/// `exact/v1`: right when reply and expected answer are the same text, byte for byte, once white space (Python's
/// `str.strip`) is taken from both ends.
///
/// Limits: case, punctuation, inner white space and the Unicode form (composed or decomposed) all count.
#[derive(Debug, Clone)]
pub struct Exact {
    expected: String,
}

impl Exact {
    /// A judge for this expected answer; refuses a blank one.
    pub fn parse(expected: &str) -> Result<Self, FieldError> {
        refuse_blank(expected)?;
        Ok(Self { expected: python_strip(expected).to_owned() })
    }

    /// Whether the reply is right; takes time linear in it.
    pub fn judge(&self, reply: &str) -> bool {
        python_strip(reply) == self.expected
    }
}

/// `normalized/v1`: right when both texts are the same once normalised by the rule of the SQuAD evaluation script
/// (evaluate-v1.1, `normalize_answer`): lower-case, drop ASCII punctuation, drop the words a, an and the, make every run
/// of white space one space.
///
/// Limits: English articles only; punctuation beyond ASCII stays ("Paris…" is wrong for "Paris"); dropped punctuation
/// joins what stood around it ("3.14" becomes "314", "well-known" "wellknown", and "-5" is right for "5": use
/// `numeric/v1` for numbers); no normal form of Unicode. An expected answer of which nothing is left ("The …") is refused.
#[derive(Debug, Clone)]
pub struct Normalized {
    expected: String,
}

impl Normalized {
    /// A judge for this expected answer; refuses one of which normalisation leaves nothing.
    pub fn parse(expected: &str) -> Result<Self, FieldError> {
        let expected = normalize(expected);
        if expected.is_empty() {
            let reason = "nothing is left of it once normalised, so it cannot discriminate";
            return Err(FieldError::new("expected", reason));
        }
        Ok(Self { expected })
    }

    /// Whether the reply is right; takes time linear in it.
    pub fn judge(&self, reply: &str) -> bool {
        normalize(reply) == self.expected
    }
}

fn refuse_blank(expected: &str) -> Result<(), FieldError> {
    if is_blank(expected) {
        Err(FieldError::new("expected", "is blank; a blank answer cannot discriminate"))
    } else {
        Ok(())
    }
}

/// The rule of `normalized/v1`. A word is a run of letters and digits, vowel signs included; an article is dropped only as a whole word and
/// parts what stood around it.
fn normalize(text: &str) -> String {
    let bare: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let mut normal = String::with_capacity(bare.len());
    let mut gap = false;
    let mut rest = bare.as_str();
    while let Some(first) = rest.chars().next() {
        let word = first.is_alphanumeric();
        let same = |c: char| c.is_alphanumeric() == word && is_python_space(c) == is_python_space(first);
        let end = rest.find(|c| !same(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if is_python_space(first) || matches!(run, "a" | "an" | "the") {
            gap = true;
            continue;
        }
        if gap && !normal.is_empty() {
            normal.push(' ');
        }
        gap = false;
        normal.push_str(run);
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substring_follows_python_through_unicode_traps() {
        let cases = [
            ("Paris", "It is PARIS.", true),
            ("Paris", "not Paris", true),
            ("Paris", "Pari", false),
            ("4", "1492", true),
            ("ΣΑΣ", "σας", true),
            ("ΣΑΣ", "ΣΑΣ!", true),
            ("ΣΑΣ", "ΣΑΣΑ", false),
            ("σ", "Σ", true),
            ("Σ", "ΑΣ", false),
            ("İstanbul", "i̇stanbul", true),
            ("İstanbul", "istanbul", false),
            ("straße", "STRASSE", false),
            ("STRAẞE", "straße", true),
            ("é", "e\u{301}", false),
            ("\u{1c} yes\u{85}", "YES", true),
            ("ǅ", "ǆ", true),
        ];
        for (expected, reply, right) in cases {
            assert_eq!(Substring::parse(expected).unwrap().judge(reply), right, "{expected:?} in {reply:?}");
        }
        assert!(Substring::parse("\u{1c}\u{2003}").is_err());
    }

    #[test]
    fn exact_strips_the_ends_only() {
        let judge = Exact::parse(" Paris\n").unwrap();
        assert!(judge.judge("Paris\u{1f}"));
        for reply in ["paris", "Paris.", "", "Pa ris"] {
            assert!(!judge.judge(reply), "{reply:?}");
        }
    }

    #[test]
    fn normalisation_follows_the_squad_rule() {
        let cases = [
            ("The  Eiffel Tower!", "eiffel tower"),
            ("a an the", ""),
            ("theatre and anthem", "theatre and anthem"),
            ("3.14", "314"),
            ("Well-Known", "wellknown"),
            ("the-cat", "thecat"),
            ("U.S.A.", "usa"),
            ("cat—a—dog", "cat— —dog"),
            ("x\u{1c}the\u{3000}y", "x y"),
            ("ÉTÉ", "été"),
            ("_the_", ""),
            ("“Paris”", "“paris”"),
        ];
        for (text, normal) in cases {
            assert_eq!(normalize(text), normal, "{text:?}");
        }
        assert!(Normalized::parse("The … a").unwrap().judge("…"));
        assert_eq!(
            Normalized::parse("The.").unwrap_err().to_string(),
            "field `expected`: nothing is left of it once normalised, so it cannot discriminate"
        );
    }
}
