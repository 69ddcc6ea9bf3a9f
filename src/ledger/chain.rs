//! The chain of trust: which statement is in force at which index, folded over receipts in the order of the log.
//!
//! A later trust statement is a proposal until enough roots of the statement in force have agreed to it. Everything is
//! judged by index, never by time. `docs/format.md`, section 13, is normative.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::LedgerError;
use super::violation::{SignoffFault, TrustViolation};
use crate::object::ReceiptId;
use crate::receipt::{Body, Decision, Receipt, ReceiptRef, Signoff, Withdrawal};
use crate::trust::{KeyId, PublicKey, Refusal, Role, Standing, Statement};

/// The roles of which one is needed to sign a receipt that says this. `on_trust`: its target is a trust receipt.
pub fn roles_for(body: &Body, on_trust: bool) -> &'static [Role] {
    match body {
        Body::Trust(_) => &[Role::Root],
        Body::Signoff(_) if on_trust => &[Role::Root],
        Body::Signoff(_) | Body::Waiver(_) => &[Role::Signoff],
        Body::Withdrawal(_) => &[Role::Append, Role::Signoff, Role::Root],
        Body::Scorecard(_) | Body::Comparison(_) | Body::Gate(_) | Body::Baseline(_) | Body::Authorization(_) => {
            &[Role::Append]
        }
    }
}

/// A trust statement that waits for roots to agree.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Its receipt.
    pub receipt: ReceiptRef,
    /// What would be in force.
    pub statement: Arc<Statement>,
    /// Who made it.
    pub proposer: String,
    /// The roots who agree, by name.
    pub agreed: BTreeSet<String>,
}

/// A statement and where it is in force.
#[derive(Debug, Clone)]
struct Reign {
    /// The first index that is judged by it.
    from: u64,
    receipt: ReceiptRef,
    statement: Arc<Statement>,
}

/// What a receipt is to the chain, for those that refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Trust,
    Signoff,
}

/// Trust as the receipts so far make it.
#[derive(Debug, Clone)]
pub struct TrustChain {
    reigns: Vec<Reign>,
    in_force: Reign,
    /// At most one for each root.
    open: Vec<Proposal>,
    parts: BTreeMap<u64, (ReceiptId, Part)>,
    keys: Vec<PublicKey>,
    places: BTreeMap<KeyId, usize>,
}

impl TrustChain {
    /// The chain that begins with receipt 0. [`TrustChain::take`] it too, to learn what is wrong with it.
    ///
    /// # Errors
    /// [`LedgerError::NoTrust`] for a receipt that is no trust statement.
    pub fn begin(genesis: &Receipt) -> Result<Self, LedgerError> {
        let Body::Trust(statement) = &genesis.statement().predicate.body else { return Err(LedgerError::NoTrust) };
        Ok(Self::at(ReceiptRef { index: 0, receipt: genesis.id() }, Arc::new(statement.clone())))
    }

    /// The chain as it stands when this statement has come into force, without what was before.
    pub(super) fn at(receipt: ReceiptRef, statement: Arc<Statement>) -> Self {
        let in_force = Reign { from: 0, receipt, statement: Arc::clone(&statement) };
        let mut chain = Self {
            reigns: Vec::new(),
            in_force,
            open: Vec::new(),
            parts: BTreeMap::from([(receipt.index, (receipt.receipt, Part::Trust))]),
            keys: Vec::new(),
            places: BTreeMap::new(),
        };
        chain.learn_keys(&statement);
        chain
    }

    /// The statement that the next receipt is judged by, and its receipt.
    pub fn in_force(&self) -> (&Statement, ReceiptRef) {
        (&self.in_force.statement, self.in_force.receipt)
    }

    /// The statement in force after the last receipt taken: trust now, once all were.
    pub fn now(&self) -> &Statement {
        &self.in_force.statement
    }

    /// The statement that receipt `index` is judged by, and its receipt. Known for every index up to the next one.
    pub fn in_force_at(&self, index: u64) -> (&Statement, ReceiptRef) {
        let later = self.reigns.partition_point(|reign| reign.from <= index);
        let reign = if self.in_force.from <= index { None } else { later.checked_sub(1) };
        let reign = reign.and_then(|place| self.reigns.get(place)).unwrap_or(&self.in_force);
        (&reign.statement, reign.receipt)
    }

    /// Every statement that was or is in force, oldest first: the first index that it judges, its receipt, and itself.
    pub fn reigns(&self) -> impl Iterator<Item = (u64, ReceiptRef, &Statement)> {
        let all = self.reigns.iter().chain([&self.in_force]);
        all.map(|reign| (reign.from, reign.receipt, reign.statement.as_ref()))
    }

