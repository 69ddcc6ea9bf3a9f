//! The trust statement: persons, their keys and roles, thresholds, rules and the log's own key.
//!
//! It is the body of a `trust` receipt. The type holds only statements that keep every rule below; reading one that does
//! not is refused. Which statement is in force at which receipt is the ledger's affair.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::{KeyId, PublicKey, Refusal, TrustError};
use crate::object::MAX_SAFE_INTEGER;

const MOST_NAME: usize = 64;
const MOST_ORIGIN: usize = 255;

/// What a person may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Agree to a new trust statement.
    Root,
    /// Append receipts.
    Append,
    /// Sign off, GO or NO-GO.
    Signoff,
    /// Cosign checkpoints.
    Witness,
}

impl Role {
    /// Every role, in the order in which a person lists them.
    pub const ALL: [Self; 4] = [Self::Root, Self::Append, Self::Signoff, Self::Witness];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Root => "root",
            Self::Append => "append",
            Self::Signoff => "signoff",
            Self::Witness => "witness",
        })
    }
}

/// What a key is good for; from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Good.
    Active,
    /// No longer used; what it signed while active stays good.
    Retired,
    /// In wrong hands; what it signed is no longer good.
    Compromised,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Active => "active",
            Self::Retired => "retired",
            Self::Compromised => "compromised",
        })
    }
}

/// A person's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRecord {
    /// The key.
    pub key: PublicKey,
    /// What it is good for.
    pub status: Standing,
}

/// A person, which may be a machine that acts for one, such as a CI runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// 1 to 64 printable characters, no space at either end; unique in the statement.
    pub name: String,
    /// At least one key; no key is listed twice in the statement.
    pub keys: Vec<KeyRecord>,
    /// In the order of [`Role::ALL`], each once; empty for a person who left.
    pub roles: Vec<Role>,
}

impl Person {
    /// Whether the person holds the role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether the person holds the role and an active key to use it with.
    pub fn can(&self, role: Role) -> bool {
        self.has(role) && self.keys.iter().any(|record| record.status == Standing::Active)
    }
}

/// The log's own key, never one of a person's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogKey {
    /// The origin line of the checkpoints (C2SP tlog-checkpoint): no spaces, no `+`.
    pub origin: String,
    /// The verifier key (C2SP signed-note): `name+<8 hex>+<base64>`.
    pub key: String,
}

/// How many persons, not keys, have to agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Roots that sign off a new trust statement, at least 1.
    pub root: u32,
    /// Persons that sign off a receipt, at least 1.
    pub signoff: u32,
    /// Witnesses that cosign a checkpoint, at least 1; absent: none is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<u32>,
}

/// Rules that a ledger sets for itself. An absent one is not in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rules {
    /// `false`: the person who appended a verdict cannot be its only sign-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appender_may_be_only_signoff: Option<bool>,
    /// `true`: only scorecards that were recomputed from evidence count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recomputed_only: Option<bool>,
    /// Days after which a sign-off no longer counts, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signoff_max_age_days: Option<u32>,
    /// Looks that may be taken at one held-out set, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_looks: Option<u32>,
    /// `false`: a round whose question set is known by names only, and not by its content, does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_only_identity: Option<bool>,
}

impl Rules {
    /// The names of all rules, as they are written.
    pub const NAMES: [&str; 5] =
        ["appenderMayBeOnlySignoff", "recomputedOnly", "signoffMaxAgeDays", "maxLooks", "namesOnlyIdentity"];

    /// Every rule in the order of [`Rules::NAMES`], with its value as it is written; `None` where it is not in force.
    pub fn all(&self) -> Vec<(&'static str, Option<String>)> {
        let Self {
            appender_may_be_only_signoff,
            recomputed_only,
            signoff_max_age_days,
            max_looks,
            names_only_identity,
        } = self;
        let values = [
            appender_may_be_only_signoff.map(|value| value.to_string()),
            recomputed_only.map(|value| value.to_string()),
            signoff_max_age_days.map(|value| value.to_string()),
            max_looks.map(|value| value.to_string()),
            names_only_identity.map(|value| value.to_string()),
        ];
        Self::NAMES.into_iter().zip(values).collect()
    }
}

