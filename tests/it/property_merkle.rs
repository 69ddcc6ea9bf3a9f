//! The growing tree and its proofs against the definitions of RFC 6962 and tlog-tiles, written out plainly.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use proofmark::merkle::{
    Bundle, BundleWriter, Frontier, MerkleError, TileName, TileReader, TreeHead, leaf_hash, partial_tiles,
    tiles_between, verify_consistency, verify_inclusion,
};
use proofmark::object::Sha256;
use proptest::prelude::*;

const MOST: usize = 66_200;

static LEAVES: LazyLock<Vec<Sha256>> =
    LazyLock::new(|| (0..MOST as u64).map(|leaf| leaf_hash(&leaf.to_be_bytes())).collect());

/// MTH(D[n]), RFC 6962 section 2.1, to the letter.
fn root(leaves: &[Sha256]) -> Sha256 {
    match leaves {
        [] => Sha256::of(&[]),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            Sha256::of(&[[1].as_slice(), root(left).as_bytes(), root(right).as_bytes()].concat())
        }
    }
}

/// The largest power of two smaller than n.
fn split(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

/// PATH(m, D[n]), RFC 6962 section 2.1.1.
fn path(m: usize, leaves: &[Sha256]) -> Vec<Sha256> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let k = split(leaves.len());
    let (left, right) = leaves.split_at(k);
    let (mut proof, top) = if m < k { (path(m, left), root(right)) } else { (path(m - k, right), root(left)) };
    proof.push(top);
    proof
}

/// SUBPROOF(m, D[n], b), RFC 6962 section 2.1.2.
fn subproof(m: usize, leaves: &[Sha256], known: bool) -> Vec<Sha256> {
    if m == leaves.len() {
        return if known { Vec::new() } else { vec![root(leaves)] };
    }
    let k = split(leaves.len());
    let (left, right) = leaves.split_at(k);
    let (mut proof, top) =
        if m <= k { (subproof(m, left, known), root(right)) } else { (subproof(m - k, right, false), root(left)) };
    proof.push(top);
    proof
}

/// The tile's hashes by the formula of tlog-tiles: MTH(D[(n * 256 + i) * 256^l : (n * 256 + i + 1) * 256^l]).
fn tile(name: TileName) -> Vec<u8> {
    let span = 256usize.pow(u32::from(name.level().unwrap()));
    let first = name.index() as usize * 256;
    let hash = |i| root(&LEAVES[i * span..(i + 1) * span]);
    (first..first + usize::from(name.width())).flat_map(|i| *hash(i).as_bytes()).collect()
}

type Shelf = BTreeMap<TileName, Vec<u8>>;

/// A source that has these tiles and fails for any other.
fn source(shelf: &Shelf) -> impl FnMut(TileName) -> Result<Vec<u8>, MerkleError> + '_ {
    |name| Ok(shelf.get(&name).unwrap_or_else(|| panic!("{name} was never written")).clone())
}

fn shelve(shelf: &mut Shelf) -> impl FnMut(TileName, &[u8]) -> Result<(), MerkleError> + '_ {
    |name, bytes| {
        assert_eq!(shelf.insert(name, bytes.to_vec()), None, "{name} is written once");
        Ok(())
    }
}

/// Appends up to `size` as a writer does that starts anew: loads the edge, pushes, writes the partial tiles, and
/// prunes those that the tree had before.
fn append(shelf: &mut Shelf, old: u64, size: u64) -> Frontier {
    let mut frontier = Frontier::load(old, source(shelf)).unwrap();
    let mut written = Shelf::new();
    for leaf in &LEAVES[old as usize..size as usize] {
        frontier.push(*leaf, shelve(&mut written)).unwrap();
    }
    let edge: Vec<_> = partial_tiles(size).collect();
    assert_eq!(frontier.partial_tiles().map(|(name, _)| name).collect::<Vec<_>>(), edge);
    let kept: BTreeSet<_> = partial_tiles(old).filter(|name| edge.contains(name)).collect();
    for (name, bytes) in frontier.partial_tiles().filter(|(name, _)| !kept.contains(name)) {
        written.insert(name, bytes.to_vec());
    }
    assert_eq!(written.keys().copied().collect::<BTreeSet<_>>(), tiles_between(old, size).collect());
    shelf.retain(|name, _| name.is_full() || kept.contains(name));
    shelf.append(&mut written);
    assert_eq!(shelf.keys().copied().collect::<BTreeSet<_>>(), tiles_between(0, size).collect());
    frontier
}

#[test]
fn the_frontier_has_the_root_of_every_size_to_1030() {
    let mut frontier = Frontier::new();
    let mut shelf = Shelf::new();
    for size in 0..=1030 {
        assert_eq!(frontier.head(), TreeHead { size: size as u64, root: root(&LEAVES[..size]) });
        frontier.push(LEAVES[size], shelve(&mut shelf)).unwrap();
    }
    assert!(shelf.iter().all(|(name, bytes)| *bytes == tile(*name)));
    assert_eq!(shelf.len(), 4, "four full tiles of level 0");
}

