//! `proofmark bridge`: the answers of a round under another scorer, both side by side, recorded.

use std::path::{Path, PathBuf};

use proofmark::ledger::{Bridge, BridgeFrom, History, Ledger, LedgerError, NumberedRound, held_bytes, role, scheme_of};
use proofmark::receipt::{Kind, LineName, Text};
use proofmark::trust::Role;
use serde::Serialize;

use super::append::{self, AppendedRound};
use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::Piece;
use super::round::{CheckedRound, RoundArguments, RoundReader};
use super::signing::{Hands, SigningOptions};
use super::{rescore, rounds};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The bridge is a round of its own: the same answers, judged anew, on the same line unless another is named. Rounds by the
new scorer that come after it are compared with it, as those before it were compared with REV.

Examples:
  proofmark bridge main --scorer normalized/v1
  proofmark bridge main~2 --scorer command/mine/2 --judge ./judge.py --line mine")]
pub struct Arguments {
    /// The round whose answers are judged anew
    #[arg(value_name = "REV")]
    revision: String,
    /// The other judge
    #[arg(long, value_name = "SCORER")]
    scorer: String,
    /// The program that judges, for command/NAME/VERSION
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,
    /// The questions, where the ledger does not hold them
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,
    /// The line of the new round [default: that of REV]
    #[arg(long)]
    line: Option<LineName>,
    /// A word for the reader
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    #[command(flatten)]
    keys: SigningOptions,
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    let base = base(arguments, &ledger)?;
    let nothing_held = || {
        Failure::refused(format!("the ledger does not hold the answers of {}", base.name()))
            .hint("a round is bridged by its answers; one that was appended with --card alone has none")
    };
    let from = BridgeFrom::load(ledger.store(), &base)?.ok_or_else(nothing_held)?;
    let mut checked = judge_anew(arguments, &ledger, &base)?.ok_or_else(nothing_held)?;
    if checked.body().scorer == base.body().scorer {
        return Err(Failure::refused(format!("{} was judged by `{}` already", base.name(), base.body().scorer)));
    }
    let bridge = from.to(&checked.body().scorer, &checked.body().card, checked.correct());
    let bridge = bridge.ok_or_else(|| Failure::failed("the round has other answers than it had"))?;
    let hands = Hands::ready(&arguments.keys, context, &ledger, &[Role::Append])?;
    let (subject, run) = rescore::origin(base.receipt());
    checked.leave_unknown(rescore::still_unknown(base.receipt())?);
    checked.of_subjects(subject);
    run.into_iter().for_each(|run| checked.carry(run));
    let document = bridge.encode().map_err(Failure::failed)?;
    checked.add(Piece::new(role::REPORT, document, "application/json", true));
    let bodies = [checked.body().clone()];
    hands.rehearsal(&ledger)?.hold(checked.ahead(context)?)?;
    let pen = hands.agree(context, &ledger, Kind::Scorecard, &append::summary(&bodies[0]))?;
    let draft = checked.store(context, &ledger)?;
    let appended = pen.append(context, &ledger, [Ok(draft)])?;
    let receipts = append::described(&appended, &bodies);
    let receipts = BridgeDocument { bridge: &bridge, appended: receipts };
    context.answer(&receipts, || text(&base, &bridge, &receipts.appended))?;
    Ok(Exit::Yes)
}

/// The recorded document with what was appended.
#[derive(Serialize)]
struct BridgeDocument<'a> {
    #[serde(flatten)]
    bridge: &'a Bridge,
    appended: Vec<AppendedRound<'a>>,
}

fn base(arguments: &Arguments, ledger: &Ledger) -> Result<NumberedRound, Failure> {
    let snapshot = ledger.snapshot()?;
    let history = History::read(ledger, &snapshot)?;
    let index = rounds::resolve(ledger, &arguments.revision)?;
    rounds::at(ledger, &snapshot, &history, index)
}

/// The round's answers under the other scorer; `None` where they are not held.
fn judge_anew(arguments: &Arguments, ledger: &Ledger, base: &NumberedRound) -> Result<Option<CheckedRound>, Failure> {
    let predicate = &base.receipt().statement().predicate;
    let held = |role| held_bytes(ledger.store(), predicate, role).map_err(LedgerError::from);
    let mut reader = RoundReader::new(ledger);
    let (id, scheme) = (base.body().card.question_set_id(), scheme_of(base.body().card.question_set_id()));
    if let Some(path) = &arguments.questions {
        let found = reader.question_set(path)?.0.id(scheme, &base.body().scorer)?;
        if found.as_str() != id {
            return Err(Failure::refused(format!("{} are not the questions of {}", path.display(), base.name()))
                .hint(format!("they are {found}, and the round was measured on {id}")));
        }
    }
    // The same bytes where they are held, so that both rounds name the same object.
    let questions = match (held(role::QUESTIONS)?, &arguments.questions) {
        (Some(bytes), _) => {
            let name = PathBuf::from(format!("the questions of {}", base.name()));
            reader.give_questions(&name, bytes)?;
            name
        }
        (None, Some(path)) => path.clone(),
        (None, None) => {
            return Err(Failure::refused(format!("the ledger does not hold the questions of {}", base.name()))
                .hint("name them: --questions FILE"));
        }
    };
    let Some(bytes) = held(role::ANSWERS)? else { return Ok(None) };
    let answers = PathBuf::from(format!("the answers of {}", base.name()));
    reader.give_answers(&answers, bytes);
    let round = RoundArguments {
        questions: Some(questions),
        answers: Some(answers),
        scorer: Some(arguments.scorer.clone()),
        judge: arguments.judge.clone(),
        scheme: Some(scheme),
        line: Some(arguments.line.clone().unwrap_or_else(|| base.body().line.clone())),
        note: arguments.note.clone(),
        sealed: base.body().sealed,
        ..RoundArguments::default()
    };
    Ok(Some(reader.check(&round, Path::new(""))?))
}

/// Names listed for people; `--json` has all of them.
const NAMED: usize = 40;

fn text(base: &NumberedRound, bridge: &Bridge, appended: &[AppendedRound<'_>]) -> String {
    let (old, new) = (&bridge.base, &bridge.bridged);
    let mut text = append::text(appended);
    text.push_str(&format!("base     {}  {}\nbridged  the same answers  {}\n", base.name(), old.scorer, new.scorer));
    text.push_str(&format!("{:18}{:>14}{:>14}{:>14}\n", "", "base", "bridged", "delta"));
    let (before, after) = (old.scorecard.quality(), new.scorecard.quality());
    text.push_str(&format!("{:18}{before:>14.4}{after:>14.4}{:>+14.4}\n", "quality", after - before));
    text.push_str(&format!(
        "agreement {:.4}: {} right by both, {} wrong by both\n",
        bridge.agreement, bridge.both_right, bridge.both_wrong
    ));
    for (what, names) in [
        (format!("right by {} only", old.scorer), &bridge.only_base),
        (format!("right by {} only", new.scorer), &bridge.only_bridged),
    ] {
        if !names.is_empty() {
            let mut listed: Vec<_> = names.iter().take(NAMED).map(|name| one_line(name)).collect();
            if names.len() > NAMED {
                listed.push(format!("and {} more", names.len() - NAMED));
            }
            text.push_str(&format!("{what} ({}): {}\n", names.len(), listed.join(" ")));
        }
    }
    text
}
