//! Every finding is reached, by name, and by exactly the damage that it stands for.

use std::collections::{BTreeMap, BTreeSet};

use proofmark::gate::Verdict;
use proofmark::import::{Manifest, NamedOriginal};
use proofmark::ledger::{BridgeFrom, NumberedRound, role};
use proofmark::merkle::{Checkpoint, TreeHead};
use proofmark::object::{ObjectId, Sha256, encode};
use proofmark::question::{Judgements, QuestionSet, Scheme};
use proofmark::receipt::{
    Baseline, Basis, Body, Comparison, Evidence, GateBody, MAX_EVIDENCE_BYTES, Receipt, ReceiptRef, ScorecardBody,
    Subject,
};
use proofmark::scorecard::{RegressionReport, Scorecard};
use proofmark::store::{Directory, Memory, Name, Store};
use proofmark::trust::{self, KeyRecord, LogKey, Person, Role, Rules, SecretKey, Signer, Standing, Thresholds};
use proofmark::verify::{Axis, Code, NoticeCode, Options, Report, Status, VerifyError, find_receipt, verify};

use crate::forge::{Forge, QUESTIONS, answers, card, first_trust, name, note};
use crate::keys::{ORIGIN, log, person};

const REPLAY: Options = Options { only: None, replay: true, pin: None };

fn audit(store: &dyn Store, options: &Options) -> Report {
    verify(store, options, &mut |_, _| {}).unwrap()
}

fn codes(report: &Report) -> BTreeSet<Code> {
    report.findings.iter().map(|finding| finding.code).collect()
}

fn status(report: &Report, axis: Axis) -> Status {
    report.axis(axis).unwrap().status
}

/// What was found in each of the cases, for the proof that every code is reached; and the ledgers themselves.
#[derive(Default)]
struct Reached(BTreeSet<Code>, Vec<Spoilt>);

/// A spoilt ledger: what was done, its files, and what its lock holds.
pub type Spoilt = (String, BTreeMap<Name, Vec<u8>>, Option<Vec<u8>>);

impl Reached {
    fn expect(&mut self, what: &str, store: &dyn Store, options: &Options, expected: &[Code]) {
        let report = audit(store, options);
        let found = codes(&report);
        assert_eq!(found, expected.iter().copied().collect(), "{what}: {:#?}", report.findings);
        for finding in &report.findings {
            assert_eq!(status(&report, finding.axis), Status::Fail, "{what}");
            assert!(finding.expected != finding.found && !finding.next.is_empty(), "{what}: {finding:?}");
        }
        self.0.extend(found);
        // Links cannot be listed.
        if let (None, None, Ok(names)) = (options.only, options.pin, store.list("")) {
            let read = |name: Name| (name.clone(), store.read(&name, u64::MAX).unwrap().unwrap());
            self.1.push((what.to_owned(), names.into_iter().map(read).collect(), store.cell().unwrap()));
        }
    }

    /// A spoilt file in an otherwise good ledger of six receipts.
    fn file(&mut self, what: &str, spoil: impl FnOnce(&Memory, &Forge), expected: &[Code]) {
        let forge = Forge::example();
        let store = forge.write();
        spoil(&store, &forge);
        self.expect(what, &store, &REPLAY, expected);
    }

    /// A ledger with good files whose receipts say something wrong.
    fn receipts(&mut self, what: &str, spoil: impl FnOnce(&mut Forge), expected: &[Code]) {
        let mut forge = Forge::example();
        spoil(&mut forge);
        self.expect(what, &forge.write(), &REPLAY, expected);
    }

    /// A round that its signer spoilt.
    fn round(
        &mut self,
        what: &str,
        spoil: impl FnOnce(&Forge, &mut ScorecardBody, &mut Vec<Evidence>),
        expected: &[Code],
    ) {
        self.receipts(
            what,
            |forge| {
                let (mut body, mut evidence) = forge.honest(&[0]);
                spoil(forge, &mut body, &mut evidence);
                forge.add(Body::Scorecard(body), evidence);
            },
            expected,
        );
    }

    /// A comparison of rounds 1 and 3 that its signer spoilt.
    fn comparison(&mut self, what: &str, spoil: impl FnOnce(&Forge, &mut Comparison, &mut Vec<u8>), expected: &[Code]) {
        self.receipts(
            what,
            |forge| {
                let (mut body, document) = forge.compared(reference(forge, 1), reference(forge, 3));
                let mut report = encode(&document).unwrap();
                spoil(forge, &mut body, &mut report);
                let evidence = vec![forge.evidence(role::REPORT, report)];
                forge.add(Body::Comparison(body), evidence);
            },
            expected,
        );
    }
}

fn reference(forge: &Forge, index: usize) -> ReceiptRef {
    ReceiptRef { index: index as u64, receipt: proofmark::object::ReceiptId::of(&forge.entries[index]) }
}

fn overwrite(store: &Memory, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = store.read(&name(file), u64::MAX).unwrap().unwrap();
    change(&mut bytes);
    store.publish(&name(file), &bytes).unwrap();
}

fn object(bytes: &[u8]) -> String {
    let hex = ObjectId::of(bytes).to_string();
    format!("objects/{}/{}", &hex[..2], &hex[2..])
}

fn put_cell(store: &Memory, cell: &[u8]) {
    assert!(store.lock().unwrap().swap(None, cell).unwrap());
}

fn stranger() -> SecretKey {
    SecretKey::generate([77; 32])
}

/// The tester and a second person.
fn two_persons(roles: &[Role], standing: Standing, rules: Rules) -> trust::Statement {
    let first = first_trust();
    let LogKey { origin, key } = first.log().clone();
    let keys = vec![KeyRecord { key: *stranger().public(), status: standing }];
    let second = Person { name: "second".to_owned(), keys, roles: roles.to_vec() };
    let persons = vec![first.persons()[0].clone(), second];
    trust::Statement::new(1, LogKey { origin, key }, persons, Thresholds { root: 1, signoff: 1, witness: None }, rules)
        .unwrap()
}

