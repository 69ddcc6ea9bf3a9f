//! Files of another tool, gathered from what the user named: files, and folders with everything below them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use proofmark::import::Original;
use proofmark::store::Digests;

use super::failure::Failure;
use super::intake::{self, Unreadable};

/// The most files that are looked at.
const MAX_FILES: usize = 20_000;

/// The deepest folder that is looked into.
const MAX_FOLDERS: usize = 32;

/// A file that may belong to an import.
pub struct ForeignFile {
    /// Its path below what the user named, with `/`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its size and time when it was found.
    found: Option<(u64, SystemTime)>,
}

impl ForeignFile {
    /// The file as the importers see it.
    pub fn original(&self) -> Original<'_> {
        let open = || -> io::Result<Box<dyn Read + Send>> { Ok(Box::new(File::open(&self.path)?)) };
        Original::opened(self.name.as_str(), open)
    }

    fn new(name: String, path: PathBuf) -> Self {
        let found = state(&path);
        Self { name, path, found }
    }

    /// Refuses a file that was stored, but was written to since it was found: what was read might not be what is kept.
    pub fn refuse_changed(&self, stored: &Digests) -> Result<(), Failure> {
        let now = state(&self.path);
        if now.is_some() && now == self.found && now.is_some_and(|(size, _)| size == stored.size) {
            return Ok(());
        }
        Err(Failure::refused(format!("`{}` changed while it was imported", self.path.display())))
    }
}

/// A file's size and the time of its last change.
fn state(path: &Path) -> Option<(u64, SystemTime)> {
    let about = fs::metadata(path).ok()?;
    Some((about.len(), about.modified().ok()?))
}

/// All files below these paths, sorted by name, and the names of what is neither file nor folder. A link that the user
/// names is followed, one below a folder is not.
pub fn gather(paths: &[PathBuf]) -> Result<(Vec<ForeignFile>, Vec<String>), Failure> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for path in paths {
        let about = fs::metadata(path).map_err(|source| unreadable(path, source))?;
        if about.is_dir() {
            below(path, "", 0, &mut found, &mut others)?;
        } else {
            intake::open_regular(path)?;
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            found.push(ForeignFile::new(name, path.clone()));
        }
    }
    let mut seen: HashMap<&str, &Path> = HashMap::new();
    for file in &found {
        if let Some(other) = seen.insert(&file.name, &file.path) {
            let (one, other) = (other.display(), file.path.display());
            return Err(Failure::refused(format!("`{one}` and `{other}` would have one name, `{}`", file.name))
                .hint("name the folder above both, or import them one at a time"));
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    others.sort();
    Ok((found, others))
}

fn below(
    folder: &Path,
    name: &str,
    depth: usize,
    found: &mut Vec<ForeignFile>,
    others: &mut Vec<String>,
) -> Result<(), Failure> {
    if depth > MAX_FOLDERS {
        return Err(Failure::refused(format!("`{}` lies more than {MAX_FOLDERS} folders deep", folder.display())));
    }
    let entries = fs::read_dir(folder).map_err(|source| unreadable(folder, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| unreadable(folder, source))?;
        let kind = entry.file_type().map_err(|source| unreadable(&entry.path(), source))?;
        let file_name = entry.file_name().to_string_lossy().into_owned();
        let name = if name.is_empty() { file_name } else { format!("{name}/{file_name}") };
        if kind.is_dir() {
            below(&entry.path(), &name, depth + 1, found, others)?;
        } else if kind.is_file() {
            found.push(ForeignFile::new(name, entry.path()));
        } else {
            others.push(name);
        }
        if found.len() + others.len() > MAX_FILES {
            return Err(Failure::refused(format!(
                "there are more than {MAX_FILES} files below `{}`",
                folder.display()
            ))
            .hint("name the files of one run"));
        }
    }
    Ok(())
}

fn unreadable(path: &Path, source: io::Error) -> Failure {
    Failure::failed(Unreadable { name: path.display().to_string(), source })
}
