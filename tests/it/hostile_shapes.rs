//! What is hostile by its size or its shape: endless lines, deep texts, bombs, links, FIFOs, sockets and devices, and
//! judges that flood, hang or change. Memory is measured (the peak of resident memory, from /proc) and capped.

use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proofmark::ledger::{Ledger, Ratchet};
use proofmark::merkle::{Checkpoint, TreeHead};
use proofmark::object::{ObjectId, Sha256};
use proofmark::store::Directory;

use crate::cli::sandbox::Sandbox;
use crate::hostile::{append_rounds, cell, complaints, evidence, sandbox, signed, snapshot, write_log};
use crate::keys;

/// How a run ended that was watched.
struct Watched {
    code: i32,
    stdout: String,
    stderr: String,
    /// The peak of resident memory, in MiB.
    peak: u64,
    /// Bytes of its input that it took, and perhaps what a pipe holds.
    taken: u64,
}

/// Runs a command that must end within a minute and 1 GiB of address space. What `feed` gives, over and over up to
/// `feed_bytes`, is its stdin.
fn watch(sandbox: &Sandbox, arguments: &[&str], feed: &[u8], feed_bytes: u64) -> Watched {
    let plain = sandbox.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1048576; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().current_dir(sandbox.work());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut input, mut output, mut errors) =
        (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let block: Vec<u8> = feed.iter().copied().cycle().take(feed.len() * (1 << 16)).collect();
    std::thread::scope(|scope| {
        let feeding = scope.spawn(move || {
            let mut taken = 0;
            while !block.is_empty() && taken < feed_bytes && input.write_all(&block).is_ok() {
                taken += block.len() as u64;
            }
            taken
        });
        let read = |stream: &mut dyn Read| {
            let mut text = Vec::new();
            stream.take(1 << 20).read_to_end(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let watching = scope.spawn({
            let status = format!("/proc/{}/status", child.id());
            move || {
                let mut peak = 0;
                while let Some(now) = std::fs::read_to_string(&status).ok().and_then(|text| high_water(&text)) {
                    peak = peak.max(now);
                    std::thread::sleep(Duration::from_millis(1));
                }
                peak / 1024
            }
        });
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                panic!("{arguments:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let (stdout, stderr) = (read(&mut output), read(&mut errors));
        let (taken, peak) = (feeding.join().unwrap(), watching.join().unwrap());
        Watched { code: status.code().unwrap_or(-1), stdout, stderr, peak, taken }
    })
}

fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Watches a run that must be refused, with these words and at most this many MiB, and prints what it took.
fn refused(sandbox: &Sandbox, arguments: &[&str], feed: &[u8], says: &[&str], most: u64) -> Watched {
    let before = (snapshot(&sandbox.work()), snapshot(&sandbox.home()));
    let run = watch(sandbox, arguments, feed, 1 << 30);
    let shown = format!("{arguments:?}: exit {}\n{}{}", run.code, run.stdout, run.stderr);
    assert_eq!(run.code, 2, "{shown}");
    assert!(run.stdout.is_empty() && !run.stderr.contains("panicked"), "{shown}");
    assert!(says.iter().all(|word| run.stderr.contains(word)), "{says:?} {shown}");
    assert!(run.peak <= most, "{} MiB, at most {most}: {shown}", run.peak);
    assert!((snapshot(&sandbox.work()), snapshot(&sandbox.home())) == before, "something was written: {shown}");
    println!("{:>4} MiB, {:>4} MiB taken: {}", run.peak, run.taken >> 20, arguments.join(" "));
    run
}

#[test]
fn an_endless_line_is_refused_at_its_limit() {
    let sandbox = sandbox();
    let too_long = ["/dev/stdin:1: the line is longer than 16777216 bytes"];
    for arguments in [
        &["questions", "id", "/dev/stdin"][..],
        &["append", "--questions", "/dev/stdin", "--answers", "good-a.jsonl"],
        &["append", "--questions", "good-q.jsonl", "--answers", "/dev/stdin"],
    ] {
        let run = refused(&sandbox, arguments, b"x", &too_long, 64);
        assert!(run.taken <= 20 << 20, "{} bytes were read", run.taken);
    }
    for arguments in [&["append", "--card", "/dev/stdin"][..], &["compare", "--cards", "/dev/stdin", "/dev/stdin"]] {
        let run = refused(&sandbox, arguments, b"x", &["/dev/stdin: is larger than 1048576 bytes"], 64);
        assert!(run.taken <= 4 << 20, "{} bytes were read", run.taken);
    }
    // A gigabyte of nothing, in no space.
    std::fs::File::create(sandbox.path("sparse")).unwrap().set_len(1 << 30).unwrap();
    for arguments in [
        &["append", "--batch", "sparse"][..],
        &["questions", "id", "sparse"],
        &["append", "--questions", "good-q.jsonl", "--answers", "sparse"],
    ] {
        refused(&sandbox, arguments, b"x", &["sparse:1: the line is longer than 16777216 bytes"], 64);
    }
    refused(&sandbox, &["append", "--card", "sparse"], b"x", &["sparse: is larger than 1048576 bytes"], 64);
    refused(&sandbox, &["append", "--card", "good-q.jsonl", "--key", "sparse"], b"x", &[""], 64);
}

#[test]
fn ten_million_lines_are_refused_at_the_two_millionth() {
    let sandbox = sandbox();
    let line = b"{\"question\":\"q\",\"expected\":\"a\"}\n";
    let too_many = ["/dev/stdin:2000001: the file holds more than 2000000 records"];
    let run = refused(&sandbox, &["questions", "id", "/dev/stdin"], line, &too_many, 256);
    assert!(run.taken <= 80 << 20, "{} bytes were read", run.taken);
    // Empty lines, a billion of them.
    refused(&sandbox, &["questions", "id", "/dev/stdin"], b"\n", &too_many, 64);
}

#[test]
fn deep_and_wide_texts_are_refused_in_bounded_memory() {
    let sandbox = sandbox();
    let deep = |open: &str, count: usize| open.repeat(count);
    for (name, value) in [
        ("arrays", deep("[", 100_000)),
        ("objects", deep("{\"a\":", 100_000)),
        ("long-names", deep(&format!("{{\"{}\":", "\u{10ffff}".repeat(64)), 130)),
    ] {
        let file = sandbox.write("deep", format!("{{\"query\":{{\"text\":\"q\",\"fingerprint\":{value}"));
        let file = file.display().to_string();
        let says = ["nested deeper than 128 levels"];
        let run = refused(&sandbox, &["questions", "id", &file], b"", &says, 64);
        assert!(run.stderr.len() < 80_000, "{name}: {} bytes", run.stderr.len());
        refused(&sandbox, &["append", "--questions", "good-q.jsonl", "--answers", &file], b"", &says, 64);
        refused(&sandbox, &["append", "--card", &file], b"", &says, 64);
        refused(&sandbox, &["append", "--batch", &file], b"", &says, 64);
    }
    // The most values that fit into a line, and lines of them: what is small in the file is large in memory.
    let wide = |values: usize| {
        let items = "0,".repeat(values);
        format!("{{\"query\":{{\"text\":\"q\",\"fingerprint\":[{items}0]}},\"expected\":\"a\"}}\n")
    };
    let file = sandbox.write("wide", wide(2_000_000)).display().to_string();
    let run = watch(&sandbox, &["questions", "id", &file], b"", 0);
    assert_eq!(run.code, 0, "{}", run.stderr);
    println!("{:>4} MiB: a line of 2,000,000 values", run.peak);
    assert!(run.peak < 400, "{} MiB", run.peak);
}

/// A run of lm-evaluation-harness of some 64 MiB, in or against the order of its documents; the last row repeats a document
/// if asked.
fn samples(sandbox: &Sandbox, backwards: bool, repeated: bool) {
    const DOCUMENTS: usize = 3_200;
    let text = "a question of many words, ".repeat(400);
    let row = |document: usize, name: usize| {
        format!(
            "{{\"doc_id\":{document},\"doc\":{{\"id\":\"q{name}\",\"question\":\"{text}\"}},\"target\":\"a\",\"arguments\":{{\"g\":\
             {{\"arg_0\":[\"{text}\"],\"arg_1\":{{}}}}}},\"resps\":[[\"a\"]],\"filtered_resps\":[\"a\"],\"metrics\":[\"m\"],\"m\":1.0}}\n"
        )
    };
    let mut rows: Vec<String> = (0..DOCUMENTS).map(|document| row(document, document)).collect();
    if backwards {
        rows.reverse();
    }
    if repeated {
        rows.push(row(DOCUMENTS, 7));
    }
    sandbox.write("samples_t.jsonl", rows.concat());
}

#[test]
fn large_samples_are_imported_or_refused_in_bounded_memory() {
    const MOST: u64 = 56;
    let sandbox = sandbox();
    for backwards in [false, true] {
        samples(&sandbox, backwards, true);
        let arguments = ["import", "lm-eval", "samples_t.jsonl"];
        let line = if backwards { 3193 } else { 8 };
        let says = format!("the document `q7` stands there twice: samples_t.jsonl:{line} and samples_t.jsonl:3201");
        refused(&sandbox, &arguments, b"", &[&says], MOST);
        samples(&sandbox, backwards, false);
        let run = watch(&sandbox, &["import", "lm-eval", "samples_t.jsonl", "--dry-run"], b"", 0);
        assert!(run.code == 0 && run.peak <= MOST, "exit {}, {} MiB: {}", run.code, run.peak, run.stderr);
        println!("{:>4} MiB: {arguments:?} --dry-run, backwards {backwards}", run.peak);
    }
    // Beside that what a large object is read into, 24 MiB, and some 3 MiB for each core that compresses it, of eight at most.
    let run = watch(&sandbox, &["import", "lm-eval", "samples_t.jsonl"], b"", 0);
    assert!(run.code == 0 && run.peak <= MOST + 48, "exit {}, {} MiB: {}", run.code, run.peak, run.stderr);
}

#[test]
fn endless_devices_are_refused() {
    let sandbox = sandbox();
    symlink("/dev/zero", sandbox.path("zero")).unwrap();
    let round = ["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"];
    for (more, says) in [
        (&["--evidence", "log=zero"][..], "not a regular file"),
        (&["--subject", "model=zero"], "a device, where only a plain file may be"),
        (&["--scorer", "command/x/1", "--judge", "zero"], "a device, where only a plain file may be"),
        (&["--key", "zero"], "not a regular file"),
        (&["--log-key", "zero"], "not a regular file"),
    ] {
        refused(&sandbox, &[&round[..], more].concat(), b"", &[says], 64);
    }
    let long = "the line is longer than 16777216 bytes";
    refused(&sandbox, &["append", "--questions", "zero", "--answers", "good-a.jsonl"], b"", &["zero:1:", long], 64);
    refused(&sandbox, &["append", "--questions", "good-q.jsonl", "--answers", "zero"], b"", &["zero:1:", long], 64);
    refused(&sandbox, &["append", "--card", "zero"], b"", &["larger than 1048576"], 64);
    refused(&sandbox, &["append", "--batch", "zero"], b"", &["not a regular file"], 64);
    // FIFOs that nobody writes into must not be waited for where a file is read twice.
    assert!(Command::new("mkfifo").arg(sandbox.path("fifo")).status().unwrap().success());
    for more in [&["--evidence", "log=fifo"][..], &["--subject", "model=fifo"], &["--key", "fifo"]] {
        refused(&sandbox, &[&round[..], more].concat(), b"", &["fifo"], 64);
    }
    refused(&sandbox, &["append", "--batch", "fifo"], b"", &["not a regular file"], 64);
}

#[test]
fn other_than_plain_files_in_a_ledger_are_refused() {
    let append = &["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"][..];
    let read = &["compare"][..];
    let mut count = 0;
    for (name, commands) in [
        ("config.toml", &[read, append][..]),
        ("checkpoint", &[read, append]),
        ("lock", &[append]),
        ("tile/entries/000.p/3", &[read, append]),
        ("tile/0/000.p/3", &[read]),
        ("tile/entries/000.p", &[read, append]),
        ("tile/0", &[read]),
        ("tile", &[read, append]),
        ("staging", &[append]),
        ("objects", &[append]),
    ] {
        for shape in ["link", "link to zero", "dangling link", "link to itself", "FIFO", "socket", "folder"] {
            let sandbox = sandbox();
            let path = sandbox.path(".ledger").join(name);
            let is_folder = path.is_dir() || name == "objects";
            let moved = sandbox.path("moved");
            if path.exists() {
                std::fs::rename(&path, &moved).unwrap();
            } else {
                std::fs::create_dir(&moved).unwrap();
            }
            match shape {
                "link" => symlink(&moved, &path).unwrap(),
                "link to zero" => symlink("/dev/zero", &path).unwrap(),
                "dangling link" => symlink("nowhere", &path).unwrap(),
                "link to itself" => symlink(&path, &path).unwrap(),
                "FIFO" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
                "socket" => drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
                _ if is_folder => std::fs::write(&path, "a file").unwrap(),
                _ => std::fs::create_dir(&path).unwrap(),
            }
            // What would be finished from the cell is not what is asked for here.
            if name != "lock" {
                std::fs::remove_file(sandbox.path(".ledger/lock")).unwrap();
                std::fs::write(sandbox.path(".ledger/lock"), "").unwrap();
            }
            for command in commands {
                let wrong = complaints(&sandbox, command, 2, &["where only a"]);
                assert!(wrong.is_empty(), "{name} as {shape}: {}", wrong.join("\n"));
                count += 1;
            }
        }
    }
    println!("{count} runs on ledgers with something else in the place of a file or folder");
}

#[test]
fn nothing_is_written_through_a_linked_folder() {
    for folder in ["objects", "objects/ab", "staging", "tile/entries", "tile/0/000.p"] {
        let sandbox = sandbox();
        let (path, outside) = (sandbox.path(".ledger").join(folder), sandbox.home().join("outside"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("bundle-0-9"), "mine").unwrap();
        symlink(&outside, &path).unwrap();
        let run = sandbox.run(&["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"]);
        assert!([0, 2].contains(&run.code), "{folder}: {}", run.stderr);
        assert!(run.code == 2 || folder == "objects/ab", "{folder}: {}", run.stderr);
        let held: Vec<_> = snapshot(&outside).into_keys().collect();
        assert_eq!(held, [outside.join("bundle-0-9")], "{folder}");
    }
}

/// The place of an object in a ledger, ready to be written to.
fn object(sandbox: &Sandbox, id: &ObjectId, ending: &str) -> std::path::PathBuf {
    let hex = id.to_string();
    let path = sandbox.path(".ledger/objects").join(&hex[..2]).join(format!("{}{ending}", &hex[2..]));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

#[test]
fn bombs_among_the_objects_are_refused_in_bounded_memory() {
    // A gigabyte of zeros in 33 kB, where a receipt promises a hundred bytes; and one that wants a window of 128 MiB.
    let zeros = |window: Option<u32>, length: u64| {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        if let Some(log) = window {
            encoder.window_log(log).unwrap();
        }
        std::io::copy(&mut std::io::repeat(0).take(length), &mut encoder).unwrap();
        encoder.finish().unwrap()
    };
    for (bomb, size) in [(zeros(None, 1 << 30), 100), (zeros(Some(27), 1 << 20), 1 << 20)] {
        let sandbox = sandbox();
        let named = evidence("questions", b"promised", size);
        append_rounds(&sandbox, std::slice::from_ref(&named), false);
        std::fs::write(object(&sandbox, &named.blake3, ".zst"), &bomb).unwrap();
        refused(&sandbox, &["compare"], b"", &["does not hold the bytes that it is named for"], 64);
    }
    // Sizes that a receipt claims and a sparse file gives.
    for (size, length, says) in [
        (1 << 40, 8 << 30, "larger than 1073741824 bytes"),
        (100, 8 << 30, "does not hold the bytes"),
        (1 << 30, 100, "does not hold the bytes"),
    ] {
        let sandbox = sandbox();
        let named = evidence("questions", b"promised", size);
        append_rounds(&sandbox, std::slice::from_ref(&named), false);
        let file = std::fs::File::create(object(&sandbox, &named.blake3, "")).unwrap();
        file.set_len(length).unwrap();
        refused(&sandbox, &["compare"], b"", &[says], 64);
        // An audit says so without hashing eight gigabytes of nothing.
        let run = watch(&sandbox, &["verify"], b"", 0);
        assert!(
            run.code == 3 && run.stdout.contains("evidence-damaged") && run.peak <= 64,
            "{} {}",
            run.code,
            run.stdout
        );
    }
    // An object of the answers' own id, in terabytes: it is damage that appending heals, not something to hash.
    let sandbox = sandbox();
    let id = ObjectId::of(&std::fs::read(sandbox.path("good-a.jsonl")).unwrap());
    let path = object(&sandbox, &id, "");
    std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    sandbox.ok(&["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"]);
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(sandbox.path("good-a.jsonl")).unwrap());
}

#[test]
fn huge_files_of_a_log_are_refused_in_bounded_memory() {
    let append = &["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"][..];
    for (name, says) in [
        ("config.toml", "`config.toml` is larger than 65536 bytes"),
        ("checkpoint", "`checkpoint` is larger than 1000000 bytes"),
        ("tile/entries/000.p/3", "larger than 16777472 bytes"),
    ] {
        let sandbox = sandbox();
        std::fs::remove_file(sandbox.path(".ledger/lock")).unwrap();
        let path = sandbox.path(".ledger").join(name);
        let beginning = std::fs::read(&path).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(8 << 30).unwrap();
        assert!(!beginning.is_empty());
        refused(&sandbox, &["compare"], b"", &[says], 64);
        let run = watch(&sandbox, append, b"", 0);
        assert!(run.code == 2 && run.stderr.contains(says) && run.peak <= 64, "{} {}", run.code, run.stderr);
        assert!(!sandbox.path(".ledger/tile/entries/000.p/4").exists());
    }
    // A cell that says that a commit was interrupted, and a staged bundle of eight gigabytes to finish it with.
    let sandbox = sandbox();
    let note = std::fs::read(sandbox.path(".ledger/checkpoint")).unwrap();
    std::fs::remove_file(sandbox.path(".ledger/checkpoint")).unwrap();
    std::fs::write(sandbox.path(".ledger/lock"), cell(1, &note)).unwrap();
    let staged = std::fs::File::create(sandbox.path(".ledger/staging/bundle-0-3")).unwrap();
    staged.set_len(8 << 30).unwrap();
    refused(&sandbox, &["compare"], b"", &["`staging/bundle-0-3` is larger than 16777472 bytes"], 64);
}

#[test]
fn signed_checkpoints_of_absurd_size_are_refused() {
    for size in [4, 256, 65_536, (1 << 53) - 1] {
        let sandbox = sandbox();
        let head = TreeHead { size, root: Sha256::of(b"") };
        let note = signed(&Checkpoint::new(keys::ORIGIN, head).unwrap());
        std::fs::write(sandbox.path(".ledger/checkpoint"), &note).unwrap();
        for lock in [None, Some(cell(1, &note))] {
            let _ = std::fs::remove_file(sandbox.path(".ledger/lock"));
            if let Some(lock) = lock {
                std::fs::write(sandbox.path(".ledger/lock"), lock).unwrap();
            }
            refused(&sandbox, &["compare"], b"", &["missing"], 64);
            refused(&sandbox, &["baseline", "show"], b"", &["missing"], 64);
        }
    }
}

#[test]
fn a_cell_whose_sequence_overflows_is_refused() {
    let sandbox = sandbox();
    let note = std::fs::read(sandbox.path(".ledger/checkpoint")).unwrap();
    sandbox.write(".ledger/lock", cell(u64::MAX, &note));
    let run = sandbox.run(&["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("`lock` does not hold the bytes"), "{}", run.stderr);
    assert_eq!(std::fs::read(sandbox.path(".ledger/checkpoint")).unwrap(), note);
}

#[test]
fn damaged_entries_do_not_replace_good_tiles() {
    let sandbox = sandbox();
    let folder = sandbox.path(".ledger");
    let ledger = Ledger::open(Box::new(Directory::new(&folder))).unwrap();
    keys::append(&ledger, 300, &Ratchet::new(sandbox.home().join("seen"))).unwrap();
    let entries = folder.join("tile/entries/000");
    let mut bytes = std::fs::read(&entries).unwrap();
    bytes[100_000] ^= 1;
    std::fs::write(&entries, bytes).unwrap();
    // With an edge tile gone, every tile would be made again from the entries.
    std::fs::remove_file(folder.join("tile/1/000.p/1")).unwrap();
    let tile = std::fs::read(folder.join("tile/0/000")).unwrap();
    let run = sandbox.run(&["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("do not add up to the signed root at size 303"), "{}", run.stderr);
    assert_eq!(std::fs::read(folder.join("tile/0/000")).unwrap(), tile);
}

#[test]
fn what_a_writer_can_mend_does_not_stop_it() {
    let append = ["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"];
    // Everything that is not synced before an append is acknowledged: the published checkpoint, and tiles of hashes.
    for lost in [&["checkpoint"][..], &["tile/0/000.p/4"], &["checkpoint", "tile/0/000.p/4"]] {
        let sandbox = sandbox();
        let before = std::fs::read(sandbox.path(".ledger/checkpoint")).unwrap();
        sandbox.ok(&append);
        for name in lost {
            let path = sandbox.path(".ledger").join(name);
            // A rename that did not reach the disk leaves the old checkpoint, or nothing.
            if *name == "checkpoint" { std::fs::write(path, &before) } else { std::fs::remove_file(path) }.unwrap();
        }
        sandbox.ok(&append);
        let ledger = Ledger::open(Box::new(Directory::new(sandbox.path(".ledger")))).unwrap();
        assert_eq!(ledger.snapshot().unwrap().size(), 5, "{lost:?}");
    }
}

#[test]
fn numbers_in_revisions_do_not_overflow() {
    let sandbox = sandbox();
    for back in ["18446744073709551615", "9223372036854775807", "18446744073709551616", "-1", "3"] {
        for name in ["@", "main"] {
            let revision = format!("{name}~{back}");
            let wrong = complaints(&sandbox, &["compare", &revision], 2, &["`"]);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
    for revision in ["#18446744073709551615", "#18446744073709551616", "#-1", "#3", "~", "\u{1b}[2J", ""] {
        let wrong = complaints(&sandbox, &["compare", revision], 2, &["error: "]);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn judge(sandbox: &Sandbox, script: &str) {
    let path = sandbox.write("judge.sh", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const JUDGED: [&str; 9] = [
    "append",
    "--questions",
    "good-q.jsonl",
    "--answers",
    "good-a.jsonl",
    "--scorer",
    "command/x/1",
    "--judge",
    "judge.sh",
];

#[test]
fn judges_that_flood_die_or_hide_are_refused() {
    let sandbox = sandbox();
    for (script, says) in [
        ("cat > /dev/null; yes '{\"correct\":true}'", "the judge's output:2: there are only 1 answers to judge"),
        ("cat /dev/zero", "the judge's output:1: the line is longer than 16777216 bytes"),
        ("yes ''", "the judge's output:1: the line is blank"),
        ("exec < /dev/null; exit 0", "gave 0 judgements for 1 answers"),
        ("cat > /dev/null; echo '{\"correct\":true}'; exit 7", "ended with exit status: 7"),
        ("cat > /dev/null; echo '{\"correct\":true}'; kill -9 $$", "ended with signal: 9"),
        ("printf '\\033[2J\\n'", "the judge's output:1: expected a value"),
        // Something left behind that holds the pipes open, and is not waited for.
        ("sleep 20 2> /dev/null & echo nonsense; exit 0", "the judge's output:1: "),
    ] {
        judge(&sandbox, script);
        let start = Instant::now();
        refused(&sandbox, &JUDGED, b"", &[says], 64);
        assert!(start.elapsed() < Duration::from_secs(15), "{script}");
    }
    // More to read than a pipe holds, and a child that keeps the pipe and never reads it.
    let many = |line: &str| line.repeat(3000);
    sandbox.write("good-q.jsonl", many("{\"question\":\"what is asked\",\"expected\":\"a\"}\n"));
    sandbox.write("good-a.jsonl", many("{\"reply\":\"a\",\"receipt\":{\"status\":\"answered\"}}\n"));
    judge(&sandbox, "sleep 20 2> /dev/null & echo nonsense; wait");
    let start = Instant::now();
    refused(&sandbox, &JUDGED, b"", &["the judge's output:1: "], 64);
    assert!(start.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_judge_that_becomes_another_file_is_refused() {
    let sandbox = sandbox();
    judge(
        &sandbox,
        "cat > /dev/null; echo '{\"correct\":true}'; echo '#!/bin/true' > judge.tmp; mv judge.tmp judge.sh",
    );
    let size = std::fs::read(sandbox.path(".ledger/checkpoint")).unwrap();
    let run = sandbox.run(&JUDGED);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("is no longer the file that judged"), "{}", run.stderr);
    assert_eq!(std::fs::read(sandbox.path(".ledger/checkpoint")).unwrap(), size);
}

#[test]
fn names_that_lead_out_of_a_ledger_are_not_followed() {
    // A log may hold anything that its key signs; what it names is digests, never paths.
    let sandbox = sandbox();
    let folder = sandbox.path(".ledger");
    let ledger = Ledger::open(Box::new(Directory::new(&folder))).unwrap();
    let genesis = ledger.snapshot().unwrap().entry(0).unwrap();
    write_log(&folder, &[genesis, b"../../etc/passwd".to_vec()]);
    let wrong = complaints(&sandbox, &["compare"], 2, &["entry 1 of the log is not a receipt"]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for name in ["../x", "/etc/passwd", "a/../../b", "a\0b"] {
        assert!(name.parse::<proofmark::store::Name>().is_err());
    }
    assert!(Path::new(&folder).is_dir());
}
