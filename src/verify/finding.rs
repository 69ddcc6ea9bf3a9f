//! What an audit says: findings and notices, each with a code that never changes its meaning (`docs/findings.md`).

use std::fmt;

use serde::{Serialize, Serializer};

use crate::object::ReceiptId;

/// What is looked at, each apart from the others and never folded into one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Axis {
    /// The files are those of a ledger, and what they hold has the form that it must have.
    Structure,
    /// The checkpoint is the log key's, and everything in the log adds up to its root.
    Log,
    /// Every receipt is signed by the key that it names.
    Signatures,
    /// That key might do so under the trust in force at the receipt's index.
    TrustThen,
    /// It is not compromised under the trust in force at the end of the log.
    TrustNow,
    /// What receipts say is held is there, with the digests that they state.
    Evidence,
    /// The numbers follow from the evidence.
    Replay,
    /// The rules that the ledger set for itself were kept.
    Policy,
    /// No round is missing.
    Completeness,
    /// Receipt 0 is the one that the auditor pinned.
    Pin,
}

impl Axis {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Self; 10] = [
        Self::Structure,
        Self::Log,
        Self::Signatures,
        Self::TrustThen,
        Self::TrustNow,
        Self::Evidence,
        Self::Replay,
        Self::Policy,
        Self::Completeness,
        Self::Pin,
    ];

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Log => "log",
            Self::Signatures => "signatures",
            Self::TrustThen => "trust at the time",
            Self::TrustNow => "trust now",
            Self::Evidence => "evidence",
            Self::Replay => "replay",
            Self::Policy => "policy",
            Self::Completeness => "completeness",
            Self::Pin => "pin",
        }
    }
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident: $($(#[$about:meta])* $variant:ident $text:literal $($axis:ident $next:literal)?;)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code as it is written, which never changes.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        codes!(@next $name $($variant $($axis $next)?;)*);
    };
    (@next $name:ident $($variant:ident $axis:ident $next:literal;)*) => {
        impl $name {
            /// The axis that it is a finding of.
            pub fn axis(self) -> Axis {
                match self {
                    $(Self::$variant => Axis::$axis,)*
                }
            }

            /// What to do next.
            pub fn next_step(self) -> &'static str {
                match self {
                    $(Self::$variant => $next,)*
                }
            }
        }
    };
    (@next $name:ident $($variant:ident;)*) => {};
}

