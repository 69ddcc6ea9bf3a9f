//! `.ledger-example` is what the current build makes of the story, byte for byte, and it verifies.
//!
//! After a deliberate change of format, `UPDATE_EXAMPLE=1 cargo test --test it example` makes it anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::sandbox::Sandbox;
use crate::keys;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of a ledger that is published: not the lock, staging and the index.
fn published(ledger: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![ledger.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(ledger).unwrap().to_path_buf();
            let text = name.to_str().unwrap();
            if text == "lock" || text == "staging" || text.starts_with("index.sqlite") || text == "README.md" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The story's commands with the exit codes they must have.
fn steps() -> Vec<(i32, Vec<String>)> {
    let story = std::fs::read_to_string(root().join("fixtures/example/story.txt")).unwrap();
    let steps = story.lines().filter_map(|line| {
        let (code, command) = line.split_once(' ')?;
        let words = command.split('"').enumerate().flat_map(|(at, part)| match at % 2 {
            1 => vec![part.to_owned()],
            _ => part.split_whitespace().map(str::to_owned).collect(),
        });
        Some((code.parse().ok()?, words.collect()))
    });
    steps.collect()
}

/// The story, played with the keys of `fixtures/keys`, an hour a step.
pub fn played() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for entry in std::fs::read_dir(root().join("fixtures/example")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            sandbox.write(path.file_name().unwrap().to_str().unwrap(), std::fs::read(&path).unwrap());
        }
    }
    let key = |name: &str| std::fs::read_to_string(root().join("fixtures/keys").join(name)).unwrap();
    sandbox.env("PROOFMARK_KEY", &key("person")).env("PROOFMARK_LOG_KEY", &key("log"));
    let steps = steps();
    assert!(steps.len() >= 10, "the story has its commands");
    for (hour, (code, command)) in steps.iter().enumerate() {
        sandbox.env("PROOFMARK_CLOCK", &(1_796_040_000 + 3600 * hour).to_string());
        let run = sandbox.run(command);
        assert_eq!(run.code, *code, "{command:?}\n{}{}", run.stdout, run.stderr);
    }
    sandbox
}

#[test]
fn the_fixture_keys_are_those_of_the_tests() {
    for (name, key) in [("person", keys::person()), ("log", keys::log())] {
        let path = root().join("fixtures/keys").join(name);
        let text = keys::text(&key, "never trust this key");
        if std::env::var_os("UPDATE_EXAMPLE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
}

#[test]
fn the_example_is_rebuilt_byte_for_byte() {
    let sandbox = played();
    let (made, kept) = (sandbox.path(".ledger"), root().join(".ledger-example"));
    if std::env::var_os("UPDATE_EXAMPLE").is_some() {
        for name in published(&kept).into_keys() {
            std::fs::remove_file(kept.join(name)).unwrap();
        }
        for (name, bytes) in published(&made) {
            std::fs::create_dir_all(kept.join(&name).parent().unwrap()).unwrap();
            std::fs::write(kept.join(&name), bytes).unwrap();
        }
    }
    let (made, kept) = (published(&made), published(&kept));
    assert_eq!(made.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>());
    for (name, bytes) in &made {
        assert!(kept[name] == *bytes, "{} differs", name.display());
    }
}

#[test]
fn the_example_verifies_where_it_lies() {
    let sandbox = Sandbox::new();
    let example = root().join(".ledger-example").display().to_string();
    let (code, report) = sandbox.json(&["verify", "--replay", "--ledger", &example]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["findings"], serde_json::json!([]));
}
