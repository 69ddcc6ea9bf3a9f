//! 32 bytes as 64 lower-case hexadecimal digits, one spelling only.

/// The bytes, if the text is exactly 64 lower-case hexadecimal digits.
pub(super) fn parse(text: &str) -> Option<[u8; 32]> {
    if text.bytes().any(|digit| digit.is_ascii_uppercase()) {
        return None;
    }
    blake3::Hash::from_hex(text).ok().map(|hash| *hash.as_bytes())
}

/// The 64 digits.
pub(super) fn encode(bytes: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*bytes).to_hex().to_string()
}
