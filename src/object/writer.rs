//! Writes any serializable value as canonical JSON (RFC 8785): one pass, members put in order where each object ends.

use std::cmp::Ordering;

use serde::Serialize;
use serde::ser::{self, Error as _, Serializer};
use serde_json::Error;

use super::canonical::MAX_SAFE_INTEGER;
use super::json::plain;

/// serde_json hands over numbers and raw text that it keeps as text under such names.
const PRIVATE: &str = "$serde_json::private";

/// Where a member is in what was written: `"key"` is `start..key_end`, and `"key":value` is `start..end`.
#[derive(Clone, Copy)]
struct Member {
    start: usize,
    key_end: usize,
    end: usize,
    /// Whether the key is ASCII without escapes, so that its bytes sort as its UTF-16 does.
    plain: bool,
}

/// Canonical JSON as it grows.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
    /// The members of all objects that are still open, innermost last.
    members: Vec<Member>,
}

/// The canonical bytes of a value.
pub(super) fn write<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Error> {
    let mut writer = Writer { out: Vec::with_capacity(1024), members: Vec::new() };
    value.serialize(&mut writer)?;
    Ok(writer.out)
}

impl Writer {
    fn string(&mut self, text: &str) {
        encode_string(text, &mut self.out);
    }

    fn integer(&mut self, value: i128) -> Result<(), Error> {
        if value.abs() > MAX_SAFE_INTEGER {
            return Err(Error::custom(format!("the integer {value} is beyond 2^53 - 1")));
        }
        // Writing into a vector cannot fail.
        let _ = std::io::Write::write_fmt(&mut self.out, format_args!("{value}"));
        Ok(())
    }

    /// RFC 8785 section 3.2.2.3: as ECMAScript prints numbers.
    fn float(&mut self, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            return Err(Error::custom("JSON has neither NaN nor infinity"));
        }
        encode_finite(value, &mut self.out);
        Ok(())
    }

    fn open(&mut self, bracket: u8) -> Compound<'_> {
        let (start, first) = (self.out.len(), self.members.len());
        self.out.push(bracket);
        Compound { writer: self, start, first, wrapped: false }
    }

    /// `{"variant":` and what follows; `closing` ends it.
    fn open_variant(&mut self, variant: &str, bracket: u8) -> Compound<'_> {
        self.out.push(b'{');
        self.string(variant);
        self.out.push(b':');
        Compound { wrapped: true, ..self.open(bracket) }
    }

    /// Puts the members of the innermost object, which begins at `start`, in the order of their keys.
    fn sort(&mut self, start: usize, first: usize) {
        let (out, members) = (&self.out, &mut self.members[first..]);
        if members.is_sorted_by(|one, next| by_key(out, *one, *next) == Ordering::Less) {
            return;
        }
        members.sort_by(|one, next| by_key(out, *one, *next));
        let mut sorted = Vec::with_capacity(out.len() - start);
        for member in members.iter() {
            sorted.push(if sorted.is_empty() { b'{' } else { b',' });
            sorted.extend_from_slice(&out[member.start..member.end]);
        }
        self.out.truncate(start);
        self.out.append(&mut sorted);
    }
}

/// Appends the canonical form of a text (RFC 8785 section 3.2.2.2): quotes, backslashes and control characters are escaped,
/// the latter in two characters where JSON has such a form and as `\u00xx` in lower case elsewhere; all else stands for itself.
pub fn encode_string(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    out.push(b'"');
    loop {
        let (plain, after) = rest.split_at(plain(rest));
        out.extend_from_slice(plain);
        let Some((byte, after)) = after.split_first() else { return out.push(b'"') };
        escape(*byte, out);
        rest = after;
    }
}

