//! How a system was run, as evidence: `run.v1`. Secrets are not in it, and neither are the words of a command.

use std::collections::BTreeMap;

use serde::Serialize;

use super::chat::Endpoint;
use super::launch::{KEPT_VARIABLES, Launch};
use super::outcome::Outcome;
use super::plan::{Plan, Seed};
use super::template::{Generation, Template};
use crate::object::{CanonicalError, Json, ObjectId, encode};

/// What is evidence of one round of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord<'a> {
    schema: &'static str,
    system: &'a SystemRecord,
    settings: &'a Settings,
    read_only: bool,
    seed: String,
    round: u32,
    rounds: u32,
    questions: usize,
    resumed: bool,
    /// How many outcomes there are by what came of them: `answered`, `declined` or a fault.
    outcomes: BTreeMap<&'static str, u64>,
}

/// Which system was asked.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SystemRecord {
    /// A process.
    Process(Process),
    /// A chat endpoint.
    #[serde(rename_all = "camelCase")]
    Openai {
        /// Its address.
        url: String,
        /// The model that was asked for.
        model: String,
        /// The messages of a request.
        template: Json,
        /// Generation settings.
        generation: BTreeMap<String, Json>,
        /// The variable that held the key; none where no key was sent.
        key_variable: Option<String>,
    },
}

/// A system process.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// BLAKE3 of its words as canonical JSON.
    command_blake3: ObjectId,
    /// The files among its words.
    files: Vec<FileRecord>,
    /// Variables that it kept.
    environment: Vec<&'static str>,
    /// Variables that were passed on by name.
    passed: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileRecord {
    name: String,
    blake3: ObjectId,
}

/// How it was asked.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// By how many workers.
    pub concurrency: usize,
    /// How long an answer may take, in seconds.
    pub timeout_seconds: f64,
    /// How long the run may take, in seconds.
    pub max_time_seconds: Option<f64>,
    /// How often a request is sent again; none for a process.
    pub retries: Option<u32>,
    /// The ceiling, in spend units.
    pub max_cost: Option<f64>,
    /// What one answer may spend, where there is a ceiling for a process.
    pub cost_each: Option<f64>,
}

impl SystemRecord {
    /// Describes a process.
    pub fn process(launch: &Launch) -> Self {
        let file = |file: &super::launch::LaunchFile| FileRecord { name: file.name.clone(), blake3: file.blake3 };
        Self::Process(Process {
            command_blake3: launch.digest(),
            files: launch.files().iter().map(file).collect(),
            environment: KEPT_VARIABLES.to_vec(),
            passed: launch.passed().to_vec(),
        })
    }

    /// Describes a chat endpoint.
    pub fn openai(
        endpoint: &Endpoint,
        model: &str,
        template: &Template,
        generation: &Generation,
        key_variable: Option<&str>,
    ) -> Self {
        Self::Openai {
            url: endpoint.to_string(),
            model: model.to_owned(),
            template: template.encode(),
            generation: generation.members().iter().cloned().collect(),
            key_variable: key_variable.map(str::to_owned),
        }
    }

    /// Canonical JSON: the bytes whose SHA-256 a receipt names as its subject.
    pub fn encode(&self) -> Result<Vec<u8>, CanonicalError> {
        encode(self)
    }
}

impl<'a> RunRecord<'a> {
    /// Describes a round, counted from 0, of a run.
    pub fn new(
        system: &'a SystemRecord,
        settings: &'a Settings,
        plan: &Plan,
        round: u32,
        resumed: bool,
        outcomes: &[Outcome],
    ) -> Self {
        Self {
            schema: "run.v1",
            system,
            settings,
            read_only: true,
            seed: plan.seed().to_string(),
            round: round + 1,
            rounds: plan.rounds(),
            questions: plan.questions(),
            resumed,
            outcomes: counted(outcomes),
        }
    }

    /// Canonical JSON.
    pub fn encode(&self) -> Result<Vec<u8>, CanonicalError> {
        encode(self)
    }

    /// How many outcomes there are by what came of them.
    pub fn outcomes(&self) -> &BTreeMap<&'static str, u64> {
        &self.outcomes
    }

    /// Whether these bytes are of a run with this seed.
    pub fn has_seed(bytes: &[u8], seed: Seed) -> bool {
        let json = crate::object::parse(bytes).ok();
        let Some(Json::Object(members)) = json else { return false };
        members.iter().any(|(name, value)| name == "seed" && *value == Json::String(seed.to_string()))
    }
}

fn counted(outcomes: &[Outcome]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        *counts.entry(outcome.word()).or_default() += 1;
    }
    counts
}
