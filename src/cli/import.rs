//! `proofmark import`: rounds that another tool measured, from that tool's own files, which stay evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proofmark::import::{Limits, Manifest, NamedOriginal, Options, Original, Rendered, Round, State, Texts, Tool};
use proofmark::import::{read, recognise, render};
use proofmark::ledger::{Draft, Ledger, role};
use proofmark::object::{ObjectId, Sha256};
use proofmark::question::ScorerIdentity;
use proofmark::receipt::{Basis, Body, Evidence, Kind, LineName, ScorecardBody, Subject, Text};
use proofmark::scorecard::{Fact, Scorecard, Unknown};
use proofmark::store::{Digests, MAX_OBJECT_BYTES, Store, StoreError, digest_slice, put_file};
use proofmark::trust::Role;
use serde::Serialize;

use super::append;
use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::foreign::{self, ForeignFile};
use super::intake::{Piece, SubjectArgument, entry, entry_ahead, media_type};
use super::signing::{Hands, SigningOptions};

/// The most originals of one round: each is named in its receipt, which has a largest size.
const MAX_ORIGINALS: usize = 64;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
TOOL is lm-eval, inspect, promptfoo, every-eval-ever, deepeval, mlflow, junit, csv or mixle; or auto, which says what it
recognised. docs/import/ has a page a tool. Every task becomes a receipt; several are appended in one commit, to the lines
LINE.TASK. What the files leave unknown is said, and `compare` refuses it unless it is allowed.

Examples:
  proofmark import lm-eval results/stub-model-a
  proofmark import lm-eval results/ --filter strict-match --dry-run
  proofmark import inspect logs/2026-11-30_qa.eval --line nightly --subject model=model.bin
  proofmark import junit junit.xml --allow-unknown prompts --allow-unknown references
  proofmark import auto out/")]
pub struct Arguments {
    /// The tool that wrote the files
    #[arg(value_name = "TOOL")]
    tool: ToolArgument,
    /// Its files, or folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The line that the rounds belong to; with several tasks, the beginning of their lines' names [default: the ledger's, main]
    #[arg(long)]
    line: Option<LineName>,
    /// What was evaluated: NAME=FILE or NAME=sha256:HEX (repeatable) [default: the answers]
    #[arg(long, value_name = "NAME=WHAT")]
    subject: Vec<SubjectArgument>,
    /// Only this task (repeatable)
    #[arg(long, value_name = "NAME")]
    task: Vec<String>,
    /// Which filter of lm-eval [default: none, or else the first of the task's configuration]
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// Which metric or scorer, where there are several [default: the first]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Allow comparisons although FIELD is unknown (repeatable); the receipt says so: configuration, cost, generation, model,
    /// prompts, references, repeats or scorer
    #[arg(long, value_name = "FIELD")]
    allow_unknown: Vec<Fact>,
    /// A word for the reader [default: what the import remarks]
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    /// Say what would be recorded, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Read documents and archives of up to N bytes
    #[arg(long, value_name = "N", default_value_t = Limits::default().document)]
    max_document_bytes: u64,
    /// Read samples of up to N bytes
    #[arg(long, value_name = "N", default_value_t = Limits::default().sample)]
    max_sample_bytes: u64,
    /// Read documents nested up to N levels deep, at most 512
    #[arg(long, value_name = "N", default_value_t = Limits::default().depth)]
    max_depth: usize,
    #[command(flatten)]
    keys: SigningOptions,
}

/// A tool, or the wish to have it recognised.
#[derive(Debug, Clone, Copy)]
enum ToolArgument {
    Named(Tool),
    Auto,
}

impl FromStr for ToolArgument {
    type Err = proofmark::import::ImportError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Named) }
    }
}

