//! The floors of the code (docs/architecture.md): what may use what, and what a file may look like.

use std::fs;
use std::path::{Path, PathBuf};

const MAX_LINES: usize = 600;
/// Floors 0 to 3 but for `store`: pure. Time, randomness and bytes are arguments.
const NOT_PURE: [&str; 8] = ["store", "ledger", "evaluate", "index", "dossier", "import", "verify", "report"];
const IMPURE: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "SystemTime",
    "Instant::now",
    "std::thread::sleep",
    "OsRng",
    "now_utc",
];
/// One door per outside crate: the crate and the only place that may name it.
const DOORS: [(&str, &str); 15] = [
    ("rusqlite", "src/index/"),
    ("ed25519_dalek", "src/trust/"),
    ("curve25519_dalek", "src/trust/"),
    ("ssh_key", "src/trust/"),
    ("clap", "src/cli/"),
    ("indicatif", "src/cli/"),
    ("zstd", "src/store/"),
    ("ureq", "src/evaluate/"),
    ("httpdate", "src/evaluate/"),
    ("tempfile", "src/evaluate/"),
    // Two parts of one crate, each with its own door.
    ("rustix::process", "src/evaluate/"),
    ("rustix::fs", "src/store/"),
    ("signal_hook", "src/cli/"),
    ("quick_xml", "src/import/"),
    ("csv", "src/import/"),
];
const VAGUE: [&str; 8] = ["util", "utils", "common", "types", "manager", "helpers", "misc", "shared"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(root()).unwrap().display().to_string();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no sources below {}", dir.display());
    found
}

/// The file without its test modules and comments: what ships.
fn shipped(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start() == "#[cfg(test)]" {
            break;
        }
        if !line.trim_start().starts_with("//") {
            lines.push(line);
        }
    }
    lines.join("\n")
}

fn modules() -> Vec<String> {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let names: Vec<_> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).map(str::to_owned).collect();
    assert!(names.len() >= 10, "src/lib.rs lists its modules as `pub mod name;`");
    names
}

fn module_of(file: &str) -> Option<&str> {
    file.strip_prefix("src/")?.split_once('/').map(|(module, _)| module)
}

fn used_modules(text: &str) -> Vec<String> {
    let mut used = Vec::new();
    for after in text.split("crate::").skip(1) {
        let names: String = match after.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default().to_owned(),
            None => after.to_owned(),
        };
        let first =
            |item: &str| -> String { item.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
        if after.starts_with('{') {
            used.extend(names.split(',').map(first));
        } else {
            used.push(first(&names));
        }
    }
    used
}

#[test]
fn a_module_uses_only_modules_listed_above_it() {
    let order = modules();
    for (file, text) in sources(&root().join("src")) {
        let Some(module) = module_of(&file).filter(|module| *module != "cli") else { continue };
        let floor = order.iter().position(|name| name == module);
        let floor = floor.unwrap_or_else(|| panic!("{file}: `{module}` is not listed in src/lib.rs"));
        for used in used_modules(&shipped(&text)) {
            let Some(other) = order.iter().position(|name| *name == used) else { continue };
            assert!(other <= floor, "{file} uses `{used}`, which src/lib.rs lists below `{module}`");
        }
    }
}

#[test]
fn pure_floors_touch_no_file_clock_environment_network_or_process() {
    for (file, text) in sources(&root().join("src")) {
        let Some(module) = module_of(&file).filter(|module| *module != "cli") else { continue };
        if NOT_PURE.contains(&module) {
            continue;
        }
        let text = shipped(&text);
        for word in IMPURE {
            assert!(!text.contains(word), "{file} names {word}: floors 0 to 3 are pure");
        }
    }
}

#[test]
fn every_outside_crate_has_one_door() {
    for (file, text) in sources(&root().join("src")) {
        let text = shipped(&text);
        for (name, door) in DOORS {
            let named = text.contains(&format!("{name}::")) || text.contains(&format!("use {name}"));
            assert!(
                !named || file.starts_with(door) || file == "src/main.rs",
                "{file} names {name}, whose door is {door}"
            );
        }
    }
}

#[test]
fn files_are_short_and_say_what_they_are() {
    for dir in ["src", "tests"] {
        for (file, text) in sources(&root().join(dir)) {
            assert!(text.starts_with("//!"), "{file} begins with //!");
            let lines = text.lines().take_while(|line| line.trim_start() != "#[cfg(test)]").count();
            assert!(
                dir != "src" || lines <= MAX_LINES,
                "{file} has {lines} lines before its tests, at most {MAX_LINES}"
            );
            let stem = Path::new(&file).file_stem().unwrap().to_str().unwrap().to_owned();
            assert!(!VAGUE.contains(&stem.as_str()), "{file}: name it after the one thing that it is");
        }
    }
}

#[test]
fn nothing_is_left_undone_or_skipped() {
    let banned =
        [["to", "do!("].concat(), ["un", "implemented!("].concat(), ["#[ig", "nore"].concat(), ["FIX", "ME"].concat()];
    for dir in ["src", "tests"] {
        for (file, text) in sources(&root().join(dir)) {
            for word in &banned {
                assert!(!text.contains(word.as_str()), "{file} contains {word}");
            }
        }
    }
}