const BUNDLE: &str = "tile/entries/000.p/6";
const TILE: &str = "tile/0/000.p/6";

#[test]
fn every_code_is_reached_and_by_its_own_damage_only() {
    let reached = every_case();
    let all: BTreeSet<Code> = Code::ALL.iter().copied().collect();
    let missed: Vec<_> = all.difference(&reached.0).collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}

/// Every ledger that is spoilt here.
pub fn spoilt() -> Vec<Spoilt> {
    every_case().1
}

fn every_case() -> Reached {
    let mut reached = Reached::default();
    files(&mut reached);
    log_and_lock(&mut reached);
    signatures_and_trust(&mut reached);
    evidence(&mut reached);
    rounds(&mut reached);
    comparisons(&mut reached);
    bridges(&mut reached);
    gates(&mut reached);
    imports(&mut reached);
    for case in crate::trust::cases() {
        reached.expect(case.what, &case.store, &case.options, case.codes);
    }
    for case in crate::forger::cases() {
        reached.expect(case.what, &case.store, &REPLAY, &case.found);
    }
    for (_, report, _) in crate::dossier::spoilt() {
        reached.0.extend(codes(&report));
    }
    reached
}

fn files(reached: &mut Reached) {
    use Code as C;
    let folder = tempfile::tempdir().unwrap();
    Forge::example().write_to(&Directory::new(folder.path()), &log());
    std::os::unix::fs::symlink("checkpoint", folder.path().join("other")).unwrap();
    reached.expect("a link", &Directory::new(folder.path()), &REPLAY, &[C::NotPlain]);
    std::fs::rename(folder.path().join("checkpoint"), folder.path().join("other")).unwrap();
    std::os::unix::fs::symlink("other", folder.path().join("checkpoint")).unwrap();
    let expected = [C::NotPlain, C::CheckpointMissing];
    reached.expect("a link for a checkpoint", &Directory::new(folder.path()), &REPLAY, &expected);

    let publish = |file: &'static str, bytes: &'static [u8]| {
        move |store: &Memory, _: &Forge| store.publish(&name(file), bytes).unwrap()
    };
    let remove = |file: &'static str| move |store: &Memory, _: &Forge| store.remove(&name(file)).unwrap();
    reached.file("no format", publish("config.toml", b"format = \"one\"\n"), &[C::ConfigDamaged]);
    reached.file("not TOML", publish("config.toml", b"\xff"), &[C::ConfigDamaged]);
    reached.file("no checkpoint", remove("checkpoint"), &[C::CheckpointMissing]);
    reached.file("an empty checkpoint", publish("checkpoint", b""), &[C::CheckpointMalformed]);
    reached.file("no bundle", remove(BUNDLE), &[C::BundleMissing, C::GenesisUnusable]);
    reached.file(
        "no bundle, an older one",
        |store, forge| {
            let older = Forge { entries: forge.entries[..2].to_vec(), ..Forge::empty() };
            older.write_tree(store);
            store.remove(&name(BUNDLE)).unwrap();
        },
        &[C::BundleMissing],
    );
    reached.file(
        "a short bundle",
        |store, _| overwrite(store, BUNDLE, |b| b.truncate(b.len() - 1)),
        &[C::BundleDamaged],
    );
    reached.file("a long bundle", |store, _| overwrite(store, BUNDLE, |b| b.push(0)), &[C::BundleDamaged]);
    reached.file("an old bundle", publish("tile/entries/000.p/2", b"\0\0\0\0"), &[C::BundleDiffers]);
    reached.file("no tile", remove(TILE), &[C::TileMissing]);
    reached.file("a tile", |store, _| overwrite(store, TILE, |bytes| bytes[40] ^= 1), &[C::TileDiffers]);
    reached.file("a short tile", |store, _| overwrite(store, TILE, |bytes| bytes.truncate(5)), &[C::TileDiffers]);
    reached.file("an old tile", publish("tile/0/000.p/1", &[0; 32]), &[C::TileDiffers]);
    reached.file("a wider tile", publish("tile/0/000.p/9", &[0; 288]), &[C::BeyondCheckpoint]);
    reached.file("another level", publish("tile/1/000", b""), &[C::BeyondCheckpoint]);

    reached.receipts("not a receipt", |forge| _ = forge.raw(b"{}"), &[C::ReceiptMalformed]);
    reached.receipts("twice", |forge| _ = forge.raw(&forge.entries[1].clone()), &[C::ReceiptMisplaced]);
}

fn log_and_lock(reached: &mut Reached) {
    use Code as C;
    let checkpoint = |change: fn(&Forge) -> Vec<u8>| {
        move |store: &Memory, forge: &Forge| store.publish(&name("checkpoint"), &change(forge)).unwrap()
    };
    reached.file("another log key", checkpoint(|forge| forge.note(&stranger())), &[C::CheckpointSignature]);
    reached.file(
        "another log",
        checkpoint(|forge| note(&Checkpoint::new("another/log", forge.head()).unwrap(), &log())),
        &[C::CheckpointOrigin],
    );
    let other_root = |forge: &Forge| TreeHead { root: Sha256::of(b"other"), ..forge.head() };
    reached.file(
        "another root",
        checkpoint(|forge| {
            let head = TreeHead { root: Sha256::of(b"other"), ..forge.head() };
            note(&Checkpoint::new(ORIGIN, head).unwrap(), &log())
        }),
        &[C::RootDiffers],
    );
    reached.file(
        "a forked lock",
        |store, forge| put_cell(store, &note(&Checkpoint::new(ORIGIN, other_root(forge)).unwrap(), &log())),
        &[C::LockContradicts],
    );
    reached.file("a lock without a note", |store, _| put_cell(store, b"?"), &[C::LockContradicts]);
    reached.file("a stranger's lock", |store, forge| put_cell(store, &forge.note(&stranger())), &[C::LockContradicts]);
    reached.file(
        "put back to an older state",
        |store, forge| {
            let mut newer = Forge { entries: forge.entries.clone(), ..Forge::empty() };
            newer.raw(b"{}");
            put_cell(store, &newer.note(&log()));
        },
        &[C::RolledBack],
    );
    let store = Forge::example().write();
    overwrite(&store, TILE, |bytes| bytes[40] ^= 1);
    reached.expect("one receipt", &store, &Options { only: Some(2), ..REPLAY }, &[C::InclusionFails]);
    let pinned = Options { pin: Some(proofmark::object::ReceiptId::of(b"other")), ..REPLAY };
    reached.expect("another ledger", &Forge::example().write(), &pinned, &[C::PinDiffers]);
}

