//! `dossier.json`: what a dossier is about, and what was left out of it.

use serde::{Deserialize, Serialize};

use super::DossierError;
use crate::object::{encode, parse_canonical};
use crate::receipt::{ReceiptRef, Role};

/// The schema that a manifest names.
const SCHEMA: &str = "dossier.v1";

/// What a dossier says of itself. Nobody signed it: what it says is held against the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    schema: String,
    /// The receipt that it is about.
    pub subject: ReceiptRef,
    /// Whether all receipts up to the checkpoint are in it, so that the list of rounds is whole.
    pub complete: bool,
    /// The roles whose evidence was left out, sorted, each once.
    pub redacted: Vec<Role>,
}

impl Manifest {
    pub(super) fn new(subject: ReceiptRef, complete: bool, redacted: &[Role]) -> Self {
        let mut redacted = redacted.to_vec();
        redacted.sort();
        redacted.dedup();
        Self { schema: SCHEMA.to_owned(), subject, complete, redacted }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, DossierError> {
        encode(self).map_err(DossierError::Manifest)
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, DossierError> {
        let manifest: Self = parse_canonical(bytes).map_err(DossierError::Manifest)?;
        if manifest.schema != SCHEMA {
            return Err(DossierError::Schema { found: manifest.schema.chars().take(80).collect() });
        }
        if manifest.redacted.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(DossierError::Roles);
        }
        Ok(manifest)
    }
}
