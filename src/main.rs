//! The `proofmark` command: people's floor on top of the library.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run(std::env::args_os())
}
