//! The chain of trust, told honestly and forged: what `verify` says of each, and what the ledger refuses to append.

use std::collections::BTreeSet;

use proofmark::ledger::{Draft, Ledger, LedgerError, LogSigner, Ratchet};
use proofmark::merkle::VerifierKey;
use proofmark::receipt::{Body, Decision, Receipt, ReceiptRef, Signoff, Text, Withdrawal, pre_authentication_encoding};
use proofmark::store::{Directory, Memory, Store};
use proofmark::trust::{KeyRecord, LogKey, Person, Role, Rules, SecretKey, Signer, Standing, Statement, Thresholds};
use proofmark::verify::{Axis, Code, NoticeCode, Options, Report, Status, verify};

use crate::forge::{Forge, name};
use crate::keys::{ORIGIN, log, moment, person, subject, tool};

const REPLAY: Options = Options { only: None, replay: true, pin: None };

pub fn ann() -> SecretKey {
    SecretKey::generate([11; 32])
}

/// Ann's other key.
pub fn ann_too() -> SecretKey {
    SecretKey::generate([12; 32])
}

pub fn bob() -> SecretKey {
    SecretKey::generate([13; 32])
}

pub fn sam() -> SecretKey {
    SecretKey::generate([14; 32])
}

/// Nobody, or somebody new.
pub fn eve() -> SecretKey {
    SecretKey::generate([77; 32])
}

fn listed(name: &str, keys: &[&SecretKey], roles: &[Role]) -> Person {
    let record = |key: &&SecretKey| KeyRecord { key: *key.public(), status: Standing::Active };
    Person { name: name.to_owned(), keys: keys.iter().map(record).collect(), roles: roles.to_vec() }
}

/// The parts of a statement, to be changed.
#[derive(Clone)]
pub struct Parts {
    pub version: u64,
    pub log: LogKey,
    pub persons: Vec<Person>,
    pub thresholds: Thresholds,
    pub rules: Rules,
}

impl Parts {
    /// Ann (two keys) and Bob are roots and both have to agree; `tester` appends, Sam signs off.
    pub fn first() -> Self {
        let key = VerifierKey::new(ORIGIN, *log().public().raw()).unwrap();
        let persons = vec![
            listed("Ann", &[&ann(), &ann_too()], &[Role::Root]),
            listed("Bob", &[&bob()], &[Role::Root]),
            listed("tester", &[&person()], &[Role::Append]),
            listed("Sam", &[&sam()], &[Role::Signoff]),
        ];
        Self {
            version: 1,
            log: LogKey { origin: ORIGIN.to_owned(), key: key.to_string() },
            persons,
            thresholds: Thresholds { root: 2, signoff: 1, witness: None },
            rules: Rules::default(),
        }
    }

    pub fn statement(&self) -> Statement {
        let Self { version, log, persons, thresholds, rules } = self.clone();
        Statement::new(version, log, persons, thresholds, rules).unwrap()
    }

    pub fn person(&mut self, name: &str) -> &mut Person {
        self.persons.iter_mut().find(|person| person.name == name).unwrap()
    }
}

pub fn because() -> Text {
    "because".parse().unwrap()
}

pub fn signoff(target: ReceiptRef, decision: Decision) -> Body {
    Body::Signoff(Signoff { target, decision, reason: because(), expires: None, rests_on: Vec::new() })
}

pub fn go(target: ReceiptRef) -> Body {
    signoff(target, Decision::Go)
}

/// A forged log, and the statement that is in force as it is told.
pub struct Story {
    pub forge: Forge,
    pub trust: ReceiptRef,
    pub parts: Parts,
}

impl Story {
    pub fn new() -> Self {
        let parts = Parts::first();
        let forge = Forge::with_trust(parts.statement(), &ann());
        let trust = forge.trust().unwrap();
        Self { forge, trust, parts }
    }

    /// A receipt that names the trust in force.
    pub fn say(&mut self, body: Body, signer: &SecretKey) -> ReceiptRef {
        self.forge.sign(Some(self.trust), body, Vec::new(), signer)
    }

