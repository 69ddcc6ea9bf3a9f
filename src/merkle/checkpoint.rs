//! Checkpoints (C2SP tlog-checkpoint): the text that a log signs to stand for everything in it.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::MerkleError;
use super::note::{Note, VerifierKey};
use super::tree::{MAX_TREE_SIZE, TreeHead, empty_root};
use crate::object::Sha256;

/// Which log, how many leaves, which root: three lines, and rarely others. Displayed, it is the text that is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    origin: String,
    head: TreeHead,
    extensions: Vec<String>,
}

impl Checkpoint {
    /// The checkpoint of the log named `origin`, without extension lines.
    ///
    /// # Errors
    /// [`MerkleError::Checkpoint`] where the origin is not one line of text, or the empty tree has another root than
    /// its own; [`MerkleError::TreeTooLarge`].
    pub fn new(origin: impl Into<String>, head: TreeHead) -> Result<Self, MerkleError> {
        Self::with_extensions(origin.into(), head, Vec::new())
    }

    /// The same with extension lines, which this program never writes but carries along.
    ///
    /// # Errors
    /// As for [`new`](Self::new), and where an extension is not one line of text.
    pub fn with_extensions(origin: String, head: TreeHead, extensions: Vec<String>) -> Result<Self, MerkleError> {
        let refused = |reason| Err(MerkleError::Checkpoint { reason });
        if std::iter::once(&origin).chain(&extensions).any(|line| line.is_empty() || line.contains(|c: char| c < ' ')) {
            return refused("the origin or an extension is empty or has a control character in it");
        }
        if head.size > MAX_TREE_SIZE {
            return Err(MerkleError::TreeTooLarge { size: head.size });
        }
        if head.size == 0 && head.root != empty_root() {
            return refused("the root of an empty tree is not SHA-256 of nothing");
        }
        Ok(Self { origin, head, extensions })
    }

    /// Reads a signed checkpoint of the log `origin`, believing it only where one of `keys` has signed it.
    ///
    /// # Errors
    /// Those of [`Note::parse`], [`Note::verify`] and [`Checkpoint::from_str`]; [`MerkleError::OtherLog`].
    pub fn open(
        bytes: &[u8],
        origin: &str,
        keys: &[VerifierKey],
        check: impl Fn(&[u8; 32], &[u8], &[u8; 64]) -> bool,
    ) -> Result<Self, MerkleError> {
        let note = Note::parse(bytes)?;
        note.verify(keys, check)?;
        let checkpoint: Self = note.text().parse()?;
        if checkpoint.origin != origin {
            return Err(MerkleError::OtherLog { origin: checkpoint.origin, expected: origin.to_owned() });
        }
        Ok(checkpoint)
    }

    /// This checkpoint as a note signed with the secret half of `key`.
    ///
    /// # Errors
    /// Those of [`Note::sign`].
    pub fn sign<E: From<MerkleError>>(
        &self,
        key: &VerifierKey,
        sign: impl FnOnce(&[u8]) -> Result<[u8; 64], E>,
    ) -> Result<Note, E> {
        Note::sign(self.to_string(), key, sign)
    }

    /// The log's name.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The number of leaves, at most [`MAX_TREE_SIZE`].
    pub fn size(&self) -> u64 {
        self.head.size
    }

    /// The root over them.
    pub fn root(&self) -> Sha256 {
        self.head.root
    }

    /// Size and root together.
    pub fn head(&self) -> TreeHead {
        self.head
    }

    /// The lines after the third.
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.head.size, STANDARD.encode(self.head.root.as_bytes()))?;
        self.extensions.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl FromStr for Checkpoint {
    type Err = MerkleError;

    /// Reads a note's text. Its encoding is unique: displaying the checkpoint gives back the same text.
    fn from_str(text: &str) -> Result<Self, MerkleError> {
        let refused = |reason| MerkleError::Checkpoint { reason };
        let lines = text.strip_suffix('\n').ok_or(refused("it does not end with a line feed"))?;
        let mut lines = lines.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(refused("it has fewer than three lines"));
        };
        let size = parse_size(size).ok_or(refused("the size is not a decimal number without leading zeros"))?;
        let root = parse_root(root).ok_or(refused("the root is not 32 bytes in standard base64"))?;
        Self::with_extensions(origin.to_owned(), TreeHead { size, root }, lines.map(str::to_owned).collect())
    }
}

fn parse_size(text: &str) -> Option<u64> {
    text.parse().ok().filter(|size: &u64| size.to_string() == text)
}

