//! Random ledgers.
