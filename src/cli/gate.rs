//! `proofmark gate`: predictions that something else made are judged; the report is printed, kept and recorded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use proofmark::calibrate::{Decimal, Input, MAX_NAME_BYTES, Predictions, Profile, Reading};
use proofmark::gate::{Report, Verdict, evaluate};
use proofmark::ledger::{Draft, Ledger, role};
use proofmark::object::Sha256;
use proofmark::receipt::{Body, Evidence, GateBody, Kind, Subject, Text};
use proofmark::store::{Digests, digest_slice, put_file, put_slice};
use proofmark::trust::Role;

use super::context::{Context, JsonAnswer};
use super::failure::{Exit, Failure};
use super::intake::{self, SubjectArgument, Unreadable, media_type, open_plain};
use super::outfile::{OutFile, StagedFile};
use super::signing::{Hands, SigningOptions};
use super::{progress, rules};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prediction records (JSONL), under the built-in profile bristol/v1:
  {\"model\": \"…\", \"subjectKey\": \"16 hex digits\", \"split\": \"train\"|\"validation\"|\"test\",
   \"truth\": {\"bristolType\": 4}, \"prediction\": {\"bristolType\": 4, \"confidence\": 0.93} or null}

Exit codes: 0 GO, 3 BLOCKED, 2 refused: nothing scored, nothing written.

Examples:
  proofmark gate --predictions resnet.jsonl vit.jsonl --min-coverage 0.5
  proofmark gate --predictions run/*.jsonl --profile spam.json --json gate.json
  proofmark gate --predictions p.jsonl --record --subject model=model.onnx --note \"release 4\"")]
pub struct Arguments {
    /// Prediction records, in one file or many (repeatable)
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    predictions: Vec<PathBuf>,
    /// The least share of validation records that a threshold must accept, 0 to 1 [default: the profile's]
    #[arg(long, value_name = "F")]
    min_coverage: Option<Decimal>,
    /// The task profile: a built-in one, a file, or a digest in the ledger
    #[arg(long, value_name = "NAME|FILE", default_value = "bristol/v1")]
    profile: String,
    /// Answer with the report as JSON on stdout or, with PATH, keep it there beside the text on stdout
    // The global `--json` with a value: one id and one type, so that either place of the flag means the same.
    #[arg(
        id = "json", long = "json", value_name = "PATH", num_args = 0..=1, default_missing_value = "-",
        value_parser = PathBufValueParser::new().map(JsonAnswer::path)
    )]
    answer: Option<JsonAnswer>,
    /// Keep the report here as JSON, whatever goes to stdout
    #[arg(long, value_name = "PATH")]
    report: Option<PathBuf>,
    /// Replace the files that the report goes to; never one of a ledger, a private key, or what is read here
    #[arg(long)]
    force: bool,
    /// Append a gate receipt with predictions, profile and report as evidence
    #[arg(long)]
    record: bool,
    /// What was judged: NAME=FILE or NAME=sha256:HEX (repeatable) [default: the predictions]
    #[arg(long, value_name = "NAME=WHAT", requires = "record")]
    subject: Vec<SubjectArgument>,
    /// A word for the reader of the receipt
    #[arg(long, value_name = "TEXT", requires = "record")]
    note: Option<Text>,
    #[command(flatten)]
    keys: SigningOptions,
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let profile = rules::profile(&arguments.profile, context)?;
    rules::hold_name(&profile, &arguments.profile)?;
    let kept = places(arguments, context)?;
    let recording = match arguments.record {
        true => Some(Recording::ready(arguments, context, &profile)?),
        false => None,
    };
    for finding in profile.findings() {
        context.note(&format!("profile: {} ({}, {})", finding.sentence, finding.code, finding.field));
    }
    let predictions = read(arguments, context, &profile)?;
    let report = evaluate(&predictions, arguments.min_coverage.as_ref())?;
    let bytes = report.encode().map_err(Failure::failed)?;
    // Files are made durable before the receipt and put in their place after it: nothing is kept of a failed run.
    let staged: Vec<_> = kept.into_iter().map(|out| StagedFile::write(out, &bytes)).collect::<Result<_, _>>()?;
    let recorded = match recording {
        Some(recording) => Some(recording.append(arguments, context, &predictions, &report, &bytes)?),
        None => None,
    };
    staged.into_iter().try_for_each(StagedFile::publish)?;
    context.answer(&report, || report.to_string())?;
    match recorded {
        Some(recorded) if context.json() => context.note(&recorded),
        Some(recorded) => context.print(&format!("\n{recorded}\n"))?,
        None => {}
    }
    Ok(if report.verdict == Verdict::Go { Exit::Yes } else { Exit::No })
}

/// Where the report is kept: never over what it is about.
fn places(arguments: &Arguments, context: &Context) -> Result<Vec<OutFile>, Failure> {
    let mut places: Vec<_> = [context.json_file(), arguments.report.as_deref()].into_iter().flatten().collect();
    places.dedup();
    if places.is_empty() && arguments.force {
        return Err(Failure::refused("--force is for a report that is kept in a file")
            .hint("`--json PATH` and `--report PATH` name the file"));
    }
    let mut inputs: Vec<_> = arguments.predictions.iter().map(PathBuf::as_path).collect();
    inputs.push(Path::new(&arguments.profile));
    inputs.extend(arguments.subject.iter().filter_map(SubjectArgument::file));
    places.into_iter().map(|place| OutFile::at(place, arguments.force, &inputs, context)).collect()
}

fn read(arguments: &Arguments, context: &Context, profile: &Profile) -> Result<Predictions, Failure> {
    let mut files = Vec::new();
    let mut total = 0;
    for path in &arguments.predictions {
        let name = path.display().to_string();
        let unreadable = |source| Failure::failed(Unreadable { name: name.clone(), source });
        let file = open_plain(path).map_err(unreadable)?;
        total += file.metadata().map_err(unreadable)?.len();
        files.push((name, file));
    }
    let bar = progress::bytes(context, "reading", total);
    let mut reading = Reading::new(profile);
    for (name, file) in files {
        reading = reading.read(&name, bar.wrap_read(file))?;
    }
    bar.finish_and_clear();
    Ok(reading.finish()?)
}

/// Everything that recording needs, found and fit before anything is read.
struct Recording {
    ledger: Ledger,
    hands: Hands,
    subject: Vec<Subject>,
    profile: Vec<u8>,
}

impl Recording {
    fn ready(arguments: &Arguments, context: &Context, profile: &Profile) -> Result<Self, Failure> {
        if profile.terms().name.len() > MAX_NAME_BYTES {
            return Err(Failure::refused(format!(
                "the profile's name has more than {MAX_NAME_BYTES} bytes, too many for a receipt"
            )));
        }
        for path in &arguments.predictions {
            // They are read twice: once to be judged, once to be kept.
            if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
                return Err(Failure::refused(format!("{} is not a plain file", path.display()))
                    .hint("`--record` keeps the predictions as evidence; put them into a file first"));
            }
        }
        let ledger = context.ledger()?;
        let hands = Hands::ready(&arguments.keys, context, &ledger, &[Role::Append])?;
        let subject = arguments.subject.iter().map(|subject| subject.resolve(Path::new("")));
        let subject = subject.collect::<Result<_, _>>()?;
        Ok(Self { ledger, hands, subject, profile: profile.canonical().to_vec() })
    }

    /// Keeps the evidence and appends the receipt; says where it is.
    fn append(
        self,
        arguments: &Arguments,
        context: &Context,
        predictions: &Predictions,
        report: &Report,
        bytes: &[u8],
    ) -> Result<String, Failure> {
        let Self { ledger, hands, mut subject, profile } = self;
        let recommended =
            report.recommended.as_deref().map_or_else(String::new, |model| format!(", {model} recommended"));
        let about = format!("{}{recommended}, by {}", report.verdict.name(), report.profile.name);
        let mut evidence = vec![
            entry(role::PROFILE, &digest_slice(&profile), "application/json")?,
            entry(role::REPORT, &digest_slice(bytes), "application/json")?,
        ];
        for (path, input) in arguments.predictions.iter().zip(predictions.inputs()) {
            let ahead = intake::entry_ahead(role::PREDICTIONS.parse()?, path)?;
            evidence.push(Evidence { blake3: input.blake3, media_type: media_type(&input.name).to_owned(), ..ahead });
        }
        evidence.sort();
        evidence.dedup_by(|one, other| (&one.role, one.blake3) == (&other.role, other.blake3));
        let subjects = if subject.is_empty() { vec![predictions_subject(&evidence)?] } else { subject.clone() };
        let (recorded_at, tool, note) = (context.recorded_at()?, context.tool(), arguments.note.clone());
        let body = Body::Gate(GateBody::of(report));
        let ahead = Draft { subject: subjects, evidence, note, recorded_at, tool, body };
        hands.rehearsal(&ledger)?.hold(ahead.clone())?;
        let pen = hands.agree(context, &ledger, Kind::Gate, &about)?;
        let store = ledger.store();
        let mut evidence = Vec::new();
        let mut kept = BTreeSet::new();
        for (path, input) in arguments.predictions.iter().zip(predictions.inputs()) {
            let digests = put_file(store, path)?;
            unchanged(path, input, &digests)?;
            // Two empty files are one object.
            if kept.insert(digests.blake3) {
                evidence.push(entry(role::PREDICTIONS, &digests, media_type(&input.name))?);
            }
        }
        if subject.is_empty() {
            subject.push(predictions_subject(&evidence)?);
        }
        evidence.push(entry(role::PROFILE, &put_slice(store, &profile)?, "application/json")?);
        evidence.push(entry(role::REPORT, &put_slice(store, bytes)?, "application/json")?);
        let draft = Draft { subject, evidence, ..ahead };
        let appended = pen.append(context, &ledger, [Ok(draft)])?;
        let texts = appended.iter().map(|one| format!("recorded: receipt {} {}", one.index, one.receipt.short()));
        Ok(texts.collect())
    }
}

fn entry(role: &str, digests: &Digests, media_type: &str) -> Result<Evidence, Failure> {
    Ok(intake::entry(role.parse()?, digests, media_type, true))
}

/// Without a named subject, what was judged is known by its predictions: their SHA-256 or, of several files, that of the
/// sorted list of their digests in hexadecimal, one a line.
fn predictions_subject(evidence: &[Evidence]) -> Result<Subject, Failure> {
    let sha256 = match evidence {
        [one] => one.sha256,
        many => {
            let mut lines: Vec<_> = many.iter().map(|evidence| format!("{}\n", evidence.sha256)).collect();
            lines.sort();
            Sha256::of(lines.concat().as_bytes())
        }
    };
    Ok(Subject::new(role::PREDICTIONS.parse()?, sha256))
}

/// What is kept must be what was judged.
fn unchanged(path: &Path, judged: &Input, kept: &Digests) -> Result<(), Failure> {
    if judged.blake3 == kept.blake3 {
        return Ok(());
    }
    Err(Failure::refused(format!("{} changed while it was read", path.display())))
}
