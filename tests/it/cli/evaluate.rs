//! `proofmark evaluate --system`: what a system is shown, what is recorded, and what is refused before anybody is asked.

use std::collections::BTreeSet;

use serde_json::Value;

use super::sandbox::Sandbox;
use crate::schema;

/// Begins a system: reads a question, and has its id and text at hand.
pub const EACH: &str = r#"while IFS= read -r line; do
id=${line#*\"id\":\"}; id=${id%%\"*}; text=${line##*\"text\":\"}; text=${text%%\"*}
say() { printf '{"id":"%s","reply":"%s"}\n' "$id" "$1"; }
"#;

/// A sandbox with a ledger and `n` questions, of which question `i` expects `answer i`.
pub fn sandbox(n: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let question = |i| format!("{{\"id\":\"q{i}\",\"question\":\"ask {i}\",\"expected\":\"answer {i}.\"}}\n");
    sandbox.write("q.jsonl", (0..n).map(question).collect::<String>());
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox
}

/// A system whose body runs for every question.
pub fn system(sandbox: &Sandbox, body: &str) {
    sandbox.write("bot.sh", format!("{EACH}{body}\ndone\n"));
}

pub const RIGHT: &str = "say \"answer ${text#ask }.\"";

pub const ASK: [&str; 5] = ["evaluate", "--questions", "q.jsonl", "--system", "sh bot.sh"];

pub fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&ASK[..], more].concat()
}