/// Appends the canonical form of a finite number (RFC 8785 section 3.2.2.3): as ECMAScript prints it.
pub fn encode_finite(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// RFC 8785 section 3.2.3: by UTF-16 code units, which for plain ASCII are the bytes.
fn by_key(out: &[u8], one: Member, next: Member) -> Ordering {
    let plain = one.plain && next.plain;
    let (one, next) = (&out[one.start..one.key_end], &out[next.start..next.key_end]);
    if plain {
        // Without the quotes, which would sort after a shorter key's end.
        return one[1..one.len() - 1].cmp(&next[1..next.len() - 1]);
    }
    // What was written above is a JSON string.
    let units =
        |key: &[u8]| -> Vec<u16> { serde_json::from_slice::<String>(key).unwrap_or_default().encode_utf16().collect() };
    units(one).cmp(&units(next))
}

/// An array or object that is being written.
pub(super) struct Compound<'a> {
    writer: &'a mut Writer,
    start: usize,
    /// How many members were open before this one's.
    first: usize,
    /// Whether it stands alone in an object that names an enum's variant.
    wrapped: bool,
}

impl Compound<'_> {
    fn comma(&mut self) {
        if self.writer.out.len() > self.start + 1 {
            self.writer.out.push(b',');
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.comma();
        value.serialize(&mut *self.writer)
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.comma();
        let start = self.writer.out.len();
        key.serialize(&mut *self.writer)?;
        let key_end = self.writer.out.len();
        let written = &self.writer.out[start..];
        if written.first() != Some(&b'"') {
            return Err(Error::custom("the key of a member is a string"));
        }
        let plain = written.is_ascii() && !written.contains(&b'\\');
        self.writer.out.push(b':');
        self.writer.members.push(Member { start, key_end, end: key_end, plain });
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.writer)?;
        let end = self.writer.out.len();
        if let Some(member) = self.writer.members.last_mut() {
            member.end = end;
        }
        Ok(())
    }

    fn close(self, bracket: u8) {
        let Self { writer, start, first, wrapped } = self;
        writer.sort(start, first);
        writer.members.truncate(first);
        writer.out.push(bracket);
        if wrapped {
            writer.out.push(b'}');
        }
    }
}

macro_rules! integers {
    ($($method:ident $type:ty)*) => {
        $(fn $method(self, value: $type) -> Result<(), Error> {
            self.integer(i128::from(value))
        })*
    };
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    integers! {
        serialize_i8 i8 serialize_i16 i16 serialize_i32 i32 serialize_i64 i64 serialize_i128 i128
        serialize_u8 u8 serialize_u16 u16 serialize_u32 u32 serialize_u64 u64
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.integer(i128::try_from(value).unwrap_or(i128::MAX))
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.float(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.string(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut object = self.open(b'{');
        object.key(variant)?;
        object.value(value)?;
        object.close(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'['))
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'['))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'['))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Error> {
        Ok(self.open_variant(variant, b'['))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'a>, Error> {
        Ok(self.open(b'{'))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Compound<'a>, Error> {
        if name.starts_with(PRIVATE) {
            return Err(Error::custom("text that was not parsed has no canonical form"));
        }
        Ok(self.open(b'{'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Error> {
        Ok(self.open_variant(variant, b'{'))
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.string(&value.to_string());
        Ok(())
    }
}

macro_rules! arrays {
    ($($which:ident $method:ident)*) => {
        $(impl ser::$which for Compound<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close(b']');
                Ok(())
            }
        })*
    };
}

arrays! {
    SerializeSeq serialize_element SerializeTuple serialize_element
    SerializeTupleStruct serialize_field SerializeTupleVariant serialize_field
}

macro_rules! structs {
    ($($which:ident)*) => {
        $(impl ser::$which for Compound<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.key(key)?;
                self.value(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close(b'}');
                Ok(())
            }
        })*
    };
}

structs! { SerializeStruct SerializeStructVariant }

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_written_as_other_writers_do() {
        for c in ('\0'..='\u{2ff}').chain(['\u{2028}', '\u{fb33}', '\u{feff}', '\u{ffff}', '😀', char::MAX]) {
            for text in [format!("a{c}b{c}"), format!("{}{c}b", "é".repeat(40)), format!("{}{c}", "x".repeat(31))] {
                let mut out = Vec::new();
                encode_string(&text, &mut out);
                assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap(), "{c:?}");
            }
        }
    }
}