fn signatures_and_trust(reached: &mut Reached) {
    use Code as C;
    let signed_by = |signer: SecretKey| {
        move |forge: &mut Forge| {
            let (body, evidence) = forge.honest(&[2]);
            forge.sign(forge.trust(), Body::Scorecard(body), evidence, &signer);
        }
    };
    reached.receipts("a stranger", signed_by(stranger()), &[C::SignatureKeyUnknown, C::KeyNotAllowed]);
    reached.receipts(
        "in another's name",
        |forge| {
            signed_by(stranger())(forge);
            let text = String::from_utf8(forge.entries.pop().unwrap()).unwrap();
            let (theirs, ours) = (stranger().public().fingerprint(), person().public().fingerprint());
            forge.raw(text.replace(theirs.as_str(), ours.as_str()).as_bytes());
        },
        &[C::SignatureBad],
    );
    let mut without = Forge::empty();
    let (body, _) = without.honest(&[]);
    without.sign(None, Body::Scorecard(ScorecardBody { basis: Basis::Asserted, ..body }), Vec::new(), &person());
    reached.expect("no trust at 0", &without.write(), &REPLAY, &[C::GenesisUnusable]);

    let trusting = |roles: &[Role], standing, rules| two_persons(roles, standing, rules);
    let appender = trusting(&[Role::Append], Standing::Active, Rules::default());
    reached.expect("made by no root", &Forge::with_trust(appender, &stranger()).write(), &REPLAY, &[C::GenesisNotRoot]);
    for (roles, standing, expected) in [
        (&[Role::Signoff][..], Standing::Active, &[C::KeyNotAllowed][..]),
        (&[Role::Append][..], Standing::Retired, &[C::KeyNotAllowed][..]),
        (&[Role::Append][..], Standing::Compromised, &[C::KeyNotAllowed, C::KeyCompromised][..]),
    ] {
        let mut forge = Forge::with_trust(trusting(roles, standing, Rules::default()), &person());
        signed_by(stranger())(&mut forge);
        reached.expect(&format!("{roles:?} {standing}"), &forge.write(), &REPLAY, expected);
    }
    for trust in [None, Some(1)] {
        reached.receipts(
            "another trust",
            |forge| {
                let trust = trust.map(|index| reference(forge, index));
                let (body, evidence) = forge.honest(&[2]);
                forge.sign(trust, Body::Scorecard(body), evidence, &person());
            },
            &[C::TrustReference],
        );
    }
    let rules = Rules { recomputed_only: Some(true), ..Rules::default() };
    let mut forge = Forge::with_trust(trusting(&[], Standing::Active, rules), &person());
    forge.round(&[]);
    let report = audit(&forge.write(), &REPLAY);
    assert_eq!((status(&report, Axis::Policy), report.is_clean()), (Status::Pass, true));
    let (body, _) = forge.honest(&[1]);
    forge.add(Body::Scorecard(ScorecardBody { basis: Basis::Asserted, ..body }), Vec::new());
    reached.expect("asserted", &forge.write(), &REPLAY, &[C::AssertedCard]);
}

fn evidence(reached: &mut Reached) {
    use Code as C;
    let file = object(answers(&[1]).as_bytes());
    let missing = file.clone();
    reached.file("no object", move |store, _| store.remove(&name(&missing)).unwrap(), &[C::EvidenceMissing]);
    for change in [|bytes: &mut Vec<u8>| bytes[0] ^= 1, |bytes: &mut Vec<u8>| bytes.push(0), Vec::clear] {
        let file = file.clone();
        reached.file("another object", move |store, _| overwrite(store, &file, change), &[C::EvidenceDamaged]);
    }
    reached.round("a false SHA-256", |_, _, evidence| evidence[1].sha256 = Sha256::of(b"x"), &[C::EvidenceSha256]);
    reached.round("a false size", |_, _, evidence| evidence[1].size += 1, &[C::EvidenceDamaged]);
    reached.round("another size", |_, _, evidence| evidence[0].size += 1, &[C::EvidenceContradiction]);
}

/// An honest bridge from the round at `index` to exact/v1: its body, evidence and document.
fn bridged(forge: &Forge, index: usize, wrong: &[usize]) -> (ScorecardBody, Vec<Evidence>, String) {
    let (mut body, evidence) = forge.honest(wrong);
    body.scorer = "exact/v1".parse().unwrap();
    body.card = card(wrong, "exact/v1", Scheme::Pm1);
    let receipt = Receipt::parse(&forge.entries[index]).unwrap();
    let base = NumberedRound::new(reference(forge, index), 0, receipt).unwrap();
    let from = BridgeFrom::load(&*forge.objects, &base).unwrap().unwrap();
    let correct: Vec<bool> = (0..5).map(|at| !wrong.contains(&at)).collect();
    let bridge = from.to(&body.scorer, &body.card, &correct).unwrap();
    (body, evidence, String::from_utf8(bridge.encode().unwrap()).unwrap())
}

