//! Verification of many signatures under one key: the same answers as [`PublicKey::verify`], about twice as fast.
//!
//! Strict verification recomputes R' = S·B − k·A and compares its encoding with R (RFC 8032, section 5.1.7). Most of
//! the time goes into some 250 doublings that S·B and k·A share. Here every needed power-of-two multiple of −A is
//! computed once per key, and of B once per process, so that R' is a sum of table entries without any doubling
//! (the fixed-base comb of Pippenger, as in section 4 of the Ed25519 paper by Bernstein et al., 2011). S and k are
//! public, so entries are picked by plain indexing. There is no batch equation: each signature gets its own answer, but
//! many of them can share the one field inversion that encoding R' takes (Montgomery's trick).

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::edwards::CompressedEdwardsY;
use curve25519_dalek::traits::Identity;
use curve25519_dalek::{EdwardsPoint, Scalar};
use rayon::prelude::*;
use sha2::{Digest, Sha512};

use super::{PublicKey, Signature, TrustError};

/// Bits of a digit for the base point, whose table (2 MiB) is built once per process.
const BASE_WIDTH: usize = 10;
/// Bits of a digit for a key, whose table takes 640 KiB.
const KEY_WIDTH: usize = 8;

/// The base point's table, made by the first call in a process.
fn base_point() -> &'static Comb<BASE_WIDTH> {
    static TABLE: OnceLock<Comb<BASE_WIDTH>> = OnceLock::new();
    TABLE.get().unwrap_or_else(|| {
        // Made on all cores, and so not under the lock: a thread that waits for the others takes up other work, which may
        // come here again.
        let made = Comb::new(ED25519_BASEPOINT_POINT);
        TABLE.get_or_init(|| made)
    })
}

static SMALL_ORDER: LazyLock<[[u8; 32]; 8]> = LazyLock::new(|| EIGHT_TORSION.map(|point| point.compress().to_bytes()));

/// The multiples of a point P that any scalar multiple of it is a sum of: row i holds 1·2^(W i)·P to 2^(W - 1)·2^(W i)·P,
/// where W, at most 12, is the width of a digit in bits. Negative digits are subtracted.
struct Comb<const W: usize>(Vec<EdwardsPoint>);

impl<const W: usize> Comb<W> {
    const ROW: usize = 1 << (W - 1);
    /// Digits of a scalar below 2^253 and the carry out of the last one.
    const ROWS: usize = 254_usize.div_ceil(W);

    /// The rows on all cores: each follows from its first entry, and those from each other by doubling alone.
    fn new(point: EdwardsPoint) -> Self {
        let firsts = std::iter::successors(Some(point), |first| Some((0..W).fold(*first, |point, _| point + point)));
        let firsts: Vec<_> = firsts.take(Self::ROWS).collect();
        let mut entries = vec![EdwardsPoint::identity(); Self::ROWS * Self::ROW];
        entries.par_chunks_exact_mut(Self::ROW).zip(&firsts).for_each(|(row, first)| {
            let mut multiple = EdwardsPoint::identity();
            for entry in row {
                multiple += first;
                *entry = multiple;
            }
        });
        Self(entries)
    }

    /// Adds the entries that add up to scalar · P to those picked, each with whether it is to be subtracted, in variable time.
    /// They are copied out before any is added: reads that miss the cache then overlap, instead of each holding up an addition.
    fn pick(&self, scalar: &Scalar, picked: &mut Picked) {
        for (digit, row) in signed_digits::<W>(scalar).zip(self.0.chunks_exact(Self::ROW)) {
            if let Some(place) = usize::from(digit.unsigned_abs()).checked_sub(1) {
                picked.points[picked.count] = (digit < 0, row[place]);
                picked.count += 1;
            }
        }
    }
}

/// Entries of both tables, at most one of each row.
struct Picked {
    points: [(bool, EdwardsPoint); Comb::<BASE_WIDTH>::ROWS + Comb::<KEY_WIDTH>::ROWS],
    count: usize,
}

impl Picked {
    fn none() -> Self {
        Self { points: [(false, EdwardsPoint::identity()); _], count: 0 }
    }

