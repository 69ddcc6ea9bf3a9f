//! `proofmark whoami`: the key that would sign, whose it is, and what it may do in this ledger.

use proofmark::ledger::{Ledger, TrustChain};
use proofmark::object::ReceiptId;
use proofmark::trust::{KeyId, PublicKey, Role, Standing};
use serde::Serialize;

use super::chain::{agreement, roles};
use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::keys::{KeyOptions, signer};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The key is opened as for signing, so that an encrypted one asks for its passphrase; nothing is signed.

Exit codes: 0 the key may do something here, 3 it may not, 2 there is no key or no ledger.

Examples:
  proofmark whoami
  proofmark whoami --agent
  PROOFMARK_KEY=\"$CI_KEY\" proofmark whoami --json")]
pub struct Arguments {
    #[command(flatten)]
    keys: KeyOptions,
}

/// What can be done in a ledger, and the roles of which one is needed.
const ACTS: [(&str, &str, &[Role]); 5] = [
    ("append", "append rounds, comparisons, gate runs, baselines and release decisions", &[Role::Append]),
    ("signoff", "sign off GO or NO-GO", &[Role::Signoff]),
    ("waive", "waive checks", &[Role::Signoff]),
    ("withdraw", "withdraw receipts", &[Role::Append, Role::Signoff, Role::Root]),
    ("trust", "propose trust and agree to it", &[Role::Root]),
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema: &'static str,
    fingerprint: KeyId,
    public_key: PublicKey,
    place: String,
    origin: &'a str,
    genesis: ReceiptId,
    trust_version: u64,
    person: Option<&'a str>,
    status: Option<Standing>,
    roles: &'a [Role],
    may: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    asked: Vec<Asked>,
}

/// A trust proposal that waits for this person.
#[derive(Serialize)]
struct Asked {
    version: u64,
    index: u64,
    receipt: ReceiptId,
}

/// Says who.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    let key = *signer(&arguments.keys, context)?.public();
    let snapshot = ledger.snapshot()?;
    let chain = ledger.trust_chain(&snapshot)?;
    let place = arguments.keys.place(context)?.to_string();
    let document = document(&ledger, &chain, key, place);
    context.answer(&document, || text(&document))?;
    Ok(if document.may.is_empty() { Exit::No } else { Exit::Yes })
}

fn document<'a>(ledger: &'a Ledger, chain: &'a TrustChain, key: PublicKey, place: String) -> Document<'a> {
    let (id, now) = (key.fingerprint(), chain.now());
    let person = now.person_of(&id);
    let may: Vec<_> =
        ACTS.iter().filter(|(_, _, roles)| chain.holder(&id, roles).is_ok()).map(|(act, _, _)| *act).collect();
    let why_not = chain.holder(&id, &[Role::Append]).err().filter(|_| may.is_empty());
    let asks = |name: &str| {
        let waiting = chain.pending().iter().filter(|proposal| chain.asked(proposal).contains(&name));
        let asked = waiting.map(|proposal| Asked {
            version: proposal.statement.version(),
            index: proposal.receipt.index,
            receipt: proposal.receipt.receipt,
        });
        asked.collect()
    };
    Document {
        schema: "whoami.v1",
        public_key: key,
        place,
        origin: ledger.log().origin(),
        genesis: ledger.log().genesis,
        trust_version: now.version(),
        person: person.map(|person| person.name.as_str()),
        status: now.record_of(&id).map(|record| record.status),
        roles: person.map_or(&[], |person| person.roles.as_slice()),
        asked: person.filter(|_| may.contains(&"trust")).map(|person| asks(&person.name)).unwrap_or_default(),
        why_not: why_not.map(|refusal| format!("{refusal}; {}", refusal.remedy())),
        may,
        fingerprint: id,
    }
}

fn text(document: &Document<'_>) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: &str| text.push_str(&format!("{label:<9}{}\n", one_line(value)));
    match (document.person, document.status) {
        (Some(person), Some(status)) => line("person", &format!("{person} ({}), {status} key", roles(document.roles))),
        _ => line("person", "nobody"),
    }
    line("key", &format!("{} from {}", document.fingerprint, document.place));
    line("ledger", &format!("{}, trust version {}", document.origin, document.trust_version));
    for (act, meaning, _) in ACTS {
        if document.may.contains(&act) {
            line("may", meaning);
        }
    }
    if let Some(why_not) = &document.why_not {
        line("may not", why_not);
    }
    for Asked { version, index, receipt } in &document.asked {
        let proposal = proofmark::receipt::ReceiptRef { index: *index, receipt: *receipt };
        line("asked", &format!("trust version {version}, receipt {index}: {}", agreement(proposal)));
    }
    text
}
