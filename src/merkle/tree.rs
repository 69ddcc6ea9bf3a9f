//! The hashes of the tree (RFC 6962 section 2.1): leaves and nodes are hashed apart, so neither can pass for the other.

use sha2::Digest;

use crate::object::Sha256;

/// The largest tree, in leaves: 2^53 - 1, so that a size survives any JSON reader.
pub const MAX_TREE_SIZE: u64 = (1 << 53) - 1;

/// A tree as one digest: what a checkpoint signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    /// The number of leaves.
    pub size: u64,
    /// The root hash over them.
    pub root: Sha256,
}

/// The root of the tree without leaves: SHA-256 of nothing.
pub fn empty_root() -> Sha256 {
    Sha256::of(b"")
}

/// The hash of a leaf: SHA-256(0x00 ‖ entry).
pub fn leaf_hash(entry: &[u8]) -> Sha256 {
    Sha256::from_bytes(sha2::Sha256::new().chain_update([0]).chain_update(entry).finalize().into())
}

/// The hash of an inner node: SHA-256(0x01 ‖ left ‖ right).
pub fn node_hash(left: &Sha256, right: &Sha256) -> Sha256 {
    let mut bytes = [1; 65];
    bytes[1..33].copy_from_slice(left.as_bytes());
    bytes[33..].copy_from_slice(right.as_bytes());
    Sha256::of(&bytes)
}

/// The root over these leaf hashes, or over any row of equally high subtrees: MTH of RFC 6962 section 2.1.
pub fn root_of(hashes: &[Sha256]) -> Sha256 {
    match hashes {
        [] => empty_root(),
        [only] => *only,
        [left, right] => node_hash(left, right),
        _ => {
            let (left, right) = hashes.split_at(hashes.len().next_power_of_two() / 2);
            node_hash(&root_of(left), &root_of(right))
        }
    }
}

/// One root over neighbouring perfect subtrees that get smaller from left to right; `None` where there are none.
pub(super) fn join(peaks: &[Sha256]) -> Option<Sha256> {
    let (last, rest) = peaks.split_last()?;
    Some(rest.iter().rfold(*last, |right, left| node_hash(left, &right)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roots over the first n of the eight inputs that RFC 6962 implementations share.
    #[test]
    fn the_roots_are_those_of_the_reference_implementation() {
        let inputs: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let leaves: Vec<_> = inputs.iter().map(|input| leaf_hash(input)).collect();
        for (size, root) in [
            (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
            (2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
            (3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
            (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
        ] {
            assert_eq!(root_of(&leaves[..size]).to_string(), root, "size {size}");
        }
    }

    #[test]
    fn joined_peaks_are_the_root() {
        let leaves: Vec<_> = (0..7u8).map(|leaf| leaf_hash(&[leaf])).collect();
        let peaks = [root_of(&leaves[..4]), root_of(&leaves[4..6]), leaves[6]];
        assert_eq!(join(&peaks), Some(root_of(&leaves)));
        assert_eq!(join(&[]), None);
    }
}
