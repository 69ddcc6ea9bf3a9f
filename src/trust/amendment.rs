//! Making the next trust statement out of the one in force, a change at a time, and saying what changed.

use super::{KeyId, KeyRecord, Person, PublicKey, Role, Rules, Standing, Statement, Thresholds, TrustError};

/// The parts of the next statement while they are changed. What only the whole must keep is checked by
/// [`Amendment::state`].
#[derive(Debug, Clone)]
pub struct Amendment<'a> {
    previous: &'a Statement,
    persons: Vec<Person>,
    /// How many persons have to agree.
    pub thresholds: Thresholds,
    /// The rules.
    pub rules: Rules,
}

impl<'a> Amendment<'a> {
    /// What is in force, nothing changed yet.
    pub fn of(previous: &'a Statement) -> Self {
        let (persons, thresholds, rules) = (previous.persons().to_vec(), *previous.thresholds(), *previous.rules());
        Self { previous, persons, thresholds, rules }
    }

    /// Whether anything changed.
    pub fn is_empty(&self) -> bool {
        self.persons == self.previous.persons()
            && self.thresholds == *self.previous.thresholds()
            && self.rules == *self.previous.rules()
    }

    /// Lists a person, or more keys of one, and gives the person more roles.
    ///
    /// # Errors
    /// [`TrustError::KeyOfAnother`], [`TrustError::KeyPast`] for a key that was given up, [`TrustError::KeyMissing`].
    pub fn add(&mut self, name: &str, keys: &[PublicKey], roles: &[Role]) -> Result<(), TrustError> {
        let fresh = keys.iter().map(|key| self.is_fresh(name, key).map(|fresh| fresh.then_some(*key)));
        let fresh: Vec<_> = fresh.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let place = match self.persons.iter().position(|person| person.name == name) {
            Some(place) => place,
            None if fresh.is_empty() => return Err(TrustError::KeyMissing { name: name.to_owned() }),
            None => {
                self.persons.push(Person { name: name.to_owned(), keys: Vec::new(), roles: Vec::new() });
                self.persons.len() - 1
            }
        };
        if let Some(person) = self.persons.get_mut(place) {
            let known = |keys: &[KeyRecord], key: &PublicKey| keys.iter().any(|record| record.key == *key);
            for key in fresh {
                if !known(&person.keys, &key) {
                    person.keys.push(KeyRecord { key, status: Standing::Active });
                }
            }
            grant(person, roles);
        }
        Ok(())
    }

    /// Whether this key can be a new one of this person; not if it is listed already as good.
    fn is_fresh(&self, name: &str, key: &PublicKey) -> Result<bool, TrustError> {
        let found = self.persons.iter().find_map(|person| {
            let record = person.keys.iter().find(|record| record.key == *key)?;
            Some((person.name.clone(), record.status))
        });
        let id = key.fingerprint();
        match found {
            None => Ok(true),
            Some((owner, _)) if owner != name => Err(TrustError::KeyOfAnother { key: id, owner }),
            Some((_, Standing::Active)) => Ok(false),
            Some((person, status)) => Err(TrustError::KeyPast { key: id, person, status }),
        }
    }

    /// Makes a key no better than this: retired or compromised. One that is as bad already stays as it is.
    ///
    /// # Errors
    /// [`TrustError::NoSuchKey`].
    pub fn lower(&mut self, key: &KeyId, status: Standing) -> Result<(), TrustError> {
        let mut records = self.persons.iter_mut().flat_map(|person| &mut person.keys);
        let record = records.find(|record| record.key.fingerprint() == *key);
        let version = self.previous.version();
        let record = record.ok_or_else(|| TrustError::NoSuchKey { key: key.clone(), version })?;
        record.status = record.status.max(status);
        Ok(())
    }

    /// Retires every active key of a person.
    ///
    /// # Errors
    /// [`TrustError::NoSuchPerson`].
    pub fn retire(&mut self, name: &str) -> Result<(), TrustError> {
        for record in &mut self.person(name)?.keys {
            record.status = record.status.max(Standing::Retired);
        }
        Ok(())
    }

    /// Gives a person roles and takes others.
    ///
    /// # Errors
    /// [`TrustError::NoSuchPerson`].
    pub fn roles(&mut self, name: &str, granted: &[Role], revoked: &[Role]) -> Result<(), TrustError> {
        let person = self.person(name)?;
        person.roles.retain(|role| !revoked.contains(role));
        grant(person, granted);
        Ok(())
    }

    fn person(&mut self, name: &str) -> Result<&mut Person, TrustError> {
        let known = self.previous.persons().iter().map(|person| person.name.clone()).collect();
        let version = self.previous.version();
        let found = self.persons.iter_mut().find(|person| person.name == name);
        found.ok_or_else(|| TrustError::NoSuchPerson { name: name.to_owned(), version, known })
    }

    /// The next statement.
    ///
    /// # Errors
    /// As [`Statement::new`].
    pub fn state(self) -> Result<Statement, TrustError> {
        let Self { previous, persons, thresholds, rules } = self;
        Statement::new(previous.version() + 1, previous.log().clone(), persons, thresholds, rules)
    }
}

fn grant(person: &mut Person, roles: &[Role]) {
    person.roles = Role::ALL.into_iter().filter(|role| person.has(*role) || roles.contains(role)).collect();
}

