//! Statistics against independent references, against brute force, and as properties over random tables.

use std::path::Path;

use proofmark::compare::{Comparison, Evidence, PairedQuestion, Round};
use proofmark::object::{Fields, Json, LineReader, encode, parse_line};
use proofmark::scorecard::{Judged, Tolerance, evaluate};
use proofmark::stats::{Clustered, ClusteredPair, Interval, PairedCounts, Proportion};
use proptest::prelude::*;

use crate::conformance_regression::{fixture, items};

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} instead of {expected}");
}

fn number(value: &Json) -> f64 {
    match value {
        Json::Float(value) => *value,
        Json::Integer(value) => f64::from(i32::try_from(*value).unwrap()),
        other => panic!("a number, not {}", other.kind()),
    }
}

fn ends(value: &Json) -> Interval {
    let [lower, upper] = items(value) else { panic!("two ends") };
    Interval { lower: number(lower), upper: number(upper) }
}

fn interval_close(found: Interval, expected: Interval, tolerance: f64, what: &str) {
    close(found.lower, expected.lower, tolerance, what);
    close(found.upper, expected.upper, tolerance, what);
}

/// One line of an lm-evaluation-harness sample log: id, group, and whether `exact_match` is 1.
fn samples(path: &str) -> Vec<(String, String, bool)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(path);
    let file = std::fs::File::open(&path).unwrap();
    let mut reader = LineReader::new("samples", std::io::BufReader::new(file));
    let mut found = Vec::new();
    while let Some(line) = reader.next_line().unwrap() {
        let value = parse_line("samples", line).unwrap();
        let mut fields = Fields::of("", &value).unwrap();
        let mut doc = Fields::of("doc", fields.required("doc").unwrap()).unwrap();
        let name = doc.string("id").unwrap().to_owned();
        found.push((name, doc.string("group").unwrap().to_owned(), fields.number("exact_match").unwrap() == 1.0));
    }
    found
}

type Answered = Vec<(String, String, bool, bool)>;

fn rounds() -> Answered {
    let base = samples("lm_eval/round1/stub-model-a/samples_ledger_qa_2026-11-30T12-19-24.809307.jsonl");
    let current = samples("lm_eval/round2/stub-model-b/samples_ledger_qa_2026-11-30T12-19-39.919439.jsonl");
    assert_eq!((base.len(), current.len()), (24, 24));
    let pairs = base.into_iter().zip(current);
    pairs
        .map(|((name, group, was), (same, _, is))| {
            assert_eq!(name, same);
            (name, group, was, is)
        })
        .collect()
}

fn paired(answered: &Answered) -> Vec<PairedQuestion<'_>> {
    answered
        .iter()
        .map(|(name, group, base, current)| PairedQuestion {
            name,
            base: *base,
            current: *current,
            must_pass: false,
            cluster: Some(group),
        })
        .collect()
}

fn round(name: &str, answers: impl Iterator<Item = bool>) -> Round {
    let measured = evaluate(answers.map(|correct| Judged { correct, grounded: true, cost: 1.0 }));
    Round { name: name.to_owned(), receipt: None, scorer: None, scorecard: measured.bind("set").unwrap() }
}

fn real_comparison() -> Comparison {
    let answered = rounds();
    let questions = paired(&answered);
    let evidence = Evidence { answered: Some(&questions), ..Evidence::NONE };
    let base = round("round 1", questions.iter().map(|question| question.base));
    let current = round("round 2", questions.iter().map(|question| question.current));
    Comparison::of(base, current, Tolerance::default(), evidence).unwrap()
}

#[test]
fn real_rounds_regress_and_name_their_flips() {
    let comparison = real_comparison();
    assert_eq!(comparison.report.reasons, ["quality regressed: 0.750 -> 0.667"]);
    let flips = comparison.flips.unwrap();
    assert_eq!(flips.newly_failing, ["q02", "q13", "q21"]);
    assert_eq!(flips.newly_passing, ["q16"]);
    assert_eq!((flips.n11, flips.n10, flips.n01, flips.n00), (15, 3, 1, 5));
}

