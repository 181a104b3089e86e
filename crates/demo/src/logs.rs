//! Which lines of the processes' logs concern what failed. Pure.

use std::collections::BTreeSet;

use uuid::Uuid;

/// Lines shown of one log.
///
/// More than [`control_plane`] quotes of a program's log, so that the line that says which program
/// it was is among them.
const MOST: usize = 20;
/// Characters in a UID.
const UID: usize = 36;

/// What one process has logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Log {
    /// The process.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The last lines of each log that concern these failures; logs without such lines are left out.
///
/// A failure that names UIDs concerns the lines with one of them. Any other failure concerns every
/// line of the processes that it names.
pub(crate) fn concerning(logs: &[Log], failures: &[String]) -> Vec<Log> {
    let mut all_uids = BTreeSet::new();
    let mut processes = BTreeSet::new();
    for failure in failures {
        let named = uids(failure);
        if named.is_empty() {
            processes.extend(
                logs.iter().map(|log| log.name.as_str()).filter(|name| has_word(failure, name)),
            );
        }
        all_uids.extend(named);
    }
    let excerpt = |log: &Log| {
        let is_named = processes.contains(log.name.as_str());
        let concerns = |line: &&str| is_named || all_uids.iter().any(|uid| line.contains(uid));
        let lines: Vec<&str> = log.text.lines().filter(concerns).collect();
        let last = lines.get(lines.len().saturating_sub(MOST)..).unwrap_or_default();
        (!last.is_empty()).then(|| Log { name: log.name.clone(), text: last.join("\n") })
    };
    logs.iter().filter_map(excerpt).collect()
}

/// Every UID in a text.
fn uids(text: &str) -> BTreeSet<&str> {
    let starts = 0..text.len().saturating_sub(UID).saturating_add(1);
    let candidates = starts.filter_map(|start| text.get(start..start.saturating_add(UID)));
    candidates.filter(|candidate| Uuid::try_parse(candidate).is_ok()).collect()
}

/// Whether a text has this word: `replica-1` is not in `replica-12`.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|found| found == word)
}

#[cfg(test)]
mod tests {
    use super::{Log, MOST, concerning};

    const ONE: &str = "5f0a9c1e-6d3f-4a52-9d0e-0b8f2c7a1e01";
    const OTHER: &str = "5f0a9c1e-6d3f-4a52-9d0e-0b8f2c7a1e02";

    fn logs() -> [Log; 3] {
        let log = |name: &str, text: String| Log { name: name.to_owned(), text };
        [
            log(
                "replica-1",
                format!("started\nprovisioned volume=pvc-{ONE}\nprovisioned volume=pvc-{OTHER}\n"),
            ),
            log("replica-12", "started\n".to_owned()),
            log("server", String::new()),
        ]
    }

    fn shown(failures: &[&str]) -> Vec<(String, String)> {
        let failures: Vec<_> = failures.iter().map(|failure| (*failure).to_owned()).collect();
        concerning(&logs(), &failures).into_iter().map(|log| (log.name, log.text)).collect()
    }

    #[test]
    fn a_failure_of_a_claim_concerns_the_lines_with_its_uid() {
        let line = ("replica-1".to_owned(), format!("provisioned volume=pvc-{ONE}"));
        assert_eq!(
            shown(&[&format!(
                "lost: claim team-a/claim-00001 (uid {ONE}): it is not on the server"
            )]),
            [line]
        );
        let strange = format!("orphaned: directory /x/pvc-{}: left behind", ONE.replace('1', "7"));
        assert!(shown(&[&strange]).is_empty());
    }

    #[test]
    fn a_failure_of_a_process_concerns_its_last_lines() {
        let all = ("replica-12".to_owned(), "started".to_owned());
        assert_eq!(shown(&["replica-12 ended by itself (exit status: 3)"]), [all]);
        assert!(shown(&["no leader was ended this way"]).is_empty());
        let long =
            Log { name: "server".to_owned(), text: (0..100).map(|i| format!("{i}\n")).collect() };
        let found = concerning(&[long], &["the server does not answer".to_owned()]);
        assert_eq!(found[0].text.lines().count(), MOST);
        assert!(found[0].text.ends_with("\n99"), "{found:?}");
    }

    #[test]
    fn a_text_of_several_bytes_a_character_is_looked_through_too() {
        assert!(shown(&[&format!("é{}", "ü".repeat(40))]).is_empty());
        assert_eq!(shown(&[&format!("ü{ONE}ü"), "replica-7"]).len(), 1);
    }
}
