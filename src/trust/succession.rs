//! What a trust statement must keep of the one that it follows.
//!
//! Receipts of years ago are judged by what is listed now, so nobody and no key is ever left out, a key stays with its
//! person, and its standing only gets worse. `docs/format.md`, section 13, is normative.

use super::{KeyId, Standing, Statement};

/// One rule of succession that a statement breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// Versions count 1, 2, 3, … without a gap.
    #[error("the statement has version {found}, and {expected} is next")]
    Version {
        /// The version in force and one.
        expected: u64,
        /// What it says.
        found: u64,
    },
    /// The log's name and key stay.
    #[error("the statement names the log {found_origin} with the key {found_key}, and it is {origin} with {key}")]
    LogChanged {
        /// The log's name.
        origin: String,
        /// The log's key.
        key: String,
        /// The name that the statement gives it.
        found_origin: String,
        /// The key that the statement gives it.
        found_key: String,
    },
    /// Every person stays, if only without roles.
    #[error("the statement leaves out {person}")]
    PersonDropped {
        /// The person.
        person: String,
    },
    /// Every key stays, if only as retired.
    #[error("the statement leaves out the key {key} of {person}")]
    KeyDropped {
        /// Whose key it is.
        person: String,
        /// The key.
        key: KeyId,
    },
    /// A key stays with its person.
    #[error("the statement gives the key {key} of {from} to {to}")]
    KeyMoved {
        /// The key.
        key: KeyId,
        /// Whose key it is.
        from: String,
        /// Whose key the statement makes it.
        to: String,
    },
    /// A key's standing only gets worse.
    #[error("the statement makes the key {key} of {person} {to}, which is {from}")]
    StandingRaised {
        /// Whose key it is.
        person: String,
        /// The key.
        key: KeyId,
        /// Its standing.
        from: Standing,
        /// What the statement makes of it.
        to: Standing,
    },
}

impl Breach {
    /// What would satisfy the rule.
    pub fn remedy(&self) -> String {
        match self {
            Self::Version { expected, .. } => format!("state version {expected}, on top of the trust in force"),
            Self::LogChanged { origin, key, .. } => format!("state the log {origin} with the key {key}"),
            Self::PersonDropped { person } => format!("list {person} again, without roles if nothing is left to do"),
            Self::KeyDropped { person, key } => {
                format!("list the key {key} under {person} again, as retired if it is no longer used")
            }
            Self::KeyMoved { key, from, .. } => format!("list the key {key} under {from}, and make a new key"),
            Self::StandingRaised { person, key, from, .. } => {
                format!("list the key {key} of {person} as {from} or worse, and make a new key")
            }
        }
    }
}

impl Statement {
    /// Every rule that this statement breaks as the one that follows `previous`; none where it may follow. One of another
    /// version follows something else, and is held against no other rule.
    pub fn breaches_after(&self, previous: &Self) -> Vec<Breach> {
        let (expected, found) = (previous.version() + 1, self.version());
        if found != expected {
            return vec![Breach::Version { expected, found }];
        }
        let mut breaches = Vec::new();
        if self.log() != previous.log() {
            let (is, found) = (previous.log().clone(), self.log().clone());
            let (origin, key, found_origin, found_key) = (is.origin, is.key, found.origin, found.key);
            breaches.push(Breach::LogChanged { origin, key, found_origin, found_key });
        }
        for person in previous.persons() {
            if !self.persons().iter().any(|other| other.name == person.name) {
                breaches.push(Breach::PersonDropped { person: person.name.clone() });
            }
            for record in &person.keys {
                breaches.extend(self.breach_of_key(&person.name, &record.key.fingerprint(), record.status));
            }
        }
        breaches
    }