/// The answer records of the newest round.
pub fn answers(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.ok(&["cat", "@:answers"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn receipts(sandbox: &Sandbox) -> u64 {
    sandbox.ok(&["log", "--oneline"]).lines().count() as u64
}

/// What is left in the folder where journals are kept.
pub fn journals(sandbox: &Sandbox) -> usize {
    let folder = sandbox.home().join(".local/state/proofmark/evaluate");
    std::fs::read_dir(folder).map_or(0, |entries| entries.count())
}

#[test]
fn answers_are_recorded_in_the_order_of_the_questions_and_scored() {
    let sandbox = sandbox(20);
    system(&sandbox, &format!("case $text in 'ask 3') say wrong;; *) {RIGHT};; esac"));
    let text = sandbox.ok(&with(&["--concurrency", "4"]));
    assert!(text.starts_with("[main "), "{text}");
    assert!(text.contains("quality 0.9500  grounded 1.0000  cost 0  n 20  recomputed by substring/v2"), "{text}");
    assert!(text.ends_with("asked: answered 20\n"), "{text}");
    let answers = answers(&sandbox);
    for (at, answer) in answers.iter().enumerate() {
        schema::check_as("answer.v1", answer);
        assert_eq!(answer["id"], format!("q{at}"));
        assert_eq!(answer["reply"], if at == 3 { "wrong".to_owned() } else { format!("answer {at}.") });
    }
    assert_eq!(journals(&sandbox), 0);
    let run: Value = serde_json::from_str(&sandbox.ok(&["cat", "@:run"])).unwrap();
    schema::check(&run);
    assert_eq!(run["settings"]["concurrency"], 4);
    assert_eq!(run["system"]["files"][1]["name"], "bot.sh");
    assert_eq!(run["outcomes"]["answered"], 20);
    // The subject is the system as it is recorded.
    let shown = sandbox.json(&["show", "@"]).1.to_string();
    let described = serde_json_canonical(&run["system"]);
    assert!(shown.contains(&proofmark::object::Sha256::of(&described).to_string()), "{shown}");
    sandbox.ok(&["verify", "--replay"]);
}

fn serde_json_canonical(value: &Value) -> Vec<u8> {
    proofmark::object::encode(value).unwrap()
}

#[test]
fn documents_validate_and_rounds_are_kept_apart() {
    let mut sandbox = sandbox(4);
    let count = sandbox.path("starts").display().to_string();
    sandbox.env("COUNT", &count);
    // Each round has a child of its own: the second one answers otherwise.
    let begin = "echo x >> \"$COUNT\"; starts=$(wc -l < \"$COUNT\")\n";
    let body = format!("case \"$starts$text\" in '2ask 1') say no;; *) {RIGHT};; esac");
    sandbox.write("bot.sh", format!("{begin}{EACH}{body}\ndone\n"));
    let (code, document) = sandbox.json(&with(&["--repeat", "2", "--pass-env", "COUNT", "--line", "flips"]));
    assert_eq!(code, 0);
    schema::check(&document);
    assert_eq!(document["receipts"].as_array().unwrap().len(), 2);
    let indexes: Vec<_> = document["receipts"].as_array().unwrap().iter().map(|one| one["index"].as_u64()).collect();
    assert_eq!(indexes, [Some(1), Some(2)]);
    let flips = &document["flips"];
    assert_eq!(
        (&flips["flipped"], &flips["flipRate"], &flips["questions"][0]),
        (&1.into(), &0.25.into(), &"q1".into())
    );
    let text = sandbox.ok(&with(&["--repeat", "2", "--pass-env", "COUNT", "--line", "flips"]));
    assert!(text.contains("flips: 0 of 4 questions in 2 rounds, 0.0000\n"), "{text}");
    let (code, document) = sandbox.json(&with(&[]));
    schema::check(&document);
    assert_eq!((code, &document["flips"]), (0, &Value::Null));
}

#[test]
fn a_system_sees_the_query_and_nothing_of_the_key() {
    let mut sandbox = Sandbox::new();
    let question = |i| {
        format!("{{\"id\":\"CANARY-{i}\",\"question\":\"ask {i}\",\"expected\":\"CANARY\",\"cluster\":\"CANARY\"}}\n")
    };
    sandbox.write("q.jsonl", (0..40).map(question).collect::<String>());
    sandbox.ok(&["init", "--person", "tester"]);
    let seen = sandbox.path("seen").display().to_string();
    sandbox.env("SECRET_OF_MINE", "CANARY").env("PROOFMARK_NOTE", "CANARY").env("TZ", "UTC");
    let begin = format!("exec 3>>'{seen}'; env | sort >&3; echo \"folder $(ls -A | wc -l) $PWD $HOME $TMPDIR\" >&3\n");
    sandbox.write("bot.sh", format!("{begin}{EACH}printf '%s\\n' \"$line\" >&3; say x\ndone\n"));
    sandbox.ok(&ASK);
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(!seen.contains("CANARY"), "{seen}");
    let lines: Vec<Value> = seen.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), 40);
    lines.iter().for_each(|line| schema::check_as("system-question.v1", line));
    assert!(lines.iter().all(|line| line["read_only"] == true));
    let ids: BTreeSet<_> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 40);
    let texts: Vec<_> = lines.iter().map(|line| line["query"]["text"].as_str().unwrap().to_owned()).collect();
    let in_order: Vec<_> = (0..40).map(|i| format!("ask {i}")).collect();
    assert_ne!(texts, in_order);
    // The folder is empty, and its own; the environment is the documented one (and what the shell itself sets).
    let folder = seen.lines().find_map(|line| line.strip_prefix("folder ")).unwrap();
    let words: Vec<_> = folder.split(' ').collect();
    assert!(words[0] == "0" && words[1] == words[2] && words[2] == words[3], "{folder}");
    assert!(!std::path::Path::new(words[1]).exists());
    let names: BTreeSet<_> = seen
        .lines()
        .filter(|line| !line.starts_with('{'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    let kept = ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "OLDPWD", "PATH", "PWD", "SHLVL", "TMPDIR", "TZ", "_"];
    assert!(names.is_subset(&kept.into_iter().collect()) && names.contains("TZ"), "{names:?}");
}

#[test]
fn the_seed_decides_order_and_ids() {
    let sandbox = sandbox(10);
    let seen = sandbox.path("seen").display().to_string();
    sandbox.write("bot.sh", format!("{EACH}printf '%s\\n' \"$line\" >> '{seen}'; say x\ndone\n"));
    let runs: Vec<_> = ["11", "11", "22"]
        .map(|byte| {
            sandbox.ok(&with(&["--seed", &byte.repeat(32)]));
            let text = std::fs::read_to_string(&seen).unwrap();
            std::fs::remove_file(&seen).unwrap();
            text
        })
        .to_vec();
    assert!(runs[0] == runs[1] && runs[0] != runs[2]);
}

#[test]
fn secrets_are_recorded_nowhere() {
    let mut sandbox = sandbox(3);
    sandbox.env("MODEL_TOKEN", "canary-in-a-variable");
    let body =
        "echo \"$MODEL_TOKEN\" >&2; case $text in 'ask 1') say \"the token is $MODEL_TOKEN\";; *) say fine;; esac";
    system(&sandbox, body);
    let system = "sh bot.sh --key canary-in-a-word";
    let run = sandbox.run(&["evaluate", "--questions", "q.jsonl", "--system", system, "--pass-env", "MODEL_TOKEN"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.ends_with("asked: answered 2, secret 1\n"), "{}", run.stdout);
    assert!(
        run.stderr.contains("1 of 3 answers failed; the first: secret: the answer repeats the value"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("(withheld: it repeats a secret)"), "{}", run.stderr);
    let record = sandbox.ok(&["cat", "@:run"]);
    assert!(record.contains("MODEL_TOKEN"), "{record}");
    let said = format!("{}{}{record}{}", run.stdout, run.stderr, sandbox.ok(&["cat", "@:answers"]));
    assert!(!said.contains("canary"), "{said}");
    // Objects may be compressed; these are small and are not.
    for (path, bytes) in sandbox.files() {
        assert!(!String::from_utf8_lossy(&bytes).contains("canary"), "{}", path.display());
    }
}

#[test]
fn nobody_is_asked_where_the_round_could_not_be_appended() {
    let mut sandbox = sandbox(2);
    let asked = sandbox.path("asked");
    sandbox.write("bot.sh", format!("touch '{}'\n{EACH}say x\ndone\n", asked.display()));
    sandbox.write("blank.jsonl", "{\"question\":\"a\",\"expected\":\"b\"}\n{\"question\":\"a\",\"expected\":\" \"}\n");
    sandbox
        .write("salted.jsonl", format!("{{\"question\":\"a\",\"expected\":\"b\",\"salt\":\"{}\"}}\n", "0".repeat(64)));
    sandbox.write("many.jsonl", "{\"question\":\"a\",\"expected\":\"b\"}\n".repeat(2001));
    let before = receipts(&sandbox);
    let system = ["--system", "sh bot.sh"];
    let q = ["--questions", "q.jsonl"];
    sandbox.env("EMPTY_KEY", "").env("BAD_KEY", "canary with blanks");
    for (arguments, message) in [
        (vec!["--questions", "blank.jsonl", system[0], system[1]], "blank.jsonl:2: field `expected`: is blank"),
        (
            vec!["--questions", "salted.jsonl", system[0], system[1]],
            "add --sealed to keep their text out of the ledger",
        ),
        (vec![q[0], q[1], system[0], system[1], "--scorer", "numeric/v1"], "q.jsonl:1"),
        (vec![q[0], q[1], system[0], system[1], "--scorer", "magic/v1"], "magic/v1"),
        (vec![q[0], q[1], system[0], system[1], "--evidence", "log=nosuch"], "nosuch"),
        (vec![q[0], q[1], system[0], system[1], "--key", "nosuch"], "nosuch"),
        (vec![q[0], q[1], system[0], system[1], "--timeout", "0"], "--timeout must be more than 0"),
        (vec![q[0], q[1], system[0], system[1], "--max-time", "1e9"], "--max-time must be more than 0"),
        (vec![q[0], q[1], system[0], system[1], "--max-cost", "nan"], "--max-cost must be finite"),
        (vec![q[0], q[1], system[0], system[1], "--cost-each", "1"], "--max-cost"),
        (vec![q[0], q[1], system[0], system[1], "--max-cost", "1", "--cost-each", "inf"], "--cost-each must be finite"),
        (
            vec!["--questions", "many.jsonl", system[0], system[1], "--repeat", "1000"],
            "2001000 answers are more than the 2000000",
        ),
        (vec![q[0], q[1], system[0], system[1], "--concurrency", "0"], "0 is not in 1..=256"),
        (vec![q[0], q[1], system[0], system[1], "--repeat", "0"], "0 is not in 1..=1000"),
        (vec![q[0], q[1], system[0], system[1], "--seed", "0f"], "the seed must be 64"),
        (vec![q[0], q[1], system[0], system[1], "--ask-again"], "--resume"),
        (vec![q[0], q[1], system[0], system[1], "--openai", "http://localhost", "--model", "m"], "cannot be used with"),
        (vec![q[0], q[1], system[0], system[1], "--pass-env", "PROOFMARK_KEY"], "is this program's own"),
        (vec![q[0], q[1], system[0], system[1], "--pass-env", "UNSET"], "is to be passed on and is not set"),
        (vec![q[0], q[1], "--system", "nosuchprogram"], "names `nosuchprogram`, and there is no such program"),
        (vec![q[0], q[1], "--system", "sh bot.sh | tee x"], "holds `|`, which only a shell understands"),
        (vec![q[0], q[1], "--system", " "], "the system's command is empty"),
        (vec![q[0], q[1]], "required"),
        (vec![system[0], system[1]], "--questions"),
        (vec![q[0], q[1], "--openai", "http://localhost"], "--model"),
        (
            vec![q[0], q[1], "--openai", "http://localhost", "--model", "a\nb"],
            "the model's name cannot be a receipt's subject\ncaused by: a text must be",
        ),
        (vec![q[0], q[1], "--openai", "http://localhost", "--model", ""], "the model's name cannot"),
        (vec![q[0], q[1], "--openai", "ftp://x", "--model", "m"], "must begin with https:// or http://"),
        (
            vec![q[0], q[1], "--openai", "http://x", "--model", "m", "--key-env", "EMPTY_KEY"],
            "`EMPTY_KEY` is to hold the key and is not set",
        ),
        (
            vec![q[0], q[1], "--openai", "http://x", "--model", "m", "--key-env", "BAD_KEY"],
            "`BAD_KEY` holds a character that no key has",
        ),
        (
            vec![q[0], q[1], "--openai", "http://x", "--model", "m", "--set", "stream=true"],
            "the setting `stream` is not one",
        ),
        (vec![q[0], q[1], "--openai", "http://x", "--model", "m", "--template", "q.jsonl"], "q.jsonl is refused"),
    ] {
        let run = sandbox.run(&[&["evaluate"][..], &arguments].concat());
        let unreadable = message == "nosuch";
        assert_eq!(run.code, if unreadable { 1 } else { 2 }, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.starts_with("error: ") && run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.contains("canary") && run.stdout.is_empty(), "{arguments:?}: {}", run.stderr);
    }
    assert!(!asked.exists());
    assert_eq!((receipts(&sandbox), journals(&sandbox)), (before, 0));
}

#[test]
fn a_system_that_changes_while_it_is_asked_is_not_recorded() {
    let sandbox = sandbox(2);
    let itself = sandbox.path("bot.sh").display().to_string();
    system(&sandbox, &format!("echo '# more' >> '{itself}'; {RIGHT}"));
    let run = sandbox.run(&ASK);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("error: `bot.sh` changed while it was asked\nhint: "), "{}", run.stderr);
    assert_eq!(receipts(&sandbox), 1);
}

#[test]
fn a_sealed_set_is_asked_in_the_clear_and_kept_out_of_the_ledger() {
    let sandbox = sandbox(3);
    system(&sandbox, "say \"answer ${text#ask }.\"");
    sandbox.ok(&["questions", "seal", "q.jsonl", "-o", "sealed.jsonl"]);
    let text = sandbox.ok(&["evaluate", "--questions", "sealed.jsonl", "--system", "sh bot.sh", "--sealed"]);
    assert!(text.contains("quality 1.0000"), "{text}");
    for (path, bytes) in sandbox.files() {
        let inside = path.to_string_lossy().contains("/.ledger/");
        assert!(!inside || !String::from_utf8_lossy(&bytes).contains("ask 1"), "{}", path.display());
    }
    sandbox.ok(&["verify", "--replay"]);
}
