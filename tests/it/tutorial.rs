//! The tutorial is executed: every `$` line runs in one sandbox, and what it prints is what the page shows.
//!
//! In a ```` ```console ```` block `$ ` begins a command and `> ` continues it; the lines below are stdout and stderr as a
//! person sees them. `…` stands for anything in a line, a line `…` for any lines, and `# exit N` for an exit code.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::sandbox::Sandbox;
use crate::interop::second::{example, files_of};
use crate::interop::tools::{Tool, ready};

struct Step {
    line: usize,
    command: String,
    code: i32,
    expected: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if !inside {
            continue;
        } else if let Some(command) = line.strip_prefix("$ ") {
            let (command, code) = match command.split_once("  # exit ") {
                Some((command, code)) => (command, code.trim().parse().unwrap()),
                None => (command, 0),
            };
            steps.push(Step { line: number + 1, command: command.to_owned(), code, expected: Vec::new() });
        } else if let Some(more) = line.strip_prefix("> ") {
            let step = steps.last_mut().unwrap();
            step.command.push('\n');
            step.command.push_str(more);
        } else {
            steps.last_mut().unwrap().expected.push(line.to_owned());
        }
    }
    steps
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let mut rest = line;
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    let parts: Vec<_> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        if at + 1 == parts.len() {
            return rest.ends_with(part);
        }
        let Some(found) = rest.find(part) else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.is_empty()
}

fn matches(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((any, more)) if any == "…" => (0..=lines.len()).any(|skipped| matches(more, &lines[skipped..])),
        Some((one, more)) => {
            lines.split_first().is_some_and(|(line, rest)| line_matches(one, line) && matches(more, rest))
        }
    }
}

fn execute(page: &str, least: usize) {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let steps = steps(&text);
    assert!(steps.len() >= least, "{page} has {} commands", steps.len());
    execute_in(&Sandbox::new(), page, &steps);
}

/// Exit code and output of a step.
fn run(sandbox: &Sandbox, step: &Step) -> (Option<i32>, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_proofmark")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("exec 2>&1; {}", step.command)]).current_dir(sandbox.work()).env_clear();
    shell.env("HOME", sandbox.home()).env("PATH", &path).env("USER", "you").env("PROOFMARK_CLOCK", "1796040000");
    shell.env("SOURCE", env!("CARGO_MANIFEST_DIR"));
    let output = shell.stdin(Stdio::null()).output().unwrap();
    (output.status.code(), sandbox.neutral(&String::from_utf8_lossy(&output.stdout)))
}

/// Runs the steps of a page in a sandbox.
fn execute_in(sandbox: &Sandbox, page: &str, steps: &[Step]) {
    for step in steps {
        let (code, said) = run(sandbox, step);
        let place = format!("{page}:{}: $ {}\n{said}", step.line, step.command);
        assert_eq!(code, Some(step.code), "{place}");
        let lines: Vec<_> = said.lines().collect();
        assert!(matches(&step.expected, &lines), "{place}\nexpected:\n{}", step.expected.join("\n"));
    }
    println!("{page}: {} commands", steps.len());
}

#[test]
fn the_tutorial_does_what_it_says() {
    execute("docs/tutorial.md", 15);
}

#[test]
fn the_release_pipeline_of_the_gate_does_what_it_says() {
    execute("docs/gate.md", 12);
}

#[test]
fn evaluating_a_system_does_what_it_says() {
    execute("docs/evaluate.md", 12);
}

#[test]
fn the_guide_to_signing_a_go_does_what_it_says() {
    execute("docs/signoff.md", 30);
}

#[test]
fn a_receipt_is_checked_by_hand_as_the_page_says() {
    let tools = ["bash", "openssl", "jq", "b3sum", "sha256sum"].map(Tool::Program);
    if !ready("the commands of docs/verify-by-hand.md", &tools) {
        return;
    }
    let page = "docs/verify-by-hand.md";
    let sandbox = Sandbox::new();
    for (name, bytes) in files_of(&example()) {
        sandbox.write(&format!(".ledger-example/{name}"), bytes);
    }
    let steps = steps(&std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap());
    assert!(steps.len() >= 25 && !steps.iter().any(|step| step.command.starts_with("proofmark")));
    execute_in(&sandbox, page, &steps);
    // A byte of any file that the page rests on is noticed.
    let holds = |step: &Step| {
        let (code, said) = run(&sandbox, step);
        code == Some(step.code) && matches(&step.expected, &said.lines().collect::<Vec<_>>())
    };
    assert!(steps.iter().all(holds));
    let objects = std::fs::read_to_string(sandbox.path("statement")).unwrap();
    let objects = objects.split("\"blake3\":\"").skip(1).map(|rest| format!("objects/{}/{}", &rest[..2], &rest[2..64]));
    for file in ["tile/entries/000.p/8", "tile/0/000.p/8", "checkpoint"].map(str::to_owned).into_iter().chain(objects) {
        let path = sandbox.path(&format!(".ledger-example/{file}"));
        let good = std::fs::read(&path).unwrap();
        let mut bad = good.clone();
        bad[good.len() / 3] ^= 1;
        std::fs::write(&path, bad).unwrap();
        assert!(!steps.iter().all(holds), "{file}");
        std::fs::write(&path, good).unwrap();
    }
}

#[test]
fn importing_rounds_of_another_tool_does_what_it_says() {
    execute("docs/import/README.md", 9);
}

#[test]
fn the_page_on_pipelines_does_what_it_says() {
    execute("docs/ci.md", 5);
}

#[test]
fn ellipses_match_what_they_stand_for_and_nothing_else() {
    assert!(line_matches("a…c", "abc") && line_matches("a…", "a") && line_matches("…", ""));
    assert!(!line_matches("a…c", "abd") && !line_matches("a", "ab"));
    let expected = ["x".to_owned(), "…".to_owned(), "y".to_owned()];
    assert!(matches(&expected, &["x", "1", "2", "y"]) && matches(&expected, &["x", "y"]));
    assert!(!matches(&expected, &["x", "1"]) && !matches(&expected, &["x", "y", "z"]));
}