/// A trust statement that keeps every rule of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Statement {
    version: u64,
    log: LogKey,
    persons: Vec<Person>,
    thresholds: Thresholds,
    rules: Rules,
    /// Where each key is: the index of the person and that of the key.
    #[serde(skip)]
    places: BTreeMap<KeyId, (usize, usize)>,
}

/// A statement as written, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    version: u64,
    log: LogKey,
    persons: Vec<Person>,
    thresholds: Thresholds,
    rules: Rules,
}

impl TryFrom<Parts> for Statement {
    type Error = TrustError;

    fn try_from(parts: Parts) -> Result<Self, TrustError> {
        Self::new(parts.version, parts.log, parts.persons, parts.thresholds, parts.rules)
    }
}

impl Statement {
    /// A statement of these parts. `version` counts from 1.
    ///
    /// # Errors
    /// [`TrustError::Statement`] naming the member that breaks a rule: those of each member's documentation, and that a
    /// threshold is at least 1 and at most the number of persons who hold the role and an active key.
    pub fn new(
        version: u64,
        log: LogKey,
        persons: Vec<Person>,
        thresholds: Thresholds,
        rules: Rules,
    ) -> Result<Self, TrustError> {
        if version == 0 || i128::from(version) > MAX_SAFE_INTEGER {
            return Err(fault("version", "counts 1, 2, … up to 2^53 - 1"));
        }
        let places = placed(&persons)?;
        check_log(&log, &persons)?;
        check_thresholds(&thresholds, &persons)?;
        for (name, value) in [("signoffMaxAgeDays", rules.signoff_max_age_days), ("maxLooks", rules.max_looks)] {
            if value == Some(0) {
                return Err(fault(&format!("rules.{name}"), "is at least 1; leave it out for no limit"));
            }
        }
        Ok(Self { version, log, persons, thresholds, rules, places })
    }

    /// The first statement of a ledger: one person with one key holds every role, every threshold is 1, no witness and no
    /// rule is asked for.
    ///
    /// # Errors
    /// [`TrustError::Statement`] for a name or a log key that breaks a rule.
    pub fn first(person: &str, key: PublicKey, log: LogKey) -> Result<Self, TrustError> {
        let keys = vec![KeyRecord { key, status: Standing::Active }];
        let person = Person { name: person.to_owned(), keys, roles: Role::ALL.to_vec() };
        Self::new(1, log, vec![person], Thresholds { root: 1, signoff: 1, witness: None }, Rules::default())
    }

    /// 1 for the first statement of a ledger, then 2, …
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The log's own key.
    pub fn log(&self) -> &LogKey {
        &self.log
    }

    /// The persons in the order written, at least one.
    pub fn persons(&self) -> &[Person] {
        &self.persons
    }

    /// How many persons have to agree.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// The rules that the ledger set for itself.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whose key this is, whatever its standing.
    pub fn person_of(&self, key: &KeyId) -> Option<&Person> {
        self.places.get(key).map(|&(person, _)| &self.persons[person])
    }

    /// The key and its standing.
    pub fn record_of(&self, key: &KeyId) -> Option<&KeyRecord> {
        self.places.get(key).map(|&(person, place)| &self.persons[person].keys[place])
    }

    /// The person for whom this key may act in this role.
    ///
    /// # Errors
    /// The [`Refusal`]: unknown key, compromised, retired, or a person without the role, in this order.
    pub fn may(&self, key: &KeyId, role: Role) -> Result<&Person, Refusal> {
        let version = self.version;
        let (Some(person), Some(record)) = (self.person_of(key), self.record_of(key)) else {
            return Err(Refusal::UnknownKey { key: key.clone(), role, version, holders: self.holders(role) });
        };
        if record.status == Standing::Active && person.has(role) {
            return Ok(person);
        }
        let (person, key) = (person.name.clone(), key.clone());
        Err(match record.status {
            Standing::Compromised => Refusal::Compromised { person, key, role, version },
            Standing::Retired => Refusal::Retired { person, key, role, version },
            Standing::Active => Refusal::LacksRole { person, key, role, version, holders: self.holders(role) },
        })
    }

    /// How many persons have to act in this role: 1 for appending, 0 for witnesses where none is asked for.
    pub fn needed(&self, role: Role) -> u32 {
        match role {
            Role::Root => self.thresholds.root,
            Role::Append => 1,
            Role::Signoff => self.thresholds.signoff,
            Role::Witness => self.thresholds.witness.unwrap_or(0),
        }
    }