impl Statement {
    /// What is different from `previous`, in words, one change each.
    pub fn changes_from(&self, previous: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for person in self.persons() {
            let before = previous.persons().iter().find(|other| other.name == person.name);
            changes.extend(changes_of(person, before));
        }
        let gone =
            previous.persons().iter().filter(|person| self.persons().iter().all(|other| other.name != person.name));
        changes.extend(gone.map(|person| format!("leaves out {}", person.name)));
        let (was, is) = (previous.thresholds(), self.thresholds());
        let mut differ = |what: &str, was: Option<String>, is: Option<String>| {
            if was != is {
                let text = |value: Option<String>| value.unwrap_or_else(|| "off".to_owned());
                changes.push(format!("{what}: {} becomes {}", text(was), text(is)));
            }
        };
        let number = |value: u32| Some(value.to_string());
        differ("threshold root", number(was.root), number(is.root));
        differ("threshold signoff", number(was.signoff), number(is.signoff));
        differ("threshold witness", was.witness.and_then(number), is.witness.and_then(number));
        for (rule, is) in self.rules().all() {
            let was = previous.rules().all().into_iter().find(|(other, _)| *other == rule).and_then(|(_, was)| was);
            differ(&format!("rule {rule}"), was, is);
        }
        if self.log() != previous.log() {
            changes.push("names another log key".to_owned());
        }
        changes
    }
}

fn changes_of(person: &Person, before: Option<&Person>) -> Vec<String> {
    let name = &person.name;
    let (keys, roles): (&[KeyRecord], &[Role]) = before.map_or((&[], &[]), |before| (&before.keys, &before.roles));
    let mut changes = Vec::new();
    if before.is_none() {
        changes.push(format!("adds the person {name}"));
    }
    for record in &person.keys {
        let id = record.key.fingerprint();
        match keys.iter().find(|other| other.key == record.key).map(|other| other.status) {
            None => changes.push(format!("adds the {} key {id} of {name}", record.status)),
            Some(was) if was != record.status => {
                changes.push(format!("makes the {was} key {id} of {name} {}", record.status));
            }
            Some(_) => {}
        }
    }
    let gone = keys.iter().filter(|other| person.keys.iter().all(|record| record.key != other.key));
    changes.extend(gone.map(|record| format!("leaves out the key {} of {name}", record.key.fingerprint())));
    for role in Role::ALL {
        match (roles.contains(&role), person.has(role)) {
            (false, true) => changes.push(format!("gives {name} the role {role}")),
            (true, false) => changes.push(format!("takes the role {role} from {name}")),
            _ => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::{LogKey, SecretKey, Signer};

    fn key(seed: u8) -> PublicKey {
        *SecretKey::generate([seed; 32]).public()
    }

    fn first() -> Statement {
        let log = LogKey { origin: "log".to_owned(), key: "log+0a1b2c3d+AQID".to_owned() };
        Statement::first("Ann", key(1), log).unwrap()
    }

    #[test]
    fn a_change_makes_the_next_version_and_is_told() {
        let first = first();
        let mut amendment = Amendment::of(&first);
        assert!(amendment.is_empty());
        amendment.add("Ann", &[key(1)], &[Role::Root]).unwrap();
        assert!(amendment.is_empty(), "what is there already changes nothing");
        amendment.add("Bob", &[key(2), key(2)], &[Role::Signoff, Role::Root]).unwrap();
        amendment.roles("Ann", &[], &[Role::Witness]).unwrap();
        amendment.thresholds.root = 2;
        amendment.rules.max_looks = Some(3);
        let second = amendment.state().unwrap();
        assert_eq!((second.version(), second.breaches_after(&first)), (2, Vec::new()));
        assert_eq!(second.persons()[1].roles, [Role::Root, Role::Signoff]);
        let id = key(2).fingerprint();
        let told = [
            "takes the role witness from Ann".to_owned(),
            "adds the person Bob".to_owned(),
            format!("adds the active key {id} of Bob"),
            "gives Bob the role root".to_owned(),
            "gives Bob the role signoff".to_owned(),
            "threshold root: 1 becomes 2".to_owned(),
            "rule maxLooks: off becomes 3".to_owned(),
        ];
        assert_eq!(second.changes_from(&first), told);
        assert_eq!(second.changes_from(&second), [] as [String; 0]);
        let back = first.changes_from(&second);
        assert!(back.contains(&"leaves out Bob".to_owned()), "{back:?}");
    }

    #[test]
    fn keys_get_worse_and_never_better_or_another_persons() {
        let first = first();
        let mut amendment = Amendment::of(&first);
        amendment.add("Ann", &[key(2)], &[]).unwrap();
        amendment.lower(&key(1).fingerprint(), Standing::Compromised).unwrap();
        amendment.lower(&key(1).fingerprint(), Standing::Retired).unwrap();
        assert!(matches!(
            amendment.add("Ann", &[key(1)], &[]),
            Err(TrustError::KeyPast { status: Standing::Compromised, .. })
        ));
        assert!(matches!(amendment.add("Bob", &[key(2)], &[]), Err(TrustError::KeyOfAnother { .. })));
        assert!(matches!(amendment.add("Bob", &[], &[]), Err(TrustError::KeyMissing { .. })));
        assert!(matches!(amendment.retire("Bob"), Err(TrustError::NoSuchPerson { .. })));
        let unknown = amendment.lower(&key(9).fingerprint(), Standing::Retired);
        assert!(matches!(unknown, Err(TrustError::NoSuchKey { .. })));
        let told = amendment.clone().state().unwrap().changes_from(&first);
        assert_eq!(told[0], format!("makes the active key {} of Ann compromised", key(1).fingerprint()));
        amendment.retire("Ann").unwrap();
        assert!(matches!(amendment.state(), Err(TrustError::Statement { .. })), "nobody is left to be root");
    }
}
