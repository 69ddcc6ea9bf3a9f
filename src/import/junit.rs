//! JUnit XML, as pytest and many others write it. It holds names and outcomes, and neither questions nor answers.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::original::Original;
use super::round::{Conditions, Item, Round, State};
use super::{ImportError, Options, Tool};
use crate::object::Json;

pub(super) fn recognises(original: &Original<'_>) -> bool {
    original.file_name().ends_with(".xml") && String::from_utf8_lossy(&original.head()).contains("<testsuite")
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let files: Vec<_> = originals.iter().enumerate().filter(|(_, original)| recognises(original)).collect();
    if files.is_empty() {
        return Err(ImportError::NoFiles { tool: Tool::Junit, what: "file with <testsuite>", files: originals.len() });
    }
    let mut rounds = Vec::new();
    for (place, original) in files {
        let read = suites(original, options)?;
        let task = match read.suites.as_slice() {
            [suite] if !suite.is_empty() => suite.clone(),
            _ => original.file_name().trim_end_matches(".xml").to_owned(),
        };
        if options.wants(&task) {
            rounds.push(round(place, original, task, read)?);
        }
    }
    Ok(rounds)
}

/// One `<testcase>`.
struct Case {
    suite: String,
    class: String,
    name: String,
    state: State,
    /// What its attributes say of how it ended.
    said: Vec<String>,
    /// How many failures, errors and skips are in it.
    marks: [usize; 3],
    /// Whether it passed and could not be cleaned up.
    torn: bool,
    properties: Vec<(String, String)>,
    row: usize,
}

/// What a file holds.
#[derive(Default)]
struct Suites {
    suites: Vec<String>,
    cases: Vec<Case>,
    retried: usize,
}

