//! Ledgers built entry by entry, honest or forged: every receipt is what the test says, signed by whom the test says.

use std::sync::Arc;

use proofmark::calibrate::{Profile, Reading};
use proofmark::compare;
use proofmark::gate;
use proofmark::import::{Manifest, NamedOriginal, Options, Original, Sheet, Texts, Tool, read, render};
use proofmark::ledger::role;
use proofmark::merkle::{BundleWriter, Checkpoint, Frontier, MerkleError, TileName, VerifierKey, leaf_hash};
use proofmark::object::{ObjectId, ReceiptId, Sha256, encode};
use proofmark::question::{Answers, QuestionSet, Scheme};
use proofmark::receipt::{
    Baseline, Basis, Body, Comparison, Evidence, GateBody, Predicate, Receipt, ReceiptRef, ScorecardBody, Statement,
    Subject, sorted_evidence,
};
use proofmark::score::Scorer;
use proofmark::scorecard::{DEFAULT_TOLERANCE, Scorecard, Unknown, detect_regression, judge_round};
use proofmark::store::{Memory, Name, Store, put_slice, read_object};
use proofmark::trust::{self, SecretKey, Signer};

use crate::keys::{ORIGIN, log, moment, person, tool};

/// Five questions with ids.
pub const QUESTIONS: &str = "\
{\"question\":\"capital of France?\",\"expected\":\"Paris\",\"id\":\"q1\"}
{\"question\":\"two and two?\",\"expected\":\"four\",\"id\":\"q2\"}
{\"question\":\"largest planet?\",\"expected\":\"Jupiter\",\"id\":\"q3\"}
{\"question\":\"H2O is?\",\"expected\":\"water\",\"id\":\"q4\"}
{\"question\":\"first letter?\",\"expected\":\"A\",\"id\":\"q5\"}
";

const RIGHT: [&str; 5] = ["Paris", "four", "Jupiter", "water", "A"];

/// Answers to them, wrong where said.
pub fn answers(wrong: &[usize]) -> String {
    let line = |(at, right): (usize, &&str)| {
        let reply = if wrong.contains(&at) { "no idea" } else { right };
        let spend = format!("{{\"frontier_calls\":0.1,\"oracle_calls\":{at}}}");
        format!(
            "{{\"id\":\"q{}\",\"receipt\":{{\"spend\":{spend},\"status\":\"answered\"}},\"reply\":\"{reply}\"}}\n",
            at + 1
        )
    };
    RIGHT.iter().enumerate().map(line).collect()
}

pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// The entries of a log that is not written yet, and its objects.
#[derive(Clone)]
pub struct Forge {
    pub entries: Vec<Vec<u8>>,
    pub objects: Arc<Memory>,
    pub cards: Vec<Option<Scorecard>>,
}

/// The card that five answers honestly give.
pub fn card(wrong: &[usize], scorer: &str, scheme: Scheme) -> Scorecard {
    let questions = QuestionSet::parse("q", QUESTIONS.as_bytes()).unwrap();
    let answers = Answers::parse("a", answers(wrong).as_bytes()).unwrap();
    judge_round(&questions, answers, &Scorer::parse(scorer).unwrap(), scheme).unwrap().card
}

/// The first trust statement of these ledgers.
pub fn first_trust() -> trust::Statement {
    let key = VerifierKey::new(ORIGIN, *log().public().raw()).unwrap();
    let log = trust::LogKey { origin: ORIGIN.to_owned(), key: key.to_string() };
    trust::Statement::first("tester", *person().public(), log).unwrap()
}

fn subject() -> Vec<Subject> {
    vec![Subject::new("system".parse().unwrap(), Sha256::of(b"system"))]
}

impl Forge {
    /// A log with receipt 0.
    pub fn new() -> Self {
        Self::with_trust(first_trust(), &person())
    }

    /// A log whose receipt 0 states this, signed by this key.
    pub fn with_trust(trust: trust::Statement, signer: &SecretKey) -> Self {
        let mut forge = Self::empty();
        forge.sign(None, Body::Trust(trust), Vec::new(), signer);
        forge
    }

    pub fn empty() -> Self {
        Self { entries: Vec::new(), objects: Arc::new(Memory::new()), cards: Vec::new() }
    }

    pub fn genesis(&self) -> ReceiptId {
        ReceiptId::of(&self.entries[0])
    }

    pub fn trust(&self) -> Option<ReceiptRef> {
        Some(ReceiptRef { index: 0, receipt: self.genesis() })
    }

    pub fn raw(&mut self, entry: &[u8]) -> ReceiptRef {
        self.entries.push(entry.to_vec());
        self.cards.push(None);
        ReceiptRef { index: self.entries.len() as u64 - 1, receipt: ReceiptId::of(entry) }
    }

    pub fn sign(
        &mut self,
        trust: Option<ReceiptRef>,
        body: Body,
        evidence: Vec<Evidence>,
        signer: &SecretKey,
    ) -> ReceiptRef {
        let card = match &body {
            Body::Scorecard(body) => Some(body.card.clone()),
            _ => None,
        };
        let evidence = sorted_evidence(evidence).unwrap();
        let index = self.entries.len() as u64;
        let predicate = Predicate { index, recorded_at: moment(), tool: tool(), trust, evidence, note: None, body };
        let subject = self.subject(&predicate.body);
        self.sign_about(subject, predicate, signer, card)
    }

    /// What the subject of such a receipt honestly is.
    pub fn subject(&self, body: &Body) -> Vec<Subject> {
        let named = body.named().into_iter().filter(|(member, _)| *member != "restsOn");
        let entry = |(_, reference): (_, ReceiptRef)| self.entries.get(reference.index as usize);
        let found: Option<Vec<_>> = named.map(entry).collect();
        match found {
            Some(found) if !found.is_empty() => found.iter().map(|entry| Subject::of_receipt(entry).unwrap()).collect(),
            _ => subject(),
        }
    }

    /// A receipt of the one person about any subject.
    pub fn add_about(&mut self, subject: Vec<Subject>, body: Body, evidence: Vec<Evidence>) -> ReceiptRef {
        let (index, trust, evidence) = (self.entries.len() as u64, self.trust(), sorted_evidence(evidence).unwrap());
        let predicate = Predicate { index, recorded_at: moment(), tool: tool(), trust, evidence, note: None, body };
        self.sign_about(subject, predicate, &person(), None)
    }

    fn sign_about(
        &mut self,
        subject: Vec<Subject>,
        predicate: Predicate,
        signer: &SecretKey,
        card: Option<Scorecard>,
    ) -> ReceiptRef {
        let receipt = Receipt::sign(Statement { subject, predicate }, signer).unwrap();
        let reference = self.raw(receipt.bytes());
        *self.cards.last_mut().unwrap() = card;
        reference
    }

    /// A receipt by the one person.
    pub fn add(&mut self, body: Body, evidence: Vec<Evidence>) -> ReceiptRef {
        self.sign(self.trust(), body, evidence, &person())
    }

    /// Stores an object and names it.
    pub fn evidence(&self, role: &str, bytes: impl AsRef<[u8]>) -> Evidence {
        let digests = put_slice(self.objects.as_ref(), bytes.as_ref()).unwrap();
        Evidence {
            role: role.parse().unwrap(),
            blake3: digests.blake3,
            sha256: digests.sha256,
            size: digests.size,
            media_type: "application/jsonl".to_owned(),
            held: true,
        }
    }

    /// The bytes of an object that was stored.
    pub fn bytes(&self, evidence: &Evidence) -> Vec<u8> {
        read_object(&*self.objects, &evidence.blake3, evidence.size).unwrap().unwrap()
    }

    /// An honest round's body and evidence, to be spoilt.
    pub fn honest(&self, wrong: &[usize]) -> (ScorecardBody, Vec<Evidence>) {
        let body = ScorecardBody {
            line: "main".parse().unwrap(),
            basis: Basis::Recomputed,
            card: card(wrong, "substring/v2", Scheme::Pm1),
            scorer: "substring/v2".parse().unwrap(),
            sealed: false,
            unknown: Vec::new(),
        };
        let evidence = vec![self.evidence(role::QUESTIONS, QUESTIONS), self.evidence(role::ANSWERS, answers(wrong))];
        (body, evidence)
    }

    /// A round that was imported from a table, to be spoilt: evidence in the order original, questions, answers,
    /// judgements, projection, import.
    pub fn imported(&self, table: &str) -> (ScorecardBody, Vec<Evidence>) {
        let original = self.evidence(role::ORIGINAL, table);
        let originals = [Original::held("t.csv", table.as_bytes().to_vec())];
        let options = Options { tasks: vec!["t".to_owned()], ..Options::default() };
        let round = read(Tool::Csv, &originals, &options).unwrap().remove(0);
        let rendered = render(&round, &Texts::Kept).unwrap();
        let named = NamedOriginal { name: "t.csv".to_owned(), blake3: original.blake3 };
        let manifest = Manifest { tool: Tool::Csv, task: "t".to_owned(), options, originals: vec![named] };
        let body = ScorecardBody {
            line: "main".parse().unwrap(),
            basis: Basis::Recomputed,
            card: rendered.card,
            scorer: rendered.scorer,
            sealed: false,
            unknown: rendered.unknown.into_iter().map(|field| Unknown { field, allowed: false }).collect(),
        };
        let bytes = |sheet: &Sheet| sheet.bytes().unwrap();
        let evidence = vec![
            original,
            self.evidence(role::QUESTIONS, bytes(&rendered.questions)),
            self.evidence(role::ANSWERS, bytes(&rendered.answers)),
            self.evidence(role::JUDGEMENTS, bytes(&rendered.judgements)),
            self.evidence(role::PROJECTION, bytes(&rendered.projection)),
            self.evidence(role::IMPORT, manifest.encode()),
        ];
        (body, evidence)
    }

    pub fn round(&mut self, wrong: &[usize]) -> ReceiptRef {
        let (body, evidence) = self.honest(wrong);
        self.add(Body::Scorecard(body), evidence)
    }

    /// An honest comparison's body and report, to be spoilt.
    pub fn compared(&self, base: ReceiptRef, current: ReceiptRef) -> (Comparison, compare::Comparison) {
        let card = |reference: ReceiptRef| self.cards[reference.index as usize].clone().unwrap();
        let round = |reference: ReceiptRef| compare::Round {
            name: format!("#{}", reference.index),
            receipt: Some(reference.receipt.to_string()),
            scorer: Some("substring/v2".to_owned()),
            scorecard: card(reference),
        };
        let report = detect_regression(&card(base), &card(current), DEFAULT_TOLERANCE);
        let document =
            compare::Comparison::of(round(base), round(current), DEFAULT_TOLERANCE, compare::Evidence::NONE).unwrap();
        (
            Comparison { base, current, tolerance: DEFAULT_TOLERANCE.as_f64(), report, allow_unknown: Vec::new() },
            document,
        )
    }

    pub fn compare(&mut self, base: ReceiptRef, current: ReceiptRef) -> ReceiptRef {
        let (body, document) = self.compared(base, current);
        let evidence = vec![self.evidence(role::REPORT, encode(&document).unwrap())];
        self.add(Body::Comparison(body), evidence)
    }

    /// An honest gate run's body and evidence (predictions, profile, report), to be spoilt.
    pub fn gated(&self) -> (GateBody, Vec<Evidence>) {
        self.gated_on(include_str!("../../fixtures/gate/go.jsonl"))
    }

    /// The same on other predictions.
    pub fn gated_on(&self, predictions: &str) -> (GateBody, Vec<Evidence>) {
        let profile = Profile::built_in("bristol/v1").unwrap();
        let read = Reading::new(&profile).read("go.jsonl", predictions.as_bytes()).unwrap();
        let report = gate::evaluate(&read.finish().unwrap(), None).unwrap();
        let evidence = vec![
            self.evidence(role::PREDICTIONS, predictions),
            self.evidence(role::PROFILE, profile.canonical()),
            self.evidence(role::REPORT, report.encode().unwrap()),
        ];
        (GateBody::of(&report), evidence)
    }

    /// The receipt at an index.
    pub fn reference(&self, index: usize) -> ReceiptRef {
        ReceiptRef { index: index as u64, receipt: ReceiptId::of(&self.entries[index]) }
    }

    /// All objects but one.
    pub fn objects_without(&self, lost: ObjectId) -> Memory {
        let kept = Memory::new();
        let hex = lost.to_string();
        for (name, bytes) in self.objects.files().into_iter().filter(|(name, _)| !name.as_str().contains(&hex[2..])) {
            kept.publish(&name, &bytes).unwrap();
        }
        kept
    }

    pub fn baseline(&mut self, target: ReceiptRef) -> ReceiptRef {
        self.add(Body::Baseline(Baseline { line: "main".parse().unwrap(), target }), Vec::new())
    }

    /// Receipt 0, three rounds, a comparison and a baseline.
    pub fn example() -> Self {
        let mut forge = Self::new();
        let first = forge.round(&[]);
        let second = forge.round(&[1]);
        forge.round(&[1, 3]);
        forge.compare(first, second);
        forge.baseline(first);
        forge
    }

    /// The head over the entries.
    pub fn head(&self) -> proofmark::merkle::TreeHead {
        let mut frontier = Frontier::new();
        for entry in &self.entries {
            frontier.push::<MerkleError>(leaf_hash(entry), |_, _| Ok(())).unwrap();
        }
        frontier.head()
    }

    /// The signed checkpoint of the entries.
    pub fn note(&self, signer: &SecretKey) -> Vec<u8> {
        note(&Checkpoint::new(ORIGIN, self.head()).unwrap(), signer)
    }

    /// Bundles and tiles of the entries, and nothing else.
    pub fn write_tree(&self, store: &dyn Store) {
        let publish = |tile: TileName, bytes: &[u8]| {
            store.publish(&name(&tile.to_string()), bytes).unwrap();
            Ok::<(), MerkleError>(())
        };
        let (mut frontier, mut bundles) = (Frontier::new(), BundleWriter::new());
        for entry in &self.entries {
            frontier.push(leaf_hash(entry), publish).unwrap();
            bundles.push(entry, publish).unwrap();
        }
        frontier.partial_tiles().for_each(|(tile, bytes)| publish(tile, bytes).unwrap());
        bundles.partial_bundle().into_iter().for_each(|(bundle, bytes)| publish(bundle, bytes).unwrap());
    }

    /// The whole ledger, its checkpoint signed by this key, in `store`.
    pub fn write_to(&self, store: &dyn Store, signer: &SecretKey) {
        self.write_tree(store);
        for (name, bytes) in self.objects.files() {
            store.publish(&name, &bytes).unwrap();
        }
        store.publish(&name("config.toml"), format!("format = 1\norigin = \"{ORIGIN}\"\n").as_bytes()).unwrap();
        store.publish(&name("checkpoint"), &self.note(signer)).unwrap();
    }

    /// The whole ledger in memory.
    pub fn write(&self) -> Memory {
        let memory = Memory::new();
        self.write_to(&memory, &log());
        memory
    }
}

/// A checkpoint signed by any key under the log's name.
pub fn note(checkpoint: &Checkpoint, signer: &SecretKey) -> Vec<u8> {
    let key = VerifierKey::new(ORIGIN, *signer.public().raw()).unwrap();
    checkpoint.sign::<MerkleError>(&key, |text| Ok(signer.sign(text).unwrap().0)).unwrap().encode()
}
