//! A strict JSON reader (RFC 8259) that keeps what identity depends on and other readers lose: whether a number was
//! written as an integer, the sign of nothing (`-0` is the integer 0, `-0.0` a float), integers to 64 bits exactly, and
//! duplicate keys, which are refused. Why not serde_json: `docs/decisions/0003-strict-json.md`.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

/// Containers may nest this deep; one more is refused.
pub const MAX_DEPTH: usize = 128;

/// A JSON value whose texts are held as `S`. Members keep the order they were written in and are unique by name.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonValue<S> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number written without fraction and exponent, between -2^63 and 2^64-1.
    Integer(i128),
    /// A number written with a fraction or an exponent; always finite.
    Float(f64),
    /// A string of Unicode scalar values.
    String(S),
    /// An array.
    Array(Vec<JsonValue<S>>),
    /// An object.
    Object(Vec<(S, JsonValue<S>)>),
}

/// A JSON value that stands by itself.
pub type Json = JsonValue<String>;

/// A JSON value that borrows from what was read every text that was written without escapes.
pub type JsonView<'a> = JsonValue<Cow<'a, str>>;

impl<S> JsonValue<S> {
    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a decimal number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// How many values there are, this one and those inside.
    pub fn count(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            Self::Object(members) => 1 + members.iter().map(|(_, value)| value.count()).sum::<usize>(),
            _ => 1,
        }
    }
}

impl<T: AsRef<str>> Serialize for JsonValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => serializer.serialize_i64(value),
                (_, Ok(value)) => serializer.serialize_u64(value),
                _ => Err(S::Error::custom(JsonFault::IntegerRange)),
            },
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::String(value) => serializer.serialize_str(value.as_ref()),
            Self::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, value)| map.serialize_entry(name.as_ref(), value))?;
                map.end()
            }
        }
    }
}

/// What is wrong with a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// The grammar wants something else here.
    #[error("expected {expected}")]
    Syntax {
        /// What would have been right.
        expected: &'static str,
    },
    /// The text ends in the middle of a value.
    #[error("the text ends inside a value")]
    Truncated,
    /// Something follows the value.
    #[error("something follows the value")]
    Trailing,
    /// A name occurs twice in one object.
    #[error("the key `{name}` occurs twice")]
    DuplicateKey {
        /// The name.
        name: String,
    },
    /// Deeper than allowed, which is [`MAX_DEPTH`] for records.
    #[error("nested deeper than {depth} levels")]
    TooDeep {
        /// How deep it may be.
        depth: usize,
    },
    /// A byte order mark at the start.
    #[error("starts with a byte order mark (U+FEFF); save the file as UTF-8 without it")]
    ByteOrderMark,
    /// Not UTF-8.
    #[error("not valid UTF-8")]
    Encoding,
    /// `\uD800` to `\uDFFF` without its other half.
    #[error("a lone surrogate escape is not a character")]
    LoneSurrogate,
    /// A control character inside a string that was not escaped.
    #[error("a control character in a string must be escaped")]
    ControlCharacter,
    /// `NaN`, `Infinity`: not JSON.
    #[error("NaN and Infinity are not JSON numbers")]
    NotANumber,
    /// A decimal beyond the finite doubles, such as `1e400`.
    #[error("the number is beyond the range of a double")]
    FloatRange,
    /// An integer beyond 64 bits.
    #[error("the integer is beyond 64 bits")]
    IntegerRange,
}

/// A fault and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub fault: JsonFault,
    /// Byte offset from the start of the text.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// The member or element being read, as in `query.fingerprint[2]`; empty at the top.
    pub path: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.fault, self.line, self.column)?;
        if !self.path.is_empty() {
            write!(f, ", in `{}`", self.path)?;
        }
        Ok(())
    }
}

impl std::error::Error for JsonError {}

/// Reads exactly one JSON value; white space may stand around it, nothing else.
pub fn parse(text: &[u8]) -> Result<Json, JsonError> {
    read(text, MAX_DEPTH, false)
}

/// As [`parse`], for what other tools wrote: nested at most `depth` levels, and a bare `NaN`, `Infinity` or `-Infinity`,
/// which is not JSON and which Python writes all the same, is the string of that name.
pub fn parse_foreign(text: &[u8], depth: usize) -> Result<Json, JsonError> {
    read(text, depth, true)
}

/// As [`parse_foreign`], without a copy of what can be borrowed.
pub fn view_foreign(text: &[u8], depth: usize) -> Result<JsonView<'_>, JsonError> {
    read(text, depth, true)
}

/// A text as values hold it.
trait Text<'a>: AsRef<str> + From<Cow<'a, str>> {}

impl<'a, S: AsRef<str> + From<Cow<'a, str>>> Text<'a> for S {}

