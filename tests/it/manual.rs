//! `docs/cli.md` is what `--help` says, command by command. `UPDATE_DOCS=1 cargo test --test it manual` writes it.

use crate::cli::sandbox::Sandbox;

/// The names below `Commands:` in a help text.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // A line that continues a description stands further to the right.
    let entries = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = entries.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| !name.starts_with('-') && *name != "help").map(str::to_owned).collect()
}

fn describe(sandbox: &Sandbox, path: &[String], manual: &mut String) {
    let arguments: Vec<_> = path.iter().cloned().chain(["--help".to_owned()]).collect();
    let help = sandbox.ok(&arguments);
    let title = ["proofmark"].into_iter().chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let marks = "#".repeat(path.len().min(2) + 1);
    manual.push_str(&format!("{marks} {title}\n\n```text\n{}\n```\n\n", help.trim_end()));
    for name in commands(&help) {
        let path: Vec<_> = path.iter().cloned().chain([name]).collect();
        describe(sandbox, &path, manual);
    }
}

#[test]
fn the_manual_is_what_help_says() {
    let mut sandbox = Sandbox::new();
    sandbox.env("COLUMNS", "100");
    let mut manual = String::new();
    describe(&sandbox, &[], &mut manual);
    let manual = format!("{}\n", manual.trim_end());
    assert!(manual.matches("```text").count() >= 10);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &manual).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), manual, "UPDATE_DOCS=1 cargo test --test it manual");
}
