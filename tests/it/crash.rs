//! The real binary, killed at every write-side system call, and failing at every one with EIO and ENOSPC: what is left is
//! the old ledger or the new one, the next append works, and what was acknowledged is there. Needs strace.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::cli::sandbox::Sandbox;
use crate::interop::tools::{Tool, ready};

/// System calls that change what is on disk, or that create files.
const CALLS: [&str; 9] =
    ["openat", "write", "pwrite64", "fsync", "fdatasync", "rename", "mkdir", "unlink", "ftruncate"];

const QUESTIONS: &str = "{\"question\":\"1?\",\"expected\":\"one\"}\n";
const ANSWERS: &str = "{\"reply\":\"one\",\"receipt\":{\"status\":\"answered\"}}\n";

/// The command under strace with these options.
fn traced(sandbox: &Sandbox, options: &[String], arguments: &[&str]) -> Output {
    let plain = sandbox.command(arguments);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(options).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(sandbox.work()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap()
}

fn injected(sandbox: &Sandbox, call: &str, inject: &str, arguments: &[&str]) -> Output {
    let options = ["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", inject].map(str::to_owned);
    traced(sandbox, &options, arguments)
}

fn receipts(sandbox: &Sandbox) -> u64 {
    let (code, report) = sandbox.json(&["verify"]);
    assert_eq!(code, 0, "{report}");
    report["ledger"]["size"].as_u64().unwrap()
}

/// A ledger with `rounds` rounds whose next append will be tampered with.
fn ledger(rounds: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox.write("q.jsonl", QUESTIONS);
    sandbox.write("a.jsonl", ANSWERS);
    let card = json!({"quality": 1.0, "realized_cost": 0.0, "grounded_fraction": 1.0, "n": 1, "question_set_id": "a".repeat(64)});
    sandbox.write("batch.jsonl", format!("{}\n", json!({"card": card})).repeat(rounds));
    sandbox.ok(&["append", "--batch", "batch.jsonl"]);
    sandbox
}

/// Runs what appends under every fault of one kind; returns how many were tried.
fn every_fault(fault: &str, rounds: usize, append: &[&str], appended: u64) -> u64 {
    let mut tried = 0;
    for call in CALLS {
        for when in 1.. {
            let sandbox = ledger(rounds);
            let old = rounds as u64 + 1;
            // New evidence, so that its own writes are hit too.
            sandbox.write("a.jsonl", ANSWERS.replace("one", "another"));
            let inject = format!("inject={call}:{fault}:when={when}");
            let output = injected(&sandbox, call, &inject, append);
            tried += 1;
            let left = receipts(&sandbox);
            let place = format!("{call} {when} {fault}");
            assert!(left == old || left == old + appended, "{place}: {left} receipts");
            let acknowledged = output.status.success();
            assert!(!acknowledged || left == old + appended, "{place}: acknowledged, and lost");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains("panicked"), "{place}: {said}");
            sandbox.ok(&["append", "--questions", "q.jsonl", "--answers", "a.jsonl"]);
            let after = receipts(&sandbox);
            assert!(
                after > left && (after == old + 1 || after == old + appended + 1),
                "{place}: {after} after the next"
            );
            if acknowledged {
                break;
            }
        }
    }
    tried
}

/// Runs `reindex` under every fault of one kind; returns how many were tried. The log is never touched, and what lists
/// receipts afterwards lists all of them.
fn every_fault_of_reindex(fault: &str) -> u64 {
    let sandbox = ledger(3);
    let listed = sandbox.ok(&["log"]);
    let mut tried = 0;
    for call in CALLS {
        for when in 1.. {
            let output = injected(&sandbox, call, &format!("inject={call}:{fault}:when={when}"), &["reindex"]);
            tried += 1;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains("panicked"), "{call} {when} {fault}: {said}");
            assert_eq!(sandbox.ok(&["log"]), listed, "{call} {when} {fault}");
            if output.status.success() {
                break;
            }
        }
    }
    assert_eq!(receipts(&sandbox), 4);
    tried
}

const BASELINE: [&str; 3] = ["baseline", "set", "main"];
const BATCH: [&str; 3] = ["append", "--batch", "batch.jsonl"];
const ONE: [&str; 5] = ["append", "--questions", "q.jsonl", "--answers", "a.jsonl"];

#[test]
fn a_killed_append_leaves_the_old_ledger_or_the_new_one() {
    if ready("a process killed and starved at every write", &[Tool::Program("strace")]) {
        println!("append killed at {} system calls", every_fault("signal=KILL", 3, &ONE, 1));
        println!("batch killed at {} system calls", every_fault("signal=KILL", 3, &BATCH, 3));
    }
}

#[test]
fn a_killed_baseline_or_reindex_leaves_the_old_ledger_or_the_new_one() {
    if ready("a process killed and starved at every write", &[Tool::Program("strace")]) {
        println!("baseline killed at {} system calls", every_fault("signal=KILL", 3, &BASELINE, 1));
        println!("baseline failed at {} system calls with EIO", every_fault("error=EIO", 1, &BASELINE, 1));
        println!("reindex killed at {} system calls", every_fault_of_reindex("signal=KILL"));
        println!("reindex failed at {} system calls with EIO", every_fault_of_reindex("error=EIO"));
        println!("reindex failed at {} system calls with ENOSPC", every_fault_of_reindex("error=ENOSPC"));
    }
}

#[test]
fn an_append_that_meets_a_broken_or_full_disk_leaves_the_old_ledger_or_the_new_one() {
    if ready("a process killed and starved at every write", &[Tool::Program("strace")]) {
        println!("append failed at {} system calls with EIO", every_fault("error=EIO", 1, &ONE, 1));
        println!("append failed at {} system calls with ENOSPC", every_fault("error=ENOSPC", 1, &ONE, 1));
    }
}

#[test]
fn an_append_costs_three_fsyncs_beyond_the_evidences_own() {
    if !ready("a process killed and starved at every write", &[Tool::Program("strace")]) {
        return;
    }
    let sandbox = ledger(3);
    let count = |arguments: &[&str]| {
        let options = ["-o", "trace.txt", "-e", "trace=fsync,fdatasync"].map(str::to_owned);
        let output = traced(&sandbox, &options, arguments);
        assert!(output.status.success());
        let trace = std::fs::read_to_string(sandbox.path("trace.txt")).unwrap();
        trace.lines().filter(|line| line.contains("sync(")).count()
    };
    let card: Value = json!({"quality": 1.0, "realized_cost": 0.0, "grounded_fraction": 1.0, "n": 1, "question_set_id": "a".repeat(64)});
    sandbox.write("one.jsonl", format!("{}\n", json!({"card": card})));
    // The staged bundle, its folder, and the cell.
    assert_eq!(count(&["append", "--batch", "one.jsonl"]), 3, "without evidence");
    // Two objects, each with its folder.
    sandbox.ok(&ONE);
    assert_eq!(count(&ONE), 3 + 4, "with two objects that are held already");
}
