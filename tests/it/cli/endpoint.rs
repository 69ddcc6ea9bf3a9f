//! `proofmark evaluate --openai` against a real HTTP server on this machine: slow, refusing, cut off, huge, wrong.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::evaluate::{answers, journals, receipts, sandbox};
use super::sandbox::Sandbox;
use crate::schema;

const KEY: &str = "sk-canary-0123456789";

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    path: String,
    pub headers: String,
    body: Value,
    at: Instant,
}

/// What the server does with a request.
pub enum Reaction {
    /// A status, more headers, and a body.
    Say(u16, &'static str, String),
    /// Waits before it says so.
    Late(Duration, String),
    /// Half a response, and the end.
    Cut,
    /// These bytes.
    Raw(&'static [u8]),
    /// A body without end.
    Endless,
}

pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

pub fn completion(content: &Value) -> String {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_796_040_000, "model": "tiny-2026",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    })
    .to_string()
}

/// The completion that answers the question of this request rightly.
fn right(request: &Request) -> String {
    let text = request.body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    completion(&json!(format!("answer {}.", text.rsplit(' ').next().unwrap())))
}

impl Server {
    /// A server that reacts to the n-th request (from 0) so.
    pub fn start(react: impl Fn(usize, &Request) -> Reaction + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (react, kept) = (Arc::new(react), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (react, kept) = (Arc::clone(&react), Arc::clone(&kept));
                std::thread::spawn(move || serve(stream, &*react, &kept));
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(input: &mut impl BufRead) -> Option<Request> {
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        headers.push_str(&line);
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    let path = headers.split(' ').nth(1)?.to_owned();
    Some(Request { path, headers, body: serde_json::from_slice(&body).unwrap(), at: Instant::now() })
}

fn serve(stream: TcpStream, react: &dyn Fn(usize, &Request) -> Reaction, kept: &Mutex<Vec<Request>>) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    let mut output = stream;
    while let Some(request) = read_request(&mut input) {
        let number = {
            let mut kept = kept.lock().unwrap();
            kept.push(request.clone());
            kept.len() - 1
        };
        let say = |output: &mut TcpStream, status: u16, headers: &str, body: &str| {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n"
            );
            output.write_all(head.as_bytes()).and_then(|()| output.write_all(body.as_bytes()))
        };
        let said = match react(number, &request) {
            Reaction::Say(status, headers, body) => say(&mut output, status, headers, &body),
            Reaction::Late(wait, body) => {
                std::thread::sleep(wait);
                say(&mut output, 200, "", &body)
            }
            Reaction::Cut => {
                let _ = output.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\":");
                return;
            }
            Reaction::Raw(bytes) => {
                let _ = output.write_all(bytes);
                return;
            }
            Reaction::Endless => {
                let _ = output.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while output.write_all(&[b' '; 65536]).is_ok() {}
                return;
            }
        };
        if said.is_err() {
            return;
        }
    }
}

