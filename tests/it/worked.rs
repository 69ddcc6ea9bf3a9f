//! The small ledger that `docs/format.md` works through byte by byte: two questions, two rounds, their comparison and a
//! baseline, made with the keys of `keys.rs`.

use proofmark::calibrate::{Profile, Reading};
use proofmark::compare::{Comparison as Compared, Evidence as ComparedEvidence, Round};
use proofmark::gate;
use proofmark::ledger::{Draft, Ledger, LogSigner, Ratchet};
use proofmark::object::{Sha256, encode};
use proofmark::question::{Answers, QuestionSet, Scheme};
use proofmark::receipt::{
    Authorization, Baseline, Basis, Body, Comparison, Decision, Evidence, GateBody, Moment, ReasonCode, Receipt,
    ReceiptRef, Release, ScorecardBody, Signoff, Subject, Text, Waiver, Withdrawal,
};
use proofmark::score::Scorer;
use proofmark::scorecard::{DEFAULT_TOLERANCE, Judged, Scorecard, detect_regression, evaluate};
use proofmark::store::{Memory, put_slice};

use crate::keys;

/// The two questions: one in the short form, one in the long form with everything a record may say.
pub const QUESTIONS: &str = "\
{\"question\":\"What is the capital of France?\",\"expected\":\"Paris\",\"id\":\"q1\"}
{\"query\":{\"text\":\"Größe × 2?\",\"task\":\"sum\",\"fingerprint\":{\"seed\":7,\"a\":[1.0,true]},\"scope\":\"local\"},\
\"expected\":\"12\",\"id\":\"q2\",\"cluster\":\"sums\",\"must_pass\":true}
";

/// What the system replied in each round.
pub const ANSWERS: [&str; 2] = [
    "\
{\"id\":\"q1\",\"reply\":\"It is Paris.\",\"receipt\":{\"status\":\"answered\",\"degraded_mode\":null,\"spend\":{\"frontier_calls\":1}}}
{\"id\":\"q2\",\"reply\":\"12\",\"receipt\":{\"status\":\"answered\",\"degraded_mode\":null,\"spend\":{\"oracle_calls\":0.5}}}
",
    "\
{\"id\":\"q1\",\"reply\":\"It is Paris.\",\"receipt\":{\"status\":\"answered\"}}
{\"id\":\"q2\",\"reply\":null,\"receipt\":{\"status\":\"refused\",\"degraded_mode\":\"cache\"}}
",
];

pub const SCORER: &str = "substring/v2";

/// The question set.
pub fn set() -> QuestionSet {
    QuestionSet::parse("questions", QUESTIONS.as_bytes()).unwrap()
}

/// The whole ledger, and what its store holds.
pub struct Worked {
    pub ledger: Ledger,
    pub memory: Memory,
}

/// Receipt 0 trust, 1 and 2 scorecards, 3 their comparison, 4 the baseline.
pub fn ledger() -> Worked {
    let memory = Memory::new();
    let worked = Worked { ledger: keys::create(Box::new(memory.clone())).unwrap(), memory };
    let (first, second) = (worked.append(worked.scorecard(0)), worked.append(worked.scorecard(1)));
    worked.append(worked.comparison(first, second));
    let target = first;
    let subject = vec![worked.subject(first)];
    worked.append(draft(subject, Vec::new(), Body::Baseline(Baseline { line: "main".parse().unwrap(), target })));
    worked
}

fn draft(subject: Vec<Subject>, evidence: Vec<Evidence>, body: Body) -> Draft {
    Draft { subject, evidence, note: None, recorded_at: keys::moment(), tool: keys::tool(), body }
}

impl Worked {
    pub fn receipt(&self, index: u64) -> Receipt {
        self.ledger.snapshot().unwrap().receipt(index).unwrap()
    }

    pub fn receipts(&self) -> Vec<Receipt> {
        (0..self.ledger.snapshot().unwrap().size()).map(|index| self.receipt(index)).collect()
    }

    fn append(&self, draft: Draft) -> ReceiptRef {
        let (log, folder) = (keys::log(), tempfile::tempdir().unwrap());
        let signer = LogSigner::new(keys::ORIGIN, &log).unwrap();
        let ratchet = Ratchet::new(folder.path());
        let appended = self.ledger.append([Ok(draft)], &keys::person(), &signer, &ratchet).unwrap();
        ReceiptRef { index: appended[0].index, receipt: appended[0].receipt }
    }

    fn subject(&self, reference: ReceiptRef) -> Subject {
        Subject::of_receipt(self.receipt(reference.index).bytes()).unwrap()
    }

    fn hold(&self, role: &str, media_type: &str, bytes: &[u8]) -> Evidence {
        let digests = put_slice(&self.memory, bytes).unwrap();
        Evidence {
            role: role.parse().unwrap(),
            blake3: digests.blake3,
            sha256: digests.sha256,
            size: digests.size,
            media_type: media_type.to_owned(),
            held: true,
        }
    }

    fn scorecard(&self, round: usize) -> Draft {
        let evidence = vec![
            self.hold("questions", "application/jsonl", QUESTIONS.as_bytes()),
            self.hold("answers", "application/jsonl", ANSWERS[round].as_bytes()),
        ];
        let body = ScorecardBody {
            line: "main".parse().unwrap(),
            basis: Basis::Recomputed,
            card: card(round),
            scorer: SCORER.parse().unwrap(),
            sealed: false,
            unknown: Vec::new(),
        };
        let subject = Subject::new("assistant".parse().unwrap(), Sha256::of(format!("assistant {round}").as_bytes()));
        let mut draft = draft(vec![subject], evidence, Body::Scorecard(body));
        draft.note = (round == 0).then(|| "first round".parse().unwrap());
        draft
    }

    /// Appends a gate run, which `docs/format.md` does not work through.
    pub fn append_gate(&self) -> ReceiptRef {
        let predictions = include_str!("../../fixtures/gate/blocked.jsonl");
        let profile = Profile::built_in("bristol/v1").unwrap();
        let read = Reading::new(&profile).read("blocked.jsonl", predictions.as_bytes()).unwrap();
        let report = gate::evaluate(&read.finish().unwrap(), None).unwrap();
        let evidence = vec![
            self.hold("predictions", "application/jsonl", predictions.as_bytes()),
            self.hold("profile", "application/json", profile.canonical()),
            self.hold("report", "application/json", &report.encode().unwrap()),
        ];
        let subject = Subject::new("model".parse().unwrap(), Sha256::of(b"model"));
        self.append(draft(vec![subject], evidence, Body::Gate(GateBody::of(&report))))
    }

    /// One receipt of each kind that a person decides with, about a gate receipt.
    pub fn append_decisions(&self, gate: ReceiptRef) {
        let (reason, expires) =
            ("Known, and watched".parse::<Text>().unwrap(), Moment::from_unix(1_800_000_000).unwrap());
        let check: ReasonCode = "comparison-regressed".parse().unwrap();
        let waiver = Waiver { target: gate, check, reason: reason.clone(), expires };
        let waiver = self.append(draft(vec![self.subject(gate)], Vec::new(), Body::Waiver(waiver)));
        let (decision, rests_on) = (Decision::Go, vec![waiver]);
        let signoff = Signoff { target: gate, decision, reason: reason.clone(), expires: Some(expires), rests_on };
        let signoff = self.append(draft(vec![self.subject(gate)], Vec::new(), Body::Signoff(signoff)));
        let withdrawal = Withdrawal { target: signoff, reason };
        self.append(draft(vec![self.subject(signoff)], Vec::new(), Body::Withdrawal(withdrawal)));
        let snapshot = self.ledger.snapshot().unwrap();
        let authorization = Authorization {
            target: gate,
            decision: Release::Blocked,
            at: Moment::from_unix(1_790_000_000).unwrap(),
            size: snapshot.size(),
            root: snapshot.checkpoint().root(),
            reasons: vec!["gate-blocked".parse().unwrap(), "signoff-missing".parse().unwrap()],
            rests_on: vec![waiver],
        };
        self.append(draft(vec![self.subject(gate)], Vec::new(), Body::Authorization(authorization)));
    }

    fn comparison(&self, base: ReceiptRef, current: ReceiptRef) -> Draft {
        let round = |name: &str, place: usize, reference: ReceiptRef| Round {
            name: name.to_owned(),
            receipt: Some(reference.receipt.to_string()),
            scorer: Some(SCORER.to_owned()),
            scorecard: card(place),
        };
        let (old, new) = (round("main~1", 0, base), round("main", 1, current));
        let document = Compared::of(old, new, DEFAULT_TOLERANCE, ComparedEvidence::NONE).unwrap();
        let evidence = vec![self.hold("report", "application/json", &encode(&document).unwrap())];
        let body = Comparison {
            base,
            current,
            tolerance: DEFAULT_TOLERANCE.as_f64(),
            report: detect_regression(&card(0), &card(1), DEFAULT_TOLERANCE),
            allow_unknown: Vec::new(),
        };
        draft(vec![self.subject(base), self.subject(current)], evidence, Body::Comparison(body))
    }
}

/// The card of a round, recomputed from its answers.
pub fn card(round: usize) -> Scorecard {
    let (questions, scorer) = (set(), Scorer::parse(SCORER).unwrap());
    let answers = Answers::parse("answers", ANSWERS[round].as_bytes()).unwrap().join(&questions).unwrap();
    let correct = scorer.judge_all(&questions, answers.iter().map(|answer| answer.reply())).unwrap();
    let judged = answers.iter().zip(correct).map(|(answer, correct)| Judged {
        correct,
        grounded: answer.receipt().grounded(),
        cost: answer.receipt().spend().cost(),
    });
    let id = questions.id(Scheme::Pm1, scorer.identity()).unwrap();
    evaluate(judged).bind(id.as_str()).unwrap()
}