    /// The persons, in the statement's order, for whom these keys may act in this role, if they reach its threshold. Keys
    /// that may not act do not count, and a person counts once.
    ///
    /// # Errors
    /// [`Refusal::BelowThreshold`].
    pub fn quorum<'a>(&self, role: Role, keys: impl IntoIterator<Item = &'a KeyId>) -> Result<Vec<&Person>, Refusal> {
        let names: BTreeSet<&str> =
            keys.into_iter().filter_map(|key| self.may(key, role).ok()).map(|person| person.name.as_str()).collect();
        let (persons, others): (Vec<_>, Vec<_>) =
            self.persons.iter().partition(|person| names.contains(person.name.as_str()));
        let needed = self.needed(role);
        if u32::try_from(persons.len()).unwrap_or(u32::MAX) >= needed {
            return Ok(persons);
        }
        let persons = persons.into_iter().map(|person| person.name.clone()).collect();
        let missing = others.into_iter().filter(|person| person.can(role)).map(|person| person.name.clone()).collect();
        Err(Refusal::BelowThreshold { role, version: self.version, needed, persons, missing })
    }

    fn holders(&self, role: Role) -> Vec<String> {
        self.persons.iter().filter(|person| person.can(role)).map(|person| person.name.clone()).collect()
    }
}

fn fault(field: &str, reason: &str) -> TrustError {
    TrustError::Statement { field: field.to_owned(), reason: reason.to_owned() }
}

/// Checks the persons and finds the place of every key.
fn placed(persons: &[Person]) -> Result<BTreeMap<KeyId, (usize, usize)>, TrustError> {
    if persons.is_empty() {
        return Err(fault("persons", "lists at least one person"));
    }
    let mut names = BTreeSet::new();
    let mut places = BTreeMap::new();
    for (index, person) in persons.iter().enumerate() {
        let field = |member: &str| format!("persons[{index}].{member}");
        check_name(&field("name"), &person.name)?;
        if !names.insert(person.name.as_str()) {
            return Err(fault(&field("name"), "is the name of another person too"));
        }
        if person.keys.is_empty() {
            return Err(fault(&field("keys"), "lists at least one key"));
        }
        if !person.roles.is_sorted_by(|one, next| one < next) {
            return Err(fault(&field("roles"), "lists each role once, in the order root, append, signoff, witness"));
        }
        for (place, record) in person.keys.iter().enumerate() {
            if places.insert(record.key.fingerprint(), (index, place)).is_some() {
                return Err(fault(
                    &field(&format!("keys[{place}]")),
                    "is listed before: a key belongs to one person, once",
                ));
            }
        }
    }
    Ok(places)
}

/// How fingerprints of keys begin. A person of such a name would speak for a key that is not theirs.
const FINGERPRINT: &str = "SHA256:";

fn check_name(field: &str, name: &str) -> Result<(), TrustError> {
    let length = name.chars().count();
    if length == 0 || length > MOST_NAME {
        return Err(fault(field, "has 1 to 64 characters"));
    }
    if name.starts_with(' ') || name.ends_with(' ') {
        return Err(fault(field, "begins and ends with something else than a space"));
    }
    if name.trim().get(..FINGERPRINT.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(FINGERPRINT)) {
        return Err(fault(field, "begins with something else than `SHA256:`, by which keys of nobody are named"));
    }
    if !name.chars().all(is_printable) {
        return Err(fault(
            field,
            "has printable characters only: no control, no invisible, no space but the plain one",
        ));
    }
    Ok(())
}

/// Neither a control character, nor one that shows nothing or turns the text around, nor a space but U+0020.
fn is_printable(character: char) -> bool {
    let invisible = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    character == ' ' || !(invisible || character.is_control() || character.is_whitespace())
}

fn check_log(log: &LogKey, persons: &[Person]) -> Result<(), TrustError> {
    if !is_key_name(&log.origin) {
        return Err(fault("log.origin", "has 1 to 255 characters, none of them a space, a control character or `+`"));
    }
    let Some(body) = vkey_body(&log.key) else {
        return Err(fault("log.key", "is a C2SP verifier key: name, `+`, 8 lower-case hex digits, `+`, base64"));
    };
    let is_persons = |record: &KeyRecord| body.ends_with(record.key.raw());
    if persons.iter().flat_map(|person| &person.keys).any(is_persons) {
        return Err(fault("log.key", "is also the key of a person: the log has its own"));
    }
    Ok(())
}

