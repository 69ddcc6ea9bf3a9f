//! One round as it is asked for: read, scored and checked as a whole before anything is stored.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark::ledger::{Draft, Ledger, MAX_RECORD_BYTES, role, scheme_of};
use proofmark::object::{FieldError, Fields, Json, ObjectId, Sha256, parse};
use proofmark::question::{Answers, Judgements, QuestionSet, QuestionSetId, Scheme, ScorerIdentity};
use proofmark::receipt::{Basis, Body, Evidence, LineName, ScorecardBody, Subject, Text};
use proofmark::score::{CommandJudge, Scorer};
use proofmark::scorecard::{JudgedRound, RoundError, Scorecard, Unknown, count_round, judge_round};
use proofmark::store::{digest_file, put_file};

use super::context::Context;
use super::failure::Failure;
use super::intake::{self, EvidenceArgument, Piece, RecordFile, SubjectArgument};
use super::judge;

/// One round as it is asked for.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RoundArguments {
    /// The question set
    #[arg(long, value_name = "FILE", required_unless_present_any = ["card", "batch"])]
    pub questions: Option<PathBuf>,
    /// The recorded answers
    #[arg(long, value_name = "FILE", required_unless_present_any = ["card", "batch"], requires = "questions")]
    pub answers: Option<PathBuf>,
    /// The judge: substring/v2, exact/v1, normalized/v1, numeric/v1[?abs=…&rel=…], choice/v1, regex/v1, or
    /// command/NAME/VERSION with --judge [default: the ledger's, substring/v2]
    #[arg(long, value_name = "SCORER")]
    pub scorer: Option<String>,
    /// The program that judges, for command/NAME/VERSION
    #[arg(long, value_name = "FILE")]
    pub judge: Option<PathBuf>,
    /// A scorecard made elsewhere (mixle's `SystemScorecard.to_dict()`); checked against whatever evidence comes with it
    #[arg(long, value_name = "FILE")]
    pub card: Option<PathBuf>,
    /// A scorecard given in place, in a batch.
    #[arg(skip)]
    pub inline_card: Option<Json>,
    /// How the question set is identified: pm1 or mixle [default: as the card is, else pm1]
    #[arg(long)]
    pub scheme: Option<Scheme>,
    /// The line that the round belongs to [default: the ledger's, main]
    #[arg(long)]
    pub line: Option<LineName>,
    /// What was evaluated: NAME=FILE or NAME=sha256:HEX (repeatable) [default: the answers]
    #[arg(long, value_name = "NAME=WHAT")]
    pub subject: Vec<SubjectArgument>,
    /// More evidence: ROLE=FILE (repeatable)
    #[arg(long, value_name = "ROLE=FILE")]
    pub evidence: Vec<EvidenceArgument>,
    /// A word for the reader
    #[arg(long, value_name = "TEXT")]
    pub note: Option<Text>,
    /// Keep the question text out of the ledger (the questions need salts: `proofmark questions seal`)
    #[arg(long)]
    pub sealed: bool,
    /// What was evaluated where no subject is named, and it is not the answers.
    #[arg(skip)]
    pub default_subject: Option<Subject>,
}

/// Everything about a round that was read and checked, and nothing stored yet.
pub struct CheckedRound {
    body: ScorecardBody,
    correct: Vec<bool>,
    subject: Vec<Subject>,
    pieces: Vec<Arc<Piece>>,
    carried: Vec<Evidence>,
    judge: Option<PathBuf>,
    evidence: Vec<EvidenceArgument>,
    base: PathBuf,
    note: Option<Text>,
}

