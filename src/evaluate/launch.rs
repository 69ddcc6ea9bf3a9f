//! How a system process is started: its words, the files among them, and a clean environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::EvaluateError;
use super::group::Group;
use super::secrets::Secrets;
use crate::object::{ObjectId, encode};
use crate::store::{StoreError, digest_file};

/// The variables that a system keeps, where they are set. `HOME` and `TMPDIR` are its own empty folder.
pub const KEPT_VARIABLES: [&str; 5] = ["LANG", "LC_ALL", "LC_CTYPE", "PATH", "TZ"];

/// Names that begin so are this program's, keys among them.
const OWN_VARIABLES: &str = "PROOFMARK_";

/// A command that is ready to be started any number of times.
#[derive(Debug, Clone)]
pub struct Launch {
    words: Vec<String>,
    arguments: Vec<OsString>,
    files: Vec<LaunchFile>,
    variables: Vec<(String, OsString)>,
    passed: Vec<String>,
}

/// A file that the command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaunchFile {
    /// As the command names it.
    pub(super) name: String,
    path: PathBuf,
    /// What it holds.
    pub(super) blake3: ObjectId,
}

impl Launch {
    /// Reads a command: words as a shell splits them (blanks, quotes, backslashes), without anything that a shell expands.
    ///
    /// A word that names a file is read as from `here`, since the system runs in another folder, and its digest is taken;
    /// the program itself is looked up in `PATH` where its name has no `/`. `variable` gives the environment, `passed`
    /// names what goes to the system beyond [`KEPT_VARIABLES`].
    pub fn parse(
        command: &str,
        here: &Path,
        passed: &[String],
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, EvaluateError> {
        let words = split(command)?;
        let Some(program) = words.first() else {
            return Err(EvaluateError::Command { reason: "is empty".to_owned() });
        };
        let found = if program.contains('/') {
            Some(here.join(program)).filter(|path| path.is_file())
        } else {
            in_path(program, variable("PATH"), here)
        };
        let Some(found) = found else {
            return Err(EvaluateError::Command { reason: format!("names `{program}`, and there is no such program") });
        };
        let mut files = vec![file(program, found.clone())?];
        let mut arguments = vec![found.into_os_string()];
        for word in &words[1..] {
            let path = here.join(word);
            if path.is_file() {
                files.push(file(word, path.clone())?);
            }
            let is_place = path.is_file() || (word.contains('/') && path.exists());
            arguments.push(if is_place { path.into_os_string() } else { word.into() });
        }
        let variables = environment(passed, variable)?;
        Ok(Self { words, arguments, files, variables, passed: passed.to_vec() })
    }

    /// The BLAKE3 of the words as canonical JSON: which command it was, without what its arguments may give away.
    pub fn digest(&self) -> ObjectId {
        ObjectId::of(&encode(&self.words).unwrap_or_default())
    }

    /// The files that the command names.
    pub(super) fn files(&self) -> &[LaunchFile] {
        &self.files
    }

    /// Names of the variables that go to the system beyond the usual ones.
    pub(super) fn passed(&self) -> &[String] {
        &self.passed
    }

    /// The values of the variables that were passed on by name.
    pub fn secrets(&self) -> Secrets {
        let passed = self.variables.iter().filter(|(name, _)| self.passed.contains(name));
        Secrets::new(passed.filter_map(|(_, value)| value.to_str().map(str::to_owned)))
    }

    /// The file that is no longer what was digested, if there is one.
    pub fn changed(&self) -> Result<Option<&str>, StoreError> {
        for file in &self.files {
            if digest_file(&file.path)?.blake3 != file.blake3 {
                return Ok(Some(&file.name));
            }
        }
        Ok(None)
    }

    /// Starts the command in `folder`, which is its home too.
    pub(super) fn start(&self, folder: &Path) -> std::io::Result<Group> {
        let mut command = Command::new(&self.arguments[0]);
        command.args(&self.arguments[1..]).current_dir(folder).env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("HOME", folder).env("TMPDIR", folder);
        Group::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()))
    }
}

fn file(name: &str, path: PathBuf) -> Result<LaunchFile, EvaluateError> {
    let digests = digest_file(&path)
        .map_err(|error| EvaluateError::Command { reason: format!("names `{name}`, which cannot be read: {error}") })?;
    Ok(LaunchFile { name: name.to_owned(), path, blake3: digests.blake3 })
}

fn in_path(program: &str, path: Option<OsString>, here: &Path) -> Option<PathBuf> {
    let path = path?;
    std::env::split_paths(&path).map(|folder| here.join(folder).join(program)).find(|found| found.is_file())
}