    fn sum(&self) -> EdwardsPoint {
        let mut sum = EdwardsPoint::identity();
        for (negative, point) in &self.points[..self.count] {
            if *negative {
                sum -= point;
            } else {
                sum += point;
            }
        }
        sum
    }
}

/// The scalar's digits from -2^(W - 1) to 2^(W - 1), lowest first: the sum of digit · 2^(W i) is the scalar.
fn signed_digits<const W: usize>(scalar: &Scalar) -> impl Iterator<Item = i16> {
    let mut bytes = [0u8; 40];
    bytes[..32].copy_from_slice(scalar.as_bytes());
    let mut carry = 0;
    (0..254_usize.div_ceil(W)).map(move |place| {
        let bit = place * W;
        let window = u32::from_le_bytes([bytes[bit / 8], bytes[bit / 8 + 1], bytes[bit / 8 + 2], bytes[bit / 8 + 3]]);
        let digit = ((window >> (bit % 8)) & ((1 << W) - 1)) as i16 + carry;
        carry = i16::from(digit >= 1 << (W - 1));
        digit - (carry << W)
    })
}

/// A public key with its table of multiples: 640 KiB, worth building from some forty signatures on.
///
/// Shared by reference between threads.
pub struct PreparedKey {
    key: PublicKey,
    negated: Comb<KEY_WIDTH>,
    base: &'static Comb<BASE_WIDTH>,
}

impl PreparedKey {
    /// Builds the table. Takes about as long as twenty calls of [`PublicKey::verify`]; the first of a process builds that of
    /// the base point as well, about sixty calls. Both on all cores.
    pub fn new(key: &PublicKey) -> Self {
        Self { key: *key, negated: Comb::new(-key.point()), base: base_point() }
    }

    /// The key itself.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Verifies one signature by the strict rule: for every input the answer of [`PublicKey::verify`].
    ///
    /// # Errors
    /// [`TrustError::BadSignature`].
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), TrustError> {
        let half = self.half(message, signature);
        half.answer(half.recomputed.map(|point| point.compress()))
    }

    /// Verifies all but the last step, which [`settle`] takes for many.
    pub fn half(&self, message: &[u8], signature: &Signature) -> HalfVerified<'_> {
        let (r, s) = halves(&signature.0);
        let s = Option::<Scalar>::from(Scalar::from_canonical_bytes(s)).filter(|_| !SMALL_ORDER.contains(&r));
        let recomputed = s.map(|s| self.recompute(&r, &s, message));
        HalfVerified { key: &self.key, r, recomputed }
    }

    /// R' = S·B − k·A.
    fn recompute(&self, r: &[u8; 32], s: &Scalar, message: &[u8]) -> EdwardsPoint {
        let hash = Sha512::new().chain_update(r).chain_update(self.key.raw()).chain_update(message);
        let k = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
        let mut picked = Picked::none();
        self.base.pick(s, &mut picked);
        self.negated.pick(&k, &mut picked);
        picked.sum()
    }
}

/// A signature whose R is still to be compared with R'.
pub struct HalfVerified<'k> {
    key: &'k PublicKey,
    r: [u8; 32],
    /// R'; `None` where the signature is refused already.
    recomputed: Option<EdwardsPoint>,
}

impl HalfVerified<'_> {
    /// Good only if R is, byte for byte, the canonical encoding of R': a non-canonical R, or one that is no point, cannot
    /// pass.
    fn answer(&self, encoded: Option<CompressedEdwardsY>) -> Result<(), TrustError> {
        match encoded {
            Some(encoded) if encoded.as_bytes() == &self.r => Ok(()),
            _ => Err(TrustError::BadSignature { key: self.key.fingerprint() }),
        }
    }
}

impl fmt::Debug for HalfVerified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HalfVerified(under {})", self.key)
    }
}

