//! Scorers by name: parsed from their identity, written back to it, made ready for a question.

use std::str::FromStr;

use rayon::prelude::*;

use super::ScoreError;
use super::choice::Choice;
use super::judge::Judge;
use super::lexical::{Exact, Normalized, Substring};
use super::numeric::{Numeric, Tolerance};
use super::pattern::Pattern;
use crate::object::{FieldError, ObjectId, encode};
use crate::question::{Question, QuestionSet, ScorerIdentity};

/// How a command judge is written.
pub const COMMAND_FORM: &str = "command/NAME/VERSION?blake3=HEX";

/// The longest name or version of a command judge, in bytes.
const MAX_COMMAND_PART: usize = 48;

/// A scorer that ships with proofmark, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Name and version, without parameters.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What it does not see, in a line.
    pub limits: &'static str,
}

/// Every built-in scorer; `docs/scorers.md` says more.
pub const BUILT_IN: [BuiltIn; 6] = [
    BuiltIn {
        name: "substring/v2",
        summary: "the expected answer stands anywhere in the reply, case aside (mixle's default judge)",
        limits: "sees no negation and no paraphrase; short answers occur inside words",
    },
    BuiltIn {
        name: "exact/v1",
        summary: "reply and expected answer are the same text, white space at the ends aside",
        limits: "case, punctuation and Unicode form all count",
    },
    BuiltIn {
        name: "normalized/v1",
        summary: "the same text without case, ASCII punctuation, English articles and extra white space (SQuAD's rule)",
        limits: "English articles only; drops the sign and the point of numbers",
    },
    BuiltIn {
        name: "numeric/v1",
        summary: "the reply is one number within max(abs, rel × |expected|); `?abs=1e-6&rel=0` unless said otherwise",
        limits: "the reply must be the bare number: no words, units, % or currency",
    },
    BuiltIn {
        name: "choice/v1",
        summary: "the reply names the expected letter or label: `B`, `(B)`, `answer: B`, `the answer is B`",
        limits: "English wording only; an ambiguous reply is wrong",
    },
    BuiltIn {
        name: "regex/v1",
        summary: "the expected answer is a pattern (Rust `regex` syntax) that matches somewhere in the reply",
        limits: "no look-around, no back references; patterns of at most 4096 bytes",
    },
];

/// A judge with its identity: built in, or a user's command.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorer {
    rule: Rule,
    identity: ScorerIdentity,
}

/// What a scorer judges by.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// `substring/v2`: [`Substring`].
    Substring,
    /// `exact/v1`: [`Exact`].
    Exact,
    /// `normalized/v1`: [`Normalized`].
    Normalized,
    /// `numeric/v1`, with its tolerance: [`Numeric`].
    Numeric(Tolerance),
    /// `choice/v1`: [`Choice`].
    Choice,
    /// `regex/v1`: [`Pattern`].
    Regex,
    /// `command/NAME/VERSION?blake3=HEX`: a user's own judge.
    Command(CommandJudge),
}

/// A user's own judge: a program, identified by name, version and the digest of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandJudge {
    name: String,
    version: String,
    file: ObjectId,
}

impl CommandJudge {
    /// The judge written `command/NAME/VERSION`, whose file has this digest. Name and version are 1 to 48 ASCII letters,
    /// digits, `.`, `_` and `-`, beginning with a letter or a digit.
    pub fn new(text: &str, file: ObjectId) -> Result<Self, ScoreError> {
        let refuse = |reason| ScoreError::Command { text: excerpt(text), reason };
        let parts = text.strip_prefix("command/").and_then(|rest| rest.split_once('/'));
        let (name, version) = parts.ok_or_else(|| refuse("with a name and a version"))?;
        if !is_command_part(name) || !is_command_part(version) {
            return Err(refuse("where name and version are 1 to 48 letters, digits, `.`, `_` and `-`"));
        }
        Ok(Self { name: name.to_owned(), version: version.to_owned(), file })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The digest of the judge's file.
    pub fn file(&self) -> ObjectId {
        self.file
    }
}

impl Scorer {
    /// The scorer with this identity. Parameters may stand in any order and spelling; [`Scorer::identity`] writes them in
    /// one way. An unknown name is refused with the known ones.
    pub fn parse(text: &str) -> Result<Self, ScoreError> {
        ScorerIdentity::from_str(text).map_err(ScoreError::Identity)?;
        let (name, parameters) = match text.split_once('?') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        if name.starts_with("command/") {
            return Self::of(Rule::Command(parse_command(text, name, parameters)?));
        }
        let rule = match name {
            "substring/v2" => Rule::Substring,
            "exact/v1" => Rule::Exact,
            "normalized/v1" => Rule::Normalized,
            "numeric/v1" => return Self::of(Rule::Numeric(parse_tolerance(name, parameters)?)),
            "choice/v1" => Rule::Choice,
            "regex/v1" => Rule::Regex,
            _ => return Err(ScoreError::Unknown { text: excerpt(text), known: known() }),
        };
        match parameters {
            None => Self::of(rule),
            Some(parameters) => Err(unknown_parameter(name, parameters)),
        }
    }