impl RoundArguments {
    /// One line of a batch; `line`, `scorer` and `scheme` may be given for all of them on the command line.
    pub fn from_record(record: &Json, shared: &Self) -> Result<Self, FieldError> {
        fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
            fields: &mut Fields<'_>,
            name: &str,
        ) -> Result<Option<T>, FieldError> {
            let text = fields.optional_string(name)?;
            text.map(|text| text.parse().map_err(|error| FieldError::new(name, format!("{error}")))).transpose()
        }
        fn listed<T: std::str::FromStr<Err = String>>(
            fields: &mut Fields<'_>,
            name: &str,
        ) -> Result<Vec<T>, FieldError> {
            match fields.optional(name) {
                None => Ok(Vec::new()),
                Some(Json::Object(members)) => members
                    .iter()
                    .map(|(member, value)| match value {
                        Json::String(text) => format!("{member}={text}")
                            .parse()
                            .map_err(|error: String| FieldError::new(format!("{name}.{member}"), error)),
                        other => Err(FieldError::new(
                            format!("{name}.{member}"),
                            format!("must be a string, not {}", other.kind()),
                        )),
                    })
                    .collect(),
                Some(other) => Err(fields.wrong(name, "an object", other)),
            }
        }
        let mut fields = Fields::of("", record)?;
        let path = |fields: &mut Fields<'_>, name: &str| -> Result<Option<PathBuf>, FieldError> {
            Ok(fields.optional_string(name)?.map(PathBuf::from))
        };
        let (card, inline_card) = match fields.optional("card") {
            None => (None, None),
            Some(Json::String(path)) => (Some(PathBuf::from(path)), None),
            Some(card @ Json::Object(_)) => (None, Some(card.clone())),
            Some(other) => return Err(fields.wrong("card", "a path or a scorecard", other)),
        };
        let round = Self {
            questions: path(&mut fields, "questions")?,
            answers: path(&mut fields, "answers")?,
            scorer: parsed(&mut fields, "scorer")?.or_else(|| shared.scorer.clone()),
            judge: path(&mut fields, "judge")?,
            card,
            inline_card,
            scheme: parsed(&mut fields, "scheme")?.or(shared.scheme),
            line: parsed(&mut fields, "line")?.or_else(|| shared.line.clone()),
            subject: listed(&mut fields, "subject")?,
            evidence: listed(&mut fields, "evidence")?,
            note: parsed(&mut fields, "note")?,
            sealed: fields.optional_bool("sealed")?.unwrap_or(false),
            default_subject: None,
        };
        fields.finish()?;
        Ok(round)
    }
}

/// Reads and checks rounds; question sets that several rounds share are read once.
pub struct RoundReader<'a> {
    ledger: &'a Ledger,
    questions: HashMap<PathBuf, (QuestionSet, Arc<Piece>)>,
    /// Answers that are in no file, by the name that a round gives for theirs.
    answers: HashMap<PathBuf, Vec<u8>>,
}

impl<'a> RoundReader<'a> {
    /// A reader of rounds for this ledger.
    pub fn new(ledger: &'a Ledger) -> Self {
        Self { ledger, questions: HashMap::new(), answers: HashMap::new() }
    }

    /// Takes questions that are in no file; a round names them as it would name a file.
    pub fn give_questions(&mut self, name: &Path, bytes: Vec<u8>) -> Result<(), Failure> {
        let set = QuestionSet::parse(&name.display().to_string(), bytes.as_slice())?;
        let piece = Piece::new(role::QUESTIONS, bytes, "application/jsonl", true);
        self.questions.insert(name.to_owned(), (set, Arc::new(piece)));
        Ok(())
    }

    /// Takes answers that are in no file, for one round to name.
    pub fn give_answers(&mut self, name: &Path, bytes: Vec<u8>) {
        self.answers.insert(name.to_owned(), bytes);
    }

    /// Checks whatever can be checked before there are answers, so that nobody is asked in vain.
    pub fn check_before_asking(&mut self, round: &RoundArguments, questions: &Path) -> Result<(), Failure> {
        for evidence in &round.evidence {
            evidence.check(Path::new(""))?;
        }
        for subject in &round.subject {
            subject.resolve(Path::new(""))?;
        }
        let (scorer, _) = self.scorer(round, Path::new(""))?;
        let scheme = round.scheme.unwrap_or_default();
        let (set, piece) = self.question_set(questions)?;
        set.id(scheme, scorer.identity())?;
        let mut unused = Vec::new();
        withhold(set, piece, scheme, round.sealed, &mut unused)?;
        match &scorer {
            Judging::Known(scorer) if scorer.as_command().is_none() => Ok(scorer.check(set)?),
            Judging::Known(_) => Ok(()),
            Judging::Foreign(_) => Err(Failure::refused("this judge cannot be run here")),
        }
    }

