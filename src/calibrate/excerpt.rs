//! Text from files inside messages: short, and on one line.

/// The first 64 characters, control characters escaped.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short = String::new();
    for (at, c) in text.chars().enumerate() {
        match c {
            _ if at == 64 => {
                short.push('…');
                break;
            }
            c if c.is_control() => short.extend(c.escape_default()),
            c => short.push(c),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_short_and_on_one_line() {
        assert_eq!(excerpt("müsli"), "müsli");
        assert_eq!(excerpt("a\n\u{1b}[2J"), "a\\n\\u{1b}[2J");
        assert_eq!(excerpt(&"x".repeat(64)), "x".repeat(64));
        assert_eq!(excerpt(&"x".repeat(1 << 20)), format!("{}…", "x".repeat(64)));
    }
}