fn read<'a, S: Text<'a>>(text: &'a [u8], depth: usize, words: bool) -> Result<JsonValue<S>, JsonError> {
    if text.starts_with(b"\xef\xbb\xbf") {
        return Err(locate(text, 0, JsonFault::ByteOrderMark, String::new()));
    }
    let text_str = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => return Err(locate(text, error.valid_up_to(), JsonFault::Encoding, String::new())),
    };
    let mut parser = Parser { text: text_str, at: 0, depth, words };
    let outcome = parser.document();
    outcome.map_err(|(fault, path)| locate(text, parser.at, fault, path))
}

fn locate(text: &[u8], offset: usize, fault: JsonFault, path: String) -> JsonError {
    let before = &text[..offset.min(text.len())];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
    JsonError { fault, offset, line, column, path }
}

/// Objects of up to this many members are searched for a repeated name; larger ones are hashed.
const SEARCHED: usize = 16;

/// The names of one object so far, once there are too many to search.
#[derive(Default)]
struct Names(std::collections::HashSet<String>);

impl Names {
    fn repeats<S: AsRef<str>>(&mut self, name: &str, members: &[(S, JsonValue<S>)]) -> bool {
        if members.len() < SEARCHED {
            return members.iter().any(|(member, _)| member.as_ref() == name);
        }
        if self.0.is_empty() {
            self.0.extend(members.iter().map(|(member, _)| member.as_ref().to_owned()));
        }
        !self.0.insert(name.to_owned())
    }
}

/// A fault with the path to it, built from the inside out while the recursion unwinds.
type Fault = (JsonFault, String);

fn prefixed(step: &str, (fault, path): Fault) -> Fault {
    let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
    (fault, format!("{}{dot}{path}", shortened(step)))
}

/// A hostile name must not make a message as long as itself.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether `NaN` and its like are read, as strings: Python writes them, and they are states rather than numbers.
    words: bool,
}

impl<'a> Parser<'a> {
    fn document<S: Text<'a>>(&mut self) -> Result<JsonValue<S>, Fault> {
        self.white_space();
        let value = self.value(0)?;
        self.white_space();
        if self.at < self.text.len() { Err(bare(JsonFault::Trailing)) } else { Ok(value) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value<S: Text<'a>>(&mut self, depth: usize) -> Result<JsonValue<S>, Fault> {
        match self.peek() {
            None => Err(bare(JsonFault::Truncated)),
            Some(b'{') if depth < self.depth => self.object(depth + 1),
            Some(b'[') if depth < self.depth => self.array(depth + 1),
            Some(b'{' | b'[') => Err(bare(JsonFault::TooDeep { depth: self.depth })),
            Some(b'"') => Ok(JsonValue::String(self.string()?.into())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", JsonValue::Bool(true)),
            Some(b'f') => self.word("false", JsonValue::Bool(false)),
            Some(b'n') => self.word("null", JsonValue::Null),
            Some(b'N' | b'I') => self.not_a_number(),
            Some(_) => Err(bare(JsonFault::Syntax { expected: "a value" })),
        }
    }

    fn word<V>(&mut self, word: &'static str, value: V) -> Result<V, Fault> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(bare(JsonFault::Syntax { expected: "true, false or null" }))
        }
    }