    /// An honest round, signed by whom the test says.
    pub fn round(&mut self, wrong: &[usize], signer: &SecretKey) -> ReceiptRef {
        let (body, evidence) = self.forge.honest(wrong);
        self.forge.sign(Some(self.trust), Body::Scorecard(body), evidence, signer)
    }

    /// The statement in force with a change and the next version.
    pub fn next(&self, change: impl FnOnce(&mut Parts)) -> Parts {
        let mut parts = self.parts.clone();
        parts.version += 1;
        change(&mut parts);
        parts
    }

    pub fn propose(&mut self, parts: &Parts, signer: &SecretKey) -> ReceiptRef {
        self.say(Body::Trust(parts.statement()), signer)
    }

    /// A change by Ann to which Bob agrees.
    pub fn change(&mut self, change: impl FnOnce(&mut Parts)) -> ReceiptRef {
        let parts = self.next(change);
        let proposal = self.propose(&parts, &ann());
        self.say(go(proposal), &bob());
        (self.trust, self.parts) = (proposal, parts);
        proposal
    }

    pub fn report(&self) -> Report {
        audit(&self.forge.write(), &REPLAY)
    }
}

fn audit(store: &dyn Store, options: &Options) -> Report {
    verify(store, options, &mut |_, _| {}).unwrap()
}

fn codes(report: &Report) -> BTreeSet<Code> {
    report.findings.iter().map(|finding| finding.code).collect()
}

fn status(report: &Report, axis: Axis) -> Status {
    report.axis(axis).unwrap().status
}

/// A forged log, and exactly the codes that it must give.
pub struct Case {
    pub what: &'static str,
    pub entries: Vec<Vec<u8>>,
    pub store: Memory,
    pub options: Options,
    pub codes: &'static [Code],
}

/// A way of forging trust, told into a story that was honest so far, and exactly the codes that it must give.
pub struct Forgery {
    pub what: &'static str,
    pub codes: &'static [Code],
    pub forge: Box<dyn FnOnce(&mut Story)>,
}

fn case(what: &'static str, codes: &'static [Code], forge: impl FnOnce(&mut Story) + 'static) -> Forgery {
    Forgery { what, codes, forge: Box::new(forge) }
}

/// Each way of forging trust that is known here.
pub fn forgeries() -> Vec<Forgery> {
    let mut forgeries = keys();
    forgeries.extend(versions());
    forgeries.extend(successions());
    forgeries.extend(signoffs());
    forgeries
}

/// Each of them in a log of one honest round, and one that cannot be read.
pub fn cases() -> Vec<Case> {
    let told = |Forgery { what, codes, forge }| {
        let mut story = Story::new();
        story.round(&[], &person());
        forge(&mut story);
        Case { what, store: story.forge.write(), options: REPLAY, codes, entries: story.forge.entries }
    };
    forgeries().into_iter().map(told).chain([unreadable()]).collect()
}

fn keys() -> Vec<Forgery> {
    use Code as C;
    vec![
        case("an untrusted key", &[C::SignatureKeyUnknown, C::KeyNotAllowed], |story| {
            story.round(&[1], &eve());
        }),
        case("a trusted key without the role", &[C::KeyNotAllowed], |story| {
            story.round(&[1], &sam());
            let round = ReceiptRef { index: 1, receipt: proofmark::object::ReceiptId::of(&story.forge.entries[1]) };
            story.say(go(round), &person());
        }),
        case("a retired key used later", &[C::KeyNotAllowed], |story| {
            story.change(|parts| parts.person("tester").keys = retired_and_new());
            story.round(&[1], &person());
            story.round(&[2], &eve());
        }),
        case("a retired key used later and backdated", &[C::KeyNotAllowed, C::TrustReference], |story| {
            let then = story.trust;
            story.change(|parts| parts.person("tester").keys = retired_and_new());
            story.trust = then;
            story.round(&[1], &person());
        }),
        case("a key compromised after it signed", &[C::KeyCompromised], |story| {
            story.change(|parts| {
                parts.person("tester").keys = with_status(Standing::Compromised);
            });
            story.round(&[2], &eve());
        }),
        case("a compromised key used", &[C::KeyCompromised, C::KeyNotAllowed], |story| {
            story.change(|parts| parts.person("tester").keys = with_status(Standing::Compromised));
            story.round(&[1], &person());
        }),
        case("one key listed for two persons", &[C::ReceiptMalformed], |story| {
            let two = |text: String| {
                let (ours, sams) = (person().public().to_openssh(), sam().public().to_openssh());
                text.replace(&sams, &ours)
            };
            let proposal = story.next(|_| {});
            story.propose(&proposal, &ann());
            let entry = story.forge.entries.pop().unwrap();
            story.forge.raw(&altered(&entry, two, &ann()));
        }),
    ]
}

