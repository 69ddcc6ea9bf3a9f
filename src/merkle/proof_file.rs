//! Proofs as files: C2SP tlog-proof (one entry is in the log) and the body of a C2SP tlog-witness `add-checkpoint`
//! request (a log has only grown).
//!
//! ```text
//! c2sp.org/tlog-proof@v1          old <size>
//! extra <base64>    (optional)    <hash, base64>  (0 to 63 lines)
//! index <decimal>
//! <hash, base64>    (0 to 63 lines)
//!
//! <checkpoint, verbatim>          <checkpoint, verbatim>
//! ```
//!
//! Both have one spelling: what is read encodes back to the same bytes. Nothing in them is believed: the hashes are held
//! against the checkpoint's root by `verify`, and the checkpoint against the log's key by whoever knows it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::checkpoint::Checkpoint;
use super::note::{MAX_NOTE_BYTES, Note};
use super::proof::{verify_consistency, verify_inclusion};
use super::tree::TreeHead;
use super::{MAX_ENTRY_BYTES, MerkleError};
use crate::object::Sha256;

/// The most hashes of a proof: a tree of 2^63 leaves has no more.
const MAX_HASHES: usize = 63;

/// The most bytes of extra data: an entry of the log.
const MAX_EXTRA_BYTES: usize = MAX_ENTRY_BYTES;

/// The longest proof file that is read, in bytes: a note, extra data, hashes, and room for the words.
pub const MAX_PROOF_BYTES: usize = MAX_NOTE_BYTES + MAX_EXTRA_BYTES * 4 / 3 + MAX_HASHES * 45 + 256;

/// The first line of a tlog-proof.
const INCLUSION_HEADER: &str = "c2sp.org/tlog-proof@v1";

fn refused<T>(reason: &'static str) -> Result<T, MerkleError> {
    Err(MerkleError::ProofFile { reason })
}

/// What both kinds end with: hashes, an empty line, a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tail {
    hashes: Vec<Sha256>,
    note: Note,
    checkpoint: Checkpoint,
}

impl Tail {
    fn new(hashes: Vec<Sha256>, note: Note) -> Result<Self, MerkleError> {
        if hashes.len() > MAX_HASHES {
            return refused("it has over 63 hashes");
        }
        let checkpoint = note.text().parse()?;
        Ok(Self { hashes, note, checkpoint })
    }

    fn parse(text: &str) -> Result<Self, MerkleError> {
        let (mut hashes, mut rest) = (Vec::new(), text);
        loop {
            let (line, after) = line(rest)?;
            rest = after;
            if line.is_empty() {
                return Self::new(hashes, Note::parse(rest.as_bytes())?);
            }
            if hashes.len() == MAX_HASHES {
                return refused("it has over 63 hashes");
            }
            let decoded = STANDARD.decode(line).ok().and_then(|bytes| bytes.try_into().ok());
            let Some(hash) = decoded else { return refused("a hash is not 32 bytes in standard base64") };
            hashes.push(Sha256::from_bytes(hash));
        }
    }

    fn encode(&self, mut text: String) -> Vec<u8> {
        for hash in &self.hashes {
            text.push_str(&STANDARD.encode(hash.as_bytes()));
            text.push('\n');
        }
        text.push('\n');
        [text.into_bytes(), self.note.encode()].concat()
    }
}

/// The first line, which must end, and what follows it.
fn line(text: &str) -> Result<(&str, &str), MerkleError> {
    text.split_once('\n').ok_or(MerkleError::ProofFile { reason: "it ends before its checkpoint" })
}

fn text(bytes: &[u8]) -> Result<&str, MerkleError> {
    if bytes.len() > MAX_PROOF_BYTES {
        return refused("it is longer than any proof");
    }
    std::str::from_utf8(bytes).or(refused("it is not UTF-8"))
}

fn number(text: &str) -> Result<u64, MerkleError> {
    let number = text.parse().ok().filter(|number: &u64| number.to_string() == text);
    number.ok_or(MerkleError::ProofFile { reason: "a number is not decimal without leading zeros" })
}

/// That one entry is in the log: a C2SP tlog-proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    extra: Option<Vec<u8>>,
    index: u64,
    tail: Tail,
}

impl InclusionProof {
    /// The proof of entry `index`, from 0, under a checkpoint; `extra` travels along unproven.
    ///
    /// # Errors
    /// [`MerkleError::ProofFile`] where a file cannot hold it, [`MerkleError::Checkpoint`] where the note is none.
    pub fn new(extra: Option<Vec<u8>>, index: u64, hashes: Vec<Sha256>, note: Note) -> Result<Self, MerkleError> {
        if extra.as_ref().is_some_and(|extra| extra.is_empty() || extra.len() > MAX_EXTRA_BYTES) {
            return refused("its extra data are empty or longer than an entry");
        }
        Ok(Self { extra, index, tail: Tail::new(hashes, note)? })
    }