    fn breach_of_key(&self, person: &str, key: &KeyId, from: Standing) -> Option<Breach> {
        let (person, key) = (person.to_owned(), key.clone());
        let (Some(owner), Some(record)) = (self.person_of(&key), self.record_of(&key)) else {
            return Some(Breach::KeyDropped { person, key });
        };
        if owner.name != person {
            return Some(Breach::KeyMoved { key, from: person, to: owner.name.clone() });
        }
        let to = record.status;
        (to < from).then_some(Breach::StandingRaised { person, key, from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::{KeyRecord, LogKey, Person, Role, Rules, SecretKey, Signer, Thresholds};

    fn record(seed: u8, status: Standing) -> KeyRecord {
        KeyRecord { key: *SecretKey::generate([seed; 32]).public(), status }
    }

    fn person(name: &str, keys: &[(u8, Standing)], roles: &[Role]) -> Person {
        let keys = keys.iter().map(|&(seed, status)| record(seed, status)).collect();
        Person { name: name.to_owned(), keys, roles: roles.to_vec() }
    }

    fn statement(version: u64, origin: &str, persons: Vec<Person>) -> Statement {
        let log = LogKey { origin: origin.to_owned(), key: format!("{origin}+0a1b2c3d+AQID") };
        let thresholds = Thresholds { root: 1, signoff: 1, witness: None };
        Statement::new(version, log, persons, thresholds, Rules::default()).unwrap()
    }

    const ALL: &[Role] = &Role::ALL;

    fn first() -> Statement {
        use Standing::{Active, Compromised, Retired};
        let ann = person("Ann", &[(1, Active), (2, Retired), (3, Compromised)], ALL);
        statement(1, "log", vec![ann, person("Bob", &[(4, Active)], &[Role::Append])])
    }

    fn after(version: u64, persons: Vec<Person>) -> Vec<Breach> {
        statement(version, "log", persons).breaches_after(&first())
    }

    #[test]
    fn standings_get_worse_persons_leave_and_newcomers_come() {
        use Standing::{Active, Compromised, Retired};
        let ann = person("Ann", &[(1, Retired), (2, Compromised), (3, Compromised), (5, Active)], ALL);
        let persons = vec![person("New", &[(6, Active)], &[]), person("Bob", &[(4, Compromised)], &[]), ann];
        assert_eq!(after(2, persons), []);
    }

    #[test]
    fn each_rule_is_held_apart() {
        use Standing::{Active, Compromised, Retired};
        let whole = [(1, Active), (2, Retired), (3, Compromised)];
        let (ann, bob) = (person("Ann", &whole, ALL), person("Bob", &[(4, Active)], &[Role::Append]));
        let key = |seed| record(seed, Active).key.fingerprint();
        for version in [1, 3] {
            let found = after(version, vec![ann.clone(), bob.clone()]);
            assert_eq!(found, [Breach::Version { expected: 2, found: version }]);
        }
        let dropped = after(2, vec![ann.clone()]);
        let bobs = || "Bob".to_owned();
        assert_eq!(
            dropped,
            [Breach::PersonDropped { person: bobs() }, Breach::KeyDropped { person: bobs(), key: key(4) }]
        );
        let replaced = after(2, vec![ann.clone(), person("Bob", &[(5, Active)], &[])]);
        assert_eq!(replaced, [Breach::KeyDropped { person: bobs(), key: key(4) }]);
        let renamed = after(2, vec![ann, person("Rob", &[(4, Active)], &[])]);
        let moved = Breach::KeyMoved { key: key(4), from: bobs(), to: "Rob".to_owned() };
        assert_eq!(renamed, [Breach::PersonDropped { person: bobs() }, moved]);
        for (seed, from, to) in [(2, Retired, Active), (3, Compromised, Retired), (3, Compromised, Active)] {
            let keys = whole.map(|(other, status)| (other, if other == seed { to } else { status }));
            let found = after(2, vec![person("Ann", &keys, ALL), bob.clone()]);
            let person = "Ann".to_owned();
            assert_eq!(found, [Breach::StandingRaised { person, key: key(seed), from, to }]);
            assert!(!found[0].remedy().is_empty() && !found[0].to_string().is_empty());
        }
        let elsewhere = statement(2, "elsewhere", first().persons().to_vec()).breaches_after(&first());
        assert!(matches!(elsewhere.as_slice(), [Breach::LogChanged { .. }]), "{elsewhere:?}");
    }
}