    /// The scorer that is this command judge.
    pub fn command(judge: CommandJudge) -> Result<Self, ScoreError> {
        Self::of(Rule::Command(judge))
    }

    fn of(rule: Rule) -> Result<Self, ScoreError> {
        let identity = rule.spelled()?.parse().map_err(ScoreError::Identity)?;
        Ok(Self { rule, identity })
    }

    /// The identity, in its one spelling: parameters in alphabetical order, numbers as RFC 8785 writes them, and none at
    /// all where they are the defaults.
    pub fn identity(&self) -> &ScorerIdentity {
        &self.identity
    }

    /// What it judges by.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The user's judge that it is, if it is one: then its judgements are evidence that has to be given.
    pub fn as_command(&self) -> Option<&CommandJudge> {
        match &self.rule {
            Rule::Command(judge) => Some(judge),
            _ => None,
        }
    }

    /// The scorer made ready for one expected answer. Refuses an answer that it cannot judge by, and a command.
    pub fn prepare(&self, expected: &str) -> Result<Judge, ScoreError> {
        self.compile(expected, |refusal| ScoreError::Expected { identity: self.identity.clone(), refusal })
    }

    /// Whether one reply is right; [`Scorer::judge_all`] is for many.
    pub fn judge(&self, reply: Option<&str>, expected: &str) -> Result<bool, ScoreError> {
        Ok(self.prepare(expected)?.judge(reply))
    }

    /// Refuses the first question that the scorer cannot judge by, naming file, line and field; refuses a command.
    pub fn check(&self, questions: &QuestionSet) -> Result<(), ScoreError> {
        questions.iter().enumerate().try_for_each(|(at, question)| self.ready(questions, at, question).map(drop))
    }

    /// Whether each reply is right, in the order of the questions: one reply a question. On all cores; every
    /// question is made ready once and let go, so memory does not grow with the set. Refuses what [`Scorer::check`] refuses.
    pub fn judge_all<'a>(
        &self,
        questions: &QuestionSet,
        replies: impl ExactSizeIterator<Item = Option<&'a str>>,
    ) -> Result<Vec<bool>, ScoreError> {
        if replies.len() != questions.len() {
            return Err(ScoreError::Count { replies: replies.len(), questions: questions.len() });
        }
        let replies: Vec<_> = replies.collect();
        let pairs = questions.questions().par_iter().zip(&replies).enumerate().with_min_len(1024);
        let judged = pairs.map(|(at, (question, reply))| Ok(self.ready(questions, at, question)?.judge(*reply)));
        // Collected before it is looked at, so that of several refusals the first one is told.
        judged.collect::<Vec<_>>().into_iter().collect()
    }

    fn ready(&self, questions: &QuestionSet, at: usize, question: &Question) -> Result<Judge, ScoreError> {
        self.compile(question.expected(), |refusal| ScoreError::Question {
            identity: self.identity.clone(),
            refusal: questions.refuse(at, refusal),
        })
    }

    fn compile(&self, expected: &str, refuse: impl FnOnce(FieldError) -> ScoreError) -> Result<Judge, ScoreError> {
        let judge = match &self.rule {
            Rule::Substring => Substring::parse(expected).map(Judge::Substring),
            Rule::Exact => Exact::parse(expected).map(Judge::Exact),
            Rule::Normalized => Normalized::parse(expected).map(Judge::Normalized),
            Rule::Numeric(tolerance) => Numeric::parse(expected, *tolerance).map(Judge::Numeric),
            Rule::Choice => Choice::parse(expected).map(Judge::Choice),
            Rule::Regex => Pattern::parse(expected).map(Judge::Pattern),
            Rule::Command(_) => return Err(ScoreError::NotBuiltIn { identity: self.identity.clone() }),
        };
        judge.map_err(refuse)
    }
}

