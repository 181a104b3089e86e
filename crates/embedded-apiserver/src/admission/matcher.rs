//! Which writes a webhook or a policy is about: its rules, its selectors and its match policy
//! (k8s.io/apiserver/pkg/admission/plugin/policy/matching and plugin/webhook/predicates).

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::admission::subject::{Matched, Subject, labels};
use crate::strategy::builtin::label_selector;
use crate::strategy::resource::ServedResource;

#[cfg(test)]
mod tests;

/// The rules and selectors of a webhook, or of a policy's `MatchResources`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Matcher {
    #[serde(alias = "rules")]
    resource_rules: Vec<Rule>,
    exclude_resource_rules: Vec<Rule>,
    match_policy: String,
    namespace_selector: Value,
    object_selector: Value,
    /// Whether no rule at all means every resource.
    #[serde(skip)]
    needs_no_rule: bool,
}

/// `RuleWithOperations`, with the names that only policies have.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    operations: Vec<String>,
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    scope: Option<String>,
    resource_names: Vec<String>,
}

/// The namespace whose labels a selector asks for does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoNamespace(pub(crate) String);

impl fmt::Display for NoNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "namespaces {:?} not found", self.0)
    }
}

impl Matcher {
    /// Reads a webhook of a configuration.
    pub(crate) fn of_webhook(webhook: &Value) -> Self {
        Self::deserialize(webhook).unwrap_or_default()
    }

    /// Reads the `MatchResources` of a policy or a binding. Without rules it matches every
    /// resource.
    pub(crate) fn of_resources(resources: &Value) -> Self {
        Self { needs_no_rule: true, ..Self::of_webhook(resources) }
    }

    /// Returns the version in which it matches a write; `None` if it does not match.
    ///
    /// # Errors
    ///
    /// All else matches, and the namespace for the selector does not exist.
    pub(crate) fn matches(&self, subject: &Subject<'_>) -> Result<Option<Matched>, NoNamespace> {
        let in_namespace = self.selects_namespace(subject);
        if in_namespace == Ok(false)
            || !self.selects_object(subject)
            || self.matching(&self.exclude_resource_rules, subject).is_some()
        {
            return Ok(None);
        }
        let matched = if self.needs_no_rule && self.resource_rules.is_empty() {
            Some(Matched::default())
        } else {
            self.matching(&self.resource_rules, subject)
        };
        match matched {
            Some(matched) => in_namespace.map(|_| Some(matched)),
            None => Ok(None),
        }
    }

    #[doc(alias = "MatchNamespaceSelector")]
    fn selects_namespace(&self, subject: &Subject<'_>) -> Result<bool, NoNamespace> {
        let name = subject.namespace_name();
        if (name.is_empty() && subject.request.resource != "namespaces")
            || label_selector::is_empty(&self.namespace_selector)
        {
            return Ok(true);
        }
        let labels = subject.namespace_labels().ok_or_else(|| NoNamespace(name.to_owned()))?;
        Ok(label_selector::matches(&self.namespace_selector, labels))
    }

    #[doc(alias = "MatchObjectSelector")]
    fn selects_object(&self, subject: &Subject<'_>) -> bool {
        let selects = |object: &Value| {
            !object.is_null()
                && label_selector::matches(&self.object_selector, labels(object.get("metadata")))
        };
        label_selector::is_empty(&self.object_selector)
            || selects(&subject.request.object)
            || selects(&subject.request.old_object)
    }

    /// The version in which the first of these rules matches: that of the request, or another one
    /// if the match policy is `Equivalent`.
    #[doc(alias = "matchesResourceRules")]
    fn matching(&self, rules: &[Rule], subject: &Subject<'_>) -> Option<Matched> {
        if rules.iter().any(|rule| rule.matches(subject, subject.kind)) {
            return Some(Matched::default());
        }
        if self.match_policy != "Equivalent" {
            return None;
        }
        let others = || {
            let is_same = |other: &ServedResource| {
                (other.group(), other.version()) == (subject.kind.group(), subject.kind.version())
            };
            let has_part = |other: &ServedResource| match subject.subresource() {
                "status" => other.has_status(),
                "scale" => other.scale_paths().is_some(),
                _ => true,
            };
            subject.versions.iter().filter(move |other| !is_same(other) && has_part(other))
        };
        rules.iter().find_map(|rule| {
            let found = others().find(|other| rule.matches(subject, other))?;
            Some(Matched(Some(found.clone())))
        })
    }
}

impl Rule {
    /// Whether it matches the write, as one of a version of its kind.
    fn matches(&self, subject: &Subject<'_>, version: &ServedResource) -> bool {
        let any =
            |known: &[String], said: &str| known.iter().any(|known| known == "*" || known == said);
        self.matches_scope(subject)
            && any(&self.operations, subject.request.operation.as_str())
            && any(&self.api_groups, version.group())
            && any(&self.api_versions, version.version())
            && self.matches_resource(version.plural(), subject.subresource())
            && (self.resource_names.is_empty()
                || self.resource_names.contains(&subject.request.name))
    }

    fn matches_scope(&self, subject: &Subject<'_>) -> bool {
        let in_namespace = !subject.is_namespace() && !subject.namespace_name().is_empty();
        match self.scope.as_deref() {
            None | Some("*") => true,
            Some("Namespaced") => in_namespace,
            Some("Cluster") => !in_namespace,
            Some(_) => false,
        }
    }

    fn matches_resource(&self, resource: &str, subresource: &str) -> bool {
        let is = |pattern: &str, said: &str| pattern == "*" || pattern == said;
        self.resources.iter().any(|pattern| {
            let (object, part) = pattern.split_once('/').unwrap_or((pattern, ""));
            is(object, resource) && is(part, subresource)
        })
    }
}