fn with_status(status: Standing) -> Vec<KeyRecord> {
    let old = KeyRecord { key: *person().public(), status };
    vec![old, KeyRecord { key: *eve().public(), status: Standing::Active }]
}

fn retired_and_new() -> Vec<KeyRecord> {
    with_status(Standing::Retired)
}

/// A receipt whose statement was changed and signed again, past everything that the library would refuse.
pub fn altered(entry: &[u8], change: impl FnOnce(String) -> String, signer: &SecretKey) -> Vec<u8> {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let receipt = Receipt::parse(entry).unwrap();
    let payload = change(String::from_utf8(receipt.payload().to_vec()).unwrap());
    let signature = signer.sign(&pre_authentication_encoding(payload.as_bytes())).unwrap();
    let keyid = signer.public().fingerprint().to_string();
    let envelope = serde_json::json!({
        "payload": STANDARD.encode(payload), "payloadType": "application/vnd.in-toto+json",
        "signatures": [{"keyid": keyid, "sig": signature.to_base64()}],
    });
    serde_json::to_vec(&envelope).unwrap()
}

fn eves(parts: &mut Parts) {
    parts.persons.push(listed("Eve", &[&eve()], &Role::ALL));
}

fn versions() -> Vec<Forgery> {
    use Code as C;
    vec![
        case("a skipped trust version", &[C::TrustVersion], |story| {
            let parts = story.next(|parts| parts.version += 1);
            let proposal = story.propose(&parts, &ann());
            let proposal = ReceiptRef { index: proposal.index, ..proposal };
            assert!(story.report().notices.iter().any(|notice| notice.index == Some(proposal.index)));
        }),
        case("a replayed trust version", &[C::TrustVersion], |story| {
            story.change(eves);
            let parts = Parts::first();
            story.propose(&parts, &ann());
            let mut again = Parts::first();
            again.version = 2;
            eves(&mut again);
            story.propose(&again, &bob());
        }),
        case("receipt 0 that does not begin", &[C::TrustVersion], |story| {
            let parts = story.next(|_| {});
            story.forge = Forge::with_trust(parts.statement(), &ann());
        }),
        case("a trust change signed by the new roots only", &[C::SignatureKeyUnknown, C::KeyNotAllowed], |story| {
            let parts = story.next(eves);
            let proposal = story.propose(&parts, &eve());
            let _ = proposal;
        }),
        case("a trust change signed off by the new roots only", &[C::KeyNotAllowed, C::TrustReference], |story| {
            let parts = story.next(eves);
            let proposal = story.propose(&parts, &ann());
            story.say(go(proposal), &eve());
            story.trust = proposal;
            story.round(&[1], &eve());
        }),
        case("two keys of one person posing as two", &[C::TrustReference], |story| {
            let parts = story.next(eves);
            let proposal = story.propose(&parts, &ann());
            story.say(go(proposal), &ann_too());
            story.trust = proposal;
            story.round(&[1], &person());
        }),
        case("trust that was agreed to and taken back", &[C::TrustReference], |story| {
            let parts = story.next(eves);
            let proposal = story.propose(&parts, &ann());
            story.say(signoff(proposal, Decision::NoGo), &ann());
            story.say(go(proposal), &bob());
            story.trust = proposal;
            story.round(&[1], &person());
        }),
    ]
}

