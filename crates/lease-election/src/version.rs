//! Versions of a Lease object and the fence token of a term. Nothing here knows what a record says.

use std::cmp::Ordering;
use std::fmt;

/// One version of one Lease object: what a conditional write is conditional on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// `metadata.uid`: which object, if one of this name was deleted and made again.
    pub uid: String,
    /// `metadata.resourceVersion`: a decimal number, greater than that of every write before it in
    /// the whole store, whatever object that was to.
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
/// Those of a [`MultiStore`](crate::MultiStore) are two numbers joined by `+`: the greater one
/// counts, then the smaller. One that has changed in either part is later, and between those of one
/// part it stands where its greater part does.
pub(crate) fn compare_resource_versions(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (Numbers::of(a)?, Numbers::of(b)?);
    Some(a.greater.cmp(&b.greater).then_with(|| a.smaller.cmp(&b.smaller)))
}

/// A number as text: by its length without leading zeros, then by its digits.
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

/// What a term is called: the Lease's uid and the resource version of the write that acquired it.
///
/// Send it along with every effect that outlives a pause of this process, and let the receiver
/// refuse a token smaller than one it has seen. Later terms compare greater, also after the Lease
/// was deleted and made again, because a resource version is a revision of the whole store.
/// (`transitions` starts again after a deletion, so it is for display.)
///
/// **Not after the store was restored from a backup**: its revisions start again from there, and a
/// receiver that keeps the greatest token refuses everybody until they have caught up. Restore etcd
/// with `--bump-revision`, or let receivers compare an epoch of yours first, and raise that (see
/// docs/safety.md).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FenceToken {
    /// `metadata.uid` of the Lease.
    pub uid: String,
    /// `metadata.resourceVersion` of the write that began the term; where that write's answer was
    /// lost, of the version in which it was found, which is later if a label or an annotation
    /// was changed meanwhile. Both are above all of earlier terms and below all of later ones.
    pub resource_version: String,
    /// `spec.leaseTransitions` of that write.
    pub transitions: i32,
}

impl FenceToken {
    /// The token as one number, for receivers that keep and compare numbers, as a column of a
    /// table: the resource version, of a [`MultiStore`](crate::MultiStore)'s two the greater.
    /// `None` if it is none, or does not fit, which no known server hands out.
    ///
    /// Later terms of one API server have greater numbers, as long as its store is not restored
    /// from a backup.
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
    /// By resource version as a number; versions that are no numbers, which no known server hands
    /// out, come after all numbers and compare as text.
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
