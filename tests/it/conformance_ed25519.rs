//! One Ed25519 rule: the C2SP/CCTV edge cases, and one key or a prepared one giving the same answers.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use proofmark::trust::{PreparedKey, PublicKey, SecretKey, Signature, Signer, TrustError, settle};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    number: u32,
    key: String,
    sig: String,
    msg: String,
    flags: Option<BTreeSet<String>>,
}

impl Vector {
    fn has_any(&self, flags: &[&str]) -> bool {
        self.flags.iter().flatten().any(|flag| flags.contains(&flag.as_str()))
    }

    /// The rule in terms of the flags. Points with a low-order component beside a large one are not refused as such: the
    /// cofactorless equation refuses them where the components do not cancel out (`low_order_residue`). `reencoded_k` is
    /// about validators that hash a re-encoded point, and only comes with non-canonical points.
    fn is_to_be_accepted(&self) -> bool {
        !self.has_any(&["low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R", "low_order_residue"])
    }
}

fn bytes<const N: usize>(hex: &str) -> [u8; N] {
    assert_eq!(hex.len(), 2 * N);
    std::array::from_fn(|place| u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).unwrap())
}

fn vectors() -> Vec<Vector> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors/ed25519/cctv_ed25519.json");
    let vectors: Vec<Vector> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(vectors.len(), 914);
    vectors
}

#[test]
fn every_edge_case_is_decided_by_the_strict_rule() {
    let (mut accepted, mut refused_keys, mut refused_signatures) = (0, 0, 0);
    let (mut tables, mut answers) = (HashMap::new(), Vec::new());
    let vectors = vectors();
    for vector in &vectors {
        let number = vector.number;
        let key = match PublicKey::from_raw(&bytes(&vector.key)) {
            Ok(key) => key,
            Err(error) => {
                let non_canonical = vector.has_any(&["non_canonical_A"]);
                match error {
                    TrustError::NonCanonicalKey => assert!(non_canonical, "{number}"),
                    TrustError::SmallOrderKey => {
                        assert!(vector.has_any(&["low_order_A"]) && !non_canonical, "{number}")
                    }
                    other => panic!("{number}: {other}"),
                }
                refused_keys += 1;
                continue;
            }
        };
        assert!(!vector.has_any(&["low_order_A", "non_canonical_A"]), "{number}: the key should have been refused");
        let signature = Signature(bytes(&vector.sig));
        let single = key.verify(vector.msg.as_bytes(), &signature).is_ok();
        let prepared = tables.entry(key).or_insert_with(|| PreparedKey::new(&key));
        let prepared = prepared.verify(vector.msg.as_bytes(), &signature).is_ok();
        assert_eq!(single, vector.is_to_be_accepted(), "{number}: {:?}", vector.flags);
        assert_eq!(prepared, single, "{number}: {:?}", vector.flags);
        if single {
            accepted += 1
        } else {
            refused_signatures += 1
        }
        answers.push((key, vector.msg.as_bytes(), signature, single));
    }
    assert_eq!((accepted, refused_keys, refused_signatures), (43, 526, 345));
    // All at once, whatever stands beside each: the good among the bad stay good, and the other way round.
    for together in [1, 2, 16, answers.len()] {
        for part in answers.chunks(together) {
            let halves: Vec<_> = part.iter().map(|(key, message, one, _)| tables[key].half(message, one)).collect();
            let settled: Vec<_> = settle(&halves).iter().map(Result::is_ok).collect();
            assert_eq!(settled, part.iter().map(|(_, _, _, single)| *single).collect::<Vec<_>>(), "{together} at once");
        }
    }
}

/// The group order L = 2^252 + 27742317777372353535851937790883648493 (RFC 8032, section 5.1), little-endian.
const ORDER: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

#[test]
fn s_is_below_the_group_order() {
    let secret = SecretKey::generate([11; 32]);
    let prepared = PreparedKey::new(secret.public());
    let good = secret.sign(b"message").unwrap();
    let mut raised = good;
    let mut carry = 0;
    for (byte, order) in raised.0[32..].iter_mut().zip(bytes::<32>(ORDER)) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = (sum & 0xff) as u8;
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    prepared.verify(b"message", &good).unwrap();
    for bad in [raised, Signature([0xff; 64]), Signature([0; 64])] {
        assert!(matches!(secret.public().verify(b"message", &bad), Err(TrustError::BadSignature { .. })));
        assert!(matches!(prepared.verify(b"message", &bad), Err(TrustError::BadSignature { .. })));
    }
}

/// Encodings of the eight points of small order and the ways to write them that are not canonical, from the list in the
/// vectors' own description, and the edges of y.
fn special_points() -> Vec<[u8; 32]> {
    let vectors = vectors();
    let of = |flags: &[&str], field: fn(&Vector) -> &str| -> BTreeSet<[u8; 32]> {
        vectors.iter().filter(|vector| vector.has_any(flags)).map(|vector| bytes(&field(vector)[..64])).collect()
    };
    let mut points = of(&["low_order_A", "non_canonical_A"], |vector| &vector.key);
    points.extend(of(&["low_order_R", "non_canonical_R"], |vector| &vector.sig));
    assert_eq!(points.len(), 14, "eight points and six other encodings");
    points.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_prepared_key_answers_as_the_key_does(
        message in proptest::collection::vec(any::<u8>(), 0..200),
        seed in 0u8..4,
        flips in proptest::collection::vec(0usize..512, 0..3),
        r in proptest::option::of(proptest::sample::select(special_points())),
        cut in any::<bool>(),
    ) {
        static KEYS: std::sync::LazyLock<Vec<(SecretKey, PreparedKey)>> = std::sync::LazyLock::new(|| {
            (0..4).map(|seed| SecretKey::generate([seed; 32])).map(|key| { let prepared = PreparedKey::new(key.public()); (key, prepared) }).collect()
        });
        let (secret, prepared) = &KEYS[usize::from(seed)];
        let mut signature = secret.sign(&message).unwrap();
        if let Some(r) = r {
            signature.0[..32].copy_from_slice(&r);
        }
        for flip in &flips {
            signature.0[flip / 8] ^= 1 << (flip % 8);
        }
        let signed = if cut { &message[..message.len() / 2] } else { &message[..] };
        let single = secret.public().verify(signed, &signature).is_ok();
        prop_assert_eq!(prepared.verify(signed, &signature).is_ok(), single);
        let beside = secret.sign(b"beside").unwrap();
        let halves = [prepared.half(b"beside", &beside), prepared.half(signed, &signature), prepared.half(b"beside", &beside)];
        let settled: Vec<_> = settle(&halves).iter().map(Result::is_ok).collect();
        prop_assert_eq!(settled, [true, single, true]);
        let untouched = r.is_none() && signature == secret.sign(&message).unwrap() && signed.len() == message.len();
        prop_assert_eq!(single, untouched);
    }
}
