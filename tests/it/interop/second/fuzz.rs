//! Honest receipts and evidence with random bytes changed, signed or hashed anew: both programs take and refuse the same.

use proofmark::ledger::role;
use proofmark::receipt::{Basis, Body, ScorecardBody};
use proofmark::store::{Memory, Store};

use super::super::tools::{Tool, ready};
use super::Bench;
use super::gates::small;
use super::receipts::{honest, signed};
use super::records::Dice;
use crate::forge::{Forge, QUESTIONS, answers, name};
use crate::keys::person;

/// Bytes with some of them changed, dropped, doubled, or replaced by what JSON and its readers stumble over.
fn shaken(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    const PIECES: [&[u8]; 16] = [
        b"\"",
        b"\\",
        b",",
        b"{",
        b"]",
        b" ",
        b"\n",
        b"0",
        b"-",
        b"e5",
        b"null",
        b"\\u0000",
        b"\xff",
        b"\xc3\xa9",
        b".5",
        b"9007199254740993",
    ];
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.roll(2) {
        let at = dice.roll(bytes.len());
        match dice.roll(4) {
            0 => bytes[at] ^= 1 << dice.roll(8),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, bytes[at]),
            _ => drop(bytes.splice(at..(at + dice.roll(3)).min(bytes.len()), PIECES[dice.roll(16)].iter().copied())),
        }
    }
    bytes
}

#[test]
fn both_read_shaken_statements_alike() {
    if !ready("the second verifier on shaken statements", &[Tool::Python]) {
        return;
    }
    let (mut bench, mut dice) = (Bench::new(), Dice::new(17));
    for kind in ["scorecard", "comparison", "baseline", "gate", "signoff", "authorization", "trust"] {
        let (before, statement) = honest(kind);
        for at in 0..40 {
            let mut forge = before.clone();
            forge.raw(&signed(&shaken(statement.as_bytes(), &mut dice), &person()));
            bench.forged(&format!("{kind} {at}"), &forge);
        }
    }
    assert!(bench.compare(|_, _| false) > 200);
}

#[test]
fn both_read_shaken_evidence_alike() {
    if !ready("the second verifier on shaken evidence", &[Tool::Python]) {
        return;
    }
    let (mut bench, mut dice) = (Bench::new(), Dice::new(23));
    let answered = answers(&[1]);
    for at in 0..120 {
        let mut forge = Forge::new();
        let (body, mut evidence) = forge.honest(&[1]);
        match at % 2 {
            0 => evidence[0] = forge.evidence(role::QUESTIONS, shaken(QUESTIONS.as_bytes(), &mut dice)),
            _ => evidence[1] = forge.evidence(role::ANSWERS, shaken(answered.as_bytes(), &mut dice)),
        }
        let basis = if at % 3 == 0 { Basis::Asserted } else { Basis::Recomputed };
        forge.add(Body::Scorecard(ScorecardBody { basis, ..body }), evidence);
        bench.forged(&format!("records {at}"), &forge);
    }
    let gated = small();
    let statement = proofmark::receipt::Receipt::parse(&gated.entries[1]).unwrap().statement().clone();
    for at in 0..80 {
        let mut forge = gated.clone();
        forge.entries.truncate(1);
        let mut evidence = statement.predicate.evidence.clone();
        let spoilt = at % evidence.len();
        let place = evidence[spoilt].blake3.to_string();
        let bytes = gated.objects.read(&name(&format!("objects/{}/{}", &place[..2], &place[2..])), u64::MAX);
        let of = evidence[spoilt].role.to_string();
        evidence[spoilt] = forge.evidence(&of, shaken(&bytes.unwrap().unwrap(), &mut dice));
        forge.add(statement.predicate.body.clone(), evidence);
        bench.forged(&format!("gate {at}, {of}"), &forge);
    }
    assert!(bench.compare(|_, _| false) > 100);
}

#[test]
fn both_decompress_alike() {
    if !ready("the second verifier on compressed objects", &[Tool::Python, Tool::Program("zstd")]) {
        return;
    }
    let mut bench = Bench::new();
    let plain = "epoch 1 loss 0.5\n".repeat(10_000).into_bytes();
    let packed = zstd::encode_all(plain.as_slice(), 3).unwrap();
    let halves = [zstd::encode_all(&plain[..1000], 1).unwrap(), zstd::encode_all(&plain[1000..], 1).unwrap()].concat();
    let skippable = [&b"\x50\x2a\x4d\x18\x04\0\0\0abcd"[..], &packed].concat();
    let mut flipped = packed.clone();
    flipped[packed.len() / 2] ^= 4;
    let wide = |log: u32| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(log).unwrap();
        std::io::Write::write_all(&mut encoder, &plain).unwrap();
        encoder.finish().unwrap()
    };
    let cases: [(&str, Vec<u8>, bool); 14] = [
        ("packed", packed.clone(), false),
        ("two frames", halves, false),
        ("a skippable frame", skippable, false),
        ("only a skippable frame", b"\x50\x2a\x4d\x18\x04\0\0\0abcd".to_vec(), false),
        ("something after it", [packed.as_slice(), b"x"].concat(), false),
        ("zeros after it", [packed.as_slice(), &[0; 8]].concat(), false),
        ("cut short", packed[..packed.len() - 3].to_vec(), false),
        ("a bit", flipped, false),
        ("nothing", Vec::new(), false),
        ("raw under that name", plain.clone(), false),
        ("a window of 8 MiB", wide(23), false),
        ("a window of 16 MiB", wide(24), false),
        ("longer", zstd::encode_all([plain.as_slice(), b"x"].concat().as_slice(), 3).unwrap(), false),
        ("damaged beside the raw one", b"x".to_vec(), true),
    ];
    for (what, bytes, raw_too) in cases {
        let mut forge = Forge::new();
        let kept = Memory::new();
        let (body, mut evidence) = forge.honest(&[]);
        evidence.push(forge.evidence("log", &plain));
        let place = evidence[2].blake3.to_string();
        let place = format!("objects/{}/{}", &place[..2], &place[2..]);
        forge.add(Body::Scorecard(body), evidence);
        forge.write_to(&kept, &crate::keys::log());
        let mut files = kept.files();
        files.insert(name(&format!("{place}.zst")), bytes);
        if raw_too {
            files.insert(name(&place), plain.clone());
        } else {
            files.remove(&name(&place));
        }
        bench.add(what, &files, None);
    }
    assert!(bench.compare(|_, _| false) >= 6);
}

#[test]
fn both_refuse_the_hostile_corpus_as_evidence() {
    if !ready("the second verifier on the hostile corpus", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let hostile = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hostile");
    let roles = [role::QUESTIONS, role::ANSWERS, role::LEAVES, role::JUDGEMENTS, role::CARD];
    for (kind, in_role) in ["questions", "answers", "leaves", "judgements", "card"].into_iter().zip(roles) {
        for entry in std::fs::read_dir(hostile.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let mut forge = Forge::new();
            let (body, mut evidence) = forge.honest(&[]);
            evidence.retain(|_| matches!(in_role, role::LEAVES | role::JUDGEMENTS | role::CARD));
            evidence.push(forge.evidence(in_role, std::fs::read(&path).unwrap()));
            forge.add(Body::Scorecard(ScorecardBody { basis: Basis::Asserted, ..body }), evidence);
            bench.forged(&path.display().to_string(), &forge);
        }
    }
    assert!(bench.compare(|_, _| false) > 100);
}
