//! The conditions of a terminating namespace, in the words of
//! pkg/controller/namespace/deletion/status_condition_utils.go.

use k8s_openapi::api::core::v1::NamespaceCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::BTreeMap;

/// The remaining content of a namespace.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Left {
    /// The number of objects, by `plural.group`.
    pub(super) objects: BTreeMap<String, usize>,
    /// The number of objects that each finalizer holds.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// The errors of the deletes.
    pub(super) failures: Vec<String>,
}

impl Left {
    pub(super) fn is_nothing(&self) -> bool {
        self.objects.is_empty() && self.failures.is_empty()
    }
}

/// Returns the conditions for the remaining content. An unchanged condition keeps its transition
/// time.
pub(super) fn conditions(
    before: &[NamespaceCondition],
    left: &Left,
    now: &Time,
) -> Vec<NamespaceCondition> {
    let counted = |all: &BTreeMap<String, usize>, has: &str| {
        let each =
            all.iter().map(|(name, count)| format!("{name} {has} {count} resource instances"));
        each.collect::<Vec<_>>().join(", ")
    };
    let content = match left.failures.is_empty() {
        true => (
            false,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization".to_owned(),
        ),
        false => (
            true,
            "ContentDeletionFailed",
            format!(
                "Failed to delete all resource types, {} remaining: {}",
                left.failures.len(),
                left.failures.join(", ")
            ),
        ),
    };
    let remaining = match left.objects.is_empty() {
        true => (false, "ContentRemoved", "All content successfully removed".to_owned()),
        false => (
            true,
            "SomeResourcesRemain",
            format!("Some resources are remaining: {}", counted(&left.objects, "has")),
        ),
    };
    let held = match left.finalizers.is_empty() {
        true => (
            false,
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished".to_owned(),
        ),
        false => (
            true,
            "SomeFinalizersRemain",
            format!(
                "Some content in the namespace has finalizers remaining: {}",
                counted(&left.finalizers, "in")
            ),
        ),
    };
    let all = [
        (
            "NamespaceDeletionDiscoveryFailure",
            (false, "ResourcesDiscovered", "All resources successfully discovered".to_owned()),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            (false, "ParsedGroupVersions", "All legacy kube types successfully parsed".to_owned()),
        ),
        ("NamespaceDeletionContentFailure", content),
        ("NamespaceContentRemaining", remaining),
        ("NamespaceFinalizersRemaining", held),
    ];
    let conditions = all.into_iter().map(|(type_, (holds, reason, message))| {
        let status = if holds { "True" } else { "False" };
        let old = before.iter().find(|old| old.type_ == type_);
        let same = old.filter(|old| old.status == status && old.reason.as_deref() == Some(reason));
        let since =
            same.and_then(|old| old.last_transition_time.clone()).unwrap_or_else(|| now.clone());
        NamespaceCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_transition_time: Some(since),
        }
    });
    let ours: Vec<_> = conditions.collect();
    let theirs = before.iter().filter(|old| ours.iter().all(|own| own.type_ != old.type_)).cloned();
    theirs.collect::<Vec<_>>().into_iter().chain(ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Time {
        Time(jiff::Timestamp::from_second(second).unwrap())
    }

    #[test]
    fn what_is_left_is_counted_by_kind_and_by_finalizer() {
        let left = Left {
            objects: [("configmaps.".to_owned(), 2), ("deployments.apps".to_owned(), 1)].into(),
            finalizers: [("example.com/f".to_owned(), 2)].into(),
            failures: Vec::new(),
        };
        let said = conditions(&[], &left, &time(1));
        let words: Vec<_> = said
            .iter()
            .map(|c| (c.type_.as_str(), c.status.as_str(), c.message.clone().unwrap()))
            .collect();
        assert_eq!(words[3], ("NamespaceContentRemaining", "True", "Some resources are remaining: configmaps. has 2 resource instances, deployments.apps has 1 resource instances".to_owned()));
        assert_eq!(words[4], ("NamespaceFinalizersRemaining", "True", "Some content in the namespace has finalizers remaining: example.com/f in 2 resource instances".to_owned()));
        assert!(!left.is_nothing());
    }

    #[test]
    fn a_condition_that_stays_keeps_its_time_and_others_conditions_stay() {
        let other = NamespaceCondition {
            type_: "Other".to_owned(),
            status: "True".to_owned(),
            ..Default::default()
        };
        let left = Left { objects: [("pods.".to_owned(), 1)].into(), ..Left::default() };
        let mut before = vec![other.clone()];
        before.extend(conditions(&[], &left, &time(1)));
        let after = conditions(&before, &Left::default(), &time(2));
        assert_eq!(after[0], other);
        let times: Vec<_> =
            after[1..].iter().map(|c| c.last_transition_time.clone().unwrap()).collect();
        assert_eq!(
            times,
            [time(1), time(1), time(1), time(2), time(1)],
            "only the content that remained has changed"
        );
        assert_eq!(conditions(&after, &Left::default(), &time(3)), after);
    }
}