/// Bridges signed by the right key, whose document says what the answers do not.
fn bridges(reached: &mut Reached) {
    use Code as C;
    type Spoil = fn(&Forge, String) -> String;
    let cases: [(&str, Spoil, &[C]); 7] = [
        ("an honest bridge", |_, document| document, &[]),
        ("more agreement", |_, text| text.replace("\"bothWrong\":1", "\"bothWrong\":2"), &[C::ReportDiffers]),
        ("another spelling", |_, text| text + "\n", &[C::ReportDiffers]),
        ("no bridge", |_, _| "{}".to_owned(), &[C::ReportDiffers]),
        ("from itself", |_, text| text.replace("\"index\":2", "\"index\":6"), &[C::ReportDiffers]),
        ("from another place", |_, text| text.replace("\"index\":2", "\"index\":1"), &[C::ReportDiffers]),
        ("from another round", |forge, _| bridged(forge, 1, &[1]).2, &[C::ReportDiffers]),
    ];
    for (what, spoil, expected) in cases {
        reached.receipts(
            what,
            |forge| {
                let (body, mut evidence, document) = bridged(forge, 2, &[1]);
                evidence.push(forge.evidence(role::REPORT, spoil(forge, document)));
                forge.add(Body::Scorecard(body), evidence);
            },
            expected,
        );
    }
}

/// Gate runs signed by the right key, saying what does not follow.
/// Receipts that are about something else than the receipts that they name.
fn subjects(reached: &mut Reached) {
    let of = |forge: &Forge, index: usize| Subject::of_receipt(&forge.entries[index]).unwrap();
    let mut about = |what: &str, subject: &dyn Fn(&Forge) -> Vec<Subject>| {
        reached.receipts(
            what,
            |forge| {
                let (body, document) = forge.compared(reference(forge, 1), reference(forge, 3));
                let evidence = vec![forge.evidence(role::REPORT, encode(&document).unwrap())];
                forge.add_about(subject(forge), Body::Comparison(body), evidence);
            },
            &[Code::ReferenceSubject],
        );
    };
    about("about another round", &|forge| vec![of(forge, 1), of(forge, 2)]);
    about("about both the wrong way round", &|forge| vec![of(forge, 3), of(forge, 1)]);
    about("about one of them", &|forge| vec![of(forge, 1)]);
    about("about one more", &|forge| vec![of(forge, 1), of(forge, 3), of(forge, 0)]);
    about("with another digest", &|forge| {
        vec![of(forge, 1), Subject::new(of(forge, 3).name, Sha256::of(b"something else"))]
    });
    about("by another name", &|forge| {
        vec![of(forge, 1), Subject::new("system".parse().unwrap(), of(forge, 3).digest.sha256)]
    });
    reached.receipts(
        "a baseline about another round",
        |forge| {
            let target = reference(forge, 1);
            let body = Body::Baseline(Baseline { line: "main".parse().unwrap(), target });
            forge.add_about(vec![of(forge, 2)], body, Vec::new());
        },
        &[Code::ReferenceSubject],
    );
}

fn gates(reached: &mut Reached) {
    use Code as C;
    let mut forge = Forge::new();
    let (body, evidence) = forge.gated();
    forge.add(Body::Gate(body), evidence);
    let report = audit(&forge.write(), &REPLAY);
    assert_eq!((status(&report, Axis::Replay), report.is_clean()), (Status::Pass, true), "{report:?}");
    type Spoil = fn(&Forge, &mut GateBody, &mut Vec<Evidence>);
    let cases: [(&str, Spoil, &[C]); 10] = [
        (
            "another verdict",
            |_, body, _| {
                (body.verdict, body.recommended, body.candidates.passed) = (Verdict::Blocked, None, 0);
            },
            &[C::GateDiffers],
        ),
        ("another candidate", |_, body, _| body.recommended = Some("other".parse().unwrap()), &[C::GateDiffers]),
        ("more candidates", |_, body, _| body.candidates.total += 1, &[C::GateDiffers]),
        ("another name", |_, body, _| body.profile.name.push('!'), &[C::GateDiffers]),
        ("another floor", |_, body, _| body.min_coverage = 0.51, &[C::GateReportDiffers]),
        ("another report", |forge, _, list| list[2] = forge.evidence(role::REPORT, "{}"), &[C::GateReportDiffers]),
        ("no report", |_, _, list| drop(list.pop()), &[C::GateReportDiffers]),
        ("no profile", |_, _, list| drop(list.remove(1)), &[C::GateUnreadable]),
        ("predictions elsewhere", |_, _, list| list[0].held = false, &[C::GateUnreadable]),
        (
            "predictions that are none",
            |forge, _, list| list[0] = forge.evidence(role::PREDICTIONS, "{}\n"),
            &[C::GateUnreadable],
        ),
    ];
    for (what, spoil, expected) in cases {
        reached.receipts(
            what,
            |forge| {
                let (mut body, mut evidence) = forge.gated();
                spoil(forge, &mut body, &mut evidence);
                forge.add(Body::Gate(body), evidence);
            },
            expected,
        );
    }
    for change in [|bytes: &mut Vec<u8>| bytes[0] ^= 1, |bytes: &mut Vec<u8>| bytes.push(b' '), Vec::clear] {
        let store = forge.write();
        let kept = object(include_bytes!("../../fixtures/gate/go.jsonl"));
        let kept = store.files().into_keys().find(|file| file.to_string().starts_with(&kept)).unwrap();
        overwrite(&store, &kept.to_string(), change);
        reached.expect("damaged predictions", &store, &REPLAY, &[C::EvidenceDamaged]);
    }
}

/// A table of two questions; the second was judged wrong.
const TABLE: &str = "id,question,expected,reply,correct\nq1,2+2?,4,4,true\nq2,3+3?,6,7,false\n";

