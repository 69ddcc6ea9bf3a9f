//! What forbids a comparison, as exactly as what is held allows: which questions, which scorer, which counts.

use std::fmt;

use serde::Serialize;

use super::Round;
use crate::scorecard::Fact;

/// A list names at most this many questions and counts the rest.
pub const LISTED: usize = 20;

/// Some names out of a list, and how long the list is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NameList {
    /// How many there are.
    pub total: u64,
    /// The first of them, at most [`LISTED`], in the order given.
    pub names: Vec<String>,
}

impl NameList {
    /// The head of `names`.
    pub fn of(names: &[String]) -> Self {
        Self { total: names.len() as u64, names: names.iter().take(LISTED).cloned().collect() }
    }
}

impl fmt::Display for NameList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.names.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { ", " }, OneLine(name))?;
        }
        match self.total - self.names.len() as u64 {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Foreign text inside a sentence: at most 80 characters, and none that breaks the line, moves a cursor or turns the
/// direction of writing.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 80;
        for character in self.0.chars().take(LONGEST) {
            let turns = matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if turns || character.is_control() {
                write!(f, "{}", character.escape_unicode())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        if self.0.chars().nth(LONGEST).is_some() { f.write_str("…") } else { Ok(()) }
    }
}

/// One round, the other, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sides {
    /// The base round.
    Base,
    /// The current round.
    Current,
    /// Both rounds.
    Both,
}

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Base => "base",
            Self::Current => "current",
            Self::Both => "both",
        })
    }
}

/// How two held question sets differ, by name (a question's id, or `#k` for the k-th).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionChanges {
    /// Only in the current set.
    pub added: Vec<String>,
    /// Only in the base set.
    pub removed: Vec<String>,
    /// In both under one name, with another query or expected answer.
    pub changed: Vec<String>,
    /// In both with the same content, in another place relative to the others.
    pub moved: Vec<String>,
}

/// Which question sets are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Questions {
    /// Both, so what differs is known.
    Held(QuestionChanges),
    /// Those of these rounds are not held, so it is not.
    NotHeld(Sides),
}

/// What is not known of one round or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UnknownFact {
    /// What.
    pub field: Fact,
    /// Of which rounds.
    pub side: Sides,
    /// Whether the rounds are compared all the same.
    pub allowed: bool,
}

impl UnknownFact {
    /// Whether it forbids comparing. A cost that neither round knows is compared with nothing, so it forbids nothing.
    pub fn forbids(self) -> bool {
        !(self.allowed || self.field == Fact::Cost && self.side == Sides::Both)
    }
}

impl fmt::Display for UnknownFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = match self.side {
            Sides::Both => "both rounds",
            Sides::Base => "the base round",
            Sides::Current => "the current round",
        };
        write!(f, "unknown in {rounds}: {} ({})", self.field.meaning(), self.field)
    }
}

