//! White space as Python's `str.strip()` and `str.split()` see it, because what counts as a blank answer decides identity
//! and scores. Source: Python library reference, `str.isspace` (bidirectional class WS, B or S, or category Zs).

/// Whether Python's `str.isspace` holds for this character.
///
/// This is Unicode `White_Space` and the four separators U+001C to U+001F, listed so that no Unicode update moves it.
pub fn is_python_space(c: char) -> bool {
    matches!(c,
        '\u{9}'..='\u{d}' | '\u{1c}'..='\u{20}' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// The text without white space at either end, as Python's `str.strip()` gives it.
pub fn python_strip(text: &str) -> &str {
    text.trim_matches(is_python_space)
}

/// Whether nothing is left of the text once stripped: such an expected answer cannot discriminate.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_python_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[c for c in range(0x110000) if chr(c).isspace()]`, CPython 3.11.
    const PYTHON: [u32; 29] = [
        9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200,
        8201, 8202, 8232, 8233, 8239, 8287, 12288,
    ];

    #[test]
    fn exactly_the_characters_that_python_strips() {
        let ours: Vec<u32> = (0..0x11_0000).filter(|c| char::from_u32(*c).is_some_and(is_python_space)).collect();
        assert_eq!(ours, PYTHON);
    }

    #[test]
    fn strip_takes_both_ends_only() {
        assert_eq!(python_strip("\u{1c}\u{3000} a \u{85} b\u{1f}\n"), "a \u{85} b");
        assert_eq!(python_strip("\u{200b}x\u{feff}"), "\u{200b}x\u{feff}");
        assert!(is_blank("\u{1c}\u{2003}") && is_blank("") && !is_blank("\u{200b}"));
    }
}
