//! What must hold of any bytes whatever: no panic, no output out of proportion, and what is accepted encodes back to
//! itself. One function a format; the fuzz targets and `tests/it/property_formats.rs` call the same ones.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proofmark::calibrate::{Format, Profile, Reading, SwiftFormat};
use proofmark::dossier::Dossier;
use proofmark::import::{Manifest, Options as ImportOptions, Original, Projected, Texts, Tool, read, render};
use proofmark::merkle::{
    Bundle, BundleWriter, Checkpoint, ConsistencyProof, InclusionProof, MerkleError, Note, TileName, VerifierKey,
};
use proofmark::object::{Json, Line, LineReader, encode, encode_json, parse, parse_canonical, parse_line};
use proofmark::question::{Answers, Judgements, Leaves, QuestionSet, Reveal, Scheme};
use proofmark::receipt::{PAYLOAD_TYPE, Receipt, Statement};
use proofmark::scorecard::Scorecard;
use proofmark::verify::{Options, verify_dossier};

/// A message is at most this long, in bytes, whatever the input.
const LONGEST_MESSAGE: usize = 64 << 10;

fn bounded(message: &dyn std::fmt::Display) {
    let length = message.to_string().len();
    assert!(length <= LONGEST_MESSAGE, "a message of {length} bytes");
}

/// Canonical JSON: the strict reader, the RFC 8785 encoder, and the reader of canonical bytes agree.
pub fn canonical_json(bytes: &[u8]) {
    let value = match parse(bytes) {
        Ok(value) => value,
        Err(error) => return bounded(&error),
    };
    // As it stands, integers to 64 bits and decimals apart from them.
    let plain = serde_json::to_vec(&value).unwrap();
    assert_eq!(parse(&plain).as_ref(), Ok(&value));
    let Ok(canonical) = encode_json(&value) else { return };
    // `9e20` is 21 digits.
    assert!(canonical.len() <= 16 + 8 * bytes.len(), "{} bytes became {}", bytes.len(), canonical.len());
    let again: serde_json::Value = parse_canonical(&canonical).unwrap();
    assert_eq!(encode(&again).unwrap(), canonical);
    // Decimals from 2^53 on are written like integers, which the strict reader then refuses to round.
    if let Ok(again) = parse(&canonical)
        && let Ok(encoded) = encode_json(&again)
    {
        assert_eq!(encoded, canonical);
    }
}

