//! proofmark: a git-style ledger of evaluation receipts.
//!
//! Every evaluation of a model or system becomes an immutable, signed receipt bound to the exact question set, scorer
//! version and evidence behind it. `docs/architecture.md` is the ten-minute tour; `docs/format.md` is normative.
//!
//! Modules are listed bottom floor first, and **a module uses only modules listed above it** (`tests/it/tidy.rs`).

// Floor 0: bytes.
pub mod object;

// Floor 1: hands and shelves.
pub mod trust;
pub mod store;

// Floor 2: records.
pub mod merkle;
pub mod question;

// Floor 3: judgements, pure.
pub mod stats;
pub mod score;
pub mod scorecard;
pub mod compare;
pub mod calibrate;
pub mod abstain;
pub mod gate;

// What is signed states judgements, so it stands on them.
pub mod receipt;

// Floor 4: ledger, and what other tools measured.
pub mod import;
pub mod ledger;
pub mod evaluate;
pub mod index;
pub mod release;
pub mod dossier;
pub mod verify;
pub mod authorize;
