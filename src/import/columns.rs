//! Tables whose columns have the names that people give them: which one holds what.

use super::member::{spelled, string};
use super::round::Wording;
use crate::object::Json;

/// The columns of a table by what they hold, as places in its header.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) id: Option<usize>,
    /// All of them: a template in one column and a question in another are both what was asked.
    pub(super) prompt: Vec<usize>,
    pub(super) reference: Option<usize>,
    pub(super) reply: Option<usize>,
    pub(super) cluster: Option<usize>,
    pub(super) state: Option<usize>,
    pub(super) correct: Option<usize>,
    pub(super) score: Option<usize>,
    pub(super) cost: Option<usize>,
    pub(super) model: Option<usize>,
    pub(super) scorer: Option<usize>,
    pub(super) generation: Option<usize>,
    pub(super) configuration: Option<usize>,
    pub(super) ignored: Vec<String>,
}

const ID: &[&str] = &["id", "qid", "question_id", "sample_id", "request_id", "case"];
const PROMPT: &[&str] = &["prompt", "question", "input", "inputs", "query", "request"];
const REFERENCE: &[&str] =
    &["reference", "expected", "answer", "target", "targets", "ground_truth", "expected_output", "expected_response"];
const REPLY: &[&str] =
    &["reply", "response", "prediction", "predictions", "output", "outputs", "actual", "actual_output", "completion"];
const CLUSTER: &[&str] = &["cluster", "group"];
const STATE: &[&str] = &["state", "status", "result", "outcome"];
const CORRECT: &[&str] = &["correct", "pass", "passed", "success", "is_correct"];
const SCORE: &[&str] = &["score"];
const COST: &[&str] = &["cost"];
const MODEL: &[&str] = &["model"];
const SCORER: &[&str] = &["scorer", "metric"];
const GENERATION: &[&str] = &["generation"];
const CONFIGURATION: &[&str] = &["configuration"];

/// Every name that is read.
const READ: &[&[&str]] =
    &[ID, PROMPT, REFERENCE, REPLY, CLUSTER, STATE, CORRECT, SCORE, COST, MODEL, SCORER, GENERATION, CONFIGURATION];

impl Columns {
    /// Finds the columns; the first name of a list that is there counts, in whatever case it is written.
    pub(super) fn of(header: &[String]) -> Self {
        let lower: Vec<String> = header.iter().map(|name| name.trim().to_lowercase()).collect();
        let find = |names: &[&str]| names.iter().find_map(|name| lower.iter().position(|column| column == name));
        let mut columns = Self {
            id: find(ID),
            prompt: PROMPT.iter().filter_map(|name| lower.iter().position(|column| column == name)).collect(),
            reference: find(REFERENCE),
            reply: find(REPLY),
            cluster: find(CLUSTER),
            state: find(STATE),
            correct: find(CORRECT),
            score: find(SCORE),
            cost: find(COST),
            model: find(MODEL),
            scorer: find(SCORER),
            generation: find(GENERATION),
            configuration: find(CONFIGURATION),
            ignored: Vec::new(),
        };
        let taken = columns.taken();
        columns.ignored = (0..header.len()).filter(|at| !taken.contains(at)).map(|at| header[at].clone()).collect();
        columns
    }

    /// Two columns of one name, in whatever case, where the name is one that is read: nobody can know which is meant.
    pub(super) fn twice(header: &[String]) -> Option<(usize, usize)> {
        let lower: Vec<String> = header.iter().map(|name| name.trim().to_lowercase()).collect();
        let is_read = |name: &str| READ.iter().any(|names| names.contains(&name));
        (0..lower.len()).filter(|at| is_read(&lower[*at])).find_map(|second| {
            let first = lower[..second].iter().position(|name| *name == lower[second])?;
            Some((first, second))
        })
    }

    /// What was asked: the one column as it is, several by their names.
    pub(super) fn asked(&self, header: &[String], cell: impl Fn(usize) -> Wording) -> Wording {
        let [first, rest @ ..] = self.prompt.as_slice() else { return Wording::Unknown };
        if rest.is_empty() {
            return cell(*first);
        }
        let mut members = Vec::new();
        for at in &self.prompt {
            let text = match cell(*at) {
                Wording::Unknown => return Wording::Unknown,
                Wording::Plain(text) | Wording::Value(text) => text,
            };
            members.push((header[*at].trim().to_lowercase(), string(text)));
        }
        Wording::Value(spelled(&Json::Object(members)))
    }

    fn taken(&self) -> Vec<usize> {
        [
            self.id,
            self.reference,
            self.reply,
            self.cluster,
            self.state,
            self.correct,
            self.score,
            self.cost,
            self.model,
            self.scorer,
            self.generation,
            self.configuration,
        ]
        .into_iter()
        .flatten()
        .chain(self.prompt.iter().copied())
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_any_of_their_names() {
        let header = ["Question", "ID", "expected", "notes", "Answer"].map(str::to_owned);
        let columns = Columns::of(&header);
        assert_eq!(
            (columns.prompt.as_slice(), columns.id, columns.reference, columns.reply),
            (&[0][..], Some(1), Some(2), None)
        );
        assert_eq!(columns.ignored, ["notes", "Answer"]);
        assert_eq!(Columns::twice(&header), None);
    }

    #[test]
    fn a_name_that_is_read_stands_there_once() {
        let twice = |header: &[&str]| Columns::twice(&header.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(twice(&["id", "Correct", "note", " correct"]), Some((1, 3)));
        assert_eq!(twice(&["note", "note", "", "", "passed", "correct"]), None, "what is not read may be there twice");
    }
}
