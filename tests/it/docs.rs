//! What `docs/format.md` shows is what the code does: every fenced block that has a name is recomputed here.
//!
//! ```` ```hex NAME ```` holds bytes in hexadecimal, white space aside; ```` ```text NAME ```` holds a text with its line
//! feeds; ```` ```wrapped NAME ```` a text that was broken into lines to fit the page.

use std::collections::BTreeMap;

use proofmark::merkle::{MAX_NOTE_BYTES, MAX_NOTE_SIGNATURES, MAX_TREE_SIZE, TileName, leaf_hash, root_of};
use proofmark::object::{MAX_DEPTH, MAX_LINE_BYTES, MAX_LONG_LINE_BYTES, MAX_RECORDS, ReceiptId, Sha256};
use proofmark::question::{MAX_LABEL_BYTES, MAX_SCORER_IDENTITY_BYTES, Question, Scheme};
use proofmark::receipt::{MAX_RECEIPT_BYTES, Receipt};
use proofmark::store::{COMPRESS_FROM, Directory, MAX_OBJECT_BYTES, Store};
use proofmark::trust::Signer;

use crate::{keys, worked};

const FORMAT: &str = include_str!("../../docs/format.md");

/// A fenced block with a name: how it is written and what it holds.
struct Block {
    form: String,
    name: String,
    content: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let (mut found, mut open) = (Vec::new(), None::<Block>);
    for line in document.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(info), None) => {
                let (form, name) = info.split_once(' ').unwrap_or((info, ""));
                open = Some(Block { form: form.to_owned(), name: name.to_owned(), content: String::new() });
            }
            (None, Some(block)) => {
                block.content.push_str(line);
                block.content.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fenced block is not closed");
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lines(text: &str, width: usize) -> String {
    let characters: Vec<_> = text.chars().collect();
    characters.chunks(width).map(|line| line.iter().collect::<String>() + "\n").collect()
}

/// What a block must say, as it would be written.
fn written(form: &str, bytes: &[u8]) -> String {
    match form {
        "hex" => lines(&hex(bytes), 64),
        "wrapped" => lines(std::str::from_utf8(bytes).unwrap(), 118),
        "text" => String::from_utf8(bytes.to_vec()).unwrap(),
        _ => panic!("no such form of block: {form}"),
    }
}

/// What the block says, free of how it was broken into lines.
fn said(form: &str, content: &str) -> String {
    match form {
        "hex" => content.split_whitespace().collect(),
        "wrapped" => content.replace('\n', ""),
        _ => content.to_owned(),
    }
}

/// Every example of the document by its name, computed from the document's own rules where it states any.
fn examples() -> BTreeMap<&'static str, Vec<u8>> {
    let mut examples = BTreeMap::new();
    identities(&mut examples);
    receipt(&mut examples);
    log(&mut examples);
    cell(&mut examples);
    examples.insert("limits", limits().into_bytes());
    examples
}

#[test]
fn every_worked_example_of_the_format_is_what_the_code_computes() {
    let (mut examples, mut wrong, mut page) = (examples(), String::new(), FORMAT.to_owned());
    for block in blocks(FORMAT).iter().filter(|block| !block.name.is_empty()) {
        let bytes = examples.remove(block.name.as_str());
        let bytes = bytes.unwrap_or_else(|| panic!("docs/format.md: no example is called `{}`", block.name));
        let right = written(&block.form, &bytes);
        if said(&block.form, &block.content) != said(&block.form, &right) {
            let begin = format!("```{} {}\n", block.form, block.name);
            wrong.push_str(&format!("{begin}{right}```\n"));
            let at = page.find(&begin).unwrap() + begin.len();
            let end = at + page[at..].find("```").unwrap();
            page.replace_range(at..end, &right);
        }
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/format.md"), page).unwrap();
    }
    assert!(wrong.is_empty(), "UPDATE_DOCS=1 cargo test --test it docs; docs/format.md must show:\n{wrong}");
    assert!(examples.is_empty(), "docs/format.md does not show {:?}", examples.keys());
}

/// `lp(x)`: the length as eight bytes, big-endian, and x.
fn prefixed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_be_bytes(), bytes].concat()
}

