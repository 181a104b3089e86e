//! What cases saw of a server: which verb of which resource was answered how. The tables of support
//! are made of it.

use http::Method;
use serde_json::Value;

use crate::conformance::answer::text;

/// What a request wants, as the tables name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// GET of an object.
    Get,
    /// GET of a collection.
    List,
    /// GET of a collection that goes on.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH with `application/merge-patch+json`.
    MergePatch,
    /// PATCH with `application/json-patch+json`.
    JsonPatch,
    /// PATCH with `application/strategic-merge-patch+json`.
    StrategicPatch,
    /// PATCH with `application/apply-patch+yaml`.
    Apply,
    /// DELETE of an object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
}

impl Verb {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 11] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::MergePatch,
        Self::JsonPatch,
        Self::StrategicPatch,
        Self::Apply,
        Self::Delete,
        Self::DeleteCollection,
    ];

    /// The head of its column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::MergePatch => "merge patch",
            Self::JsonPatch => "JSON patch",
            Self::StrategicPatch => "strategic patch",
            Self::Apply => "apply",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// One answer to one request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sight {
    /// `plural`, `plural.group`, either with `/subresource`.
    pub resource: String,
    /// What was wanted of it.
    pub verb: Verb,
    /// The HTTP status code.
    pub code: u16,
    /// The reason of the `Status` of a refusal; empty without.
    pub reason: String,
}

impl Sight {
    /// What a request and its answer show; nothing of a path that is no resource's, or a method
    /// that is no verb's.
    pub(super) fn of(
        method: &Method,
        path: &str,
        media: &str,
        code: u16,
        body: &Value,
    ) -> Option<Self> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let (group, rest) = match segments.as_slice() {
            ["api", "v1", rest @ ..] => ("", rest),
            ["apis", group, _version, rest @ ..] => (*group, rest),
            _ => return None,
        };
        // Groups that a case made for itself are called otherwise in each run; the old watch paths
        // are no resource, and what has an empty part is none that a table could name.
        if group.starts_with("conformance-")
            || rest.first() == Some(&"watch")
            || path.contains("//")
        {
            return None;
        }
        let (plural, name, subresource) = match rest {
            ["namespaces", _, sub @ ("status" | "finalize")] => ("namespaces", true, Some(*sub)),
            ["namespaces"] => ("namespaces", false, None),
            ["namespaces", _] => ("namespaces", true, None),
            ["namespaces", _, plural] | [plural] => (*plural, false, None),
            ["namespaces", _, plural, _] | [plural, _] => (*plural, true, None),
            ["namespaces", _, plural, _, sub] | [plural, _, sub] => (*plural, true, Some(*sub)),
            _ => return None,
        };
        let watches = query.split('&').any(|pair| {
            pair.split_once('=')
                .is_some_and(|(key, value)| key == "watch" && !["0", "false"].contains(&value))
        });
        let verb = match (method.as_str(), name) {
            ("GET", false) if watches => Verb::Watch,
            ("GET", false) => Verb::List,
            ("GET", true) => Verb::Get,
            ("POST", _) => Verb::Create,
            ("PUT", _) => Verb::Update,
            ("PATCH", _) => match media {
                "application/merge-patch+json" => Verb::MergePatch,
                "application/json-patch+json" => Verb::JsonPatch,
                "application/strategic-merge-patch+json" => Verb::StrategicPatch,
                "application/apply-patch+yaml" => Verb::Apply,
                _ => return None,
            },
            ("DELETE", true) => Verb::Delete,
            ("DELETE", false) => Verb::DeleteCollection,
            _ => return None,
        };
        let mut resource = plural.to_owned();
        if !group.is_empty() {
            resource = format!("{resource}.{group}");
        }
        if let Some(subresource) = subresource {
            resource = format!("{resource}/{subresource}");
        }
        let reason = if code >= 400 { text(body, "/reason").to_owned() } else { String::new() };
        Some(Self { resource, verb, code, reason })
    }
}