fn environment(
    passed: &[String],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, OsString)>, EvaluateError> {
    let refused = |name: &String, reason| EvaluateError::Variable { name: name.clone(), reason };
    let mut variables = Vec::new();
    for name in KEPT_VARIABLES {
        variables.extend(variable(name).map(|value| (name.to_owned(), value)));
    }
    for name in passed {
        if name.starts_with(OWN_VARIABLES) {
            return Err(refused(name, "is this program's own and is not passed on"));
        }
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(refused(name, "is no name of a variable"));
        }
        let value = variable(name).ok_or_else(|| refused(name, "is to be passed on and is not set"))?;
        variables.push((name.clone(), value));
    }
    Ok(variables)
}

/// Splits words as a POSIX shell does, without expanding anything.
fn split(command: &str) -> Result<Vec<String>, EvaluateError> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = command.chars();
    let unclosed = || EvaluateError::Command { reason: "has a quote or a backslash that nothing follows".to_owned() };
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = characters.next().ok_or_else(unclosed)?;
                let kept = quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`');
                let word = word.get_or_insert_default();
                word.extend(kept.then_some('\\'));
                word.push(next);
            }
            (None, blank) if blank.is_ascii_whitespace() => words.extend(word.take()),
            (None, '|' | '&' | ';' | '<' | '>' | '$' | '`' | '(' | ')') => {
                let reason =
                    format!("holds `{character}`, which only a shell understands; quote it, or ask for sh -c '…'");
                return Err(EvaluateError::Command { reason });
            }
            (_, '\0') => return Err(EvaluateError::Command { reason: "holds a NUL".to_owned() }),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    if quote.is_some() {
        return Err(unclosed());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Result<Vec<String>, String> {
        split(command).map_err(|error| error.to_string())
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (command, expected) in [
            ("a  b\tc", &["a", "b", "c"][..]),
            (r#"sh -c 'x "$y" | z' """#, &["sh", "-c", r#"x "$y" | z"#, ""]),
            (r#"a\ b "c\"d\n" e'f'"g""#, &["a b", r#"c"d\n"#, "efg"]),
            ("", &[]),
        ] {
            assert_eq!(words(command).unwrap(), expected, "{command}");
        }
        for command in ["a 'b", "a \"b", "a\\"] {
            assert_eq!(
                words(command).unwrap_err(),
                "the system's command has a quote or a backslash that nothing follows"
            );
        }
        assert!(words("a | b").unwrap_err().contains("`|`, which only a shell understands"));
        assert!(words("a\0").unwrap_err().contains("NUL"));
    }

    fn launch(command: &str, here: &Path, passed: &[&str]) -> Result<Launch, String> {
        let passed: Vec<_> = passed.iter().map(|name| (*name).to_owned()).collect();
        let variable = |name: &str| match name {
            "PATH" => Some("/bin:/usr/bin".into()),
            "TOKEN" => Some("canary-canary".into()),
            "PROOFMARK_KEY" => Some("secret".into()),
            _ => None,
        };
        Launch::parse(command, here, &passed, variable).map_err(|error| error.to_string())
    }

    #[test]
    fn files_are_found_from_here_and_digested_and_the_digest_shows_no_word() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bot.sh"), "exit 0\n").unwrap();
        let launch = launch("sh bot.sh --key canary", folder.path(), &["TOKEN"]).unwrap();
        assert_eq!(launch.arguments[1], folder.path().join("bot.sh"));
        assert_eq!(launch.arguments[3], "canary");
        let named: Vec<_> = launch.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(named, ["sh", "bot.sh"]);
        assert_eq!(launch.digest(), ObjectId::of(br#"["sh","bot.sh","--key","canary"]"#));
        assert!(launch.secrets().occur_in("canary-canary"));
        assert_eq!(launch.changed().unwrap(), None);
        std::fs::write(folder.path().join("bot.sh"), "exit 1\n").unwrap();
        assert_eq!(launch.changed().unwrap(), Some("bot.sh"));
    }

    #[test]
    fn what_cannot_be_started_or_passed_on_is_refused_by_name() {
        let here = Path::new("/");
        for (command, passed, message) in [
            (" ", &[][..], "the system's command is empty"),
            ("nosuchprogram x", &[], "the system's command names `nosuchprogram`, and there is no such program"),
            ("./nosuch", &[], "the system's command names `./nosuch`, and there is no such program"),
            ("sh", &["PROOFMARK_KEY"], "the variable `PROOFMARK_KEY` is this program's own and is not passed on"),
            ("sh", &["A=B"], "the variable `A=B` is no name of a variable"),
            ("sh", &["UNSET"], "the variable `UNSET` is to be passed on and is not set"),
        ] {
            assert_eq!(launch(command, here, passed).unwrap_err(), message);
        }
    }
}
