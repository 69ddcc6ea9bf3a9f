//! The suite as one list: each forgery is tried with the commands (or, where no command can say it, with a writer of the
//! library), and must be refused with its message and exit code; then it is found where it was forged into a log, and blocks.

use std::collections::{BTreeMap, BTreeSet};

use proofmark::authorize::{Wanted, When};
use proofmark::ledger::{Draft, Ledger, LogSigner, Ratchet};
use proofmark::receipt::{Body, Release};
use proofmark::store::{Directory, Memory};
use proofmark::trust::{KeyRecord, Person, Role, Rules, SecretKey, Signer, Standing};
use proofmark::verify::{Code, Options, verify};

use super::told::{Told, parts};
use super::{ask, days, decide};
use crate::cli::office::Office;
use crate::keys::{ORIGIN, log, moment, person, subject, tool};
use crate::trust::{Parts, Story, ann, eve, forgeries, sam};

/// What was tried and refused.
#[derive(Default)]
struct Tried(usize);

impl Tried {
    /// A command, refused with exit code 2 and these words; nothing is written.
    fn command(&mut self, office: &Office, who: &str, arguments: &[&str], says: &[&str]) {
        office.refused(who, arguments, says);
        self.0 += 1;
    }

    /// A receipt that no command makes, given to a writer of the library.
    fn append(&mut self, office: &Office, body: Body, signer: &SecretKey, says: &str) {
        let ledger = Ledger::open(Box::new(Directory::new(office.sandbox.path(".ledger")))).unwrap();
        let subject = subject(&ledger, &body, "it");
        let draft = Draft { subject, evidence: Vec::new(), note: None, recorded_at: moment(), tool: tool(), body };
        let (log, seen) = (log(), tempfile::tempdir().unwrap());
        let before = ledger.snapshot().unwrap().size();
        let signer_of_log = LogSigner::new(ORIGIN, &log).unwrap();
        let error = ledger.append([Ok(draft)], signer, &signer_of_log, &Ratchet::new(seen.path())).unwrap_err();
        let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        assert!(said.contains(says), "{says}\n{said}");
        assert_eq!(ledger.snapshot().unwrap().size(), before);
        self.0 += 1;
    }
}

/// One forgery of the issue, by the names of the cases in which it is forged.
struct Forgery {
    what: &'static str,
    /// Tries to make it.
    made: fn(&mut Tried),
    /// Why nothing can be refused when it is made, where that is so.
    possible: &'static str,
    forged: &'static [&'static str],
}

fn go_on<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    ["signoff", target, "--decision", "go", "--reason", "x"].into_iter().chain(more.iter().copied()).collect()
}

fn waive<'a>(target: &'a str, check: &'a str, expires: &'a str) -> [&'a str; 8] {
    ["waive", target, "--check", check, "--expires", expires, "--reason", "x"]
}

/// Ann's second key is no longer what it was.
fn lost(status: Standing) -> Office {
    Office::under(parts(1), move |told, _| {
        told.story.change(|parts| parts.person("Ann").keys[1].status = status);
    })
}

fn regressed(rules: Rules) -> Office {
    Office::under(Parts { rules, ..parts(1) }, |told, _| _ = told.regressed())
}

fn alone() -> Rules {
    Rules { appender_may_be_only_signoff: Some(false), ..Rules::default() }
}

/// The acts of somebody whom trust does not let do any of them.
fn acts(tried: &mut Tried, who: &str, says: &str, all: bool) {
    let office = regressed(Rules::default());
    tried.command(&office, who, &go_on("#1", &[]), &["may not act as signoff", says]);
    tried.command(&office, who, &waive("#4", "comparison-regressed", "9d"), &["may not act as signoff", says]);
    tried.command(&office, who, &["trust", "rule", "maxLooks", "9"], &["may not act as root", says]);
    if all {
        tried.command(&office, who, &["withdraw", "#1", "--reason", "x"], &[says]);
        tried.command(&office, who, &["authorize", "--record"], &["may not act as append", says]);
        tried.command(&office, who, &["baseline", "set", "#2"], &["may not act as append", says]);
    }
}