codes! {
    /// The code of a finding. A code is never given another meaning; `docs/findings.md` has a chapter for each.
    Code:
    /// A symbolic link, FIFO, socket or device inside the ledger.
    NotPlain "not-plain" Structure "put the plain file back from a copy of the ledger";
    /// `config.toml` cannot be read.
    ConfigDamaged "config-damaged" Structure "mend config.toml; it decides nothing but the format";
    /// No published checkpoint.
    CheckpointMissing "checkpoint-missing" Structure "restore the file `checkpoint` from a copy of the ledger; if a commit was interrupted, the next append finishes it";
    /// A checkpoint that is not a C2SP checkpoint.
    CheckpointMalformed "checkpoint-malformed" Structure "restore the file `checkpoint` from a copy of the ledger";
    /// Receipts that the checkpoint counts are in no bundle.
    BundleMissing "bundle-missing" Structure "restore the bundle from a copy of the ledger; without it these receipts cannot be shown";
    /// A bundle that does not hold as many whole entries as it must.
    BundleDamaged "bundle-damaged" Structure "restore the bundle from a copy of the ledger";
    /// An older version of a bundle that is not the beginning of the newer one.
    BundleDiffers "bundle-differs" Structure "keep both versions: one of them was changed after it was written";
    /// A tile that the tree has and the ledger has not.
    TileMissing "tile-missing" Structure "restore the tile from a copy; it can be made again from the entry bundles";
    /// A tile whose bytes are not those that follow from the entries.
    TileDiffers "tile-differs" Structure "compare tile and entry bundle with a copy of the ledger; if the root differs too, entries were changed";
    /// A tile or bundle that reaches beyond the checkpoint's size.
    BeyondCheckpoint "beyond-checkpoint" Structure "ask for the newest checkpoint: the log was longer than this one says";
    /// An entry that is not a receipt in its one canonical form.
    ReceiptMalformed "receipt-malformed" Structure "compare the bundle with a copy; if the root agrees, ask who appended it, or use a newer proofmark";
    /// A receipt that says it stands elsewhere in the log: a copy, or one that was moved.
    ReceiptMisplaced "receipt-misplaced" Structure "ask who holds the log key: the signed receipt belongs to the index that it states, and counts nowhere else";
    /// A dossier without a receipt that its subject rests on, or about another receipt than it says.
    DossierIncomplete "dossier-incomplete" Structure "ask for a dossier that was made by `proofmark dossier` and not taken apart";
    /// A dossier with a receipt or an object that its subject does not rest on.
    DossierSurplus "dossier-surplus" Structure "ask who put it there: it proves nothing about the receipt that the dossier is about";
    /// A receipt that names another one which is not there, or not earlier.
    ReferenceBroken "reference-broken" Structure "look at both receipts with `proofmark show`; what rests on this reference is not proven";
    /// A receipt whose subject is not the receipts that it names.
    ReferenceSubject "reference-subject" Structure "look at the receipts with `proofmark show`: its subject and its references say different things";
    /// A receipt that names another one of a kind or line that it cannot mean.
    ReferenceKind "reference-kind" Structure "look at both receipts with `proofmark show`; what rests on this reference is not proven";

    /// The checkpoint is not signed by the log key of receipt 0.
    CheckpointSignature "checkpoint-signature" Log "believe nothing that is not proven otherwise; get the checkpoint from a copy of the ledger";
    /// The checkpoint is one of another log.
    CheckpointOrigin "checkpoint-origin" Log "get this log's checkpoint from a copy of the ledger";
    /// The entries do not add up to the signed root.
    RootDiffers "root-differs" Log "compare the entry bundles with a copy of the ledger: receipts were changed, dropped, added or moved";
    /// A receipt that is not proven to be in the log.
    InclusionFails "inclusion-fails" Log "verify the whole ledger to see which files are damaged";
    /// The lock holds a checkpoint that contradicts the published one.
    LockContradicts "lock-contradicts" Log "keep both checkpoints: if both are signed, the log was forked";
    /// The lock holds a newer checkpoint whose receipts are not there.
    RolledBack "rolled-back" Log "find the newer receipts: the ledger was put back to an older state";

    /// A signature that does not verify.
    SignatureBad "signature-bad" Signatures "believe nothing in this receipt";
    /// A signature by a key that no trust statement lists, so it cannot be checked.
    SignatureKeyUnknown "signature-key-unknown" Signatures "ask whose key this is; believe nothing in this receipt";

    /// Receipt 0 is not a trust statement that can be used.
    GenesisUnusable "genesis-unusable" TrustThen "get receipt 0 from a copy of the ledger and compare its id with the pinned digest";
    /// Receipt 0 is signed by a key that is no root of the statement in it.
    GenesisNotRoot "genesis-not-root" TrustThen "ask who made this ledger; pin nothing before that is known";
    /// A receipt by a key that might not append then.
    KeyNotAllowed "key-not-allowed" TrustThen "ask how it came into the log, and believe nothing in this receipt";
    /// A receipt that names another trust receipt than the one in force.
    TrustReference "trust-reference" TrustThen "ask the appender which trust statement was meant";
    /// A trust statement whose version is not the next one.
    TrustVersion "trust-version" TrustThen "ask the roots: it was skipped ahead or replayed, and was not used";
    /// A trust statement that names another log or log key.
    TrustLogChanged "trust-log-changed" TrustThen "ask the roots: it was not used";
    /// A trust statement that leaves out a person.
    TrustPersonDropped "trust-person-dropped" TrustThen "ask the roots for a statement that lists the person; it was not used";
    /// A trust statement that leaves out a key.
    TrustKeyDropped "trust-key-dropped" TrustThen "ask the roots for a statement that lists the key; it was not used";
    /// A trust statement that gives a key to another person.
    TrustKeyMoved "trust-key-moved" TrustThen "ask the roots whose key it is; the statement was not used";
    /// A trust statement that makes a key better than it was.
    TrustStanding "trust-standing" TrustThen "ask the roots: a retired or compromised key never comes back; the statement was not used";
    /// A sign-off that cannot count for the trust receipt that it is on.
    TrustSignoffVoid "trust-signoff-void" TrustThen "ask its signer what was meant; it was not counted";
    /// A withdrawal of a trust receipt or of a sign-off on one.
    TrustWithdrawn "trust-withdrawn" TrustThen "ask its signer what was meant; the chain of trust goes on as it was";
    /// The log cannot be read, so the trust in force is not known.
    TrustUnreadable "trust-unreadable" TrustThen "run `proofmark verify` for the whole ledger to see which files are damaged";

    /// A receipt by a key that is known to be in wrong hands.
    KeyCompromised "key-compromised" TrustNow "have the claim appended again under a good key, if it still holds";

    /// Evidence that is said to be held is not there.
    EvidenceMissing "evidence-missing" Evidence "restore the object from a copy of the ledger or from whoever made it";
    /// Evidence with other bytes than its digest or size says.
    EvidenceDamaged "evidence-damaged" Evidence "restore the object from a copy; `b3sum` of the right bytes prints its name";
    /// A SHA-256 that is not that of the evidence.
    EvidenceSha256 "evidence-sha256" Evidence "believe nothing that rests on the SHA-256 in this receipt";
    /// Two receipts that say different things of the same object.
    EvidenceContradiction "evidence-contradiction" Evidence "compare with `b3sum`, `sha256sum` and `wc -c` of the object which receipt is right";

    /// A card said to be recomputed without the evidence that it would follow from.
    ReplayIncomplete "replay-incomplete" Replay "treat the card as asserted, and ask the appender for the evidence";
    /// Evidence that is not what its role says.
    ReplayUnreadable "replay-unreadable" Replay "treat the card as not derivable, and ask the appender for the evidence";
    /// A card said to be recomputed with a scorer that is not known.
    ReplayScorer "replay-scorer" Replay "use a newer proofmark if the scorer is a newer one, else treat the card as asserted";
    /// A round of another tool that does not follow from that tool's files.
    ImportDiffers "import-differs" Replay "believe the originals, not what was derived from them; import them again";
    /// A question set identity that does not follow from the questions.
    IdentityDiffers "identity-differs" Replay "do not compare this round with any other: it is not about the questions that it names";
    /// A card that does not follow from the evidence.
    CardDiffers "card-differs" Replay "use the recomputed numbers, and ask who signed the others";
    /// The file of the judge is not the one in the scorer's identity.
    JudgeDiffers "judge-differs" Replay "ask for the judge's file; what judged is not what is named";
    /// A comparison that does not follow from the two cards.
    ComparisonDiffers "comparison-differs" Replay "run `proofmark compare` on the two rounds and use its answer";
    /// The full report of a comparison contradicts its receipt.
    ReportDiffers "report-differs" Replay "run `proofmark compare --json` on the two rounds and use its answer";
    /// A gate run whose evidence gives no report.
    GateUnreadable "gate-unreadable" Replay "count the verdict as BLOCKED, and ask the appender for predictions and profile";
    /// A gate run that does not follow from its predictions.
    GateDiffers "gate-differs" Replay "use the recomputed verdict, and ask who signed the other";
    /// The report of a gate run is not the one that follows from its predictions.
    GateReportDiffers "gate-report-differs" Replay "run `proofmark gate` on the predictions and use its report";

    /// A recorded AUTHORIZED whose evidence does not carry it.
    AuthorizationUnproven "authorization-unproven" Replay "restore what is missing, or count the release as BLOCKED";

    /// An asserted card in a ledger that counts only recomputed ones.
    AssertedCard "asserted-card" Policy "append the round again from its evidence";

    /// A round on questions that are known by names only, in a ledger that asks for their text.
    NamesOnly "names-only" Policy "import the round again from files that hold the text of the questions";

    /// A question set that was looked at more often than the ledger allows.
    LooksExceeded "looks-exceeded" Policy "measure on a fresh question set; a release on this round needs a waiver";
    /// A decision about a receipt of a kind that it cannot be about.
    DecisionTarget "decision-target" Policy "ask its signer what was meant; it counts for nothing";
    /// A sign-off whose list of what it rests on is not complete.
    SignoffIncomplete "signoff-incomplete" Policy "have it signed again with `proofmark signoff`, which lists everything; a GO like this does not count";
    /// A GO or a waiver that rests on a receipt that was withdrawn before.
    RestsOnWithdrawn "rests-on-withdrawn" Policy "have a decision signed that rests on nothing withdrawn; this one does not count";
    /// A GO on a gate run whose verdict is BLOCKED.
    SignoffBlocked "signoff-blocked" Policy "gate a model that passes: a verdict cannot be signed away";
    /// A GO that had expired when it was made.
    SignoffExpired "signoff-expired" Policy "have it signed again; this one never counted";
    /// A GO that rests on an asserted card in a ledger that counts only recomputed ones.
    RestsOnAsserted "rests-on-asserted" Policy "append the round again from its evidence, or have the check waived, and sign again";
    /// A GO that rests on a round on questions that are known by names only, in a ledger that asks for their text.
    RestsOnNames "rests-on-names" Policy "have a GO signed that rests on rounds whose questions are known by their text; this one does not count";
    /// A waiver of a check that cannot be waived.
    WaiverCheck "waiver-check" Policy "ask its signer what was meant; it counts for nothing";
    /// A waiver that had expired when it was made.
    WaiverExpired "waiver-expired" Policy "have it signed again; this one never counted";
    /// A waiver by the person who appended what it is about.
    WaiverOwn "waiver-own" Policy "have somebody else waive the check; this waiver does not count";
    /// A withdrawal of a NO-GO by somebody else than the person who said it.
    WithdrawalOfNoGo "withdrawal-of-no-go" Policy "ask the person who said NO-GO; it stands";
    /// A recorded release decision that is not about the whole log before it.
    AuthorizationSize "authorization-size" Policy "run `proofmark authorize` and believe its answer";
    /// A recorded release decision that states another root than the log had.
    AuthorizationRoot "authorization-root" Policy "run `proofmark authorize` and believe its answer";
    /// A recorded release decision at a moment before that of a receipt that it judged, or before its own.
    AuthorizationBackdated "authorization-backdated" Policy "run `proofmark authorize` and believe its answer";
    /// A recorded release decision that does not follow from the log before it.
    AuthorizationDiffers "authorization-differs" Policy "run `proofmark authorize` and believe its answer; ask who recorded the other";

    /// Receipt 0 is not the pinned one.
    PinDiffers "pin-differs" Pin "this is another ledger, or one whose trust was replaced: get the pinned one";
}

