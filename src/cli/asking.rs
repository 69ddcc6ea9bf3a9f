//! Whom to ask and how: from options to a system that is ready to be asked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proofmark::evaluate::{
    ChatSystem, Endpoint, EvaluateError, Generation, Launch, MAX_CONCURRENCY, ProcessSystem, Settings, System,
    SystemRecord, Template,
};
use proofmark::object::Sha256;
use proofmark::receipt::{ReceiptError, Subject};
use proofmark::trust::Zeroizing;

use super::failure::Failure;
use super::intake::RecordFile;

/// The variable with the endpoint's key, where no other is named.
const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// No run waits longer than this for anything, in seconds (30 days).
const LONGEST: f64 = 30.0 * 86_400.0;

/// Whom to ask, and how.
#[derive(Debug, clap::Args)]
pub struct AskingOptions {
    /// Ask a process: a command that reads a JSON question a line and writes a JSON answer a line. Split into words as a
    /// shell does, and not run by one; words that are files are found from this folder
    #[arg(long, value_name = "CMD", help_heading = "System")]
    pub system: Option<String>,
    /// Ask an OpenAI-compatible chat endpoint, as in https://api.openai.com/v1
    #[arg(long, value_name = "URL", requires = "model", help_heading = "System")]
    pub openai: Option<String>,
    /// The model to ask for
    #[arg(long, value_name = "NAME", requires = "openai", help_heading = "System")]
    model: Option<String>,
    /// The messages of a request: JSON, `[{"role": "user", "content": "{{text}}"}]` by default
    #[arg(long, value_name = "FILE", requires = "openai", help_heading = "System")]
    template: Option<PathBuf>,
    /// A generation setting that goes into every request, as in temperature=0 (repeatable); it is recorded
    #[arg(long, value_name = "NAME=JSON", requires = "openai", help_heading = "System")]
    set: Vec<String>,
    /// The variable that holds the endpoint's key [default: OPENAI_API_KEY, if it is set]
    #[arg(long, value_name = "VARIABLE", requires = "openai", help_heading = "System")]
    key_env: Option<String>,
    /// A variable that the process gets, beside PATH, LANG, LC_ALL, LC_CTYPE and TZ (repeatable); its value is a secret
    #[arg(long, value_name = "VARIABLE", requires = "system", help_heading = "System")]
    pass_env: Vec<String>,
    /// How many questions are asked at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = concurrency(), help_heading = "Asking")]
    concurrency: u16,
    /// How long an answer may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, help_heading = "Asking")]
    timeout: f64,
    /// How long the run may take, in seconds: questions that are left then count as failed
    #[arg(long, value_name = "SECONDS", help_heading = "Asking")]
    max_time: Option<f64>,
    /// How often a request is sent again after HTTP 429, 5xx or a failed connection
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=20), help_heading = "Asking")]
    retries: u32,
    /// What the run may spend, in spend units (a request to an endpoint is one): questions beyond count as failed
    #[arg(long, value_name = "UNITS", help_heading = "Asking")]
    max_cost: Option<f64>,
    /// What one answer of a process may spend under --max-cost [default: 1]
    #[arg(long, value_name = "UNITS", requires_all = ["max_cost", "system"], help_heading = "Asking")]
    cost_each: Option<f64>,
}

fn concurrency() -> clap::builder::RangedI64ValueParser<u16> {
    #[allow(clippy::cast_possible_wrap)] // 256
    clap::value_parser!(u16).range(1..=MAX_CONCURRENCY as i64)
}

/// A system that is ready to be asked.
pub struct Ready {
    /// Which it is, for receipts.
    pub record: SystemRecord,
    /// How it is asked.
    pub settings: Settings,
    /// The run's time.
    pub max_time: Option<Duration>,
    /// What was evaluated: the system's record, by its SHA-256.
    pub subject: Subject,
    kind: Kind,
}

enum Kind {
    Process(Launch, ProcessSystem),
    Chat(ChatSystem),
}

impl Ready {
    /// The system.
    pub fn system(&self) -> &dyn System {
        match &self.kind {
            Kind::Process(_, system) => system,
            Kind::Chat(system) => system,
        }
    }

    /// The last thing that a process wrote to stderr.
    pub fn last_words(&self) -> Option<String> {
        match &self.kind {
            Kind::Process(_, system) => system.last_words(),
            Kind::Chat(_) => None,
        }
    }

