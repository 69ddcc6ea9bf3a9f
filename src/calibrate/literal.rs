//! The text of one value inside a JSON document, as it was written.
//!
//! A parsed number is a double; where the decimal as written decides (confidences, limits, floors), it is looked up here.

use crate::object::{Json, parse};

/// The text of the value at `path`: member names, and positions in arrays written in decimal. `json` must be a text
/// that [`parse`] accepts; `None` where nothing stands at the path.
pub(crate) fn literal<'a>(json: &'a str, path: &[&str]) -> Option<&'a str> {
    let mut cursor = Cursor { text: json, at: 0 };
    path.iter().try_for_each(|step| cursor.enter(step))?;
    cursor.white_space();
    let start = cursor.at;
    cursor.skip_value();
    Some(&json[start..cursor.at])
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn white_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Moves to the value of a member or to an element.
    fn enter(&mut self, step: &str) -> Option<()> {
        self.white_space();
        let object = match self.peek() {
            Some(b'{') => true,
            Some(b'[') => false,
            _ => return None,
        };
        self.at += 1;
        for position in 0usize.. {
            self.white_space();
            if matches!(self.peek(), None | Some(b'}' | b']')) {
                return None;
            }
            let found = if object { self.key()? == step } else { position.to_string() == step };
            if found {
                return Some(());
            }
            self.skip_value();
            self.white_space();
            if self.peek() != Some(b',') {
                return None;
            }
            self.at += 1;
        }
        None
    }

    /// Reads a key and the colon after it.
    fn key(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_value();
        let key = match parse(&self.text.as_bytes()[start..self.at]) {
            Ok(Json::String(key)) => key,
            _ => return None,
        };
        self.white_space();
        self.at += 1;
        Some(key)
    }

    fn skip_value(&mut self) {
        self.white_space();
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.skip_string(),
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return,
                b'}' | b']' => depth -= 1,
                b',' | b':' if depth == 0 => return,
                _ if depth == 0 && byte.is_ascii_whitespace() => return,
                _ => {}
            }
            self.at += 1;
            if depth == 0 && matches!(byte, b'"' | b'}' | b']') {
                return;
            }
        }
    }

    /// Moves from the opening quote to the closing one.
    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => return,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_path() {
        let text = r#" { "a" : [ 1.50 , {"b,]": "x\"}", "c" : -0.0e1}, null ] , "\u0064": 0.30000000000000001 }"#;
        assert!(parse(text.as_bytes()).is_ok());
        for (path, found) in [
            (&["a", "0"][..], Some("1.50")),
            (&["a", "1", "c"], Some("-0.0e1")),
            (&["a", "1", "b,]"], Some(r#""x\"}""#)),
            (&["a", "2"], Some("null")),
            (&["d"], Some("0.30000000000000001")),
            (&["a", "3"], None),
            (&["e"], None),
            (&["d", "x"], None),
        ] {
            assert_eq!(literal(text, path), found, "{path:?}");
        }
    }

    #[test]
    fn an_empty_container_holds_nothing() {
        assert_eq!(literal("{}", &["a"]), None);
        assert_eq!(literal("[ ]", &["0"]), None);
        assert_eq!(literal(" 7 ", &[]), Some("7"));
    }
}
