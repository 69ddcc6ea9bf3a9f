//! Dossiers: what a good one says, what each fault in one is called, and that no change of one passes.

use std::collections::BTreeSet;

use proofmark::dossier::{Dossier, DossierError, Wishes, write};
use proofmark::ledger::Ledger;
use proofmark::merkle::{Checkpoint, InclusionProof, Note};
use proofmark::object::{ObjectId, ReceiptId};
use proofmark::store::{Memory, Store};
use proofmark::trust::SecretKey;
use proofmark::verify::{Axis, Code, NoticeCode, Options, Report, Status, VerifyError, verify_dossier};
use rayon::prelude::*;

use crate::forge::{Forge, QUESTIONS, answers, note};
use crate::forger;
use crate::keys::{ORIGIN, log, person};
use crate::trust::{ann, bob};

/// Members of an archive in their order.
pub type Members = Vec<(String, Vec<u8>)>;

fn wishes(subject: u64, complete: bool, redacted: &[&str]) -> Wishes {
    Wishes { subject, complete, redacted: redacted.iter().map(|role| role.parse().unwrap()).collect() }
}

fn made_of(store: Memory, wishes: &Wishes) -> Result<Vec<u8>, DossierError> {
    let ledger = Ledger::open(Box::new(store)).unwrap();
    let mut bytes = Vec::new();
    let written = write(&ledger.snapshot().unwrap(), wishes, &mut bytes)?;
    assert_eq!(written.bytes, bytes.len() as u64);
    Ok(bytes)
}

/// A dossier about the comparison of the small ledger (receipts 0, 1, 2 and 4), or whatever is asked.
pub fn made(subject: u64, complete: bool, redacted: &[&str]) -> Vec<u8> {
    made_of(Forge::example().write(), &wishes(subject, complete, redacted)).unwrap()
}

fn audit(bytes: &[u8]) -> Result<Report, DossierError> {
    let options = Options { only: None, replay: true, pin: Some(Forge::example().genesis()) };
    Ok(verify_dossier(&Dossier::parse(bytes.to_vec())?, &options, &mut |_, _| {}).unwrap())
}

fn status(report: &Report, axis: Axis) -> Status {
    report.axis(axis).unwrap().status
}

/// Reads a ustar archive by its sizes alone.
pub fn members(archive: &[u8]) -> Members {
    let (mut members, mut at) = (Vec::new(), 0);
    while archive[at] != 0 {
        let text = |from: usize, to: usize| {
            let field = &archive[at + from..at + to];
            String::from_utf8(field.iter().copied().take_while(|byte| *byte != 0).collect()).unwrap()
        };
        let size = usize::from_str_radix(&text(124, 135), 8).unwrap();
        members.push((text(0, 100), archive[at + 512..at + 512 + size].to_vec()));
        at += 512 + size.next_multiple_of(512);
    }
    members
}