impl Rule {
    fn spelled(&self) -> Result<String, ScoreError> {
        Ok(match self {
            Self::Substring => "substring/v2".to_owned(),
            Self::Exact => "exact/v1".to_owned(),
            Self::Normalized => "normalized/v1".to_owned(),
            Self::Numeric(tolerance) if *tolerance == Tolerance::default() => "numeric/v1".to_owned(),
            Self::Numeric(tolerance) => {
                format!("numeric/v1?abs={}&rel={}", number("abs", tolerance.abs())?, number("rel", tolerance.rel())?)
            }
            Self::Choice => "choice/v1".to_owned(),
            Self::Regex => "regex/v1".to_owned(),
            Self::Command(judge) => format!("command/{}/{}?blake3={}", judge.name, judge.version, judge.file),
        })
    }
}

fn parse_command(text: &str, name: &str, parameters: Option<&str>) -> Result<CommandJudge, ScoreError> {
    let digest = parameters.and_then(|parameters| parameters.strip_prefix("blake3="));
    let digest = digest.and_then(|digits| digits.parse::<ObjectId>().ok()).ok_or_else(|| ScoreError::Command {
        text: excerpt(text),
        reason: "with the digest of its file in 64 lower-case hexadecimal digits",
    })?;
    CommandJudge::new(name, digest)
}

fn parse_tolerance(scorer: &str, parameters: Option<&str>) -> Result<Tolerance, ScoreError> {
    let mut tolerance = Tolerance::default();
    let mut seen: Vec<&str> = Vec::new();
    for parameter in parameters.into_iter().flat_map(|parameters| parameters.split('&')) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let refuse = |reason| ScoreError::Parameter { scorer: scorer.to_owned(), parameter: name.to_owned(), reason };
        if seen.contains(&name) {
            return Err(refuse("stands there twice"));
        }
        seen.push(name);
        let number: f64 = value.parse().map_err(|_| refuse("must be a number"))?;
        tolerance = match name {
            "abs" => tolerance.with_abs(number).ok_or_else(|| refuse("must be finite and not negative"))?,
            "rel" => tolerance.with_rel(number).ok_or_else(|| refuse("must be between 0 and 1"))?,
            _ => return Err(unknown_parameter(scorer, name)),
        };
    }
    Ok(tolerance)
}

fn unknown_parameter(scorer: &str, parameter: &str) -> ScoreError {
    let parameter = parameter.split_once('=').map_or(parameter, |(name, _)| name).to_owned();
    ScoreError::Parameter { scorer: scorer.to_owned(), parameter, reason: "is not known" }
}