codes! {
    /// The code of a notice: nothing is wrong, and the reader should know.
    NoticeCode:
    /// A file that no part of a ledger is, and that decides nothing.
    UnexpectedFile "unexpected-file";
    /// No `config.toml`; the defaults hold.
    ConfigAbsent "config-absent";
    /// A commit that a writer has begun and not yet published.
    CommitPending "commit-pending";
    /// An object that no receipt names.
    ObjectUnnamed "object-unnamed";
    /// A later trust statement, which is not in force until it is signed off.
    TrustNotInForce "trust-not-in-force";
    /// A trust statement or a sign-off on one by a key that is compromised now.
    TrustKeyCompromised "trust-key-compromised";
    /// Judgements of a user's own judge were counted; the judge was not run again.
    JudgeNotRerun "judge-not-rerun";
    /// A bridge from a round that a dossier does not carry.
    BridgeNotReplayed "bridge-not-replayed";
    /// Questions are withheld; their identity was recomputed from the leaves.
    QuestionsWithheld "questions-withheld";
    /// Evidence that was left out of a dossier on purpose.
    EvidenceWithheld "evidence-withheld";
    /// A dossier that is not complete: decisions and trust statements could have been left out.
    DecisionsUnknown "decisions-unknown";
    /// A receipt that was looked at was withdrawn later.
    ReceiptWithdrawn "receipt-withdrawn";
    /// One receipt was looked at, not the whole ledger.
    OneReceipt "one-receipt";
    /// The ledger kept changing while it was read.
    ChangedWhileRead "changed-while-read";
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What kind of thing.
    pub code: Code,
    /// The axis that it makes fail.
    pub axis: Axis,
    /// The receipt's index, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The receipt's id, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptId>,
    /// The file inside the ledger, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What should be.
    pub expected: String,
    /// What is.
    pub found: String,
    /// What to do next.
    pub next: &'static str,
}

impl Finding {
    /// A finding about the ledger as a whole.
    pub(super) fn new(code: Code, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self {
            code,
            axis: code.axis(),
            index: None,
            receipt: None,
            file: None,
            expected: shortened(expected),
            found: shortened(found),
            next: code.next_step(),
        }
    }

    /// The same about one receipt.
    pub(super) fn at(self, index: u64, receipt: Option<ReceiptId>) -> Self {
        Self { index: Some(index), receipt, ..self }
    }

    /// The same about one file.
    pub(super) fn in_file(self, file: impl fmt::Display) -> Self {
        Self { file: Some(file.to_string()), ..self }
    }
}

/// Something that the reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// What kind of thing.
    pub code: NoticeCode,
    /// The receipt's index, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The file inside the ledger, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The same in words.
    pub text: String,
}

/// The most characters of a value that a finding repeats.
const SHOWN: usize = 400;

fn shortened(text: impl fmt::Display) -> String {
    let text = text.to_string();
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

/// An error and everything below it, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        let cause_text = cause.to_string();
        // Transparent errors repeat what stands above them.
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        below = cause.source();
    }
    text
}
