//! The container: a POSIX ustar archive in the one spelling that this program writes.
//!
//! `tar tf` lists it and `tar xf` unpacks it. A reader here takes no other spelling: every header must be, byte for byte,
//! the one that follows from the member's name and size, padding is zeros, and two blocks of zeros end it. So nothing in
//! an archive is unaccounted for, and nothing in it is ever used as a path.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::DossierError;
use crate::store::Name;

const BLOCK: u64 = 512;

/// The most bytes of a member: eleven octal digits.
pub const MAX_MEMBER_BYTES: u64 = (1 << 33) - 1;

/// The most members of an archive; each takes some 100 bytes of memory to read.
pub const MAX_MEMBERS: usize = 1_000_000;

/// Bytes that can be read at any place, by several readers at once.
#[derive(Debug, Clone)]
pub(super) struct Source(Arc<Held>);

#[derive(Debug)]
enum Held {
    File { file: File, length: u64 },
    Bytes(Vec<u8>),
}

impl Source {
    pub(super) fn of_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self(Arc::new(Held::File { file, length })))
    }

    pub(super) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Held::Bytes(bytes)))
    }

    fn length(&self) -> u64 {
        match &*self.0 {
            Held::File { length, .. } => *length,
            Held::Bytes(bytes) => bytes.len() as u64,
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match &*self.0 {
            Held::File { file, .. } => file.read_at(buffer, offset),
            Held::Bytes(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
        }
    }

    /// A reader of one member.
    pub(super) fn open(&self, member: Member) -> MemberReader {
        MemberReader { source: self.clone(), offset: member.offset, left: member.size }
    }

    /// The whole of a member, which is known to have at most `member.size` bytes.
    pub(super) fn read(&self, member: Member) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(member).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == member.size { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Where a member's bytes stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    offset: u64,
    pub(super) size: u64,
}

/// Reads one member from its beginning.
pub(super) struct MemberReader {
    source: Source,
    offset: u64,
    left: u64,
}

impl Read for MemberReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.source.read_at(&mut buffer[..most], self.offset)?;
        self.offset += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}

/// The header of a plain file: name, mode 0644, no owner, no time, the size, and the sum over all of it.
fn header(name: &str, size: u64) -> Option<[u8; BLOCK as usize]> {
    if name.is_empty() || name.len() > 100 || size > MAX_MEMBER_BYTES {
        return None;
    }
    let mut block = [0u8; BLOCK as usize];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(329, b"0000000\0");
    put(337, b"0000000\0");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(block)
}

fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK) - size
}

/// Whether bytes begin as such an archive with this first member does.
pub(super) fn is_begun_by(bytes: &[u8], first: &str) -> bool {
    bytes.starts_with(first.as_bytes())
        && bytes.get(first.len()) == Some(&0)
        && bytes.get(257..265) == Some(b"ustar\x0000")
}

/// Writes an archive.
pub(super) struct ArchiveWriter<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl<'a> ArchiveWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, written: 0 }
    }

    /// Appends a member of exactly `size` bytes.
    pub(super) fn member(&mut self, name: &str, size: u64, content: &mut dyn Read) -> Result<(), DossierError> {
        let header = header(name, size).ok_or_else(|| DossierError::TooLarge { name: name.to_owned() })?;
        self.put(&header)?;
        let copied = io::copy(&mut content.take(size), self.out).map_err(DossierError::Write)?;
        let more = content.read(&mut [0]).map_err(DossierError::Write)?;
        if copied != size || more != 0 {
            return Err(DossierError::Changed { name: name.to_owned() });
        }
        self.written += size;
        let zeros = [0; BLOCK as usize];
        self.put(&zeros[..padding(size) as usize])
    }

    /// Ends the archive and says how many bytes it has.
    pub(super) fn finish(mut self) -> Result<u64, DossierError> {
        self.put(&[0; 2 * BLOCK as usize])?;
        Ok(self.written)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), DossierError> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes).map_err(DossierError::Write)
    }
}

/// Reads the members of an archive in order.
pub(super) struct ArchiveReader {
    source: Source,
    at: u64,
    members: usize,
}

impl ArchiveReader {
    pub(super) fn new(source: Source) -> Self {
        Self { source, at: 0, members: 0 }
    }

    /// The next member; `None` after the last, once the archive has ended as it must.
    pub(super) fn next(&mut self) -> Result<Option<(Name, Member)>, DossierError> {
        let block = self.block()?;
        if block == [0; BLOCK as usize] {
            if self.block()? != block || self.at != self.source.length() {
                return Err(self.refused("it does not end with exactly two blocks of zeros"));
            }
            return Ok(None);
        }
        self.members += 1;
        if self.members > MAX_MEMBERS {
            return Err(self.refused("it has over a million members"));
        }
        let (name, size) = self.read_header(&block)?;
        let member = Member { offset: self.at, size };
        let after = size.checked_next_multiple_of(BLOCK).and_then(|whole| self.at.checked_add(whole));
        let after = after.filter(|after| *after <= self.source.length());
        let after = after.ok_or_else(|| self.refused("it is cut short"))?;
        let mut zeros = [0u8; BLOCK as usize];
        let zeros = &mut zeros[..padding(size) as usize];
        self.fill(zeros, self.at + size)?;
        if zeros.iter().any(|byte| *byte != 0) {
            return Err(self.refused("a member is padded with something else than zeros"));
        }
        self.at = after;
        Ok(Some((name, member)))
    }

    fn read_header(&self, block: &[u8; BLOCK as usize]) -> Result<(Name, u64), DossierError> {
        let text = |range: std::ops::Range<usize>| {
            let field = block.get(range).unwrap_or_default();
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
            std::str::from_utf8(&field[..end]).unwrap_or_default()
        };
        let (name, size) = (text(0..100), u64::from_str_radix(text(124..136), 8));
        let refused = || self.refused("a header is not the one that this format has for a name and a size");
        let size = size.map_err(|_| refused())?;
        if header(name, size).as_ref() != Some(block) {
            return Err(refused());
        }
        Ok((name.parse().map_err(|_| refused())?, size))
    }

    fn block(&mut self) -> Result<[u8; BLOCK as usize], DossierError> {
        let mut block = [0; BLOCK as usize];
        self.fill(&mut block, self.at)?;
        self.at += BLOCK;
        Ok(block)
    }

    fn fill(&self, buffer: &mut [u8], offset: u64) -> Result<(), DossierError> {
        let mut reader = self.source.open(Member { offset, size: buffer.len() as u64 });
        reader.read_exact(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.refused("it is cut short"),
            _ => DossierError::Read(error),
        })
    }

    /// A refusal at the place where reading stands.
    pub(super) fn refused(&self, reason: &'static str) -> DossierError {
        DossierError::Malformed { reason, offset: self.at }
    }
}