/// A ledger in which Ann proposes that Eve be a root as well, and Bob was not asked yet.
fn proposed() -> Office {
    Office::under(parts(1), |told, _| {
        let eves = told.story.next(|parts| {
            let keys = vec![KeyRecord { key: *eve().public(), status: Standing::Active }];
            parts.persons.push(Person { name: "Eve".to_owned(), keys, roles: Role::ALL.to_vec() });
        });
        told.story.propose(&eves, &ann());
    })
}

fn keys() -> Vec<Forgery> {
    vec![
        Forgery {
            what: "an untrusted key",
            made: |tried| acts(tried, "eve", "trust version 1 lists no such key", true),
            possible: "",
            forged: &["an untrusted key"],
        },
        Forgery {
            what: "a trusted key without the role",
            made: |tried| {
                acts(tried, "ci", "trust version 1 does not give them that role", false);
                let office = Office::new();
                tried.command(&office, "bob", &["authorize", "--record"], &["Bob", "may not act as append"]);
            },
            possible: "",
            forged: &["a trusted key without the role", "a waiver without the role", "AUTHORIZED by whom nobody asked"],
        },
        Forgery {
            what: "a retired key used later",
            made: |tried| {
                let office = lost(Standing::Retired);
                let says = ["trust version 2 has it as retired", "sign with an active key of Ann"];
                tried.command(&office, "ann2", &go_on("#1", &[]), &says);
                tried.command(&office, "ann2", &["withdraw", "#1", "--reason", "x"], &says);
                tried.command(&office, "ann2", &["trust", "rule", "maxLooks", "9"], &says);
            },
            possible: "",
            forged: &["a retired key", "a retired key used later"],
        },
        Forgery {
            what: "a retired key, backdated",
            made: |tried| {
                let mut office = lost(Standing::Retired);
                office.sandbox.env("PROOFMARK_CLOCK", &days(-400).unix().to_string());
                tried.command(&office, "ann2", &go_on("#1", &[]), &["trust version 2 has it as retired"]);
            },
            possible: "",
            forged: &["a retired key, backdated", "a retired key used later and backdated"],
        },
        Forgery {
            what: "a compromised key, before it was known",
            made: |_| {},
            possible: "it was good when it signed",
            forged: &[
                "a key compromised after it signed",
                "the gate run by a key that was lost",
                "a NO-GO by a key that was lost since",
            ],
        },
        Forgery {
            what: "a compromised key, after",
            made: |tried| {
                let office = lost(Standing::Compromised);
                tried.command(&office, "ann2", &go_on("#1", &[]), &["trust version 2 has it as compromised"]);
                let office = Office::under(parts(1), |told, _| {
                    told.story.change(|parts| parts.person("tester").keys[0].status = Standing::Compromised);
                });
                // What such a key signed is not signed off either.
                tried.command(&office, "ann", &go_on("#1", &[]), &["is not allowed", "has it as compromised"]);
            },
            possible: "",
            forged: &["a compromised key", "a compromised key used"],
        },
        Forgery {
            what: "two keys of one person posing as two",
            made: |tried| {
                let office = Office::new();
                let says = ["asks for 4 persons; 3 hold the role signoff and an active key"];
                tried.command(&office, "ann", &["trust", "threshold", "signoff", "4"], &says);
                // A person may sign again, under whatever key: it is one GO still.
                office.go("ann");
                let said = office.go("ann2");
                assert!(said.contains("still missing: signoff-missing: 1 of 2 GOs count on #1"), "{said}");
                assert_eq!(office.sandbox.run(&["authorize"]).code, 3);
            },
            possible: "",
            forged: &["two keys of one person posing as two"],
        },
        Forgery {
            what: "one key listed for two persons",
            made: |tried| {
                let office = Office::new();
                let says = ["is listed as that of Sam, and a key belongs to one person"];
                tried.command(&office, "ann", &["trust", "add", "Eve", "sam.pub", "--role", "signoff"], &says);
                let key = std::fs::read_to_string(office.sandbox.path("sam.pub")).unwrap();
                office.sandbox.write("signers", format!("Eve {key}"));
                tried.command(&office, "ann", &["trust", "import", "signers", "--role", "signoff"], &says);
                office.sandbox.write("signers", format!("Eve,Sam {key}"));
                let says = ["`Eve,Sam` is not one person's name"];
                tried.command(&office, "ann", &["trust", "import", "signers"], &says);
            },
            possible: "",
            forged: &["one key listed for two persons"],
        },
    ]
}

