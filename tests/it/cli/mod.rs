//! The command line as people meet it: stdout, stderr and exit code together.

pub mod sandbox;

mod completion;
mod append;
mod compare;
mod lm_eval;
mod questions;
mod init;
mod key;
mod keyring;
