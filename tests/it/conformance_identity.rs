//! Question set identities: mixle's, byte for byte, and the properties of the native scheme.

use proofmark::object::{Json, parse};
use proofmark::question::{Answer, Answers, MixleIdentity, QuestionSet, Scheme, ScorerIdentity};
use proofmark::score::Scorer;
use proptest::prelude::*;

const VECTORS: &[u8] = include_bytes!("../../fixtures/vectors/mixle_identity.json");
const EVALUATED: &[u8] = include_bytes!("../../fixtures/vectors/mixle_evaluate.json");

fn member<'a>(value: &'a Json, name: &str) -> &'a Json {
    let Json::Object(members) = value else { panic!("not an object: {value:?}") };
    members.iter().find(|(member, _)| member == name).map(|(_, value)| value).unwrap_or_else(|| panic!("no {name}"))
}

fn array(value: &Json) -> &[Json] {
    match value {
        Json::Array(items) => items,
        other => panic!("not an array: {other:?}"),
    }
}

fn lines(records: &[Json]) -> String {
    records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect()
}

fn questions(text: &str) -> QuestionSet {
    QuestionSet::parse("q.jsonl", text.as_bytes()).unwrap()
}

fn scorer(text: &str) -> ScorerIdentity {
    text.parse().unwrap()
}

fn pm1(set: &QuestionSet) -> String {
    set.id(Scheme::Pm1, &scorer("substring/v2")).unwrap().to_string()
}

#[test]
fn every_identity_that_mixle_gives() {
    let vectors = parse(VECTORS).unwrap();
    let cases = array(member(&vectors, "cases"));
    assert_eq!(cases.len(), 42);
    let mut empty = 0;
    for (at, case) in cases.iter().enumerate() {
        let scorer = match member(case, "scorer") {
            Json::String(name) => scorer(name),
            Json::Null => scorer("substring/v2"),
            other => panic!("case {at}: {other:?}"),
        };
        let pairs = array(member(case, "pairs"));
        let identity = if pairs.is_empty() {
            empty += 1;
            MixleIdentity::new(&scorer).finish()
        } else {
            let set = questions(&lines(pairs));
            let again = QuestionSet::parse("again", set.encode().unwrap().as_slice()).unwrap();
            let identity = set.id(Scheme::Mixle, &scorer).unwrap();
            assert_eq!(again.id(Scheme::Mixle, &scorer).unwrap(), identity, "case {at}, encoded and read back");
            identity
        };
        assert_eq!(&Json::String(identity.to_string()), member(case, "identity"), "case {at}");
    }
    assert_eq!(empty, 4);
}

#[test]
fn every_reply_is_judged_as_mixle_judges_it() {
    let vectors = parse(EVALUATED).unwrap();
    let cases = array(member(&vectors, "cases"));
    assert_eq!(cases.len(), 30);
    let substring = Scorer::parse("substring/v2").unwrap();
    // mixle gives a card for no question at all; here such a file is refused.
    let (empty, cases): (Vec<_>, Vec<_>) = cases.iter().partition(|case| array(member(case, "pairs")).is_empty());
    assert_eq!((empty.len(), cases.len()), (8, 22));
    for (at, case) in cases.into_iter().enumerate() {
        let set = questions(&lines(array(member(case, "pairs"))));
        let answers = Answers::parse("a.jsonl", lines(array(member(case, "answers"))).as_bytes()).unwrap();
        let answers = answers.join(&set).unwrap();
        let correct = substring.judge_all(&set, answers.iter().map(Answer::reply)).unwrap();
        let share = |count: usize| Json::Float(count as f64 / set.len() as f64);
        let card = member(case, "scorecard");
        assert_eq!(&share(correct.iter().filter(|correct| **correct).count()), member(card, "quality"), "case {at}");
        let grounded = answers.iter().filter(|answer| answer.receipt().grounded()).count();
        assert_eq!(&share(grounded), member(card, "grounded_fraction"), "case {at}");
        let cost = answers.iter().map(|answer| answer.receipt().spend().cost()).fold(0.0, |sum, cost| sum + cost);
        assert_eq!(&Json::Float(cost), member(card, "realized_cost"), "case {at}");
        let id = set.id(Scheme::Mixle, substring.identity()).unwrap();
        assert_eq!(&Json::String(id.to_string()), member(card, "question_set_id"), "case {at}");
    }
}

