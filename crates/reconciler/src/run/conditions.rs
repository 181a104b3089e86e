//! `Conditions`: sets the conditions of a status as the API conventions want them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// The conditions of a status: `status.conditions.set("Ready", true, "Synced")`.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
/// use reconciler::Conditions as _;
///
/// let mut conditions: Vec<Condition> = Vec::new();
/// conditions.set("Ready", false, "Starting").message = "0 of 3 replicas".to_owned();
/// assert_eq!(conditions.find("Ready").unwrap().status, "False");
/// ```
#[doc(alias = "SetStatusCondition")]
pub trait Conditions {
    /// Sets a condition, and returns it. `reason` is one word in CamelCase.
    ///
    /// The transition time changes only with the status. The message is empty, and
    /// [`Context::update_status`](crate::Context::update_status) fills the observed generation.
    fn set(&mut self, kind: &str, status: impl Into<Option<bool>>, reason: &str) -> &mut Condition;

    /// Returns the condition of this type.
    #[doc(alias = "FindStatusCondition")]
    fn find(&self, kind: &str) -> Option<&Condition>;
}

impl Conditions for Vec<Condition> {
    fn set(&mut self, kind: &str, status: impl Into<Option<bool>>, reason: &str) -> &mut Condition {
        let status = match status.into() {
            Some(true) => "True",
            Some(false) => "False",
            None => "Unknown",
        };
        let held = self.iter().position(|held| held.type_ == kind);
        let at = held.unwrap_or(self.len());
        let since = self.get(at).filter(|held| held.status == status);
        let condition = Condition {
            last_transition_time: match since {
                Some(held) => held.last_transition_time.clone(),
                None => Time(Timestamp::now()),
            },
            message: String::new(),
            observed_generation: None,
            reason: reason.to_owned(),
            status: status.to_owned(),
            type_: kind.to_owned(),
        };
        if held.is_some() {
            self[at] = condition;
        } else {
            self.push(condition);
        }
        &mut self[at]
    }

    fn find(&self, kind: &str) -> Option<&Condition> {
        self.iter().find(|held| held.type_ == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let mut conditions = Vec::new();
        conditions.set("Ready", false, "Starting");
        let long_ago = Time(Timestamp::UNIX_EPOCH);
        conditions[0].last_transition_time = long_ago.clone();
        conditions.set("Ready", false, "Waiting").message = "for a volume".to_owned();
        conditions.set("Degraded", None, "Asked");
        let ready = conditions.find("Ready").unwrap();
        assert_eq!(ready.last_transition_time, long_ago);
        assert_eq!((&*ready.reason, &*ready.message), ("Waiting", "for a volume"));
        conditions.set("Ready", true, "Synced");
        assert!(conditions.find("Ready").unwrap().last_transition_time != long_ago);
        let shown: Vec<_> = conditions.iter().map(|held| (&*held.type_, &*held.status)).collect();
        assert_eq!(shown, [("Ready", "True"), ("Degraded", "Unknown")]);
    }
}
