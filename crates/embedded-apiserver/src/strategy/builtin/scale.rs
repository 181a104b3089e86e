//! Scales: the view of a subresource. No Scale is stored.

use crate::strategy::Strategy;
use crate::strategy::builtin::row::{NAMESPACED, Row};

/// Not in the table of kinds: the server serves no path for it.
pub(crate) static SCALE: Row =
    Row { group: "autoscaling", kind: "Scale", plural: "scales", strategy: &Scale, ..NAMESPACED };

#[derive(Debug)]
struct Scale;

impl Strategy for Scale {
    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }
}
