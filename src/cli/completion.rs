//! `proofmark completion SHELL`.

use clap_complete::Shell;

use super::context::Context;
use super::failure::{Exit, Failure};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  proofmark completion bash > ~/.local/share/bash-completion/completions/proofmark")]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut super::command_line(super::COMMANDS, |_| true),
        "proofmark",
        &mut script,
    );
    context.print_bytes(&script)?;
    Ok(Exit::Yes)
}
