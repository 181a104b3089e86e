//! DeviceClasses. Their selectors and configurations are not checked.

use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::columns::{AGE, NAME};
use crate::strategy::{Generation, Generic};

pub(super) static DEVICE_CLASS: Row = Row {
    group: "resource.k8s.io",
    kind: "DeviceClass",
    plural: "deviceclasses",
    strategy: &Generic {
        generation: Generation::Spec,
        delete_answers_object: true,
        columns: &[NAME, AGE],
        ..Generic::MOST
    },
    ..CLUSTER
};
