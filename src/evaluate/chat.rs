//! A system that is an OpenAI-compatible chat endpoint. The only place that opens a connection.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use super::EvaluateError;
use super::budget::Unreserved;
use super::outcome::{Fault, Outcome, spend};
use super::pool::{Asked, Seat, Step, System};
use super::protocol::object;
use super::retry::{Hold, MOST_PATIENT, backoff, is_passing, retry_after};
use super::secrets::Secrets;
use super::stop::{GRACE, Over, Patience};
use super::template::{Generation, Template};
use crate::object::{Json, parse};
use crate::trust::Zeroizing;

/// The largest response that is read (4 MiB).
const MAX_BODY: u64 = 4 << 20;

/// What a body that is an error says is shown up to so many characters.
const SHOWN: usize = 200;

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: String,
    local: bool,
}

impl Endpoint {
    /// Reads the base of an API, as in `https://api.openai.com/v1`, or the whole address of its chat completions.
    ///
    /// What could hold a secret and would be recorded is refused: a name or password before the host, a query, a fragment.
    /// A key goes over plain HTTP to this machine only.
    pub fn parse(url: &str, with_key: bool) -> Result<Self, EvaluateError> {
        let refused = |reason: &str| EvaluateError::Url { reason: reason.to_owned() };
        if url.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(refused("holds a character that is none of an address"));
        }
        let (plain, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err(refused("must begin with https:// or http://")),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(refused("holds a name or password, which would be recorded"));
        }
        if rest.contains(['?', '#']) {
            return Err(refused("holds a query or a fragment, which would be recorded"));
        }
        if authority.is_empty() {
            return Err(refused("names no host"));
        }
        let local = is_local(authority);
        if plain && with_key && !local {
            return Err(refused("is plain HTTP to another machine, which would show the key on the way"));
        }
        let url = url.trim_end_matches('/');
        let path = "/chat/completions";
        let url = if url.ends_with(path) { url.to_owned() } else { format!("{url}{path}") };
        Ok(Self { url, local })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

fn is_local(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A chat endpoint that is asked question by question.
#[derive(Debug)]
pub struct ChatSystem {
    endpoint: Endpoint,
    model: String,
    template: Template,
    generation: Generation,
    authorization: Option<Zeroizing<String>>,
    secrets: Secrets,
    timeout: Duration,
    retries: u32,
    hold: Hold,
}

impl ChatSystem {
    /// A system of this endpoint and model. `key` goes into the `Authorization` header and nowhere else; it must be
    /// visible ASCII. Each request has `timeout`, and is sent again up to `retries` times.
    pub fn new(
        endpoint: Endpoint,
        model: String,
        (template, generation): (Template, Generation),
        key: Option<Zeroizing<String>>,
        timeout: Duration,
        retries: u32,
    ) -> Self {
        let secrets = Secrets::new(key.iter().map(|key| key.as_str().to_owned()));
        let authorization = key.map(|key| Zeroizing::new(format!("Bearer {}", key.as_str())));
        let hold = Hold::default();
        Self { endpoint, model, template, generation, authorization, secrets, timeout, retries, hold }
    }

    fn agent(&self) -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(self.timeout))
            .http_status_as_error(false)
            // A redirect would take question and key to where nobody sent them.
            .max_redirects(0)
            .user_agent(concat!("proofmark/", env!("CARGO_PKG_VERSION")));
        // What goes to this machine must not take the way over a proxy, which would see the key.
        let config = if self.endpoint.local { config.proxy(None) } else { config };
        config.build().new_agent()
    }

    fn body(&self, asked: &Asked<'_>) -> Vec<u8> {
        let mut members =
            vec![("model", Json::String(self.model.clone())), ("messages", self.template.fill(asked.question.query()))];
        members.extend(self.generation.members().iter().map(|(name, value)| (name.as_str(), value.clone())));
        serde_json::to_vec(&object(members)).unwrap_or_default()
    }
}

impl System for ChatSystem {
    fn seat(&self) -> Box<dyn Seat + '_> {
        Box::new(Line { system: self, caller: None })
    }

    /// Each request reserves its own call.
    fn reserve(&self) -> Option<f64> {
        None
    }

    fn lost_calls(&self) -> f64 {
        1.0
    }
}