#[test]
fn proofs_are_those_of_the_definition_for_every_pair_to_70() {
    let mut shelf = Shelf::new();
    append(&mut shelf, 0, 70);
    let mut tree = TileReader::new(70, source(&shelf)).unwrap();
    for size in 0..=70 {
        assert_eq!(tree.root_at(size as u64).unwrap(), root(&LEAVES[..size]));
        for other in 0..size {
            assert_eq!(tree.inclusion(other as u64, size as u64).unwrap(), path(other, &LEAVES[..size]));
            let older = other + 1;
            let proof = tree.consistency(older as u64, size as u64).unwrap();
            assert_eq!(proof, subproof(older, &LEAVES[..size], true));
        }
    }
}

#[test]
fn questions_about_what_the_tree_has_not_are_refused() {
    let mut shelf = Shelf::new();
    append(&mut shelf, 0, 300);
    let mut tree = TileReader::new(300, source(&shelf)).unwrap();
    assert_eq!(tree.leaf(299), Ok(LEAVES[299]));
    assert_eq!(tree.leaf(300), Err(MerkleError::LeafOutsideTree { index: 300, size: 300 }));
    assert!(tree.leaf(u64::MAX).is_err());
    assert_eq!(tree.inclusion(20, 20), Err(MerkleError::LeafOutsideTree { index: 20, size: 20 }));
    assert_eq!(tree.inclusion(0, 301), Err(MerkleError::TreeShrank { older: 301, newer: 300 }));
    assert_eq!(tree.root_at(301), Err(MerkleError::TreeShrank { older: 301, newer: 300 }));
    assert_eq!(tree.consistency(0, 300), Err(MerkleError::EmptyTree));
    assert_eq!(tree.consistency(21, 20), Err(MerkleError::TreeShrank { older: 21, newer: 20 }));
    assert_eq!(tree.consistency(21, u64::MAX), Err(MerkleError::TreeShrank { older: u64::MAX, newer: 300 }));

    let name = "tile/0/001.p/44".parse().unwrap();
    for bytes in [0, 1, 32 * 43, 32 * 44 - 1, 32 * 44 + 1, 32 * 45] {
        let wrong = |_| Ok::<_, MerkleError>(vec![0; bytes]);
        let refused = MerkleError::TileLength { name, bytes, expected: 32 * 44 };
        assert_eq!(Frontier::load(300, wrong), Err(refused.clone()));
        assert_eq!(TileReader::new(300, wrong).unwrap().leaf(299), Err(refused));
    }
}

#[test]
fn trees_have_at_most_2_to_the_53_minus_1_leaves() {
    let most: u64 = (1 << 53) - 1;
    let zeros = |name: TileName| Ok::<_, MerkleError>(vec![0; 32 * usize::from(name.width())]);
    let refused = MerkleError::TreeTooLarge { size: most + 1 };
    let mut frontier = Frontier::load(most - 1, zeros).unwrap();
    let sink = |_: TileName, _: &[u8]| Ok(());
    frontier.push(LEAVES[0], sink).unwrap();
    assert_eq!(frontier.size(), most);
    assert_eq!(frontier.push(LEAVES[0], sink), Err(refused.clone()));
    assert_eq!(Frontier::load(most + 1, zeros), Err(refused.clone()));
    assert_eq!(TileReader::new(most + 1, zeros).err(), Some(refused.clone()));
    assert_eq!(BundleWriter::load(most + 1, zeros), Err(refused));
    let proof = TileReader::new(most, zeros).unwrap().inclusion(most - 1, most).unwrap();
    let head = TreeHead { size: most, root: TileReader::new(most, zeros).unwrap().root_at(most).unwrap() };
    verify_inclusion(&Sha256::from_bytes([0; 32]), most - 1, &proof, &head).unwrap();
}

#[test]
fn a_reader_holds_a_bounded_number_of_tiles() {
    let mut asked = Vec::new();
    let zeros = |name: TileName| {
        asked.push(name.index());
        Ok::<_, MerkleError>(vec![0; 32 * usize::from(name.width())])
    };
    let mut tree = TileReader::new(100 * 256, zeros).unwrap();
    for leaf in (0..100).chain([99, 0]).map(|tile| tile * 256) {
        tree.leaf(leaf).unwrap();
    }
    assert_eq!(asked, (0..100).chain([0]).collect::<Vec<_>>(), "the last is at hand, the first is not");
}