    /// Reads a file, believing nothing.
    ///
    /// # Errors
    /// [`MerkleError::ProofFile`], [`MerkleError::Note`], [`MerkleError::Checkpoint`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MerkleError> {
        let (header, rest) = line(text(bytes)?)?;
        if header != INCLUSION_HEADER {
            return refused("its first line is not `c2sp.org/tlog-proof@v1`");
        }
        let (mut next, mut rest) = line(rest)?;
        let mut extra = None;
        if let Some(encoded) = next.strip_prefix("extra ") {
            extra = Some(STANDARD.decode(encoded).or(refused("its extra data are not standard base64"))?);
            (next, rest) = line(rest)?;
        }
        let Some(index) = next.strip_prefix("index ") else { return refused("it has no index line") };
        let (index, tail) = (number(index)?, Tail::parse(rest)?);
        Self::new(extra, index, tail.hashes, tail.note)
    }

    /// The one spelling of it.
    pub fn encode(&self) -> Vec<u8> {
        let extra = self.extra.as_ref().map(|extra| format!("extra {}\n", STANDARD.encode(extra)));
        self.tail.encode(format!("{INCLUSION_HEADER}\n{}index {}\n", extra.unwrap_or_default(), self.index))
    }

    /// Whether bytes begin as such a file does.
    pub fn is_begun_by(bytes: &[u8]) -> bool {
        bytes.starts_with(INCLUSION_HEADER.as_bytes())
    }

    /// Checks that the entry with this leaf hash is in the tree of the checkpoint. Whose checkpoint it is, is not looked at.
    ///
    /// # Errors
    /// Those of [`verify_inclusion`].
    pub fn verify(&self, leaf: &Sha256) -> Result<(), MerkleError> {
        verify_inclusion(leaf, self.index, &self.tail.hashes, &self.tail.checkpoint.head())
    }

    /// The entry's index, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// What travels along, which nothing proves.
    pub fn extra(&self) -> Option<&[u8]> {
        self.extra.as_deref()
    }

    /// The signed checkpoint, not yet believed.
    pub fn note(&self) -> &Note {
        &self.tail.note
    }

    /// What that note says.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.tail.checkpoint
    }
}

/// That a log has only grown since it had `old` entries: the body of a C2SP tlog-witness `add-checkpoint` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyProof {
    old: u64,
    tail: Tail,
}

impl ConsistencyProof {
    /// The proof that the tree of this checkpoint begins with the one of `old` entries.
    ///
    /// # Errors
    /// [`MerkleError::ProofFile`] where a file cannot hold it, [`MerkleError::Checkpoint`] where the note is none.
    pub fn new(old: u64, hashes: Vec<Sha256>, note: Note) -> Result<Self, MerkleError> {
        Ok(Self { old, tail: Tail::new(hashes, note)? })
    }