/// One worker's line to the endpoint. Requests are sent by a thread of its own, so that a slow one can be left alone.
struct Line<'a> {
    system: &'a ChatSystem,
    caller: Option<Caller>,
}

struct Caller {
    requests: Sender<Vec<u8>>,
    responses: Receiver<Result<Response, ureq::Error>>,
}

struct Response {
    status: u16,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

/// What one request came to.
enum Sent {
    Answered(Vec<u8>),
    /// Worth another attempt, after this time or whenever; whether it may have been charged.
    Again {
        fault: Fault,
        detail: String,
        wait: Option<Duration>,
        charged: bool,
    },
    Final {
        fault: Fault,
        detail: String,
        charged: bool,
    },
    /// A refusal that every question would meet, and what the endpoint says about it.
    Hopeless {
        detail: String,
        said: String,
    },
    Abandoned,
}

impl Seat for Line<'_> {
    fn ask(&mut self, asked: &Asked<'_>) -> Step {
        let body = self.system.body(asked);
        let mut calls = 0.0;
        for attempt in 0.. {
            if let Some(until) = self.system.hold.until()
                && !asked.stop.sleep_until(until)
            {
                return if asked.stop.requested() { unasked(calls) } else { late(calls) };
            }
            match asked.budget.reserve(1.0, asked.stop) {
                Ok(()) => {}
                Err(Unreserved::Stopped) => return unasked(calls),
                Err(Unreserved::Short(short)) => {
                    return Step::Done(Outcome::failed(Fault::MaxCost, short.to_string(), calls));
                }
            }
            let sent = self.send(&body, asked);
            let charged = match &sent {
                Sent::Answered(_) | Sent::Abandoned => true,
                Sent::Again { charged, .. } | Sent::Final { charged, .. } => *charged,
                Sent::Hopeless { .. } => false,
            };
            let cost = if charged { 1.0 } else { 0.0 };
            asked.budget.settle(1.0, cost);
            calls += cost;
            match sent {
                Sent::Answered(body) => return Step::Done(self.read(&body, calls)),
                Sent::Hopeless { detail, said } => return Step::Hopeless { fault: Fault::Http, detail, said },
                Sent::Abandoned => return Step::Abandoned,
                Sent::Final { fault, detail, .. } => return Step::Done(Outcome::failed(fault, detail, calls)),
                Sent::Again { fault, detail, wait, .. } => {
                    if attempt >= self.system.retries {
                        let detail = format!("{detail}, {} attempts", attempt + 1);
                        return Step::Done(Outcome::failed(fault, detail, calls));
                    }
                    let until = Instant::now() + wait.unwrap_or_else(|| backoff(attempt, asked.spread(attempt)));
                    if wait.is_some() {
                        self.system.hold.extend(until);
                    } else if !asked.stop.sleep_until(until) {
                        return if asked.stop.requested() { unasked(calls) } else { late(calls) };
                    }
                }
            }
        }
        Step::Abandoned
    }

    fn finish(&mut self) -> Option<Outcome> {
        None
    }
}

/// Stopped while waiting: nothing is on its way, and what was refused so far was no answer.
fn unasked(calls: f64) -> Step {
    if calls > 0.0 { Step::Abandoned } else { Step::Unasked }
}

/// The run's time is up while waiting: what was refused so far was not asked.
fn late(calls: f64) -> Step {
    let fault = if calls > 0.0 { Fault::Timeout } else { Fault::TimeUp };
    Step::Done(Outcome::failed(fault, "the run's time was up while waiting to ask again", calls))
}

