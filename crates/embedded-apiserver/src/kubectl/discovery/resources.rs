//! The resource of a kind, its subresources and verbs; the order of groups and versions.

use std::cmp::Reverse;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::strategy::builtin::named_create::NamedCreate;
use crate::strategy::registry::Registry;
use crate::strategy::resource::ServedResource;
use crate::strategy::reviews;

/// A subresource in discovery.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subresource {
    pub(super) name: &'static str,
    /// Group, version and kind of its objects, if they differ from the kind's. The group and the
    /// version are empty if they are those of the kind.
    pub(super) shows: Option<(&'static str, &'static str, &'static str)>,
    pub(super) verbs: &'static [&'static str],
}

const READ_AND_WRITE: &[&str] = &["get", "patch", "update"];
const SCALE: Subresource = Subresource {
    name: "scale",
    shows: Some(("autoscaling", "v1", "Scale")),
    verbs: READ_AND_WRITE,
};
const STATUS: Subresource = Subresource { name: "status", shows: None, verbs: READ_AND_WRITE };
const APPROVAL: Subresource = Subresource { name: "approval", shows: None, verbs: READ_AND_WRITE };
const FINALIZE: Subresource = Subresource { name: "finalize", shows: None, verbs: &["update"] };

/// The verbs of a kind, in upstream's order.
pub(super) fn verbs(kind: &ServedResource) -> Vec<&'static str> {
    let mut verbs = match kind.is_built_in() {
        true if !reviews::is_stored(kind) => vec!["create"],
        true => {
            vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        }
        false => {
            vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        }
    };
    verbs.retain(|verb| *verb != "deletecollection" || kind.strategy().deletes_collections());
    verbs
}

/// The served subresources, without unimplemented ones: clients look here for usable ones.
pub(super) fn subresources(kind: &ServedResource) -> Vec<Subresource> {
    let mut all = Vec::new();
    if kind.strategy().has_finalize() {
        all.push(FINALIZE);
    }
    if kind.strategy().has_approval() {
        all.push(APPROVAL);
    }
    if kind.has_status() {
        all.push(STATUS);
    }
    if kind.scale_paths().is_some() {
        all.push(SCALE);
    }
    all.extend(NamedCreate::of_kind(kind).map(|create| {
        let shows = match create {
            NamedCreate::Binding => ("", "", "Binding"),
            NamedCreate::Eviction => ("policy", "v1", "Eviction"),
            NamedCreate::Token => (reviews::AUTHENTICATION, "v1", "TokenRequest"),
        };
        Subresource { name: create.subresource(), shows: Some(shows), verbs: &["create"] }
    }));
    // Sorted by name. For custom kinds the status comes first.
    if kind.is_built_in() {
        all.sort_by_key(|subresource| subresource.name);
    }
    all
}

/// The entries of a kind in an APIResourceList.
pub(super) fn listed(kind: &ServedResource) -> Vec<Value> {
    let mut resource = json!({
        "name": kind.plural(),
        "singularName": kind.singular(),
        "namespaced": kind.is_namespaced(),
        "kind": kind.kind(),
        "verbs": verbs(kind),
    });
    if reviews::is_stored(kind) {
        resource["storageVersionHash"] = storage_version_hash(kind).into();
    }
    if !kind.short_names().is_empty() {
        resource["shortNames"] = kind.short_names().into();
    }
    if !kind.categories().is_empty() {
        resource["categories"] = kind.categories().into();
    }
    let mut all = vec![resource];
    all.extend(subresources(kind).into_iter().map(|subresource| {
        let mut entry = json!({
            "name": format!("{}/{}", kind.plural(), subresource.name),
            "singularName": "",
            "namespaced": kind.is_namespaced(),
            "kind": kind.kind(),
            "verbs": subresource.verbs,
        });
        if let Some((group, version, kind)) = subresource.shows {
            if !version.is_empty() {
                entry["group"] = group.into();
                entry["version"] = version.into();
            }
            entry["kind"] = kind.into();
        }
        entry
    }));
    all
}

/// `StorageVersionHash` of k8s.io/apiserver/pkg/endpoints/discovery.
fn storage_version_hash(kind: &ServedResource) -> String {
    let name = format!("{}/{}/{}", kind.group_of_rules(), kind.stored_version(), kind.kind());
    let hash = Sha256::digest(name.as_bytes());
    STANDARD.encode(hash.get(..8).unwrap_or_default())
}

/// The order of Kubernetes' groups (`groupPriorityMinimum` of
/// pkg/controlplane/apiserver/aggregator.go).
const ORDER: &[&str] = &[
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// The named groups: Kubernetes' own, then the others by name.
pub(super) fn ordered_groups(registry: &Registry) -> Vec<(String, Vec<String>)> {
    let groups = registry.groups();
    let named = groups.into_iter().filter(|(name, _)| !name.is_empty());
    let owned = |(name, versions): (&str, Vec<&str>)| {
        (name.to_owned(), versions.into_iter().map(str::to_owned).collect())
    };
    let mut named: Vec<(String, Vec<String>)> = named.map(owned).collect();
    let rank = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    named.sort_by(|(a, _), (b, _)| (rank(a), a).cmp(&(rank(b), b)));
    named
}

/// The versions, the most stable and newest first.
pub(super) fn ordered_versions<S: AsRef<str>>(versions: &[S]) -> Vec<&str> {
    let mut versions: Vec<&str> = versions.iter().map(AsRef::as_ref).collect();
    versions.sort_by_key(|version| Reverse(stability(version)));
    versions
}

/// v2, v1, v1beta2, v1beta1, v1alpha1, then all others.
fn stability(version: &str) -> (u8, u64, u64) {
    let parse = || {
        let rest = version.strip_prefix('v')?;
        let number = |text: &str| text.parse::<u64>().ok();
        for (word, rank) in [("beta", 1), ("alpha", 0)] {
            if let Some((major, minor)) = rest.split_once(word) {
                return Some((rank, number(major)?, number(minor)?));
            }
        }
        Some((2, number(rest)?, 0))
    };
    parse().map_or((0, 0, 0), |(rank, major, minor)| (rank + 1, major, minor))
}
