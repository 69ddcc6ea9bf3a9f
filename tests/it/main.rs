//! One test binary for everything that crosses a module.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod cli;
mod conformance_ed25519;
mod conformance_identity;
mod conformance_merkle;
mod conformance_regression;
mod conformance_scorecard;
mod contract;
mod docs;
mod fault;
mod forge;
mod gate;
mod interop;
mod interop_gate;
mod keys;
mod ledger;
mod property_merkle;
mod schema;
mod statistics;
mod tamper;
mod tidy;
mod verify;
mod worked;