#[test]
fn statistics_of_real_rounds_agree_with_the_independent_reference() {
    let reference = fixture("import/expected_stats.json");
    let mut reference = Fields::of("", &reference).unwrap();
    let mut expect = |name: &str| number(reference.required(name).unwrap());
    let statistics = real_comparison().statistics.unwrap();
    let (base, current, difference) = (statistics.base, statistics.current, statistics.difference);
    let (mcnemar, clustered) = (statistics.mcnemar, statistics.clustered.unwrap());
    for (name, found) in [
        ("acc1", base.share.unwrap()),
        ("acc2", current.share.unwrap()),
        ("diff", difference.estimate.unwrap()),
        ("mcnemar_exact_two_sided", mcnemar.two_sided),
        ("mcnemar_exact_one_sided_worse", mcnemar.one_sided_worse),
        ("mcnemar_midp_two_sided", mcnemar.mid_p),
        ("min_attainable_two_sided_p_with_4_discordant", mcnemar.smallest_two_sided),
        ("se_clt_round1", base.standard_error.unwrap()),
        ("se_clt_round2", current.standard_error.unwrap()),
        ("se_unpaired_diff", difference.unpaired_standard_error.unwrap()),
        ("se_paired_diff", difference.paired_standard_error.unwrap()),
        ("se_clustered_round1_no_df_correction", clustered.base.uncorrected),
        ("se_clustered_round1_x_G/(G-1)", clustered.base.corrected),
        ("se_clustered_diff_no_df_correction", clustered.difference.uncorrected),
    ] {
        close(found, expect(name), 1e-12, name);
    }
    assert_eq!(clustered.clusters, 4);
    interval_close(base.wilson95.unwrap(), ends(reference.required("wilson95_round1").unwrap()), 1e-12, "wilson 1");
    interval_close(current.wilson95.unwrap(), ends(reference.required("wilson95_round2").unwrap()), 1e-12, "wilson 2");
    let tango = ends(reference.required("tango95_paired_diff").unwrap());
    interval_close(difference.tango95.unwrap(), tango, 1e-9, "tango");
}

#[test]
fn the_worked_example_in_the_documentation_is_what_is_computed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/statistics.md");
    let page = std::fs::read_to_string(path).unwrap();
    let statistics = real_comparison().statistics.unwrap();
    let (mcnemar, clustered) = (statistics.mcnemar, statistics.clustered.unwrap());
    let (base, current, difference) = (statistics.base, statistics.current, statistics.difference);
    let (wilson, later) = (base.wilson95.unwrap(), current.wilson95.unwrap());
    let tango = difference.tango95.unwrap();
    let mut shown: Vec<&str> = page.split("**").skip(1).step_by(2).filter(|bold| bold.contains('.')).collect();
    shown.retain(|bold| bold.trim_start_matches('−').parse::<f64>().is_ok());
    let computed = [
        mcnemar.two_sided,
        mcnemar.one_sided_worse,
        mcnemar.mid_p,
        mcnemar.smallest_two_sided,
        base.standard_error.unwrap(),
        current.standard_error.unwrap(),
        wilson.lower,
        wilson.upper,
        later.lower,
        later.upper,
        difference.paired_standard_error.unwrap(),
        difference.unpaired_standard_error.unwrap(),
        tango.lower,
        tango.upper,
        clustered.base.uncorrected,
        clustered.base.corrected,
        clustered.difference.uncorrected,
        clustered.difference.corrected,
    ];
    assert_eq!(shown, computed.map(|value| format!("{value:.4}").replace('-', "−")));
}

#[test]
fn the_document_is_the_same_bytes_every_time() {
    assert_eq!(encode(&real_comparison()).unwrap(), encode(&real_comparison()).unwrap());
}

#[test]
fn tables_agree_with_sixty_digit_decimals() {
    let vectors = fixture("vectors/paired_statistics.json");
    let tables = items(Fields::of("", &vectors).unwrap().required("tables").unwrap());
    assert_eq!(tables.len(), 60);
    for (index, table) in tables.iter().enumerate() {
        let mut table = Fields::of("", table).unwrap();
        let flags = |text: &str| text.bytes().map(|digit| digit == b'1').collect::<Vec<_>>();
        let base = flags(table.string("base").unwrap());
        let current = flags(table.string("current").unwrap());
        let keys: Vec<&str> = items(table.required("clusters").unwrap())
            .iter()
            .map(|key| if let Json::String(key) = key { key.as_str() } else { panic!("a key") })
            .collect();
        let counts = PairedCounts::count(base.iter().copied().zip(current.iter().copied())).unwrap();
        let pairs = base.iter().zip(&current).zip(&keys);
        let pairs =
            pairs.map(|((base, current), key)| ClusteredPair { base: *base, current: *current, cluster: Some(key) });
        let clustered = Clustered::of(pairs).unwrap().unwrap();
        for (name, found) in [
            ("two_sided", counts.mcnemar().two_sided),
            ("one_sided_worse", counts.mcnemar().one_sided_worse),
            ("mid_p", counts.mcnemar().mid_p),
            ("se_base", counts.base().standard_error().unwrap()),
            ("se_difference", counts.standard_error().unwrap()),
            ("clustered_base", clustered.base.uncorrected),
            ("clustered_difference", clustered.difference.uncorrected),
        ] {
            close(found, table.number(name).unwrap(), 1e-14, &format!("table {index}, {name}"));
        }
        for (name, found) in [
            ("wilson_base", counts.base().wilson95().unwrap()),
            ("wilson_current", counts.current().wilson95().unwrap()),
            ("tango", counts.tango95().unwrap()),
        ] {
            interval_close(found, ends(table.required(name).unwrap()), 1e-13, &format!("table {index}, {name}"));
        }
    }
}

