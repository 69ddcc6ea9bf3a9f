//! A comparison as Markdown, for the summary of a pipeline. Foreign text never becomes markup, a link or a mention.

use std::fmt::Write as _;

use proofmark::compare::{Comparison, Difference, Round};

use super::compare::{known, outcome, written};
use super::failure::one_line;

/// Names listed; the ledger has all of them.
const NAMED: usize = 40;

/// The summary of a comparison. Writing into a string cannot fail.
pub fn summary(comparison: &Comparison) -> String {
    let mut text = format!("### {}\n\n", outcome(comparison));
    let (base, current) = (&comparison.base, &comparison.current);
    let _ = write!(text, "{} against {}\n\n", code(&current.name), code(&base.name));
    text.push_str("| | base | current | delta | |\n|---|---:|---:|---:|---|\n");
    let axes = &comparison.axes;
    for (name, axis) in [
        ("quality", &axes.quality),
        ("grounded fraction", &axes.grounded_fraction),
        ("realized cost", &axes.realized_cost),
    ] {
        let worse = if axis.worse == Some(true) { "worse" } else { "" };
        let (base, current, delta) = written(*axis, known(comparison, name));
        let _ = writeln!(text, "| {name} | {base} | {current} | {delta} | {worse} |");
    }
    let _ = writeln!(text, "| n | {} | {} | {:+} | |\n", axes.n.base, axes.n.current, axes.n.delta);
    for line in lines(comparison) {
        let _ = writeln!(text, "- {line}");
    }
    for (side, round) in [("base", base), ("current", current)] {
        let _ = writeln!(text, "- {side}: {}", origin(round));
    }
    text.push('\n');
    text
}

fn lines(comparison: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = comparison.report.reasons.iter().map(|reason| escaped(reason)).collect();
    // What is unknown stands among the reasons already.
    let differs = |difference: &&Difference| !matches!(difference, Difference::Unknown(_));
    lines.extend(comparison.differences.iter().filter(differs).map(|difference| escaped(&difference.to_string())));
    if let Some(flips) = &comparison.flips {
        for (what, names) in [
            ("newly failing", &flips.newly_failing),
            ("newly passing", &flips.newly_passing),
            ("must pass and fail", &flips.must_pass_failing),
        ] {
            if !names.is_empty() {
                lines.push(format!("{what} ({}): {}", names.len(), listed(names)));
            }
        }
    }
    if let Some(chance) = &comparison.statistics {
        let (two_sided, worse) = (chance.mcnemar.two_sided, chance.mcnemar.one_sided_worse);
        lines.push(format!("chance: exact McNemar p = {two_sided:.4} two-sided, {worse:.4} that it is worse"));
    }
    for fact in &comparison.unknown {
        let why = match (fact.allowed, fact.forbids()) {
            (true, _) => "allowed",
            (_, true) => continue,
            _ => "not compared",
        };
        lines.push(format!("{}: {why}", escaped(&fact.to_string())));
    }
    let forbidding = comparison.unknown.iter().filter(|fact| fact.forbids());
    let options: Vec<_> = forbidding.map(|fact| format!("--allow-unknown {}", fact.field)).collect();
    if !options.is_empty() {
        lines.push(format!("to compare although this is unknown: {}", code(&options.join(" "))));
    }
    lines
}

fn origin(round: &Round) -> String {
    let receipt = round.receipt.as_deref().map(|receipt| format!("receipt {}", code(&receipt[..12])));
    let scorer = round.scorer.as_deref().map(|scorer| format!("scorer {}", code(scorer)));
    let said: Vec<_> = receipt.into_iter().chain(scorer).collect();
    if said.is_empty() { code(&round.name) } else { said.join(", ") }
}

fn listed(names: &[String]) -> String {
    let mut listed: Vec<_> = names.iter().take(NAMED).map(|name| code(name)).collect();
    if names.len() > NAMED {
        listed.push(format!("and {} more", names.len() - NAMED));
    }
    listed.join(" ")
}

/// Text in a code span, between more backticks than it has in a row.
fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|c: char| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    // A span may neither be empty nor begin or end with a backtick.
    if text.is_empty() || text.starts_with('`') || text.ends_with('`') {
        return format!("{fence} {text} {fence}");
    }
    format!("{fence}{text}{fence}")
}

/// Text in which nothing is markup. An at sign would mention somebody, and a number sign an issue.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '@' | '#' | '<' | '>' | '&' | ':' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_no_markup() {
        assert_eq!(code("q02"), "`q02`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(""), "`  `");
        assert_eq!(escaped("@me [x](y) <b> #1"), "&#64;me \\[x\\]\\(y\\) &#60;b&#62; &#35;1");
        assert_eq!(escaped("a\n## b"), "a\\\\n&#35;&#35; b");
        assert_eq!(escaped("https://x"), "https&#58;//x");
    }
}