fn successions() -> Vec<Forgery> {
    use Code as C;
    let proposed = |what, codes, change: fn(&mut Parts)| {
        case(what, codes, move |story| {
            story.change(|parts| {
                parts.person("Sam").keys[0].status = Standing::Active;
                let retired = KeyRecord { key: *SecretKey::generate([15; 32]).public(), status: Standing::Retired };
                parts.person("Sam").keys.push(retired);
            });
            let parts = story.next(change);
            let proposal = story.propose(&parts, &ann());
            // Whoever acts by it is found too, so nobody does here.
            let _ = proposal;
        })
    };
    vec![
        proposed("a person left out", &[C::TrustPersonDropped, C::TrustKeyDropped], |parts| {
            parts.persons.retain(|person| person.name != "tester");
        }),
        proposed("a key left out", &[C::TrustKeyDropped], |parts| _ = parts.person("Ann").keys.pop()),
        proposed("a key given to another", &[C::TrustKeyMoved], |parts| {
            let moved = parts.person("Ann").keys.pop().unwrap();
            parts.persons.push(Person { name: "New".to_owned(), keys: vec![moved], roles: vec![Role::Signoff] });
        }),
        proposed("a retired key made good again", &[C::TrustStanding], |parts| {
            parts.person("Sam").keys[1].status = Standing::Active;
        }),
        proposed("another log key", &[C::TrustLogChanged], |parts| {
            let key = VerifierKey::new(ORIGIN, *SecretKey::generate([16; 32]).public().raw()).unwrap();
            parts.log.key = key.to_string();
        }),
    ]
}

fn signoffs() -> Vec<Forgery> {
    use Code as C;
    vec![
        case("a sign-off copied from another ledger", &[C::TrustReference, C::ReferenceBroken], |story| {
            let mut other = Story::new();
            other.forge = Forge::with_trust(other.next(|parts| parts.version = 1).statement(), &bob());
            other.trust = other.forge.trust().unwrap();
            let round = other.round(&[], &person());
            while other.forge.entries.len() < story.forge.entries.len() {
                other.round(&[], &person());
            }
            let copied = other.say(go(round), &sam());
            story.forge.raw(&other.forge.entries[copied.index as usize].clone());
        }),
        case("a sign-off on trust copied within the ledger", &[C::ReceiptMisplaced], |story| {
            let parts = story.next(|_| {});
            let proposal = story.propose(&parts, &ann());
            story.say(signoff(proposal, Decision::NoGo), &ann());
            story.say(go(proposal), &bob());
            story.say(signoff(proposal, Decision::NoGo), &bob());
            story.say(go(proposal), &ann());
            let agreed = story.forge.entries[story.forge.entries.len() - 3].clone();
            story.forge.raw(&agreed);
            // Had the copy counted, version 2 would be in force here.
            story.round(&[1], &person());
        }),
        case("a sign-off on trust in force", &[C::TrustSignoffVoid], |story| {
            let proposal = story.change(|_| {});
            story.say(signoff(proposal, Decision::NoGo), &ann());
        }),
        case("a sign-off on trust that is past", &[C::TrustSignoffVoid], |story| {
            let first = story.trust;
            story.change(|_| {});
            story.say(go(first), &bob());
        }),
        case("a sign-off on trust that expires", &[C::TrustSignoffVoid], |story| {
            let parts = story.next(|_| {});
            let target = story.propose(&parts, &ann());
            let expires = Some(moment());
            let body = Signoff { target, decision: Decision::Go, reason: because(), expires, rests_on: Vec::new() };
            story.say(Body::Signoff(body), &bob());
        }),
        case("trust and agreement withdrawn", &[C::TrustWithdrawn], |story| {
            let target = story.change(|_| {});
            story.say(Body::Withdrawal(Withdrawal { target, reason: because() }), &person());
        }),
    ]
}

/// One receipt of a log that cannot be read to its end.
fn unreadable() -> Case {
    let forge = Forge::example();
    let store = forge.write();
    let bundle = name("tile/entries/000.p/6");
    let mut bytes = store.read(&bundle, u64::MAX).unwrap().unwrap();
    let last = bytes.len() - 5;
    bytes[last] ^= 1;
    store.publish(&bundle, &bytes).unwrap();
    let options = Options { only: Some(2), ..REPLAY };
    Case { what: "one receipt of a damaged log", entries: Vec::new(), store, options, codes: &[Code::TrustUnreadable] }
}