fn is_command_part(text: &str) -> bool {
    (1..=MAX_COMMAND_PART).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

fn known() -> String {
    let mut names: Vec<_> = BUILT_IN.iter().map(|scorer| scorer.name).collect();
    names.push(COMMAND_FORM);
    names.join(", ")
}

fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

/// A number in its one spelling, that of RFC 8785 section 3.2.2.3.
fn number(parameter: &str, value: f64) -> Result<String, ScoreError> {
    let spelled = encode(&value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    spelled.ok_or_else(|| ScoreError::Parameter {
        scorer: "numeric/v1".to_owned(),
        parameter: parameter.to_owned(),
        reason: "must be finite",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(text: &str) -> String {
        Scorer::parse(text).unwrap().identity().to_string()
    }

    fn refusal(text: &str) -> String {
        Scorer::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn every_built_in_is_known_by_its_name() {
        for scorer in BUILT_IN {
            assert_eq!(identity(scorer.name), scorer.name);
        }
    }

    #[test]
    fn one_scorer_has_one_spelling() {
        assert_eq!(identity("numeric/v1?rel=0.0&abs=0.000001"), "numeric/v1");
        assert_eq!(identity("numeric/v1?rel=1e-2"), "numeric/v1?abs=0.000001&rel=0.01");
        assert_eq!(identity("numeric/v1?abs=-0&rel=1"), "numeric/v1?abs=0&rel=1");
        assert_eq!(identity("numeric/v1?abs=5e-324"), "numeric/v1?abs=5e-324&rel=0");
        for text in ["numeric/v1?abs=1.7976931348623157e308", "numeric/v1?rel=0.3333333333333333&abs=1e21"] {
            assert_eq!(identity(&identity(text)), identity(text));
        }
    }

    #[test]
    fn unknown_scorers_versions_and_parameters_are_refused() {
        assert_eq!(
            refusal("substring/v1"),
            "unknown scorer `substring/v1`; known: substring/v2, exact/v1, normalized/v1, numeric/v1, choice/v1, regex/v1, \
             command/NAME/VERSION?blake3=HEX"
        );
        assert_eq!(refusal("exact/v1?x=1"), "scorer `exact/v1`: parameter `x` is not known");
        assert_eq!(refusal("exact/v1?"), "scorer `exact/v1`: parameter `` is not known");
        assert_eq!(refusal("numeric/v1?tol=1"), "scorer `numeric/v1`: parameter `tol` is not known");
        assert_eq!(refusal("numeric/v1?abs=1&abs=1"), "scorer `numeric/v1`: parameter `abs` stands there twice");
        assert_eq!(
            refusal("numeric/v1?abs=-1"),
            "scorer `numeric/v1`: parameter `abs` must be finite and not negative"
        );
        assert_eq!(
            refusal("numeric/v1?abs=NaN"),
            "scorer `numeric/v1`: parameter `abs` must be finite and not negative"
        );
        assert_eq!(refusal("numeric/v1?rel=2"), "scorer `numeric/v1`: parameter `rel` must be between 0 and 1");
        assert_eq!(refusal("numeric/v1?abs"), "scorer `numeric/v1`: parameter `abs` must be a number");
        assert_eq!(refusal("sub string"), "not the name of a scorer");
    }

    #[test]
    fn a_command_is_named_by_the_digest_of_its_file_and_does_not_run_here() {
        let file = ObjectId::of(b"#!/bin/sh");
        let text = format!("command/strict-judge/v1.2?blake3={file}");
        let scorer = Scorer::parse(&text).unwrap();
        assert_eq!(scorer.identity().as_str(), text);
        assert_eq!(scorer, Scorer::command(CommandJudge::new("command/strict-judge/v1.2", file).unwrap()).unwrap());
        assert_eq!(scorer.as_command().unwrap().file(), file);
        assert_eq!(
            scorer.judge(Some("x"), "x").unwrap_err().to_string(),
            format!("the judge `{text}` is a command: give its recorded judgements, it does not run here")
        );
        for text in [
            "command/a/v1",
            "command/a?blake3=x",
            "command//v1?blake3=",
            "command/a/b/c?blake3=00",
            &format!("command/a/b/c?blake3={file}"),
            &format!("command/-a/v1?blake3={file}"),
            &format!("command/a/v1?blake3={file}&x=1"),
            &format!("command/a/?blake3={file}"),
        ] {
            assert!(matches!(Scorer::parse(text), Err(ScoreError::Command { .. })), "{text}");
        }
        let longest = format!("command/{}/{}?blake3={file}", "n".repeat(48), "v".repeat(48));
        assert_eq!(identity(&longest), longest);
    }

    #[test]
    fn a_question_that_cannot_be_judged_is_named() {
        let text = b"{\"question\":\"a\",\"expected\":\"1\"}\n{\"question\":\"b\",\"expected\":\"one\"}\n";
        let questions = QuestionSet::parse("q.jsonl", &text[..]).unwrap();
        let numeric = Scorer::parse("numeric/v1").unwrap();
        let message = "the scorer `numeric/v1` refuses the question: q.jsonl:2: field `expected`: must be a number \
                       (docs/scorers.md, numeric/v1)";
        assert_eq!(numeric.check(&questions).unwrap_err().to_string(), message);
        let replies = [Some("1"), None];
        assert_eq!(numeric.judge_all(&questions, replies.into_iter()).unwrap_err().to_string(), message);
        let exact = Scorer::parse("exact/v1").unwrap();
        assert_eq!(exact.judge_all(&questions, replies.into_iter()).unwrap(), [true, false]);
        assert_eq!(
            exact.judge_all(&questions, [Some("1")].into_iter()).unwrap_err().to_string(),
            "1 replies for 2 questions"
        );
    }
}