fn parse_root(text: &str) -> Option<Sha256> {
    STANDARD.decode(text).ok()?.try_into().ok().map(Sha256::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";

    #[test]
    fn a_checkpoint_is_read_and_written_line_by_line() {
        for text in [
            format!("example.com/behind-the-sofa\n20852163\n{ROOT}\n"),
            format!("any origin + at all\n9007199254740991\n{ROOT}\nextension\n another one\n"),
            "o\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n".to_owned(),
        ] {
            let checkpoint: Checkpoint = text.parse().unwrap();
            assert_eq!(checkpoint.to_string(), text);
        }
        let checkpoint: Checkpoint = format!("log\n7\n{ROOT}\nx\n").parse().unwrap();
        assert_eq!(
            (checkpoint.origin(), checkpoint.size(), checkpoint.extensions()),
            ("log", 7, &["x".to_owned()][..])
        );
        assert_eq!(STANDARD.encode(checkpoint.root().as_bytes()), ROOT);
        assert_eq!(Checkpoint::with_extensions("log".into(), checkpoint.head(), vec!["x".into()]), Ok(checkpoint));
    }

    #[test]
    fn hostile_checkpoints_are_refused() {
        let size = "the size is not a decimal number without leading zeros";
        let root = "the root is not 32 bytes in standard base64";
        let line = "the origin or an extension is empty or has a control character in it";
        for (text, rule) in [
            (String::new(), "it does not end with a line feed"),
            (format!("log\n7\n{ROOT}"), "it does not end with a line feed"),
            ("log\n7\n".to_owned(), "it has fewer than three lines"),
            ("\n".to_owned(), "it has fewer than three lines"),
            (format!("\n7\n{ROOT}\n"), line),
            (format!("lo\tg\n7\n{ROOT}\n"), line),
            (format!("log\n7\n{ROOT}\n\n"), line),
            (format!("log\n7\n{ROOT}\n\nx\n"), line),
            (format!("log\n7\n{ROOT}\nx\r\n"), line),
            (format!("log\n\n{ROOT}\n"), size),
            (format!("log\n07\n{ROOT}\n"), size),
            (format!("log\n00\n{ROOT}\n"), size),
            (format!("log\n+7\n{ROOT}\n"), size),
            (format!("log\n-7\n{ROOT}\n"), size),
            (format!("log\n7 \n{ROOT}\n"), size),
            (format!("log\n0x7\n{ROOT}\n"), size),
            (format!("log\n7.0\n{ROOT}\n"), size),
            (format!("log\n\u{0667}\n{ROOT}\n"), size),
            (format!("log\n18446744073709551616\n{ROOT}\n"), size),
            ("log\n7\n\n".to_owned(), root),
            (format!("log\n7\n{ROOT}=\n"), root),
            (format!("log\n7\n {ROOT}\n"), root),
            (format!("log\n7\n{ROOT}\r\n"), root),
            (format!("log\n7\n{}\n", &ROOT[..43]), root),
            (format!("log\n7\n{}\n", &ROOT[4..]), root),
            (format!("log\n7\nAAAA{ROOT}\n"), root),
            (format!("log\n7\n{}\n", ROOT.replace("q2I=", "q2J=")), root),
            (format!("log\n7\n{}\n", ROOT.replace('/', "_")), root),
            (format!("log\n0\n{ROOT}\n"), "the root of an empty tree is not SHA-256 of nothing"),
        ] {
            assert_eq!(text.parse::<Checkpoint>(), Err(MerkleError::Checkpoint { reason: rule }), "{text:?}");
        }
        let text = format!("log\n9007199254740992\n{ROOT}\n");
        assert_eq!(text.parse::<Checkpoint>(), Err(MerkleError::TreeTooLarge { size: 1 << 53 }));
    }

    #[test]
    fn what_would_not_be_read_back_is_not_made() {
        let head = TreeHead { size: 1, root: empty_root() };
        for origin in ["", "two\nlines", "a\ttab"] {
            assert!(Checkpoint::new(origin, head).is_err(), "{origin:?}");
            assert!(Checkpoint::with_extensions("log".into(), head, vec![origin.into()]).is_err(), "{origin:?}");
        }
        assert!(Checkpoint::new("log", TreeHead { size: MAX_TREE_SIZE + 1, ..head }).is_err());
    }

    #[test]
    fn what_is_signed_is_what_is_opened() {
        let key = VerifierKey::new("log", [3; 32]).unwrap();
        let checkpoint = Checkpoint::new("log", TreeHead { size: 7, root: empty_root() }).unwrap();
        let text = checkpoint.to_string();
        let signature = |signed: &[u8]| {
            assert_eq!(signed, text.as_bytes());
            Ok::<_, MerkleError>([5; 64])
        };
        let bytes = checkpoint.sign(&key, signature).unwrap().encode();
        let check = |raw: &[u8; 32], signed: &[u8], signature: &[u8; 64]| {
            *raw == [3; 32] && signed == text.as_bytes() && *signature == [5; 64]
        };
        let keys = [key];
        assert_eq!(Checkpoint::open(&bytes, "log", &keys, check), Ok(checkpoint));
        let refused = Checkpoint::open(&bytes, "log", &keys, |_, _, _| false);
        assert!(matches!(refused, Err(MerkleError::BadSignature { .. })));
        let other = MerkleError::OtherLog { origin: "log".into(), expected: "other".into() };
        assert_eq!(Checkpoint::open(&bytes, "other", &keys, check), Err(other));
    }
}
