//! Every verb on every kind, one case a kind: what the table of verbs by kinds is filled from.

mod walk;

macro_rules! kinds {
    ($($name:literal $kind:ident $what:literal;)*) => {
        vec![$($crate::conformance::case(
            $name,
            concat!("Every verb on ", $what, "."),
            async |t| $crate::conformance::kinds::walk::walk(t, &$kind).await,
        )),*]
    };
}

mod cluster;
mod core;
mod workloads;

use crate::conformance::Case;

pub(super) fn cases() -> Vec<Case> {
    [core::cases(), workloads::cases(), cluster::cases()].into_iter().flatten().collect()
}