/// Rounds that were imported, whose originals say something else.
fn imports(reached: &mut Reached) {
    use Code as C;
    type Spoil = fn(&Forge, &mut ScorecardBody, &mut Vec<Evidence>);
    let cases: [(&str, Spoil, &[Code]); 9] = [
        ("an honest import", |_, _, _| {}, &[]),
        (
            "judged otherwise",
            |forge, body, list| {
                let (better, evidence) = forge.imported(&TABLE.replace("false", "true"));
                *body = better;
                list.splice(1..5, evidence.into_iter().skip(1).take(4));
            },
            &[C::ImportDiffers, C::CardDiffers],
        ),
        ("unknowns left out", |_, body, _| body.unknown.clear(), &[C::ImportDiffers]),
        (
            "another scorer",
            |_, body, _| body.scorer = body.scorer.as_str().replace("csv", "other").parse().unwrap(),
            &[C::ImportDiffers, C::IdentityDiffers],
        ),
        ("no projection", |_, _, list| drop(list.remove(4)), &[C::ImportDiffers]),
        ("no manifest", |_, _, list| drop(list.pop()), &[C::ReplayIncomplete]),
        (
            "a manifest that is none",
            |forge, _, list| list[5] = forge.evidence(role::IMPORT, "{}"),
            &[C::ReplayUnreadable],
        ),
        ("no original", |_, _, list| drop(list.remove(0)), &[C::ReplayIncomplete]),
        (
            "an original that is no table",
            |forge, _, list| {
                let (_, evidence) = forge.imported(TABLE);
                let other = forge.evidence(role::ORIGINAL, "nothing");
                let manifest = Manifest::parse(&forge.bytes(&evidence[5])).unwrap();
                let named = NamedOriginal { name: "t.csv".to_owned(), blake3: other.blake3 };
                let manifest = Manifest { originals: vec![named], ..manifest };
                list[0] = other;
                list[5] = forge.evidence(role::IMPORT, manifest.encode());
            },
            &[C::ReplayUnreadable],
        ),
    ];
    for (what, spoil, expected) in cases {
        reached.receipts(
            what,
            |forge| {
                let (mut body, mut evidence) = forge.imported(TABLE);
                spoil(forge, &mut body, &mut evidence);
                forge.add(Body::Scorecard(body), evidence);
            },
            expected,
        );
    }
    reached.receipts(
        "a comparison of what is unknown",
        |forge| {
            let [base, current] = [TABLE, TABLE].map(|table| {
                let (body, evidence) = forge.imported(table);
                forge.add(Body::Scorecard(body), evidence)
            });
            let (body, _) = forge.compared(base, current);
            forge.add(Body::Comparison(body), Vec::new());
        },
        &[C::ComparisonDiffers],
    );
}

fn with_quality(card: &Scorecard, quality: f64) -> Scorecard {
    Scorecard::new(quality, card.realized_cost(), card.grounded_fraction(), card.n(), card.question_set_id()).unwrap()
}

/// Rounds signed by the right key, saying what does not follow.
fn rounds(reached: &mut Reached) {
    use Code as C;
    reached.round("nothing to follow from", |_, _, evidence| evidence.clear(), &[C::ReplayIncomplete]);
    reached.round("questions kept elsewhere", |_, _, evidence| evidence[0].held = false, &[C::ReplayIncomplete]);
    reached.round("no answers", |_, _, evidence| drop(evidence.pop()), &[C::ReplayIncomplete]);
    reached.round(
        "two sets of answers",
        |forge, _, evidence| evidence.push(forge.evidence(role::ANSWERS, answers(&[]))),
        &[C::ReplayIncomplete],
    );
    reached.round(
        "answers that are none",
        |forge, _, evidence| evidence[1] = forge.evidence(role::ANSWERS, "{}\n"),
        &[C::ReplayUnreadable],
    );
    reached.round(
        "an unknown scorer",
        |_, body, _| body.scorer = "nope/v1".parse().unwrap(),
        &[C::ReplayScorer, C::IdentityDiffers],
    );
    reached.round(
        "better by a bit",
        |_, body, _| body.card = with_quality(&body.card, 0.8f64.next_up()),
        &[C::CardDiffers],
    );
    reached.round("all right", |_, body, _| body.card = with_quality(&body.card, 1.0), &[C::CardDiffers]);
    reached.round(
        "cheaper",
        |_, body, _| {
            let card = &body.card;
            let cost = card.realized_cost().next_down();
            let (grounded, id) = (card.grounded_fraction(), card.question_set_id());
            body.card = Scorecard::new(card.quality(), cost, grounded, card.n(), id).unwrap();
        },
        &[C::CardDiffers],
    );
    reached.round(
        "more cases",
        |_, body, _| {
            let card = &body.card;
            let id = card.question_set_id();
            body.card = Scorecard::new(card.quality(), card.realized_cost(), 1.0, 6, id).unwrap();
        },
        &[C::CardDiffers],
    );
    reached.round(
        "another's answers",
        |forge, _, evidence| evidence[1] = forge.evidence(role::ANSWERS, answers(&[0, 1])),
        &[C::CardDiffers],
    );
    reached.round(
        "another scorer's identity",
        |_, body, _| body.card = card(&[0], "exact/v1", Scheme::Pm1),
        &[C::IdentityDiffers],
    );
    reached.round(
        "a mixle identity of nothing",
        |_, body, _| {
            let card = &body.card;
            body.card = Scorecard::new(card.quality(), card.realized_cost(), 1.0, 5, "a".repeat(64)).unwrap();
        },
        &[C::IdentityDiffers],
    );
    reached.round(
        "other questions",
        |forge, _, evidence| evidence[0] = forge.evidence(role::QUESTIONS, QUESTIONS.replace("France", "Gaul")),
        &[C::IdentityDiffers],
    );
    reached.round(
        "reordered questions",
        |forge, _, evidence| {
            let lines: String = QUESTIONS.lines().rev().map(|line| format!("{line}\n")).collect();
            evidence[0] = forge.evidence(role::QUESTIONS, lines);
        },
        &[C::IdentityDiffers, C::CardDiffers],
    );
    reached.round(
        "an asserted card with other questions",
        |forge, body, evidence| {
            body.basis = Basis::Asserted;
            *evidence = vec![forge.evidence(role::QUESTIONS, QUESTIONS.replace("planet", "star"))];
        },
        &[C::IdentityDiffers],
    );
    reached.round(
        "an asserted card that its answers deny",
        |_, body, _| {
            body.basis = Basis::Asserted;
            body.card = with_quality(&body.card, 1.0);
        },
        &[C::CardDiffers],
    );
    reached.round(
        "another card than was handed in",
        |forge, body, evidence| {
            body.basis = Basis::Asserted;
            let handed_in = with_quality(&body.card, 0.2);
            *evidence = vec![forge.evidence(role::CARD, serde_json::to_vec(&handed_in).unwrap())];
        },
        &[C::CardDiffers],
    );
    sealed_rounds(reached);
    judged_rounds(reached);
}

