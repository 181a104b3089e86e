//! CSIStorageCapacities.

use k8s_value::FieldErrors;

use crate::api::metadata::Object;
use crate::strategy::builtin::label_selector;
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{immutable, subdomain};
use crate::strategy::builtin::volume_values::validate_amount;
use crate::strategy::columns::Cell::Member;
use crate::strategy::columns::{Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static CSI_STORAGE_CAPACITY: Row = Row {
    group: "storage.k8s.io",
    kind: "CSIStorageCapacity",
    plural: "csistoragecapacities",
    strategy: &CsiStorageCapacity,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("StorageClassName", Member("/storageClassName", "")),
    column("Capacity", Member("/capacity", "<unset>")),
];

#[derive(Debug)]
struct CsiStorageCapacity;

impl Strategy for CsiStorageCapacity {
    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        if let Some(topology) = at(object, "nodeTopology") {
            label_selector::validate(topology, "nodeTopology", causes);
        }
        subdomain(text(object, "storageClassName"), "storageClassName", causes);
        validate_amount(at(object, "capacity"), "capacity", causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let of = |object| at(object, "nodeTopology");
        label_selector::immutable(of(object), of(old), "nodeTopology", causes);
        let path = "storageClassName";
        immutable(at(object, path), at(old, path), path, causes);
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}
