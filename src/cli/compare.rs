//! `proofmark compare`: two rounds, or two gate runs, side by side; refused where the evidence does not match.

use std::path::PathBuf;

use proofmark::compare::{Axis, Comparison, Difference, Evidence, Flips, Round};
use proofmark::ledger::{
    ComparedRounds, Draft, History, Ledger, NumberedRound, RoundEvidence, Snapshot, compare_rounds, role,
};
use proofmark::object::parse;
use proofmark::question::QuestionSet;
use proofmark::receipt::{self, Body, Kind, LineName, Subject, Text};
use proofmark::scorecard::{Fact, Scorecard, Tolerance};
use proofmark::store::{digest_slice, put_slice};
use proofmark::trust::Role;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::{self, RecordFile};
use super::signing::{Hands, SigningOptions};
use super::{gates, markdown, rounds};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without revisions, the newest round of the line is compared with the line's baseline or, where none is set, with the round
before it. With one, that round is the base. Two gate receipts are compared where both asked the same subjects under the
same profile. REV is `@`, `main`, `main~1`, `#12` or an id prefix.

Exit codes: 0 not regressed, 3 regressed (or a must-pass question fails, or a gate's verdict got worse), 2 not comparable.

Examples:
  proofmark compare
  proofmark compare main~3 main --replies
  proofmark compare '#7' '#9' --tolerance 0.01             two gate receipts
  proofmark compare --line nightly --tolerance 0.01 --record
  proofmark compare --format markdown >> summary.md
  proofmark compare --cards before.json after.json --json")]
pub struct Arguments {
    /// The round to compare with
    base: Option<String>,
    /// The round to compare
    current: Option<String>,
    /// The line whose rounds are meant [default: the ledger's, main]
    #[arg(long)]
    line: Option<LineName>,
    /// How much worse an axis may be without counting, finite and not negative
    #[arg(long, value_name = "T", default_value_t = proofmark::scorecard::DEFAULT_TOLERANCE.as_f64())]
    tolerance: f64,
    /// Compare two scorecard files (mixle's `to_dict()`), without a ledger
    #[arg(long, num_args = 2, value_names = ["BASE", "CURRENT"], conflicts_with_all = ["base", "current", "line", "record", "replies", "questions"])]
    cards: Option<Vec<PathBuf>>,
    /// Show both replies to every question that flipped
    #[arg(long)]
    replies: bool,
    /// The questions of a sealed set, to name what flipped
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,
    /// Compare although FIELD is unknown of a round that was imported (repeatable): configuration, cost, generation, model,
    /// prompts, references, repeats or scorer
    #[arg(long, value_name = "FIELD")]
    allow_unknown: Vec<Fact>,
    /// How the answer is written: `markdown` is for the summary of a pipeline
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Text, conflicts_with = "replies")]
    format: Form,
    /// Append the comparison as a receipt
    #[arg(long)]
    record: bool,
    /// A word for the reader of the receipt
    #[arg(long, value_name = "TEXT", requires = "record")]
    note: Option<Text>,
    #[command(flatten)]
    keys: SigningOptions,
}

/// How a comparison is written for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    Text,
    Markdown,
}

