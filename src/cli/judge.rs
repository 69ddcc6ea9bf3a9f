//! Running a user's own judge over recorded answers.
//!
//! The judge is one process: a JSON line in for every answer, `{"query": …, "expected": …, "reply": …}`, a JSON line out
//! for each, `{"correct": true}` or `{"correct": false}`, in the same order. It gets an empty environment but for `PATH`.

use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use proofmark::evaluate::Group;
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
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    // A group of its own, so that whatever the judge starts ends with it.
    let mut group = Group::start(&mut command)
        .map_err(|error| Failure::failed(error).hint(format!("is {} executable?", program.display())))?;
    let (input, output) = (group.stdin()?, group.stdout()?);
    let lines = requests(questions, answers)?;
    // A judge may answer only at the end, so writing must not wait for reading. Nobody waits for the writing either: a
    // process that the judge left behind may hold the pipe and never read it.
    std::thread::spawn(move || {
        let mut input = BufWriter::new(input);
        // A judge that stops listening shows by the judgements that are missing.
        let _ = input.write_all(&lines).and_then(|()| input.flush());
    });
    let correct = judgements(&mut LineReader::new(OUTPUT, BufReader::new(output)), answers.len());
    let in_time = correct.is_err() || group.wait(PATIENCE);
    let status = group.end()?;
    let correct = correct?;
    if !in_time {
        return Err(Failure::refused("the judge did not end after its output did"));
    }
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
