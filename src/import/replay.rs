//! The manifest of an import, which a replay follows: the same files, read in the same way, must give the same evidence.

use super::member::{self, object, spelled, string};
use super::{ImportError, Limits, Options, Original, Rendered, Texts, Tool, read, render};
use crate::object::{Json, ObjectId, parse};

/// How the identities of scorers of imported rounds begin.
pub const SCORER_PREFIX: &str = "import/";

/// A file of an import: its name and its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedOriginal {
    /// Its path below the folder that was imported.
    pub name: String,
    /// Its object id.
    pub blake3: ObjectId,
}

/// What was imported, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The tool.
    pub tool: Tool,
    /// The task.
    pub task: String,
    /// How the files were read.
    pub options: Options,
    /// The files, in the order in which they were handed in.
    pub originals: Vec<NamedOriginal>,
}

impl Manifest {
    /// Canonical JSON.
    pub fn encode(&self) -> Vec<u8> {
        let optional = |text: &Option<String>| text.clone().map_or(Json::Null, string);
        let file = |file: &NamedOriginal| {
            object([("blake3", string(file.blake3.to_string())), ("name", string(file.name.clone()))])
        };
        let limits = &self.options.limits;
        let document = object([
            ("schema", string("import-manifest.v1")),
            ("tool", string(self.tool.as_str())),
            ("task", string(self.task.clone())),
            ("filter", optional(&self.options.filter)),
            ("metric", optional(&self.options.metric)),
            (
                "limits",
                object([
                    ("document", Json::Integer(limits.document.into())),
                    ("sample", Json::Integer(limits.sample.into())),
                    ("depth", Json::Integer(limits.depth as i128)),
                ]),
            ),
            ("originals", Json::Array(self.originals.iter().map(file).collect())),
        ]);
        spelled(&document).into_bytes()
    }

    /// Reads what [`Manifest::encode`] wrote.
    pub fn parse(bytes: &[u8]) -> Result<Self, ImportError> {
        let refuse = |reason: &str| ImportError::Manifest { reason: reason.to_owned() };
        let document = parse(bytes).map_err(|error| refuse(&error.to_string()))?;
        let text = |path: &[&str]| member::text(&document, path).map(str::to_owned);
        if text(&["schema"]).as_deref() != Some("import-manifest.v1") {
            return Err(refuse("its schema is not `import-manifest.v1`"));
        }
        let limit = |name: &str| {
            member::count(&document, &["limits", name]).ok_or_else(|| refuse(&format!("limits.{name} is missing")))
        };
        let depth = usize::try_from(limit("depth")?).map_err(|_| refuse("limits.depth is too large"))?;
        let limits = Limits { document: limit("document")?, sample: limit("sample")?, depth };
        let task = text(&["task"]).ok_or_else(|| refuse("`task` is missing"))?;
        let original = |file: &Json| {
            let name = member::text(file, &["name"]).ok_or_else(|| refuse("an original has no name"))?.to_owned();
            let blake3 = member::text(file, &["blake3"]).and_then(|digits| digits.parse().ok());
            Ok(NamedOriginal { name, blake3: blake3.ok_or_else(|| refuse("an original has no digest"))? })
        };
        let originals = member::list(&document, &["originals"]).iter().map(original);
        let manifest = Self {
            tool: text(&["tool"]).ok_or_else(|| refuse("`tool` is missing"))?.parse()?,
            options: Options {
                filter: text(&["filter"]),
                metric: text(&["metric"]),
                tasks: vec![task.clone()],
                limits,
                texts: Texts::default(),
            },
            task,
            originals: originals.collect::<Result<_, ImportError>>()?,
        };
        if manifest.encode() != bytes {
            return Err(refuse("it is not in its one spelling"));
        }
        Ok(manifest)
    }

    /// Reads the originals again, in the order of the manifest, for the digests of what follows from them.
    pub fn replay(&self, originals: &[Original<'_>]) -> Result<Rendered, ImportError> {
        let options = Options { texts: Texts::Digested, ..self.options.clone() };
        let rounds = read(self.tool, originals, &options)?;
        let round = rounds.iter().find(|round| round.task == self.task);
        render(round.ok_or_else(|| ImportError::NoTask { task: self.task.clone() })?, &options.texts)
    }
}