/// One thing that differs between two rounds. Its `Display` is a one-line sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Difference {
    /// These cards name no question set.
    IdentityUnbound {
        /// Which.
        side: Sides,
    },
    /// The identities were computed by different schemes, so they would differ for the same questions.
    IdentityScheme {
        /// Of the base round.
        base: String,
        /// Of the current round.
        current: String,
    },
    /// Different case counts.
    CaseCount {
        /// Of the base round.
        base: u64,
        /// Of the current round.
        current: u64,
    },
    /// Different scorers.
    ScorerName {
        /// Of the base round.
        base: String,
        /// Of the current round.
        current: String,
    },
    /// The same scorer in different versions.
    ScorerVersion {
        /// Of the base round.
        base: String,
        /// Of the current round.
        current: String,
    },
    /// The same scorer and version with different parameters.
    ScorerParameters {
        /// Of the base round.
        base: String,
        /// Of the current round.
        current: String,
    },
    /// Questions only the current round has.
    QuestionsAdded(NameList),
    /// Questions only the base round has.
    QuestionsRemoved(NameList),
    /// Questions that changed in content under the same name.
    QuestionsChanged(NameList),
    /// Questions that changed places.
    QuestionsMoved(NameList),
    /// The identities differ; which questions do cannot be said without both sets.
    QuestionsNotHeld {
        /// Whose are missing.
        side: Sides,
    },
    /// What another tool was told differs: its scorer, its settings.
    Condition {
        /// Which.
        field: String,
        /// In the base round.
        base: String,
        /// In the current round.
        current: String,
    },
    /// What one round or both leave unknown cannot be compared.
    Unknown(UnknownFact),
    /// The identities differ though nothing held does: sealed with other salts, or not computed from what is held.
    IdentityOnly {
        /// Of the base round.
        base: String,
        /// Of the current round.
        current: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdentityUnbound { side: Sides::Both } => f.write_str("neither scorecard names a question set"),
            Self::IdentityUnbound { side } => write!(f, "the {side} scorecard names no question set"),
            Self::IdentityScheme { base, current } => write!(f, "identity scheme differs: {base} != {current}"),
            Self::CaseCount { base, current } => write!(f, "case count differs: {base} != {current}"),
            Self::ScorerName { base, current } => unlike(f, "scorer differs", base, current),
            Self::ScorerVersion { base, current } => unlike(f, "scorer version differs", base, current),
            Self::ScorerParameters { base, current } => unlike(f, "scorer parameters differ", base, current),
            Self::QuestionsAdded(list) => sentence(f, list, "added"),
            Self::QuestionsRemoved(list) => sentence(f, list, "removed"),
            Self::QuestionsChanged(list) => sentence(f, list, "changed"),
            Self::QuestionsMoved(list) => sentence(f, list, "moved"),
            Self::QuestionsNotHeld { side: Sides::Both } => {
                f.write_str("question sets are not held, so which questions differ, if any, cannot be said")
            }
            Self::QuestionsNotHeld { side } => {
                write!(f, "the {side} question set is not held, so which questions differ, if any, cannot be said")
            }
            Self::Condition { field, base, current } => unlike(f, &format!("{field} differs"), base, current),
            Self::Unknown(fact) => fact.fmt(f),
            Self::IdentityOnly { base, current } => {
                unlike(f, "identities differ though no question or scorer held does", base, current)
            }
        }
    }
}

fn unlike(f: &mut fmt::Formatter<'_>, what: &str, base: &str, current: &str) -> fmt::Result {
    write!(f, "{what}: {} != {}", OneLine(base), OneLine(current))
}

fn sentence(f: &mut fmt::Formatter<'_>, list: &NameList, what: &str) -> fmt::Result {
    let noun = if list.total == 1 { "question" } else { "questions" };
    write!(f, "{} {noun} {what}: {list}", list.total)
}

/// What differs between two rounds that cannot be compared, in a fixed order; never empty for such rounds.
pub(super) fn between(base: &Round, current: &Round, questions: &Questions) -> Vec<Difference> {
    let (old, new) = (base.scorecard.question_set_id(), current.scorecard.question_set_id());
    let mut found = Vec::new();
    found.extend(unbound(old, new));
    if found.is_empty() && scheme(old) != scheme(new) {
        found.push(Difference::IdentityScheme { base: scheme(old).to_owned(), current: scheme(new).to_owned() });
    }
    let (base_n, current_n) = (base.scorecard.n(), current.scorecard.n());
    if base_n != current_n {
        found.push(Difference::CaseCount { base: base_n, current: current_n });
    }
    if let (Some(old), Some(new)) = (&base.scorer, &current.scorer) {
        found.extend(scorers(old, new));
    }
    if old != new {
        found.extend(question_differences(questions));
    }
    if found.is_empty() {
        found.push(Difference::IdentityOnly { base: old.to_owned(), current: new.to_owned() });
    }
    found
}

fn unbound(base: &str, current: &str) -> Option<Difference> {
    let side = match (base.is_empty(), current.is_empty()) {
        (true, true) => Sides::Both,
        (true, false) => Sides::Base,
        (false, true) => Sides::Current,
        (false, false) => return None,
    };
    Some(Difference::IdentityUnbound { side })
}

/// The scheme an identity shows by its form (`docs/format.md`).
fn scheme(id: &str) -> &'static str {
    let hex = |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match id.strip_prefix("pm1:") {
        Some(digest) if hex(digest) => "pm1",
        None if hex(id) => "mixle",
        _ => "unknown",
    }
}

