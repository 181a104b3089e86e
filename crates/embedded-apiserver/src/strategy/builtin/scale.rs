//! Scale, the object of a subresource. It is never stored.

use crate::strategy::Strategy;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::columns::Cell::Number;
use crate::strategy::columns::{AGE, Column, NAME, column};

/// Not in the table of kinds: no path of its own.
pub(crate) static SCALE: Row =
    Row { group: "autoscaling", kind: "Scale", plural: "scales", strategy: &Scale, ..NAMESPACED };

const COLUMNS: &[Column] = &[
    NAME.of_text(),
    column("Desired", Number("/spec/replicas")),
    column("Available", Number("/status/replicas")),
    AGE,
];

#[derive(Debug)]
struct Scale;

impl Strategy for Scale {
    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}