fn identities(examples: &mut BTreeMap<&'static str, Vec<u8>>) {
    examples.insert("questions", worked::QUESTIONS.as_bytes().to_vec());
    let set = worked::set();
    let canonical = [
        "{\"expected_output\":null,\"fingerprint\":null,\"scope\":\"local\",\"task\":\"\",\
         \"text\":\"What is the capital of France?\"}",
        "{\"expected_output\":null,\"fingerprint\":{\"a\":[1,true],\"seed\":7},\"scope\":\"local\",\"task\":\"sum\",\
         \"text\":\"Größe × 2?\"}",
    ];
    examples.insert("pm1-queries", format!("{}\n{}\n", canonical[0], canonical[1]).into_bytes());
    let hashed = [("Paris", canonical[0]), ("12", canonical[1])]
        .map(|(expected, query)| [prefixed(query.as_bytes()), prefixed(format!("\"{expected}\"").as_bytes())].concat());
    let leaves = hashed.each_ref().map(|bytes| blake3::derive_key("proofmark question v1", bytes));
    let list = set.leaves().unwrap();
    assert_eq!(list.as_slice().iter().map(|leaf| *leaf.as_bytes()).collect::<Vec<_>>(), leaves);
    examples.insert("pm1-leaves", list.encode());

    let scorer = worked::SCORER.parse().unwrap();
    let whole = [prefixed(worked::SCORER.as_bytes()), 2u64.to_be_bytes().to_vec(), leaves.concat()].concat();
    let id = set.id(Scheme::Pm1, &scorer).unwrap();
    assert_eq!(id.as_str(), format!("pm1:{}", hex(&blake3::derive_key("proofmark question set v1", &whole))));
    examples.insert("pm1-set", whole);
    examples.insert("pm1-id", format!("{id}\n").into_bytes());

    let salt: [u8; 32] = std::array::from_fn(|place| place as u8);
    let salted = [hashed[0].clone(), prefixed(&salt)].concat();
    let record = format!(
        "{{\"question\":\"What is the capital of France?\",\"expected\":\"Paris\",\"salt\":\"{}\"}}",
        hex(&salt)
    );
    let question = Question::parse(&proofmark::object::parse(record.as_bytes()).unwrap()).unwrap();
    let leaf = question.leaf().unwrap();
    assert_eq!(*leaf.as_bytes(), blake3::derive_key("proofmark question v1", &salted));
    examples.insert("pm1-salted", salted);
    examples.insert("pm1-salted-leaf", format!("{leaf}\n").into_bytes());
    let [first, second] = hashed;
    examples.insert("pm1-leaf-0", first);
    examples.insert("pm1-leaf-1", second);
    mixle(examples);
}

fn mixle(examples: &mut BTreeMap<&'static str, Vec<u8>>) {
    let string = |text: &str| [b"s".to_vec(), prefixed(text.as_bytes())].concat();
    let counted = |tag: &[u8], n: u64| [tag.to_vec(), n.to_be_bytes().to_vec()].concat();
    let query = |text: &str, task: &str, fingerprint: Vec<u8>| {
        let name = prefixed(b"mixle.system.core.Query");
        let head = [b"D".to_vec(), name, 5u64.to_be_bytes().to_vec()].concat();
        let plain = [string("text"), string(text), string("task"), string(task)].concat();
        let others = [string("fingerprint"), fingerprint, string("expected_output"), b"N".to_vec()].concat();
        [head, plain, others, string("scope"), string("local")].concat()
    };
    let record = |query: Vec<u8>, expected: &str| [counted(b"t", 2), query, string(expected)].concat();
    let list = [counted(b"l", 2), b"f".to_vec(), 1f64.to_le_bytes().to_vec(), b"b1".to_vec()].concat();
    let seed = [string("seed"), b"i".to_vec(), prefixed(b"7")].concat();
    let fingerprint = [counted(b"d", 2), string("a"), list, seed].concat();
    let first = record(query("What is the capital of France?", "", b"N".to_vec()), "Paris");
    let second = record(query("Größe × 2?", "sum", fingerprint), "12");
    let records = Sha256::of(&[first.clone(), second.clone(), b"#2".to_vec()].concat());
    let whole = format!("mixle.system.scorecard._default_scorer@substring/v2\0{records}");
    let id = worked::set().id(Scheme::Mixle, &worked::SCORER.parse().unwrap()).unwrap();
    assert_eq!(id.as_str(), Sha256::of(whole.as_bytes()).to_string());
    examples.insert("mixle-record-0", first);
    examples.insert("mixle-record-1", second);
    examples.insert("mixle-set", whole.into_bytes());
    examples.insert("mixle-id", format!("{id}\n").into_bytes());
}

fn receipt(examples: &mut BTreeMap<&'static str, Vec<u8>>) {
    let (worked, person) = (worked::ledger(), keys::person());
    let receipt = worked.receipt(1);
    let payload = std::str::from_utf8(receipt.payload()).unwrap();
    assert!(payload.starts_with("{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicate\":{"));
    let signed = format!("DSSEv1 28 application/vnd.in-toto+json {} {payload}", payload.len());
    let signature = person.sign(signed.as_bytes()).unwrap();
    person.public().verify(signed.as_bytes(), &signature).unwrap();
    let envelope: serde_json::Value = serde_json::from_slice(receipt.bytes()).unwrap();
    assert_eq!(envelope["signatures"][0]["sig"], signature.to_base64());
    let trust = worked.receipt(0).id();
    assert!(payload.contains(&format!("\"trust\":{{\"index\":0,\"receipt\":\"{trust}\"}}")));
    assert_eq!(receipt.id(), ReceiptId::from_bytes(*blake3::hash(receipt.bytes()).as_bytes()));
    let leaf = Sha256::of(&[&[0], receipt.bytes()].concat());
    assert_eq!(leaf, leaf_hash(receipt.bytes()));
    examples.insert("person-key", format!("{}\n{}\n", person.public(), receipt.key()).into_bytes());
    examples.insert("pae", signed.into_bytes());
    examples.insert("envelope", receipt.bytes().to_vec());
    examples.insert("receipt-id", format!("{}\n", receipt.id()).into_bytes());
    examples.insert("receipt-leaf", format!("{leaf}\n").into_bytes());
    examples.insert("trust-id", format!("{trust}\n").into_bytes());
}