#[test]
fn mcnemar_stays_exact_up_to_a_million_flips() {
    let vectors = fixture("vectors/paired_statistics.json");
    for case in items(Fields::of("", &vectors).unwrap().required("flips").unwrap()) {
        let mut case = Fields::of("", case).unwrap();
        let mut count = |name: &str| match case.required(name).unwrap() {
            Json::Integer(value) => u64::try_from(*value).unwrap(),
            other => panic!("a count, not {}", other.kind()),
        };
        let (worse, better) = (count("worse"), count("better"));
        let test = PairedCounts::new(0, worse, better, 0).unwrap().mcnemar();
        for (name, found) in
            [("two_sided", test.two_sided), ("one_sided_worse", test.one_sided_worse), ("mid_p", test.mid_p)]
        {
            let expected = case.number(name).unwrap();
            close(found, expected, 4.0 * f64::EPSILON * expected, &format!("{worse} against {better}, {name}"));
        }
    }
}

/// How many of the 2^n ways n flips can fall have at most k of them one way: Pascal's row n, summed as integers.
fn ways_at_most(k: u64, n: u64) -> u128 {
    let (mut sum, mut ways) = (0u128, 1u128);
    for i in 0..=k {
        sum += ways;
        ways = ways * u128::from(n - i) / u128::from(i + 1);
    }
    sum
}

#[test]
fn mcnemar_equals_exact_rational_sums_up_to_sixty_flips() {
    for n in 0..=60u64 {
        let all = 1u128 << n;
        for worse in 0..=n {
            let better = n - worse;
            let (few, many) = (worse.min(better), ways_at_most(better, n));
            let two = (2 * ways_at_most(few, n)).min(all);
            let point = ways_at_most(few, n) - few.checked_sub(1).map_or(0, |below| ways_at_most(below, n));
            // Twice the mid-p, so that half a point stays an integer.
            let twice_mid = if n == 0 {
                2 * all
            } else if worse == better {
                2 * all - point
            } else {
                2 * (two - point)
            };
            let test = PairedCounts::new(0, worse, better, 0).unwrap().mcnemar();
            for (name, found, numerator, denominator) in [
                ("two-sided", test.two_sided, two, all),
                ("one-sided", test.one_sided_worse, many, all),
                ("mid-p", test.mid_p, twice_mid, 2 * all),
            ] {
                let exact = numerator as f64 / denominator as f64;
                close(found, exact, 4.0 * f64::EPSILON * exact, &format!("{worse} against {better}, {name}"));
            }
        }
    }
}

#[test]
fn mcnemar_equals_listing_every_outcome_up_to_twelve_flips() {
    for n in 1..=12u32 {
        for worse in 0..=n {
            let far = |ones: u32| ones.abs_diff(n - ones) >= worse.abs_diff(n - worse);
            let outcomes = 0u32..1 << n;
            let as_extreme = outcomes.clone().filter(|outcome| far(outcome.count_ones())).count();
            let as_bad = outcomes.filter(|outcome| outcome.count_ones() >= worse).count();
            let test = PairedCounts::new(0, worse.into(), (n - worse).into(), 0).unwrap().mcnemar();
            assert_eq!(test.two_sided, as_extreme as f64 / f64::from(1u32 << n), "{worse} of {n}");
            assert_eq!(test.one_sided_worse, as_bad as f64 / f64::from(1u32 << n), "{worse} of {n}");
        }
    }
}

fn within(interval: Interval, estimate: f64, floor: f64) {
    assert!(floor <= interval.lower && interval.lower <= estimate, "{interval:?} {estimate}");
    assert!(estimate <= interval.upper && interval.upper <= 1.0, "{interval:?} {estimate}");
}