fn judgements(correct: &[bool]) -> Vec<u8> {
    let questions = QuestionSet::parse("q", QUESTIONS.as_bytes()).unwrap();
    Judgements::of("j", &questions, correct).unwrap().encode()
}

/// Makes an honest round a sealed one, whose questions are withheld.
fn seal(forge: &Forge, body: &mut ScorecardBody, evidence: &mut Vec<Evidence>) {
    let questions = QuestionSet::parse("q", QUESTIONS.as_bytes()).unwrap().seal(|| Ok::<_, ()>([9; 32])).unwrap();
    let leaves = questions.leaves().unwrap();
    let (card, id) = (body.card.clone(), leaves.id(&body.scorer));
    let numbers = (card.quality(), card.realized_cost(), card.grounded_fraction());
    body.card = Scorecard::new(numbers.0, numbers.1, numbers.2, card.n(), id.as_str()).unwrap();
    body.sealed = true;
    evidence[0] = forge.evidence(role::LEAVES, leaves.encode());
    evidence.push(forge.evidence(role::JUDGEMENTS, judgements(&[false, true, true, true, true])));
}

fn sealed_rounds(reached: &mut Reached) {
    use Code as C;
    reached.round("sealed", seal, &[]);
    reached.round(
        "sealed without judgements",
        |forge, body, evidence| {
            seal(forge, body, evidence);
            evidence.pop();
        },
        &[C::ReplayIncomplete],
    );
    reached.round(
        "withheld and not said to be sealed",
        |forge, body, evidence| {
            seal(forge, body, evidence);
            body.sealed = false;
        },
        &[C::ReplayIncomplete],
    );
    reached.round("said to be sealed and held", |_, body, _| body.sealed = true, &[C::ReplayIncomplete]);
    reached.round(
        "sealed with better judgements",
        |forge, body, evidence| {
            seal(forge, body, evidence);
            evidence[2] = forge.evidence(role::JUDGEMENTS, judgements(&[true; 5]));
        },
        &[C::CardDiffers],
    );
    reached.round(
        "sealed with other leaves",
        |forge, body, evidence| {
            seal(forge, body, evidence);
            evidence[0] = forge.evidence(role::LEAVES, format!("{}\n", "0".repeat(64)).repeat(5));
        },
        &[C::IdentityDiffers],
    );
}

fn judged_rounds(reached: &mut Reached) {
    use Code as C;
    let judge = b"#!/bin/sh\n";
    let judged = |forge: &Forge, body: &mut ScorecardBody, evidence: &mut Vec<Evidence>| {
        body.scorer = format!("command/strict/v1?blake3={}", ObjectId::of(judge)).parse().unwrap();
        let questions = QuestionSet::parse("q", QUESTIONS.as_bytes()).unwrap();
        let id = questions.id(Scheme::Pm1, &body.scorer).unwrap();
        let cost = body.card.realized_cost();
        body.card = Scorecard::new(0.4, cost, 1.0, 5, id.as_str()).unwrap();
        evidence.push(forge.evidence(role::JUDGEMENTS, judgements(&[true, false, true, false, false])));
        evidence.push(forge.evidence(role::JUDGE, judge));
    };
    reached.round("a judge of one's own", judged, &[]);
    reached.round(
        "another judge",
        |forge, body, evidence| {
            judged(forge, body, evidence);
            evidence[3] = forge.evidence(role::JUDGE, b"#!/bin/true\n");
        },
        &[C::JudgeDiffers],
    );
    reached.round(
        "no judge",
        |forge, body, evidence| {
            judged(forge, body, evidence);
            evidence.pop();
        },
        &[C::ReplayIncomplete],
    );
    reached.round(
        "a milder judge's numbers",
        |forge, body, evidence| {
            judged(forge, body, evidence);
            body.card = with_quality(&body.card, 0.6);
        },
        &[C::CardDiffers],
    );
}

fn comparisons(reached: &mut Reached) {
    use Code as C;
    reached.comparison("honest", |_, _, _| {}, &[]);
    reached.comparison(
        "other reasons",
        |_, body, _| body.report.reasons[0].push('!'),
        &[C::ComparisonDiffers, C::ReportDiffers],
    );
    reached.comparison(
        "not regressed",
        |_, body, _| body.report = RegressionReport { regressed: false, comparable: true, reasons: Vec::new() },
        &[C::ComparisonDiffers, C::ReportDiffers],
    );
    reached.comparison(
        "a wider tolerance",
        |_, body, _| body.tolerance = 0.5,
        &[C::ComparisonDiffers, C::ReportDiffers],
    );
    reached.comparison("another spelling", |_, _, report| report.push(b'\n'), &[C::ReportDiffers]);
    reached.comparison(
        "another report",
        |_, _, report| *report = b"{\"schema\":\"compare.v1\"}".to_vec(),
        &[C::ReportDiffers],
    );
    reached.comparison(
        "a report of other cards",
        |forge, _, report| *report = encode(&forge.compared(reference(forge, 2), reference(forge, 3)).1).unwrap(),
        &[C::ReportDiffers],
    );
    reached.comparison(
        "another base",
        |forge, body, _| body.base = reference(forge, 2),
        &[C::ComparisonDiffers, C::ReportDiffers],
    );
    subjects(reached);
    reached.comparison("an id elsewhere", |_, body, _| body.base.index = 2, &[C::ReferenceBroken]);
    reached.comparison("its own place", |_, body, _| body.current.index = 6, &[C::ReferenceBroken]);
    reached.comparison("no card", |forge, body, _| body.base = reference(forge, 4), &[C::ReferenceKind]);
    reached.receipts("a baseline of no round", |forge| _ = forge.baseline(reference(forge, 4)), &[C::ReferenceKind]);
    reached.receipts(
        "a baseline of another line",
        |forge| {
            let (body, evidence) = forge.honest(&[]);
            let other = ScorecardBody { line: "nightly".parse().unwrap(), ..body };
            let target = forge.add(Body::Scorecard(other), evidence);
            forge.baseline(target);
        },
        &[C::ReferenceKind],
    );
}

