//! Versions of a Lease object and the fence token of a term. Nothing here knows what a record says.

use std::cmp::Ordering;
use std::fmt;

use crate::planted::planted;

/// One version of one Lease object: what a conditional write is conditional on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// `metadata.uid`: which object, if one of this name was deleted and made again.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
}

impl Version {
    /// A version from its two parts.
    #[must_use]
    pub fn new(uid: impl Into<String>, resource_version: impl Into<String>) -> Self {
        Self { uid: uid.into(), resource_version: resource_version.into() }
    }
}

/// Compares two resource versions: decimal numbers of any length (Kubernetes 1.35, KEP-5504). `None` if one is not a number.
pub(crate) fn compare_resource_versions(a: &str, b: &str) -> Option<Ordering> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !number(a) || !number(b) {
        return None;
    }
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    Some(a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
}

/// What a term is called: the Lease's uid and the resource version of the write that acquired it.
///
/// Send it along with every effect that outlives a pause of this process, and let the receiver refuse a token smaller than one it has seen.
/// Later terms compare greater, also after the Lease was deleted and made again, because a resource version is a revision of the whole store.
/// (`transitions` starts again after a deletion, so it is for display.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FenceToken {
    /// `metadata.uid` of the Lease.
    pub uid: String,
    /// `metadata.resourceVersion` of the write that began the term.
    pub resource_version: String,
    /// `spec.leaseTransitions` of that write.
    pub transitions: i32,
}

impl fmt::Display for FenceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.uid, self.resource_version)
    }
}

impl Ord for FenceToken {
    /// By resource version as a number; versions that are no numbers, which no known server hands out, come after all numbers and compare as text.
    fn cmp(&self, other: &Self) -> Ordering {
        if planted("fence-by-transitions") {
            return self.transitions.cmp(&other.transitions);
        }
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        compare_resource_versions(&self.resource_version, &other.resource_version)
            .unwrap_or_else(|| {
                is_number(&other.resource_version)
                    .cmp(&is_number(&self.resource_version))
                    .then_with(|| self.resource_version.cmp(&other.resource_version))
            })
            .then_with(|| self.resource_version.cmp(&other.resource_version))
            .then_with(|| self.uid.cmp(&other.uid))
            .then_with(|| self.transitions.cmp(&other.transitions))
    }
}

impl PartialOrd for FenceToken {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