fn scorers(base: &str, current: &str) -> Option<Difference> {
    if base == current {
        return None;
    }
    let ((name, version), (new_name, new_version)) = (scorer_parts(base), scorer_parts(current));
    let (base, current) = (base.to_owned(), current.to_owned());
    Some(if name != new_name {
        Difference::ScorerName { base, current }
    } else if version != new_version {
        Difference::ScorerVersion { base, current }
    } else {
        Difference::ScorerParameters { base, current }
    })
}

/// `name/version?parameters` as name and version; a name may hold slashes itself, as in `command/mine/3`.
fn scorer_parts(identity: &str) -> (&str, &str) {
    let plain = identity.split_once('?').map_or(identity, |(plain, _)| plain);
    plain.rsplit_once('/').unwrap_or((plain, ""))
}

fn question_differences(questions: &Questions) -> Vec<Difference> {
    let changes = match questions {
        Questions::NotHeld(side) => return vec![Difference::QuestionsNotHeld { side: *side }],
        Questions::Held(changes) => changes,
    };
    [
        listed(&changes.added, Difference::QuestionsAdded),
        listed(&changes.removed, Difference::QuestionsRemoved),
        listed(&changes.changed, Difference::QuestionsChanged),
        listed(&changes.moved, Difference::QuestionsMoved),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn listed(names: &[String], kind: fn(NameList) -> Difference) -> Option<Difference> {
    (!names.is_empty()).then(|| kind(NameList::of(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|number| format!("q{number:02}")).collect()
    }

    #[test]
    fn lists_are_cut_and_counted() {
        assert_eq!(Difference::QuestionsChanged(NameList::of(&names(1))).to_string(), "1 question changed: q01");
        assert_eq!(Difference::QuestionsAdded(NameList::of(&names(3))).to_string(), "3 questions added: q01, q02, q03");
        let many = NameList::of(&names(23));
        assert_eq!((many.total, many.names.len()), (23, LISTED));
        assert!(Difference::QuestionsMoved(many).to_string().ends_with("q19, q20 and 3 more"));
    }

    #[test]
    fn hostile_names_stay_on_one_short_line() {
        let names = ["q1\n\u{1b}[2J\u{202e}".to_owned(), "é".repeat(500)];
        let said = Difference::QuestionsAdded(NameList::of(&names)).to_string();
        assert_eq!(said, format!("2 questions added: q1\\u{{a}}\\u{{1b}}[2J\\u{{202e}}, {}…", "é".repeat(80)));
    }

    #[test]
    fn scorers_differ_by_name_version_or_parameters() {
        let said = |base, current| scorers(base, current).map(|difference| difference.to_string());
        assert_eq!(said("exact/v1", "exact/v1"), None);
        assert_eq!(
            said("substring/v1", "substring/v2").unwrap(),
            "scorer version differs: substring/v1 != substring/v2"
        );
        assert_eq!(said("exact/v1", "substring/v1").unwrap(), "scorer differs: exact/v1 != substring/v1");
        assert_eq!(
            said("numeric/v1?abs=0.001&rel=0", "numeric/v1?abs=0.01&rel=0").unwrap(),
            "scorer parameters differ: numeric/v1?abs=0.001&rel=0 != numeric/v1?abs=0.01&rel=0"
        );
        assert!(said("command/mine/1?blake3=aa", "command/yours/1?blake3=aa").unwrap().starts_with("scorer differs"));
        assert!(said("command/mine/1", "command/mine/2").unwrap().starts_with("scorer version differs"));
        assert!(said("a.b.judge", "a.b.other").unwrap().starts_with("scorer differs"));
    }

    #[test]
    fn a_scheme_shows_by_its_form() {
        let hex = "ab".repeat(32);
        assert_eq!(scheme(&hex), "mixle");
        assert_eq!(scheme(&format!("pm1:{hex}")), "pm1");
        assert_eq!(scheme(&hex.to_uppercase()), "unknown");
        assert_eq!(scheme("pm2:ab"), "unknown");
    }

    #[test]
    fn a_difference_is_tagged_by_its_kind() {
        let json = |difference: &Difference| serde_json::to_string(difference).unwrap();
        assert_eq!(
            json(&Difference::QuestionsChanged(NameList::of(&names(1)))),
            r#"{"kind":"questions-changed","total":1,"names":["q01"]}"#
        );
        assert_eq!(
            json(&Difference::QuestionsNotHeld { side: Sides::Both }),
            r#"{"kind":"questions-not-held","side":"both"}"#
        );
    }
}