fn round(place: usize, original: &Original<'_>, task: String, read: Suites) -> Result<Round, ImportError> {
    let Suites { suites, cases, retried } = read;
    let one_suite = suites.len() <= 1;
    let function = one_function(&cases);
    let name = |case: &Case| match (&function, parameter(&case.name)) {
        (Some(_), Some(parameter)) => parameter.to_owned(),
        _ => [if one_suite { "" } else { &case.suite }, case.class.as_str(), case.name.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("::"),
    };
    let property = |case: &Case, wanted: &str| {
        case.properties.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
    };
    let items = cases.iter().map(|case| Item {
        id: Some(name(case)),
        cluster: property(case, "cluster").or_else(|| property(case, "group")),
        state: case.state,
        score: match case.state {
            State::Pass => Some(1.0),
            State::Fail => Some(0.0),
            _ => None,
        },
        place: original.place(case.row),
        ..Item::default()
    });
    let items: Vec<_> = items.collect();
    let model = cases.first().and_then(|case| property(case, "model"));
    let model = model.filter(|model| cases.iter().all(|case| property(case, "model").as_ref() == Some(model)));
    let mut remarks = Vec::new();
    if retried > 0 {
        remarks.push(format!("{retried} passed only when they were tried again"));
    }
    Round {
        tool: Tool::Junit,
        conditions: Conditions {
            // The test is the judge. What it does is in no file.
            scorer: Some(function.unwrap_or_else(|| task.clone())),
            configuration: None,
            code: None,
            generation: None,
            repeats: Some(Json::Integer(1)),
        },
        task,
        items: items.into(),
        planned: None,
        model,
        remarks,
        originals: vec![place],
    }
    .in_order()
}

/// The one function that all cases are parameters of, as pytest writes `test_qa[q01]`.
fn one_function(cases: &[Case]) -> Option<String> {
    let function = |case: &Case| {
        parameter(&case.name)?;
        let (name, _) = case.name.split_once('[')?;
        Some(format!("{}::{name}", case.class))
    };
    let first = function(cases.first()?)?;
    cases.iter().all(|case| function(case).as_ref() == Some(&first)).then_some(first)
}

fn parameter(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('[')?;
    rest.strip_suffix(']').filter(|parameter| !parameter.is_empty())
}

/// Reads a file's suites. What is a suite in a suite belongs to the inner one.
fn suites(original: &Original<'_>, options: &Options) -> Result<Suites, ImportError> {
    let bytes = original.bytes(&options.limits)?;
    let Ok(text) = std::str::from_utf8(&bytes) else { return Err(original.refuse("is not UTF-8")) };
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut reading = Reading {
        original,
        found: Suites::default(),
        open: Vec::new(),
        rooted: false,
        case: None,
        counted: Vec::new(),
    };
    let (mut before, mut began) = (0, 0);
    loop {
        let event = reader.read_event();
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        if reading.case.is_none() {
            began = before;
        }
        before = at;
        if (at - began) as u64 > options.limits.sample {
            let (limit, what) = (options.limits.sample, "sample");
            return Err(ImportError::TooLarge { file: original.name().to_owned(), what, limit });
        }
        match event {
            Ok(Event::Start(_) | Event::Empty(_)) if reading.open.is_empty() && reading.rooted => {
                return Err(original.refuse(format!("has a second root element at byte {at}")));
            }
            Ok(Event::Start(element)) => {
                if reading.open.len() >= options.limits.levels() {
                    let levels = options.limits.levels();
                    return Err(original.refuse(format!("nested deeper than {levels} levels")));
                }
                reading.begin(&element, at)?;
            }
            Ok(Event::Empty(element)) => {
                reading.begin(&element, at)?;
                reading.end()?;
            }
            Ok(Event::End(_)) => reading.end()?,
            // Entities of a document's own could grow without bound, and no tool that writes results needs them.
            Ok(Event::DocType(_)) => return Err(original.refuse("has a document type declaration, which is not read")),
            Ok(Event::Eof) if reading.open.is_empty() => return Ok(reading.found),
            Ok(Event::Eof) => return Err(original.refuse("ends inside an element")),
            Ok(Event::Text(text)) if reading.open.is_empty() && !text.trim_ascii().is_empty() => {
                return Err(original.refuse(format!("has text outside of its root element, before byte {at}")));
            }
            Ok(Event::CData(_) | Event::GeneralRef(_)) if reading.open.is_empty() => {
                return Err(original.refuse(format!("has text outside of its root element, before byte {at}")));
            }
            Ok(_) => {}
            Err(error) => return Err(original.refuse(format!("is not XML at byte {at}: {error}"))),
        }
    }
}

/// What a suite says of its cases, and how many there were before it.
struct Counted {
    /// By the attributes of [`COUNTS`].
    said: [Option<usize>; 4],
    before: usize,
}

/// The attributes that count cases.
const COUNTS: [&str; 4] = ["tests", "failures", "errors", "skipped"];

/// How pytest begins the message of a case that passed and could not be cleaned up. It counts such a case twice.
const TEARDOWN: &str = "failed on teardown";

/// A file half read.
struct Reading<'a, 'b> {
    original: &'a Original<'b>,
    found: Suites,
    /// The elements around the place, and for suites their names.
    open: Vec<(String, String)>,
    /// Whether the root element has begun.
    rooted: bool,
    case: Option<Case>,
    /// For each open suite, and for what is around them, what it counts.
    counted: Vec<Counted>,
}

impl Reading<'_, '_> {
    fn begin(&mut self, element: &BytesStart<'_>, at: usize) -> Result<(), ImportError> {
        let tag = element.local_name().as_ref().to_owned();
        let attributes = self.attributes(element, at)?;
        let value = |name: &str| attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone());
        let mut suite = self.open.last().map(|(_, suite)| suite.clone()).unwrap_or_default();
        match tag.as_str() {
            "testsuite" | "testsuites" => {
                let mut said = [None; 4];
                for (place, name) in COUNTS.iter().enumerate() {
                    let Some(text) = value(name) else { continue };
                    said[place] = Some(text.trim().parse().map_err(|_| {
                        self.original
                            .refuse(format!("`{name}` of the suite must be a count, not `{text}`, at byte {at}"))
                    })?);
                }
                self.counted.push(Counted { said, before: self.found.cases.len() });
                if tag == "testsuite" {
                    suite = value("name").unwrap_or_default();
                }
            }
            "testcase" if self.case.is_some() => {
                return Err(self.original.refuse(format!("has a test case inside a test case, at byte {at}")));
            }
            "testcase" => {
                let row = self.found.cases.len() + 1;
                let class = value("classname").unwrap_or_default();
                let name = value("name").ok_or_else(|| self.original.refuse_at(row, "name", "is missing"))?;
                let suite = suite.clone();
                let said = ["status", "result"].iter().filter_map(|name| value(name)).collect();
                let (state, properties) = (State::Pass, Vec::new());
                self.case = Some(Case { suite, class, name, state, said, marks: [0; 3], torn: false, properties, row });
            }
            "property" => {
                if let (Some(case), Some(name), Some(value)) = (&mut self.case, value("name"), value("value")) {
                    case.properties.push((name, value));
                }
            }
            "flakyFailure" | "flakyError" => self.found.retried += 1,
            "failure" | "error" | "skipped" => {
                if let Some(case) = &mut self.case {
                    let (state, mark) = match tag.as_str() {
                        "failure" => (State::Fail, 0),
                        "error" => (State::Errored, 1),
                        _ => (State::Skipped, 2),
                    };
                    case.marks[mark] += 1;
                    case.torn |= value("message").is_some_and(|message| message.starts_with(TEARDOWN));
                    // A case that failed and then could not be cleaned up is one that errored.
                    case.state = if case.state == State::Pass || state == State::Errored { state } else { case.state };
                }
            }
            _ => {}
        }
        self.open.push((tag, suite));
        self.rooted = true;
        Ok(())
    }

    fn end(&mut self) -> Result<(), ImportError> {
        let Some((tag, suite)) = self.open.pop() else { return Ok(()) };
        match tag.as_str() {
            "testcase" => {
                if let Some(mut case) = self.case.take() {
                    case.state = self.verdict(&case)?;
                    self.found.cases.push(case);
                }
            }
            "testsuite" | "testsuites" => {
                if let Some(counted) = self.counted.pop() {
                    self.hold_counts(&counted, &tag, &suite)?;
                }
                if tag == "testsuite" && !self.found.suites.contains(&suite) {
                    self.found.suites.push(suite);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What a suite counts must be what it holds. Some tools count cases that failed, some every failure of a case.
    fn hold_counts(&self, counted: &Counted, tag: &str, suite: &str) -> Result<(), ImportError> {
        let cases = self.found.cases.get(counted.before..).unwrap_or_default();
        let torn = cases.iter().filter(|case| case.torn).count();
        for (place, said) in counted.said.iter().enumerate() {
            let Some(said) = *said else { continue };
            let found = match place.checked_sub(1) {
                None => [cases.len(), cases.len() + torn],
                Some(mark) => [
                    cases
                        .iter()
                        .filter(|case| case.marks[mark] > 0 || (mark == 2 && case.state == State::Skipped))
                        .count(),
                    cases.iter().map(|case| case.marks[mark]).sum(),
                ],
            };
            if !found.contains(&said) {
                let (name, found) = (COUNTS[place], found[0]);
                let of = if suite.is_empty() { String::new() } else { format!(" `{suite}`") };
                return Err(self
                    .original
                    .refuse(format!("`{name}` of the {tag}{of} is {said}, and its cases give {found}")));
            }
        }
        Ok(())
    }

    /// How a case ended: by the elements in it, and by its `status` and `result` where it has them, which must not say
    /// otherwise.
    fn verdict(&self, case: &Case) -> Result<State, ImportError> {
        let mut state = case.state;
        for word in &case.said {
            let said = match word.trim().to_lowercase().as_str() {
                "passed" | "success" | "ok" => State::Pass,
                "failed" | "failure" => State::Fail,
                "error" | "errored" => State::Errored,
                "skipped" | "notrun" | "disabled" | "suppressed" => State::Skipped,
                _ => continue,
            };
            // GoogleTest has no element for a test that is disabled.
            if said == State::Skipped && state == State::Pass {
                state = said;
            }
            // Whether it failed or errored is told apart in many ways.
            let wrong = |state: State| matches!(state, State::Fail | State::Errored);
            if said != state && !(wrong(said) && wrong(state)) {
                let reason = format!("says `{word}`, and what is in the case gives {}", state.as_str());
                return Err(self.original.refuse_at(case.row, "status", reason));
            }
        }
        Ok(state)
    }

    fn attributes(&self, element: &BytesStart<'_>, at: usize) -> Result<Vec<(String, String)>, ImportError> {
        let refuse = |error: String| self.original.refuse(format!("is not XML at byte {at}: {error}"));
        let mut found = Vec::new();
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|error| refuse(error.to_string()))?;
            let name = attribute.key.as_ref().to_owned();
            let value =
                attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| refuse(error.to_string()))?;
            found.push((name, value.into_owned()));
        }
        Ok(found)
    }
}