impl Line<'_> {
    fn send(&mut self, body: &[u8], asked: &Asked<'_>) -> Sent {
        let system = self.system;
        let caller = match &mut self.caller {
            Some(caller) => caller,
            empty => match Caller::start(system) {
                Ok(caller) => empty.insert(caller),
                Err(error) => {
                    let detail = format!("a thread cannot be started: {error}");
                    return Sent::Hopeless { detail, said: String::new() };
                }
            },
        };
        let _ = caller.requests.send(body.to_vec());
        let mut patience = Patience::new(asked.stop, system.timeout + GRACE);
        let response = loop {
            let tick = match patience.tick() {
                Ok(tick) => tick,
                Err(over) => {
                    // Whatever comes yet is to another question.
                    self.caller = None;
                    return match over {
                        Over::Stopped => Sent::Abandoned,
                        Over::Late => timed_out(system.timeout),
                    };
                }
            };
            match caller.responses.recv_timeout(tick) {
                Ok(response) => break response,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.caller = None;
                    let detail = "the request could not be sent".to_owned();
                    return Sent::Final { fault: Fault::Connection, detail, charged: true };
                }
            }
        };
        match response {
            Ok(response) => judged(response, &system.secrets),
            Err(error) => failed(&error, system.timeout),
        }
    }

    /// Reads the completion; `calls` were needed for it.
    fn read(&self, body: &[u8], calls: f64) -> Outcome {
        let malformed = |reason: String| {
            Outcome::failed(Fault::Malformed, format!("the response is no completion: {reason}"), calls)
        };
        let json = match parse(body) {
            Ok(json) => json,
            // Where it stands, and not what: an error could repeat anything.
            Err(error) => return malformed(format!("no JSON at column {}", error.column)),
        };
        let choice = member(&json, "choices").and_then(|choices| match choices {
            Json::Array(choices) => choices.first(),
            _ => None,
        });
        let Some(message) = choice.and_then(|choice| member(choice, "message")) else {
            return malformed("`choices[0].message` is missing".to_owned());
        };
        let reply = match member(message, "content") {
            Some(Json::String(reply)) => reply.clone(),
            Some(Json::Null) | None => {
                return Outcome::failed(Fault::NoReply, "the completion holds no text", calls);
            }
            Some(other) => return malformed(format!("`content` must be a string, not {}", other.kind())),
        };
        let receipt = receipt(&json, choice, calls);
        match Outcome::answered(Some(reply), receipt) {
            Ok(outcome) => {
                let written = serde_json::to_string(&outcome.record(None)).unwrap_or_default();
                if self.system.secrets.occur_in(&written) {
                    return Outcome::failed(Fault::Secret, "the response repeats the key", calls);
                }
                outcome
            }
            Err(error) => malformed(error.to_string()),
        }
    }
}