#[test]
fn a_good_ledger_passes_on_every_axis_that_can_be_checked() {
    let forge = Forge::example();
    let pin = Some(forge.genesis());
    let report = audit(&forge.write(), &Options { only: None, replay: true, pin });
    assert!(report.is_clean(), "{:#?}", report.findings);
    for axis in Axis::ALL {
        let expected = if axis == Axis::Policy { Status::NotChecked } else { Status::Pass };
        assert_eq!(status(&report, axis), expected, "{axis:?}");
    }
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    let count = |axis, what: &str| report.axis(axis).unwrap().counts[what];
    assert_eq!((count(Axis::Log, "receipts"), count(Axis::Signatures, "good")), (6, 6));
    assert_eq!((count(Axis::Evidence, "named"), count(Axis::Evidence, "objects")), (7, 5));
    assert_eq!((count(Axis::Replay, "derived"), count(Axis::Replay, "comparisons")), (3, 1));
    assert_eq!(report.lines[0].rounds, 3);
    let quick = audit(&forge.write(), &Options::default());
    assert_eq!((status(&quick, Axis::Replay), status(&quick, Axis::Pin)), (Status::NotChecked, Status::NotChecked));
}

#[test]
fn what_the_ledger_itself_writes_passes_across_tile_boundaries() {
    let folder = tempfile::tempdir().unwrap();
    let ratchet = proofmark::ledger::Ratchet::new(folder.path().join("seen"));
    let root = folder.path().join("ledger");
    let ledger = crate::keys::create(Box::new(Directory::new(&root))).unwrap();
    let (person, secret) = (person(), log());
    let signer = proofmark::ledger::LogSigner::new(ORIGIN, &secret).unwrap();
    let mut size = 1i32;
    for count in [1, 3, 251, 1, 1, 300] {
        // Every round another one: the same receipt twice would be a finding.
        let drafts = (size..size + count).map(|number| Ok(crate::keys::round(f64::from(number) / 1e6)));
        ledger.append(drafts, &person, &signer, &ratchet).unwrap();
        size += count;
        let report = audit(&Directory::new(&root), &REPLAY);
        assert!(report.is_clean() && report.notices.is_empty(), "{:#?}", (report.findings, report.notices));
        assert_eq!(report.ledger.size, Some(size.unsigned_abs().into()));
        for axis in [Axis::Structure, Axis::Log, Axis::Signatures, Axis::TrustThen, Axis::Completeness] {
            assert_eq!(status(&report, axis), Status::Pass, "{axis:?}");
        }
        assert_eq!(report.axis(Axis::Replay).unwrap().counts["asserted"], report.ledger.size.unwrap() - 1);
    }
}

#[test]
fn a_mixle_identity_is_checked_like_our_own() {
    let mut forge = Forge::new();
    let (mut body, evidence) = forge.honest(&[3]);
    body.card = card(&[3], "substring/v2", Scheme::Mixle);
    forge.add(Body::Scorecard(body.clone()), evidence.clone());
    assert!(audit(&forge.write(), &REPLAY).is_clean());
    let other = body.card.question_set_id().replace('a', "b");
    body.card = Scorecard::new(0.8, body.card.realized_cost(), 1.0, 5, other).unwrap();
    forge.add(Body::Scorecard(body), evidence);
    assert_eq!(codes(&audit(&forge.write(), &REPLAY)), BTreeSet::from([Code::IdentityDiffers]));
}

#[test]
fn an_unfinished_commit_is_a_notice_and_so_are_later_trust_and_stray_files() {
    let forge = Forge::example();
    let store = forge.write();
    let mut newer = Forge { entries: forge.entries.clone(), ..Forge::empty() };
    newer.raw(&forge.entries[5].clone());
    // The writer died after the swap, with its bundle staged.
    let ahead = newer.write();
    let bundle = ahead.read(&name("tile/entries/000.p/7"), u64::MAX).unwrap().unwrap();
    store.publish(&name("staging/bundle-0-7"), &bundle).unwrap();
    put_cell(&store, &newer.note(&log()));
    store.publish(&name("notes.txt"), b"mine").unwrap();
    store.publish(&name("objects/00/not-an-object"), b"").unwrap();
    let unnamed = object(b"unnamed");
    store.publish(&name(&unnamed), b"unnamed").unwrap();
    let report = audit(&store, &REPLAY);
    assert!(report.is_clean(), "{:#?}", report.findings);
    let notices: Vec<_> = report.notices.iter().map(|notice| (notice.code, notice.file.as_deref())).collect();
    assert_eq!(
        notices,
        [
            (NoticeCode::UnexpectedFile, Some("notes.txt")),
            (NoticeCode::UnexpectedFile, Some("objects/00/not-an-object")),
            (NoticeCode::CommitPending, Some("lock")),
            (NoticeCode::ObjectUnnamed, Some(unnamed.as_str())),
        ]
    );
    // The published tiles of the unfinished commit are no finding either.
    newer.write_tree(&store);
    assert!(audit(&store, &REPLAY).is_clean());

    let mut forge = Forge::example();
    forge.add(Body::Trust(two_persons(&[Role::Append], Standing::Active, Rules::default())), Vec::new());
    let (body, evidence) = forge.honest(&[]);
    forge.sign(forge.trust(), Body::Scorecard(body), evidence, &stranger());
    let report = audit(&forge.write(), &REPLAY);
    assert_eq!(report.notices[0].code, NoticeCode::TrustNotInForce);
    let expected = [Code::SignatureKeyUnknown, Code::KeyNotAllowed, Code::TrustVersion];
    assert_eq!(codes(&report), BTreeSet::from(expected));
}

