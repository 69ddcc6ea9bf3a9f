//! The command line as people meet it: stdout, stderr and exit code together.

pub mod sandbox;

mod append;
mod cat;
mod compare;
mod completion;
mod init;
mod key;
mod keyring;
mod lm_eval;
mod log;
mod questions;
mod reindex;
mod show;
mod verify;