impl Caller {
    fn start(system: &ChatSystem) -> std::io::Result<Self> {
        let (requests, waiting) = channel::<Vec<u8>>();
        let (said, responses) = channel();
        let (agent, url, authorization) = (system.agent(), system.endpoint.url.clone(), system.authorization.clone());
        std::thread::Builder::new().spawn(move || {
            while let Ok(body) = waiting.recv() {
                let authorization = authorization.as_ref().map(|value| value.as_str());
                if said.send(post(&agent, &url, authorization, &body)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, responses })
    }
}

fn post(agent: &ureq::Agent, url: &str, authorization: Option<&str>, body: &[u8]) -> Result<Response, ureq::Error> {
    let mut request = agent.post(url).header("content-type", "application/json").header("x-read-only", "true");
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    let mut response = request.send(body)?;
    let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let retry_after = wait.and_then(|value| retry_after(value, SystemTime::now()));
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(MAX_BODY).read_to_vec();
    match body {
        Ok(body) => Ok(Response { status, retry_after, body }),
        // What a refusal says beside its status is not worth failing for.
        Err(_) if status != 200 => Ok(Response { status, retry_after, body: Vec::new() }),
        Err(error) => Err(error),
    }
}

fn judged(response: Response, secrets: &Secrets) -> Sent {
    let Response { status, retry_after, body } = response;
    if status == 200 {
        return Sent::Answered(body);
    }
    let detail = format!("the endpoint answers HTTP {status}");
    match retry_after {
        Some(wait) if is_passing(status) && wait > MOST_PATIENT => {
            let detail = format!("{detail} and asks to wait {} s", wait.as_secs());
            Sent::Final { fault: Fault::Http, detail, charged: false }
        }
        wait if is_passing(status) => Sent::Again { fault: Fault::Http, detail, wait, charged: false },
        _ if matches!(status, 401 | 403 | 404) => Sent::Hopeless { detail, said: said(&body, secrets) },
        _ => Sent::Final { fault: Fault::Http, detail, charged: false },
    }
}

/// What the endpoint says is wrong: for people, and never recorded.
fn said(body: &[u8], secrets: &Secrets) -> String {
    let json = parse(body).ok();
    let error = json.as_ref().and_then(|json| member(json, "error"));
    match error.and_then(|error| member(error, "message")).or(error) {
        Some(Json::String(text)) => {
            let text: String = secrets.screen(text).chars().take(SHOWN).collect();
            format!(": {text}")
        }
        _ => String::new(),
    }
}

fn timed_out(timeout: Duration) -> Sent {
    let detail = format!("no answer within {} s", timeout.as_secs_f64());
    Sent::Final { fault: Fault::Timeout, detail, charged: true }
}

/// Our own words for each way to fail: the client's could repeat what was sent.
fn failed(error: &ureq::Error, timeout: Duration) -> Sent {
    use std::io::ErrorKind;
    let again = |detail: &str, charged| Sent::Again {
        fault: Fault::Connection,
        detail: detail.to_owned(),
        wait: None,
        charged,
    };
    match error {
        ureq::Error::Timeout(_) => timed_out(timeout),
        ureq::Error::HostNotFound => again("the endpoint's host is not found", false),
        ureq::Error::Io(error) if error.kind() == ErrorKind::TimedOut => timed_out(timeout),
        ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => {
            again("the endpoint refuses the connection", false)
        }
        ureq::Error::ConnectionFailed => again("the endpoint cannot be connected to", false),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => {
            let detail = "no secure connection to the endpoint comes about".to_owned();
            Sent::Hopeless { detail, said: String::new() }
        }
        ureq::Error::BodyExceedsLimit(_) => {
            let detail = format!("the response is larger than {MAX_BODY} bytes");
            Sent::Final { fault: Fault::Oversize, detail, charged: true }
        }
        ureq::Error::LargeResponseHeader(..) => {
            let detail = "the response's header is too large".to_owned();
            Sent::Final { fault: Fault::Oversize, detail, charged: true }
        }
        ureq::Error::Io(_) => again("the connection was cut", true),
        _ => again("the response is no HTTP", true),
    }
}

/// How the endpoint says that it answered: model and end, and tokens beside the calls.
fn receipt(json: &Json, choice: Option<&Json>, calls: f64) -> Json {
    let mut spent = match spend(calls) {
        Json::Object(members) => members,
        _ => Vec::new(),
    };
    for name in ["prompt_tokens", "completion_tokens"] {
        if let Some(tokens @ Json::Integer(_)) = member(json, "usage").and_then(|usage| member(usage, name)) {
            spent.push((name.to_owned(), tokens.clone()));
        }
    }
    let mut members = vec![("status", Json::String("answered".to_owned())), ("spend", Json::Object(spent))];
    for (name, value) in [
        ("finish_reason", choice.and_then(|choice| member(choice, "finish_reason"))),
        ("model", member(json, "model")),
        ("system_fingerprint", member(json, "system_fingerprint")),
    ] {
        if let Some(Json::String(text)) = value {
            members.push((name, Json::String(text.chars().take(SHOWN).collect())));
        }
    }
    object(members)
}

fn member<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    let Json::Object(members) = json else { return None };
    members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_and_those_that_hold_secrets_refused() {
        let parse = |url: &str, key| Endpoint::parse(url, key).map(|url| url.to_string()).map_err(|e| e.to_string());
        for (url, whole) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
            ("http://localhost:8000/v1/chat/completions", "http://localhost:8000/v1/chat/completions"),
            ("http://127.0.0.1:1", "http://127.0.0.1:1/chat/completions"),
            ("http://[::1]:1", "http://[::1]:1/chat/completions"),
        ] {
            assert_eq!(parse(url, true).unwrap(), whole);
        }
        assert!(parse("http://gpu.lan:8000/v1", false).is_ok());
        for (url, reason) in [
            ("http://gpu.lan:8000/v1", "plain HTTP to another machine"),
            ("http://localhost.evil.com/", "plain HTTP to another machine"),
            ("https://me:secret@host/v1", "holds a name or password"),
            ("https://host/v1?key=secret", "holds a query or a fragment"),
            ("https://host#x", "holds a query or a fragment"),
            ("https:///v1", "names no host"),
            ("ftp://host", "must begin with https:// or http://"),
            ("https://host/a b", "a character that is none of an address"),
        ] {
            assert!(parse(url, true).unwrap_err().contains(reason), "{url}");
        }
    }
}
