//! The tutorial is executed: every `$` line runs in one sandbox, and what it prints is what the page shows.
//!
//! In a ```` ```console ```` block `$ ` begins a command and `> ` continues it; the lines below are stdout and stderr as a
//! person sees them. `…` stands for anything in a line, a line `…` for any lines, and `# exit N` for an exit code.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::sandbox::Sandbox;

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
    let sandbox = Sandbox::new();
    let program = Path::new(env!("CARGO_BIN_EXE_proofmark")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for step in &steps {
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("exec 2>&1; {}", step.command)]).current_dir(sandbox.work()).env_clear();
        shell.env("HOME", sandbox.home()).env("PATH", &path).env("USER", "you").env("SOURCE_DATE_EPOCH", "1796040000");
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let said = sandbox.neutral(&String::from_utf8(output.stdout).unwrap());
        let place = format!("{page}:{}: $ {}\n{said}", step.line, step.command);
        assert_eq!(output.status.code(), Some(step.code), "{place}");
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
fn ellipses_match_what_they_stand_for_and_nothing_else() {
    assert!(line_matches("a…c", "abc") && line_matches("a…", "a") && line_matches("…", ""));
    assert!(!line_matches("a…c", "abd") && !line_matches("a", "ab"));
    let expected = ["x".to_owned(), "…".to_owned(), "y".to_owned()];
    assert!(matches(&expected, &["x", "1", "2", "y"]) && matches(&expected, &["x", "y"]));
    assert!(!matches(&expected, &["x", "1"]) && !matches(&expected, &["x", "y", "z"]));
}