/// The answers of [`PreparedKey::verify`], each for its own signature and in their order, for one field inversion in all.
pub fn settle(signatures: &[HalfVerified<'_>]) -> Vec<Result<(), TrustError>> {
    let points: Vec<_> = signatures.iter().filter_map(|one| one.recomputed).collect();
    let mut encoded = EdwardsPoint::compress_batch_alloc(&points).into_iter();
    signatures.iter().map(|one| one.answer(one.recomputed.and_then(|_| encoded.next()))).collect()
}

fn halves(signature: &[u8; 64]) -> ([u8; 32], [u8; 32]) {
    let (mut r, mut s) = ([0; 32], [0; 32]);
    r.copy_from_slice(&signature[..32]);
    s.copy_from_slice(&signature[32..]);
    (r, s)
}

impl fmt::Debug for PreparedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedKey({})", self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::{SecretKey, Signer};

    fn order_minus(small: u64) -> Scalar {
        Scalar::ZERO - Scalar::from(small)
    }

    fn sum_of_digits<const W: usize>(scalar: &Scalar) -> Scalar {
        let base = Scalar::from(1u64 << W);
        let digits: Vec<i16> = signed_digits::<W>(scalar).collect();
        assert_eq!(digits.len(), Comb::<W>::ROWS);
        digits.iter().rev().fold(Scalar::ZERO, |sum, &digit| {
            assert!(digit.unsigned_abs() <= 1 << (W - 1), "{digit}");
            let size = Scalar::from(u64::from(digit.unsigned_abs()));
            sum * base + if digit < 0 { -size } else { size }
        })
    }

    #[test]
    fn digits_add_up_to_the_scalar_at_the_ends_of_its_range() {
        let half = Scalar::from(0x8080_8080_8080_8080u64);
        for scalar in [Scalar::ZERO, Scalar::ONE, half, order_minus(1), order_minus(2), order_minus(1 << 60)] {
            assert_eq!(sum_of_digits::<BASE_WIDTH>(&scalar), scalar);
            assert_eq!(sum_of_digits::<KEY_WIDTH>(&scalar), scalar);
            let mut picked = Picked::none();
            base_point().pick(&scalar, &mut picked);
            assert_eq!(picked.sum(), EdwardsPoint::mul_base(&scalar));
        }
    }

    #[test]
    fn settling_many_answers_each_as_it_is_answered_alone() {
        let secrets = [[1; 32], [2; 32]].map(SecretKey::generate);
        let keys = [0, 1].map(|one| PreparedKey::new(secrets[one].public()));
        assert!(settle(&[]).is_empty());
        for count in [1usize, 2, 7, 64] {
            let message = |at: usize| [at as u8; 40];
            let signed = |at: usize| {
                let mut signature = secrets[at % 2].sign(&message(at)).unwrap();
                match at % 7 {
                    // S that is not below the group order, another S, another R, an R of small order.
                    1 => signature.0[63] |= 0xf0,
                    3 => signature.0[40] ^= 1,
                    4 => signature.0[3] ^= 1,
                    5 => signature.0[..32].copy_from_slice(&SMALL_ORDER[at % 8]),
                    _ => {}
                }
                signature
            };
            let halves: Vec<_> = (0..count).map(|at| keys[at % 2].half(&message(at), &signed(at))).collect();
            let answers = settle(&halves);
            assert_eq!(answers.len(), count);
            for (at, answer) in answers.into_iter().enumerate() {
                let alone = secrets[at % 2].public().verify(&message(at), &signed(at));
                assert_eq!(answer.is_ok(), alone.is_ok(), "{at} of {count}");
                assert_eq!(answer.is_ok(), ![1, 3, 4, 5].contains(&(at % 7)), "{at} of {count}");
            }
        }
    }

    #[test]
    fn one_prepared_key_serves_many_threads() {
        let secret = SecretKey::generate([3; 32]);
        let prepared = PreparedKey::new(secret.public());
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let (secret, prepared) = (&secret, &prepared);
                scope.spawn(move || {
                    let mut signature = secret.sign(&[thread]).unwrap();
                    prepared.verify(&[thread], &signature).unwrap();
                    signature.0[0] ^= 1;
                    assert!(matches!(prepared.verify(&[thread], &signature), Err(TrustError::BadSignature { .. })));
                });
            }
        });
    }
}
