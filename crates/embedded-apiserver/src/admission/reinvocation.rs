//! Which mutating webhooks are called a second time. Pure.

use std::collections::BTreeSet;

/// The calls of one write so far, by the uids of the webhooks.
#[derive(Debug, Default)]
#[doc(alias = "webhookReinvokeContext")]
pub(crate) struct Reinvocation {
    /// Called since the last change, and to be called again after the next.
    called: BTreeSet<String>,
    due: BTreeSet<String>,
    is_needed: bool,
}

impl Reinvocation {
    /// Notes a call: whether it changed the object, and whether the webhook wants to see later
    /// changes.
    pub(crate) fn note(&mut self, uid: &str, changed: bool, is_reinvoked: bool) {
        if changed {
            self.due.append(&mut self.called);
            self.is_needed = true;
        }
        if is_reinvoked {
            self.called.insert(uid.to_owned());
        }
    }

    /// Whether a second round begins.
    pub(crate) const fn is_needed(&self) -> bool {
        self.is_needed
    }

    /// Whether the second round calls this webhook.
    pub(crate) fn is_due(&self, uid: &str) -> bool {
        self.due.contains(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_due_if_a_later_one_changed_the_object() {
        let mut calls = Reinvocation::default();
        calls.note("a", true, true);
        calls.note("b", false, true);
        assert!(calls.is_needed());
        assert!(!calls.is_due("a") && !calls.is_due("b"));
        calls.note("c", true, false);
        assert!(calls.is_due("a") && calls.is_due("b") && !calls.is_due("c"));
    }

    #[test]
    fn in_the_second_round_too_a_change_makes_those_after_the_last_change_due() {
        let mut calls = Reinvocation::default();
        calls.note("a", false, true);
        calls.note("b", true, false);
        calls.note("c", false, true);
        assert!(calls.is_due("a") && !calls.is_due("c"));
        calls.note("a", true, true);
        assert!(calls.is_due("c"));
    }
}