fn versions() -> Vec<Forgery> {
    vec![
        Forgery {
            what: "a skipped or replayed trust version",
            made: |tried| {
                let office = lost(Standing::Retired);
                let story = Story { parts: parts(1), ..Story::new() };
                for (version, says) in [(4, "has version 4, and 3 is next"), (1, "has version 1, and 3 is next")] {
                    let body = Body::Trust(story.next(|parts| parts.version = version).statement());
                    tried.append(&office, body, &ann(), says);
                }
            },
            possible: "",
            forged: &["a skipped trust version", "a replayed trust version", "receipt 0 that does not begin"],
        },
        Forgery {
            what: "a trust change signed by the new roots only",
            made: |tried| {
                let office = proposed();
                let says = ["may not act as root", "trust version 1 lists no such key"];
                tried.command(&office, "eve", &go_on("#2", &[]), &says);
                tried.command(&office, "eve", &["trust", "rule", "maxLooks", "9", "--replace"], &says);
                // One old root is not enough, under both of her keys.
                office.ok("ann2", &go_on("#2", &[]));
                let shown = office.sandbox.ok(&["trust", "show"]);
                assert!(shown.contains("agreed: Ann (1 of 2)\nmissing: 1 of Bob\n"), "{shown}");
            },
            possible: "",
            forged: &[
                "a trust change signed by the new roots only",
                "a trust change signed off by the new roots only",
                "trust that was agreed to and taken back",
            ],
        },
        Forgery {
            what: "a trust statement that forgets, moves or revives",
            made: |tried| {
                let office = lost(Standing::Retired);
                let mut story = Story { parts: parts(1), ..Story::new() };
                story.parts.version = 2;
                story.parts.person("Ann").keys[1].status = Standing::Retired;
                let mut with = |change: fn(&mut Parts), says: &str| {
                    tried.append(&office, Body::Trust(story.next(change).statement()), &ann(), says);
                };
                with(|parts| parts.persons.retain(|person| person.name != "Sam"), "Sam");
                with(|parts| _ = parts.person("Ann").keys.pop(), "leaves out the key");
                with(|parts| parts.person("Ann").keys[1].status = Standing::Active, "which is retired");
            },
            possible: "",
            forged: &[
                "a person left out",
                "a key left out",
                "a key given to another",
                "a retired key made good again",
                "another log key",
            ],
        },
        Forgery {
            what: "agreement to trust where none is asked for",
            made: |tried| {
                let office = proposed();
                tried.command(&office, "bob", &go_on("#0", &[]), &["in force already"]);
                tried.command(
                    &office,
                    "bob",
                    &go_on("#2", &["--expires", "9d"]),
                    &["it has an expiry", "sign off without"],
                );
                for target in ["#0", "#2"] {
                    let says = ["is part of it", "chain of trust"];
                    tried.command(&office, "ann", &["withdraw", target, "--reason", "x"], &says);
                }
            },
            possible: "",
            forged: &[
                "a sign-off on trust copied within the ledger",
                "a sign-off on trust in force",
                "a sign-off on trust that is past",
                "a sign-off on trust that expires",
                "trust and agreement withdrawn",
            ],
        },
    ]
}

