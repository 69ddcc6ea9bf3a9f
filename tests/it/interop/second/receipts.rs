//! Receipts whose statements say something odd, each signed by the right key: what is a receipt, and what is none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proofmark::object::ReceiptId;
use proofmark::receipt::{
    Authorization, Body, Decision, Receipt, ReceiptRef, Release, Signoff, Waiver, Withdrawal,
    pre_authentication_encoding,
};
use proofmark::trust::{SecretKey, Signer};

use super::super::tools::{Tool, ready};
use super::Bench;
use crate::forge::Forge;
use crate::keys::{moment, person};

/// An envelope around any statement.
pub fn signed(statement: &[u8], signer: &SecretKey) -> Vec<u8> {
    let signature = signer.sign(&pre_authentication_encoding(statement)).unwrap();
    let (payload, sig) = (STANDARD.encode(statement), STANDARD.encode(signature.0));
    let (kind, keyid) = ("application/vnd.in-toto+json", signer.public().fingerprint());
    format!(
        "{{\"payload\":\"{payload}\",\"payloadType\":\"{kind}\",\"signatures\":[{{\"keyid\":\"{}\",\"sig\":\"{sig}\"}}]}}",
        keyid.as_str()
    )
    .into_bytes()
}

/// A kind of receipt and its statement at index 6 of the example (receipt 0: at index 0 of a new ledger).
pub fn honest(kind: &str) -> (Forge, String) {
    let mut forge = if kind == "trust" { Forge::new() } else { Forge::example() };
    let at = |index: usize| ReceiptRef { index: index as u64, receipt: ReceiptId::of(&forge.entries[index]) };
    let (first, third) = if kind == "trust" { (at(0), at(0)) } else { (at(1), at(3)) };
    match kind {
        "trust" => {}
        "scorecard" => _ = forge.round(&[2]),
        "gate" => {
            let (body, evidence) = forge.gated();
            forge.add(Body::Gate(body), evidence);
        }
        "baseline" => _ = forge.baseline(first),
        "signoff" => {
            let (decision, reason, rests_on) = (Decision::Go, "fine".parse().unwrap(), vec![first]);
            forge.add(Body::Signoff(Signoff { target: third, decision, reason, expires: None, rests_on }), Vec::new());
        }
        "waiver" => {
            let (check, reason) = ("old".parse().unwrap(), "known".parse().unwrap());
            forge.add(Body::Waiver(Waiver { target: first, check, reason, expires: moment() }), Vec::new());
        }
        "withdrawal" => {
            let withdrawal = Withdrawal { target: first, reason: "wrong".parse().unwrap() };
            forge.add(Body::Withdrawal(withdrawal), Vec::new());
        }
        "authorization" => {
            let (size, root, reasons) = (6, forge.head().root, vec!["no-go".parse().unwrap()]);
            let (decision, rests_on) = (Release::Blocked, vec![first]);
            let at = moment();
            let body = Authorization { target: third, decision, at, size, root, reasons, rests_on };
            forge.add(Body::Authorization(body), Vec::new());
        }
        _ => _ = forge.compare(first, third),
    }
    let entry = forge.entries.pop().unwrap();
    let statement = String::from_utf8(Receipt::parse(&entry).unwrap().payload().to_vec()).unwrap();
    (forge, statement)
}

/// A kind of receipt, a piece of its honest statement, and what stands there instead.
struct Odd {
    kind: &'static str,
    from: &'static str,
    to: String,
}

/// `odd.txt`: a kind and a piece (`…` for the rest of a string), and below it, indented, what stands there instead.
/// `<U+A0>` is a character, `<x*64>` so many of them.
fn odd() -> Vec<Odd> {
    let (mut found, mut heading) = (Vec::new(), ("", ""));
    for line in include_str!("odd.txt").lines() {
        match line.strip_prefix("  ") {
            Some(to) => found.push(Odd { kind: heading.0, from: heading.1, to: spelled_out(to) }),
            None => heading = line.split_once(' ').unwrap(),
        }
    }
    found
}

pub fn spelled_out(text: &str) -> String {
    let Some((before, rest)) = text.split_once('<') else { return text.to_owned() };
    let (inside, after) = rest.split_once('>').unwrap_or((rest, ""));
    let character = inside.strip_prefix("U+").and_then(|hex| char::from_u32(u32::from_str_radix(hex, 16).ok()?));
    let repeated = inside.split_once('*').and_then(|(text, count)| Some(text.repeat(count.parse().ok()?)));
    match character.map(String::from).or(repeated) {
        Some(said) => format!("{before}{said}{}", spelled_out(after)),
        None => format!("{before}<{}", spelled_out(rest)),
    }
}

/// The statement with its first such piece replaced.
fn replaced(statement: &str, from: &str, to: &str) -> String {
    let start = statement.find(from.trim_end_matches('…')).unwrap_or_else(|| panic!("no {from} in {statement}"));
    let end = start + from.trim_end_matches('…').len();
    let end = if from.ends_with('…') { end + statement[end..].find('"').unwrap() + 1 } else { end };
    format!("{}{to}{}", &statement[..start], &statement[end..])
}

#[test]
fn both_take_and_refuse_the_same_statements() {
    if !ready("the second verifier on odd statements", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let kinds = "scorecard comparison baseline gate signoff waiver withdrawal authorization trust".split(' ');
    let kinds = kinds.map(|kind| (kind, honest(kind))).collect::<Vec<_>>();
    for Odd { kind, from, to } in odd() {
        let (_, (before, statement)) = kinds.iter().find(|(known, _)| *known == kind).unwrap();
        let mut forge = before.clone();
        forge.raw(&signed(replaced(statement, from, &to).as_bytes(), &person()));
        if kind == "trust" {
            forge.round(&[1]);
        }
        bench.forged(&format!("{kind}: {from} -> {to}"), &forge);
    }
    assert!(bench.compare(|_, _| false) > 150);
}

#[test]
fn both_take_and_refuse_the_same_envelopes() {
    if !ready("the second verifier on odd envelopes", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let (_, statement) = honest("scorecard");
    let good = String::from_utf8(signed(statement.as_bytes(), &person())).unwrap();
    let keyid = person().public().fingerprint().as_str().to_owned();
    for (from, to) in [
        ("{\"payload\"", " {\"payload\""),
        ("]}", "]}\n"),
        ("]}", ",{}]}"),
        ("\"signatures\"", "\"a\":1,\"signatures\""),
        ("vnd.in-toto+json", "vnd.in-toto"),
        ("\"keyid\":\"SHA256:", "\"keyid\":\"MD5:"),
        ("\"keyid\":\"SHA256:", "\"keyid\":\"SHA256:A"),
        (keyid.as_str(), &format!("{}B", &keyid[..keyid.len() - 1])),
        ("==\"}]}", "\"}]}"),
        ("\"sig\":\"", "\"sig\":\"AAAA"),
        ("\"payload\":\"", "\"payload\":\"AAAA"),
        ("\"payload\":\"", "\"payload\":\"\",\"x\":\""),
    ] {
        let mut forge = Forge::example();
        assert!(good.contains(from), "{from}");
        forge.raw(good.replacen(from, to, 1).as_bytes());
        bench.forged(&format!("{from} -> {to}"), &forge);
    }
    for entry in [&b""[..], b"{}", b"null", &[0xff; 10], &[b'['; 60_000]] {
        let mut forge = Forge::example();
        forge.raw(entry);
        bench.forged(&format!("{} bytes", entry.len()), &forge);
    }
    assert_eq!(bench.compare(|_, _| false), 17);
}
