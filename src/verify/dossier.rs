//! A dossier, by the same rules as a ledger; what it cannot know is NOT CHECKED.
//!
//! A dossier that is not complete was made by someone who chose which receipts to show. That they are in the log is
//! proven, and that nothing was left out between them is not: a later trust statement could take back what these allow.

use std::collections::{BTreeMap, BTreeSet};

use super::about::About;
use super::docket::Docket;
use super::entries::Entry;
use super::finding::{Axis, Code, Finding, NoticeCode};
use super::opening::Opening;
use super::receipts::Receipts;
use super::replay::Replayer;
use super::source::Entries;
use super::{Audit, Examined, Options, Report, VerifyError, close, open};
use crate::dossier::{Contents, Dossier, History, closure};
use crate::merkle::leaf_hash;
use crate::receipt::Receipt;

/// Receipts whose evidence is looked at together.
const AT_ONCE: usize = 64;

/// Verifies a dossier; `options.only` is not looked at, for a dossier is about one receipt.
///
/// Memory: the receipts that the subject rests on, some 100 bytes for each receipt and each object, and what
/// [`super::verify`] takes.
///
/// # Errors
/// [`VerifyError::Store`] where the file cannot be read; never for what is wrong with it.
pub fn verify_dossier(
    dossier: &Dossier,
    options: &Options,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, VerifyError> {
    let (mut docket, manifest) = (Docket::default(), dossier.manifest());
    let opening = Opening::of_dossier(dossier, &mut docket)?;
    let shown = shown(dossier)?;
    let contents = Contents::of(shown.values(), &manifest.redacted);
    check_contents(dossier, &opening, &shown, &contents, &mut docket);
    open(&opening, options, &mut docket);
    excuse_withheld(&contents, options, &mut docket);
    let replayer = options.replay.then_some(Replayer { store: dossier, entries: dossier });
    let mut audit = Audit::new(dossier, &opening, replayer, options.replay);
    audit.objects.expect_withheld(contents.withheld.into_keys());
    let shown: BTreeSet<u64> = shown.into_keys().collect();
    audit.shown = Some(shown.clone());
    if manifest.complete {
        audit.whole(&mut docket, progress)?;
    } else {
        audit.receipts = Receipts::new(opening.genesis.as_ref()).some_only();
        proven(&mut audit, dossier, &mut docket, progress)?;
        excuse_history(&mut docket);
    }
    let (subject, complete) = (manifest.subject, manifest.complete);
    let text = "a dossier: this receipt and what it rests on; evidence of others is not in it";
    docket.notice(NoticeCode::OneReceipt, Some(subject.index), None, text);
    if !complete {
        let text = "a withdrawal, a NO-GO or a later trust statement that is not in this file is not known: only a complete \
                    dossier (dossier --complete), or the ledger, has all of them";
        docket.notice(NoticeCode::DecisionsUnknown, Some(subject.index), None, text);
    }
    let Examined { mut report, decisions, now } = close(audit, &opening, Some(subject.index), complete, docket)?;
    report.about = Some(About::of(subject, &shown, &decisions, now.as_ref(), complete));
    Ok(report)
}

/// The receipts whose evidence the dossier carries: its subject and what that rests on.
fn shown(dossier: &Dossier) -> Result<BTreeMap<u64, Receipt>, VerifyError> {
    let mut receipts = BTreeMap::new();
    closure([0, dossier.manifest().subject.index], |index| {
        let receipt = Entries::receipt(dossier, index)?;
        receipts.extend(receipt.clone().map(|receipt| (index, receipt)));
        Ok::<_, VerifyError>(receipt)
    })?;
    Ok(receipts)
}

/// The manifest and what is there must say the same.
fn check_contents(
    dossier: &Dossier,
    opening: &Opening,
    shown: &BTreeMap<u64, Receipt>,
    contents: &Contents,
    docket: &mut Docket,
) {
    let subject = dossier.manifest().subject;
    docket.count(Axis::Structure, "dossiers", 1);
    let found = shown.get(&subject.index).map(Receipt::id);
    if found != Some(subject.receipt) {
        let found = found.map_or_else(|| "no receipt".to_owned(), |id| format!("receipt {id}"));
        let expected = format!("receipt {} at index {}", subject.receipt, subject.index);
        let finding = Finding::new(Code::DossierIncomplete, expected, format!("{found} there"));
        docket.find(finding.at(subject.index, Some(subject.receipt)));
    }
    for file in opening.survey.objects_but(|id| contents.objects.contains_key(id)) {
        let expected = "no object but the evidence that its subject rests on";
        docket.find(Finding::new(Code::DossierSurplus, expected, "an object").in_file(file));
    }
    for role in dossier.manifest().redacted.iter().filter(|role| !contents.roles.contains(*role)) {
        let expected = "no redacted role but those of the evidence that its subject rests on";
        let finding = Finding::new(Code::DossierSurplus, expected, format!("the role `{role}`"));
        docket.find(finding.in_file("dossier.json"));
    }
}

/// Receipts with their proofs, in the log's order.
fn proven(
    audit: &mut Audit<'_>,
    dossier: &Dossier,
    docket: &mut Docket,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), VerifyError> {
    let (carried, mut history): (BTreeSet<u64>, _) = (dossier.proven().collect(), History::default());
    let total = carried.len() as u64;
    let mut kept = Vec::new();
    for (done, index) in (1..).zip(&carried) {
        let Some(proof) = dossier.proof(*index).map_err(VerifyError::Store)? else { continue };
        let (bytes, file) = (proof.extra().unwrap_or_default(), dossier.file_of(*index));
        let entry = Entry::read(*index, bytes);
        docket.count(Axis::Log, "receipts", 1);
        if let Err(error) = proof.verify(&leaf_hash(bytes)) {
            let expected = format!("receipt #{index}, proven to be under the checkpoint");
            docket.find(Finding::new(Code::InclusionFails, expected, error).at(*index, Some(entry.id)).in_file(&file));
        }
        if let Some((index, receipt)) = audit.receipts.take(&file, entry, docket) {
            history.take(index, &receipt);
            kept.push((index, receipt));
        }
        if kept.len() == AT_ONCE || done == total {
            audit.rest_of(&std::mem::take(&mut kept), docket)?;
            progress(done, total);
        }
    }
    let subject = dossier.manifest().subject.index;
    let wanted = history.carried(subject, |index| Entries::receipt(dossier, index))?;
    for index in wanted.difference(&carried) {
        let finding = Finding::new(Code::DossierIncomplete, format!("receipt #{index}, with its proof"), "nothing");
        docket.find(finding.at(*index, None));
    }
    for index in carried.difference(&wanted) {
        let expected = "no receipt but those that its subject rests on, trust statements, and decisions about these";
        let finding = Finding::new(Code::DossierSurplus, expected, format!("receipt #{index}"));
        docket.find(finding.at(*index, None).in_file(dossier.file_of(*index)));
    }
    Ok(())
}

fn excuse_withheld(contents: &Contents, options: &Options, docket: &mut Docket) {
    let mut by_role: BTreeMap<&str, u64> = BTreeMap::new();
    for role in contents.withheld.values() {
        *by_role.entry(role.as_str()).or_default() += 1;
    }
    if by_role.is_empty() {
        return;
    }
    for (role, count) in &by_role {
        let objects = if *count == 1 { "1 object is".to_owned() } else { format!("{count} objects are") };
        let text = format!("`{role}`: {objects} left out of the dossier");
        docket.notice(NoticeCode::EvidenceWithheld, None, None, text);
    }
    let roles = by_role.into_keys().collect::<Vec<_>>().join(", ");
    docket.not_checked(Axis::Evidence, format!("evidence was left out of the dossier: {roles}"));
    if options.replay {
        docket.not_checked(Axis::Replay, format!("what follows from the evidence that was left out: {roles}"));
    }
}

/// What only the whole log could say.
fn excuse_history(docket: &mut Docket) {
    let then = "receipts were held to the trust statements in the dossier; that no other one was in force takes the whole log (dossier --complete)";
    docket.not_checked(Axis::TrustThen, then);
    docket.not_checked(Axis::TrustNow, "trust statements that are not in the dossier are not known");
    let policy = "decisions and rules that are not in the dossier are not known; only a complete one has all";
    docket.not_checked(Axis::Policy, policy);
}