/// One round that was read and checked, and is not stored yet.
struct Imported {
    /// Without its items, which may be many.
    round: Round,
    states: BTreeMap<&'static str, usize>,
    remarks: Vec<String>,
    rendered: Rendered,
    projection: ObjectId,
    body: ScorecardBody,
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = if arguments.dry_run { context.ledger().ok() } else { Some(context.ledger()?) };
    let (files, links) = foreign::gather(&arguments.paths)?;
    let originals: Vec<_> = files.iter().map(ForeignFile::original).collect();
    let tool = match arguments.tool {
        ToolArgument::Named(tool) => tool,
        ToolArgument::Auto => recognise(&originals)?,
    };
    refuse_untaken(tool, arguments)?;
    let options = options(arguments, context)?;
    let rounds = read(tool, &originals, &options)?;
    let left_out = left_out(tool, &originals, links, &rounds)?;
    drop(originals);
    if let Some(note) = note_left_out(&left_out) {
        context.note(&note);
    }
    let lines = lines(arguments, ledger.as_ref(), &rounds)?;
    let mut imported: Vec<Imported> = rounds
        .into_iter()
        .zip(lines)
        .map(|(round, line)| checked(round, line, arguments, &options.texts))
        .collect::<Result<_, _>>()?;
    let subject = subjects(arguments)?;
    let appended = match ledger.filter(|_| !arguments.dry_run) {
        None => Vec::new(),
        Some(ledger) => {
            let hands = Hands::ready(&arguments.keys, context, &ledger, &[Role::Append])?;
            let rehearsal = hands.rehearsal(&ledger)?;
            for one in &imported {
                rehearsal.hold(one.ahead(&files, &subject, arguments, context)?)?;
            }
            let pen = hands.agree(context, &ledger, Kind::Scorecard, &about(&imported))?;
            let drafts =
                imported.iter_mut().map(|one| one.store(&files, &options, &subject, arguments, context, &ledger));
            let drafts: Vec<_> = drafts.collect::<Result<_, _>>()?;
            pen.append(context, &ledger, drafts.into_iter().map(Ok))?
        }
    };
    let document = ImportDocument {
        schema: "import.v1",
        tool: tool.as_str(),
        recognised: matches!(arguments.tool, ToolArgument::Auto),
        dry_run: arguments.dry_run,
        size: appended.last().map(|last| last.index + 1),
        left_out: &left_out,
        rounds: imported
            .iter()
            .enumerate()
            .map(|(at, one)| {
                let appended = appended.get(at);
                let index = appended.map(|appended| appended.index);
                let receipt = appended.map(|appended| appended.receipt.to_string());
                one.document(&files, index, receipt)
            })
            .collect(),
    };
    context.answer(&document, || text(&document))?;
    Ok(Exit::Yes)
}

/// Refuses a choice that the tool's files do not have.
fn refuse_untaken(tool: Tool, arguments: &Arguments) -> Result<(), Failure> {
    let given = [
        ("--filter", arguments.filter.is_some(), tool.takes_filter()),
        ("--metric", arguments.metric.is_some(), tool.takes_metric()),
    ];
    match given.into_iter().find(|(_, given, taken)| *given && !taken) {
        Some((option, ..)) => Err(Failure::refused(format!("files of {tool} are not chosen from by {option}"))),
        None => Ok(()),
    }
}

/// The files that are no part of any round, by name. One that the tool may have written is refused: what is in it would be
/// missing from the round, and nobody would know.
fn left_out(
    tool: Tool,
    originals: &[Original<'_>],
    links: Vec<String>,
    rounds: &[Round],
) -> Result<Vec<String>, Failure> {
    let taken: BTreeSet<usize> = rounds.iter().flat_map(|round| round.originals.iter().copied()).collect();
    let mut left: Vec<String> = Vec::new();
    let mut doubtful = links.iter().find(|name| tool.may_have_written(name)).map(|name| (name.clone(), "is a link"));
    for (_, original) in originals.iter().enumerate().filter(|(at, _)| !taken.contains(at)) {
        if tool.may_have_written(original.name()) && !tool.recognises(original) {
            doubtful.get_or_insert((original.name().to_owned(), "does not look like one of its files"));
        }
        left.push(original.name().to_owned());
    }
    if let Some((name, why)) = doubtful {
        return Err(Failure::refused(format!("`{}` may be one of {tool}, and {why}", one_line(&name)))
            .hint("name the files that belong to the round, or take this one out of the folder"));
    }
    left.extend(links);
    left.sort();
    Ok(left)
}

/// What is said of files that were left out.
fn note_left_out(left_out: &[String]) -> Option<String> {
    const SHOWN: usize = 5;
    if left_out.is_empty() {
        return None;
    }
    let shown: Vec<_> = left_out.iter().take(SHOWN).map(|name| one_line(name)).collect();
    let more = match left_out.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("not read: {}{more}", shown.join(", ")))
}

