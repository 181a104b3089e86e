//! Version: the versions of a Lease object, and the fence token of a term.

use std::cmp::Ordering;
use std::fmt;

/// One version of one Lease object: the condition of a conditional write.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// `metadata.uid`: tells the object from a later one of the same name.
    pub uid: String,
    /// `metadata.resourceVersion`: a decimal number, greater than that of every earlier write in
    /// the whole store, to any object.
    pub resource_version: String,
}

impl Version {
    /// A version from its two parts.
    #[must_use]
    pub fn new(uid: impl Into<String>, resource_version: impl Into<String>) -> Self {
        Self { uid: uid.into(), resource_version: resource_version.into() }
    }
}

/// Compares two resource versions: decimal numbers of any length (Kubernetes 1.35, KEP-5504).
/// `None` if one is not a number.
///
/// A version of a [`MultiStore`](crate::MultiStore) is two numbers joined by `+`. The greater
/// numbers are compared first, then the smaller ones: a change of either part is later. Among
/// versions of one part it sorts by its greater number.
pub(crate) fn compare_resource_versions(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (Numbers::of(a)?, Numbers::of(b)?);
    Some(a.greater.cmp(&b.greater).then_with(|| a.smaller.cmp(&b.smaller)))
}

/// A number as text: its length without leading zeros, then its digits.
type Number<'a> = (usize, &'a str);

/// A resource version as one or two numbers.
struct Numbers<'a> {
    greater: Number<'a>,
    smaller: Number<'a>,
}

impl<'a> Numbers<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let number = |text: &'a str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let digits = text.trim_start_matches('0');
            is_number.then_some((digits.len(), digits))
        };
        let (one, other) = text.split_once('+').unwrap_or((text, text));
        let (one, other) = (number(one)?, number(other)?);
        Some(Self { greater: one.max(other), smaller: one.min(other) })
    }
}

/// The name of a term: the Lease's uid and the resource version of the write that acquired it.
///
/// Send it with every effect that outlives a pause of this process, and let the receiver refuse a
/// token smaller than one it has seen. Later terms compare greater, also after a deletion of the
/// Lease: a resource version is a revision of the whole store. (`transitions` restarts after a
/// deletion, so it is for display.)
///
/// **Not after a restore of the store from a backup**: its revisions restart from there. A receiver
/// that keeps the greatest token then refuses every leader until they have caught up. Restore etcd
/// with `--bump-revision`, or let receivers compare an epoch of yours first, and raise that (see
/// docs/safety.md).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FenceToken {
    /// `metadata.uid` of the Lease.
    pub uid: String,
    /// `metadata.resourceVersion` of the write that began the term. If its answer was lost, the
    /// elector takes that of the version in which it found the write: it is later if labels or
    /// annotations changed. Both are above all of earlier terms and below all of later ones.
    pub resource_version: String,
    /// `spec.leaseTransitions` of that write.
    pub transitions: i32,
}

impl FenceToken {
    /// The token as one number, for receivers that compare numbers, such as a table's column. It is
    /// the resource version, or the greater one of a [`MultiStore`](crate::MultiStore)'s two.
    /// `None` if it is no number, or does not fit: no known server issues such a version.
    ///
    /// Later terms of one API server have greater numbers, unless its store is restored from a
    /// backup.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        let (length, digits) = Numbers::of(&self.resource_version)?.greater;
        if length == 0 { Some(0) } else { digits.parse().ok() }
    }
}

impl fmt::Display for FenceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.uid, self.resource_version)
    }
}

impl Ord for FenceToken {
    /// By resource version as a number. Versions that are not numbers, which no known server
    /// issues, come after all numbers and compare as text.
    fn cmp(&self, other: &Self) -> Ordering {
        let is_number = |text: &str| Numbers::of(text).is_some();
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
