//! The list of rules as a page of the documentation.

use std::fmt::Write;

use crate::conformance::cases;

const HEAD: &str = "# What the embedded server does as the real one

`embedded-apiserver` is run beside kube-apiserver v1.36.3 with etcd and kube-controller-manager. Each rule below is a
case that asserts what the real server does; both servers must pass it. Where the embedded one differs, on purpose or for
now, the row says how and why, and the case pins that difference: it can neither vanish nor change unseen.

The cases are in `crates/verify/src/conformance/`. `cargo test -p verify --test conformance` runs them on the embedded
server, `cargo xtask ci real` on the real one. This page is written by the former with `CONFORMANCE_PAGE=write` set, and
checked by it without.
";

/// `docs/conformance.md`, as it should be.
#[must_use]
pub fn page() -> String {
    let cases = cases();
    let differing = cases.iter().filter(|case| case.difference().is_some()).count();
    let mut page = HEAD.to_owned();
    let mut line = |text: &str| {
        // Writing to a String cannot fail.
        let _ok = writeln!(page, "{text}");
    };
    line(&format!("\n{} rules: {} the same, {differing} differ.", cases.len(), cases.len() - differing));
    let mut group = "";
    for case in &cases {
        if case.group != group {
            group = case.group;
            line(&format!("\n## {group}\n\n| case | rule | embedded |\n| --- | --- | --- |"));
        }
        let embedded =
            case.difference().map_or_else(|| "same".to_owned(), |how| format!("**differs**: {how}"));
        let cell = |text: &str| text.replace('|', "\\|");
        line(&format!("| {} | {} | {} |", case.name, cell(case.rule), cell(&embedded)));
    }
    page
}
