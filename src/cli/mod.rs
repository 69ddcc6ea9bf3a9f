//! The command line: one file per command, what all of them share in `context`, `failure`, `keys` and `progress`.
//!
//! stdout is the answer and stderr everything else; exit codes are those of `docs/cli.md`.

mod agent;
mod completeness;
mod reveal;
mod dossier;
mod abstain;
mod append;
mod authorize;
mod asking;
mod baseline;
mod bridge;
mod compare;
mod cat;
mod chain;
mod completion;
mod context;
mod deciding;
mod demo;
mod expiry;
mod evaluate;
mod evaluated;
mod failure;
mod heading;
mod foreign;
mod gate;
mod gates;
mod import;
mod init;
mod key;
mod markdown;
mod keyfile;
mod intake;
mod interrupt;
mod judge;
mod round;
mod rounds;
mod signing;
mod signoff;
mod status;
mod keys;
mod outfile;
mod passphrase;
mod policy;
mod profile;
mod progress;
mod prove;
mod verify;
mod questions;
mod log;
mod reindex;
mod rescore;
mod show;
mod rules;
mod ratcheted;
mod trust;
mod whoami;
mod waive;
mod withdraw;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser};

use context::{Context, JsonAnswer};
use failure::{Exit, Failure};

/// A git-style ledger of evaluation receipts: signed, bound to their evidence, re-derivable offline.
#[derive(Debug, Parser)]
#[command(name = "proofmark", version, max_term_width = 110)]
#[command(after_help = "\
Exit codes:
  0  yes: done, GO, not regressed, verified
  3  ran to the end and the answer is no: BLOCKED, regressed, NO-GO, findings
  2  refused: malformed, mismatched or unreproducible evidence, wrong usage; nothing written
  1  could not run: I/O, permission, internal

Examples:
  proofmark demo                                        the whole story in a temporary folder
  proofmark init                                        a ledger in this folder
  proofmark append --questions q.jsonl --answers a.jsonl
  proofmark evaluate --questions q.jsonl --system ./bot
  proofmark compare                                     the newest round against the one before
  proofmark verify --replay                             re-derive every number from its evidence
  proofmark dossier main -o main.dossier                one file for an auditor elsewhere")]
struct CommandLine {
    #[command(flatten)]
    _global: Global,
}

/// What every command takes.
#[derive(Debug, clap::Args)]
pub struct Global {
    /// The ledger's folder [default: the nearest `.ledger` in this folder or above]
    #[arg(long, global = true, env = "PROOFMARK_LEDGER", value_name = "DIR", help_heading = "Global options")]
    pub ledger: Option<PathBuf>,
    /// Answer with one JSON document on stdout
    #[arg(
        long, global = true, action = ArgAction::SetTrue, help_heading = "Global options",
        value_parser = BoolishValueParser::new().map(JsonAnswer::flag)
    )]
    pub json: JsonAnswer,
    /// No progress on stderr
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

/// A command that has been parsed, and needs only a ledger.
type Ready = Box<dyn FnOnce(&Context) -> Result<Exit, Failure>>;

/// A command: what it is called, what it is for, what it takes, and how it is run.
struct Entry {
    name: &'static str,
    about: &'static str,
    takes: fn(clap::Command) -> clap::Command,
    parse: fn(&mut ArgMatches) -> Result<Ready, clap::Error>,
}

/// The commands, as `--help` lists them: name, module, and what it is for.
macro_rules! commands {
    ($(($name:literal, $module:ident, $about:literal),)*) => {
        const COMMANDS: &[Entry] = &[$(Entry {
            name: $name,
            about: $about,
            takes: <$module::Arguments as clap::Args>::augment_args,
            parse: |matches| {
                let arguments = <$module::Arguments as FromArgMatches>::from_arg_matches_mut(matches)?;
                Ok(Box::new(move |context| $module::run(&arguments, context)))
            },
        }),*];
    };
}

