//! The checks that can be waived.

use super::*;

#[test]
fn rules_of_cards_hold_for_everything_that_a_go_rests_on() {
    let rules = Rules { recomputed_only: Some(true), max_looks: Some(1), ..Rules::default() };
    let mut world = World::new(&Trusted { rules, ..Trusted::default() });
    let (base, current) = (world.round(Basis::Asserted), world.round(Basis::Recomputed));
    let compared = world.comparison(base, current, clean());
    let gate = world.gate(CI, true);
    let go = world.signoff(gate, Decision::Go, &[compared]);
    assert_eq!(world.objections(ANN, 1, Body::Signoff(go)), [ObjectionCode::RestsOnAsserted]);
    world.go(ANN, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), ["signoff-missing"]);
    world.waive(ANN, base, Code::AssertedCard, 9);
    world.go(ANN, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), ["looks-exceeded"], "the second round is the second look");
    world.waive(ANN, current, Code::LooksExceeded, 9);
    world.go(ANN, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), NONE);
    let incomparable = RegressionReport { regressed: true, comparable: false, reasons: vec!["other".to_owned()] };
    let odd = world.comparison(base, current, incomparable);
    world.go(ANN, gate, &[odd]);
    assert_eq!(world.judged(gate, 1), ["comparison-incomparable"]);
    let itself = world.comparison(current, current, clean());
    world.go(ANN, gate, &[itself]);
    assert_eq!(world.judged(gate, 1), ["comparison-incomparable"], "it says nothing of another round");
}

#[test]
fn a_comparison_of_questions_that_nobody_holds_does_not_say_what_must_pass() {
    let mut world = World::new(&Trusted::default());
    let held = world.round(Basis::Recomputed);
    world.held = false;
    let sealed = world.round(Basis::Recomputed);
    let gate = world.gate(CI, true);
    let of_held = world.comparison(sealed, held, clean());
    world.go(ANN, gate, &[of_held]);
    assert_eq!(world.judged(gate, 1), NONE, "the current round says what must pass");
    let of_sealed = world.comparison(held, sealed, regressed());
    world.go(ANN, gate, &[of_sealed]);
    assert_eq!(world.judged(gate, 1), ["comparison-regressed", "must-pass-unknown"]);
    world.waive(ANN, of_sealed, Code::ComparisonRegressed, 9);
    world.go(ANN, gate, &[of_sealed]);
    assert_eq!(world.judged(gate, 1), ["must-pass-unknown"]);
    world.waive(ANN, of_sealed, Code::MustPassUnknown, 9);
    world.go(ANN, gate, &[of_sealed]);
    assert_eq!(world.judged(gate, 1), NONE);
    assert_eq!(world.judged(gate, 9), ["comparison-regressed", "must-pass-unknown"], "until the waivers expire");
    // By itself it says no more than in a comparison.
    let other = world.gate(CI, true);
    world.go(ANN, other, &[sealed]);
    assert_eq!(world.judged(other, 1), ["must-pass-unknown"]);
    world.waive(ANN, sealed, Code::MustPassUnknown, 9);
    world.go(ANN, other, &[sealed]);
    assert_eq!(world.judged(other, 1), NONE);
    let last = world.gate(CI, true);
    world.go(ANN, last, &[held]);
    assert_eq!(world.judged(last, 1), NONE, "the questions of this one are held");
}

#[test]
fn a_comparison_that_lets_more_pass_than_the_default_blocks() {
    let mut world = World::new(&Trusted::default());
    let (base, current) = (world.round(Basis::Recomputed), world.round(Basis::Recomputed));
    let unknown = vec![Fact::ALL[0]];
    let incomparable = RegressionReport { regressed: true, comparable: false, reasons: vec!["other".to_owned()] };
    for (tolerance, allow_unknown, report, expected) in [
        (1e-9, vec![], clean(), &[][..]),
        (2e-9, vec![], clean(), &["comparison-lenient"]),
        (f64::MAX, vec![], clean(), &["comparison-lenient"]),
        (0.0, unknown.clone(), clean(), &["comparison-lenient"]),
        (0.5, unknown, regressed(), &["comparison-lenient", "comparison-regressed"]),
        (0.5, vec![], incomparable, &["comparison-incomparable"]),
    ] {
        let compared =
            world.say(CI, 0, Body::Comparison(Comparison { base, current, tolerance, report, allow_unknown }));
        let gate = world.gate(CI, true);
        world.go(ANN, gate, &[compared]);
        assert_eq!(world.judged(gate, 1), expected, "{tolerance}");
        for code in expected {
            let code = Code::ALL.iter().find(|known| known.as_str() == *code).unwrap();
            world.waive(ANN, compared, *code, 9);
        }
        world.go(ANN, gate, &[compared]);
        assert_eq!(world.judged(gate, 1), NONE, "{tolerance}, waived");
    }
}