fn ask<'a>(server: &'a Server, more: &[&'a str]) -> Vec<&'a str> {
    [&["evaluate", "--questions", "q.jsonl", "--openai", &server.url, "--model", "tiny"][..], more].concat()
}

fn words(sandbox: &Sandbox) -> Vec<String> {
    let word = |answer: &Value| {
        let receipt = &answer["receipt"];
        receipt["failure"].as_str().or(receipt["status"].as_str()).unwrap().to_owned()
    };
    answers(sandbox).iter().map(word).collect()
}

#[test]
fn an_endpoint_is_asked_and_how_is_recorded_without_the_key() {
    let mut sandbox = sandbox(12);
    let server = Server::start(|_, request| Reaction::Say(200, "", right(request)));
    sandbox.env("OPENAI_API_KEY", KEY);
    let template = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Q: {{text}}"}]"#;
    sandbox.write("template.json", template);
    let more = ["--template", "template.json", "--set", "temperature=0", "--set", "seed=7", "--concurrency", "3"];
    let run = sandbox.run(&ask(&server, &more));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("quality 1.0000  grounded 1.0000  cost 12  n 12"), "{}", run.stdout);
    let requests = server.requests();
    assert_eq!(requests.len(), 12);
    for request in &requests {
        assert_eq!(request.path, "/v1/chat/completions");
        assert!(request.headers.contains(&format!("authorization: Bearer {KEY}\r\n")), "{}", request.headers);
        assert!(request.headers.contains("x-read-only: true\r\n"), "{}", request.headers);
        assert_eq!(
            (&request.body["model"], &request.body["temperature"], &request.body["seed"]),
            (&json!("tiny"), &json!(0), &json!(7))
        );
        assert_eq!(request.body["messages"][0]["content"], "Be brief.");
        assert!(!request.body.to_string().contains("answer"), "{}", request.body);
    }
    let record: Value = serde_json::from_str(&sandbox.ok(&["cat", "@:run"])).unwrap();
    schema::check(&record);
    assert_eq!(record["system"]["template"], serde_json::from_str::<Value>(template).unwrap());
    assert_eq!(record["system"]["generation"], json!({"seed": 7, "temperature": 0}));
    assert_eq!(record["system"]["keyVariable"], "OPENAI_API_KEY");
    let answer = &answers(&sandbox)[0];
    schema::check_as("answer.v1", answer);
    assert_eq!(
        answer["receipt"],
        json!({
            "status": "answered", "spend": {"frontier_calls": 1, "prompt_tokens": 7, "completion_tokens": 2},
            "finish_reason": "stop", "model": "tiny-2026",
        })
    );
    for (path, bytes) in sandbox.files() {
        assert!(!String::from_utf8_lossy(&bytes).contains("canary"), "{}", path.display());
    }
    assert!(!format!("{}{}{record}", run.stdout, run.stderr).contains("canary"));
    sandbox.ok(&["verify", "--replay"]);
}

#[test]
fn a_response_that_repeats_the_key_is_not_kept() {
    let mut sandbox = sandbox(1);
    let server = Server::start(|_, request| {
        let sent = request.headers.lines().find(|line| line.starts_with("authorization")).unwrap();
        Reaction::Say(200, "", completion(&json!(format!("you sent {sent}"))))
    });
    sandbox.env("MY_KEY", KEY);
    let run = sandbox.run(&ask(&server, &["--key-env", "MY_KEY"]));
    assert_eq!(run.code, 0);
    assert_eq!(words(&sandbox), ["secret"]);
    let said = format!("{}{}{}", run.stdout, run.stderr, sandbox.ok(&["cat", "@:answers"]));
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn a_429_is_waited_for_as_the_server_asks_and_costs_nothing() {
    let sandbox = sandbox(2);
    let server = Server::start(|number, request| match number {
        0 => Reaction::Say(429, "retry-after: 1\r\n", "{}".to_owned()),
        _ => Reaction::Say(200, "", right(request)),
    });
    let text = sandbox.ok(&ask(&server, &["--max-cost", "2"]));
    assert!(text.contains("quality 1.0000  grounded 1.0000  cost 2"), "{text}");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[1].at - requests[0].at >= Duration::from_millis(950));
}

#[test]
fn a_500_and_a_cut_connection_are_tried_again_up_to_a_limit() {
    let sandbox = sandbox(1);
    let server = Server::start(|number, request| match number {
        0 => Reaction::Say(500, "", "oops".to_owned()),
        1 => Reaction::Cut,
        _ => Reaction::Say(200, "", right(request)),
    });
    // What was cut may have been charged.
    let text = sandbox.ok(&ask(&server, &[]));
    assert!(text.contains("quality 1.0000") && text.contains("cost 2 "), "{text}");
    let down = Server::start(|_, _| Reaction::Say(503, "", "down".to_owned()));
    sandbox.ok(&ask(&down, &["--retries", "1"]));
    assert_eq!((words(&sandbox), down.requests().len()), (vec!["http".to_owned()], 2));
    let detail = answers(&sandbox)[0]["receipt"]["detail"].clone();
    assert_eq!(detail, "the endpoint answers HTTP 503, 2 attempts");
    let patient = Server::start(|_, _| Reaction::Say(429, "retry-after: 3600\r\n", "{}".to_owned()));
    sandbox.ok(&ask(&patient, &[]));
    assert_eq!(patient.requests().len(), 1);
    let detail = answers(&sandbox)[0]["receipt"]["detail"].clone();
    assert_eq!(detail, "the endpoint answers HTTP 429 and asks to wait 3600 s");
}