proptest! {
    #[test]
    fn p_values_are_probabilities_and_do_not_care_which_round_is_which(worse in 0u64..3000, better in 0u64..3000) {
        let test = PairedCounts::new(0, worse, better, 0).unwrap().mcnemar();
        let mirrored = PairedCounts::new(5, better, worse, 9).unwrap().mcnemar();
        for p in [test.two_sided, test.one_sided_worse, test.mid_p, test.smallest_two_sided] {
            prop_assert!(p > 0.0 && p <= 1.0, "{test:?}");
        }
        prop_assert_eq!(test.two_sided.to_bits(), mirrored.two_sided.to_bits());
        prop_assert_eq!(test.mid_p.to_bits(), mirrored.mid_p.to_bits());
        prop_assert!(test.mid_p <= test.two_sided);
        prop_assert!(test.smallest_two_sided <= test.two_sided);
        // Both one-sided tails count what was seen.
        prop_assert!(test.one_sided_worse + mirrored.one_sided_worse > 1.0 - 1e-12);
    }

    #[test]
    fn one_more_question_newly_failing_is_never_weaker_evidence_of_worse(worse in 0u64..2000, better in 0u64..2000) {
        let of = |worse, better| PairedCounts::new(0, worse, better, 0).unwrap().mcnemar();
        prop_assert!(of(worse + 1, better).one_sided_worse <= of(worse, better).one_sided_worse);
        // More lopsided with the same number of flips is rarer by chance.
        if worse >= better && better > 0 {
            prop_assert!(of(worse + 1, better - 1).two_sided <= of(worse, better).two_sided);
        }
    }

    #[test]
    fn intervals_hold_the_estimate_and_mirror(n11 in 0u64..500, n10 in 0u64..500, n01 in 0u64..500, n00 in 0u64..500) {
        prop_assume!(n11 + n10 + n01 + n00 > 0);
        let counts = PairedCounts::new(n11, n10, n01, n00).unwrap();
        let mirrored = PairedCounts::new(n11, n01, n10, n00).unwrap();
        let (tango, other) = (counts.tango95().unwrap(), mirrored.tango95().unwrap());
        within(tango, counts.difference().unwrap(), -1.0);
        within(counts.base().wilson95().unwrap(), counts.base().estimate().unwrap(), 0.0);
        within(counts.current().wilson95().unwrap(), counts.current().estimate().unwrap(), 0.0);
        prop_assert_eq!((tango.lower, tango.upper), (-other.upper, -other.lower));
        prop_assert_eq!(counts.standard_error(), mirrored.standard_error());
    }

    #[test]
    fn the_same_shares_of_more_questions_narrow_every_interval(
        n11 in 0u64..100, n10 in 0u64..100, n01 in 0u64..100, n00 in 0u64..100, times in 2u64..9,
    ) {
        prop_assume!(n11 + n10 + n01 + n00 > 1);
        let few = PairedCounts::new(n11, n10, n01, n00).unwrap();
        let many = PairedCounts::new(times * n11, times * n10, times * n01, times * n00).unwrap();
        let width = |interval: Interval| interval.upper - interval.lower;
        prop_assert!(width(many.tango95().unwrap()) < width(few.tango95().unwrap()));
        prop_assert!(width(many.base().wilson95().unwrap()) < width(few.base().wilson95().unwrap()));
        prop_assert!(many.standard_error() <= few.standard_error());
    }

    #[test]
    fn wilson_rises_with_every_right_answer(right in 0u64..400, wrong in 1u64..400) {
        let of = |right| Proportion::new(right, 400 + 400).unwrap().wilson95().unwrap();
        let (less, more) = (of(right), of(right + wrong));
        prop_assert!(less.lower < more.lower && less.upper < more.upper);
    }

    #[test]
    fn clustered_errors_do_not_depend_on_the_order_of_questions(
        questions in prop::collection::vec((any::<bool>(), any::<bool>(), prop::option::of("[a-d]")), 2..60),
        seed in any::<u64>(),
    ) {
        let of = |questions: &[(bool, bool, Option<String>)]| {
            let pairs = questions.iter();
            Clustered::of(pairs.map(|(base, current, key)| ClusteredPair {
                base: *base,
                current: *current,
                cluster: key.as_deref(),
            }))
            .unwrap()
        };
        let mut shuffled = questions.clone();
        let mut state = seed;
        for last in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(last, usize::try_from(state >> 33).unwrap() % (last + 1));
        }
        prop_assert_eq!(of(&questions), of(&shuffled));
    }
}
