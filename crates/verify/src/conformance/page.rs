//! The list of rules as a page of the documentation, and the tables that are made of what the cases
//! saw.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::conformance::case::Case;
use crate::conformance::must_haves::MUST_HAVES;
use crate::conformance::refusals::REFUSALS;
use crate::conformance::seen::{Sight, Verb};
use crate::conformance::suite::cases;

const HEAD: &str = "# What the embedded server does as the real one

`embedded-apiserver` is run beside kube-apiserver v1.36.3 with etcd and kube-controller-manager. Each rule below is a
case that asserts what the real server does; both servers must pass it. Where the embedded one differs, on purpose or for
now, the row says how and why, and the case pins that difference: it can neither vanish nor change unseen.

The cases are in `crates/verify/src/conformance/`. `cargo test -p verify --test conformance` runs them on the embedded
server, in process and over a socket, `cargo xtask ci conformance` on the real one too. This page is written by the former
with `CONFORMANCE_PAGE=write` set, and checked by it without; nothing in its tables is written by hand.
";

/// `docs/conformance.md`, as it should be after a run that saw this.
#[must_use]
pub fn page(sights: &BTreeSet<Sight>) -> String {
    let cases = cases();
    let differing: Vec<_> =
        cases.iter().filter_map(|case| Some((case.full_name(), case.difference()?))).collect();
    let mut page = HEAD.to_owned();
    let mut line = |text: &str| {
        // Writing to a String cannot fail.
        let _ok = writeln!(page, "{text}");
    };
    line(&format!(
        "\n{} rules: {} the same, {} differ.",
        cases.len(),
        cases.len() - differing.len(),
        differing.len()
    ));
    if !differing.is_empty() {
        line("\n## What differs\n\n| case | how and why |\n| --- | --- |");
        for (name, how) in &differing {
            line(&format!("| {name} | {} |", cell(how)));
        }
    }
    line("\n## What must be there\n\n| | point | cases |\n| --- | --- | --- |");
    for point in &MUST_HAVES {
        let count = cases.iter().filter(|case| point.has(&case.full_name())).count();
        line(&format!("| {} | {} | {count} |", point.number, point.what));
    }
    line("\n## Verbs by kinds\n");
    line(SUPPORT_LEGEND);
    line(&support(sights));
    line(
        "## Verbs by refusals\n\nA mark stands where a case that both servers pass was refused so.\n",
    );
    line(&refusals(sights));
    rules(&cases, &mut line);
    page
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn rules(cases: &[Case], line: &mut impl FnMut(&str)) {
    let mut group = "";
    for case in cases {
        if case.group != group {
            group = case.group;
            line(&format!("\n## {group}\n\n| case | rule | embedded |\n| --- | --- | --- |"));
        }
        let embedded = case
            .difference()
            .map_or_else(|| "same".to_owned(), |how| format!("**differs**: {how}"));
        line(&format!("| {} | {} | {} |", case.name, cell(case.rule), cell(&embedded)));
    }
}

const SUPPORT_LEGEND: &str = "`yes`: a case that both servers pass saw it succeed. A number: the real server refuses it, with this code, and the \
embedded one as well. Empty: no case asks for it.\n";

/// The table of verbs by kinds, as a run saw it.
#[must_use]
pub fn support(sights: &BTreeSet<Sight>) -> String {
    let mut rows: BTreeMap<&str, BTreeMap<Verb, BTreeSet<u16>>> = BTreeMap::new();
    for sight in sights {
        rows.entry(&sight.resource).or_default().entry(sight.verb).or_default().insert(sight.code);
    }
    // What nothing was ever done with is no resource: a misspelt path, a subresource that the kind
    // does not have.
    rows.retain(|resource, verbs| {
        !resource.contains('%') && verbs.values().flatten().any(|code| *code < 300)
    });
    let mut table = head("resource");
    for (resource, verbs) in rows {
        let cells = Verb::ALL.map(|verb| match verbs.get(&verb) {
            None => String::new(),
            Some(codes) if codes.iter().any(|code| *code < 300) => "yes".to_owned(),
            // Other refusals depend on what was sent.
            Some(codes) => [405, 415, 501]
                .into_iter()
                .find(|code| codes.contains(code))
                .map_or_else(String::new, |code| code.to_string()),
        });
        // Writing to a String cannot fail.
        let _ok = writeln!(table, "| {resource} | {} |", cells.join(" | "));
    }
    table
}

fn refusals(sights: &BTreeSet<Sight>) -> String {
    let mut table = head("refusal");
    for refusal in REFUSALS.iter().filter(|refusal| !refusal.verbs.is_empty()) {
        let cells = Verb::ALL.map(|verb| {
            let seen = |sight: &Sight| {
                (sight.verb, sight.code, sight.reason.as_str())
                    == (verb, refusal.code, refusal.reason)
            };
            if sights.iter().any(seen) { "x" } else { "" }
        });
        let reason = if refusal.reason.is_empty() { "(no reason)" } else { refusal.reason };
        let _ok = writeln!(table, "| {} {reason} | {} |", refusal.code, cells.join(" | "));
    }
    table
}

fn head(first: &str) -> String {
    let verbs = Verb::ALL.map(Verb::name).join(" | ");
    format!("| {first} | {verbs} |\n|{}\n", " --- |".repeat(Verb::ALL.len() + 1))
}
