//! Records on their way to evidence: in order they become sheets at once, in another order they wait in a temporary file until
//! all of them are there. Neither is held in memory.

use std::sync::Arc;

use super::ImportError;
use super::records::{Lacks, Lines, Mark};
use super::sheet::{Sheet, SheetWriter, Texts};
use crate::store::Spill;

/// Evidence that a replay reads has at most this many bytes (1 GiB), as `ledger::MAX_RECORD_BYTES` says.
const MAX_EVIDENCE_BYTES: u64 = 1 << 30;

/// Bytes that are copied at a time.
const BLOCK: usize = 1 << 20;

/// Records that were written, in the order of the round.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub marks: Arc<Vec<Mark>>,
    pub lacks: Lacks,
    pub questions: Sheet,
    pub answers: Sheet,
    pub judgements: Sheet,
    /// The lines of the projection but for the first.
    items: Arc<Spill>,
}

impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        let digests = |written: &Self| [&written.questions, &written.answers, &written.judgements].map(Sheet::blake3);
        self.marks == other.marks && digests(self) == digests(other)
    }
}

impl Written {
    /// The projection: its first line, and the items.
    pub(super) fn projection(&self, header: &[u8], texts: &Texts) -> Result<Sheet, ImportError> {
        let mut projection = SheetWriter::new(texts);
        projection.append(header)?;
        let mut block = vec![0; BLOCK];
        let mut at = 0;
        while at < self.items.size() {
            let count = usize::try_from(self.items.size() - at).unwrap_or(BLOCK).min(BLOCK);
            self.items.read_at(at, &mut block[..count])?;
            projection.append(&block[..count])?;
            at += count as u64;
        }
        Ok(projection.finish())
    }
}

/// Where the records of an item stand: its question, answer, judgement and item, one after the other.
struct Span {
    start: u64,
    lengths: [usize; 4],
}

/// The four kinds in the order of the round.
struct Sheets {
    questions: SheetWriter,
    answers: SheetWriter,
    judgements: SheetWriter,
    items: Spill,
}

impl Sheets {
    fn new(texts: &Texts) -> Self {
        let sheet = || SheetWriter::new(texts);
        Self { questions: sheet(), answers: sheet(), judgements: sheet(), items: texts.spill() }
    }

    fn append(&mut self, texts: [&[u8]; 4]) -> Result<(), ImportError> {
        let [questions, answers, judgements, items] = texts;
        self.questions.append(questions)?;
        self.answers.append(answers)?;
        self.judgements.append(judgements)?;
        Ok(self.items.append(items)?)
    }
}

/// Takes records as they are made.
pub(super) struct Writing {
    task: String,
    sheets: Sheets,
    /// Where they wait, if they do not come in order.
    waiting: Option<(Spill, Vec<Span>)>,
    marks: Vec<Mark>,
    lacks: Lacks,
    /// Bytes of questions and of answers.
    sizes: [u64; 2],
}

impl Writing {
    /// Takes the records of a task, in the order of its round or in any.
    pub(super) fn new(task: &str, texts: &Texts, in_order: bool) -> Self {
        Self {
            task: task.to_owned(),
            sheets: Sheets::new(texts),
            waiting: (!in_order).then(|| (texts.spill(), Vec::new())),
            marks: Vec::new(),
            lacks: Lacks::default(),
            sizes: [0; 2],
        }
    }

    pub(super) fn push(&mut self, lines: &Lines) -> Result<(), ImportError> {
        for (size, text) in self.sizes.iter_mut().zip([&lines.questions, &lines.answers]) {
            *size += text.len() as u64;
            if *size > MAX_EVIDENCE_BYTES {
                return Err(ImportError::TooMuch { file: self.task.clone(), limit: MAX_EVIDENCE_BYTES });
            }
        }
        self.marks.extend_from_slice(&lines.marks);
        self.lacks = self.lacks.and(lines.lacks);
        let texts = [&lines.questions[..], &lines.answers, &lines.judgements, &lines.items];
        let Some((spill, spans)) = &mut self.waiting else { return self.sheets.append(texts) };
        let (mut block, mut starts, mut start) = (Vec::new(), [0; 4], spill.size());
        for ends in &lines.ends {
            let before = block.len();
            let mut lengths = [0; 4];
            for kind in 0..4 {
                let piece = &texts[kind][starts[kind]..ends[kind]];
                lengths[kind] = piece.len();
                block.extend_from_slice(piece);
            }
            spans.push(Span { start, lengths });
            start += (block.len() - before) as u64;
            starts = *ends;
        }
        Ok(spill.append(&block)?)
    }

    /// All records are there; `order` says, for each place in the round, as how many-th its records came.
    pub(super) fn finish(mut self, order: &[u32]) -> Result<Written, ImportError> {
        let mut marks = self.marks;
        if let Some((spill, spans)) = self.waiting.take() {
            marks = order.iter().map(|at| marks[*at as usize]).collect();
            let mut texts: [Vec<u8>; 4] = Default::default();
            let mut record = Vec::new();
            for at in order {
                let Span { start, lengths } = &spans[*at as usize];
                record.resize(lengths.iter().sum(), 0);
                spill.read_at(*start, &mut record)?;
                let mut rest = &record[..];
                for (text, length) in texts.iter_mut().zip(lengths) {
                    let (piece, after) = rest.split_at(*length);
                    text.extend_from_slice(piece);
                    rest = after;
                }
                if texts.iter().map(Vec::len).sum::<usize>() >= BLOCK {
                    self.sheets.append(texts.each_ref().map(Vec::as_slice))?;
                    texts.iter_mut().for_each(Vec::clear);
                }
            }
            self.sheets.append(texts.each_ref().map(Vec::as_slice))?;
        }
        let Sheets { questions, answers, judgements, items } = self.sheets;
        Ok(Written {
            marks: Arc::new(marks),
            lacks: self.lacks,
            questions: questions.finish(),
            answers: answers.finish(),
            judgements: judgements.finish(),
            items: Arc::new(items),
        })
    }
}