    /// Reads and checks everything about a round; `base` is what its paths are relative to.
    pub fn check(&mut self, round: &RoundArguments, base: &Path) -> Result<CheckedRound, Failure> {
        if round.answers.is_some() && round.questions.is_none() {
            return Err(Failure::refused("answers mean nothing without their questions").hint("add --questions FILE"));
        }
        let card = read_card(round, base)?;
        if card.is_none() && round.answers.is_none() {
            return Err(Failure::refused("there is neither a card nor answers to make one from"));
        }
        for evidence in &round.evidence {
            evidence.check(base)?;
        }
        let scheme = self.scheme(round, card.as_ref())?;
        let mut pieces = Vec::new();
        let (scorer, judge) = self.scorer(round, base)?;
        let measured = match &round.questions {
            None => None,
            Some(path) => self.measure(round, &base.join(path), base, &scorer, scheme, &mut pieces)?,
        };
        let expected_id = match &round.questions {
            Some(path) => {
                let (questions, _) = self.question_set(&base.join(path))?;
                Some((questions.id(scheme, scorer.identity())?, questions.len() as u64))
            }
            None => None,
        };
        let (measured, correct) = measured.map(|judged| (judged.card, judged.correct)).unzip();
        let (agreed, basis) = agreed(card.as_ref(), measured, expected_id)?;
        if let Some(file) = card.and_then(|card| card.file) {
            let bytes = file.bytes;
            pieces.push(Arc::new(Piece::new(role::CARD, bytes, "application/json", true)));
        }
        let line = round.line.clone().map_or_else(|| self.ledger.config().defaults.line.parse(), Ok)?;
        let mut subject: Vec<_> =
            round.subject.iter().map(|subject| subject.resolve(base)).collect::<Result<_, _>>()?;
        if subject.is_empty() {
            let default = round.default_subject.clone();
            subject.push(default.map_or_else(|| default_subject(&pieces, &agreed), Ok)?);
        }
        let body = ScorecardBody {
            line,
            basis,
            card: agreed,
            scorer: scorer.identity().clone(),
            sealed: round.sealed,
            unknown: Vec::new(),
        };
        Ok(CheckedRound {
            body,
            correct: correct.unwrap_or_default(),
            subject,
            pieces,
            carried: Vec::new(),
            judge,
            evidence: round.evidence.clone(),
            base: base.to_owned(),
            note: round.note.clone(),
        })
    }

    fn scheme(&self, round: &RoundArguments, card: Option<&CardSource>) -> Result<Scheme, Failure> {
        let Some(card) = card else { return Ok(round.scheme.unwrap_or_default()) };
        let of_card = scheme_of(card.card.question_set_id());
        match round.scheme {
            Some(asked) if asked != of_card => {
                Err(Failure::refused(format!("the card is bound by scheme {of_card}, and --scheme says {asked}")))
            }
            _ => Ok(of_card),
        }
    }