    /// The proposals that wait, oldest first. One that nobody agrees to any more waits too.
    pub fn pending(&self) -> &[Proposal] {
        &self.open
    }

    /// The trust receipts among those taken that neither are nor were in force, in the order of the log.
    pub fn not_in_force(&self) -> impl Iterator<Item = ReceiptRef> {
        let trusts = self.parts.iter().filter(|(_, (_, part))| *part == Part::Trust);
        let reigned: BTreeSet<u64> = self.reigns().map(|(_, reign, _)| reign.index).collect();
        let trusts = trusts.map(|(index, (receipt, _))| ReceiptRef { index: *index, receipt: *receipt });
        trusts.filter(move |trust| !reigned.contains(&trust.index))
    }

    /// The roots whose agreement a proposal could still get, by name.
    pub fn asked(&self, proposal: &Proposal) -> Vec<&str> {
        let persons = self.in_force.statement.persons().iter();
        let able = persons.filter(|person| person.can(Role::Root)).map(|person| person.name.as_str());
        able.filter(|name| !proposal.agreed.contains(*name)).collect()
    }

    /// Every key that a statement in force or a good proposal ever listed, in the order in which they came.
    pub fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// The key with this fingerprint, if a statement in force or a good proposal ever listed it.
    pub fn key(&self, id: &KeyId) -> Option<&PublicKey> {
        self.places.get(id).and_then(|place| self.keys.get(*place))
    }

    /// Whether a reference is to a trust receipt among those taken.
    pub fn is_trust(&self, target: ReceiptRef) -> bool {
        self.parts.get(&target.index) == Some(&(target.receipt, Part::Trust))
    }

    /// Whether a receipt at `index` that says this is part of the chain itself: a trust statement, or a sign-off on one
    /// that came before.
    pub fn is_part(&self, index: u64, body: &Body) -> bool {
        matches!(body, Body::Trust(_)) || self.is_on_trust(index, body)
    }

    fn is_on_trust(&self, index: u64, body: &Body) -> bool {
        matches!(body, Body::Signoff(signoff) if signoff.target.index < index && self.is_trust(signoff.target))
    }

    /// What trust says against the next receipt, were it signed with this key, naming this trust receipt, to say this.
    pub fn judge(&self, trust: Option<ReceiptRef>, key: &KeyId, body: &Body) -> Vec<TrustViolation> {
        let mut against = Vec::new();
        let (statement, in_force) = self.in_force();
        against.extend(self.may(key, body).err().map(TrustViolation::NotAllowed));
        if trust != Some(in_force) {
            against.push(TrustViolation::Reference { expected: Some(in_force), found: trust });
        }
        match body {
            Body::Trust(next) => {
                against.extend(next.breaches_after(statement).into_iter().map(TrustViolation::Succession));
            }
            Body::Signoff(signoff) if self.is_trust(signoff.target) => against.extend(self.fault_of(signoff)),
            Body::Withdrawal(Withdrawal { target, .. })
                if self.parts.get(&target.index).is_some_and(|(id, _)| *id == target.receipt) =>
            {
                against.push(TrustViolation::Withdrawn { target: *target });
            }
            _ => {}
        }
        against
    }

    /// The person for whom this key may sign this.
    ///
    /// # Errors
    /// As [`TrustChain::holder`].
    pub fn may(&self, key: &KeyId, body: &Body) -> Result<&str, Refusal> {
        let on_trust = matches!(body, Body::Signoff(signoff) if self.is_trust(signoff.target));
        self.holder(key, roles_for(body, on_trust))
    }

    /// The person for whom this key may act in one of these roles, of which there is at least one.
    ///
    /// # Errors
    /// The refusal for the first of them.
    pub fn holder(&self, key: &KeyId, roles: &[Role]) -> Result<&str, Refusal> {
        holder(&self.in_force.statement, key, roles)
    }

