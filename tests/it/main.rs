//! One test binary for everything that crosses a module.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod conformance_merkle;
mod contract;
mod fault;
mod keys;
mod ledger;
mod property_merkle;
mod agent;
mod conformance_ed25519;
mod conformance_identity;
mod tidy;

mod conformance_regression;
mod conformance_scorecard;
mod statistics;