    fn scorer(&self, round: &RoundArguments, base: &Path) -> Result<(Judging, Option<PathBuf>), Failure> {
        let text = round.scorer.clone().unwrap_or_else(|| self.ledger.config().defaults.scorer.clone());
        if text.starts_with("command/") && !text.contains('?') {
            let program = round.judge.as_ref().map(|path| base.join(path)).ok_or_else(|| {
                Failure::refused(format!("`{text}` needs the program that judges")).hint("add --judge FILE")
            })?;
            let judge = CommandJudge::new(&text, digest_file(&program)?.blake3)?;
            return Ok((Judging::Known(Scorer::command(judge)?), Some(program)));
        }
        if round.judge.is_some() {
            return Err(Failure::refused(format!("--judge goes with --scorer command/NAME/VERSION, not `{text}`")));
        }
        match Scorer::parse(&text) {
            Ok(scorer) => Ok((Judging::Known(scorer), None)),
            // Another program's judge: a card may name it, but we cannot judge by it.
            Err(_) if round.answers.is_none() && text.parse::<ScorerIdentity>().is_ok() => {
                Ok((Judging::Foreign(text.parse()?), None))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The questions that a path names, read once.
    pub fn question_set(&mut self, path: &Path) -> Result<&(QuestionSet, Arc<Piece>), Failure> {
        if !self.questions.contains_key(path) {
            let file = RecordFile::read(path)?;
            let set = QuestionSet::parse(&file.name, file.bytes.as_slice())?;
            // A batch may name any number of sets; what is held of them is bounded.
            let held: usize = self.questions.values().map(|(_, piece)| piece.bytes.len()).sum();
            if (held + file.bytes.len()) as u64 > MAX_RECORD_BYTES {
                self.questions.clear();
            }
            let piece = Piece::new(role::QUESTIONS, file.bytes, "application/jsonl", true);
            self.questions.insert(path.to_owned(), (set, Arc::new(piece)));
        }
        self.questions.get(path).ok_or_else(|| Failure::failed("the question set was not kept"))
    }

    /// Scores the answers, if there are any, and collects the evidence of questions and answers.
    fn measure(
        &mut self,
        round: &RoundArguments,
        questions: &Path,
        base: &Path,
        scorer: &Judging,
        scheme: Scheme,
        pieces: &mut Vec<Arc<Piece>>,
    ) -> Result<Option<JudgedRound>, Failure> {
        let given = round.answers.as_ref().and_then(|name| Some((name, self.answers.remove(name)?)));
        let (set, piece) = self.question_set(questions)?;
        withhold(set, piece, scheme, round.sealed, pieces)?;
        let Some(answers) = &round.answers else { return Ok(None) };
        let Judging::Known(scorer) = scorer else {
            return Err(Failure::refused("this judge cannot be run here"));
        };
        let file = match given {
            Some((name, bytes)) => RecordFile { name: name.display().to_string(), bytes },
            None => RecordFile::read(&base.join(answers))?,
        };
        let answers = Answers::parse(&file.name, file.bytes.as_slice())?;
        let judged = match (scorer.as_command(), &round.judge) {
            (Some(_), Some(program)) => {
                let joined = answers.clone().join(set)?;
                let correct = judge::run(&base.join(program), set, &joined)?;
                let judgements = Judgements::of(role::JUDGEMENTS, set, &correct)
                    .ok_or_else(|| Failure::failed("judgements and questions do not match"))?;
                count_round(set, answers, judgements, scorer.identity(), scheme)
            }
            _ => judge_round(set, answers, scorer, scheme),
        };
        let judged = judged.map_err(|error| match error {
            RoundError::Scorecard(error) => Failure::refused(format!("{}: {error}", file.name)),
            error => Failure::refused(error),
        })?;
        if round.sealed || scorer.as_command().is_some() {
            let judgements = Judgements::of(role::JUDGEMENTS, set, &judged.correct)
                .ok_or_else(|| Failure::failed("judgements and questions do not match"))?;
            let bytes = judgements.encode();
            pieces.push(Arc::new(Piece::new(role::JUDGEMENTS, bytes, "application/jsonl", true)));
        }
        let bytes = file.bytes;
        pieces.push(Arc::new(Piece::new(role::ANSWERS, bytes, "application/jsonl", true)));
        Ok(Some(judged))
    }
}

/// Who judges.
enum Judging {
    /// A judge that this program knows.
    Known(Scorer),
    /// Another program's, by name.
    Foreign(ScorerIdentity),
}

impl Judging {
    fn identity(&self) -> &ScorerIdentity {
        match self {
            Self::Known(scorer) => scorer.identity(),
            Self::Foreign(identity) => identity,
        }
    }
}

/// The questions as evidence: held, or only named where the round is sealed.
fn withhold(
    set: &QuestionSet,
    piece: &Arc<Piece>,
    scheme: Scheme,
    sealed: bool,
    pieces: &mut Vec<Arc<Piece>>,
) -> Result<(), Failure> {
    if sealed {
        return seal(set, piece, scheme, pieces);
    }
    if set.is_sealed() {
        return Err(Failure::refused(format!("the questions of {} carry salts", set.file()))
            .hint("add --sealed to keep their text out of the ledger, or use the file without salts"));
    }
    pieces.push(Arc::clone(piece));
    Ok(())
}

/// A sealed set: its leaves are evidence, and its text is only named.
fn seal(set: &QuestionSet, piece: &Piece, scheme: Scheme, pieces: &mut Vec<Arc<Piece>>) -> Result<(), Failure> {
    if !set.is_sealed() {
        return Err(Failure::refused(format!(
            "the questions of {} carry no salts, so they could be guessed",
            set.file()
        ))
        .hint("`proofmark questions seal FILE -o SEALED` adds them once; use that file for every round"));
    }
    if scheme != Scheme::Pm1 {
        return Err(Failure::refused("only sets identified by pm1 can be sealed"));
    }
    let bytes = set.leaves()?.encode();
    pieces.push(Arc::new(Piece::new(role::LEAVES, bytes, "text/plain", true)));
    pieces.push(Arc::new(Piece::new(piece.role, piece.bytes.clone(), piece.media_type, false)));
    Ok(())
}

/// A card and where it came from.
struct CardSource {
    name: String,
    card: Scorecard,
    file: Option<RecordFile>,
}

fn read_card(round: &RoundArguments, base: &Path) -> Result<Option<CardSource>, Failure> {
    let (name, json, file) = match (&round.card, &round.inline_card) {
        (Some(path), _) => {
            let file = RecordFile::read_document(&base.join(path))?;
            let json = parse(&file.bytes).map_err(|error| Failure::refused(format!("{}: {error}", file.name)))?;
            (file.name.clone(), json, Some(file))
        }
        (None, Some(json)) => ("the card".to_owned(), json.clone(), None),
        (None, None) => return Ok(None),
    };
    let card = Scorecard::from_json(&json).map_err(|error| Failure::refused(format!("{name}: {error}")))?;
    if card.question_set_id().is_empty() {
        return Err(Failure::refused(format!("{name}: field `question_set_id`: the card is bound to no question set"))
            .hint("a card that is bound to nothing can never be compared; score with --questions and --answers"));
    }
    card.question_set_id()
        .parse::<QuestionSetId>()
        .map_err(|error| Failure::refused(format!("{name}: field `question_set_id`: {error}")))?;
    Ok(Some(CardSource { name, card, file }))
}

/// The card that is recorded: measured here, or handed in and not contradicted by what came with it.
fn agreed(
    card: Option<&CardSource>,
    measured: Option<Scorecard>,
    questions: Option<(QuestionSetId, u64)>,
) -> Result<(Scorecard, Basis), Failure> {
    let Some(CardSource { name, card, .. }) = card else {
        let measured = measured.ok_or_else(|| Failure::refused("there is nothing to make a card from"))?;
        return Ok((measured, Basis::Recomputed));
    };
    let differs = |field: &str, says: String, gives: String| {
        Failure::refused(format!("{name}: field `{field}`: says {says}, and the evidence gives {gives}"))
    };
    if let Some((id, n)) = &questions {
        if id.as_str() != card.question_set_id() {
            return Err(differs("question_set_id", card.question_set_id().to_owned(), id.to_string())
                .hint("other questions, another order, or another scorer (--scorer)"));
        }
        if *n != card.n() {
            return Err(differs("n", card.n().to_string(), n.to_string()));
        }
    }
    let Some(measured) = measured else { return Ok((card.clone(), Basis::Asserted)) };
    let numbers = [
        ("quality", card.quality(), measured.quality()),
        ("realized_cost", card.realized_cost(), measured.realized_cost()),
        ("grounded_fraction", card.grounded_fraction(), measured.grounded_fraction()),
    ];
    match numbers.iter().find(|(_, says, gives)| says.to_bits() != gives.to_bits()) {
        Some((field, says, gives)) => Err(differs(field, says.to_string(), gives.to_string())),
        None => Ok((measured, Basis::Recomputed)),
    }
}

/// Without a named subject, what was evaluated is known by its answers, or else by its card.
fn default_subject(pieces: &[Arc<Piece>], card: &Scorecard) -> Result<Subject, Failure> {
    let of = |wanted: &str| pieces.iter().find(|piece| piece.role == wanted);
    let (name, sha256) = match (of(role::ANSWERS), of(role::CARD)) {
        (Some(piece), _) => (role::ANSWERS, Sha256::of(&piece.bytes)),
        (None, Some(piece)) => (role::CARD, Sha256::of(&piece.bytes)),
        (None, None) => (role::CARD, Sha256::of(&proofmark::object::encode(card).map_err(Failure::failed)?)),
    };
    Ok(Subject::new(name.parse()?, sha256))
}

impl CheckedRound {
    /// What the receipt will say.
    pub fn body(&self) -> &ScorecardBody {
        &self.body
    }

    /// Whether each answer was judged right, in the order of the questions; empty where only a card was handed in.
    pub fn correct(&self) -> &[bool] {
        &self.correct
    }

    /// The digest of the answers, where there are any.
    pub fn answers(&self) -> Option<ObjectId> {
        self.pieces.iter().find(|piece| piece.role == role::ANSWERS).map(|piece| ObjectId::of(&piece.bytes))
    }

    /// Adds evidence that the command made itself.
    pub fn add(&mut self, piece: Piece) {
        self.pieces.push(Arc::new(piece));
    }

    /// Adds evidence that an earlier receipt has, and the ledger holds.
    pub fn carry(&mut self, evidence: Evidence) {
        self.carried.push(evidence);
    }

    /// Says what is not known of the round.
    pub fn leave_unknown(&mut self, unknown: Vec<Unknown>) {
        self.body.unknown = unknown;
    }

    /// Names what was evaluated.
    pub fn of_subjects(&mut self, subject: Vec<Subject>) {
        self.subject = subject;
    }

    /// The draft as it will be, for what an append would refuse: nothing is stored yet.
    pub fn ahead(&self, context: &Context) -> Result<Draft, Failure> {
        let mut evidence = self.carried.clone();
        for piece in &self.pieces {
            evidence.push(piece.ahead()?);
        }
        if let Some(program) = &self.judge {
            evidence.push(intake::entry_ahead(role::JUDGE.parse()?, program)?);
        }
        for argument in &self.evidence {
            evidence.push(argument.ahead(&self.base, &self.evidence)?);
        }
        let (subject, note, body) = (self.subject.clone(), self.note.clone(), Body::Scorecard(self.body.clone()));
        let (recorded_at, tool) = (context.recorded_at()?, context.tool());
        Ok(Draft { subject, evidence, note, recorded_at, tool, body })
    }

    /// Stores the evidence and drafts the receipt.
    pub fn store(self, context: &Context, ledger: &Ledger) -> Result<Draft, Failure> {
        let Self { body, subject, pieces, carried: mut evidence, judge, evidence: more, base, note, .. } = self;
        for piece in &pieces {
            evidence.push(piece.store(ledger.store())?);
        }
        if let Some(program) = judge {
            let digests = put_file(ledger.store(), &program)?;
            if !body.scorer.as_str().ends_with(&digests.blake3.to_string()) {
                let program = program.display();
                return Err(Failure::refused(format!("the judge `{program}` is no longer the file that judged")));
            }
            evidence.push(intake::entry(role::JUDGE.parse()?, &digests, "application/octet-stream", true));
        }
        for argument in &more {
            evidence.push(argument.store(ledger.store(), &base)?);
        }
        let (recorded_at, tool) = (context.recorded_at()?, context.tool());
        Ok(Draft { subject, evidence, note, recorded_at, tool, body: Body::Scorecard(body) })
    }
}