    /// Holds one receipt of those taken, found at `index`, against trust then and now: its place, role, reference,
    /// signature, and that its key is not compromised. What it would change in the chain is not looked at.
    ///
    /// # Errors
    /// [`LedgerError`] saying what is wrong.
    pub fn check(&self, index: u64, receipt: &Receipt) -> Result<(), LedgerError> {
        let predicate = &receipt.statement().predicate;
        if predicate.index != index {
            return Err(LedgerError::Misplaced { index, stated: predicate.index });
        }
        let not_allowed = |refusal| LedgerError::NotAllowed { action: "having appended this receipt", refusal };
        let (then, in_force) = self.in_force_at(index);
        let on_trust = self.is_on_trust(index, &predicate.body);
        holder(then, receipt.key(), roles_for(&predicate.body, on_trust)).map_err(not_allowed)?;
        let expected = (index > 0).then_some(in_force);
        if predicate.trust != expected {
            let violation = TrustViolation::Reference { expected, found: predicate.trust };
            return Err(LedgerError::AgainstTrust(Box::new(violation)));
        }
        if is_compromised(self.now(), receipt.key()) && !self.is_part(index, &predicate.body) {
            let person = self.now().person_of(receipt.key()).map(|person| person.name.clone()).unwrap_or_default();
            let (key, version) = (receipt.key().clone(), self.now().version());
            return Err(not_allowed(Refusal::Compromised { person, key, role: Role::Append, version }));
        }
        let key = self.key(receipt.key()).ok_or(LedgerError::NoTrust)?;
        receipt.verify(key).map_err(|source| LedgerError::Entry { index, source })
    }

    fn fault_of(&self, signoff: &Signoff) -> Option<TrustViolation> {
        let fault = if !self.open.iter().any(|proposal| proposal.receipt == signoff.target) {
            if signoff.target == self.in_force.receipt { SignoffFault::InForce } else { SignoffFault::Void }
        } else if signoff.expires.is_some() {
            SignoffFault::Expires
        } else if !signoff.rests_on.is_empty() {
            SignoffFault::RestsOnMore
        } else {
            return None;
        };
        Some(TrustViolation::Signoff { target: signoff.target, fault })
    }

    /// Takes the next receipt of the log, which stands at `index`, and says what trust has against it. One that trust has
    /// something against, that stands elsewhere than it says, or whose signature is not good, changes nothing.
    pub fn take(&mut self, index: u64, receipt: &Receipt) -> Vec<TrustViolation> {
        let predicate = &receipt.statement().predicate;
        if index == 0 {
            return self.against_genesis(receipt);
        }
        let against = self.judge(predicate.trust, receipt.key(), &predicate.body);
        let part = match &predicate.body {
            Body::Trust(_) => Part::Trust,
            body if self.is_part(index, body) => Part::Signoff,
            _ => return against,
        };
        self.parts.insert(index, (receipt.id(), part));
        let signed = || self.key(receipt.key()).is_some_and(|key| receipt.verify(key).is_ok());
        if against.is_empty() && predicate.index == index && signed() {
            let next = index + 1;
            match &predicate.body {
                Body::Trust(statement) => self.propose(next, receipt, statement),
                Body::Signoff(signoff) => self.agree(next, receipt.key(), signoff),
                _ => {}
            }
        }
        against
    }

    fn against_genesis(&self, genesis: &Receipt) -> Vec<TrustViolation> {
        let statement = &self.in_force.statement;
        let refused = statement.may(genesis.key(), Role::Root).err().map(TrustViolation::GenesisNotRoot);
        let named = genesis.statement().predicate.trust;
        let named = named.map(|found| TrustViolation::Reference { expected: None, found: Some(found) });
        let version = statement.version();
        let version = (version != 1).then_some(TrustViolation::GenesisVersion { found: version });
        refused.into_iter().chain(named).chain(version).collect()
    }

    fn propose(&mut self, next: u64, receipt: &Receipt, statement: &Statement) {
        let Ok(person) = self.in_force.statement.may(receipt.key(), Role::Root) else { return };
        let proposer = person.name.clone();
        // A root's newer proposal takes the place of the older one.
        self.open.retain(|proposal| proposal.proposer != proposer);
        self.learn_keys(statement);
        self.open.push(Proposal {
            receipt: ReceiptRef { index: next - 1, receipt: receipt.id() },
            statement: Arc::new(statement.clone()),
            agreed: BTreeSet::from([proposer.clone()]),
            proposer,
        });
        self.enact(next);
    }

    fn agree(&mut self, next: u64, key: &KeyId, signoff: &Signoff) {
        let Ok(person) = self.in_force.statement.may(key, Role::Root) else { return };
        let name = person.name.clone();
        let Some(proposal) = self.open.iter_mut().find(|proposal| proposal.receipt == signoff.target) else { return };
        match signoff.decision {
            Decision::Go => _ = proposal.agreed.insert(name),
            Decision::NoGo => _ = proposal.agreed.remove(&name),
        }
        self.enact(next);
    }

