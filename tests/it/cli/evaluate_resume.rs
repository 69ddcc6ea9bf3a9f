//! Runs that are killed or interrupted: the log has nothing of them, and `--resume` asks no question twice.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::evaluate::{ASK, answers, journals, receipts, sandbox, system, with};
use super::sandbox::Sandbox;

const N: usize = 30;

/// A slow system that writes down what it is asked.
fn slow(sandbox: &Sandbox) {
    let seen = sandbox.path("seen").display().to_string();
    system(sandbox, &format!("echo \"$text\" >> '{seen}'; sleep 0.05; say \"answer ${{text#ask }}.\""));
}

fn seen(sandbox: &Sandbox) -> Vec<String> {
    std::fs::read_to_string(sandbox.path("seen")).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn begin(sandbox: &Sandbox, arguments: &[&str]) -> Child {
    sandbox.interruptible(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts a run, waits until it asked some questions, and sends it a signal.
fn broken_off(sandbox: &Sandbox, signal: &str, arguments: &[&str]) -> (i32, String) {
    let child = begin(sandbox, arguments);
    let until = Instant::now() + Duration::from_secs(20);
    while seen(sandbox).len() < 6 {
        assert!(Instant::now() < until, "nothing is asked");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

fn counted(texts: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    texts.iter().for_each(|text| *counts.entry(text.as_str()).or_default() += 1);
    counts
}

#[test]
fn after_a_kill_nothing_is_in_the_log_and_resuming_asks_nothing_twice() {
    let sandbox = sandbox(N);
    slow(&sandbox);
    let arguments = with(&["--concurrency", "3"]);
    broken_off(&sandbox, "-KILL", &arguments);
    assert_eq!((receipts(&sandbox), journals(&sandbox)), (1, 1));
    let refused = sandbox.run(&arguments);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("a run like this was interrupted: `$SANDBOX/home/.local/state/"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("hint: `--resume` goes on without asking any question twice"),
        "{}",
        refused.stderr
    );
    let text = sandbox.ok(&with(&["--concurrency", "3", "--resume"]));
    assert!(text.contains(&format!("n {N}  recomputed")), "{text}");
    let seen = seen(&sandbox);
    assert!(counted(&seen).values().all(|count| *count == 1), "{seen:?}");
    // At most the answers in flight are lost.
    let lost = answers(&sandbox).iter().filter(|answer| answer["receipt"]["failure"] == "in-flight").count();
    assert!(lost <= 3, "{lost}");
    assert_eq!((receipts(&sandbox), journals(&sandbox)), (2, 0));
    assert!(sandbox.ok(&["cat", "@:run"]).contains("\"resumed\":true"));
    sandbox.ok(&["verify", "--replay"]);
}

#[test]
fn what_was_in_flight_is_asked_again_only_if_so_wished() {
    let sandbox = sandbox(N);
    slow(&sandbox);
    broken_off(&sandbox, "-KILL", &ASK);
    let text = sandbox.ok(&with(&["--resume", "--ask-again"]));
    assert!(text.contains("quality 1.0000") && text.contains(&format!("asked: answered {N}\n")), "{text}");
    let seen = seen(&sandbox);
    let twice = counted(&seen).values().filter(|count| **count > 1).count();
    assert!(twice <= 1, "{seen:?}");
}

#[test]
fn an_interrupt_ends_cleanly_and_loses_nothing() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut sandbox = sandbox(N);
        let temporary = sandbox.path("temporary");
        std::fs::create_dir(&temporary).unwrap();
        sandbox.env("TMPDIR", &temporary.display().to_string());
        slow(&sandbox);
        let (code, stderr) = broken_off(&sandbox, signal, &with(&["--concurrency", "2"]));
        assert_eq!(code, 1, "{stderr}");
        assert!(
            stderr.starts_with("error: interrupted: ")
                && stderr.contains(" of 30 answers are kept, and nothing was appended\nhint: `--resume`"),
            "{stderr}"
        );
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
        assert_eq!(receipts(&sandbox), 1);
        let text = sandbox.ok(&with(&["--concurrency", "8", "--resume"]));
        assert!(text.contains("quality 1.0000  grounded 1.0000"), "{text}");
        assert!(counted(&seen(&sandbox)).values().all(|count| *count == 1));
    }
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let sandbox = sandbox(N);
    slow(&sandbox);
    let mut shell = Command::new("sh");
    let program = sandbox.command(&ASK);
    let script = "trap '' INT; exec \"$0\" \"$@\"";
    shell.args(["-c", script]).arg(program.get_program()).args(program.get_args()).current_dir(sandbox.work());
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = shell.stdout(Stdio::piped()).spawn().unwrap();
    while seen(&sandbox).len() < 6 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("quality 1.0000"));
}

#[test]
fn resuming_where_nothing_is_left_begins() {
    let sandbox = sandbox(3);
    system(&sandbox, "say x");
    let text = sandbox.ok(&with(&["--resume"]));
    assert!(text.contains("asked: answered 3"), "{text}");
}

#[test]
fn a_journal_is_of_one_run_and_of_one_process() {
    let sandbox = sandbox(N);
    slow(&sandbox);
    let journal = with(&["--journal", "j.jsonl"]);
    broken_off(&sandbox, "-KILL", &journal);
    for (arguments, message) in [
        (with(&["--journal", "j.jsonl", "--resume", "--repeat", "2"]), "`j.jsonl` is the journal of another run"),
        (with(&["--journal", "j.jsonl", "--resume", "--line", "other"]), "`j.jsonl` is the journal of another run"),
    ] {
        let run = sandbox.run(&arguments);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
    let held = std::fs::File::open(sandbox.path("j.jsonl")).unwrap();
    held.lock().unwrap();
    let run = sandbox.run(&with(&["--journal", "j.jsonl", "--resume"]));
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.starts_with("error: another process is at this run: it holds `j.jsonl`\nhint: "),
        "{}",
        run.stderr
    );
    drop(held);
    // A line that is no line of a journal is refused by its number.
    let text = std::fs::read_to_string(sandbox.path("j.jsonl")).unwrap();
    sandbox.write("j.jsonl", format!("{text}{{\"question\":[0,99]}}\n"));
    let run = sandbox.run(&with(&["--journal", "j.jsonl", "--resume"]));
    assert_eq!(run.code, 2);
    let line = text.lines().count() + 1;
    assert!(run.stderr.contains(&format!("caused by: j.jsonl:{line}: field `question`")), "{}", run.stderr);
    let run = sandbox.run(&with(&["--journal", "."]));
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("error: cannot open the journal `.`"), "{}", run.stderr);
}

#[test]
fn every_line_of_a_journal_validates() {
    let sandbox = sandbox(N);
    slow(&sandbox);
    broken_off(&sandbox, "-INT", &with(&["--journal", "j.jsonl", "--timeout", "0.06"]));
    let text = std::fs::read_to_string(sandbox.path("j.jsonl")).unwrap();
    assert!(text.lines().count() > 10);
    for line in text.lines() {
        crate::schema::check_as("evaluate-journal.v1", &serde_json::from_str(line).unwrap());
    }
}

#[test]
fn a_run_that_is_appended_is_not_appended_again() {
    let sandbox = sandbox(3);
    system(&sandbox, "say \"answer ${text#ask }.\"");
    let seed = "ab".repeat(32);
    let arguments = with(&["--journal", "j.jsonl", "--seed", &seed]);
    // A run that is refused after it was asked leaves its journal: here the judge does not judge.
    let judge = sandbox.write("judge.sh", "#!/bin/sh\nexit 1\n");
    let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&judge, runs).unwrap();
    let judged = [&arguments[..], &["--scorer", "command/x/1", "--judge", "./judge.sh"]].concat();
    let run = sandbox.run(&judged);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the answers are kept in j.jsonl; --resume scores and appends them"), "{}", run.stderr);
    let kept = std::fs::read(sandbox.path("j.jsonl")).unwrap();
    let resumed = [&arguments[..], &["--resume"]].concat();
    sandbox.ok(&resumed);
    assert_eq!(receipts(&sandbox), 2);
    // As if it had been killed between the append and the removal.
    sandbox.write("j.jsonl", kept);
    let run = sandbox.run(&resumed);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("error: this run is appended already"), "{}", run.stderr);
    assert_eq!(receipts(&sandbox), 2);
}

#[test]
fn resuming_a_run_that_is_not_kept_says_so() {
    let sandbox = sandbox(2);
    system(&sandbox, "say \"answer ${text#ask }.\"");
    let run = sandbox.run(&with(&["--resume"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("nothing to resume: no answers of a run like this are kept, so every question is asked\n")
    );
}