commands! {
    ("append", append, "Record a round: score recorded answers, or take a card, and append a signed receipt"),
    ("evaluate", evaluate, "Ask a system every question of a set, and record its answers as a round"),
    ("bridge", bridge, "Judge the answers of a round by another scorer, and record both side by side"),
    ("baseline", baseline, "Set or show the round that later ones of a line are compared with"),
    ("compare", compare, "Compare two rounds; refused where their evidence does not match"),
    ("gate", gate, "Judge candidates by their predictions: GO, or BLOCKED for named reasons"),
    ("signoff", signoff, "Sign GO or NO-GO on a receipt, over everything that it rests on"),
    ("withdraw", withdraw, "Withdraw a receipt: it stays, marked, and nothing that rests on it is released"),
    ("waive", waive, "Waive a check of a receipt for a while; always shown"),
    ("authorize", authorize, "Decide whether a gate run's candidate may be released, naming every reason against it"),
    ("status", status, "Show on one screen what stands, what is missing, and what to run next"),
    ("profile", profile, "Show and check task profiles, which the gate judges by"),
    ("policy", policy, "Show abstention policies; find rules of profiles and policies that are none"),
    ("abstain", abstain, "Hold replies against an abstention policy"),
    ("questions", questions, "Identify, diff, show and seal question sets"),
    ("import", import, "Record rounds that another tool measured, from that tool's own files"),
    ("verify", verify, "Check everything that the ledger claims, and report what does not hold"),
    ("completeness", completeness, "List every round from the first to the last, and every look at a question set"),
    ("dossier", dossier, "Write one file with everything that verifying one receipt takes"),
    ("prove", prove, "Prove that a receipt is in the log, or that the log has only grown; check such proofs"),
    ("init", init, "Make a ledger in this folder, and the keys that it needs"),
    ("key", key, "Make, show and export keys"),
    ("trust", trust, "Show who may do what, and propose that it be otherwise"),
    ("whoami", whoami, "Say which key would sign, whose it is, and what it may do here"),
    ("demo", demo, "Show the whole story in a temporary folder, ending with a tampered copy being caught"),
    ("log", log, "List receipts, newest first"),
    ("show", show, "Show everything in one receipt"),
    ("cat", cat, "Write an object's bytes to stdout, once they are verified"),
    ("reindex", reindex, "Delete the index and make it anew from the log"),
    ("completion", completion, "Print a shell completion script"),
}

/// The command line with some of the commands; only those that are wanted can be parsed. Describing all of them to the
/// parser takes longer than most commands run.
fn command_line<'a>(described: impl IntoIterator<Item = &'a Entry>, wanted: impl Fn(&str) -> bool) -> clap::Command {
    let described = described.into_iter().map(|entry| {
        let command = clap::Command::new(entry.name);
        let command = if wanted(entry.name) { (entry.takes)(command) } else { command };
        command.about(entry.about).long_about(None)
    });
    CommandLine::command().subcommand_required(true).arg_required_else_help(true).subcommands(described)
}

fn parse(arguments: &[OsString]) -> Result<(Global, Ready), clap::Error> {
    // The command stands among the words as it is; that others may equal a command's name costs only time.
    let wanted = |name: &str| arguments.iter().any(|argument| argument == name);
    let few = command_line(COMMANDS.iter().filter(|entry| wanted(entry.name)), wanted);
    match parse_with(few, arguments) {
        // Help lists all commands, and whoever mistyped one is told of those like it.
        Err(error) if error.kind() != ErrorKind::DisplayVersion => {
            parse_with(command_line(COMMANDS, wanted), arguments)
        }
        parsed => parsed,
    }
}

fn parse_with(mut line: clap::Command, arguments: &[OsString]) -> Result<(Global, Ready), clap::Error> {
    let mut matches = line.try_get_matches_from_mut(arguments)?;
    let global = Global::from_arg_matches(&matches)?;
    let (name, mut taken) = matches.remove_subcommand().unwrap_or_default();
    let entry = COMMANDS.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| line.error(ErrorKind::MissingSubcommand, "a command is missing"))?;
    Ok((global, (entry.parse)(&mut taken).map_err(|error| error.format(&mut line))?))
}

/// Runs the command line and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let (global, ready) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are answers; everything else is wrong usage.
            let code = if error.use_stderr() { Exit::Refused } else { Exit::Yes };
            let _ = error.print();
            if code == Exit::Refused && arguments.iter().any(|argument| argument == "--json") {
                Context::report_usage(&error);
            }
            return code.into();
        }
    };
    let context = Context::new(global);
    let outcome = ready(&context).and_then(|exit| context.flush().map(|()| exit));
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) if failure.is_broken_pipe() => Exit::Yes.into(),
        Err(failure) => context.report(&context.told(failure)).into(),
    }
}