impl Form {
    fn write(self, comparison: &Comparison, replies: Option<&ComparedRounds>) -> String {
        match self {
            Self::Text => text(comparison, replies),
            Self::Markdown => markdown::summary(comparison),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let tolerance = Tolerance::new(arguments.tolerance)?;
    if arguments.format == Form::Markdown && context.json() {
        return Err(Failure::refused("--json and --format markdown are two forms of one answer").hint("ask for one"));
    }
    if let Some([base, current]) = arguments.cards.as_deref() {
        let comparison = Comparison::of(card_file(base)?, card_file(current)?, tolerance, Evidence::NONE);
        let comparison = comparison.map_err(Failure::refused)?;
        context.answer(&comparison, || arguments.format.write(&comparison, None))?;
        return Ok(exit(&comparison));
    }
    let ledger = context.ledger()?;
    let snapshot = ledger.snapshot()?;
    let history = History::read(&ledger, &snapshot)?;
    let revisions = [arguments.base.as_deref(), arguments.current.as_deref()];
    if let Some((base, current)) = gates::pair(revisions, &ledger, &snapshot)? {
        let markdown = arguments.format == Form::Markdown;
        let of_rounds = arguments.record || arguments.replies || arguments.questions.is_some() || markdown;
        if of_rounds || arguments.line.is_some() {
            return Err(Failure::refused(
                "--record, --replies, --questions, --format and --line are for rounds, not for gate runs",
            ));
        }
        return gates::compare(&ledger, &base, &current, tolerance, context);
    }
    let (base, current) = pair(arguments, &ledger, &snapshot, &history)?;
    for round in [&base, &current] {
        if let Some(index) = history.withdrawn(round.reference.index) {
            context.note(&format!("{} was withdrawn, in #{index}: nothing that rests on it is released", round.name()));
        }
    }
    let looks = history.looks(current.body().card.question_set_id(), current.reference.index);
    let withheld = arguments.questions.as_deref().map(read_questions).transpose()?;
    let compared = compare_rounds(
        ledger.store(),
        &base,
        &current,
        tolerance,
        Some(looks),
        withheld.as_ref(),
        &arguments.allow_unknown,
    )?;
    let recorded = match arguments.record {
        true => Some(record(arguments, context, &ledger, &base, &current, &compared.comparison)?),
        false => None,
    };
    if context.json() {
        context.print_json(&compared.comparison)?;
    } else {
        let replies = arguments.replies.then_some(&compared);
        context.print(&arguments.format.write(&compared.comparison, replies))?;
        if let Some(recorded) = recorded {
            context.print(&recorded)?;
        }
    }
    Ok(exit(&compared.comparison))
}

/// What came out, in a few words.
pub fn outcome(comparison: &Comparison) -> &'static str {
    match (exit(comparison), comparison.must_pass_failing()) {
        (Exit::Yes, _) => "Not regressed",
        (Exit::No, true) => "A question that must pass fails",
        (Exit::No, false) => "Regressed",
        _ => "Not comparable",
    }
}

fn exit(comparison: &Comparison) -> Exit {
    match (comparison.report.comparable, comparison.report.regressed || comparison.must_pass_failing()) {
        (false, _) => Exit::Refused,
        (true, true) => Exit::No,
        (true, false) => Exit::Yes,
    }
}

fn card_file(path: &std::path::Path) -> Result<Round, Failure> {
    let file = RecordFile::read_document(path)?;
    let json = parse(&file.bytes).map_err(|error| Failure::refused(format!("{}: {error}", file.name)))?;
    let scorecard =
        Scorecard::from_json_or_unbound(&json).map_err(|error| Failure::refused(format!("{}: {error}", file.name)))?;
    Ok(Round { name: file.name, receipt: None, scorer: None, scorecard })
}

fn read_questions(path: &std::path::Path) -> Result<QuestionSet, Failure> {
    let file = RecordFile::read(path)?;
    Ok(QuestionSet::parse(&file.name, file.bytes.as_slice())?)
}

/// The two rounds that are meant.
fn pair(
    arguments: &Arguments,
    ledger: &Ledger,
    snapshot: &Snapshot<'_>,
    history: &History,
) -> Result<(NumberedRound, NumberedRound), Failure> {
    let named = |revision: &String| -> Result<NumberedRound, Failure> {
        let index = rounds::resolve(ledger, revision)?;
        rounds::at(ledger, snapshot, history, index)
    };
    let base = arguments.base.as_ref().map(named).transpose()?;
    let line = match (&arguments.line, &base) {
        (Some(line), _) => line.clone(),
        (None, Some(base)) => base.body().line.clone(),
        (None, None) => ledger.config().defaults.line.parse()?,
    };
    let current = match &arguments.current {
        Some(revision) => named(revision)?,
        None => rounds::of_line(ledger, snapshot, history, &line, 0)?,
    };
    let base = match (base, history.baseline(&line)) {
        (Some(base), _) => base,
        (None, Some(baseline)) => rounds::at(ledger, snapshot, history, baseline.index)?,
        (None, None) => rounds::of_line(ledger, snapshot, history, &line, 1)?,
    };
    Ok((base, current))
}

/// Appends the comparison with its full document as evidence.
fn record(
    arguments: &Arguments,
    context: &Context,
    ledger: &Ledger,
    base: &NumberedRound,
    current: &NumberedRound,
    comparison: &Comparison,
) -> Result<String, Failure> {
    if base.reference == current.reference {
        return Err(Failure::refused(format!("{} is compared with itself, which says nothing to record", base.name()))
            .hint("name another round: `proofmark log` lists them"));
    }
    if !comparison.report.comparable {
        return Err(Failure::refused("the rounds cannot be compared, so there is no comparison to record")
            .hint("`proofmark compare` without --record says what differs"));
    }
    let hands = Hands::ready(&arguments.keys, context, ledger, &[Role::Append])?;
    let allow_unknown: Vec<Fact> =
        comparison.unknown.iter().filter(|fact| fact.allowed).map(|fact| fact.field).collect();
    let body = receipt::Comparison {
        base: base.reference,
        current: current.reference,
        tolerance: arguments.tolerance,
        report: comparison.report.clone(),
        allow_unknown,
    };
    let about = format!("{} to {}, {}", base.name(), current.name(), body.outcome());
    let document = proofmark::object::encode(comparison).map_err(Failure::failed)?;
    let digests = digest_slice(&document);
    let draft = Draft {
        subject: vec![Subject::of_receipt(base.receipt().bytes())?, Subject::of_receipt(current.receipt().bytes())?],
        evidence: vec![intake::entry(role::REPORT.parse()?, &digests, "application/json", true)],
        note: arguments.note.clone(),
        recorded_at: context.recorded_at()?,
        tool: context.tool(),
        body: Body::Comparison(body),
    };
    hands.rehearsal(ledger)?.hold(draft.clone())?;
    let pen = hands.agree(context, ledger, Kind::Comparison, &about)?;
    put_slice(ledger.store(), &document)?;
    let appended = pen.append(context, ledger, [Ok(draft)])?;
    let texts = appended.iter().map(|one| format!("recorded: receipt {} {}\n", one.index, one.receipt.short()));
    Ok(texts.collect())
}

fn text(comparison: &Comparison, replies: Option<&ComparedRounds>) -> String {
    let mut text = String::new();
    for (side, round) in [("base", &comparison.base), ("current", &comparison.current)] {
        let receipt = round.receipt.as_deref().map_or("", |receipt| &receipt[..12]);
        let scorer = round.scorer.as_deref().unwrap_or_default();
        text.push_str(format!("{side:8} {}  {receipt}  {scorer}", one_line(&round.name)).trim_end());
        text.push('\n');
    }
    text.push_str(&axes(comparison));
    if let Some(flips) = &comparison.flips {
        text.push_str(&flipped(flips));
    }
    if let Some(replies) = replies {
        text.push_str(&both_replies(replies));
    }
    if let Some(chance) = &comparison.statistics {
        text.push_str(&format!(
            "chance: exact McNemar p = {:.4} two-sided, {:.4} that it is worse",
            chance.mcnemar.two_sided, chance.mcnemar.one_sided_worse
        ));
        if let Some(interval) = &chance.difference.tango95 {
            text.push_str(&format!("; difference in 95% interval [{:+.4}, {:+.4}]", interval.lower, interval.upper));
        }
        if let Some(looks) = chance.looks {
            text.push_str(&format!("; {looks} rounds have looked at this set"));
        }
        text.push('\n');
    }
    text.push_str(&verdict(comparison));
    text
}

fn axes(comparison: &Comparison) -> String {
    let axes = &comparison.axes;
    let mut text = format!("{:18}{:>14}{:>14}{:>14}\n", "", "base", "current", "delta");
    for (name, axis) in [
        ("quality", axes.quality),
        ("grounded_fraction", axes.grounded_fraction),
        ("realized_cost", axes.realized_cost),
    ] {
        let worse = if axis.worse == Some(true) { "  worse" } else { "" };
        let (base, current, delta) = written(axis, known(comparison, name));
        text.push_str(&format!("{name:18}{base:>14}{current:>14}{delta:>14}{worse}\n"));
    }
    text.push_str(&format!("{:18}{:>14}{:>14}{:>+14}\n", "n", axes.n.base, axes.n.current, axes.n.delta));
    text
}

/// Whether an axis of this name is known of the base round and of the current one: only a cost may not be.
pub fn known(comparison: &Comparison, name: &str) -> (bool, bool) {
    if name.ends_with("cost") { comparison.costs_known() } else { (true, true) }
}

/// An axis for people, base, current and delta. What is not known is no number.
pub fn written(axis: Axis, (base, current): (bool, bool)) -> (String, String, String) {
    let unknown = || "unknown".to_owned();
    let number = |known: bool, text: String| if known { text } else { unknown() };
    (
        number(base, format!("{:.4}", axis.base)),
        number(current, format!("{:.4}", axis.current)),
        number(base && current, format!("{:+.4}", axis.delta)),
    )
}

/// Names listed for people; `--json` has all of them.
const NAMED: usize = 40;

fn listed(names: &[String]) -> String {
    let mut text: Vec<_> = names.iter().take(NAMED).map(|name| one_line(name)).collect();
    if names.len() > NAMED {
        text.push(format!("and {} more", names.len() - NAMED));
    }
    text.join(" ")
}

fn flipped(flips: &Flips) -> String {
    let mut text = String::new();
    for (what, names) in [
        ("newly failing", &flips.newly_failing),
        ("newly passing", &flips.newly_passing),
        ("must pass and fail", &flips.must_pass_failing),
    ] {
        if !names.is_empty() {
            text.push_str(&format!("{what} ({}): {}\n", names.len(), listed(names)));
        }
    }
    text
}

fn both_replies(compared: &ComparedRounds) -> String {
    let Some(flips) = &compared.comparison.flips else { return String::new() };
    let (Some(base), Some(current)) = (&compared.base.judged, &compared.current.judged) else { return String::new() };
    let mut text = String::new();
    for at in 0..current.correct.len() {
        let name = name_at(&compared.current, at);
        let flip = match (base.correct[at], current.correct[at]) {
            (true, false) => "newly failing",
            (false, true) => "newly passing",
            _ => continue,
        };
        debug_assert!(flips.newly_failing.len() + flips.newly_passing.len() > 0);
        let shown = |reply: Option<&str>| reply.map_or("no reply".to_owned(), |reply| format!("“{}”", one_line(reply)));
        text.push_str(&format!("{name}: {flip}\n"));
        if let Some(question) = compared.current.questions.as_ref().and_then(|set| set.questions().get(at)) {
            text.push_str(&format!("  question  {}\n", one_line(question.query().text())));
            text.push_str(&format!("  expected  {}\n", one_line(question.expected())));
        }
        text.push_str(&format!("  base      {}\n", shown(base.answers[at].reply())));
        text.push_str(&format!("  current   {}\n", shown(current.answers[at].reply())));
    }
    text
}

fn name_at(evidence: &RoundEvidence, at: usize) -> String {
    let question = evidence.questions.as_ref().and_then(|set| set.questions().get(at));
    let id = question.and_then(|question| question.id());
    id.map_or_else(|| format!("#{}", at + 1), one_line)
}

fn verdict(comparison: &Comparison) -> String {
    let report = &comparison.report;
    let mut text = String::new();
    for fact in comparison.unknown.iter().filter(|fact| !fact.forbids()) {
        let why = if fact.allowed { "allowed" } else { "not compared" };
        text.push_str(&format!("{fact}: {why}\n"));
    }
    if !report.comparable {
        text.push_str("not comparable\n");
        for reason in &report.reasons {
            text.push_str(&format!("  {}\n", one_line(reason)));
        }
        // What is unknown stands among the reasons already.
        let differs = |difference: &&Difference| !matches!(difference, Difference::Unknown(_));
        for difference in comparison.differences.iter().filter(differs) {
            text.push_str(&format!("  {}\n", one_line(&difference.to_string())));
        }
        let forbidding = comparison.unknown.iter().filter(|fact| fact.forbids());
        let options: Vec<_> = forbidding.map(|fact| format!("--allow-unknown {}", fact.field)).collect();
        if !options.is_empty() {
            text.push_str(&format!("to compare although this is unknown: {}\n", options.join(" ")));
        }
        return text;
    }
    text.push_str(if report.regressed { "regressed" } else { "not regressed" });
    if comparison.tolerance.as_f64() > Tolerance::default().as_f64() {
        text.push_str(&format!(" beyond {}", comparison.tolerance.as_f64()));
    }
    text.push('\n');
    for reason in &report.reasons {
        text.push_str(&format!("  {}\n", one_line(reason)));
    }
    if comparison.must_pass_failing() {
        text.push_str("  a question that must pass fails\n");
    }
    text
}
