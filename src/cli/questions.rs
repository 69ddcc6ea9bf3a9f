//! `proofmark questions`: what identifies a question set, and what differs between two.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use proofmark::question::{QuestionSet, Scheme, SetDiff, diff_sets};
use proofmark::score::Scorer;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::RecordFile;
use super::outfile::{OutFile, StagedFile};
use super::{keys, reveal};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  proofmark questions id q.jsonl --scorer exact/v1
  proofmark questions id q.jsonl --scheme mixle
  proofmark questions diff before.jsonl after.jsonl
  proofmark questions seal q.jsonl -o q.sealed.jsonl
  proofmark questions reveal q.sealed.jsonl q7 --receipt main -o q7.reveal
  proofmark questions reveal --check q7.reveal")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the identity of a question set under a scorer
    Id {
        /// Question records (JSONL)
        file: PathBuf,
        /// The judge, which is part of the identity
        #[arg(long, value_name = "SCORER", default_value = "substring/v2")]
        scorer: String,
        /// How the set is identified: pm1 or mixle
        #[arg(long, default_value_t = Scheme::Pm1)]
        scheme: Scheme,
    },
    /// Say which questions were added, removed, changed or moved; exit 3 if the sets differ
    Diff {
        /// The question set before
        base: PathBuf,
        /// The question set after
        current: PathBuf,
        /// By whose notion of equal content: pm1 or mixle
        #[arg(long, default_value_t = Scheme::Pm1)]
        scheme: Scheme,
    },
    /// List the questions of a file with their leaves
    Show {
        /// Question records (JSONL)
        file: PathBuf,
    },
    /// Add a random salt to every question, once, so that a set can be sealed
    Seal {
        /// Question records (JSONL)
        file: PathBuf,
        /// Where the salted records go; keep this file, every round needs it
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Show one question of a sealed set, with its salt, so that anyone can check it; or check such a file (exit 3 if it
    /// does not hold)
    Reveal(reveal::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Id { file, scorer, scheme } => id(file, scorer, *scheme, context),
        Action::Diff { base, current, scheme } => diff(base, current, *scheme, context),
        Action::Show { file } => show(file, context),
        Action::Seal { file, output } => seal(file, output, context),
        Action::Reveal(arguments) => reveal::run(arguments, context),
    }
}

/// Reads question records.
pub fn read(path: &Path) -> Result<QuestionSet, Failure> {
    let file = RecordFile::read(path)?;
    Ok(QuestionSet::parse(&file.name, file.bytes.as_slice())?)
}

#[derive(Serialize)]
struct IdDocument<'a> {
    schema: &'static str,
    id: String,
    scheme: &'static str,
    scorer: &'a str,
    n: usize,
    sealed: bool,
}

fn id(file: &Path, scorer: &str, scheme: Scheme, context: &Context) -> Result<Exit, Failure> {
    let set = read(file)?;
    // Any judge may be named: mixle's own, for example, are not ours to parse.
    let scorer = match Scorer::parse(scorer) {
        Ok(scorer) => scorer.identity().clone(),
        Err(error) if scheme == Scheme::Pm1 => return Err(error.into()),
        Err(_) => scorer.parse()?,
    };
    let id = set.id(scheme, &scorer)?.to_string();
    let document = IdDocument {
        schema: "questions-id.v1",
        id,
        scheme: scheme.name(),
        scorer: scorer.as_str(),
        n: set.len(),
        sealed: set.is_sealed(),
    };
    context.answer(&document, || format!("{}\n", document.id))?;
    Ok(Exit::Yes)
}

#[derive(Serialize)]
struct DiffDocument {
    schema: &'static str,
    same: bool,
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
    moved: Vec<MovedQuestion>,
    resalted: Vec<String>,
    reannotated: Vec<ReannotatedQuestion>,
}

#[derive(Serialize)]
struct MovedQuestion {
    name: String,
    from: usize,
    to: usize,
}

#[derive(Serialize)]
struct ReannotatedQuestion {
    name: String,
    annotations: Vec<&'static str>,
}

