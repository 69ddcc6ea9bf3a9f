//! The audit: everything that a ledger claims is checked, and what does not hold is reported, axis by axis.
//!
//! A bad ledger is not an error: it is a [`Report`] of findings with stable codes (`docs/findings.md`). Errors are left for
//! what is no ledger at all, for one of a later format, and for failures of this machine. Nothing here needs an index, a
//! network or a clock, and nothing is written.
//!
//! One pass: bundles are read, parsed, hashed and their signatures checked on all cores, a window at a time, while the window
//! before is taken in: the tree is computed again in order and held against every stored tile and the signed root, trust is
//! asked at each index. Objects are hashed once each, some thousands together, so that those of one folder come together.

mod about;
mod decided;
mod docket;
mod dossier;
mod entries;
mod evidence;
mod finding;
mod held;
mod log;
mod opening;
mod receipts;
mod released;
mod replay;
mod report;
mod single;
mod standing;
mod source;
mod survey;
mod tree;

pub use about::{About, Decided, Withdrawn};
pub use docket::MOST_LISTED;
pub use dossier::verify_dossier;
pub use finding::{Axis, Code, Finding, Notice, NoticeCode};
pub use held::{Held, hold};
pub use report::{AxisReport, LedgerIdentity, LineRounds, NOT_PROVEN, Report, Status};
pub use single::find_receipt;

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::ledger::FORMAT;
use crate::merkle::{MerkleError, TileName};
use crate::object::ReceiptId;
use crate::receipt::Receipt;
use crate::release::Decisions;
use crate::store::{Store, StoreError};
use crate::trust::Statement;

use docket::Docket;
use entries::{Keyring, ReadBundle, read_bundles};
use evidence::Objects;
use opening::{Opening, fingerprint};
use receipts::Receipts;
use replay::Replayer;
use source::Bundles;
use tree::Tree;

const WIDTH: u64 = 256;

/// No bundle is larger: 256 entries of 65,535 bytes with their lengths.
const MAX_BUNDLE_BYTES: u64 = WIDTH * (2 + 65_535);

/// So many bundles are one window: while one is taken in, in the log's order, the next is read.
const AT_ONCE: usize = 8;

/// How often a ledger that changes under the audit is read again before that is reported.
const ATTEMPTS: usize = 3;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Nothing here can be called a ledger.
    #[error("there is no ledger here")]
    Absent,
    /// A ledger of a later format, of which nothing can be said.
    #[error("config.toml says format {found}, and this version reads format {FORMAT}")]
    Format {
        /// What it says.
        found: i64,
    },
    /// The receipt that was asked for is not there.
    #[error("there is no receipt #{index}: the ledger has {size}")]
    NoSuchReceipt {
        /// Its index.
        index: u64,
        /// How many there are.
        size: u64,
    },
    /// This machine could not read the ledger.
    #[error("the ledger's files cannot be read")]
    Store(#[source] StoreError),
    /// A tree beyond what can be computed.
    #[error("the log cannot be computed")]
    Log(#[from] MerkleError),
}

/// What is to be verified, and how far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// One receipt, by its index, with what it rests on; `None` for the whole ledger.
    pub only: Option<u64>,
    /// Whether to derive every claim again from its evidence.
    pub replay: bool,
    /// The id that receipt 0 must have.
    pub pin: Option<ReceiptId>,
}

/// A report, and what the receipts add up to.
#[derive(Debug)]
pub struct Examined {
    /// The report.
    pub report: Report,
    /// What persons decided, as far as receipts could be read; nothing where only one receipt was asked for.
    pub decisions: Decisions,
    /// The trust statement in force at the end; `None` where receipt 0 cannot be used.
    pub now: Option<Statement>,
}