    /// Refuses a process whose files are no longer what was recorded.
    pub fn still_the_same(&self) -> Result<(), Failure> {
        let Kind::Process(launch, _) = &self.kind else { return Ok(()) };
        match launch.changed()? {
            None => Ok(()),
            Some(name) => Err(Failure::refused(format!("`{name}` changed while it was asked"))
                .hint("nobody could say which of the two answered; nothing was appended")),
        }
    }
}

impl AskingOptions {
    /// Reads everything, and starts nothing.
    pub fn ready(&self) -> Result<Ready, Failure> {
        let timeout = seconds("--timeout", self.timeout)?;
        let max_time = self.max_time.map(|time| seconds("--max-time", time)).transpose()?;
        let max_cost = self.max_cost.map(|units| cost("--max-cost", units)).transpose()?;
        let mut settings = Settings {
            concurrency: self.concurrency.into(),
            timeout_seconds: self.timeout,
            max_time_seconds: self.max_time,
            retries: None,
            max_cost,
            cost_each: None,
        };
        let (record, kind, name) = match (&self.system, &self.openai) {
            (Some(command), _) => {
                settings.cost_each =
                    max_cost.map(|_| cost("--cost-each", self.cost_each.unwrap_or(1.0))).transpose()?;
                let variable = |name: &str| std::env::var_os(name);
                let launch = Launch::parse(command, &std::env::current_dir()?, &self.pass_env, variable)?;
                let record = SystemRecord::process(&launch);
                let system = ProcessSystem::new(launch.clone(), timeout, settings.cost_each);
                (record, Kind::Process(launch, system), "system".to_owned())
            }
            (None, Some(url)) => {
                settings.retries = Some(self.retries);
                let model = self.model.clone().unwrap_or_default();
                let (record, system) = self.chat(url, &model, timeout)?;
                (record, Kind::Chat(system), model)
            }
            (None, None) => return Err(Failure::refused("there is nobody to ask")),
        };
        let bytes = record.encode().map_err(Failure::failed)?;
        let name = name.parse().map_err(|error: ReceiptError| {
            Failure::from(error).within("the model's name cannot be a receipt's subject".to_owned())
        })?;
        let subject = Subject::new(name, Sha256::of(&bytes));
        Ok(Ready { record, settings, max_time, subject, kind })
    }

    fn chat(&self, url: &str, model: &str, timeout: Duration) -> Result<(SystemRecord, ChatSystem), Failure> {
        let (variable, key) = self.key()?.unzip();
        let endpoint = Endpoint::parse(url, key.is_some())?;
        let template = self.template.as_deref().map_or_else(|| Ok(Template::default()), read_template)?;
        let generation = Generation::parse(&self.set)?;
        let record = SystemRecord::openai(&endpoint, model, &template, &generation, variable.as_deref());
        let system = ChatSystem::new(endpoint, model.to_owned(), (template, generation), key, timeout, self.retries);
        Ok((record, system))
    }

    /// The key and the name of its variable; none where none was named and the usual one is not set.
    fn key(&self) -> Result<Option<(String, Zeroizing<String>)>, Failure> {
        let name = self.key_env.as_deref().unwrap_or(KEY_VARIABLE);
        let refused = |reason| EvaluateError::Variable { name: name.to_owned(), reason };
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        let Some(value) = value else {
            return if self.key_env.is_some() {
                Err(refused("is to hold the key and is not set").into())
            } else {
                Ok(None)
            };
        };
        let key = value.into_string().ok().filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
        let key = key.ok_or_else(|| refused("holds a character that no key has"))?;
        Ok(Some((name.to_owned(), Zeroizing::new(key))))
    }
}

fn read_template(path: &Path) -> Result<Template, Failure> {
    let file = RecordFile::read_document(path)?;
    Template::parse(&file.bytes).map_err(|error| Failure::from(error).within(format!("{} is refused", file.name)))
}

fn seconds(option: &str, value: f64) -> Result<Duration, Failure> {
    if value > 0.0 && value <= LONGEST {
        return Ok(Duration::from_secs_f64(value));
    }
    Err(Failure::refused(format!("{option} must be more than 0 and at most {LONGEST} seconds, not {value}")))
}

fn cost(option: &str, value: f64) -> Result<f64, Failure> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value + 0.0);
    }
    Err(Failure::refused(format!("{option} must be finite and not negative, not {value}")))
}
