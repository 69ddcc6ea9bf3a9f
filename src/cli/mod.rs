//! The command line: one file per command, what all of them share in `context`, `failure`, `keys` and `progress`.
//!
//! stdout is the answer and stderr everything else; exit codes are those of `docs/cli.md`.

mod agent;
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
mod gate;
mod gates;
mod init;
mod key;
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
mod trust;
mod whoami;
mod waive;
mod withdraw;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::{ArgAction, CommandFactory, Parser, Subcommand};

use context::{Context, JsonAnswer};
use failure::{Exit, Failure};

/// A git-style ledger of evaluation receipts: signed, bound to their evidence, re-derivable offline.
#[derive(Debug, Parser)]
#[command(name = "proofmark", version, arg_required_else_help = true, max_term_width = 110)]
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
  proofmark verify --replay                             re-derive every number from its evidence")]
struct Command {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Subcommands,
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

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Record a round: score recorded answers, or take a card, and append a signed receipt
    Append(Box<append::Arguments>),
    /// Ask a system every question of a set, and record its answers as a round
    Evaluate(Box<evaluate::Arguments>),
    /// Judge the answers of a round by another scorer, and record both side by side
    Bridge(bridge::Arguments),
    /// Set or show the round that later ones of a line are compared with
    Baseline(baseline::Arguments),
    /// Compare two rounds; refused where their evidence does not match
    Compare(Box<compare::Arguments>),
    /// Judge candidates by their predictions: GO, or BLOCKED for named reasons
    Gate(Box<gate::Arguments>),
    /// Sign GO or NO-GO on a receipt, over everything that it rests on
    Signoff(Box<signoff::Arguments>),
    /// Withdraw a receipt: it stays, marked, and nothing that rests on it is released
    Withdraw(Box<withdraw::Arguments>),
    /// Waive a check of a receipt for a while; always shown
    Waive(Box<waive::Arguments>),
    /// Decide whether a gate run's candidate may be released, naming every reason against it
    Authorize(Box<authorize::Arguments>),
    /// Show on one screen what stands, what is missing, and what to run next
    Status(status::Arguments),
    /// Show and check task profiles, which the gate judges by
    Profile(profile::Arguments),
    /// Show abstention policies; find rules of profiles and policies that are none
    Policy(policy::Arguments),
    /// Hold replies against an abstention policy
    Abstain(Box<abstain::Arguments>),
    /// Identify, diff, show and seal question sets
    Questions(questions::Arguments),
    /// Check everything that the ledger claims, and report what does not hold
    Verify(verify::Arguments),
    /// Prove that a receipt is in the log, or that the log has only grown; check such proofs
    Prove(prove::Arguments),
    /// Make a ledger in this folder, and the keys that it needs
    Init(init::Arguments),
    /// Make, show and export keys
    Key(key::Arguments),
    /// Show who may do what, and propose that it be otherwise
    Trust(Box<trust::Arguments>),
    /// Say which key would sign, whose it is, and what it may do here
    Whoami(whoami::Arguments),
    /// Show the whole story in a temporary folder, ending with a tampered copy being caught
    Demo(demo::Arguments),
    /// List receipts, newest first
    Log(log::Arguments),
    /// Show everything in one receipt
    Show(show::Arguments),
    /// Write an object's bytes to stdout, once they are verified
    Cat(cat::Arguments),
    /// Delete the index and make it anew from the log
    Reindex(reindex::Arguments),
    /// Print a shell completion script
    Completion(completion::Arguments),
}

/// Runs the command line and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let command = match Command::try_parse_from(&arguments) {
        Ok(command) => command,
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
    let context = Context::new(command.global);
    let outcome = dispatch(command.command, &context).and_then(|exit| context.flush().map(|()| exit));
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) if failure.is_broken_pipe() => Exit::Yes.into(),
        Err(failure) => context.report(&failure).into(),
    }
}

fn dispatch(command: Subcommands, context: &Context) -> Result<Exit, Failure> {
    match command {
        Subcommands::Verify(arguments) => verify::run(&arguments, context),
        Subcommands::Append(arguments) => append::run(&arguments, context),
        Subcommands::Evaluate(arguments) => evaluate::run(&arguments, context),
        Subcommands::Bridge(arguments) => bridge::run(&arguments, context),
        Subcommands::Baseline(arguments) => baseline::run(&arguments, context),
        Subcommands::Compare(arguments) => compare::run(&arguments, context),
        Subcommands::Gate(arguments) => gate::run(&arguments, context),
        Subcommands::Signoff(arguments) => signoff::run(&arguments, context),
        Subcommands::Withdraw(arguments) => withdraw::run(&arguments, context),
        Subcommands::Waive(arguments) => waive::run(&arguments, context),
        Subcommands::Authorize(arguments) => authorize::run(&arguments, context),
        Subcommands::Status(arguments) => status::run(&arguments, context),
        Subcommands::Profile(arguments) => profile::run(&arguments, context),
        Subcommands::Policy(arguments) => policy::run(&arguments, context),
        Subcommands::Abstain(arguments) => abstain::run(&arguments, context),
        Subcommands::Questions(arguments) => questions::run(&arguments, context),
        Subcommands::Prove(arguments) => prove::run(&arguments, context),
        Subcommands::Init(arguments) => init::run(&arguments, context),
        Subcommands::Key(arguments) => key::run(&arguments, context),
        Subcommands::Trust(arguments) => trust::run(&arguments, context),
        Subcommands::Whoami(arguments) => whoami::run(&arguments, context),
        Subcommands::Demo(arguments) => demo::run(&arguments, context),
        Subcommands::Log(arguments) => log::run(&arguments, context),
        Subcommands::Show(arguments) => show::run(&arguments, context),
        Subcommands::Cat(arguments) => cat::run(&arguments, context),
        Subcommands::Reindex(arguments) => reindex::run(&arguments, context),
        Subcommands::Completion(arguments) => completion::run(&arguments, &mut Command::command(), context),
    }
}