#[test]
fn an_honest_chain_is_clean_and_each_receipt_is_judged_by_its_own_trust() {
    let mut story = Story::new();
    story.round(&[], &person());
    story.change(|parts| {
        parts.person("tester").keys = retired_and_new();
        parts.rules.recomputed_only = Some(true);
    });
    story.round(&[1], &eve());
    let parts = story.next(|parts| parts.thresholds.root = 1);
    let waiting = story.propose(&parts, &bob());
    let report = story.report();
    assert!(report.is_clean(), "{:#?}", report.findings);
    for axis in [Axis::Signatures, Axis::TrustThen, Axis::TrustNow, Axis::Policy] {
        assert_eq!(status(&report, axis), Status::Pass, "{axis:?}");
    }
    assert_eq!(report.axis(Axis::TrustNow).unwrap().counts["retiredKeys"], 1);
    assert_eq!(report.axis(Axis::Policy).unwrap().counts["cards"], 1, "the rule came after the first round");
    let [notice] = report.notices.as_slice() else { panic!("{:#?}", report.notices) };
    assert_eq!((notice.code, notice.index), (NoticeCode::TrustNotInForce, Some(waiting.index)));
    assert_eq!(notice.text, "trust version 3 waits: 1 of 2 roots agree (Bob); it was not used");
    for index in 0..story.forge.entries.len() as u64 {
        let one = audit(&story.forge.write(), &Options { only: Some(index), ..REPLAY });
        assert!(one.is_clean(), "{index}: {:#?}", one.findings);
        assert_eq!(status(&one, Axis::TrustThen), Status::Pass, "{index}");
    }
}

#[test]
fn every_forgery_is_found_and_by_its_own_codes_also_receipt_by_receipt() {
    for Case { what, store, options, codes: expected, .. } in cases() {
        let report = audit(&store, &options);
        assert_eq!(codes(&report), expected.iter().copied().collect(), "{what}: {:#?}", report.findings);
        for finding in report.findings.iter().filter(|finding| finding.axis == Axis::TrustThen) {
            let Some(index) = finding.index.filter(|_| options.only.is_none()) else { continue };
            let one = audit(&store, &Options { only: Some(index), ..options });
            assert!(
                codes(&one).contains(&finding.code) || codes(&one).contains(&Code::TrustUnreadable),
                "{what}: {one:#?}"
            );
        }
    }
}

#[test]
fn the_chain_goes_on_after_a_root_key_is_lost_and_says_so() {
    let mut story = Story::new();
    story.change(|parts| parts.persons.push(listed("Eve", &[&eve()], &[Role::Append])));
    story.change(|parts| parts.person("Ann").keys[0].status = Standing::Compromised);
    let report = story.report();
    assert!(report.is_clean(), "{:#?}", report.findings);
    let noticed: Vec<_> = report.notices.iter().map(|notice| (notice.code, notice.index)).collect();
    let expected = [0, 1, 3].map(|index| (NoticeCode::TrustKeyCompromised, Some(index)));
    assert_eq!(noticed, expected);
    story.round(&[], &eve());
    assert!(story.report().is_clean());
}

#[test]
fn keys_that_come_within_a_window_of_bundles_are_known_to_the_next() {
    let mut story = Story::new();
    story.change(|parts| parts.person("tester").keys = retired_and_new());
    for number in 0..300 {
        let (mut body, _) = story.forge.honest(&[]);
        body.basis = proofmark::receipt::Basis::Asserted;
        body.line = format!("line-{number}").parse().unwrap();
        story.say(Body::Scorecard(body), &eve());
    }
    let report = story.report();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.axis(Axis::Signatures).unwrap().counts["good"], 303);
}

/// The ledger of a story on disk, with what is needed to append to it.
struct Desk {
    _folder: tempfile::TempDir,
    ledger: Ledger,
    ratchet: Ratchet,
}

