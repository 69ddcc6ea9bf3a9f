//! scratch
use proofmark::ledger::*;
use proofmark::object::Sha256;
use proofmark::receipt::*;
use proofmark::scorecard::Scorecard;
use proofmark::store::*;
use proofmark::trust::SecretKey;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let (person, log) = (SecretKey::generate([1; 32]), SecretKey::generate([2; 32]));
    let signer = LogSigner::new("proofmark.test/log", &log).unwrap();
    let moment = Moment::parse("2026-11-30T12:00:00Z").unwrap();
    let tool = Tool { name: "proofmark".into(), version: "0.1.0".into() };
    let ledger = match Ledger::open(Box::new(Directory::new(&dir))) {
        Ok(l) => l,
        Err(_) => Ledger::create(
            Box::new(Directory::new(&dir)),
            &Genesis { person: "tester", signer: &person, log: &signer, recorded_at: moment, tool: tool.clone() },
        )
        .unwrap(),
    };
    let start = ledger.snapshot().unwrap().size();
    let ev = |role: &str, i: u64| {
        let b = format!("{role}{i}");
        let d = digest_slice(b.as_bytes());
        Evidence {
            role: role.parse().unwrap(),
            blake3: d.blake3,
            sha256: d.sha256,
            size: d.size,
            media_type: "application/jsonl".into(),
            held: true,
        }
    };
    let drafts = (0..n as u64).map(|i| {
        let i = i + start;
        Ok(Draft {
            subject: vec![Subject::new("system".parse().unwrap(), Sha256::of(b"system"))],
            evidence: vec![ev("questions", 1), ev("answers", i)],
            note: Some("nightly run".parse().unwrap()),
            recorded_at: moment,
            tool: tool.clone(),
            body: Body::Scorecard(ScorecardBody {
                line: (if i % 3 == 0 { "main" } else { "nightly" }).parse().unwrap(),
                basis: Basis::Recomputed,
                card: Scorecard::new(i as f64 / 1e7, 1.25, 0.5, 10, format!("pm1:{}", "a".repeat(64))).unwrap(),
                scorer: "substring/v2".parse().unwrap(),
                sealed: false,
            }),
        })
    });
    let r = Ratchet::new(format!("{dir}.seen"));
    let out = ledger.append(drafts, &person, &signer, &r).unwrap();
    println!("{}", out.len());
}
