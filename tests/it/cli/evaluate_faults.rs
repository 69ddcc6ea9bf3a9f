//! Systems that misbehave: every question has an answer all the same, and nothing is left running.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::evaluate::{ASK, EACH, RIGHT, answers, journals, receipts, sandbox, system, with};
use super::sandbox::Sandbox;

/// What came of each question in a word: `answered`, or the fault.
fn words(sandbox: &Sandbox) -> Vec<String> {
    let word = |answer: &Value| {
        let receipt = &answer["receipt"];
        receipt["failure"].as_str().or(receipt["status"].as_str()).unwrap().to_owned()
    };
    answers(sandbox).iter().map(word).collect()
}

fn is_running(pid: &str) -> bool {
    // A zombie that nobody reaped is no longer running.
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A process that was sent its end may be about to go.
fn ends(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(5);
    while is_running(pid) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    !is_running(pid)
}

#[test]
fn whatever_goes_wrong_is_a_failed_answer_and_n_is_what_was_declared() {
    let sandbox = sandbox(10);
    let body = r#"case $text in
'ask 0') exit 3;;
'ask 1') sleep 600;;
'ask 2') echo 'this is no JSON';;
'ask 3') printf '{"id":"%s","reply":7}\n' "$id";;
'ask 4') printf '{"id":"0123456789abcdef0123456789abcdef","reply":"x"}\n';;
'ask 5') head -c 1100000 /dev/zero | tr '\0' x; echo;;
'ask 6') printf '{"id":"%s","reply":"cut off' "$id"; exit 0;;
'ask 7') exec >&-; sleep 600;;
'ask 8') head -c 3000000 /dev/zero >&2; say 'answer 8.';;
*) say "answer ${text#ask }.";;
esac"#;
    system(&sandbox, body);
    let run = sandbox.run(&with(&["--timeout", "1.5", "--concurrency", "3"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = [
        "crash",
        "timeout",
        "malformed",
        "malformed",
        "out-of-order",
        "oversize",
        "crash",
        "crash",
        "answered",
        "answered",
    ];
    assert_eq!(words(&sandbox), expected);
    assert!(run.stdout.contains("quality 0.2000  grounded 0.2000  cost 0  n 10  recomputed"), "{}", run.stdout);
    let details: Vec<_> = answers(&sandbox).iter().map(|answer| answer["receipt"]["detail"].to_string()).collect();
    assert!(details[0].contains("the process ended (exit status: 3) without an answer"), "{details:?}");
    assert!(details[1].contains("no answer within 1.5 s"), "{details:?}");
    assert!(details[5].contains("longer than 1048576 bytes"), "{details:?}");
    sandbox.ok(&["verify", "--replay"]);
}

#[test]
fn a_line_too_many_spoils_the_next_answer_or_else_the_last() {
    let sandbox = sandbox(2);
    system(&sandbox, &format!("{RIGHT}; {RIGHT}"));
    sandbox.ok(&ASK);
    // The first question is answered. The line too many stands where the second answer should.
    let mut found = words(&sandbox);
    found.sort();
    assert_eq!(found, ["answered", "out-of-order"]);
    sandbox.write("one.jsonl", "{\"question\":\"ask 0\",\"expected\":\"answer 0.\"}\n");
    sandbox.ok(&["evaluate", "--questions", "one.jsonl", "--system", "sh bot.sh"]);
    assert_eq!(words(&sandbox), ["extra"]);
}

#[test]
fn floods_are_contained() {
    let sandbox = sandbox(2);
    for (script, word) in [("yes >&2", "timeout"), ("yes", "malformed"), ("exec cat /dev/zero", "oversize")] {
        sandbox.write("bot.sh", script);
        let start = Instant::now();
        sandbox.ok(&with(&["--timeout", "1"]));
        assert_eq!(words(&sandbox), [word, word], "{script}");
        assert!(start.elapsed() < Duration::from_secs(30), "{script}");
    }
}

#[test]
fn a_system_that_neither_reads_nor_answers_holds_nobody_up() {
    let sandbox = Sandbox::new();
    // More than a pipe holds.
    sandbox.write("q.jsonl", format!("{{\"question\":\"{}\",\"expected\":\"x\"}}\n", "x".repeat(1 << 20)));
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox.write("bot.sh", "exec sleep 600");
    let run = sandbox.run(&with(&["--timeout", "0.2"]));
    assert_eq!((run.code, words(&sandbox)), (0, vec!["timeout".to_owned()]), "{}", run.stderr);
    assert!(run.stderr.contains("no answer came at all: a system writes each answer at once"), "{}", run.stderr);
}

#[test]
fn what_a_system_leaves_running_ends_with_it() {
    let mut sandbox = sandbox(2);
    let pids = sandbox.path("pids").display().to_string();
    let temporary = sandbox.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    sandbox.env("TMPDIR", &temporary.display().to_string());
    // It starts something in the background, ignores the end of its input, and never ends.
    let begin = format!("trap '' TERM INT HUP; sleep 600 & echo $! >> '{pids}'; echo $$ >> '{pids}'\n");
    sandbox.write("bot.sh", format!("{begin}{EACH}{RIGHT}\ndone\nwhile :; do sleep 600; done\n"));
    let start = Instant::now();
    sandbox.ok(&with(&["--concurrency", "2"]));
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(words(&sandbox), ["answered", "answered"]);
    let pids = std::fs::read_to_string(pids).unwrap();
    assert!(pids.lines().count() >= 2);
    assert!(pids.lines().all(ends), "{pids}");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn the_ceiling_holds_and_what_is_refused_names_its_shortfall() {
    let sandbox = sandbox(10);
    let spending = |calls: &str| {
        format!(
            "printf '{{\"id\":\"%s\",\"reply\":\"x\",\"receipt\":{{\"status\":\"answered\",\"spend\":{{\"frontier_calls\":{calls}}}}}}}\\n' \"$id\""
        )
    };
    system(&sandbox, &spending("1"));
    let (_, document) = sandbox.json(&with(&["--max-cost", "6.5", "--concurrency", "4"]));
    assert_eq!(document["receipts"][0]["card"]["realized_cost"], 6.0);
    assert_eq!(document["outcomes"][0]["max-cost"], 4);
    let refused = answers(&sandbox).into_iter().find(|answer| answer["receipt"]["failure"] == "max-cost").unwrap();
    assert_eq!(refused["receipt"]["status"], "refused");
    assert_eq!(refused["receipt"]["detail"], "max-cost 6.5: 6 spent, 1 needed, 0.5 short");
    // What was reserved and not spent is there for others.
    system(&sandbox, &spending("0.5"));
    let (_, document) = sandbox.json(&with(&["--max-cost", "5", "--concurrency", "4"]));
    assert_eq!(document["receipts"][0]["card"]["realized_cost"], 4.5);
    assert_eq!(document["outcomes"][0]["answered"], 9);
    // Who spends more than one answer may is found out.
    system(&sandbox, &spending("3"));
    let (_, document) = sandbox.json(&with(&["--max-cost", "7", "--cost-each", "2"]));
    assert_eq!(document["outcomes"][0]["overspent"], 2);
    assert_eq!(document["outcomes"][0]["max-cost"], 8);
}

#[test]
fn the_time_of_a_run_is_limited() {
    let sandbox = sandbox(6);
    system(&sandbox, &format!("sleep 0.3; {RIGHT}"));
    let start = Instant::now();
    sandbox.ok(&with(&["--max-time", "0.7"]));
    assert!(start.elapsed() < Duration::from_secs(5));
    let words = words(&sandbox);
    assert!(words.iter().filter(|word| *word == "time-up").count() >= 3, "{words:?}");
    assert!(words.iter().filter(|word| *word == "answered").count() <= 2, "{words:?}");
}

#[test]
fn a_system_that_cannot_be_started_is_no_round() {
    let sandbox = sandbox(2);
    let program = sandbox.write("bot", "no program\n");
    let run = sandbox.run(&["evaluate", "--questions", "q.jsonl", "--system", "./bot"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("error: the system cannot be asked: it does not start: "), "{}", run.stderr);
    assert!(Path::new(&program).exists());
    assert_eq!((receipts(&sandbox), journals(&sandbox)), (1, 0));
}