/// Verifies a ledger. `progress` is told how many receipts are done, of how many.
///
/// Memory: two windows of eight bundles, some 200 bytes for each receipt and each object, what sign-offs list,
/// and in a replay the evidence of one receipt for each core.
///
/// # Errors
/// [`VerifyError`]; never for what is wrong with a ledger.
pub fn verify(store: &dyn Store, options: &Options, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, VerifyError> {
    Ok(examine(store, options, progress)?.report)
}

/// As [`verify`], with what the receipts add up to, all at the same checkpoint.
///
/// # Errors
/// As [`verify`].
pub fn examine(
    store: &dyn Store,
    options: &Options,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Examined, VerifyError> {
    let mut before = fingerprint(store)?;
    let mut attempt = 1;
    loop {
        let mut docket = Docket::default();
        let opening = Opening::read(store, &mut docket)?;
        let bundles = Bundles { store, size: opening.size };
        let replayer = options.replay.then_some(Replayer { store, entries: &bundles });
        open(&opening, options, &mut docket);
        let mut audit = Audit::new(store, &opening, replayer, options.replay);
        match options.only {
            Some(index) => single::examine(&mut audit, index, &mut docket)?,
            None => audit.whole(&mut docket, progress)?,
        }
        let after = fingerprint(store)?;
        let changed = before != after;
        if docket.is_clean() || !changed || attempt >= ATTEMPTS {
            if changed && !docket.is_clean() {
                let text = "the ledger kept changing while it was read; some findings may come from that";
                docket.notice(NoticeCode::ChangedWhileRead, None, None, text);
            }
            return close(audit, &opening, options.only, options.only.is_none(), docket);
        }
        before = after;
        attempt += 1;
    }
}

fn identity(opening: &Opening) -> LedgerIdentity {
    let (genesis, published) = (opening.genesis.as_ref(), opening.published.as_ref());
    LedgerIdentity {
        genesis: genesis.map(|genesis| genesis.receipt.id()),
        origin: genesis.map(|genesis| genesis.log_key.name().to_owned()),
        log_key: genesis.map(|genesis| genesis.log_key.to_string()),
        size: published.map(|claimed| claimed.checkpoint.size()),
        root: published.map(|claimed| claimed.checkpoint.root()),
    }
}

/// What is checked before the receipts are.
fn open(opening: &Opening, options: &Options, docket: &mut Docket) {
    opening.excuse(docket);
    check_pin(opening, options, docket);
    log::check_published(opening, docket);
    if !options.replay {
        docket.not_checked(Axis::Replay, "it was not asked for (--replay)");
    }
}

/// What is known once the receipts are; `whole` where all of them were looked at.
fn close(
    audit: Audit<'_>,
    opening: &Opening,
    only: Option<u64>,
    whole: bool,
    mut docket: Docket,
) -> Result<Examined, VerifyError> {
    let Audit { receipts, mut objects, replayer, shown, about, .. } = audit;
    objects.finish(&mut docket)?;
    let (lines, decisions, now) = receipts.finish(replayer.is_some(), whole, shown.as_ref(), &mut docket);
    excuse_completeness(whole, &mut docket);
    let mut report = Report::new(identity(opening), only, lines, docket.close());
    report.about = about;
    Ok(Examined { report, decisions, now })
}

/// The log holds every round by construction, so the list is whole exactly where the log is.
fn excuse_completeness(whole: bool, docket: &mut Docket) {
    if !whole {
        docket.not_checked(Axis::Completeness, "only one receipt was asked for");
    } else if !docket.passes(Axis::Log) || docket.has(Code::ReceiptMalformed) {
        docket.not_checked(Axis::Completeness, "the log is not whole, so neither is the list of rounds");
    }
}

fn check_pin(opening: &Opening, options: &Options, docket: &mut Docket) {
    let Some(pin) = options.pin else {
        return docket.not_checked(Axis::Pin, "no digest was given (--pin)");
    };
    docket.count(Axis::Pin, "digests", 1);
    let Some(genesis) = &opening.genesis else { return };
    let found = genesis.receipt.id();
    if found != pin {
        docket.find(
            Finding::new(Code::PinDiffers, format!("receipt {pin}"), format!("receipt {found}")).at(0, Some(found)),
        );
    }
}

/// What the parts of an audit share.
struct Audit<'a> {
    store: &'a dyn Store,
    opening: &'a Opening,
    /// There if a replay was asked for.
    replayer: Option<Replayer<'a>>,
    receipts: Receipts,
    objects: Objects<'a>,
    /// In a dossier, the receipts whose evidence is looked at; `None` for all.
    shown: Option<BTreeSet<u64>>,
    /// Where one receipt was asked for, what was decided about it.
    about: Option<About>,
}

impl<'a> Audit<'a> {
    fn new(store: &'a dyn Store, opening: &'a Opening, replayer: Option<Replayer<'a>>, sha256_too: bool) -> Self {
        Self {
            store,
            opening,
            replayer,
            receipts: Receipts::new(opening.genesis.as_ref()),
            objects: Objects::new(store, &opening.survey, sha256_too),
            shown: None,
            about: None,
        }
    }

    /// The whole ledger, in one pass.
    fn whole(&mut self, docket: &mut Docket, progress: &mut dyn FnMut(u64, u64)) -> Result<(), VerifyError> {
        let (store, opening) = (self.store, self.opening);
        let mut keys = Keyring::default();
        let cell_size = opening.cell.as_ref().map_or(0, |cell| cell.checkpoint.size());
        let tree = Tree::new(store, &opening.survey, cell_size);
        let mut tree = if self.shown.is_some() { tree.without_tiles() } else { tree };
        let windows = self.windows(docket);
        let mut ahead = None;
        for (place, window) in windows.iter().enumerate() {
            // Keys that came in a window before; within one, the chain of trust checks what is signed by a new key.
            keys.learn(self.receipts.keys(), opening.size.saturating_sub(tree.size()));
            let keys = &keys;
            let read = |window: &Window| read_bundles(store, &opening.survey, keys, &window.bundles);
            let bundles = ahead.take().unwrap_or_else(|| read(window))?;
            let (checker, due) = self.objects.due();
            let mut checked = Vec::new();
            rayon::in_place_scope(|scope| {
                if let Some(next) = windows.get(place + 1) {
                    scope.spawn(|_| ahead = Some(read(next)));
                }
                scope.spawn(|_| checked = checker.check_all(&due));
                self.take(bundles, &mut tree, docket)
            })?;
            self.objects.report(checked, docket)?;
            progress(window.end.min(opening.size), opening.size);
        }
        self.objects.check_waiting(docket)?;
        if tree.size() < opening.size {
            tree.interrupt();
        }
        tree.finish(docket)?;
        log::check_root(opening, &tree, docket);
        log::check_cell(store, opening, &tree, docket)?;
        let pending = if docket.noticed(NoticeCode::CommitPending) { cell_size } else { 0 };
        opening.survey.report_beyond(opening.size, pending, docket);
        if self.shown.is_none() {
            opening.survey.report_unnamed(|id| self.objects.is_named(id), docket);
        }
        Ok(())
    }

    /// The next bundles, in order.
    fn take(&mut self, bundles: Vec<ReadBundle>, tree: &mut Tree<'_>, docket: &mut Docket) -> Result<(), VerifyError> {
        for read in bundles {
            docket.find_all(read.findings);
            docket.count(Axis::Structure, "bundles", 1);
            if read.bundle.index() * WIDTH != tree.size() {
                tree.interrupt();
            }
            let (mut kept, file) = (Vec::with_capacity(read.entries.len()), read.bundle.to_string());
            for entry in read.entries {
                decided::check_root(&entry, tree, docket);
                tree.push(entry.leaf, docket)?;
                kept.extend(self.receipts.take(&file, entry, docket));
            }
            if !read.whole {
                tree.interrupt();
            }
            self.claims_of(&kept, docket)?;
        }
        Ok(())
    }

    /// Evidence and replay of receipts whose form, signature and trust were looked at.
    fn rest_of(&mut self, receipts: &[(u64, Receipt)], docket: &mut Docket) -> Result<(), VerifyError> {
        self.claims_of(receipts, docket)?;
        self.objects.check_waiting(docket)
    }

    /// The same, but for the objects, which are taken down to be checked later.
    fn claims_of(&mut self, receipts: &[(u64, Receipt)], docket: &mut Docket) -> Result<(), VerifyError> {
        let shown = self.shown.as_ref();
        let is_shown = |(index, _): &&(u64, Receipt)| shown.is_none_or(|shown| shown.contains(index));
        let receipts: Vec<_> = receipts.iter().filter(is_shown).collect();
        receipts.iter().for_each(|(index, receipt)| self.objects.take(*index, receipt, docket));
        let Some(replayer) = &self.replayer else { return Ok(()) };
        let replayed: Vec<_> =
            receipts.par_iter().map(|(index, receipt)| (*index, replayer.replay(*index, receipt))).collect();
        for (index, replayed) in replayed {
            replayed?.report(index, docket);
        }
        Ok(())
    }

    /// The bundles that are there, in order, a window at a time; gaps between them are reported.
    fn windows(&self, docket: &mut Docket) -> Vec<Window> {
        let size = self.opening.size;
        let expected = size.div_ceil(WIDTH);
        let (mut bundles, mut next) = (Vec::new(), 0);
        for index in self.opening.survey.bundles().filter(|index| *index < expected).chain([expected]) {
            if index > next {
                let expected = format!("receipts {} to {}", next * WIDTH, (index * WIDTH).min(size) - 1);
                let file = TileName::in_tree(0, next, size).and_then(TileName::bundle);
                let file = file.map_or_else(String::new, |name| name.to_string());
                docket.find(Finding::new(Code::BundleMissing, expected, "no bundle").in_file(file));
            }
            bundles.extend(TileName::in_tree(0, index, size).and_then(TileName::bundle));
            next = index + 1;
        }
        let windows = bundles.chunks(AT_ONCE).map(|bundles| Window {
            end: bundles.last().map_or(0, |bundle| (bundle.index() + 1) * WIDTH),
            bundles: bundles.to_vec(),
        });
        windows.collect()
    }
}

/// Bundles that are read together.
struct Window {
    bundles: Vec<TileName>,
    /// The index after their last entry.
    end: u64,
}
