//! Every verb on every kind, one case a kind: what the table of verbs by kinds is filled from.

mod walk;

macro_rules! kinds {
    ($($name:literal $kind:ident $what:literal;)*) => {
        vec![$((&$kind, $crate::conformance::case(
            $name,
            concat!("Every verb on ", $what, "."),
            async |t| $crate::conformance::kinds::walk::walk(t, &$kind).await,
        ))),*]
    };
}

mod cluster;
mod core;
mod workloads;

use crate::conformance::Case;
use crate::conformance::kinds::walk::Sample;

fn all() -> impl Iterator<Item = (&'static Sample, Case)> {
    [core::cases(), workloads::cases(), cluster::cases()].into_iter().flatten()
}

pub(super) fn cases() -> Vec<Case> {
    all().map(|(_, case)| case).collect()
}

/// The kinds that have a case, by version and name.
pub fn walked() -> Vec<(&'static str, &'static str)> {
    all().map(|(sample, _)| (sample.version, sample.kind)).collect()
}