fn log(examples: &mut BTreeMap<&'static str, Vec<u8>>) {
    let worked = worked::ledger();
    let files = worked.memory.files();
    let file = |name: &str| files[&name.parse().unwrap()].clone();
    let names: String = files.keys().map(|name| format!("{name}\n")).collect();
    let leaves: Vec<_> = worked.receipts().iter().map(|receipt| leaf_hash(receipt.bytes())).collect();
    let tile = file("tile/0/000.p/5");
    assert_eq!(tile, leaves.iter().flat_map(|leaf| *leaf.as_bytes()).collect::<Vec<_>>());
    assert_eq!(worked.ledger.snapshot().unwrap().checkpoint().root(), root_of(&leaves));
    let bundle = file("tile/entries/000.p/5");
    let mut entries = Vec::new();
    for receipt in worked.receipts() {
        entries.extend_from_slice(&(receipt.bytes().len() as u16).to_be_bytes());
        entries.extend_from_slice(receipt.bytes());
    }
    assert_eq!(bundle, entries);
    examples.insert("files", names.into_bytes());
    examples.insert("log-key", format!("{}\n", worked.ledger.log().key).into_bytes());
    examples.insert("tile", tile);
    examples.insert("bundle-start", bundle[..20].to_vec());
    examples.insert("checkpoint", file("checkpoint"));
    examples.insert("config", file("config.toml"));
    let paths = [0, 255, 256, 1_234_067].map(|index| TileName::entries(index, 256).unwrap().to_string());
    examples.insert("tile-paths", format!("{}\n", paths.join("\n")).into_bytes());
}

/// The cell after two swaps: one slot each.
fn cell(examples: &mut BTreeMap<&'static str, Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Directory::new(folder.path());
    let mut lock = store.lock().unwrap();
    assert!(lock.swap(None, b"one\n").unwrap());
    assert!(lock.swap(Some(b"one\n"), b"two\n").unwrap());
    let file = std::fs::read(folder.path().join("lock")).unwrap();
    let slot = |sequence: u64, content: &[u8]| {
        let length = (content.len() as u32).to_be_bytes();
        let head = [b"PMCELL1\n".as_slice(), &sequence.to_be_bytes(), &length, content].concat();
        [head.as_slice(), blake3::hash(&head).as_bytes()].concat()
    };
    let (first, second) = (slot(1, b"one\n"), slot(2, b"two\n"));
    assert_eq!((&file[..56], &file[8192..8248]), (first.as_slice(), second.as_slice()));
    examples.insert("cell-slot-0", first);
    examples.insert("cell-slot-1", second);
    // 8192 bytes less 20 of head and 32 of checksum.
    assert!(lock.swap(Some(b"two\n"), &[b'x'; 8141]).is_err());
    assert!(lock.swap(Some(b"two\n"), &[b'x'; 8140]).unwrap());
}

fn limits() -> String {
    let rows: [(&str, u64); 13] = [
        ("bytes of a receipt", MAX_RECEIPT_BYTES as u64),
        ("receipts of a log", MAX_TREE_SIZE),
        ("bytes of an object", MAX_OBJECT_BYTES),
        ("bytes from which an object may be stored compressed", COMPRESS_FROM),
        ("bytes of a checkpoint's note", MAX_NOTE_BYTES as u64),
        ("signatures of a checkpoint's note", MAX_NOTE_SIGNATURES as u64),
        ("bytes of a checkpoint's note that the cell can hold", 8140),
        ("bytes of a record's line", MAX_LINE_BYTES as u64),
        ("bytes of a question's, answer's or judgement's line in evidence", MAX_LONG_LINE_BYTES as u64),
        ("records of a file", MAX_RECORDS as u64),
        ("levels of nesting in a record", MAX_DEPTH as u64),
        ("bytes of an id or a cluster", MAX_LABEL_BYTES as u64),
        ("bytes of a scorer identity", MAX_SCORER_IDENTITY_BYTES as u64),
    ];
    rows.iter().map(|(what, limit)| format!("{limit:>16}  {what}\n")).collect()
}

#[test]
fn the_worked_ledger_verifies_receipt_by_receipt() {
    let worked = worked::ledger();
    let person = keys::person();
    for receipt in worked.receipts() {
        receipt.verify(person.public()).unwrap();
        assert_eq!(Receipt::parse(receipt.bytes()).unwrap().id(), receipt.id());
    }
}