/// What is about to be signed, in a few words.
fn about(imported: &[Imported]) -> String {
    match imported {
        [one] => append::summary(&one.body),
        many => {
            let lines: Vec<_> = many.iter().map(|one| one.body.line.as_str()).collect();
            format!("{} rounds, of the lines {}", many.len(), lines.join(", "))
        }
    }
}

fn options(arguments: &Arguments, context: &Context) -> Result<Options, Failure> {
    let limits = Limits {
        document: arguments.max_document_bytes,
        sample: arguments.max_sample_bytes,
        depth: arguments.max_depth,
    };
    let (filter, metric) = (arguments.filter.clone(), arguments.metric.clone());
    let texts = if arguments.dry_run {
        Texts::Digested
    } else {
        // Where evidence is made ready; of what is refused nothing is left there.
        let ledger = context.ledger_folder()?;
        Texts::KeptIn(Some(ledger.join("staging")).filter(|staging| staging.is_dir()).unwrap_or(ledger))
    };
    Ok(Options { filter, metric, tasks: arguments.task.clone(), limits, texts })
}

/// The line of each round: the one that was named, or for several tasks one a task below it.
fn lines(arguments: &Arguments, ledger: Option<&Ledger>, rounds: &[Round]) -> Result<Vec<LineName>, Failure> {
    let line = match (&arguments.line, ledger) {
        (Some(line), _) => line.clone(),
        (None, Some(ledger)) => ledger.config().defaults.line.parse()?,
        (None, None) => LineName::main(),
    };
    if rounds.len() == 1 {
        return Ok(vec![line]);
    }
    let mut taken: BTreeMap<LineName, &str> = BTreeMap::new();
    let mut lines = Vec::new();
    for round in rounds {
        let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c) { c } else { '-' };
        let task: String = round.task.to_lowercase().chars().map(plain).collect();
        let name: LineName = format!("{line}.{task}").chars().take(64).collect::<String>().parse()?;
        if let Some(other) = taken.insert(name.clone(), &round.task) {
            return Err(Failure::refused(format!(
                "the tasks `{}` and `{}` would share the line `{name}`",
                one_line(other),
                one_line(&round.task)
            ))
            .hint("import them one at a time, with --task NAME --line LINE"));
        }
        lines.push(name);
    }
    Ok(lines)
}

fn checked(mut round: Round, line: LineName, arguments: &Arguments, texts: &Texts) -> Result<Imported, Failure> {
    let rendered = render(&round, texts)?;
    if round.originals.len() > MAX_ORIGINALS {
        let task = one_line(&round.task);
        let count = round.originals.len();
        return Err(Failure::refused(format!(
            "the task `{task}` comes from {count} files, and a receipt names at most {MAX_ORIGINALS}"
        )));
    }
    let unknown = rendered.unknown.iter();
    let unknown = unknown.map(|fact| Unknown { field: *fact, allowed: arguments.allow_unknown.contains(fact) });
    let body = ScorecardBody {
        line,
        basis: Basis::Recomputed,
        card: rendered.card.clone(),
        scorer: rendered.scorer.clone(),
        sealed: false,
        unknown: unknown.collect(),
    };
    let states = State::ALL.map(|state| (state.as_str(), round.count(state))).into_iter().collect();
    let (remarks, projection) = (round.sentences(), rendered.projection.blake3());
    round.items = Vec::new().into();
    Ok(Imported { round, states, remarks, rendered, projection, body })
}