#[test]
fn whatever_else_a_server_does_is_a_failed_answer() {
    let sandbox = sandbox(9);
    let server = Server::start(|_, request| {
        let text = request.body["messages"][0]["content"].as_str().unwrap().to_owned();
        match text.as_str() {
            "ask 0" => Reaction::Late(Duration::from_secs(20), right(request)),
            "ask 1" => Reaction::Endless,
            "ask 2" => Reaction::Say(200, "", "<html>no JSON</html>".to_owned()),
            "ask 3" => Reaction::Say(200, "", r#"{"choices":[]}"#.to_owned()),
            "ask 4" => Reaction::Say(200, "", completion(&Value::Null)),
            "ask 5" => Reaction::Say(200, "", completion(&json!(["a list"]))),
            "ask 6" => Reaction::Say(302, "location: http://127.0.0.1:1/\r\n", String::new()),
            "ask 7" => Reaction::Raw(b"this is no HTTP\r\n\r\n"),
            _ => Reaction::Say(200, "", right(request)),
        }
    });
    let run = sandbox.run(&ask(&server, &["--timeout", "2", "--retries", "0", "--concurrency", "9"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected =
        ["timeout", "oversize", "malformed", "malformed", "no-reply", "malformed", "http", "connection", "answered"];
    assert_eq!(words(&sandbox), expected);
    assert!(run.stdout.contains("quality 0.1111  grounded 0.1111") && run.stdout.contains("n 9"), "{}", run.stdout);
    sandbox.ok(&["verify", "--replay"]);
}

#[test]
fn an_endpoint_that_refuses_everybody_ends_the_run() {
    let mut sandbox = sandbox(20);
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let server = Server::start(move |_, _| Reaction::Say(401, "", body.clone()));
    sandbox.env("OPENAI_API_KEY", KEY);
    let run = sandbox.run(&ask(&server, &["--concurrency", "2"]));
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stderr,
        "error: the system cannot be asked: the endpoint answers HTTP 401: (withheld: it repeats a secret)\n"
    );
    let unknown = Server::start(|_, _| Reaction::Say(404, "", r#"{"error":{"message":"no such model"}}"#.to_owned()));
    let run = sandbox.run(&ask(&unknown, &[]));
    assert_eq!(run.stderr, "error: the system cannot be asked: the endpoint answers HTTP 404: no such model\n");
    assert!(server.requests().len() <= 4);
    assert_eq!((receipts(&sandbox), journals(&sandbox)), (1, 0));
}

#[test]
fn a_refusal_after_an_answer_is_a_failed_answer_and_what_is_said_about_it_is_not_recorded() {
    let sandbox = sandbox(3);
    let server = Server::start(|number, request| match number {
        0 => Reaction::Say(200, "", right(request)),
        _ => Reaction::Say(403, "", r#"{"error":{"message":"quota of account canary"}}"#.to_owned()),
    });
    let run = sandbox.run(&ask(&server, &[]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut found = words(&sandbox);
    found.sort();
    assert_eq!(found, ["answered", "http", "http"]);
    assert!(!sandbox.ok(&["cat", "@:answers"]).contains("canary"));
}

#[test]
fn waiting_ends_with_the_run() {
    let sandbox = sandbox(2);
    let server = Server::start(|_, _| Reaction::Say(429, "retry-after: 60\r\n", "{}".to_owned()));
    let start = Instant::now();
    sandbox.ok(&ask(&server, &["--max-time", "0.5"]));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(words(&sandbox), ["time-up", "time-up"]);
}

#[test]
fn an_interrupt_does_not_wait_for_a_slow_server() {
    let sandbox = sandbox(2);
    let server = Server::start(|_, request| Reaction::Late(Duration::from_secs(100), right(request)));
    let child = sandbox.interruptible(&ask(&server, &[])).stderr(std::process::Stdio::piped()).spawn().unwrap();
    while server.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let start = Instant::now();
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(20));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.starts_with("error: interrupted: 0 of 2 answers are kept"), "{stderr}");
}

#[test]
fn nobody_there_is_a_failed_answer_after_some_attempts() {
    let sandbox = sandbox(1);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}");
    sandbox.ok(&["evaluate", "--questions", "q.jsonl", "--openai", &url, "--model", "m", "--retries", "1"]);
    assert_eq!(words(&sandbox), ["connection"]);
    assert_eq!(answers(&sandbox)[0]["receipt"]["detail"], "the endpoint refuses the connection, 2 attempts");
}

#[test]
fn no_more_requests_are_sent_than_the_ceiling_pays_for() {
    let sandbox = sandbox(12);
    let server = Server::start(|_, request| Reaction::Say(200, "", right(request)));
    let (_, document) = sandbox.json(&ask(&server, &["--max-cost", "5", "--concurrency", "4"]));
    assert_eq!(server.requests().len(), 5);
    assert_eq!(document["receipts"][0]["card"]["realized_cost"], 5.0);
    assert_eq!(document["outcomes"][0]["max-cost"], 7);
    // An attempt that may have been charged leaves less for the next.
    let cutting = Server::start(|_, _| Reaction::Cut);
    let (_, document) = sandbox.json(&ask(&cutting, &["--max-cost", "2", "--retries", "9"]));
    assert_eq!(cutting.requests().len(), 2);
    assert_eq!(document["outcomes"][0]["max-cost"], 12);
    assert_eq!(document["receipts"][0]["card"]["realized_cost"], 2.0);
}

#[test]
fn a_key_goes_over_plain_http_to_this_machine_only() {
    let mut sandbox = sandbox(1);
    sandbox.env("OPENAI_API_KEY", KEY);
    for url in ["http://example.com/v1", "https://user:canary@example.com/v1", "https://example.com/v1?key=canary"] {
        let run = sandbox.run(&["evaluate", "--questions", "q.jsonl", "--openai", url, "--model", "m"]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.starts_with("error: the endpoint's URL "), "{}", run.stderr);
        assert!(!run.stderr.contains("canary"), "{}", run.stderr);
    }
}

#[test]
fn what_goes_to_this_machine_goes_over_no_proxy() {
    let mut sandbox = sandbox(1);
    let server = Server::start(|_, request| Reaction::Say(200, "", right(request)));
    let proxy = Server::start(|_, _| Reaction::Say(500, "", "{}".to_owned()));
    let address = proxy.url.trim_end_matches("/v1").to_owned();
    sandbox.env("OPENAI_API_KEY", KEY);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        sandbox.env(name, &address);
    }
    sandbox.ok(&ask(&server, &[]));
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}

#[test]
fn a_killed_run_against_an_endpoint_is_gone_on_with() {
    let sandbox = sandbox(20);
    let server = Server::start(|_, request| Reaction::Late(Duration::from_millis(40), right(request)));
    let mut child = sandbox.command(&ask(&server, &["--concurrency", "2"])).spawn().unwrap();
    while server.requests().len() < 8 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(receipts(&sandbox), 1);
    sandbox.ok(&ask(&server, &["--concurrency", "2", "--resume"]));
    let mut asked: Vec<_> =
        server.requests().iter().map(|request| request.body["messages"][0]["content"].to_string()).collect();
    let all = asked.len();
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), all);
    assert!(words(&sandbox).iter().filter(|word| *word != "answered").count() <= 2);
}
