//! Running a user's own judge over recorded answers.
//!
//! The judge is one process: a JSON line in for every answer, `{"query": …, "expected": …, "reply": …}`, a JSON line out
//! for each, `{"correct": true}` or `{"correct": false}`, in the same order. It gets an empty environment but for `PATH`.

use std::io::{BufReader, BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proofmark::object::{FieldError, LineReader, RecordError, parse_line};
use proofmark::question::{Answer, Judgement, QuestionSet};

use super::failure::Failure;

/// What messages call what the judge writes.
const OUTPUT: &str = "the judge's output";

/// A judge that lives this long after it closed its output is stopped.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the judge said of each answer, in order.
pub fn run(program: &Path, questions: &QuestionSet, answers: &[Answer]) -> Result<Vec<bool>, Failure> {
    let named = |reason: String| Failure::refused(format!("the judge `{}` {reason}", program.display()));
    let mut command = Command::new(program.canonicalize()?);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    // A group of its own, so that whatever the judge starts ends with it.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command
        .spawn()
        .map_err(|error| Failure::failed(error).hint(format!("is {} executable?", program.display())))?;
    let (input, output) = match (child.stdin.take(), child.stdout.take()) {
        (Some(input), Some(output)) => (input, output),
        _ => return Err(Failure::failed("no pipes to the judge")),
    };
    let lines = requests(questions, answers)?;
    // A judge may answer only at the end, so writing must not wait for reading. Nobody waits for the writing either: a
    // process that the judge left behind may hold the pipe and never read it.
    std::thread::spawn(move || {
        let mut input = BufWriter::new(input);
        // A judge that stops listening shows by the judgements that are missing.
        let _ = input.write_all(&lines).and_then(|()| input.flush());
    });
    let correct = judgements(&mut LineReader::new(OUTPUT, BufReader::new(output)), answers.len());
    if correct.is_err() {
        let _ = child.kill();
    }
    let status = ended(&mut child);
    end_group(&child);
    let (correct, status) = (correct?, status?);
    if !status.success() {
        return Err(named(format!("ended with {status}")));
    }
    if correct.len() != answers.len() {
        return Err(named(format!("gave {} judgements for {} answers", correct.len(), answers.len())));
    }
    Ok(correct)
}

fn requests(questions: &QuestionSet, answers: &[Answer]) -> Result<Vec<u8>, Failure> {
    let mut lines = Vec::new();
    for (question, answer) in questions.iter().zip(answers) {
        let query = question.query();
        let request = serde_json::json!({
            "query": {
                "text": query.text(), "task": query.task(), "fingerprint": query.fingerprint(),
                "expected_output": query.expected_output(), "scope": query.scope(),
            },
            "expected": question.expected(),
            "reply": answer.reply(),
        });
        serde_json::to_writer(&mut lines, &request)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Reads at most one judgement more than there are answers.
fn judgements<R: std::io::BufRead>(output: &mut LineReader<R>, answers: usize) -> Result<Vec<bool>, Failure> {
    let mut correct = Vec::new();
    while let Some(line) = output.next_line()? {
        let number = line.number;
        let refuse = |error| RecordError::new(OUTPUT, number, error);
        if correct.len() == answers {
            return Err(refuse(FieldError::new("", format!("there are only {answers} answers to judge"))).into());
        }
        correct.push(Judgement::parse(&parse_line(OUTPUT, line)?).map_err(refuse)?.correct());
    }
    Ok(correct)
}

/// Ends what a judge left running in its group.
fn end_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // That there is nothing left is the usual case.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Waits for a process whose output has ended.
fn ended(child: &mut Child) -> Result<std::process::ExitStatus, Failure> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(Failure::refused("the judge did not end after its output did"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