#[test]
fn an_older_lock_is_fine_where_the_log_grew_from_it() {
    let forge = Forge::example();
    let older = Forge { entries: forge.entries[..3].to_vec(), ..Forge::empty() };
    let store = forge.write();
    put_cell(&store, &older.note(&log()));
    assert!(audit(&store, &REPLAY).is_clean());
}

#[test]
fn wider_bundles_serve_where_those_of_the_checkpoint_were_removed() {
    let forge = Forge::example();
    let store = forge.write();
    let mut newer = Forge { entries: forge.entries.clone(), ..Forge::empty() };
    newer.raw(&forge.entries[5].clone());
    newer.write_tree(&store);
    put_cell(&store, &newer.note(&log()));
    store.remove(&name(BUNDLE)).unwrap();
    store.remove(&name(TILE)).unwrap();
    let report = audit(&store, &REPLAY);
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(status(&report, Axis::Replay), Status::Pass);
    assert_eq!(report.axis(Axis::Replay).unwrap().counts["comparisons"], 1);
}

#[test]
fn a_key_that_is_listed_after_it_signed_is_held_against_trust_now() {
    use crate::trust::{Story, eve};
    let told = |status| {
        let mut story = Story::new();
        story.round(&[], &eve());
        story.change(|parts| parts.person("tester").keys.push(KeyRecord { key: *eve().public(), status }));
        audit(&story.forge.write(), &REPLAY)
    };
    assert_eq!(status(&told(Standing::Active), Axis::TrustNow), Status::Pass);
    let report = told(Standing::Compromised);
    let found: Vec<_> = report.findings.iter().filter(|one| one.axis == Axis::TrustNow).collect();
    assert_eq!(found.iter().map(|one| (one.code, one.index)).collect::<Vec<_>>(), [(Code::KeyCompromised, Some(1))]);
    assert!(found[0].found.contains(&eve().public().fingerprint().to_string()));
}

#[test]
fn evidence_beyond_what_an_object_may_be_is_not_signed() {
    let forge = Forge::example();
    let mut statement = Receipt::parse(&forge.entries[1]).unwrap().statement().clone();
    statement.predicate.evidence[0].size = MAX_EVIDENCE_BYTES;
    assert!(Receipt::sign(statement.clone(), &person()).is_ok());
    statement.predicate.evidence[0].size += 1;
    let refusal = Receipt::sign(statement, &person()).unwrap_err().to_string();
    assert!(refusal.contains("at most 2^40"), "{refusal}");
}

#[test]
fn one_receipt_is_verified_with_what_it_rests_on() {
    let forge = Forge::example();
    let store = forge.write();
    // Nothing that receipt 4 (rounds 1 and 2 compared) rests on.
    store.remove(&name(&object(answers(&[1, 3]).as_bytes()))).unwrap();
    let only = |index| Options { only: Some(index), ..REPLAY };
    let report = audit(&store, &only(4));
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.axis(Axis::Log).unwrap().counts["receipts"], 4);
    assert_eq!(report.axis(Axis::Replay).unwrap().counts["derived"], 2);
    assert_eq!(status(&report, Axis::Completeness), Status::NotChecked);
    assert_eq!(codes(&audit(&store, &only(3))), BTreeSet::from([Code::EvidenceMissing]));
    assert!(matches!(verify(&store, &only(6), &mut |_, _| {}), Err(VerifyError::NoSuchReceipt { index: 6, size: 6 })));
    let id = Receipt::parse(&forge.entries[4]).unwrap().id();
    assert_eq!(find_receipt(&store, id).unwrap(), Some(4));
    assert_eq!(find_receipt(&store, proofmark::object::ReceiptId::of(b"")).unwrap(), None);
}

#[test]
fn what_is_no_ledger_is_refused_and_not_reported_on() {
    let refused = |store: &dyn Store| verify(store, &REPLAY, &mut |_, _| {}).unwrap_err();
    assert!(matches!(refused(&Memory::new()), VerifyError::Absent));
    let stray = Memory::new();
    stray.publish(&name("readme.txt"), b"").unwrap();
    assert!(matches!(refused(&stray), VerifyError::Absent));
    let later = Forge::example().write();
    later.publish(&name("config.toml"), b"format = 2\nnew = true\n").unwrap();
    assert!(matches!(refused(&later), VerifyError::Format { found: 2 }));
}

#[test]
fn a_checkpoint_that_claims_the_moon_ends_soon() {
    let store = Forge::example().write();
    let head = TreeHead { size: (1 << 53) - 1, root: Sha256::of(b"") };
    store.publish(&name("checkpoint"), &note(&Checkpoint::new(ORIGIN, head).unwrap(), &log())).unwrap();
    store.publish(&name("tile/entries/x999/x999/999"), b"").unwrap();
    let report = audit(&store, &REPLAY);
    assert!(codes(&report).contains(&Code::BundleMissing));
    assert!(report.finding_count < 10, "{:#?}", report.findings);
}

#[test]
fn the_report_of_a_hostile_ledger_is_bounded_and_counts_everything() {
    let mut forge = Forge::new();
    for number in 0..500 {
        forge.raw(format!("{{{number}}}").as_bytes());
    }
    let report = audit(&forge.write(), &REPLAY);
    assert_eq!((report.finding_count, report.findings.len() as u64), (500, proofmark::verify::MOST_LISTED));
}

#[test]
fn every_code_has_its_chapter_in_docs_findings() {
    let page = include_str!("../../docs/findings.md");
    let chapters: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let codes: BTreeSet<&str> = codes.chain(NoticeCode::ALL.iter().map(|code| code.as_str())).collect();
    assert_eq!(codes.len(), Code::ALL.len() + NoticeCode::ALL.len(), "codes are unique");
    // Reasons against a release: what the audit finds too has the same name.
    let reasons: BTreeSet<&str> = proofmark::release::Code::ALL.iter().map(|code| code.as_str()).collect();
    let both: Vec<_> = codes.intersection(&reasons).copied().collect();
    assert_eq!(both, ["asserted-card", "commit-pending", "looks-exceeded", "names-only"]);
    assert_eq!(chapters, &codes | &reasons);
}