fn signoffs() -> Vec<Forgery> {
    vec![
        Forgery {
            what: "a sign-off copied from another ledger, or to another place",
            made: |_| {},
            possible: "no command takes a receipt that is signed already",
            forged: &["a sign-off copied from another ledger", "a sign-off copied to a later place"],
        },
        Forgery {
            what: "a receipt that cannot be read, of an unknown kind, or with a bad signature",
            made: |_| {},
            possible: "no command writes one",
            forged: &[
                "a receipt that cannot be read",
                "a receipt of a kind that is not known",
                "a receipt whose signature does not hold",
            ],
        },
        Forgery {
            what: "a sign-off on a receipt that was withdrawn",
            made: |tried| {
                let office = regressed(Rules::default());
                office.ok("bob", &["withdraw", "#2", "--reason", "x"]);
                office.ok("bob", &["withdraw", "#1", "--reason", "x"]);
                let says = ["#1 was withdrawn by Bob, in #6", "rests on nothing that was withdrawn"];
                tried.command(&office, "ann", &go_on("#1", &[]), &says);
                tried.command(&office, "ann", &go_on("#4", &[]), &["#2 was withdrawn by Bob, in #5"]);
            },
            possible: "",
            forged: &[
                "a sign-off on a receipt that was withdrawn",
                "a sign-off on a receipt that is withdrawn later",
                "a withdrawal withdrawn",
            ],
        },
        Forgery {
            what: "an expired GO",
            made: |tried| {
                let office = Office::new();
                for expires in ["0d", "2026-11-30", "1999-01-01T00:00:00Z"] {
                    let says = ["the rule asks for an expiry after 2026-11-30T12:00:00Z"];
                    tried.command(&office, "ann", &go_on("#1", &["--expires", expires]), &says);
                }
            },
            possible: "",
            forged: &["a GO that had expired when it was made", "a GO that expired since"],
        },
        Forgery {
            what: "a sign-off that leaves something out, or is about nothing",
            made: |tried| {
                let office = regressed(Rules::default());
                // `--with` adds whatever belongs to it, so no command leaves anything out.
                office.go("bob");
                tried.command(&office, "ann", &go_on("#5", &[]), &["#5 is a signoff receipt", "gate"]);
                tried.command(&office, "ann", &go_on("#99", &[]), &["#99"]);
                tried.command(&office, "ann", &go_on("#1", &["--with", "#0"]), &["#0 is a trust receipt"]);
            },
            possible: "",
            forged: &["a GO that leaves a round out", "a GO that leaves a waiver out", "a GO on a kind that has none"],
        },
        Forgery {
            what: "a NO-GO that another takes back",
            made: |tried| {
                let office = Office::new();
                office.ok("bob", &["signoff", "#1", "--decision", "no-go", "--reason", "x"]);
                for who in ["ann", "ci", "sam"] {
                    let says = ["withdraws the NO-GO #2", "by Bob, who said it"];
                    tried.command(&office, who, &["withdraw", "#2", "--reason", "x"], &says);
                }
            },
            possible: "",
            forged: &["a NO-GO withdrawn by another", "a NO-GO after a GO", "a NO-GO on what a GO rests on"],
        },
        Forgery {
            what: "a GO on a verdict that is BLOCKED",
            made: |tried| {
                let office = Office::under(parts(1), |told, _| {
                    let predictions = include_str!("../../../fixtures/gate/blocked.jsonl");
                    let (body, evidence) = told.story.forge.gated_on(predictions);
                    told.story.forge.sign(Some(told.story.trust), Body::Gate(body), evidence, &person());
                });
                let says = ["#2 is BLOCKED by its gates", "a verdict cannot be waived"];
                tried.command(&office, "ann", &go_on("#2", &[]), &says);
            },
            possible: "",
            forged: &["a GO on a verdict that is BLOCKED"],
        },
    ]
}