/// What was evaluated, where the user names it.
fn subjects(arguments: &Arguments) -> Result<Vec<Subject>, Failure> {
    arguments.subject.iter().map(|subject| subject.resolve(Path::new(""))).collect()
}

impl Imported {
    /// The draft as it will be, for what an append would refuse: nothing is stored yet.
    fn ahead(
        &self,
        files: &[ForeignFile],
        subject: &[Subject],
        arguments: &Arguments,
        context: &Context,
    ) -> Result<Draft, Failure> {
        let mut evidence = Vec::new();
        for place in &self.round.originals {
            let file = &files[*place];
            let original = entry_ahead(role::ORIGINAL.parse()?, &file.path)?;
            evidence.push(Evidence { media_type: media_type(&file.name).to_owned(), ..original });
        }
        for role in [role::QUESTIONS, role::ANSWERS, role::JUDGEMENTS, role::PROJECTION, role::IMPORT] {
            // Each role is there once, so that any digest serves, and no object is larger.
            let digests = Digests { size: MAX_OBJECT_BYTES, ..digest_slice(role.as_bytes()) };
            evidence.push(entry(role.parse()?, &digests, "application/jsonl", true));
        }
        let mut subject = subject.to_vec();
        if subject.is_empty() {
            subject.push(Subject::new(role::ANSWERS.parse()?, Sha256::of(b"")));
        }
        self.draft(subject, evidence, arguments, context)
    }

    fn manifest(&self, options: &Options, originals: Vec<NamedOriginal>) -> Manifest {
        let options = Options { tasks: vec![self.round.task.clone()], ..options.clone() };
        Manifest { tool: self.round.tool, task: self.round.task.clone(), options, originals }
    }

    fn draft(
        &self,
        subject: Vec<Subject>,
        evidence: Vec<Evidence>,
        arguments: &Arguments,
        context: &Context,
    ) -> Result<Draft, Failure> {
        let note = match &arguments.note {
            Some(note) => Some(note.clone()),
            None => Some(note(&self.round, &self.remarks)?),
        };
        let (recorded_at, tool) = (context.recorded_at()?, context.tool());
        Ok(Draft { subject, evidence, note, recorded_at, tool, body: Body::Scorecard(self.body.clone()) })
    }

    /// Stores the evidence, which is not held any longer then, and drafts the receipt.
    fn store(
        &mut self,
        files: &[ForeignFile],
        options: &Options,
        subject: &[Subject],
        arguments: &Arguments,
        context: &Context,
        ledger: &Ledger,
    ) -> Result<Draft, Failure> {
        // The originals on one core, what was made of them on another.
        let store = ledger.store();
        let files: Vec<&ForeignFile> = self.round.originals.iter().map(|place| &files[*place]).collect();
        let (read, made) = rayon::join(|| stored(&files, store), || self.store_made(store));
        let (mut evidence, mut originals) = (Vec::new(), Vec::new());
        for (file, digests) in files.iter().zip(read?) {
            originals.push(NamedOriginal { name: file.name.clone(), blake3: digests.blake3 });
            evidence.push(entry(role::ORIGINAL.parse()?, &digests, media_type(&file.name), true));
        }
        let manifest = self.manifest(options, originals);
        // Two files of the same bytes are one object.
        evidence.sort();
        evidence.dedup_by(|one, other| one.blake3 == other.blake3);
        for (role, digests) in made? {
            evidence.push(entry(role.parse()?, &digests, "application/jsonl", true));
        }
        evidence.push(Piece::new(role::IMPORT, manifest.encode(), "application/json", true).store(store)?);
        let mut subject = subject.to_vec();
        if subject.is_empty() {
            let answers = evidence.iter().find(|evidence| evidence.role.as_str() == role::ANSWERS);
            let answers = answers.map(|answers| Ok::<_, Failure>(Subject::new(role::ANSWERS.parse()?, answers.sha256)));
            subject.extend(answers.transpose()?);
        }
        self.draft(subject, evidence, arguments, context)
    }

