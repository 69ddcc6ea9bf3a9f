//! The reasons against a release: their codes, which never change their meaning, and which of them may be waived.

use std::fmt;

use serde::Serialize;

use crate::object::ReceiptId;
use crate::receipt::{Kind, ReceiptRef};

macro_rules! codes {
    ($($(#[$about:meta])* $variant:ident $text:literal $source:ident;)*) => {
        /// Why a release is blocked. `docs/findings.md` has a chapter for each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$about])* $variant,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code as it is written, which never changes.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Whether it follows from the log alone, so that a verifier must find it again.
            pub fn follows_from_log(self) -> bool {
                match self {
                    $(Self::$variant => codes!(@$source),)*
                }
            }
        }
    };
    (@log) => { true };
    (@files) => { false };
}

codes! {
    /// There is no gate report to judge.
    NoReport "no-report" files;
    /// A report that no receipt holds.
    BareReport "bare-report" files;
    /// The gate's verdict is BLOCKED.
    GateBlocked "gate-blocked" log;
    /// The report does not list its recommended candidate as one that passed.
    CandidateNotPassed "candidate-not-passed" files;
    /// The candidate's threshold was not selected on validation records.
    ThresholdNotSelected "threshold-not-selected" files;
    /// The candidate was not scored on held-out test records.
    NotScoredOnTest "not-scored-on-test" files;
    /// The receipt was withdrawn.
    Withdrawn "withdrawn" log;
    /// A person's NO-GO stands.
    NoGo "no-go" log;
    /// Fewer persons' GOs count than the trust asks for.
    SignoffMissing "signoff-missing" log;
    /// Nobody but those who appended the verdict says GO.
    OnlyAppender "only-appender" log;
    /// A receipt that the decision rests on is signed by a key in wrong hands.
    SignerCompromised "signer-compromised" log;
    /// A comparison that the decision rests on says that the round regressed.
    ComparisonRegressed "comparison-regressed" log;
    /// A comparison that the decision rests on compares what cannot be compared.
    ComparisonIncomparable "comparison-incomparable" log;
    /// A comparison that the decision rests on was told to let a loss pass, or something that nobody knows.
    ComparisonLenient "comparison-lenient" log;
    /// A question that must pass fails in a comparison that the decision rests on.
    MustPassFailing "must-pass-failing" files;
    /// Nobody can tell from the ledger which questions of a comparison, or of a round in none, must pass.
    MustPassUnknown "must-pass-unknown" log;
    /// A card that the decision rests on was handed in, and the ledger counts only recomputed ones.
    AssertedCard "asserted-card" log;
    /// A round that the decision rests on is on questions that are known by names only, and the ledger asks for their text.
    NamesOnly "names-only" log;
    /// A question set was looked at more often than the ledger allows.
    LooksExceeded "looks-exceeded" log;
    /// The held-out records of a gate were looked at more often than the ledger allows.
    GateLooksExceeded "gate-looks-exceeded" files;
    /// A waiver about something that the decision rests on broke a rule when it was made.
    WaiverFaulty "waiver-faulty" log;
    /// Something that the decision rests on cannot be derived again.
    NotReplayed "not-replayed" files;
    /// Structure, log, signatures or trust of the ledger are not sound.
    LedgerUnsound "ledger-unsound" files;
    /// A writer has begun a commit that is not published yet.
    CommitPending "commit-pending" files;
    /// The ledger kept changing while it was read.
    LedgerChanging "ledger-changing" files;
    /// The log is smaller than was asked for.
    TooOld "too-old" files;
    /// The log does not extend the checkpoint that was given.
    NotAnExtension "not-an-extension" files;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The checks that can be waived: never signatures, integrity, replay, a gate's verdict, sign-offs, withdrawals, expiry.
pub const WAIVABLE: &[Code] = &[
    Code::ComparisonRegressed,
    Code::ComparisonIncomparable,
    Code::ComparisonLenient,
    Code::MustPassUnknown,
    Code::AssertedCard,
    Code::LooksExceeded,
];

/// The checks that can be waived on a receipt of this kind.
pub fn waivable_on(kind: Kind) -> &'static [Code] {
    match kind {
        Kind::Comparison => {
            &[Code::ComparisonRegressed, Code::ComparisonIncomparable, Code::ComparisonLenient, Code::MustPassUnknown]
        }
        Kind::Scorecard => &[Code::MustPassUnknown, Code::AssertedCard, Code::LooksExceeded],
        _ => &[],
    }
}

/// The rule that a reason follows from, in words.
pub type Rule = &'static str;

/// One reason against a release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// A [`Code`], or the code of a finding of the audit.
    pub code: &'static str,
    /// The receipt's index, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The receipt's id, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptId>,
    /// Who it is about, where that is a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// What is so.
    pub found: String,
    /// The rule that it breaks.
    pub rule: String,
    /// What would satisfy the rule.
    pub remedy: String,
}

impl Reason {
    /// A reason about the ledger as a whole.
    pub fn new(code: Code, found: impl Into<String>, rule: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (found, rule, remedy) = (found.into(), rule.into(), remedy.into());
        Self { code: code.as_str(), index: None, receipt: None, who: None, found, rule, remedy }
    }

    /// The same about a receipt.
    pub fn at(self, receipt: ReceiptRef) -> Self {
        Self { index: Some(receipt.index), receipt: Some(receipt.receipt), ..self }
    }

    /// The same about a person.
    pub fn by(self, who: impl Into<String>) -> Self {
        Self { who: Some(who.into()), ..self }
    }
}
