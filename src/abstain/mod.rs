//! When to stay silent: a policy object, and replies held against it.
//!
//! Every limit and every word that is shown lives in the policy: the confidence floor, which quality levels are good
//! enough and which are poor, and the copy for each reason. `docs/gate.md` has the rules in their order.

mod lint;
mod policy;
mod reply;

pub use lint::lint_policy;
pub use policy::{BUILT_IN, Policy, PolicyError, PolicyTerms};
pub use reply::{Decision, Reason, Summary, decide, decide_all};