    fn not_a_number<S: Text<'a>>(&mut self) -> Result<JsonValue<S>, Fault> {
        let rest = &self.text[self.at..];
        let word = ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| self.words && rest.starts_with(word));
        let word = word.ok_or_else(|| bare(JsonFault::NotANumber))?;
        self.at += word.len();
        Ok(JsonValue::String(Cow::Borrowed(word).into()))
    }

    fn object<S: Text<'a>>(&mut self, depth: usize) -> Result<JsonValue<S>, Fault> {
        self.at += 1;
        let mut members: Vec<(S, JsonValue<S>)> = Vec::new();
        let mut names = Names::default();
        self.white_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(JsonValue::Object(members));
        }
        loop {
            self.white_space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key in double quotes"));
            }
            let name = self.string()?;
            if names.repeats(&name, &members) {
                self.at = start;
                return Err(bare(JsonFault::DuplicateKey { name: shortened(&name) }));
            }
            self.white_space();
            self.expect(b':', "`:`")?;
            self.white_space();
            let value = self.value(depth).map_err(|fault| prefixed(&name, fault))?;
            members.push((name.into(), value));
            self.white_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(JsonValue::Object(members));
                }
                _ => return Err(self.expected("`,` or `}`")),
            }
        }
    }

    fn array<S: Text<'a>>(&mut self, depth: usize) -> Result<JsonValue<S>, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        self.white_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(JsonValue::Array(items));
        }
        loop {
            self.white_space();
            let step = items.len();
            items.push(self.value(depth).map_err(|fault| prefixed(&format!("[{step}]"), fault))?);
            self.white_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(JsonValue::Array(items));
                }
                _ => return Err(self.expected("`,` or `]`")),
            }
        }
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Fault> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.expected(expected))
        }
    }

    fn expected(&self, expected: &'static str) -> Fault {
        bare(if self.at >= self.text.len() { JsonFault::Truncated } else { JsonFault::Syntax { expected } })
    }

    /// A text; borrowed where nothing in it is escaped.
    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let text: &'a str = self.text;
        let mut start = self.at;
        let mut value = String::new();
        loop {
            self.at += plain(&text.as_bytes()[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    let rest = &text[start..self.at];
                    self.at += 1;
                    return Ok(if value.is_empty() { Cow::Borrowed(rest) } else { Cow::Owned(value + rest) });
                }
                Some(b'\\') => {
                    value.push_str(&text[start..self.at]);
                    value.push(self.escape()?);
                    start = self.at;
                }
                Some(_) => return Err(bare(JsonFault::ControlCharacter)),
                None => return Err(bare(JsonFault::Truncated)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        self.at += 1;
        let simple = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.expected("an escape")),
        };
        self.at += 1;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let high = self.four_hex()?;
        let code = if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.four_hex()?;
            if (0xdc00..0xe000).contains(&low) { 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) } else { high }
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| {
            self.at = start;
            bare(JsonFault::LoneSurrogate)
        })
    }

    fn four_hex(&mut self) -> Result<u32, Fault> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let code = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit)).and_then(|digits| {
            std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok())
        });
        let code = code.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }

    fn number<S: Text<'a>>(&mut self) -> Result<JsonValue<S>, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(b'I') if self.words => {
                self.at = start;
                return self.not_a_number();
            }
            Some(b'I' | b'N') => return Err(bare(JsonFault::NotANumber)),
            _ => return Err(self.expected("a digit")),
        }
        if matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(bare(JsonFault::Syntax { expected: "a number without leading zeros" }));
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            integer = false;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            integer = false;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        let literal = &self.text[start..self.at];
        let value = if integer { integer_value(literal) } else { float_value(literal) };
        value.map_err(|fault| {
            self.at = start;
            bare(fault)
        })
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), Fault> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected("a digit"));
        }
        self.digits();
        Ok(())
    }
}