    /// Reads a file, believing nothing.
    ///
    /// # Errors
    /// [`MerkleError::ProofFile`], [`MerkleError::Note`], [`MerkleError::Checkpoint`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MerkleError> {
        let (first, rest) = line(text(bytes)?)?;
        let Some(old) = first.strip_prefix("old ") else { return refused("its first line is not `old` and a size") };
        Ok(Self { old: number(old)?, tail: Tail::parse(rest)? })
    }

    /// The one spelling of it.
    pub fn encode(&self) -> Vec<u8> {
        self.tail.encode(format!("old {}\n", self.old))
    }

    /// Whether bytes begin as such a file does.
    pub fn is_begun_by(bytes: &[u8]) -> bool {
        bytes.starts_with(b"old ")
    }

    /// Checks that the tree of the checkpoint begins with all of `older`, which must be the one that it is about. Whose
    /// checkpoint it is, is not looked at.
    ///
    /// # Errors
    /// [`MerkleError::OtherSize`]; those of [`verify_consistency`].
    pub fn verify(&self, older: &TreeHead) -> Result<(), MerkleError> {
        if older.size != self.old {
            return Err(MerkleError::OtherSize { proven: self.old, asked: older.size });
        }
        verify_consistency(older, &self.tail.checkpoint.head(), &self.tail.hashes)
    }

    /// The size that the log had before.
    pub fn old(&self) -> u64 {
        self.old
    }

    /// The newer signed checkpoint, not yet believed.
    pub fn note(&self) -> &Note {
        &self.tail.note
    }

    /// What that note says.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.tail.checkpoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";

    fn note() -> String {
        format!("log\n7\n{ROOT}\n\n\u{2014} log AAAAAQI=\n")
    }

    #[test]
    fn a_proof_is_read_and_written_line_by_line() {
        for text in [
            format!("{INCLUSION_HEADER}\nindex 0\n\n{}", note()),
            format!("{INCLUSION_HEADER}\nextra aGk=\nindex 6\n{ROOT}\n{ROOT}\n\n{}", note()),
        ] {
            let proof = InclusionProof::parse(text.as_bytes()).unwrap();
            assert_eq!(proof.encode(), text.as_bytes());
            assert_eq!(proof.checkpoint().size(), 7);
        }
        let text = format!("old 3\n{ROOT}\n\n{}", note());
        let proof = ConsistencyProof::parse(text.as_bytes()).unwrap();
        assert_eq!((proof.encode(), proof.old()), (text.into_bytes(), 3));
        let other = TreeHead { size: 4, root: proof.checkpoint().root() };
        assert_eq!(proof.verify(&other), Err(MerkleError::OtherSize { proven: 3, asked: 4 }));
    }

    #[test]
    fn hostile_proofs_are_refused() {
        let (end, index) = ("it ends before its checkpoint", "it has no index line");
        let hash = "a hash is not 32 bytes in standard base64";
        let decimal = "a number is not decimal without leading zeros";
        let header = "its first line is not `c2sp.org/tlog-proof@v1`";
        let long = format!("extra {}\nindex 0\n", STANDARD.encode(vec![1; MAX_EXTRA_BYTES + 1]));
        for (text, rule) in [
            (String::new(), end),
            (INCLUSION_HEADER.to_owned(), end),
            (format!("{INCLUSION_HEADER}\r\nindex 0\n\n{}", note()), header),
            (format!("{INCLUSION_HEADER}1\nindex 0\n\n{}", note()), header),
            (format!("{INCLUSION_HEADER}\n\n{}", note()), index),
            (format!("{INCLUSION_HEADER}\nindex0\n\n{}", note()), index),
            (format!("{INCLUSION_HEADER}\nextra aGk=\nextra aGk=\nindex 0\n\n{}", note()), index),
            (format!("{INCLUSION_HEADER}\nindex 0\nextra aGk=\n\n{}", note()), hash),
            (format!("{INCLUSION_HEADER}\nindex 00\n\n{}", note()), decimal),
            (format!("{INCLUSION_HEADER}\nindex +1\n\n{}", note()), decimal),
            (format!("{INCLUSION_HEADER}\nindex 18446744073709551616\n\n{}", note()), decimal),
            (format!("{INCLUSION_HEADER}\nindex 0 \n\n{}", note()), decimal),
            (
                format!("{INCLUSION_HEADER}\nextra \nindex 0\n\n{}", note()),
                "its extra data are empty or longer than an entry",
            ),
            (format!("{INCLUSION_HEADER}\n{long}\n{}", note()), "its extra data are empty or longer than an entry"),
            (
                format!("{INCLUSION_HEADER}\nextra aGl=\nindex 0\n\n{}", note()),
                "its extra data are not standard base64",
            ),
            (format!("{INCLUSION_HEADER}\nindex 0\n{}\n\n{}", &ROOT[..43], note()), hash),
            (format!("{INCLUSION_HEADER}\nindex 0\n {ROOT}\n\n{}", note()), hash),
            (format!("{INCLUSION_HEADER}\nindex 0\n{ROOT}\r\n\n{}", note()), hash),
            (
                format!("{INCLUSION_HEADER}\nindex 0\n{}\n{}", format!("{ROOT}\n").repeat(64), note()),
                "it has over 63 hashes",
            ),
            (format!("{INCLUSION_HEADER}\nindex 0\n{ROOT}\n"), end),
            ("x".repeat(MAX_PROOF_BYTES + 1), "it is longer than any proof"),
        ] {
            let refused = InclusionProof::parse(text.as_bytes());
            assert_eq!(refused, Err(MerkleError::ProofFile { reason: rule }), "{:.80}", text);
        }
        for (text, rule) in [
            (format!("older 3\n\n{}", note()), "its first line is not `old` and a size"),
            (format!("old 03\n\n{}", note()), decimal),
            (format!("old 3\nx\n\n{}", note()), hash),
            ("old 3\n".to_owned(), end),
        ] {
            let refused = ConsistencyProof::parse(text.as_bytes());
            assert_eq!(refused, Err(MerkleError::ProofFile { reason: rule }), "{text}");
        }
        let bare = format!("{INCLUSION_HEADER}\nindex 0\n\nno checkpoint\n");
        assert!(matches!(InclusionProof::parse(bare.as_bytes()), Err(MerkleError::Note { .. })));
        let other = format!("{INCLUSION_HEADER}\nindex 0\n\ntext\n\n\u{2014} log AAAAAQI=\n");
        assert!(matches!(InclusionProof::parse(other.as_bytes()), Err(MerkleError::Checkpoint { .. })));
    }
}
