//! Nanoseconds to verify one signature: the key alone, a prepared key, and a prepared key for 32 signatures that share an
//! inversion, on messages as long as a usual receipt.
//!
//! `cargo bench --bench ed25519`. Best of many short rounds, taken in turn, since other work on the machine only adds.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use proofmark::trust::{PreparedKey, SecretKey, Signature, Signer, settle};

const MESSAGES: usize = 96;
const TOGETHER: usize = 32;
const ROUNDS: usize = 200;

fn nanoseconds(times: usize, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64 / times as f64
}

fn main() {
    let secret = SecretKey::generate([7; 32]);
    let key = *secret.public();
    let first = nanoseconds(1, || PreparedKey::new(&key).verify(b"", &secret.sign(b"").unwrap()).unwrap());
    let mut prepared = PreparedKey::new(&key);
    let built = (0..20).map(|_| nanoseconds(1, || prepared = PreparedKey::new(&key))).fold(f64::INFINITY, f64::min);
    println!("first table of a process {:.0} µs, every other {:.0} µs", first / 1e3, built / 1e3);

    for length in [300, 1_500, 6_000] {
        let signed: Vec<(Vec<u8>, Signature)> = (0..MESSAGES)
            .map(|number| {
                let message: Vec<u8> = (0..length).map(|place| (place * 7 + number) as u8).collect();
                let signature = secret.sign(&message).unwrap();
                (message, signature)
            })
            .collect();
        let (mut alone, mut table, mut shared) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let once =
                nanoseconds(MESSAGES, || signed.iter().for_each(|(message, one)| key.verify(message, one).unwrap()));
            alone = alone.min(once);
            let once = nanoseconds(MESSAGES, || {
                signed.iter().for_each(|(message, one)| prepared.verify(message, one).unwrap())
            });
            table = table.min(once);
            let once = nanoseconds(MESSAGES, || {
                for part in signed.chunks(TOGETHER) {
                    let halves: Vec<_> = part.iter().map(|(message, one)| prepared.half(message, one)).collect();
                    assert!(settle(&halves).iter().all(Result::is_ok));
                }
            });
            shared = shared.min(once);
        }
        println!(
            "{length:5} bytes: key {alone:6.0} ns, prepared key {table:6.0} ns, ratio {:.2}; {TOGETHER} at once {shared:6.0} ns, ratio {:.2}",
            alone / table,
            alone / shared
        );
    }
}