impl Desk {
    fn of(story: &Story) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Directory::new(folder.path().join("ledger"));
        story.forge.write_to(&store, &log());
        let ratchet = Ratchet::new(folder.path().join("seen"));
        Self { ledger: Ledger::open(Box::new(store)).unwrap(), ratchet, _folder: folder }
    }

    fn append(&self, bodies: Vec<Body>, signer: &SecretKey) -> Result<Vec<ReceiptRef>, LedgerError> {
        let log = log();
        let drafts = bodies.into_iter().map(|body| {
            let (subject, recorded_at, tool) = (subject(&self.ledger, &body, "system"), moment(), tool());
            Ok(Draft { subject, evidence: Vec::new(), note: None, recorded_at, tool, body })
        });
        let appended = self.ledger.append(drafts, signer, &LogSigner::new(ORIGIN, &log).unwrap(), &self.ratchet)?;
        Ok(appended.into_iter().map(|one| ReceiptRef { index: one.index, receipt: one.receipt }).collect())
    }

    fn one(&self, body: Body, signer: &SecretKey) -> Result<ReceiptRef, LedgerError> {
        Ok(self.append(vec![body], signer)?[0])
    }

    fn refused(&self, body: Body, signer: &SecretKey) -> String {
        let size = self.ledger.snapshot().unwrap().size();
        let error = self.one(body, signer).unwrap_err();
        assert_eq!(self.ledger.snapshot().unwrap().size(), size);
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    }

    fn trust(&self, index: u64) -> Option<u64> {
        let receipt = self.ledger.snapshot().unwrap().receipt(index).unwrap();
        receipt.statement().predicate.trust.map(|trust| trust.index)
    }
}

fn round_body() -> Body {
    crate::keys::round(0.5).body
}

#[test]
fn what_is_appended_names_the_trust_in_force_and_stays_clean() {
    let story = Story::new();
    let desk = Desk::of(&story);
    desk.one(round_body(), &person()).unwrap();
    let parts = story.next(|parts| parts.person("tester").keys = retired_and_new());
    let proposal = desk.one(Body::Trust(parts.statement()), &ann()).unwrap();
    let waiting = desk.one(round_body(), &person()).unwrap();
    let agreed = desk.one(go(proposal), &bob()).unwrap();
    let next = desk.one(round_body(), &eve()).unwrap();
    let more = desk.append(vec![round_body(), round_body()], &eve()).unwrap();
    let gone = desk.one(go(next), &sam()).unwrap();
    let last = desk.one(round_body(), &eve()).unwrap();
    for (index, trust) in [(waiting.index, 0), (agreed.index, 0), (next.index, 2), (more[1].index, 2), (gone.index, 2)]
    {
        assert_eq!(desk.trust(index), Some(trust), "{index}");
    }
    assert_eq!(desk.trust(last.index), Some(2));
    let report = audit(desk.ledger.store(), &Options::default());
    assert!(report.is_clean() && report.notices.is_empty(), "{:#?}", report.findings);
    let snapshot = desk.ledger.snapshot().unwrap();
    assert!(desk.ledger.checked_receipt(&snapshot, last.index).is_ok());
    assert!(desk.ledger.checked_receipt(&snapshot, 1).is_ok(), "a retired key stays good for the past");
    let chain = desk.ledger.trust_chain(&snapshot).unwrap();
    assert_eq!((chain.now().version(), chain.pending().len()), (2, 0));
}