/// What a source or sink fails with comes back as it is.
#[test]
fn the_callers_own_error_comes_through() {
    #[derive(Debug, PartialEq)]
    enum Trouble {
        Disk(String),
        Merkle(MerkleError),
    }
    impl From<MerkleError> for Trouble {
        fn from(error: MerkleError) -> Self {
            Self::Merkle(error)
        }
    }
    let broken = |name: TileName| Err::<Vec<u8>, _>(Trouble::Disk(name.to_string()));
    assert_eq!(Frontier::load(257, broken), Err(Trouble::Disk("tile/0/001.p/1".into())));
    assert_eq!(BundleWriter::load(257, broken), Err(Trouble::Disk("tile/entries/001.p/1".into())));
    assert_eq!(TileReader::new(257, broken).unwrap().root_at(257), Err(Trouble::Disk("tile/1/000.p/1".into())));
    let short = |_| Ok::<_, Trouble>(Vec::new());
    assert!(matches!(Frontier::load(1, short), Err(Trouble::Merkle(MerkleError::TileLength { .. }))));
}

/// One receipt more on a log of 65,535: three levels fill or begin at once.
#[test]
fn the_leaf_that_fills_two_levels_writes_the_tiles_of_three() {
    let mut shelf = Shelf::new();
    append(&mut shelf, 0, 65_535);
    let frontier = append(&mut shelf, 65_535, 65_536);
    assert_eq!(frontier.root(), root(&LEAVES[..65_536]));
    let names: Vec<_> = tiles_between(65_535, 65_536).map(|name| name.to_string()).collect();
    assert_eq!(names, ["tile/0/255", "tile/1/000", "tile/2/000.p/1"]);
    assert!(tiles_between(65_535, 65_536).all(|name| shelf[&name] == tile(name)));
}

fn splits(from: std::ops::Range<u64>, by: std::ops::Range<u64>, times: usize) -> impl Strategy<Value = Vec<u64>> {
    (from, prop::collection::vec(by, 1..times)).prop_map(|(first, steps)| {
        let sizes = steps.into_iter().scan(first, |size, step| {
            *size += step;
            Some(*size)
        });
        std::iter::once(first).chain(sizes).collect()
    })
}

/// Appends in these steps, compares all new tiles and the root with the definitions, and proves the last step.
fn grow(sizes: &[u64], index: u64) {
    let mut shelf = Shelf::new();
    let mut old = 0;
    for size in sizes.iter().copied() {
        let frontier = append(&mut shelf, old, size);
        if old > 0 {
            for name in tiles_between(old, size) {
                assert_eq!(shelf[&name], tile(name), "{name} in steps {sizes:?}");
            }
        }
        old = size;
        assert_eq!(frontier.size(), size);
    }
    let (size, before) = (old, sizes[sizes.len() - 2]);
    let head = TreeHead { size, root: root(&LEAVES[..size as usize]) };
    assert_eq!(Frontier::load(size, source(&shelf)).unwrap().head(), head);

    let mut asked = Vec::new();
    let counted = |name| {
        asked.push(name);
        source(&shelf)(name)
    };
    let mut tree = TileReader::new(size, counted).unwrap();
    let older = TreeHead { size: before, root: tree.root_at(before).unwrap() };
    assert_eq!(older.root, root(&LEAVES[..before as usize]));
    let proof = tree.inclusion(index % size, size).unwrap();
    verify_inclusion(&LEAVES[(index % size) as usize], index % size, &proof, &head).unwrap();
    if before > 0 {
        let proof = tree.consistency(before, size).unwrap();
        verify_consistency(&older, &head, &proof).unwrap();
    }
    assert!(asked.len() <= 9, "three answers about three levels read {asked:?}");
    assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "a tile is read once");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn appends_in_any_steps_write_the_same_tree(sizes in splits(0..300, 0..300, 6), index in 1u64..) {
        if sizes[sizes.len() - 1] > 0 {
            grow(&sizes, index);
        }
    }

    #[test]
    fn entries_come_out_of_their_bundles_as_they_went_in(
        entries in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..600),
        parts in 1usize..5,
    ) {
        let mut shelf = Shelf::new();
        let mut size = 0;
        for part in entries.chunks(entries.len() / parts + 1) {
            let mut writer = BundleWriter::load(size, source(&shelf)).unwrap();
            for entry in part {
                writer.push(entry, shelve(&mut shelf)).unwrap();
            }
            shelf.extend(writer.partial_bundle().map(|(name, bytes)| (name, bytes.to_vec())));
            size = writer.size();
        }
        let leaves = tiles_between(0, size).filter_map(TileName::bundle);
        let read: Vec<Vec<u8>> = leaves
            .flat_map(|name| Bundle::parse(&shelf[&name], name.width()).unwrap().entries().map(<[u8]>::to_vec).collect::<Vec<_>>())
            .collect();
        prop_assert_eq!(read, entries);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn appends_across_65536_write_the_same_tree(sizes in splits(65_300..65_530, 1..200, 4), index in 1u64..) {
        grow(&sizes, index);
    }
}
