//! The command line as people meet it: stdout, stderr and exit code together.

pub mod sandbox;

mod append;
mod compare;
mod completion;
mod init;
mod key;
mod keyring;
mod lm_eval;
mod questions;
mod verify;
