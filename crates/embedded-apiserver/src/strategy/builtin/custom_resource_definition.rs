//! CustomResourceDefinitions.

use jiff::Timestamp;
use k8s_value::FieldErrors;

use crate::api::clock;
use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::crd;
use crate::strategy::{Creation, Deletion, Generation, Propagation, Strategy, Write};

pub(super) static CUSTOM_RESOURCE_DEFINITION: Row = Row {
    group: "apiextensions.k8s.io",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    status: true,
    short_names: &["crd", "crds"],
    categories: &["api-extensions"],
    strategy: &CustomResourceDefinition,
    ..CLUSTER
};

/// As pkg/registry/customresourcedefinition of k8s.io/apiextensions-apiserver.
#[derive(Debug)]
struct CustomResourceDefinition;

impl Strategy for CustomResourceDefinition {
    fn default(&self, object: &mut Object) {
        crd::default(object);
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        crd::prepare_create(object);
    }

    fn prepare_update(&self, object: &mut Object, _old: &Object) {
        crd::remember_storage(object);
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        match write.subresource {
            Some("status") => crd::check_status(object, causes),
            _ => crd::check(object, write.old, causes),
        }
    }

    fn not_implemented(&self, object: &Object) -> Option<String> {
        crd::not_implemented(object)
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn storage_prefix(&self, kind: &Kind) -> String {
        format!("{}/{}", kind.group(), kind.plural())
    }

    fn deletion(&self) -> Deletion {
        Deletion::Cleanup
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn mark_deleted(&self, object: &mut Object, _propagation: Propagation<'_>, now: Timestamp) {
        crd::mark_deleted(object, &clock::seconds(now));
    }
}
