//! Bytes: digests and typed ids, strict JSON, canonical JSON (RFC 8785), and line-by-line records.
//!
//! Nothing here touches a file, a clock, the environment or the network.

mod canonical;
mod digest;
mod json;
mod record;
mod writer;

pub use canonical::{CanonicalError, MAX_SAFE_INTEGER, encode, encode_json, parse_canonical};
pub(crate) use digest::from_text;
pub use digest::{DigestError, ObjectId, ReceiptId, Sha256};
pub use json::{Json, JsonError, JsonFault, JsonValue, JsonView, MAX_DEPTH, parse, parse_foreign, view_foreign};
pub use record::{
    FieldError, Fields, Line, LineReader, MAX_LINE_BYTES, MAX_LONG_LINE_BYTES, MAX_RECORDS, MAX_VALUES, RecordError,
    parse_line,
};
pub use writer::{encode_finite, encode_string};