#[test]
fn what_trust_does_not_allow_is_refused_and_nothing_is_written() {
    let mut story = Story::new();
    let round = story.round(&[], &person());
    story.change(|parts| parts.person("tester").keys = retired_and_new());
    let past = story.forge.trust().unwrap();
    let waiting = story.next(|_| {});
    let waiting = story.propose(&waiting, &ann());
    let desk = Desk::of(&story);
    let (retired, fresh) = (person().public().fingerprint(), eve());
    let refused = |body, signer: &SecretKey, wanted: &str| {
        let text = desk.refused(body, signer);
        assert!(text.contains(wanted), "{wanted}\n{text}");
    };
    let stranger = SecretKey::generate([99; 32]);
    refused(round_body(), &stranger, "may not act as append: trust version 2 lists no such key");
    refused(round_body(), &person(), &format!("key {retired} of tester may not act as append"));
    refused(round_body(), &sam(), "Sam (key");
    refused(go(round), &fresh, "may not act as signoff");
    refused(go(waiting), &sam(), "may not act as root");
    let of = |change: fn(&mut Parts)| Body::Trust(story.next(change).statement());
    refused(of(|_| {}), &fresh, "may not act as root");
    refused(of(|parts| parts.version = 4), &ann(), "has version 4, and 3 is next");
    refused(of(|parts| parts.version = 2), &ann(), "has version 2, and 3 is next");
    refused(of(|parts| _ = parts.person("Ann").keys.pop()), &ann(), "leaves out the key");
    refused(of(|parts| parts.person("tester").keys[0].status = Standing::Active), &ann(), "which is retired");
    refused(go(past), &bob(), "no proposal that waits for sign-off");
    refused(go(story.trust), &bob(), "in force already");
    for target in [story.trust, waiting] {
        refused(Body::Withdrawal(Withdrawal { target, reason: because() }), &ann(), "part of the chain of trust");
    }
    for bodies in [vec![round_body(), go(waiting)], vec![go(waiting), round_body()]] {
        let signer = if matches!(bodies[0], Body::Signoff(_)) { bob() } else { eve() };
        assert!(desk.append(bodies, &signer).is_err());
    }
    desk.one(go(waiting), &bob()).unwrap();
    assert!(audit(desk.ledger.store(), &Options::default()).is_clean());
}

#[test]
fn a_writer_does_not_go_by_a_newest_receipt_that_trust_has_something_against() {
    let forged: [fn(&mut Story); 4] = [
        |story| _ = story.round(&[1], &eve()),
        |story| {
            story.trust = ReceiptRef { index: 1, receipt: proofmark::object::ReceiptId::of(&story.forge.entries[1]) };
            story.round(&[1], &person());
        },
        |story| {
            story.trust = ReceiptRef { index: 0, receipt: proofmark::object::ReceiptId::of(b"other") };
            story.round(&[1], &person());
        },
        |story| {
            let parts = story.next(|parts| parts.persons.push(listed("Eve", &[&eve()], &Role::ALL)));
            story.propose(&parts, &sam());
        },
    ];
    for (number, forge) in forged.into_iter().enumerate() {
        let mut story = Story::new();
        story.change(|parts| parts.rules.max_looks = Some(3));
        forge(&mut story);
        let desk = Desk::of(&story);
        assert!(desk.refused(round_body(), &eve()).contains("trust version 2 lists no such key"), "{number}");
        let next = desk.one(round_body(), &person()).unwrap();
        assert_eq!(desk.trust(next.index), Some(1), "{number}");
    }
}

#[test]
fn a_compromised_key_no_longer_counts_in_a_comparison() {
    let mut story = Story::new();
    let round = story.round(&[], &person());
    story.change(|parts| parts.person("tester").keys = with_status(Standing::Compromised));
    let desk = Desk::of(&story);
    let error = desk.ledger.checked_receipt(&desk.ledger.snapshot().unwrap(), round.index).unwrap_err();
    let LedgerError::NotAllowed { refusal, .. } = error else { panic!("{error}") };
    assert!(refusal.to_string().contains("trust version 2 has it as compromised"), "{refusal}");
}

/// A small generator of decisions that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
}

/// An honest log of random acts, as a ledger would let them be appended: the fold itself says what may come next.
fn random_story(dice: &mut Dice, length: usize) -> Story {
    let mut story = Story::new();
    story.parts.thresholds.root = 1 + dice.below(2) as u32;
    story.forge = Forge::with_trust(story.parts.statement(), &ann());
    story.trust = story.forge.trust().unwrap();
    let mut chain = proofmark::ledger::TrustChain::begin(&Receipt::parse(&story.forge.entries[0]).unwrap()).unwrap();
    while story.forge.entries.len() < length {
        let (statement, in_force) = chain.in_force();
        let roots = [ann(), ann_too(), bob()];
        let signer = &roots[dice.below(3)];
        let waiting = chain.pending();
        let body = match dice.below(5) {
            0 => {
                let mut parts = story.parts.clone();
                parts.version = statement.version() + 1;
                parts.thresholds.root = 1 + dice.below(2) as u32;
                parts.rules.max_looks = Some(1 + dice.below(9) as u32);
                Some((Body::Trust(parts.statement()), signer))
            }
            1 if !waiting.is_empty() => Some((go(waiting[dice.below(waiting.len())].receipt), signer)),
            2 if !waiting.is_empty() => {
                Some((signoff(waiting[dice.below(waiting.len())].receipt, Decision::NoGo), signer))
            }
            _ => None,
        };
        story.trust = in_force;
        match body {
            Some((body, signer)) => _ = story.say(body, signer),
            None => _ = story.round(&[], &person()),
        }
        let newest = Receipt::parse(story.forge.entries.last().unwrap()).unwrap();
        assert_eq!(chain.take(story.forge.entries.len() as u64 - 1, &newest), []);
    }
    story
}