    /// Puts the proposal in force that enough roots agree to, from `next` on. All others are void then.
    fn enact(&mut self, next: u64) {
        let needed = usize::try_from(self.in_force.statement.needed(Role::Root)).unwrap_or(usize::MAX);
        let Some(place) = self.open.iter().position(|proposal| proposal.agreed.len() >= needed) else { return };
        let Proposal { receipt, statement, .. } = self.open.swap_remove(place);
        self.open.clear();
        let before = std::mem::replace(&mut self.in_force, Reign { from: next, receipt, statement });
        self.reigns.push(before);
    }

    fn learn_keys(&mut self, statement: &Statement) {
        for record in statement.persons().iter().flat_map(|person| &person.keys) {
            let next = self.keys.len();
            if *self.places.entry(record.key.fingerprint()).or_insert(next) == next {
                self.keys.push(record.key);
            }
        }
    }
}

/// The person for whom this key may act in one of these roles under a statement; else the refusal for the first of them.
fn holder<'s>(statement: &'s Statement, key: &KeyId, roles: &[Role]) -> Result<&'s str, Refusal> {
    let allowed = roles.iter().find_map(|role| statement.may(key, *role).ok());
    let first = roles.first().copied().unwrap_or(Role::Root);
    allowed.map_or_else(|| statement.may(key, first), Ok).map(|person| person.name.as_str())
}

