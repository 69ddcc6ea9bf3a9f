//! `proofmark demo`: the whole story in a temporary folder, ending with a tampered copy being caught.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::context::{Context, LEDGER};
use super::failure::{Exit, Failure};

/// The story and the files that it is about, so that the demonstration needs nothing but this program.
const STORY: &str = include_str!("../../fixtures/example/story.txt");
const FILES: [(&str, &str); 5] = [
    ("questions.jsonl", include_str!("../../fixtures/example/questions.jsonl")),
    ("questions-revised.jsonl", include_str!("../../fixtures/example/questions-revised.jsonl")),
    ("answers-1-system-a.jsonl", include_str!("../../fixtures/example/answers-1-system-a.jsonl")),
    ("answers-2-system-b.jsonl", include_str!("../../fixtures/example/answers-2-system-b.jsonl")),
    ("answers-3-system-b-retrained.jsonl", include_str!("../../fixtures/example/answers-3-system-b-retrained.jsonl")),
];

/// A wrong answer of round 3, and what the forger would have liked it to be.
const WRONG: &str = "RFC 7159.";
const RIGHT: &str = "RFC 8785.";

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  proofmark demo --keep")]
pub struct Arguments {
    /// Leave the folder behind and say where it is
    #[arg(long)]
    keep: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let stage = Stage::set()?;
    let outcome = stage.play(context);
    if arguments.keep {
        context.print(&format!("\nthe folder is {}\n", stage.folder.display()))?;
    } else {
        fs::remove_dir_all(&stage.folder)?;
    }
    outcome
}

/// A temporary folder with the story's files and a home of its own.
struct Stage {
    folder: PathBuf,
}

impl Stage {
    fn set() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("proofmark-demo-{}", std::process::id()));
        // Made anew, never shared: whoever was there first may not be us.
        fs::create_dir(&folder).map_err(|error| {
            let shown = folder.display();
            Failure::failed(error)
                .within(format!("cannot make the folder {shown}"))
                .hint("TMPDIR names another place for temporary folders")
        })?;
        fs::create_dir(folder.join("home"))?;
        for (name, content) in FILES {
            fs::write(folder.join(name), content)?;
        }
        Ok(Self { folder })
    }

    fn play(&self, context: &Context) -> Result<Exit, Failure> {
        let mut commands = 0;
        for line in STORY.lines() {
            if let Some(told) = line.strip_prefix("> ") {
                self.tell(context, told)?;
            } else if let Some((code, command)) = step(line) {
                self.perform(context, &self.folder, code, command)?;
                commands += 1;
            }
        }
        self.tell(
            context,
            "A forger corrects one answer of round 3 in a copy of the ledger. Its receipt is signed, but:",
        )?;
        let copy = self.folder.join("copy");
        self.forge(&copy)?;
        self.perform(context, &copy, 3, "verify --replay")?;
        context.print(&format!(
            "\nThat was {} commands, each with the exit code it must have. Start your own: proofmark init\n",
            commands + 1
        ))?;
        Ok(Exit::Yes)
    }

    fn tell(&self, context: &Context, text: &str) -> Result<(), Failure> {
        context.print(&format!("\n# {text}\n"))
    }

    /// Runs one command as a user would and shows what it says.
    fn perform(&self, context: &Context, folder: &Path, code: i32, command: &str) -> Result<(), Failure> {
        context.print(&format!("$ proofmark {command}\n"))?;
        let Output { status, stdout, stderr } = Command::new(std::env::current_exe()?)
            .args(words(command))
            .current_dir(folder)
            .env_clear()
            .env("HOME", self.folder.join("home"))
            .output()?;
        context.print_bytes(&stdout)?;
        context.print_bytes(&stderr)?;
        context.flush()?;
        if status.code() == Some(code) {
            return Ok(());
        }
        Err(Failure::failed(format!("`proofmark {command}` ended with {status}, and should have ended with {code}")))
    }

    /// A copy of the ledger with one answer changed.
    fn forge(&self, copy: &Path) -> Result<(), Failure> {
        let ledger = self.folder.join(LEDGER);
        copy_folder(&ledger, &copy.join(LEDGER))?;
        let mut forged = 0;
        for path in files_below(&copy.join(LEDGER).join("objects"))? {
            let content = fs::read(&path)?;
            let Ok(text) = String::from_utf8(content) else { continue };
            if text.contains(WRONG) {
                fs::write(&path, text.replace(WRONG, RIGHT))?;
                forged += 1;
            }
        }
        if forged == 1 { Ok(()) } else { Err(Failure::failed("the answer to forge is not in the ledger once")) }
    }
}

/// A line of the story that is a command, and the exit code it must have.
fn step(line: &str) -> Option<(i32, &str)> {
    let (code, command) = line.split_once(' ')?;
    Some((code.parse().ok()?, command))
}

/// Splits a command at spaces, keeping what stands in double quotes together.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('"').enumerate();
    parts
        .flat_map(|(at, part)| -> Vec<String> {
            if at % 2 == 1 { vec![part.to_owned()] } else { part.split_whitespace().map(str::to_owned).collect() }
        })
        .collect()
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files_below(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    for path in files_below(from)? {
        let target = to.join(path.strip_prefix(from).map_err(Failure::failed)?);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        fs::copy(&path, &target)?;
    }
    Ok(())
}