fn header(name: &str, size: usize) -> Vec<u8> {
    let mut block = vec![0u8; 512];
    let fields: [(usize, String); 9] = [
        (0, name.to_owned()),
        (100, "0000644".to_owned()),
        (108, "0000000".to_owned()),
        (116, "0000000".to_owned()),
        (124, format!("{size:011o}")),
        (136, "00000000000".to_owned()),
        (148, " ".repeat(8)),
        (156, "0".to_owned()),
        (257, "ustar\x0000".to_owned()),
    ];
    for (at, text) in fields.iter().chain(&[(329, "0000000".to_owned()), (337, "0000000".to_owned())]) {
        block[*at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

/// Writes the archive of these members, whatever they are.
pub fn archive(members: &Members) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in members {
        bytes.extend(header(name, content.len()));
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

#[test]
fn a_dossier_says_what_it_knows_and_no_more() {
    let bytes = made(4, false, &[]);
    assert_eq!(archive(&members(&bytes)), bytes, "the container is the plain one");
    assert_eq!(made(4, false, &[]), bytes, "the same wishes give the same bytes");
    let names: Vec<_> = members(&bytes).into_iter().map(|(name, _)| name).collect();
    let receipts = ["receipts/0.tlog-proof", "receipts/1.tlog-proof", "receipts/2.tlog-proof", "receipts/4.tlog-proof"];
    assert_eq!(names[..6], [["dossier.json", "checkpoint"].as_slice(), &receipts].concat());
    assert_eq!(names.len(), 6 + 4, "questions, two sets of answers, a report");
    let report = audit(&bytes).unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.only, Some(4));
    for axis in [Axis::Structure, Axis::Log, Axis::Signatures, Axis::Evidence, Axis::Replay, Axis::Pin] {
        assert_eq!(status(&report, axis), Status::Pass, "{axis:?}");
    }
    for axis in [Axis::TrustThen, Axis::TrustNow, Axis::Policy, Axis::Completeness] {
        assert_eq!(status(&report, axis), Status::NotChecked, "{axis:?}");
    }
    let replay = &report.axis(Axis::Replay).unwrap().counts;
    assert_eq!((replay["comparisons"], replay["derived"], replay["reports"]), (1, 2, 1));
}

#[test]
fn a_complete_dossier_also_knows_what_takes_the_whole_log() {
    let bytes = made(4, true, &[]);
    assert_eq!(archive(&members(&bytes)), bytes);
    let report = audit(&bytes).unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    for axis in Axis::ALL {
        let wanted = if axis == Axis::Policy { Status::NotChecked } else { Status::Pass };
        assert_eq!(status(&report, axis), wanted, "{axis:?}");
    }
    assert_eq!(report.axis(Axis::Completeness).unwrap().counts["rounds"], 3);
    // It can be opened as a ledger.
    let ledger = Ledger::open(Box::new(Dossier::parse(bytes).unwrap())).unwrap();
    assert_eq!(ledger.log().genesis, Forge::example().genesis());
    assert!(ledger.snapshot().unwrap().for_each(|_, _| Ok(())).is_ok());
}

#[test]
fn a_log_of_several_bundles_is_carried_and_judged_whole() {
    let mut forge = Forge::new();
    (0..300).for_each(|_| _ = forge.round(&[1]));
    let (first, last) = (forge.round(&[]), forge.round(&[2]));
    let subject = forge.compare(first, last).index;
    for complete in [false, true] {
        let bytes = made_of(forge.write(), &wishes(subject, complete, &[])).unwrap();
        let options = Options { only: None, replay: true, pin: Some(forge.genesis()) };
        let report = verify_dossier(&Dossier::parse(bytes).unwrap(), &options, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
        assert_eq!(report.axis(Axis::Signatures).unwrap().counts["good"], if complete { 304 } else { 4 });
        assert_eq!(status(&report, Axis::Completeness) == Status::Pass, complete);
    }
}

#[test]
fn what_is_redacted_is_withheld_and_nothing_rests_on_it() {
    for complete in [false, true] {
        let bytes = made(4, complete, &["answers"]);
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("no idea") && !text.contains("frontier_calls"), "answers are left out");
        let report = audit(&bytes).unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
        for axis in [Axis::Evidence, Axis::Replay] {
            assert_eq!(status(&report, axis), Status::NotChecked, "{axis:?}");
            assert!(report.axis(axis).unwrap().reason.as_ref().unwrap().contains("answers"));
        }
        assert_eq!(report.axis(Axis::Evidence).unwrap().counts["withheld"], 2);
        let withheld: Vec<_> = report.notices.iter().filter(|one| one.code == NoticeCode::EvidenceWithheld).collect();
        assert_eq!(withheld.len(), 1);
        assert_eq!(withheld[0].text, "`answers`: 2 objects are left out of the dossier");
    }
    let error = made_of(Forge::example().write(), &wishes(4, false, &["answer"])).unwrap_err();
    assert!(matches!(&error, DossierError::NoSuchRole { role, .. } if role.as_str() == "answer"), "{error:?}");
}

#[test]
fn evidence_in_two_roles_is_left_out_where_one_is_redacted() {
    let mut forge = Forge::new();
    let (body, mut evidence) = forge.honest(&[]);
    evidence.push(forge.evidence("appendix", answers(&[])));
    let subject = forge.add(proofmark::receipt::Body::Scorecard(body), evidence).index;
    let bytes = made_of(forge.write(), &wishes(subject, false, &["appendix"])).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("frontier_calls"));
    let options = Options { only: None, replay: true, pin: None };
    let report = verify_dossier(&Dossier::parse(bytes).unwrap(), &options, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(status(&report, Axis::Replay), Status::NotChecked);
}

#[test]
fn what_would_not_verify_is_not_written() {
    let object = |bytes: &str| {
        let hex = ObjectId::of(bytes.as_bytes()).to_string();
        format!("objects/{}/{}", &hex[..2], &hex[2..]).parse().unwrap()
    };
    let store = Forge::example().write();
    store.remove(&object(QUESTIONS)).unwrap();
    let error = made_of(store, &wishes(4, false, &[])).unwrap_err();
    assert!(matches!(&error, DossierError::Missing { role, .. } if role.as_str() == "questions"), "{error:?}");
    let store = Forge::example().write();
    store.publish(&object(QUESTIONS), QUESTIONS.replace("Paris", "Lyons").as_bytes()).unwrap();
    let error = made_of(store.clone(), &wishes(4, false, &[])).unwrap_err();
    assert!(matches!(error, DossierError::Changed { .. }), "{error:?}");
    made_of(store, &wishes(4, false, &["questions"])).unwrap();
    let store = Forge::example().write();
    store.publish(&object(QUESTIONS), &QUESTIONS.as_bytes()[1..]).unwrap();
    assert!(matches!(made_of(store, &wishes(4, true, &[])), Err(DossierError::Changed { .. })));
    let store = Forge::example().write();
    store.remove(&"tile/0/000.p/6".parse().unwrap()).unwrap();
    assert!(matches!(made_of(store, &wishes(4, false, &[])), Err(DossierError::Ledger(_))));
}

/// Dossiers that are laid out as they must be and say something wrong, and what that is called.
pub fn spoilt() -> Vec<(&'static str, Report, Vec<Code>)> {
    use Code as C;
    let good = members(&made(4, false, &[]));
    let place = |members: &Members, name: &str| members.iter().position(|(known, _)| known == name).unwrap();
    let proof_of = |index: u64| {
        let ledger = Ledger::open(Box::new(Forge::example().write())).unwrap();
        ledger.snapshot().unwrap().prove(index).unwrap()
    };
    let mut cases: Vec<(&'static str, Members, Vec<Code>)> = Vec::new();
    let mut case = |what, codes: &[Code], spoil: &dyn Fn(&mut Members)| {
        let mut members = good.clone();
        spoil(&mut members);
        assert_ne!(members, good, "{what}");
        cases.push((what, members, codes.to_vec()));
    };
    let without = |name: &'static str| move |members: &mut Members| members.retain(|(known, _)| known != name);
    case("no receipt 0", &[C::GenesisUnusable, C::DossierIncomplete], &without("receipts/0.tlog-proof"));
    case("no base", &[C::ReferenceBroken, C::DossierIncomplete, C::DossierSurplus], &without("receipts/1.tlog-proof"));
    case("no subject", &[C::DossierIncomplete, C::DossierSurplus], &without("receipts/4.tlog-proof"));
    let manifest = |from: &'static str, to: String| {
        move |members: &mut Members| {
            let text = String::from_utf8(members[0].1.clone()).unwrap();
            members[0].1 = text.replace(from, &to).into_bytes();
        }
    };
    case(
        "another subject",
        &[C::DossierIncomplete, C::DossierSurplus],
        &manifest("\"index\":4", "\"index\":1".to_owned()),
    );
    case(
        "a subject beyond",
        &[C::DossierIncomplete, C::DossierSurplus],
        &manifest("\"index\":4", "\"index\":9".to_owned()),
    );
    let other = proofmark::object::ReceiptId::of(&Forge::example().entries[1]).to_string();
    let subject = |members: &mut Members| {
        let text = String::from_utf8(members[0].1.clone()).unwrap();
        let id = text.split("\"receipt\":\"").nth(1).unwrap()[..64].to_owned();
        members[0].1 = text.replace(&id, &other).into_bytes();
    };
    case("the id of another", &[C::DossierIncomplete], &subject);
    let redacted = |role: &str| manifest("\"redacted\":[]", format!("\"redacted\":[\"{role}\"]"));
    case("an unheard role is left out", &[C::DossierSurplus], &redacted("zeal"));
    case("what is left out is there", &[C::DossierSurplus], &redacted("answers"));
    case("one receipt more", &[C::DossierSurplus], &|members| {
        let at = place(members, "receipts/4.tlog-proof");
        members.insert(at, ("receipts/3.tlog-proof".to_owned(), proof_of(3).encode()));
    });
    case("one object more", &[C::DossierSurplus], &|members| {
        let hex = ObjectId::of(b"more").to_string();
        members.push((format!("objects/{}/{}", &hex[..2], &hex[2..]), b"more".to_vec()));
        members[6..].sort();
    });
    case("an object fewer", &[C::EvidenceMissing], &|members| drop(members.pop()));
    case("other bytes", &[C::EvidenceDamaged], &|members| members.last_mut().unwrap().1[0] ^= 1);
    let with_note = |note: Vec<u8>| {
        move |members: &mut Members| {
            let note = Note::parse(&note).unwrap();
            members[1].1 = note.encode();
            for (name, bytes) in members.iter_mut().filter(|(name, _)| name.starts_with("receipts/")) {
                let index = name["receipts/".len()..].split('.').next().unwrap().parse().unwrap();
                let old = InclusionProof::parse(bytes).unwrap();
                let text = String::from_utf8(old.encode()).unwrap();
                let hashes = text.split("\n\n").next().unwrap().lines().skip(3);
                let hashes = hashes.map(|line| {
                    use base64::Engine;
                    let raw = base64::engine::general_purpose::STANDARD.decode(line).unwrap();
                    proofmark::object::Sha256::from_bytes(raw.try_into().unwrap())
                });
                let extra = old.extra().map(<[u8]>::to_vec);
                *bytes = InclusionProof::new(extra, index, hashes.collect(), note.clone()).unwrap().encode();
            }
        }
    };
    let forge = Forge::example();
    case("a stranger's checkpoint", &[C::CheckpointSignature], &with_note(forge.note(&SecretKey::generate([7; 32]))));
    let elsewhere = Checkpoint::new("elsewhere.test/log", forge.head()).unwrap();
    let renamed = note(&elsewhere, &log());
    case("the checkpoint of another name", &[C::CheckpointOrigin], &with_note(renamed));
    let mut longer = Forge::example();
    longer.round(&[]);
    case("a later checkpoint", &[C::InclusionFails], &with_note(longer.note(&log())));
    case("a hash is another", &[C::InclusionFails], &|members| {
        let at = place(members, "receipts/4.tlog-proof");
        let text = String::from_utf8(members[at].1.clone()).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        lines.swap(3, 4);
        members[at].1 = (lines.join("\n") + "\n").into_bytes();
    });
    let read =
        |(what, members, codes): (&'static str, Members, Vec<Code>)| (what, audit(&archive(&members)).unwrap(), codes);
    cases.into_iter().map(read).collect()
}

#[test]
fn faults_of_dossiers_have_their_codes() {
    for (what, report, expected) in spoilt() {
        let found: BTreeSet<Code> = report.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(found, expected.into_iter().collect(), "{what}: {:#?}", report.findings);
    }
}

#[test]
fn hostile_archives_are_refused_by_rule_and_place() {
    let good = made(4, false, &[]);
    let whole = members(&made(4, true, &[]));
    let with = |spoil: &dyn Fn(&mut Members)| {
        let mut members = members(&good);
        spoil(&mut members);
        archive(&members)
    };
    let spelled = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        // The sum over the header is right all the same.
        let sum: u32 = bytes[..512]
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
            .sum();
        bytes[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        bytes
    };
    let header = "a header is not the one that this format has for a name and a size";
    let (first, second) = ("its first member is not a `dossier.json`", "its second member is not a `checkpoint`");
    let end = "it does not end with exactly two blocks of zeros";
    let (cut, object) = ("it is cut short", "a member is no object, or not in its order");
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", Vec::new(), cut),
        ("one block", good[..512].to_vec(), cut),
        ("only an end", vec![0; 1024], first),
        ("no end", good[..good.len() - 1024].to_vec(), cut),
        ("half an end", good[..good.len() - 512].to_vec(), cut),
        ("more after it", [good.as_slice(), &[0; 512]].concat(), end),
        ("one byte more", [good.as_slice(), &[0]].concat(), end),
        ("a link", spelled(156, b'2'), header),
        ("another mode", spelled(106, b'5'), header),
        ("a time", spelled(146, b'1'), header),
        ("an owner's name", spelled(265, b'x'), header),
        ("a prefix of the path", spelled(345, b'/'), header),
        ("a byte after the name", spelled(60, b'x'), header),
        ("a size in base 256", spelled(124, 0x80), header),
        ("a size beyond the file", spelled(125, b'7'), cut),
        ("a path out of it", with(&|members| members[0].0 = "../dossier.json".to_owned()), header),
        ("an absolute path", with(&|members| members[0].0 = "/dossier.json".to_owned()), header),
        ("the wrong order", with(&|members| members.swap(0, 1)), first),
        ("no checkpoint", with(&|members| drop(members.remove(1))), second),
        ("a long manifest", with(&|members| members[0].1.resize(65_537, b' ')), first),
        ("receipts out of order", with(&|members| members.swap(2, 3)), "its receipts are not in their order"),
        (
            "a receipt twice",
            with(&|members| members.insert(3, members[2].clone())),
            "its receipts are not in their order",
        ),
        (
            "a receipt by another number",
            with(&|members| members[2].0 = "receipts/00.tlog-proof".to_owned()),
            "its receipts are not in their order",
        ),
        (
            "a proof of another",
            with(&|members| members[3].1 = members[2].1.clone()),
            "a proof is of another receipt, under another checkpoint, or has no receipt",
        ),
        ("objects out of order", with(&|members| members.swap(7, 8)), object),
        ("an object twice", with(&|members| members.insert(7, members[7].clone())), object),
        (
            "an object in capitals",
            with(&|members| members[7].0 = members[7].0.to_uppercase().replace("OBJECTS", "objects")),
            object,
        ),
        ("a stray member", with(&|members| members.push(("zzz".to_owned(), Vec::new()))), object),
        ("a compressed object", with(&|members| members[7].0.push_str(".zst")), object),
        (
            "complete without bundles",
            with(&|members| {
                let text = String::from_utf8(members[0].1.clone()).unwrap();
                members[0].1 = text.replace("false", "true").into_bytes();
            }),
            "it is complete and an entry bundle is not where it must be",
        ),
        (
            "bundles and not complete",
            {
                let mut members = whole.clone();
                let text = String::from_utf8(members[0].1.clone()).unwrap();
                members[0].1 = text.replace("true", "false").into_bytes();
                archive(&members)
            },
            object,
        ),
    ];
    for (what, bytes, rule) in cases {
        match Dossier::parse(bytes) {
            Err(DossierError::Malformed { reason, .. }) => assert_eq!(reason, rule, "{what}"),
            other => panic!("{what}: {other:?}"),
        }
    }
    let padded = {
        let mut bytes = good.clone();
        bytes[512 + members(&good)[0].1.len()] = 1;
        bytes
    };
    assert!(matches!(
        Dossier::parse(padded),
        Err(DossierError::Malformed { reason: "a member is padded with something else than zeros", .. })
    ));
    for (from, to) in [
        ("dossier.v1", "dossier.v2"),
        ("\"redacted\":[]", "\"redacted\":[\"b\",\"a\"]"),
        ("\"redacted\":[]", "\"redacted\":[\"a\",\"a\"]"),
        ("\"redacted\":[]", "\"redacted\":[ ]"),
        ("\"redacted\":[]", "\"redacted\":[],\"path\":\"/etc\""),
        ("\"redacted\":[]", "\"redacted\":[\"..\"]"),
        ("\"index\":4", "\"index\":-4"),
        ("\"index\":4", "\"index\":4.0"),
        ("{\"complete\"", "{\"complete\":false,\"complete\""),
    ] {
        let bytes = with(&|members| {
            let text = String::from_utf8(members[0].1.clone()).unwrap();
            assert!(text.contains(from), "{from}");
            members[0].1 = text.replace(from, to).into_bytes();
        });
        assert!(Dossier::parse(bytes).is_err(), "{to}");
    }
    for at in [1, 2] {
        let cut = with(&|members| members[at].1.truncate(9));
        assert!(matches!(Dossier::parse(cut), Err(DossierError::Log { .. })));
    }
}

/// A tampered dossier: caught where it is refused or has findings.
fn is_caught(bytes: Vec<u8>, options: &Options) -> bool {
    let Ok(dossier) = Dossier::parse(bytes) else { return true };
    match verify_dossier(&dossier, options, &mut |_, _| {}) {
        Ok(report) => !report.is_clean(),
        Err(VerifyError::Store(_)) => true,
        Err(error) => panic!("{error:?}"),
    }
}

/// Tries every change in parallel, prints how many were tried and caught, and wants all of them caught.
fn caught_all(what: &str, tries: Vec<(String, Vec<u8>)>, replay: bool, genesis: ReceiptId) {
    let options = Options { only: None, replay, pin: Some(genesis) };
    let passed: Vec<_> =
        tries.par_iter().filter(|(_, bytes)| !is_caught(bytes.clone(), &options)).map(|(what, _)| what).collect();
    println!("dossiers, {what}: {} tried, {} caught", tries.len(), tries.len() - passed.len());
    assert!(passed.is_empty() && !tries.is_empty(), "{what}: passed unseen: {passed:?}");
}

/// A complete dossier about a gate run, with sign-offs, a waiver, a withdrawal and release decisions.
fn decided() -> (&'static str, Vec<u8>, ReceiptId) {
    let forge = forger::whole_story().story.forge;
    let bytes = made_of(forge.write(), &wishes(4, true, &[])).unwrap();
    let genesis = forge.genesis();
    assert!(!is_caught(bytes.clone(), &Options { only: None, replay: true, pin: Some(genesis) }));
    ("a gate run and its decisions", bytes, genesis)
}

fn subjects() -> [(&'static str, Vec<u8>); 3] {
    [("partial", made(4, false, &[])), ("complete", made(4, true, &[])), ("redacted", made(4, false, &["answers"]))]
}

#[test]
fn every_byte_of_a_dossier_counts() {
    let genesis = Forge::example().genesis();
    let subjects = subjects().into_iter().map(|(what, good)| (what, good, genesis)).chain([decided()]);
    for (what, good, genesis) in subjects {
        let mut places: Vec<usize> = (0..good.len()).collect();
        match what {
            // What is redacted is the same archive with less in it: there, only what says so is tried.
            "redacted" => places.truncate(1024),
            // The small ones are tried byte by byte.
            "a gate run and its decisions" => {
                let evidence = good.windows(8).position(|window| window == b"objects/").unwrap();
                places.retain(|at| if *at < evidence { at % 13 == 0 } else { at % 97 == 0 });
            }
            _ => {}
        }
        let mut tries = Vec::with_capacity(places.len());
        for at in places {
            tries.push((format!("{what}: bit {} of byte {at}", at % 8), (at, 1u8 << (at % 8))));
        }
        let options = Options { only: None, replay: false, pin: Some(genesis) };
        let passed: Vec<_> = tries
            .par_iter()
            .filter(|(_, (at, bit))| {
                let mut bytes = good.clone();
                bytes[*at] ^= bit;
                !is_caught(bytes, &options)
            })
            .map(|(what, _)| what)
            .collect();
        println!("dossiers, {what}, one bit: {} tried, {} caught", tries.len(), tries.len() - passed.len());
        assert!(passed.is_empty() && !tries.is_empty(), "{what}: passed unseen: {passed:?}");
    }
}

/// Complete dossiers with entries dropped, doubled, reordered, or with each other's signatures; under the old checkpoint, a
/// stranger's, and one by the log's key.
#[test]
fn entries_of_a_complete_dossier_count() {
    let forge = forger::whole_story().story.forge;
    let good = members(&made_of(forge.write(), &wishes(4, true, &[])).unwrap());
    let stranger = SecretKey::generate([5; 32]);
    let mut tries = Vec::new();
    let changed = crate::tamper::rearranged(&forge.entries).into_iter();
    for (what, entries) in changed.chain(crate::tamper::swapped(&forge.entries)) {
        let other = Forge { entries, ..Forge::empty() };
        let files = other.write().files();
        let (name, bundle) = files.iter().find(|(name, _)| name.as_str().starts_with("tile/entries/")).unwrap();
        let with = |checkpoint: Vec<u8>| {
            let mut members = good.clone();
            members[1].1 = checkpoint;
            members[2] = (name.to_string(), bundle.clone());
            archive(&members)
        };
        tries.push((format!("{what}, old checkpoint"), with(good[1].1.clone())));
        tries.push((format!("{what}, another key"), with(other.note(&stranger))));
        // Whoever has the log's key can sign the ledger as it was before its last receipt: that is a dossier of then.
        if what != format!("without {}", forge.entries.len() - 1) {
            tries.push((format!("{what}, the log's key"), with(other.note(&log()))));
        }
    }
    caught_all("entries rearranged", tries, false, forge.genesis());
}

#[test]
fn members_deleted_cut_extended_swapped_and_replaced_count() {
    let mut older = Forge::new();
    let (first, second) = (older.round(&[]), older.round(&[1]));
    older.round(&[1, 3]);
    older.compare(first, second);
    let older = members(&made_of(older.write(), &wishes(4, false, &[])).unwrap());
    let genesis = Forge::example().genesis();
    let subjects = subjects().into_iter().map(|(what, good)| (what, good, genesis)).chain([decided()]);
    for (what, good, genesis) in subjects {
        let good = members(&good);
        let mut tries = Vec::new();
        let mut push = |say: String, members: &Members| {
            if *members != good {
                tries.push((format!("{what}: {say}"), archive(members)));
            }
        };
        for at in 0..good.len() {
            let name = &good[at].0;
            let changed = |change: &dyn Fn(&mut Members)| {
                let mut members = good.clone();
                change(&mut members);
                members
            };
            push(format!("{name} deleted"), &changed(&|members| drop(members.remove(at))));
            push(format!("{name} emptied"), &changed(&|members| members[at].1.clear()));
            push(format!("{name} twice"), &changed(&|members| members.insert(at, members[at].clone())));
            push(format!("{name} extended"), &changed(&|members| members[at].1.push(0)));
            for cut in [1, good[at].1.len() / 2] {
                push(
                    format!("{name} cut by {cut}"),
                    &changed(&|members| {
                        let left = members[at].1.len() - cut;
                        members[at].1.truncate(left);
                    }),
                );
            }
            for other in 0..good.len() {
                push(
                    format!("{name} is {}", good[other].0),
                    &changed(&|members| members[at].1 = good[other].1.clone()),
                );
                if other > at {
                    push(format!("{name} and {} swapped", good[other].0), &changed(&|members| members.swap(at, other)));
                    push(
                        format!("contents of {name} and {} swapped", good[other].0),
                        &changed(&|members| {
                            (members[at].1, members[other].1) = (good[other].1.clone(), good[at].1.clone());
                        }),
                    );
                }
            }
            if let Some((_, old)) = older.iter().find(|(known, _)| known == name) {
                push(format!("{name} of an earlier checkpoint"), &changed(&|members| members[at].1 = old.clone()));
            }
        }
        caught_all(&format!("{what}, whole members"), tries, true, genesis);
    }
}

#[test]
fn a_dossier_signed_anew_is_of_another_ledger() {
    let stranger = SecretKey::generate([5; 32]);
    let other = crate::forge::first_trust();
    let mut forge = Forge::with_trust(other, &stranger);
    let (first, second) = (forge.round(&[]), forge.round(&[1]));
    forge.round(&[1, 3]);
    forge.compare(first, second);
    forge.baseline(first);
    let options = Options { only: None, replay: true, pin: Some(Forge::example().genesis()) };
    // Such a ledger cannot be opened, so the pieces are put together by hand.
    let store = Memory::new();
    forge.write_to(&store, &log());
    assert!(Ledger::open(Box::new(store)).is_err());
    let mut whole = members(&made(4, true, &[]));
    let place = whole.iter().position(|(name, _)| name.starts_with("tile/entries/")).unwrap();
    let memory = forge.write();
    whole[1].1 = forge.note(&log());
    whole[place].1 = memory.read(&whole[place].0.parse().unwrap(), u64::MAX).unwrap().unwrap();
    assert!(is_caught(archive(&whole), &options));
    assert_eq!(ORIGIN, crate::forge::first_trust().log().origin);
}

fn report_of(store: Memory, subject: u64, complete: bool) -> Report {
    let genesis = Ledger::open(Box::new(store.clone())).unwrap().log().genesis;
    let bytes = made_of(store, &wishes(subject, complete, &[])).unwrap();
    let options = Options { only: None, replay: true, pin: Some(genesis) };
    verify_dossier(&Dossier::parse(bytes).unwrap(), &options, &mut |_, _| {}).unwrap()
}

#[test]
fn a_go_that_was_withdrawn_or_spoken_against_does_not_look_like_one() {
    let forge = forger::whole_story().story.forge;
    for complete in [false, true] {
        let report = report_of(forge.write(), 4, complete);
        assert!(report.is_clean(), "{complete}: {:#?}", report.findings);
        let about = report.about.as_ref().unwrap();
        assert_eq!((about.kind, about.says.as_str(), about.whole), (Some("gate"), "GO", complete));
        let said: Vec<_> = about.decisions.iter().map(|one| (one.index, one.who.as_str(), one.says.as_str())).collect();
        let waived = (5, "Bob", "waives comparison-regressed");
        let (released, no_go, blocked) = ((7, "tester", "AUTHORIZED"), (10, "Bob", "NO-GO"), (12, "tester", "BLOCKED"));
        assert_eq!(said, [waived, (6, "Ann", "GO"), released, no_go, blocked]);
        assert_eq!(about.decisions[1].doubts, ["it was withdrawn in #11"]);
        assert_eq!(about.decisions[2].doubts, ["it rests on #6, which was withdrawn in #11"]);
        assert!(about.decisions[3].doubts.is_empty() && about.withdrawn.is_empty());
        assert_eq!(status(&report, Axis::Policy), if complete { Status::Pass } else { Status::NotChecked });
        let unknown = report.notices.iter().any(|notice| notice.code == NoticeCode::DecisionsUnknown);
        assert_eq!(unknown, !complete);
    }
    // Of the sign-off, its own withdrawal, and what was said of its gate run.
    let report = report_of(forge.write(), 6, false);
    let about = report.about.unwrap();
    assert_eq!(about.says, "GO on #4");
    assert_eq!(
        about.withdrawn.iter().map(|one| (one.index, one.by, one.who.as_str())).collect::<Vec<_>>(),
        [(6, 11, "Ann")]
    );
    assert!(about.decisions.iter().any(|one| one.says == "NO-GO"));
}

#[test]
fn a_no_go_to_what_a_sign_off_rests_on_is_shown_with_it() {
    let mut told = forger::Told::under(forger::parts(1));
    let all = told.regressed();
    let gate = told.gate(&person());
    told.go(gate, &all, &ann());
    told.no_go(all[0], &bob());
    for complete in [false, true] {
        let about = report_of(told.story.forge.write(), gate.index, complete).about.unwrap();
        let said: Vec<_> = about.decisions.iter().map(|one| (one.target, one.says.as_str())).collect();
        assert_eq!(said, [(gate.index, "GO"), (all[0].index, "NO-GO")]);
    }
}

/// Whatever decision, trust statement or agreement is left out of a dossier that is not complete: either it is caught, or
/// the dossier says that it does not know, and claims to have checked nothing that depends on it.
#[test]
fn what_a_dossier_leaves_out_is_caught_or_said_to_be_unknown() {
    let forge = forger::whole_story().story.forge;
    let options = Options { only: None, replay: true, pin: Some(forge.genesis()) };
    let (mut tried, mut caught, mut survivors) = (0, 0, Vec::new());
    for subject in 0..forge.entries.len() as u64 {
        let good = members(&made_of(forge.write(), &wishes(subject, false, &[])).unwrap());
        let receipts = good.iter().enumerate().filter(|(_, (name, _))| name.starts_with("receipts/"));
        for (at, (name, _)) in receipts {
            let mut without = good.clone();
            without.remove(at);
            tried += 1;
            let dossier = Dossier::parse(archive(&without)).unwrap();
            let report = verify_dossier(&dossier, &options, &mut |_, _| {}).unwrap();
            if !report.is_clean() {
                caught += 1;
                continue;
            }
            for axis in [Axis::TrustThen, Axis::TrustNow, Axis::Policy, Axis::Completeness] {
                assert_eq!(status(&report, axis), Status::NotChecked, "{subject} without {name}: {axis:?}");
            }
            assert!(!report.about.unwrap().whole);
            assert!(report.notices.iter().any(|notice| notice.code == NoticeCode::DecisionsUnknown));
            survivors.push(format!("#{subject} without {name}"));
        }
    }
    println!("dossiers, a receipt left out: {tried} tried, {caught} caught, {} said to be unknown", survivors.len());
    println!("said to be unknown, for they only follow what the dossier is about: {survivors:?}");
    assert!(caught > survivors.len() && !survivors.is_empty());
}

#[test]
fn every_forgery_in_a_ledger_is_one_in_its_dossier() {
    let ours = forger::cases().into_iter().map(|case| (case.what, case.store, case.found));
    for (what, store, expected) in ours {
        // Where predictions are lost no dossier can be made.
        let Ok(ledger) = Ledger::open(Box::new(store.clone())) else { continue };
        if expected.iter().any(|code| code.axis() == Axis::Evidence) {
            continue;
        }
        // Nor is one made of a log with what is no receipt, or stands elsewhere than it says.
        if expected.iter().any(|code| [Code::ReceiptMalformed, Code::ReceiptMisplaced].contains(code)) {
            let snapshot = ledger.snapshot().unwrap();
            assert!(write(&snapshot, &wishes(1, false, &[]), &mut Vec::new()).is_err(), "{what}");
            continue;
        }
        let size = ledger.snapshot().unwrap().size();
        let found = |report: &Report| report.findings.iter().map(|finding| finding.code).collect::<BTreeSet<_>>();
        let wanted: BTreeSet<_> = expected.into_iter().collect();
        for subject in BTreeSet::from([1, size - 1]) {
            let whole = report_of(store.clone(), subject, true);
            // What follows from evidence is found by whoever has it: it may not be that of the subject.
            let evident =
                |codes: &BTreeSet<Code>| codes.iter().filter(|code| code.axis() != Axis::Replay).copied().collect();
            let (here, there): (BTreeSet<_>, BTreeSet<_>) = (evident(&found(&whole)), evident(&wanted));
            assert_eq!(here, there, "{what}, #{subject}: {:#?}", whole.findings);
            assert!(found(&whole).is_subset(&wanted), "{what}, #{subject}: {:#?}", whole.findings);
            // What is in a dossier that is not complete is found by the same names, and nothing else is.
            let part = report_of(store.clone(), subject, false);
            assert!(found(&part).is_subset(&wanted), "{what}, #{subject}: {:#?}", part.findings);
            assert_ne!(status(&part, Axis::Policy), Status::Pass, "{what}, #{subject}");
        }
    }
}