/// C2SP signed-note: a key name is not empty and has neither a space nor a plus sign.
fn is_key_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MOST_ORIGIN
        && !name.chars().any(|character| character == '+' || !is_printable(character) || character == ' ')
}

/// The decoded third part of a verifier key: an algorithm byte and the key. It may contain `+` itself.
fn vkey_body(key: &str) -> Option<Vec<u8>> {
    let mut parts = key.splitn(3, '+');
    let (name, hash, body) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = hash.len() == 8 && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let body = STANDARD.decode(body).ok()?;
    (is_key_name(name) && is_hex && body.len() > 1).then_some(body)
}

fn check_thresholds(thresholds: &Thresholds, persons: &[Person]) -> Result<(), TrustError> {
    let wanted = [
        (Role::Root, Some(thresholds.root)),
        (Role::Signoff, Some(thresholds.signoff)),
        (Role::Witness, thresholds.witness),
    ];
    for (role, needed) in wanted {
        let Some(needed) = needed else { continue };
        let able = persons.iter().filter(|person| person.can(role)).count();
        let field = format!("thresholds.{role}");
        if needed == 0 {
            return Err(fault(&field, "is at least 1"));
        }
        if usize::try_from(needed).unwrap_or(usize::MAX) > able {
            let reason = format!("asks for {needed} persons; {able} hold the role {role} and an active key");
            return Err(TrustError::Statement { field, reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{encode, parse_canonical};
    use crate::trust::{SecretKey, Signer};

    fn key(seed: u8) -> PublicKey {
        *SecretKey::generate([seed; 32]).public()
    }

    fn id(seed: u8) -> KeyId {
        key(seed).fingerprint()
    }

    fn log_of(key: &PublicKey) -> LogKey {
        let body = STANDARD.encode([&[1u8][..], key.raw()].concat());
        LogKey { origin: "example.org/evals".to_owned(), key: format!("example.org/evals+0a1b2c3d+{body}") }
    }

    fn person(name: &str, keys: &[(u8, Standing)], roles: &[Role]) -> Person {
        let keys = keys.iter().map(|&(seed, status)| KeyRecord { key: key(seed), status }).collect();
        Person { name: name.to_owned(), keys, roles: roles.to_vec() }
    }

    fn persons() -> Vec<Person> {
        use Standing::{Active, Compromised, Retired};
        vec![
            person("Ann", &[(1, Active), (2, Retired), (3, Compromised), (4, Active)], &[Role::Root, Role::Signoff]),
            person("Bob", &[(5, Active)], &[Role::Root, Role::Append, Role::Signoff]),
            person("CI", &[(6, Active)], &[Role::Append]),
            person("Gone", &[(7, Retired)], &[Role::Root, Role::Signoff, Role::Witness]),
        ]
    }

    const TWO: Thresholds = Thresholds { root: 2, signoff: 2, witness: None };

    fn statement() -> Statement {
        Statement::new(2, log_of(&key(99)), persons(), TWO, Rules::default()).unwrap()
    }

    fn refused(result: Result<Statement, TrustError>) -> String {
        match result {
            Err(TrustError::Statement { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_statement_reads_back_byte_for_byte() {
        let first = Statement::first("Ann", key(1), log_of(&key(99))).unwrap();
        let bytes = encode(&first).unwrap();
        assert_eq!(parse_canonical::<Statement>(&bytes).unwrap(), first);
        let text = String::from_utf8(bytes).unwrap();
        let wanted = format!(
            r#"{{"log":{{"key":"{}","origin":"example.org/evals"}},"persons":[{{"keys":[{{"key":"{}","status":"active"}}],"name":"Ann","roles":["root","append","signoff","witness"]}}],"rules":{{}},"thresholds":{{"root":1,"signoff":1}},"version":1}}"#,
            log_of(&key(99)).key,
            key(1).to_openssh(),
        );
        assert_eq!(text, wanted);
        for role in Role::ALL {
            assert_eq!(first.may(&id(1), role).unwrap().name, "Ann");
        }
    }

    #[test]
    fn every_rule_is_written_in_camel_case_and_reads_back() {
        let rules = Rules {
            appender_may_be_only_signoff: Some(false),
            recomputed_only: Some(true),
            signoff_max_age_days: Some(90),
            max_looks: Some(3),
            names_only_identity: Some(false),
        };
        let thresholds = Thresholds { witness: Some(1), ..TWO };
        let mut all = persons();
        all[2].roles.push(Role::Witness);
        let statement = Statement::new(3, log_of(&key(99)), all, thresholds, rules).unwrap();
        let bytes = encode(&statement).unwrap();
        assert_eq!(parse_canonical::<Statement>(&bytes).unwrap(), statement);
        let text = String::from_utf8(bytes).unwrap();
        for member in [
            r#""appenderMayBeOnlySignoff":false"#,
            r#""recomputedOnly":true"#,
            r#""signoffMaxAgeDays":90"#,
            r#""maxLooks":3"#,
            r#""namesOnlyIdentity":false"#,
            r#""witness":1"#,
        ] {
            assert!(text.contains(member), "{text}");
        }
    }

    #[test]
    fn unknown_members_and_loose_spellings_are_refused() {
        let text = String::from_utf8(encode(&statement()).unwrap()).unwrap();
        serde_json::from_str::<Statement>(&text).unwrap();
        for (from, to) in [
            ("\"version\":2", "\"version\":2,\"extra\":1"),
            ("\"version\":2", "\"version\":2.0"),
            ("\"rules\":{}", "\"rules\":{\"lenient\":true}"),
            ("\"rules\":{}", "\"rules\":{\"maxLooks\":0}"),
            ("\"rules\":{},", ""),
            ("\"status\":\"retired\"", "\"status\":\"Retired\""),
            ("\"name\":\"CI\"", "\"name\":\"CI\",\"email\":\"\""),
            ("[\"root\",\"signoff\"]", "[\"signoff\",\"root\"]"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            assert!(serde_json::from_str::<Statement>(&changed).is_err(), "{to}");
        }
    }

    #[test]
    fn a_statement_that_breaks_a_rule_is_refused_naming_the_member() {
        let log = log_of(&key(99));
        let with = |change: &dyn Fn(&mut Vec<Person>)| {
            let mut all = persons();
            change(&mut all);
            refused(Statement::new(2, log.clone(), all, TWO, Rules::default()))
        };
        assert_eq!(with(&|all| all.clear()), "persons");
        assert_eq!(with(&|all| all[1].name = "Ann".to_owned()), "persons[1].name");
        assert_eq!(with(&|all| all[3].keys.clear()), "persons[3].keys");
        assert_eq!(with(&|all| all[1].keys = all[0].keys.clone()), "persons[1].keys[0]");
        assert_eq!(with(&|all| all[0].keys[1] = all[0].keys[0].clone()), "persons[0].keys[1]");
        assert_eq!(with(&|all| all[0].roles.reverse()), "persons[0].roles");
        assert_eq!(with(&|all| all[0].roles = vec![Role::Root, Role::Root]), "persons[0].roles");
        assert_eq!(with(&|all| all[1].roles = vec![Role::Signoff]), "thresholds.root");
        for name in [
            "",
            " Ann",
            "Ann ",
            "A\nnn",
            "A\u{200b}nn",
            "\u{202e}nnA",
            "A\u{a0}nn",
            "SHA256:x",
            "sha256:x",
            &"x".repeat(65),
        ] {
            assert_eq!(with(&|all| all[2].name = name.to_owned()), "persons[2].name", "{name:?}");
        }
        for version in [0, 1 << 53] {
            let statement = Statement::new(version, log.clone(), persons(), TWO, Rules::default());
            assert_eq!(refused(statement), "version");
        }
    }

    #[test]
    fn thresholds_are_within_the_persons_who_can_reach_them() {
        // Four persons are listed as root or signoff, but Gone has no active key.
        for (thresholds, field) in [
            (Thresholds { root: 0, ..TWO }, "thresholds.root"),
            (Thresholds { root: 3, ..TWO }, "thresholds.root"),
            (Thresholds { signoff: 0, ..TWO }, "thresholds.signoff"),
            (Thresholds { signoff: 3, ..TWO }, "thresholds.signoff"),
            (Thresholds { witness: Some(0), ..TWO }, "thresholds.witness"),
            (Thresholds { witness: Some(1), ..TWO }, "thresholds.witness"),
        ] {
            assert_eq!(refused(Statement::new(2, log_of(&key(99)), persons(), thresholds, Rules::default())), field);
        }
        for (rules, field) in [
            (Rules { max_looks: Some(0), ..Rules::default() }, "rules.maxLooks"),
            (Rules { signoff_max_age_days: Some(0), ..Rules::default() }, "rules.signoffMaxAgeDays"),
        ] {
            assert_eq!(refused(Statement::new(2, log_of(&key(99)), persons(), TWO, rules)), field);
        }
    }

    #[test]
    fn the_log_key_is_a_verifier_key_of_its_own() {
        let of = |log: LogKey| refused(Statement::first("Ann", key(1), log));
        assert_eq!(of(log_of(&key(1))), "log.key");
        for text in [
            "",
            "name",
            "name+0a1b2c3d",
            "name+0A1B2C3D+AeA=",
            "name+0a1b2c3+AeA=",
            "na me+0a1b2c3d+AeA=",
            "name+0a1b2c3d+*",
            "+0a1b2c3d+AeA=",
        ] {
            assert_eq!(of(LogKey { key: text.to_owned(), ..log_of(&key(99)) }), "log.key", "{text}");
        }
        for origin in ["", "a b", "a+b", "a\n"] {
            assert_eq!(of(LogKey { origin: origin.to_owned(), ..log_of(&key(99)) }), "log.origin", "{origin:?}");
        }
        // From the Tessera test log; its base64 has a `+` of its own.
        let key_text = "example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx".to_owned();
        Statement::first("Ann", key(1), LogKey { origin: "example.com/log/testdata".to_owned(), key: key_text })
            .unwrap();
    }

    #[test]
    fn a_refusal_says_who_which_rule_and_what_would_satisfy_it() {
        let statement = statement();
        assert_eq!(statement.may(&id(1), Role::Root).unwrap().name, "Ann");
        assert_eq!(statement.person_of(&id(3)).unwrap().name, "Ann");
        assert_eq!(statement.record_of(&id(3)).unwrap().status, Standing::Compromised);
        let refusal = |seed, role| statement.may(&id(seed), role).unwrap_err();
        let unknown = refusal(50, Role::Append);
        assert!(matches!(&unknown, Refusal::UnknownKey { holders, .. } if holders == &["Bob", "CI"]), "{unknown:?}");
        assert!(matches!(refusal(2, Role::Root), Refusal::Retired { person, .. } if person == "Ann"));
        assert!(matches!(refusal(3, Role::Root), Refusal::Compromised { person, .. } if person == "Ann"));
        assert!(matches!(refusal(6, Role::Root), Refusal::LacksRole { person, .. } if person == "CI"));
        assert_eq!(
            refusal(6, Role::Signoff).to_string(),
            format!("CI (key {}) may not act as signoff: trust version 2 does not give them that role", id(6))
        );
        assert_eq!(
            refusal(6, Role::Signoff).remedy(),
            "Ann, Bob can do it, or a new trust version can give the role signoff"
        );
    }

    #[test]
    fn thresholds_count_persons_not_keys() {
        let statement = statement();
        let quorum = |seeds: &[u8]| {
            let ids: Vec<KeyId> = seeds.iter().map(|&seed| id(seed)).collect();
            statement
                .quorum(Role::Root, &ids)
                .map(|found| found.iter().map(|person| person.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(quorum(&[5, 4, 1]).unwrap(), ["Ann", "Bob"]);
        for keys in [&[1, 4][..], &[1, 2, 3, 6, 7, 50], &[]] {
            let refusal = quorum(keys).unwrap_err();
            assert!(matches!(&refusal, Refusal::BelowThreshold { needed: 2, .. }), "{refusal:?}");
        }
        let refusal = quorum(&[1, 4]).unwrap_err();
        assert_eq!(refusal.to_string(), "1 of 2 persons needed as root by trust version 2");
        assert_eq!(refusal.remedy(), "1 more of: Bob");
        assert!(statement.quorum(Role::Witness, []).unwrap().is_empty());
    }
}
