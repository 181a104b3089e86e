//! Why a key runs: the sources that named it since its last run and their changes, merged into a
//! few bits.
//!
//! Reasons explain a run but carry no state: a reconcile reads the state itself.

use std::fmt;
use std::sync::Arc;

use crate::ChangeKind;

/// Sources beyond this many share the last bit.
const SOURCES: usize = 32;

/// The merged reasons of one run: one bit for each source and each kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reasons {
    appeared: u32,
    changed: u32,
    vanished: u32,
    /// The weights of the changes.
    weights: u8,
    named: u32,
    added: bool,
    requeued: bool,
    carried: bool,
    /// The retry of a failed run is due.
    retried: bool,
    /// A weak event, although nothing has changed.
    resynced: bool,
}

/// A change of another object, or of more than the status: a strong event.
const STRONG: u8 = 1;
/// A change of only the object's own status: a weak event.
const STATUS: u8 = 2;
/// A write of the key's own run: a weak event.
const OWN: u8 = 4;
/// A change that may be of the key's own run: see [`Reasons::judged`].
const UNJUDGED: u8 = 8;

/// The number of a source within its controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceNumber(u32);

impl SourceNumber {
    pub(crate) fn new(index: usize) -> Self {
        let last = SOURCES.saturating_sub(1);
        Self(u32::try_from(index.min(last)).unwrap_or(0))
    }

    fn bit(self) -> u32 {
        1_u32.checked_shl(self.0).unwrap_or(0)
    }
}

/// One reason why a key runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason<'a> {
    /// The source saw an object change.
    Change {
        /// The source's name.
        source: &'a str,
        /// The kind of the change.
        kind: ChangeKind,
    },
    /// A stream named the key.
    Named {
        /// The source's name.
        source: &'a str,
    },
    /// A [`Handle`](crate::Handle) added the key.
    Added,
    /// An earlier run requested a requeue.
    #[doc(alias = "RequeueAfter")]
    Requeued,
    /// An earlier run failed.
    Retried,
    /// The interval of [`Controller::resync`](crate::Controller::resync) is over.
    Resynced,
    /// An earlier term of leadership in this process left the key undone.
    CarriedOver,
}

impl Reasons {
    pub(crate) fn change(source: SourceNumber, kind: ChangeKind) -> Self {
        let mut reasons = Self { weights: STRONG, ..Self::default() };
        match kind {
            ChangeKind::Appeared => reasons.appeared = source.bit(),
            ChangeKind::Changed => reasons.changed = source.bit(),
            ChangeKind::Vanished => reasons.vanished = source.bit(),
        }
        reasons
    }

    /// A change of only the object's own status.
    pub(crate) fn status(source: SourceNumber) -> Self {
        Self { changed: source.bit(), weights: STATUS, ..Self::default() }
    }

    /// The same change as one of the key's own run.
    pub(crate) fn own(self) -> Self {
        Self { weights: OWN, ..self }
    }

    /// The same change, to be weighed before the key runs.
    pub(crate) fn unjudged(self) -> Self {
        Self { weights: UNJUDGED, ..self }
    }

    pub(crate) fn are_unjudged(self) -> bool {
        self.weights & UNJUDGED != 0
    }

    /// The reasons with the weights of their unjudged changes. Without these they are strong.
    pub(crate) fn judged(self, changes: impl Iterator<Item = Self>) -> Self {
        let found = changes.fold(0, |weights, change| weights | change.weights);
        let found = if found == 0 { STRONG } else { found };
        Self { weights: self.weights & !UNJUDGED | found, ..self }
    }

    pub(crate) fn named(source: SourceNumber) -> Self {
        Self { named: source.bit(), ..Self::default() }
    }

    pub(crate) fn added() -> Self {
        Self { added: true, ..Self::default() }
    }

    pub(crate) fn retried() -> Self {
        Self { retried: true, ..Self::default() }
    }

    pub(crate) fn resynced() -> Self {
        Self { resynced: true, ..Self::default() }
    }

    pub(crate) fn are_added(self) -> bool {
        self.added
    }

    /// Whether only events named the key, and no retry of it is due.
    pub(crate) fn are_events(self) -> bool {
        !self.retried && self != Self::default()
    }

    /// Whether only weak events named the key.
    pub(crate) fn are_weak(self) -> bool {
        let changes = Self { resynced: false, ..self };
        let are_only = changes.are_changes() || self == Self::resynced();
        are_only && self.weights & (STRONG | UNJUDGED) == 0
    }

    /// Whether only writes of the key's own runs named the key.
    pub(crate) fn are_own(self) -> bool {
        self.are_changes() && self.weights == OWN
    }

    fn are_changes(self) -> bool {
        let Self { appeared, changed, vanished, weights, .. } = self;
        weights != 0 && self == Self { appeared, changed, vanished, weights, ..Self::default() }
    }

    pub(crate) fn requeued() -> Self {
        Self { requeued: true, ..Self::default() }
    }

    pub(crate) fn carried() -> Self {
        Self { carried: true, ..Self::default() }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.appeared |= other.appeared;
        self.changed |= other.changed;
        self.vanished |= other.vanished;
        self.weights |= other.weights;
        self.named |= other.named;
        self.added |= other.added;
        self.requeued |= other.requeued;
        self.carried |= other.carried;
        self.retried |= other.retried;
        self.resynced |= other.resynced;
    }

    /// The reasons in a fixed order, with the sources' names.
    pub(crate) fn iter<'a>(
        self,
        sources: &'a [Arc<str>],
    ) -> impl Iterator<Item = Reason<'a>> + use<'a> {
        let changes = [
            (ChangeKind::Appeared, self.appeared),
            (ChangeKind::Changed, self.changed),
            (ChangeKind::Vanished, self.vanished),
        ];
        let changes = changes.into_iter().flat_map(move |(kind, bits)| {
            named(bits, sources).map(move |source| Reason::Change { source, kind })
        });
        changes
            .chain(named(self.named, sources).map(|source| Reason::Named { source }))
            .chain(self.added.then_some(Reason::Added))
            .chain(self.requeued.then_some(Reason::Requeued))
            .chain(self.carried.then_some(Reason::CarriedOver))
            .chain(self.resynced.then_some(Reason::Resynced))
    }
}

/// The names of the sources whose bits are set. Sources that share the last bit are all named.
fn named(bits: u32, sources: &[Arc<str>]) -> impl Iterator<Item = &str> {
    let names = sources.iter().enumerate();
    names
        .filter(move |(index, _)| bits & SourceNumber::new(*index).bit() != 0)
        .map(|(_, name)| &**name)
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change { source, kind } => write!(f, "{source} {kind}"),
            Self::Named { source } => write!(f, "named by {source}"),
            Self::Added => f.write_str("added by a handle"),
            Self::Requeued => f.write_str("requeued"),
            Self::Retried => f.write_str("retried"),
            Self::CarriedOver => f.write_str("carried over"),
            Self::Resynced => f.write_str("resynced"),
        }
    }
}

#[cfg(test)]
mod tests;