#[test]
fn a_writer_that_reads_the_newest_receipt_agrees_with_one_that_reads_the_log() {
    let mut changes = 0;
    for seed in 0..12 {
        let story = random_story(&mut Dice(seed), 24);
        for size in 1..=story.forge.entries.len() {
            let prefix = Forge { entries: story.forge.entries[..size].to_vec(), ..Forge::empty() };
            let ledger = Ledger::open(Box::new(prefix.write())).unwrap();
            let snapshot = ledger.snapshot().unwrap();
            let (quick, whole) = (ledger.trust_now(&snapshot).unwrap(), ledger.trust_chain(&snapshot).unwrap());
            assert_eq!(quick.in_force(), whole.in_force(), "seed {seed}, size {size}");
            changes += usize::from(size > 1 && whole.in_force_at(size as u64 - 1) != whole.in_force());
        }
        // Rounds beyond the rule maxLooks are no matter of who may do what.
        let found = story.report().findings;
        assert!(found.iter().all(|finding| finding.axis == Axis::Policy), "seed {seed}: {found:#?}");
    }
    assert!(changes > 20, "{changes}");
}

/// Every forged log of [`cases`] and some honest ones, with what must be found: for other implementations of the rules.
fn vectors() -> serde_json::Value {
    let axes = [Axis::Structure, Axis::Signatures, Axis::TrustThen, Axis::TrustNow];
    let mut entries = std::collections::BTreeMap::new();
    let mut told = Vec::new();
    let forged = cases().into_iter().filter(|case| !case.entries.is_empty());
    let mut logs: Vec<_> = forged.map(|case| (case.what.to_owned(), case.entries)).collect();
    for seed in 0..3 {
        logs.push((format!("an honest log, {seed}"), random_story(&mut Dice(100 + seed), 16).forge.entries));
    }
    for (what, log) in logs {
        let forge = Forge { entries: log, ..Forge::empty() };
        let report = audit(&forge.write(), &Options::default());
        let findings = report.findings.iter().filter(|finding| axes.contains(&finding.axis));
        let findings: Vec<_> = findings.map(|finding| serde_json::json!([finding.index, finding.code])).collect();
        let id = |entry: &Vec<u8>| proofmark::object::ReceiptId::of(entry).to_string();
        let ids: Vec<_> = forge.entries.iter().map(id).collect();
        let first = Receipt::parse(&forge.entries[0]).unwrap();
        let mut chain = proofmark::ledger::TrustChain::begin(&first).unwrap();
        for (index, entry) in forge.entries.iter().enumerate() {
            Receipt::parse(entry).iter().for_each(|receipt| _ = chain.take(index as u64, receipt));
            entries.insert(id(entry), String::from_utf8(entry.clone()).unwrap());
        }
        let reigns: Vec<_> = chain.reigns().map(|(from, trust, _)| serde_json::json!([from, trust.index])).collect();
        told.push(serde_json::json!({"what": what, "log": ids, "inForce": reigns, "findings": findings}));
    }
    serde_json::json!({"entries": entries, "logs": told})
}

#[test]
fn the_vectors_for_others_are_what_is_found_here() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/trust/chain.json");
    let vectors = vectors();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{vectors:#}\n")).unwrap();
    }
    let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(kept == vectors, "UPDATE_DOCS=1 cargo test --test it trust");
    let logs = kept["logs"].as_array().unwrap();
    assert!(logs.len() > 25 && logs.iter().any(|log| log["findings"].as_array().unwrap().is_empty()));
}
