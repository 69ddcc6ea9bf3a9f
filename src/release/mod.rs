//! What persons' decisions add up to: the fold of sign-offs, withdrawals and waivers over the log, what the rules say
//! against one of them, and the release decision that follows from the log.
//!
//! Pure: receipts, trust statements and moments are arguments. The audit (`verify`) holds decisions in a log against
//! these rules, and `authorize` adds to the judgement what only the ledger's files can say. Whatever cannot be known
//! blocks. `docs/format.md`, section 18, is normative.

mod closure;
mod code;
mod content;
mod fold;
mod judge;
mod objection;
mod reading;
mod standing;

pub use closure::Gap;
pub use code::{Code, Reason, Rule, WAIVABLE, waivable_on};
pub use content::judge_content;
pub use fold::{Decisions, GateNote, Noted, Said, Signer, SignoffNote, WaiverNote};
pub use judge::{Judgement, Waived, judge};
pub use objection::{Objection, ObjectionCode, may_be};
pub use reading::Reading;
pub use standing::{Doubt, Standing, Voice};

#[cfg(test)]
mod tests;