    /// Stores what was made of the originals.
    fn store_made(&self, store: &dyn Store) -> Result<Vec<(&'static str, Digests)>, StoreError> {
        let Rendered { questions, answers, judgements, projection, .. } = &self.rendered;
        let sheets = [
            (role::QUESTIONS, questions),
            (role::ANSWERS, answers),
            (role::JUDGEMENTS, judgements),
            (role::PROJECTION, projection),
        ];
        sheets.into_iter().map(|(role, sheet)| Ok((role, sheet.put(store)?))).collect()
    }

    fn document<'a>(
        &'a self,
        files: &'a [ForeignFile],
        index: Option<u64>,
        receipt: Option<String>,
    ) -> ImportedRound<'a> {
        ImportedRound {
            task: &self.round.task,
            index,
            receipt,
            line: &self.body.line,
            model: self.round.model.as_deref(),
            scorer: &self.body.scorer,
            card: &self.body.card,
            states: &self.states,
            planned: self.round.planned,
            unknown: &self.body.unknown,
            remarks: &self.remarks,
            originals: self.round.originals.iter().map(|place| files[*place].name.as_str()).collect(),
            projection: self.projection.to_string(),
        }
    }
}

/// Stores originals, which must be what was read.
fn stored(files: &[&ForeignFile], store: &dyn Store) -> Result<Vec<Digests>, Failure> {
    let mut stored = Vec::new();
    for file in files {
        let digests = put_file(store, &file.path)?;
        file.refuse_changed(&digests)?;
        stored.push(digests);
    }
    Ok(stored)
}

/// What a receipt says for people of where it came from.
fn note(round: &Round, remarks: &[String]) -> Result<Text, Failure> {
    let mut note = format!("imported from {}, task {}", round.tool, one_line(&round.task));
    for sentence in remarks {
        note.push_str("; ");
        note.push_str(&one_line(sentence));
    }
    let end = (0..=note.len().min(1000)).rev().find(|at| note.is_char_boundary(*at)).unwrap_or(0);
    Ok(note[..end].trim_end().parse()?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportDocument<'a> {
    schema: &'static str,
    tool: &'static str,
    recognised: bool,
    dry_run: bool,
    size: Option<u64>,
    left_out: &'a [String],
    rounds: Vec<ImportedRound<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportedRound<'a> {
    task: &'a str,
    index: Option<u64>,
    receipt: Option<String>,
    line: &'a LineName,
    model: Option<&'a str>,
    scorer: &'a ScorerIdentity,
    card: &'a Scorecard,
    states: &'a BTreeMap<&'static str, usize>,
    planned: Option<u64>,
    unknown: &'a [Unknown],
    remarks: &'a [String],
    originals: Vec<&'a str>,
    projection: String,
}

fn text(document: &ImportDocument<'_>) -> String {
    let mut text = String::new();
    if document.recognised {
        text.push_str(&format!("recognised: {}\n", document.tool));
    }
    for round in &document.rounds {
        let card = round.card;
        let name = match (&round.receipt, round.index) {
            (Some(receipt), Some(index)) => {
                format!("[{} {}] receipt {index}", round.line, &receipt[..12])
            }
            _ => format!("[{}] not recorded", round.line),
        };
        let states: Vec<_> = State::ALL
            .into_iter()
            .filter_map(|state| Some((state, *round.states.get(state.as_str())?)))
            .filter(|(_, count)| *count > 0)
            .map(|(state, count)| format!("{count} {}", state.as_str()))
            .collect();
        text.push_str(&format!(
            "{name}  {} {}\n  quality {:.4}  n {}  {}\n  model {}\n  scorer {}\n  questions {}\n",
            document.tool,
            one_line(round.task),
            card.quality(),
            card.n(),
            states.join(", "),
            round.model.map_or("unknown".to_owned(), one_line),
            round.scorer,
            card.question_set_id(),
        ));
        for remark in round.remarks {
            text.push_str(&format!("  {}\n", one_line(remark)));
        }
        for unknown in round.unknown {
            let allowed = if unknown.allowed { ", allowed" } else { "" };
            text.push_str(&format!("  unknown: {} ({}{allowed})\n", unknown.field.meaning(), unknown.field));
        }
    }
    text
}
