//! The command line as people meet it: stdout, stderr and exit code together.

pub mod sandbox;

mod abstain;
mod append;
mod authorize;
mod bridge;
mod cat;
mod compare;
mod completeness;
mod completion;
mod dossier;
pub mod endpoint;
mod evaluate;
mod evaluate_faults;
mod evaluate_resume;
mod gate;
mod init;
mod key;
mod keyring;
mod lm_eval;
mod log;
pub mod office;
mod policy;
mod profile;
mod prove;
mod questions;
mod reindex;
mod reveal;
mod show;
mod signing;
mod signoff;
mod status;
mod trust;
mod verify;
mod waive;
mod whoami;
mod withdraw;
