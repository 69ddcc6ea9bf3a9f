//! Eight processes append at once: no receipt is lost or doubled, and whoever reads meanwhile sees a verified ledger.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cli::sandbox::Sandbox;

const WRITERS: usize = 8;
const APPENDS: usize = 50;

#[test]
fn eight_writers_lose_and_double_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox.write("q.jsonl", "{\"question\":\"1?\",\"expected\":\"one\"}\n");
    for writer in 0..WRITERS {
        let answer = format!("{{\"reply\":\"one by {writer}\",\"receipt\":{{\"status\":\"answered\"}}}}\n");
        sandbox.write(&format!("a{writer}.jsonl"), answer);
    }
    let (done, read) = (AtomicBool::new(false), AtomicU64::new(0));
    let acknowledged: Vec<Vec<String>> = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::SeqCst) {
                let (code, report) = sandbox.json(&["verify"]);
                assert_eq!(code, 0, "a reader saw findings: {report}");
                let size = report["ledger"]["size"].as_u64().unwrap();
                assert!(size >= seen, "the ledger shrank for a reader");
                seen = size;
                read.fetch_add(1, Ordering::SeqCst);
            }
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let answers = format!("a{writer}.jsonl");
                    let append = ["append", "--questions", "q.jsonl", "--answers", &answers];
                    let receipt = |_| {
                        let (code, document) = sandbox.json(&append);
                        assert_eq!(code, 0, "{document}");
                        document["receipts"][0]["receipt"].as_str().unwrap().to_owned()
                    };
                    (0..APPENDS).map(receipt).collect()
                })
            })
            .collect();
        // A writer that failed must not leave the reader reading.
        let acknowledged: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::SeqCst);
        reader.join().unwrap();
        acknowledged.into_iter().map(Result::unwrap).collect()
    });
    let (code, log) = sandbox.json(&["log", "-n", "1000"]);
    assert_eq!(code, 0);
    let listed = log["receipts"].as_array().unwrap().iter().map(|receipt| receipt["id"].as_str().unwrap().to_owned());
    let listed: Vec<_> = listed.collect();
    assert_eq!(listed.len(), WRITERS * APPENDS + 1);
    let listed: BTreeSet<_> = listed.into_iter().collect();
    assert_eq!(listed.len(), WRITERS * APPENDS + 1, "none doubled");
    assert!(acknowledged.iter().flatten().all(|receipt| listed.contains(receipt)), "none lost");
    let (code, report) = sandbox.json(&["verify", "--replay"]);
    assert_eq!(code, 0, "{report}");
    println!("{} appends by {WRITERS} processes, verified {} times meanwhile", WRITERS * APPENDS, read.into_inner());
}
