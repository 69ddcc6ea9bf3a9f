//! `proofmark profile`: what the gate judges by.

use std::path::PathBuf;

use clap::Subcommand;
use proofmark::calibrate::{Profile, SplitRule, Terms};
use proofmark::object::parse;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::policy::{self, RuleKind};
use super::rules;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes of check: 0 nothing to say, 3 findings, 2 not a profile.

Examples:
  proofmark profile show bristol/v1
  proofmark profile show bristol/v1 --json > mine.json     a profile to start from
  proofmark profile check mine.json")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show a profile and its digest; --json prints the profile itself
    Show {
        /// A built-in profile, a file, or the digest of one that the ledger holds
        #[arg(value_name = "NAME|FILE|DIGEST", default_value = "bristol/v1")]
        profile: String,
    },
    /// Say whether a run can be held to a profile, and which of its rules are none
    Check {
        /// The profile
        file: PathBuf,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Show { profile } => {
            let profile = rules::profile(profile, context)?;
            let document = parse(profile.canonical()).map_err(Failure::failed)?;
            context.answer(&document, || text(&profile))?;
            Ok(Exit::Yes)
        }
        Action::Check { file } => policy::lint(file, Some(RuleKind::Profile), context),
    }
}

/// Labels listed for people; `--json` has all of them.
const SHOWN: usize = 40;

fn text(profile: &Profile) -> String {
    let Terms { name, label_field, labels, split, gates, min_coverage, bins, item_field, .. } = profile.terms();
    let mut shown: Vec<_> = labels.iter().take(SHOWN).map(|label| one_line(&label.to_string())).collect();
    if labels.len() > SHOWN {
        shown.push(format!("and {} more", labels.len() - SHOWN));
    }
    let mut text = format!("profile         {}\ndigest          {}\n", one_line(name), profile.digest());
    text.push_str(&format!("label field     {}\nlabels          {}\n", one_line(label_field), shown.join(", ")));
    match split {
        SplitRule::FirstByte { ranges } => {
            text.push_str("split           by the first byte of the subject key\n");
            for range in ranges {
                text.push_str(&format!("                {} to {}: {}\n", range.from, range.below - 1, range.split));
            }
        }
        SplitRule::Manifest { subjects } => {
            text.push_str(&format!("split           by a list of {} subjects\n", subjects.len()));
        }
    }
    for (at, gate) in gates.iter().enumerate() {
        let title = if at == 0 { "gates" } else { "" };
        let metric = one_line(&gate.metric.to_string());
        text.push_str(&format!("{title:16}{metric} {} {}\n", gate.comparator.sign(), gate.limit));
    }
    text.push_str(&format!("coverage floor  {min_coverage}\nbins            {bins}\n"));
    if let Some(item) = item_field {
        text.push_str(&format!("item field      {}\n", one_line(item)));
    }
    text
}