/// Files of other tools: each tool reads the bytes under the names that its files have. A round that is read makes the same
/// evidence every time, and as many questions as it has items.
pub fn import(bytes: &[u8]) {
    const META: &[u8] = b"run_id: a\nstatus: 3\nname: t\n";
    if let Err(error) = Manifest::parse(bytes) {
        bounded(&error);
    }
    type Named<'a> = (&'a str, &'a [u8]);
    let files: [(Tool, &[Named<'_>]); 12] = [
        (Tool::LmEval, &[("samples_t.jsonl", bytes)]),
        (Tool::LmEval, &[("results_t.json", bytes), ("samples_t.jsonl", bytes)]),
        (Tool::Inspect, &[("l.json", bytes)]),
        (Tool::Inspect, &[("l.eval", bytes)]),
        (Tool::Promptfoo, &[("r.json", bytes)]),
        (Tool::Promptfoo, &[("r.jsonl", bytes)]),
        (Tool::EveryEvalEver, &[("x.json", bytes), ("x_samples.jsonl", bytes)]),
        (Tool::Mlflow, &[("e/r/meta.yaml", META), ("e/r/artifacts/t.json", bytes)]),
        (Tool::Junit, &[("j.xml", bytes)]),
        (Tool::Csv, &[("t.csv", bytes)]),
        (Tool::Mixle, &[("m.json", bytes)]),
        (Tool::Deepeval, &[("test_run_1.json", bytes)]),
    ];
    for (tool, files) in files {
        let originals: Vec<_> = files.iter().map(|(name, bytes)| Original::held(*name, bytes.to_vec())).collect();
        let rounds = match read(tool, &originals, &ImportOptions::default()) {
            Ok(rounds) => rounds,
            Err(error) => {
                bounded(&error);
                continue;
            }
        };
        for round in rounds {
            match render(&round, &Texts::Kept) {
                Ok(rendered) => {
                    assert_eq!(rendered.card.n(), round.items.len() as u64);
                    Projected::parse(&rendered.projection.bytes().unwrap()).unwrap();
                    QuestionSet::parse("questions", rendered.questions.bytes().unwrap().as_slice()).unwrap();
                    let again = render(&round, &Texts::Digested).unwrap();
                    assert_eq!((again.card, again.projection), (rendered.card, rendered.projection));
                }
                Err(error) => bounded(&error),
            }
        }
    }
}

/// Bytes that are canonical by the reader's word are canonical by the encoder's.
pub fn accepted_canonical(bytes: &[u8]) {
    match parse_canonical::<serde_json::Value>(bytes) {
        Ok(value) => assert_eq!(encode(&value).unwrap(), bytes),
        Err(error) => bounded(&error),
    }
}

/// Receipts: as an envelope, as a statement, and as the payload of an envelope.
pub fn envelope(bytes: &[u8]) {
    receipt(bytes);
    match Statement::parse(bytes) {
        Ok(statement) => assert_eq!(statement.encode().unwrap(), bytes),
        Err(error) => bounded(&error),
    }
    let keyid = format!("SHA256:{}", "A".repeat(43));
    let sig = STANDARD.encode([0; 64]);
    let payload = STANDARD.encode(bytes);
    let wrapped = format!(
        "{{\"payload\":\"{payload}\",\"payloadType\":\"{PAYLOAD_TYPE}\",\"signatures\":[{{\"keyid\":\"{keyid}\",\"sig\":\"{sig}\"}}]}}"
    );
    receipt(wrapped.as_bytes());
}

fn receipt(bytes: &[u8]) {
    match Receipt::parse(bytes) {
        Ok(receipt) => {
            assert_eq!(receipt.bytes(), bytes);
            assert_eq!(receipt.statement().encode().unwrap(), receipt.payload());
        }
        Err(error) => bounded(&error),
    }
}

/// Signed notes, checkpoints and verifier keys.
pub fn checkpoint(bytes: &[u8]) {
    match Note::parse(bytes) {
        Ok(note) => assert_eq!(note.encode(), bytes),
        Err(error) => bounded(&error),
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<Checkpoint>() {
        Ok(checkpoint) => assert_eq!(checkpoint.to_string(), text),
        Err(error) => bounded(&error),
    }
    match text.parse::<VerifierKey>() {
        Ok(key) => assert_eq!(key.to_string(), text),
        Err(error) => bounded(&error),
    }
}

/// Proofs as files, of both kinds.
pub fn proof_file(bytes: &[u8]) {
    match InclusionProof::parse(bytes) {
        Ok(proof) => assert_eq!(proof.encode(), bytes),
        Err(error) => bounded(&error),
    }
    match ConsistencyProof::parse(bytes) {
        Ok(proof) => assert_eq!(proof.encode(), bytes),
        Err(error) => bounded(&error),
    }
}

/// Dossiers: what is laid out as one is audited to the end, whatever is in it.
pub fn dossier(bytes: &[u8]) {
    match Dossier::parse(bytes.to_vec()) {
        Ok(dossier) => {
            let options = Options { replay: true, ..Options::default() };
            let report = verify_dossier(&dossier, &options, &mut |_, _| {}).unwrap();
            assert!(report.findings.iter().all(|finding| !finding.expected.is_empty()));
        }
        Err(error) => bounded(&error),
    }
}

/// Revealed questions.
pub fn reveal(bytes: &[u8]) {
    match Reveal::parse(bytes) {
        Ok(reveal) => {
            assert_eq!(reveal.encode().unwrap(), bytes);
            if let Err(error) = reveal.verify() {
                bounded(&error);
            }
        }
        Err(error) => bounded(&error),
    }
}

/// Tile names and entry bundles; the first byte of a bundle is the width that it is said to have, less one.
pub fn tile(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        match text.parse::<TileName>() {
            Ok(name) => assert_eq!(name.to_string(), text),
            Err(error) => bounded(&error),
        }
    }
    let Some((width, bytes)) = bytes.split_first() else { return };
    let width = u16::from(*width) + 1;
    let Ok(bundle) = Bundle::parse(bytes, width) else { return };
    let mut writer = BundleWriter::new();
    let mut encoded = Vec::new();
    for entry in bundle.entries() {
        let sink = |_: TileName, full: &[u8]| {
            encoded = full.to_vec();
            Ok::<_, MerkleError>(())
        };
        writer.push(entry, sink).unwrap();
    }
    assert_eq!(writer.size(), u64::from(width));
    if let Some((_, partial)) = writer.partial_bundle() {
        encoded = partial.to_vec();
    }
    assert_eq!(encoded, bytes);
}

/// Question records.
pub fn questions(bytes: &[u8]) {
    let set = match QuestionSet::parse("q.jsonl", bytes) {
        Ok(set) => set,
        Err(error) => return bounded(&error),
    };
    let encoded = set.encode().unwrap();
    assert!(encoded.len() <= 256 * set.len() + 8 * bytes.len());
    let again = QuestionSet::parse("q.jsonl", encoded.as_slice()).unwrap();
    assert_eq!(again.questions(), set.questions());
    assert_eq!(again.encode().unwrap(), encoded);
    let scorer = "substring/v2".parse().unwrap();
    for scheme in [Scheme::Pm1, Scheme::Mixle] {
        match (set.id(scheme, &scorer), again.id(scheme, &scorer)) {
            (Ok(one), Ok(two)) => assert_eq!(one, two),
            (Err(one), Err(two)) => assert_eq!(one.to_string(), two.to_string()),
            (one, two) => panic!("{one:?} and {two:?}"),
        }
    }
    if let Ok(leaves) = set.leaves() {
        assert_eq!(Leaves::parse("leaves", &leaves.encode()).unwrap(), leaves);
    }
}

/// The lines of accepted records, each written anew.
fn rewritten(bytes: &[u8]) -> Vec<u8> {
    let mut lines = LineReader::new("file", bytes);
    let mut text = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        let value: Json = parse_line("file", line).unwrap();
        serde_json::to_writer(&mut text, &value).unwrap();
        text.push(b'\n');
    }
    text
}

/// Answer records.
pub fn answers(bytes: &[u8]) {
    match Answers::parse("a.jsonl", bytes) {
        Ok(answers) => {
            let again = Answers::parse("a.jsonl", rewritten(bytes).as_slice()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{answers:?}"));
        }
        Err(error) => bounded(&error),
    }
}

/// Judgement records.
pub fn judgements(bytes: &[u8]) {
    match Judgements::parse("j.jsonl", bytes) {
        Ok(judgements) => {
            let encoded = judgements.encode();
            assert!(encoded.len() <= 32 * judgements.as_slice().len() + 6 * bytes.len());
            let again = Judgements::parse("j.jsonl", encoded.as_slice()).unwrap();
            assert_eq!(again, judgements);
            assert_eq!(again.encode(), encoded);
        }
        Err(error) => bounded(&error),
    }
}

/// Lists of leaves.
pub fn leaves(bytes: &[u8]) {
    match Leaves::parse("leaves", bytes) {
        Ok(leaves) => assert_eq!(leaves.encode(), bytes),
        Err(error) => bounded(&error),
    }
}

/// Scorecards handed in.
pub fn scorecard(bytes: &[u8]) {
    let Ok(value) = parse(bytes) else { return };
    match Scorecard::from_json(&value) {
        Ok(card) => {
            let canonical = encode(&card).unwrap();
            let again: Scorecard = parse_canonical(&canonical).unwrap();
            assert_eq!(again, card);
            for (one, two) in [
                (again.quality(), card.quality()),
                (again.realized_cost(), card.realized_cost()),
                (again.grounded_fraction(), card.grounded_fraction()),
            ] {
                assert_eq!(one.to_bits(), two.to_bits());
            }
        }
        Err(error) => bounded(&error),
    }
}

/// Prediction records: whatever the swift reader reads, the strict one reads the same; whole files likewise.
pub fn predictions(bytes: &[u8]) {
    static BRISTOL: LazyLock<(Profile, SwiftFormat)> = LazyLock::new(|| {
        let profile = Profile::built_in("bristol/v1").unwrap();
        let swift = SwiftFormat::of(Format::of(profile.terms()));
        (profile, swift)
    });
    let (profile, swift) = &*BRISTOL;
    for (bytes, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        if let Some(record) = swift.read_swiftly(bytes) {
            assert_eq!(swift.strict().read_strictly("p.jsonl", Line { number, bytes }).unwrap(), record);
        }
    }
    // Reading a file takes blocks of megabytes, so only some are read whole.
    if !bytes.len().is_multiple_of(16) {
        return;
    }
    let outcome = |reading: Reading| match reading.read("p.jsonl", bytes) {
        Ok(reading) => {
            reading.finish().map(|read| (read.inputs().to_vec(), read.records())).map_err(|error| error.to_string())
        }
        Err(error) => {
            bounded(&error);
            Err(error.to_string())
        }
    };
    assert_eq!(outcome(Reading::new(profile)), outcome(Reading::strictly(profile)));
}