impl DiffDocument {
    fn of(diff: &SetDiff) -> Self {
        let names = |list: &[proofmark::question::QuestionName]| list.iter().map(ToString::to_string).collect();
        let moved = diff.moved.iter().map(|moved| MovedQuestion {
            name: moved.name.to_string(),
            from: moved.from,
            to: moved.to,
        });
        let reannotated = diff.reannotated.iter().map(|question| ReannotatedQuestion {
            name: question.name.to_string(),
            annotations: question.annotations.iter().map(|annotation| annotation.name()).collect(),
        });
        Self {
            schema: "questions-diff.v1",
            same: diff.same_identity(),
            added: names(&diff.added),
            removed: names(&diff.removed),
            changed: names(&diff.changed),
            moved: moved.collect(),
            resalted: names(&diff.resalted),
            reannotated: reannotated.collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (what, names) in [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
            ("resalted", &self.resalted),
        ] {
            for name in names {
                text.push_str(&format!("{what:12} {}\n", one_line(name)));
            }
        }
        for moved in &self.moved {
            text.push_str(&format!("{:12} {} from {} to {}\n", "moved", one_line(&moved.name), moved.from, moved.to));
        }
        for question in &self.reannotated {
            let annotations = question.annotations.join(", ");
            text.push_str(&format!(
                "{:12} {} ({annotations}; not part of the identity)\n",
                "reannotated",
                one_line(&question.name)
            ));
        }
        text.push_str(if self.same { "the same questions\n" } else { "not the same questions\n" });
        text
    }
}

fn diff(base: &Path, current: &Path, scheme: Scheme, context: &Context) -> Result<Exit, Failure> {
    let document = DiffDocument::of(&diff_sets(&read(base)?, &read(current)?, scheme)?);
    context.answer(&document, || document.text())?;
    Ok(if document.same { Exit::Yes } else { Exit::No })
}

#[derive(Serialize)]
struct ShowDocument<'a> {
    schema: &'static str,
    questions: Vec<ShownQuestion<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownQuestion<'a> {
    position: usize,
    leaf: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    must_pass: bool,
    text: &'a str,
    expected: &'a str,
}

fn show(file: &Path, context: &Context) -> Result<Exit, Failure> {
    let set = read(file)?;
    let leaves = set.leaves()?;
    let questions = set.iter().zip(leaves.as_slice()).zip(1..).map(|((question, leaf), position)| ShownQuestion {
        position,
        leaf: leaf.to_string(),
        id: question.id(),
        cluster: question.cluster(),
        must_pass: question.must_pass(),
        text: question.query().text(),
        expected: question.expected(),
    });
    let document = ShowDocument { schema: "questions-show.v1", questions: questions.collect() };
    context.answer(&document, || {
        let line = |question: &ShownQuestion<'_>| {
            let ShownQuestion { position, leaf, id, text, expected, .. } = question;
            let name = id.map_or_else(|| format!("#{position}"), one_line);
            format!("{name:8} {}  {}  ->  {}\n", &leaf[..12], one_line(text), one_line(expected))
        };
        document.questions.iter().map(line).collect()
    })?;
    Ok(Exit::Yes)
}

#[derive(Serialize)]
struct SealDocument {
    schema: &'static str,
    output: String,
    n: usize,
    sealed: bool,
}

fn seal(file: &Path, output: &Path, context: &Context) -> Result<Exit, Failure> {
    let out = OutFile::at(output, false, &[file], context)
        .map_err(|failure| failure.hint("salts are drawn once; every round needs the same file"))?;
    let set = read(file)?;
    if set.is_sealed() {
        return Err(Failure::refused(format!(
            "{} has salts already; other salts would make it another set",
            file.display()
        )));
    }
    let set = set.seal(keys::seed::<32>)?;
    StagedFile::write(out.private(), &set.encode()?)?.publish()?;
    let document =
        SealDocument { schema: "questions-seal.v1", output: output.display().to_string(), n: set.len(), sealed: true };
    context.answer(&document, || {
        format!(
            "{} questions salted into {}\nkeep that file secret and safe: every round needs it\n",
            document.n, document.output
        )
    })?;
    Ok(Exit::Yes)
}
