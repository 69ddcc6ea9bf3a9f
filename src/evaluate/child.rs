//! A system that is a process: a question a line in, an answer a line out, one child for each worker.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use super::group::Group;
use super::launch::Launch;
use super::outcome::{Fault, Outcome};
use super::pool::{Asked, Seat, Step, System};
use super::protocol::{MAX_ANSWER_BYTES, parse_answer, question_line};
use super::secrets::Secrets;
use super::stop::{Over, Patience, Stop};

/// A child whose stdin was closed has this long to end by itself.
const CLOSING: Duration = Duration::from_secs(2);

/// How much of the end of its stderr is kept for people.
const STDERR_KEPT: usize = 2048;

/// A command that is asked line by line.
#[derive(Debug)]
pub struct ProcessSystem {
    launch: Launch,
    secrets: Secrets,
    timeout: Duration,
    cost_each: Option<f64>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl ProcessSystem {
    /// A system of this command. An answer has `timeout`; `cost_each` is what one may spend, where there is a ceiling.
    pub fn new(launch: Launch, timeout: Duration, cost_each: Option<f64>) -> Self {
        let secrets = launch.secrets();
        Self { launch, secrets, timeout, cost_each, stderr: Arc::default() }
    }

    /// The last line that any child wrote to stderr, for people: shortened, and withheld where it repeats a secret.
    pub fn last_words(&self) -> Option<String> {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        // A line whose front is cut off could begin with the second half of a secret.
        let cut = bytes.len() >= STDERR_KEPT && text.lines().next() == Some(line);
        (!cut).then(|| self.secrets.screen(line).chars().take(300).collect())
    }
}

impl System for ProcessSystem {
    fn seat(&self) -> Box<dyn Seat + '_> {
        Box::new(Desk { system: self, running: None })
    }

    fn reserve(&self) -> Option<f64> {
        self.cost_each
    }

    fn lost_calls(&self) -> f64 {
        0.0
    }
}

/// One worker's place: a child that is started when it is needed and started anew once it misbehaved.
struct Desk<'a> {
    system: &'a ProcessSystem,
    running: Option<Running>,
}

/// A child with a thread for each of its pipes, so that none of them can block the others.
struct Running {
    group: Group,
    questions: Sender<Vec<u8>>,
    lines: Receiver<Said>,
    /// Its folder, removed with it.
    _folder: TempDir,
}

/// What a child says on stdout.
enum Said {
    Line(Vec<u8>),
    TooLong,
    End,
}

impl Seat for Desk<'_> {
    fn ask(&mut self, asked: &Asked<'_>) -> Step {
        let line = question_line(asked.id, asked.question, self.system.cost_each);
        if self.running.is_none() {
            match Running::start(&self.system.launch, &self.system.stderr) {
                Ok(running) => self.running = Some(running),
                Err(error) => {
                    let detail = format!("it does not start: {error}");
                    return Step::Hopeless { fault: Fault::Crash, detail, said: String::new() };
                }
            }
        }
        let Some(running) = &self.running else { return Step::Abandoned };
        let step = match running.ask(line, asked.stop, self.system.timeout) {
            Ok(line) => parse_answer(&line, asked.id).map_err(Some),
            Err(fault) => Err(fault),
        };
        match step {
            Ok(outcome) => self.held_to(outcome, self.system.cost_each),
            Err(fault) => {
                let status = self.retire();
                let Some((fault, detail)) = fault else { return Step::Abandoned };
                let detail = if fault == Fault::Crash { status } else { detail };
                Step::Done(Outcome::failed(fault, detail, 0.0))
            }
        }
    }

    fn finish(&mut self) -> Option<Outcome> {
        let running = self.running.take()?;
        let Running { group, questions, lines, _folder } = running;
        drop(questions);
        // The end of its stdout, or a line that answers nothing.
        let said = lines.recv_timeout(CLOSING);
        group.wait(if said.is_ok() { CLOSING } else { Duration::ZERO });
        let _ = group.end();
        let extra = matches!(said, Ok(Said::Line(_) | Said::TooLong));
        extra.then(|| Outcome::failed(Fault::Extra, "a line came after the last answer", 0.0))
    }
}

