//! Where single entries are looked up, not yet proven: the bundles of a ledger, or a dossier.

use super::survey::{Content, content};
use super::{MAX_BUNDLE_BYTES, VerifyError, WIDTH};
use crate::dossier::Dossier;
use crate::ledger::read_bundle;
use crate::merkle::{Bundle, TileName};
use crate::receipt::Receipt;
use crate::store::Store;

/// Entries by their index.
pub(super) trait Entries: Sync {
    /// The bytes of an entry; `None` where they cannot be had. Only a failure of this machine is an error.
    fn entry(&self, index: u64) -> Result<Option<Vec<u8>>, VerifyError>;

    /// Whether what is not here is not in the log either.
    fn has_all(&self) -> bool;

    /// The receipt in it, if it is one.
    fn receipt(&self, index: u64) -> Result<Option<Receipt>, VerifyError> {
        Ok(self.entry(index)?.and_then(|entry| Receipt::parse(&entry).ok()))
    }
}

/// The entry bundles of a log of this size.
pub(super) struct Bundles<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) size: u64,
}

impl Entries for Bundles<'_> {
    fn entry(&self, index: u64) -> Result<Option<Vec<u8>>, VerifyError> {
        let (place, within) = (index / WIDTH, (index % WIDTH) as usize);
        let Some(bundle) = TileName::in_tree(0, place, self.size).and_then(TileName::bundle) else { return Ok(None) };
        let bytes = match content(self.store, &bundle.to_string(), MAX_BUNDLE_BYTES)? {
            Content::Bytes(bytes) => bytes,
            // The beginning of a wider version says the same.
            _ => match read_bundle(self.store, bundle) {
                Ok(bytes) => bytes,
                Err(_) => return Ok(None),
            },
        };
        let Ok(entries) = Bundle::parse(&bytes, bundle.width()) else { return Ok(None) };
        Ok(entries.entries().nth(within).map(<[u8]>::to_vec))
    }

    fn has_all(&self) -> bool {
        true
    }
}

impl Entries for Dossier {
    fn entry(&self, index: u64) -> Result<Option<Vec<u8>>, VerifyError> {
        Self::entry(self, index).map_err(VerifyError::Store)
    }

    fn has_all(&self) -> bool {
        self.manifest().complete
    }
}
