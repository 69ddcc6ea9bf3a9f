//! Decisions in the log: what the rules have against each, and whether recorded releases still follow.

use std::collections::BTreeSet;

use super::docket::Docket;
use super::entries::Entry;
use super::finding::{Axis, Code, Finding};
use super::tree::Tree;
use crate::dossier::is_decision;
use crate::receipt::{Body, Receipt, Release};
use crate::release::{Decisions, Objection, ObjectionCode, Said};
use crate::trust::Statement;

/// Takes the next receipt into the fold, and reports what the rules in force at its index have against it. `whole`: every
/// receipt before it was taken too, without which a release decision cannot be made again.
pub(super) fn take(
    decisions: &mut Decisions,
    index: u64,
    receipt: &Receipt,
    then: &Statement,
    whole: bool,
    docket: &mut Docket,
) {
    let id = Some(receipt.id());
    let objections = decisions.take(index, receipt, then);
    let known = objections.iter().filter(|one| whole || one.code != ObjectionCode::AuthorizationDiffers);
    docket.find_all(known.filter_map(finding_of).map(|finding| finding.at(index, id)));
    if is_decision(receipt.statement().predicate.kind()) {
        docket.count(Axis::Policy, "decisions", 1);
    }
    let Some(Said::Scorecard { looks, .. }) = decisions.at(index).map(|noted| &noted.said) else { return };
    let Some(most) = then.rules().max_looks else { return };
    docket.count(Axis::Policy, "looks", 1);
    if *looks > most {
        let expected = format!("at most {most} looks at a question set (rule maxLooks)");
        docket.find(Finding::new(Code::LooksExceeded, expected, format!("look {looks}")).at(index, id));
    }
}

/// A recorded release decision must state the root of the log before it. `tree` holds that log.
pub(super) fn check_root(entry: &Entry, tree: &Tree<'_>, docket: &mut Docket) {
    let Ok(receipt) = &entry.receipt else { return };
    let Body::Authorization(body) = &receipt.statement().predicate.body else { return };
    let Some(frontier) = tree.whole().filter(|frontier| frontier.size() == body.size) else { return };
    let root = frontier.root();
    if root != body.root {
        let (expected, found) = (format!("root {root} at size {}", body.size), format!("root {}", body.root));
        docket.find(Finding::new(Code::AuthorizationRoot, expected, found).at(entry.index, Some(entry.id)));
    }
}

/// After a replay: nothing that a recorded AUTHORIZED rests on may have failed. Where only some receipts were replayed, only
/// of those release decisions that are among them.
///
/// `max_looks` is the rule of that name in force at an index; `counted`: all gate runs were replayed, so that looks are known.
pub(super) fn check_proven(
    decisions: &Decisions,
    replayed: Option<&BTreeSet<u64>>,
    max_looks: impl Fn(u64) -> Option<u32>,
    counted: bool,
    docket: &mut Docket,
) {
    let replayed = |index: &&u64| replayed.is_none_or(|replayed| replayed.contains(index));
    for index in decisions.authorizations().iter().filter(replayed) {
        let Some(noted) = decisions.at(*index) else { continue };
        let Said::Authorization(body) = &noted.said else { continue };
        if body.decision == Release::Blocked {
            continue;
        }
        docket.count(Axis::Replay, "authorizations", 1);
        let rests_on = body.rests_on.iter().chain([&body.target]);
        if let Some(unproven) = rests_on.map(|one| one.index).find(|index| docket.is_unproven(*index)) {
            let expected = "AUTHORIZED only where all evidence is there and gives what the receipts say";
            let found = format!("the evidence of #{unproven} does not");
            docket.find(Finding::new(Code::AuthorizationUnproven, expected, found).at(*index, Some(noted.id)));
        }
        let looks = docket.looks(body.target.index);
        if !counted && max_looks(*index).is_some() {
            let reason = "looks at held-out records are counted with the evidence of every gate run: run `proofmark verify` for the ledger";
            docket.not_checked(Axis::Replay, reason);
        }
        if let Some(most) = max_looks(*index).filter(|most| counted && looks > u64::from(*most)) {
            let expected = format!("AUTHORIZED only up to look {most} at held-out records (rule maxLooks)");
            let found = format!("#{} is look {looks} at those of its candidate", body.target.index);
            docket.find(Finding::new(Code::AuthorizationUnproven, expected, found).at(*index, Some(noted.id)));
        }
    }
}

fn finding_of(objection: &Objection) -> Option<Finding> {
    let code = match objection.code {
        // Broken references are findings of the structure, and trust speaks for itself.
        ObjectionCode::NotThere | ObjectionCode::OfTrust => return None,
        ObjectionCode::DecisionTarget => Code::DecisionTarget,
        ObjectionCode::SignoffIncomplete => Code::SignoffIncomplete,
        ObjectionCode::RestsOnWithdrawn => Code::RestsOnWithdrawn,
        ObjectionCode::SignoffBlocked => Code::SignoffBlocked,
        ObjectionCode::SignoffExpired => Code::SignoffExpired,
        ObjectionCode::RestsOnAsserted => Code::RestsOnAsserted,
        ObjectionCode::RestsOnNames => Code::RestsOnNames,
        ObjectionCode::WaiverCheck => Code::WaiverCheck,
        ObjectionCode::WaiverExpired => Code::WaiverExpired,
        ObjectionCode::WaiverOwn => Code::WaiverOwn,
        ObjectionCode::WithdrawalOfNoGo => Code::WithdrawalOfNoGo,
        ObjectionCode::AuthorizationSize => Code::AuthorizationSize,
        ObjectionCode::AuthorizationBackdated => Code::AuthorizationBackdated,
        ObjectionCode::AuthorizationDiffers => Code::AuthorizationDiffers,
    };
    Some(Finding::new(code, &objection.expected, &objection.found))
}