fn rules() -> Vec<Forgery> {
    vec![
        Forgery {
            what: "a waiver without expiry",
            made: |tried| {
                let office = regressed(Rules::default());
                let arguments = ["waive", "#4", "--check", "comparison-regressed", "--reason", "x"];
                tried.command(&office, "ann", &arguments, &["--expires"]);
                tried.command(&office, "ann", &waive("#4", "comparison-regressed", ""), &["--expires"]);
                tried.command(&office, "ann", &waive("#4", "comparison-regressed", "never"), &["--expires"]);
            },
            possible: "",
            forged: &["a waiver without expiry"],
        },
        Forgery {
            what: "an expired waiver",
            made: |tried| {
                let office = regressed(Rules::default());
                for expires in ["0d", "2026-01-01"] {
                    let says = ["the rule asks for an expiry after 2026-11-30T12:00:00Z"];
                    tried.command(&office, "ann", &waive("#4", "comparison-regressed", expires), &says);
                }
            },
            possible: "",
            forged: &["a waiver that had expired when it was made", "a waiver that expired since"],
        },
        Forgery {
            what: "a waiver for integrity",
            made: |tried| {
                let office = regressed(Rules::default());
                for check in ["signature-bad", "evidence-damaged", "gate-differs", "no-go", "waiver-faulty"] {
                    let says = [format!("`{check}` on #4"), "checks of a comparison that can be waived".to_owned()];
                    let says = [says[0].as_str(), says[1].as_str()];
                    tried.command(&office, "ann", &waive("#4", check, "9d"), &says);
                    tried.command(&office, "ann", &waive("#1", check, "9d"), &["nothing about a gate can be waived"]);
                }
            },
            possible: "",
            forged: &["a waiver for integrity", "a waiver for a NO-GO, about that"],
        },
        Forgery {
            what: "a GO resting on an asserted card",
            made: |tried| {
                let rules = Rules { recomputed_only: Some(true), ..Rules::default() };
                let office = Office::under(Parts { rules, ..parts(1) }, |told, _| _ = told.asserted());
                let says = ["the card of #2, appended by tester, is asserted", "rule recomputedOnly"];
                tried.command(&office, "ann", &go_on("#1", &["--with", "#2"]), &says);
                tried.command(&office, "ann", &go_on("#2", &[]), &says);
            },
            possible: "",
            forged: &["a GO on an asserted card"],
        },
        Forgery {
            what: "a GO resting on questions known by names only",
            made: |tried| {
                let rules = Rules { names_only_identity: Some(false), ..Rules::default() };
                let office = Office::under(Parts { rules, ..parts(1) }, |told, _| _ = told.named());
                let says =
                    ["the questions of #2, appended by tester, are known by their names only", "namesOnlyIdentity"];
                tried.command(&office, "ann", &go_on("#1", &["--with", "#2"]), &says);
                tried.command(&office, "ann", &go_on("#2", &[]), &says);
                tried.command(&office, "bob", &waive("#2", "names-only", "9d"), &["`names-only` on #2"]);
            },
            possible: "",
            forged: &[
                "a GO on questions known by names only",
                "questions known by names only, and the rule since",
                "a waiver for questions known by names only",
                "AUTHORIZED over questions known by names only",
            ],
        },
        Forgery {
            what: "the evaluator as the only approver",
            made: |tried| {
                let office = Office::under(Parts { rules: alone(), ..parts(1) }, |told, _| {
                    let all = told.regressed();
                    let compared = told.story.forge.entries[all[2].index as usize].clone();
                    let compared = proofmark::receipt::Receipt::parse(&compared).unwrap();
                    told.say(compared.statement().predicate.body.clone(), &sam());
                    told.gate(&sam());
                });
                let says = ["Sam appended #5 too", "rule appenderMayBeOnlySignoff"];
                tried.command(&office, "sam", &waive("#5", "comparison-regressed", "9d"), &says);
                // Their GO may stand beside another's, and says that it is not enough.
                let said = office.ok("sam", &go_on("#6", &[]));
                assert!(
                    said.contains("still missing: only-appender: nobody but Sam") && said.contains("a GO of: Ann, Bob")
                );
                assert_eq!(office.sandbox.run(&["authorize"]).code, 3);
            },
            possible: "",
            forged: &["the evaluator as the only approver", "the evaluator waives"],
        },
        Forgery {
            what: "a look too many",
            made: |_| {},
            possible: "whoever measured has looked, and recording it is right",
            forged: &["a look too many"],
        },
        Forgery {
            what: "a release decision that does not follow",
            made: |tried| {
                let office = Office::new();
                office.ok("ann", &go_on("#1", &["--expires", "9d"]));
                let arguments = ["authorize", "--record", "--at", "2026-12-01"];
                tried.command(&office, "ci", &arguments, &["--record goes by the clock"]);
                tried.command(&office, "ci", &["authorize", "#0", "--record"], &["only a gate run can be released"]);
            },
            possible: "",
            forged: &[
                "AUTHORIZED without a sign-off",
                "AUTHORIZED over a NO-GO",
                "AUTHORIZED that left a NO-GO out",
                "AUTHORIZED, backdated past an expiry",
                "AUTHORIZED, recorded after an expiry",
                "AUTHORIZED on what a round is",
                "AUTHORIZED over a question that must pass",
                "AUTHORIZED over what must pass, incomparable and waived",
                "questions that nobody holds",
                "questions that nobody holds, in no comparison",
                "a comparison that lets a loss pass",
                "AUTHORIZED over questions that nobody holds",
                "AUTHORIZED over a round by itself in which what must pass fails",
                "AUTHORIZED at a look too many",
                "predictions that are lost",
            ],
        },
    ]
}