/// Whether trust now still counts what a key signed: not if it is compromised.
pub fn is_compromised(now: &Statement, key: &KeyId) -> bool {
    now.record_of(key).is_some_and(|record| record.status == Standing::Compromised)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ReceiptId, Sha256};
    use crate::receipt::{Baseline, Waiver};
    use crate::receipt::{LineName, Moment, Predicate, Statement as Said, Subject, Text, Tool};
    use crate::trust::{Breach, KeyRecord, LogKey, Person, Rules, SecretKey, Signer, Thresholds};

    fn secret(seed: u8) -> SecretKey {
        SecretKey::generate([seed; 32])
    }

    fn id(seed: u8) -> KeyId {
        secret(seed).public().fingerprint()
    }

    fn person(name: &str, seeds: &[u8], roles: &[Role]) -> Person {
        let record = |seed: &u8| KeyRecord { key: *secret(*seed).public(), status: Standing::Active };
        Person { name: name.to_owned(), keys: seeds.iter().map(record).collect(), roles: roles.to_vec() }
    }

    /// Ann (keys 1 and 2) and Bob (3) are roots, CI (4) appends, Sam (5) signs off; `root` roots have to agree.
    fn persons() -> Vec<Person> {
        vec![
            person("Ann", &[1, 2], &[Role::Root]),
            person("Bob", &[3], &[Role::Root]),
            person("CI", &[4], &[Role::Append]),
            person("Sam", &[5], &[Role::Signoff]),
        ]
    }

    fn statement(version: u64, root: u32, persons: Vec<Person>) -> Statement {
        let log = LogKey { origin: "log".to_owned(), key: "log+0a1b2c3d+AQID".to_owned() };
        let thresholds = Thresholds { root, signoff: 1, witness: None };
        Statement::new(version, log, persons, thresholds, Rules::default()).unwrap()
    }

    /// A log and its chain, each receipt naming the trust in force unless said otherwise.
    struct Told {
        chain: TrustChain,
        next: u64,
        genesis: Receipt,
    }

    fn receipt(index: u64, trust: Option<ReceiptRef>, body: Body, seed: u8) -> Receipt {
        let subject = vec![Subject::new("it".parse().unwrap(), Sha256::of(b""))];
        let tool = Tool { name: "t".to_owned(), version: "0".to_owned() };
        let recorded_at = Moment::from_unix(0).unwrap();
        let predicate = Predicate { index, recorded_at, tool, trust, evidence: Vec::new(), note: None, body };
        Receipt::sign(Said { subject, predicate }, &secret(seed)).unwrap()
    }

    impl Told {
        fn new(root: u32) -> Self {
            let genesis = receipt(0, None, Body::Trust(statement(1, root, persons())), 1);
            let mut chain = TrustChain::begin(&genesis).unwrap();
            assert_eq!(chain.take(0, &genesis), []);
            Self { chain, next: 1, genesis }
        }

        fn put(&mut self, receipt: &Receipt) -> (ReceiptRef, Vec<TrustViolation>) {
            let reference = ReceiptRef { index: self.next, receipt: receipt.id() };
            self.next += 1;
            (reference, self.chain.take(reference.index, receipt))
        }

        fn tell(&mut self, seed: u8, body: Body) -> (ReceiptRef, Vec<TrustViolation>) {
            let trust = Some(self.chain.in_force().1);
            self.put(&receipt(self.next, trust, body, seed))
        }

        fn good(&mut self, seed: u8, body: Body) -> ReceiptRef {
            let (reference, against) = self.tell(seed, body);
            assert_eq!(against, []);
            reference
        }

        fn version(&self) -> u64 {
            self.chain.now().version()
        }
    }

    fn text() -> Text {
        "because".parse().unwrap()
    }

    fn signoff(target: ReceiptRef, decision: Decision) -> Body {
        Body::Signoff(Signoff { target, decision, reason: text(), expires: None, rests_on: Vec::new() })
    }

    fn go(target: ReceiptRef) -> Body {
        signoff(target, Decision::Go)
    }

    fn proposal(version: u64, root: u32) -> Body {
        let mut persons = persons();
        persons.push(person("New", &[6], &[Role::Append]));
        Body::Trust(statement(version, root, persons))
    }

    fn baseline(target: ReceiptRef) -> Body {
        Body::Baseline(Baseline { line: LineName::main(), target })
    }

    #[test]
    fn one_root_is_enough_where_the_threshold_says_so() {
        let mut told = Told::new(1);
        let made = told.good(3, proposal(2, 1));
        assert_eq!((told.version(), told.chain.in_force().1), (2, made));
        assert!(told.chain.pending().is_empty());
        told.good(6, baseline(made));
        assert_eq!(told.chain.in_force_at(1).0.version(), 1);
        assert_eq!(told.chain.in_force_at(2).0.version(), 2);
        assert_eq!(told.chain.in_force_at(99).0.version(), 2);
        assert_eq!(told.chain.reigns().map(|(from, ..)| from).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn two_roots_have_to_agree_and_two_keys_of_one_are_one() {
        let mut told = Told::new(2);
        let made = told.good(1, proposal(2, 2));
        told.good(2, go(made));
        assert_eq!((told.version(), told.chain.asked(&told.chain.pending()[0])), (1, vec!["Bob"]));
        told.good(3, go(made));
        assert_eq!(told.version(), 2);
        assert!(matches!(
            told.tell(3, go(made)).1.as_slice(),
            [TrustViolation::Signoff { fault: SignoffFault::InForce, .. }]
        ));
    }

    #[test]
    fn a_no_go_takes_agreement_back() {
        let mut told = Told::new(2);
        let made = told.good(1, proposal(2, 2));
        told.good(1, signoff(made, Decision::NoGo));
        told.good(3, go(made));
        assert_eq!((told.version(), told.chain.asked(&told.chain.pending()[0])), (1, vec!["Ann"]));
        told.good(2, go(made));
        assert_eq!(told.version(), 2);
    }

    #[test]
    fn a_root_has_one_proposal_and_the_first_to_be_agreed_to_ends_the_others() {
        let mut told = Told::new(2);
        let first = told.good(1, proposal(2, 2));
        let second = told.good(1, proposal(2, 1));
        let other = told.good(3, proposal(2, 2));
        assert_eq!(told.chain.pending().iter().map(|one| one.receipt).collect::<Vec<_>>(), [second, other]);
        let void =
            |against: &[TrustViolation]| matches!(against, [TrustViolation::Signoff { fault: SignoffFault::Void, .. }]);
        assert!(void(&told.tell(3, go(first)).1));
        told.good(1, go(other));
        assert_eq!(told.chain.in_force().1, other);
        assert!(void(&told.tell(1, go(second)).1));
    }

    #[test]
    fn a_proposal_must_follow_by_a_root_and_in_its_place() {
        let mut told = Told::new(1);
        for version in [1, 3] {
            let (_, against) = told.tell(1, proposal(version, 1));
            assert_eq!(against, [TrustViolation::Succession(Breach::Version { expected: 2, found: version })]);
        }
        for seed in [4, 5, 6] {
            assert!(matches!(told.tell(seed, proposal(2, 1)).1.as_slice(), [TrustViolation::NotAllowed(_)]), "{seed}");
        }
        // Elsewhere than it says, or with a signature that is not good, it changes nothing.
        let in_force = told.chain.in_force().1;
        let trust = Some(in_force);
        let moved = receipt(77, trust, proposal(2, 1), 1);
        assert_eq!(told.put(&moved).1, []);
        let honest = receipt(told.next, trust, proposal(2, 1), 1);
        let other = receipt(told.next, trust, baseline(in_force), 1);
        let sig = |receipt: &Receipt| {
            let text = String::from_utf8(receipt.bytes().to_vec()).unwrap();
            text[text.rfind("\"sig\":").unwrap()..].to_owned()
        };
        let forged = String::from_utf8(honest.bytes().to_vec()).unwrap().replace(&sig(&honest), &sig(&other));
        assert_eq!(told.put(&Receipt::parse(forged.as_bytes()).unwrap()).1, []);
        assert_eq!((told.version(), told.chain.pending().len()), (1, 0));
        // One that was made under other trust is of another ledger.
        let strange = Some(ReceiptRef { index: 0, receipt: ReceiptId::of(b"other") });
        let copied = receipt(told.next, strange, proposal(2, 1), 1);
        assert!(matches!(told.put(&copied).1.as_slice(), [TrustViolation::Reference { .. }]));
        assert_eq!(told.version(), 1);
    }

    #[test]
    fn new_roots_cannot_agree_to_themselves() {
        let mut told = Told::new(2);
        let mut people = persons();
        people.push(person("Eve", &[7], &[Role::Root]));
        let made = told.good(1, Body::Trust(statement(2, 1, people)));
        assert!(matches!(told.tell(7, go(made)).1.as_slice(), [TrustViolation::NotAllowed(_)]));
        assert_eq!(told.version(), 1);
        assert!(told.chain.key(&id(7)).is_some(), "and its signature can be checked all the same");
    }

    #[test]
    fn agreement_rests_on_nothing_and_does_not_expire() {
        let mut told = Told::new(2);
        let made = told.good(1, proposal(2, 2));
        let genesis = ReceiptRef { index: 0, receipt: told.genesis.id() };
        let mut odd = Vec::new();
        for (expires, rests_on) in [(Moment::from_unix(1), Vec::new()), (None, vec![genesis])] {
            let body = Signoff { target: made, decision: Decision::Go, reason: text(), expires, rests_on };
            odd.extend(told.tell(3, Body::Signoff(body)).1);
        }
        let faults: Vec<_> = odd.iter().map(|one| matches!(one, TrustViolation::Signoff { .. })).collect();
        assert_eq!((faults, told.version()), (vec![true, true], 1));
        let agreed = told.good(3, go(made));
        for target in [made, agreed] {
            let (_, against) = told.tell(4, Body::Withdrawal(Withdrawal { target, reason: text() }));
            assert_eq!(against, [TrustViolation::Withdrawn { target }]);
            assert!(!against[0].remedy().is_empty());
        }
        assert_eq!(told.version(), 2);
    }

    #[test]
    fn each_kind_asks_for_its_role() {
        let mut told = Told::new(1);
        let round = told.good(4, baseline(ReceiptRef { index: 0, receipt: told.genesis.id() }));
        let waiver = Waiver {
            target: round,
            check: "looks-exceeded".parse().unwrap(),
            reason: text(),
            expires: Moment::from_unix(1).unwrap(),
        };
        let withdrawal = Withdrawal { target: round, reason: text() };
        let trust = ReceiptRef { index: 0, receipt: told.genesis.id() };
        for (body, able) in [
            (baseline(round), vec![4]),
            (go(round), vec![5]),
            (go(trust), vec![]),
            (Body::Waiver(waiver), vec![5]),
            (Body::Withdrawal(withdrawal), vec![1, 2, 3, 4, 5]),
            (proposal(2, 1), vec![1, 2, 3]),
        ] {
            let judged = |seed: &u8| told.chain.judge(Some(trust), &id(*seed), &body).is_empty();
            assert_eq!((1..=6).filter(judged).collect::<Vec<_>>(), able, "{body:?}");
        }
    }

    #[test]
    fn a_retired_key_is_judged_by_index() {
        let mut told = Told::new(1);
        let trust = told.chain.in_force().1;
        let mut people = persons();
        people[2].keys[0].status = Standing::Retired;
        let made = told.good(1, Body::Trust(statement(2, 1, people)));
        let backdated = receipt(told.next, Some(trust), baseline(made), 4);
        let against = told.put(&backdated).1;
        assert!(matches!(
            against.as_slice(),
            [TrustViolation::NotAllowed(Refusal::Retired { .. }), TrustViolation::Reference { .. }]
        ));
        assert!(told.chain.check(2, &backdated).is_err());
        assert!(told.chain.check(0, &told.genesis).is_ok());
    }
}
