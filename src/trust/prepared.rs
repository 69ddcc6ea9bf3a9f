//! Verification of many signatures under one key: the same answers as [`PublicKey::verify`], several times faster.
//!
//! Strict verification recomputes R' = S·B − k·A and compares its encoding with R (RFC 8032, section 5.1.7). Most of
//! the time goes into some 250 doublings that S·B and k·A share. Here every needed power-of-two multiple of −A is
//! computed once per key, and of B once per process, so that R' is a sum of table entries without any doubling
//! (the fixed-base comb of Pippenger, as in section 4 of the Ed25519 paper by Bernstein et al., 2011). S and k are
//! public, so entries are picked by plain indexing. There is no batch equation: each signature gets its own answer.

use std::fmt;
use std::sync::LazyLock;

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::traits::Identity;
use curve25519_dalek::{EdwardsPoint, Scalar};
use sha2::{Digest, Sha512};

use super::{PublicKey, Signature, TrustError};

/// Bits of one digit of a scalar.
const WIDTH: usize = 8;
/// Digits of a scalar below 2^253, the last one's carry included.
const DIGITS: usize = 32;
/// Multiples 1·P … 128·P kept for every digit; the negative ones are subtracted.
const ENTRIES: usize = 1 << (WIDTH - 1);

static BASEPOINT: LazyLock<Comb> = LazyLock::new(|| Comb::new(ED25519_BASEPOINT_POINT));
static SMALL_ORDER: LazyLock<[[u8; 32]; 8]> = LazyLock::new(|| EIGHT_TORSION.map(|point| point.compress().to_bytes()));

/// Entry `ENTRIES * i + j` is (j + 1) · 2^(8 i) · P.
struct Comb(Vec<EdwardsPoint>);

impl Comb {
    fn new(point: EdwardsPoint) -> Self {
        let mut entries = Vec::with_capacity(DIGITS * ENTRIES);
        let mut unit = point;
        for _ in 0..DIGITS {
            let mut multiple = unit;
            for _ in 0..ENTRIES {
                entries.push(multiple);
                multiple += unit;
            }
            // One step past the last entry: 129 units, where the next digit's unit is 256.
            unit = multiple + multiple - unit - unit;
        }
        Self(entries)
    }

    /// `sum` + scalar · P, in variable time.
    fn add_multiple(&self, mut sum: EdwardsPoint, scalar: &Scalar) -> EdwardsPoint {
        for (digit, entries) in signed_digits(scalar).into_iter().zip(self.0.chunks_exact(ENTRIES)) {
            let index = usize::from(digit.unsigned_abs());
            match digit {
                0 => {}
                1.. => sum += &entries[index - 1],
                _ => sum -= &entries[index - 1],
            }
        }
        sum
    }
}

/// The scalar in digits from -128 to 127, lowest first: the sum of digit · 2^(8 i) is the scalar, which is below 2^253,
/// so that the last digit takes up its carry.
fn signed_digits(scalar: &Scalar) -> [i8; DIGITS] {
    let mut carry = 0;
    scalar.to_bytes().map(|byte| {
        let digit = i16::from(byte) + carry;
        carry = i16::from(digit > 127);
        (digit - 256 * carry) as i8
    })
}

/// A public key with its table of multiples: about 0.6 MiB, worth building from some thirty signatures on.
///
/// Shared by reference between threads.
pub struct PreparedKey {
    key: PublicKey,
    negated: Comb,
}

impl PreparedKey {
    /// Builds the table. Takes about as long as ten to twenty verifications.
    pub fn new(key: &PublicKey) -> Self {
        Self { key: *key, negated: Comb::new(-key.point()) }
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
        if self.holds(message, signature) {
            Ok(())
        } else {
            Err(TrustError::BadSignature { key: self.key.fingerprint() })
        }
    }

    fn holds(&self, message: &[u8], signature: &Signature) -> bool {
        let (r, s) = halves(&signature.0);
        let Some(s) = Option::<Scalar>::from(Scalar::from_canonical_bytes(s)) else { return false };
        if SMALL_ORDER.contains(&r) {
            return false;
        }
        let hash = Sha512::new().chain_update(r).chain_update(self.key.raw()).chain_update(message);
        let k = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
        let sum = BASEPOINT.add_multiple(EdwardsPoint::identity(), &s);
        // Equal to a canonical encoding byte for byte: a non-canonical R, or one that is no point, cannot pass.
        self.negated.add_multiple(sum, &k).compress().to_bytes() == r
    }
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