/// A forged log, and the codes that `verify` must give.
struct Forged {
    what: &'static str,
    store: Memory,
    found: BTreeSet<Code>,
}

/// Every forgery in a log whose newest gate run would be released without it.
fn forged() -> Vec<Forged> {
    let decided = super::cases().into_iter().map(|case| Forged {
        what: case.what,
        store: case.store,
        found: case.found.into_iter().collect(),
    });
    let of_trust = forgeries().into_iter().map(|forgery| {
        let mut told = Told { story: Story::new() };
        told.story.round(&[], &person());
        let gate = told.gate(&person());
        told.go(gate, &[], &sam());
        assert_eq!(decide(&told.story.forge.write(), &newest()).decision, Release::Authorized);
        (forgery.forge)(&mut told.story);
        Forged { what: forgery.what, store: told.story.forge.write(), found: forgery.codes.iter().copied().collect() }
    });
    decided.chain(of_trust).collect()
}

fn newest() -> proofmark::authorize::Request {
    ask(Wanted::Newest, When::Clock(days(1)))
}

/// What is honest, and must be released.
const HONEST: [&str; 7] = [
    "questions that nobody holds, waived",
    "a comparison that lets a loss pass, waived",
    "nothing wrong",
    "a key retired after it signed",
    "a regression that is waived",
    "a GO on an asserted card that is waived",
    "an honest AUTHORIZED",
];

/// A lie that is over: the record is a finding, and the release itself is sound.
const PAST: [&str; 1] = ["AUTHORIZED about another log"];

#[test]
fn every_forgery_is_refused_when_made_found_when_forged_and_blocks() {
    let suite: Vec<_> = [keys(), versions(), signoffs(), rules()].into_iter().flatten().collect();
    let mut by_name: BTreeMap<&str, Vec<Forged>> = BTreeMap::new();
    forged().into_iter().for_each(|forged| by_name.entry(forged.what).or_default().push(forged));
    let (mut tried, mut logs, mut found, mut blocked) = (Tried::default(), 0, 0, 0);
    for Forgery { what, made, possible, forged } in &suite {
        let before = tried.0;
        made(&mut tried);
        assert_eq!(tried.0 == before, !possible.is_empty(), "{what}: refused, or it is said why not");
        let mut codes_here = BTreeSet::new();
        for name in *forged {
            for Forged { store, found: expected, .. } in by_name.remove(name).unwrap_or_else(|| panic!("{name}")) {
                logs += 1;
                let options = Options { only: None, replay: true, pin: None };
                let report = verify(&store, &options, &mut |_, _| {}).unwrap();
                let codes: BTreeSet<_> = report.findings.iter().map(|finding| finding.code).collect();
                assert_eq!(codes, expected, "{name}: {:#?}", report.findings);
                found += usize::from(!codes.is_empty());
                codes_here.extend(codes.iter().map(|code| code.as_str()));
                let document = decide(&store, &newest());
                assert_eq!(document.decision, Release::Blocked, "{name}");
                blocked += 1;
                codes_here.extend(super::codes(&document));
            }
        }
        let refused = tried.0 - before;
        let made = if possible.is_empty() { format!("refused {refused} times") } else { (*possible).to_owned() };
        println!("{what}: {made}; forged: {}", codes_here.into_iter().collect::<Vec<_>>().join(", "));
    }
    for name in HONEST {
        for Forged { store, .. } in by_name.remove(name).unwrap() {
            assert_eq!(decide(&store, &newest()).decision, Release::Authorized, "{name}");
        }
    }
    PAST.iter().for_each(|name| drop(by_name.remove(name).unwrap()));
    assert!(by_name.is_empty(), "in no part of the suite: {:?}", by_name.keys());
    println!(
        "forger suite: {} forgeries; {} attempts, all refused; {logs} forged logs, {found} with findings, {blocked} blocked",
        suite.len(),
        tried.0
    );
    assert!(tried.0 > 50 && logs > 50 && blocked == logs, "{} {logs} {blocked}", tried.0);
}