#[test]
fn mixle_knows_its_default_scorer_by_another_name() {
    let set = questions(r#"{"question":"q","expected":"a"}"#);
    let id = |name: &str| set.id(Scheme::Mixle, &scorer(name)).unwrap();
    assert_eq!(id("substring/v2"), id("mixle.system.scorecard._default_scorer@substring/v2"));
    assert_ne!(id("substring/v2"), id("exact/v1"));
}

#[test]
fn the_schemes_differ_in_what_they_tell_apart() {
    let with = |fingerprint: &str| {
        questions(&format!(r#"{{"query":{{"text":"q","fingerprint":{fingerprint}}},"expected":"a"}}"#))
    };
    let mixle = |set: &QuestionSet| set.id(Scheme::Mixle, &scorer("substring/v2")).unwrap();
    for (left, right) in [("1", "1.0"), ("0", "-0.0"), ("0.0", "-0.0"), ("100", "1e2")] {
        assert_eq!(pm1(&with(left)), pm1(&with(right)), "pm1: {left} and {right}");
        assert_ne!(mixle(&with(left)), mixle(&with(right)), "mixle: {left} and {right}");
    }
    for (left, right) in [("-0", "0"), (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#)] {
        assert_eq!(pm1(&with(left)), pm1(&with(right)), "pm1: {left} and {right}");
        assert_eq!(mixle(&with(left)), mixle(&with(right)), "mixle: {left} and {right}");
    }
    for (left, right) in [("true", "1"), ("null", "false"), ("[]", "{}"), (r#""1""#, "1"), ("[[1],2]", "[1,[2]]")] {
        assert_ne!(pm1(&with(left)), pm1(&with(right)), "pm1: {left} and {right}");
        assert_ne!(mixle(&with(left)), mixle(&with(right)), "mixle: {left} and {right}");
    }
}

/// The construction in the documentation of `question::leaf`, written out here from the primitives.
fn by_hand(pairs: &[(&str, &str, Option<[u8; 32]>)], scorer: &str) -> String {
    let prefixed = |hasher: &mut blake3::Hasher, bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    };
    let mut set = blake3::Hasher::new_derive_key("proofmark question set v1");
    prefixed(&mut set, scorer.as_bytes());
    set.update(&(pairs.len() as u64).to_be_bytes());
    for (query, expected, salt) in pairs {
        let mut leaf = blake3::Hasher::new_derive_key("proofmark question v1");
        prefixed(&mut leaf, query.as_bytes());
        prefixed(&mut leaf, expected.as_bytes());
        if let Some(salt) = salt {
            prefixed(&mut leaf, salt);
        }
        set.update(leaf.finalize().as_bytes());
    }
    format!("pm1:{}", set.finalize().to_hex())
}

#[test]
fn pm1_is_what_its_documentation_says() {
    let text = concat!(
        r#"{"question":"2+2?","expected":"4"}"#,
        "\n",
        r#"{"query":{"text":"Où?","scope":"eu","task":"qa","fingerprint":{"b":1e21,"a":-0.0},"expected_output":{}},"#,
        r#""expected":"\u00e9\n\"","id":"x","cluster":"c","must_pass":true}"#,
    );
    let first = r#"{"expected_output":null,"fingerprint":null,"scope":"local","task":"","text":"2+2?"}"#;
    let second = r#"{"expected_output":{},"fingerprint":{"a":0,"b":1e+21},"scope":"eu","task":"qa","text":"Où?"}"#;
    let plain = [(first, r#""4""#, None), (second, r#""é\n\"""#, None)];
    let set = questions(text);
    assert_eq!(pm1(&set), by_hand(&plain, "substring/v2"));
    let mut salt = 0u8;
    let sealed = set.seal(|| -> Result<_, std::convert::Infallible> {
        salt += 1;
        Ok([salt; 32])
    });
    let salted = [(first, r#""4""#, Some([1; 32])), (second, r#""é\n\"""#, Some([2; 32]))];
    assert_eq!(pm1(&sealed.unwrap()), by_hand(&salted, "substring/v2"));
}

fn json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn fingerprint() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        (-9_007_199_254_740_991i64..=9_007_199_254_740_991).prop_map(|value| value.to_string()),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| format!("{value:?}")),
        any::<String>().prop_map(|text| json_string(&text)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map(any::<String>(), inner, 0..4).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(name, value)| format!("{}:{value}", json_string(name))).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// One record, made different from all others by its position.
fn record(at: usize, text: &str, expected: &str, fingerprint: &str) -> String {
    let (text, expected) = (json_string(text), json_string(&format!("{expected}.")));
    format!(
        r#"{{"query":{{"text":{text},"fingerprint":[{at},{fingerprint}]}},"expected":{expected},"id":"q{at}","must_pass":true}}"#
    )
}

fn records() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec((any::<String>(), any::<String>(), fingerprint()), 2..6).prop_map(|parts| {
        let numbered = parts.iter().enumerate();
        numbered.map(|(at, (text, expected, fingerprint))| record(at, text, expected, fingerprint)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn encoding_and_reading_back_keeps_both_identities(records in records()) {
        let set = questions(&records.join("\n"));
        let encoded = set.encode().unwrap();
        let again = QuestionSet::parse("again", encoded.as_slice()).unwrap();
        for scheme in [Scheme::Pm1, Scheme::Mixle] {
            prop_assert_eq!(set.id(scheme, &scorer("exact/v1")).unwrap(), again.id(scheme, &scorer("exact/v1")).unwrap());
        }
        prop_assert_eq!(set.questions(), again.questions());
        prop_assert_eq!(encoded, again.encode().unwrap());
    }

    #[test]
    fn order_and_scorer_are_part_of_the_identity(records in records(), other in 1usize..5) {
        let set = questions(&records.join("\n"));
        let mut permuted = records.clone();
        permuted.swap(0, other % (records.len() - 1) + 1);
        let permuted = questions(&permuted.join("\n"));
        for scheme in [Scheme::Pm1, Scheme::Mixle] {
            let id = |set: &QuestionSet, name: &str| set.id(scheme, &scorer(name)).unwrap();
            prop_assert_ne!(id(&set, "exact/v1"), id(&permuted, "exact/v1"));
            prop_assert_ne!(id(&set, "exact/v1"), id(&set, "regex/v1"));
        }
    }

    #[test]
    fn another_expected_answer_changes_its_leaf_alone(records in records(), at in 0usize..6) {
        let at = at % records.len();
        let mut changed = records.clone();
        changed[at] = changed[at].replace(".\",\"id\"", "!\",\"id\"");
        let (left, right) = (questions(&records.join("\n")), questions(&changed.join("\n")));
        let (left, right) = (left.leaves().unwrap(), right.leaves().unwrap());
        let differing: Vec<_> =
            (0..records.len()).filter(|at| left.as_slice()[*at] != right.as_slice()[*at]).collect();
        prop_assert_eq!(differing, vec![at]);
    }

    #[test]
    fn the_short_form_is_the_long_form_with_defaults(text in any::<String>(), expected in any::<String>()) {
        let (text, expected) = (json_string(&text), json_string(&format!("{expected}x")));
        let short = questions(&format!(r#"{{"question":{text},"expected":{expected}}}"#));
        let long = questions(&format!(
            r#"{{"expected":{expected},"query":{{"scope":"local","expected_output":null,"task":"","fingerprint":null,"text":{text}}}}}"#
        ));
        prop_assert_eq!(short.questions(), long.questions());
        prop_assert_eq!(pm1(&short), pm1(&long));
    }

    #[test]
    fn salts_change_every_leaf_and_show_one_question_without_the_others(records in records(), seed in any::<[u8; 31]>()) {
        let plain = questions(&records.join("\n"));
        let mut drawn = 0u8;
        let sealed = plain.clone().seal(|| -> Result<[u8; 32], std::convert::Infallible> {
            drawn += 1;
            let mut salt = [drawn; 32];
            salt[1..].copy_from_slice(&seed);
            Ok(salt)
        }).unwrap();
        let (open, shut) = (plain.leaves().unwrap(), sealed.leaves().unwrap());
        for (at, question) in sealed.iter().enumerate() {
            prop_assert_ne!(open.as_slice()[at], shut.as_slice()[at]);
            prop_assert!(shut.verify_reveal(at + 1, question).is_ok());
            prop_assert!(shut.verify_reveal(at + 1, &plain.questions()[at]).is_err());
            prop_assert!(shut.verify_reveal((at + 1) % sealed.len() + 1, question).is_err());
        }
        prop_assert!(shut.verify_reveal(0, &sealed.questions()[0]).is_err());
        let again = QuestionSet::parse("again", sealed.encode().unwrap().as_slice()).unwrap();
        prop_assert_eq!(again.leaves().unwrap(), shut);
    }
}
