//! The evidence of single receipts: every object that they name is read, and what they claim is derived again.

use rayon::prelude::*;

use super::VerifyError;
use super::docket::Docket;
use super::evidence::Objects;
use super::finding::Finding;
use super::replay::Replayer;
use super::source::Bundles;
use super::survey::Survey;
use crate::receipt::Receipt;
use crate::store::Store;

/// What the evidence of receipts comes to.
#[derive(Debug, Default)]
pub struct Held {
    /// What is wrong, on the axes evidence and replay.
    pub findings: Vec<Finding>,
    /// The receipts that could not be replayed because of what is missing or damaged.
    pub impossible: Vec<u64>,
    /// How far a replay could go, by receipt.
    pub notices: Vec<(u64, &'static str)>,
}

/// Reads and replays receipts of a log of `size` entries, each with its index. Their form, signatures and trust are not
/// looked at: [`super::examine`] did that.
///
/// # Errors
/// [`VerifyError::Store`] where this machine could not read.
pub fn hold(store: &dyn Store, size: u64, receipts: &[(u64, Receipt)]) -> Result<Held, VerifyError> {
    // What the survey itself finds is about the ledger's files, not about these receipts.
    let survey = Survey::take(store, &mut Docket::default())?;
    let mut docket = Docket::default();
    let mut objects = Objects::new(store, &survey, true);
    receipts.iter().for_each(|(index, receipt)| objects.take(*index, receipt, &mut docket));
    objects.check_waiting(&mut docket)?;
    let mut held = Held::default();
    let bundles = Bundles { store, size };
    let replayer = Replayer { store, entries: &bundles };
    let replayed: Vec<_> =
        receipts.par_iter().map(|(index, receipt)| (*index, replayer.replay(*index, receipt))).collect();
    for (index, replayed) in replayed {
        let replayed = replayed?;
        held.impossible.extend(replayed.is_impossible().then_some(index));
        held.notices.extend(replayed.notice().map(|text| (index, text)));
        replayed.report(index, &mut docket);
    }
    held.findings = docket.close().findings;
    Ok(held)
}