/// How many bytes stand before the first that ends a text or has to be escaped in one.
pub(super) fn plain(text: &[u8]) -> usize {
    let steps = text.as_chunks::<32>().0.iter();
    let clear = |step: &&[u8; 32]| step.as_chunks().0.iter().fold(0, |found, word| found | special(*word)) == 0;
    let passed = steps.take_while(clear).count() * 32;
    let (words, rest) = text[passed..].as_chunks();
    for (at, word) in words.iter().enumerate() {
        let found = special(*word);
        if found != 0 {
            return passed + at * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    text.len() - rest.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

/// The highest bit of the first byte, and perhaps of others after it, that is a quote, a backslash or a control character: eight
/// bytes at a time, by the borrow that subtracting from a smaller byte leaves.
fn special(word: [u8; 8]) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let word = u64::from_le_bytes(word);
    let below = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (equal(b'"') | equal(b'\\') | below(word, 0x20)) & (ONES * 0x80)
}

fn bare(fault: JsonFault) -> Fault {
    (fault, String::new())
}

fn integer_value<S>(literal: &str) -> Result<JsonValue<S>, JsonFault> {
    // Parsing an i128 refuses what does not fit, in time linear in the literal.
    let value: i128 = literal.parse().map_err(|_| JsonFault::IntegerRange)?;
    if value < i128::from(i64::MIN) || value > i128::from(u64::MAX) {
        return Err(JsonFault::IntegerRange);
    }
    Ok(JsonValue::Integer(value))
}

fn float_value<S>(literal: &str) -> Result<JsonValue<S>, JsonFault> {
    match literal.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(JsonValue::Float(value)),
        _ => Err(JsonFault::FloatRange),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> JsonFault {
        parse(text.as_bytes()).unwrap_err().fault
    }

    #[test]
    fn integers_and_floats_stay_apart() {
        assert_eq!(parse(b"-0"), Ok(Json::Integer(0)));
        assert!(matches!(parse(b"-0.0"), Ok(Json::Float(value)) if value.is_sign_negative()));
        assert_eq!(parse(b"1e2"), Ok(Json::Float(100.0)));
        assert_eq!(parse(b"18446744073709551615"), Ok(Json::Integer(u64::MAX.into())));
        assert_eq!(fault("18446744073709551616"), JsonFault::IntegerRange);
        assert_eq!(fault("-9223372036854775809"), JsonFault::IntegerRange);
    }

    #[test]
    fn hostile_texts_are_refused_by_name() {
        assert_eq!(fault("1e400"), JsonFault::FloatRange);
        assert_eq!(fault("NaN"), JsonFault::NotANumber);
        assert_eq!(fault("-Infinity"), JsonFault::NotANumber);
        assert_eq!(fault(r#"{"a":1,"a":2}"#), JsonFault::DuplicateKey { name: "a".to_owned() });
        assert_eq!(fault(r#"{"a":1,"\u0061":2}"#), JsonFault::DuplicateKey { name: "a".to_owned() });
        assert_eq!(fault(r#""\ud800""#), JsonFault::LoneSurrogate);
        assert_eq!(fault(r#""\ud800\u0041""#), JsonFault::LoneSurrogate);
        assert_eq!(fault("\"a\u{1}\""), JsonFault::ControlCharacter);
        assert_eq!(fault("\u{feff}{}"), JsonFault::ByteOrderMark);
        assert_eq!(fault("{} {}"), JsonFault::Trailing);
        assert_eq!(fault("[1,"), JsonFault::Truncated);
        assert_eq!(fault(&"[".repeat(100_000)), JsonFault::TooDeep { depth: MAX_DEPTH });
        assert_eq!(parse(b"\"\xff\"").unwrap_err().fault, JsonFault::Encoding);
        for text in ["01", "+1", "1.", ".5", "1e", "tru", "'a'", "[1,]", "{\"a\":1,}", "{a:1}", ""] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_names_its_place() {
        let error = parse(b"{\"query\":\n {\"x\": [0, 1e999]}}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the number is beyond the range of a double at line 2 column 12, in `query.x[1]`"
        );
    }

    #[test]
    fn a_repeated_key_is_found_among_few_and_many() {
        for count in [2, 15, 16, 17, 40] {
            let members: String = (0..count).map(|at| format!("\"k{at}\":0,")).collect();
            assert!(parse(format!("{{{}}}", members.trim_end_matches(',')).as_bytes()).is_ok());
            for repeated in [0, count / 2, count - 1] {
                let name = format!("k{repeated}");
                assert_eq!(fault(&format!("{{{members}\"{name}\":1}}")), JsonFault::DuplicateKey { name });
            }
        }
    }

    #[test]
    fn words_that_python_writes_are_read_only_where_they_may_be() {
        let text = br#"[NaN,-Infinity,{"a":Infinity}]"#;
        assert_eq!(parse(text).unwrap_err().fault, JsonFault::NotANumber);
        let word = |word: &str| Json::String(word.to_owned());
        let nested = Json::Object(vec![("a".to_owned(), word("Infinity"))]);
        assert_eq!(parse_foreign(text, 2), Ok(Json::Array(vec![word("NaN"), word("-Infinity"), nested])));
        assert_eq!(parse_foreign(text, 1).unwrap_err().fault, JsonFault::TooDeep { depth: 1 });
        assert_eq!(parse_foreign(b"Nan", 2).unwrap_err().fault, JsonFault::NotANumber);
        assert_eq!(parse_foreign(b"-Inf", 2).unwrap_err().fault, JsonFault::NotANumber);
    }

    #[test]
    fn the_end_of_what_needs_no_escape_is_found_wherever_it_is() {
        let ends = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        for byte in 0..=u8::MAX {
            for length in [0, 1, 7, 8, 9, 31, 32, 33, 40, 64, 100] {
                for filler in [b' ', b'a', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                    let mut text = vec![filler; length];
                    text.push(byte);
                    text.extend([filler, b'"', filler, 0x1f]);
                    assert_eq!(plain(&text), if ends(byte) { length } else { length + 2 }, "{byte} {length} {filler}");
                    assert_eq!(plain(&text[..length]), length);
                }
            }
        }
    }

    #[test]
    fn what_is_borrowed_is_what_is_copied() {
        for text in [
            r#"{"a":"b","c\n":["\u00e9\ud83d\ude00",1,-0.0,NaN,true,null],"é":"x\\"}"#,
            r#"{"a":1,"\u0061":2}"#,
            "[\"a",
        ] {
            let same =
                |json: Json| view_foreign(text.as_bytes(), 9).map(|view| (format!("{json:?}"), format!("{view:?}")));
            match parse_foreign(text.as_bytes(), 9).map(same) {
                Ok(Ok((copied, borrowed))) => assert_eq!(copied, borrowed),
                Ok(Err(error)) => panic!("{error}"),
                Err(error) => assert_eq!(view_foreign(text.as_bytes(), 9).unwrap_err(), error),
            }
        }
    }

    #[test]
    fn the_deepest_allowed_value_is_read() {
        let text = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(parse(text.as_bytes()).is_ok());
    }
}
