//! One test binary for everything that crosses a module.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod ci_kits;
mod cli;
mod conformance_ed25519;
mod conformance_identity;
mod conformance_jcs;
mod conformance_merkle;
mod conformance_regression;
mod conformance_scorecard;
mod contract;
mod crash;
mod docs;
mod dossier;
mod evaluate;
mod example;
mod fault;
mod forge;
mod forger;
mod gate;
mod index;
mod interop;
mod interop_gate;
mod keys;
mod hostile;
mod hostile_shapes;
mod ledger;
mod manual;
mod property_formats;
mod property_import;
mod property_merkle;
mod python;
mod rounds;
mod schema;
mod statistics;
mod tamper;
mod tidy;
mod trust;
mod tutorial;
mod verify;
mod worked;
mod writers;
