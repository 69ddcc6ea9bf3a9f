//! Two rounds, every way they can differ.

use super::*;

const SET: &str = "pm1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const OTHER: &str = "pm1:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn round(quality: f64, n: u64, id: &str, scorer: Option<&str>) -> Round {
    Round {
        name: "@".to_owned(),
        receipt: None,
        scorer: scorer.map(str::to_owned),
        scorecard: Scorecard::new(quality, 1.0, 1.0, n, id).unwrap(),
    }
}

fn compare(base: Round, current: Round, questions: &Questions) -> Comparison {
    let evidence = Evidence { questions, ..Evidence::NONE };
    Comparison::of(base, current, Tolerance::default(), evidence).unwrap()
}

fn said(comparison: &Comparison) -> Vec<String> {
    comparison.differences.iter().map(ToString::to_string).collect()
}

fn question(name: &str, base: bool, current: bool) -> PairedQuestion<'_> {
    PairedQuestion { name, base, current, must_pass: name == "q2", cluster: Some(&name[..1]) }
}

#[test]
fn a_reworded_question_is_named() {
    let held = Questions::Held(QuestionChanges { changed: vec!["q07".to_owned()], ..QuestionChanges::default() });
    let scorer = Some("exact/v1");
    let comparison = compare(round(0.5, 24, SET, scorer), round(0.5, 24, OTHER, scorer), &held);
    assert!(!comparison.report.comparable);
    assert_eq!(said(&comparison), ["1 question changed: q07"]);
    assert_eq!(comparison.axes.quality.worse, None);
}

#[test]
fn a_refusal_always_says_something_that_differs() {
    let none = Questions::Held(QuestionChanges::default());
    let unknown = Questions::NotHeld(Sides::Base);
    let scorer = Some("exact/v1");
    let cases = [
        (round(1.0, 1, "", None), round(1.0, 1, "", None), &none, vec!["neither scorecard names a question set"]),
        (
            round(1.0, 1, SET, None),
            round(1.0, 2, "", None),
            &unknown,
            vec![
                "the current scorecard names no question set",
                "case count differs: 1 != 2",
                "the base question set is not held, so which questions differ, if any, cannot be said",
            ],
        ),
        (
            round(1.0, 1, SET, Some("substring/v1")),
            round(1.0, 1, OTHER, Some("substring/v2")),
            &none,
            vec!["scorer version differs: substring/v1 != substring/v2"],
        ),
        (round(1.0, 1, SET, scorer), round(1.0, 2, SET, scorer), &none, vec!["case count differs: 1 != 2"]),
        (
            round(1.0, 1, SET, None),
            round(1.0, 1, &SET[4..], None),
            &none,
            vec!["identity scheme differs: pm1 != mixle"],
        ),
    ];
    for (base, current, questions, expected) in cases {
        let comparison = compare(base, current, questions);
        assert!(!comparison.report.comparable && comparison.report.regressed);
        assert_eq!(said(&comparison), expected);
    }
    let resealed = compare(round(1.0, 1, SET, scorer), round(1.0, 1, OTHER, scorer), &none);
    assert!(said(&resealed)[0].starts_with("identities differ though no question or scorer held does: pm1:"));
}

#[test]
fn comparable_rounds_show_flips_statistics_and_no_differences() {
    let answered = [
        question("q1", true, true),
        question("q2", true, false),
        question("q3", true, true),
        question("r4", false, true),
    ];
    let evidence = Evidence { answered: Some(&answered), looks: Some(3), ..Evidence::NONE };
    let comparison =
        Comparison::of(round(0.75, 4, SET, None), round(0.75, 4, SET, None), Tolerance::default(), evidence).unwrap();
    assert!(!comparison.report.regressed && comparison.differences.is_empty());
    assert!(comparison.must_pass_failing());
    assert_eq!(comparison.flips.as_ref().unwrap().newly_failing, ["q2"]);
    let statistics = comparison.statistics.as_ref().unwrap();
    assert_eq!(statistics.mcnemar.discordant, 2);
    assert_eq!(statistics.clustered.unwrap().clusters, 2);
    assert_eq!(statistics.two_sided_after_looks, Some(1.0));
    assert_eq!(comparison.axes.quality.worse, Some(false));
}

#[test]
fn flips_of_rounds_that_cannot_be_compared_are_not_shown() {
    let answered = [question("q1", true, true)];
    let evidence = Evidence { answered: Some(&answered), ..Evidence::NONE };
    let comparison =
        Comparison::of(round(1.0, 1, SET, None), round(1.0, 1, OTHER, None), Tolerance::default(), evidence).unwrap();
    assert_eq!((comparison.flips, comparison.statistics), (None, None));
}

#[test]
fn answers_that_do_not_give_the_card_are_refused() {
    let answered = [question("q1", true, true), question("q2", true, false)];
    let evidence = Evidence { answered: Some(&answered), ..Evidence::NONE };
    let attempt = |base, current, n| {
        Comparison::of(round(base, n, SET, None), round(current, n, SET, None), Tolerance::default(), evidence)
            .map_err(|error| error.to_string())
    };
    assert!(attempt(1.0, 0.5, 2).is_ok());
    assert_eq!(attempt(1.0, 0.5, 3).unwrap_err(), "2 answered questions for scorecards of 3 cases");
    assert_eq!(
        attempt(0.5, 0.5, 2).unwrap_err(),
        "the answers of the base round give quality 1, its scorecard says 0.5"
    );
    assert_eq!(
        attempt(1.0, 1.0, 2).unwrap_err(),
        "the answers of the current round give quality 0.5, its scorecard says 1"
    );
}

#[test]
fn the_document_carries_the_report_at_its_top() {
    let comparison = compare(round(1.0, 4, SET, None), round(0.5, 4, SET, None), &Questions::NotHeld(Sides::Both));
    let document = serde_json::to_value(&comparison).unwrap();
    assert_eq!(document["schema"], "compare.v1");
    assert_eq!(document["regressed"], true);
    assert_eq!(document["comparable"], true);
    assert_eq!(document["reasons"], serde_json::json!(["quality regressed: 1.000 -> 0.500"]));
    assert_eq!(
        document["axes"]["quality"],
        serde_json::json!({"base": 1.0, "current": 0.5, "delta": -0.5, "worse": true})
    );
    assert_eq!(document["axes"]["n"], serde_json::json!({"base": 4, "current": 4, "delta": 0}));
    assert_eq!(document["tolerance"], 1e-9);
    assert_eq!(document["flips"], serde_json::Value::Null);
    assert_eq!(document["base"]["scorecard"]["question_set_id"], SET);
}