impl Desk<'_> {
    /// An answer that repeats a secret is not kept, and one that spent too much does not count.
    fn held_to(&mut self, outcome: Outcome, cost_each: Option<f64>) -> Step {
        let written = serde_json::to_string(&outcome.record(None)).unwrap_or_default();
        if self.system.secrets.occur_in(&written) {
            let detail = "the answer repeats the value of a variable that was passed on";
            return Step::Done(Outcome::failed(Fault::Secret, detail, outcome.cost()));
        }
        match cost_each {
            Some(most) if outcome.cost() > most => {
                let detail = format!("the answer spent {}, and might spend {most}", outcome.cost());
                Step::Done(Outcome::failed(Fault::Overspent, detail, outcome.cost()))
            }
            _ => Step::Done(outcome),
        }
    }

    /// Ends the child; how it ended.
    fn retire(&mut self) -> String {
        let Some(running) = self.running.take() else { return "it is gone".to_owned() };
        // What ended by itself is about to be seen as ended.
        running.group.wait(Duration::from_millis(50));
        match running.group.end() {
            Ok(status) => format!("the process ended ({status}) without an answer"),
            Err(error) => format!("the process cannot be waited for: {error}"),
        }
    }
}

impl Running {
    fn start(launch: &Launch, stderr: &Arc<Mutex<VecDeque<u8>>>) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("proofmark-system-").tempdir()?;
        let mut group = launch.start(folder.path())?;
        let (input, output, errors) = (group.stdin()?, group.stdout()?, group.stderr()?);
        let (questions, asked) = channel();
        // A child that says more than it is asked for waits, and takes no memory.
        let (said, lines) = sync_channel(1);
        let kept = Arc::clone(stderr);
        std::thread::Builder::new().spawn(move || write_questions(input, &asked))?;
        std::thread::Builder::new().spawn(move || read_lines(output, &said))?;
        std::thread::Builder::new().spawn(move || drain(errors, &kept))?;
        Ok(Self { group, questions, lines, _folder: folder })
    }

    /// Sends a question and waits for a line. `Err(None)`: the run is being stopped.
    fn ask(&self, line: Vec<u8>, stop: &Stop, timeout: Duration) -> Result<Vec<u8>, Option<(Fault, String)>> {
        // A child that is gone shows by the answer that is missing.
        let _ = self.questions.send(line);
        let mut patience = Patience::new(stop, timeout);
        loop {
            let tick = patience.tick().map_err(|over| match over {
                Over::Late => Some((Fault::Timeout, format!("no answer within {} s", timeout.as_secs_f64()))),
                Over::Stopped => None,
            })?;
            match self.lines.recv_timeout(tick) {
                Ok(Said::Line(line)) => return Ok(line),
                Ok(Said::TooLong) => {
                    let detail = format!("the line is longer than {MAX_ANSWER_BYTES} bytes");
                    return Err(Some((Fault::Oversize, detail)));
                }
                Ok(Said::End) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(Some((Fault::Crash, String::new())));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn write_questions(mut input: ChildStdin, questions: &Receiver<Vec<u8>>) {
    while let Ok(line) = questions.recv() {
        if input.write_all(&line).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

fn read_lines(output: ChildStdout, said: &SyncSender<Said>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = (&mut output).take(MAX_ANSWER_BYTES as u64 + 1).read_until(b'\n', &mut line);
        let next = match read {
            Ok(_) if line.last() == Some(&b'\n') => {
                line.pop();
                Said::Line(line)
            }
            Ok(read) if read > MAX_ANSWER_BYTES => Said::TooLong,
            // A line that was not finished was cut off: it is the end, not an answer.
            Ok(_) | Err(_) => Said::End,
        };
        let last = !matches!(next, Said::Line(_));
        if said.send(next).is_err() || last {
            return;
        }
    }
}

/// Reads stderr to its end and keeps a little of it.
fn drain(mut errors: ChildStderr, kept: &Mutex<VecDeque<u8>>) {
    let mut block = vec![0; 8192];
    loop {
        match errors.read(&mut block) {
            Ok(0) | Err(_) => return,
            Ok(read) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&block[read.saturating_sub(STDERR_KEPT)..read]);
                let excess = kept.len().saturating_sub(STDERR_KEPT);
                kept.drain(..excess);
            }
        }
    }
}
