//! PodTemplates.

use k8s_value::FieldErrors;

use crate::api::metadata::Object;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::{pod_spec, workload};
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{Column, NAME, column};
use crate::strategy::{Generation, Strategy, Write};

pub(super) static POD_TEMPLATE: Row =
    Row { kind: "PodTemplate", plural: "podtemplates", strategy: &PodTemplate, ..NAMESPACED };

const COLUMNS: &[Column] = &[
    NAME,
    column("Containers", Made(|of| workload::containers_of(&of["template"]))),
    column("Images", Made(|of| workload::images_of(&of["template"]))),
    column("Pod Labels", Made(|of| workload::labels_cell(&of["template"]["metadata"]["labels"]))),
];

#[derive(Debug)]
struct PodTemplate;

impl Strategy for PodTemplate {
    fn default(&self, object: &mut Object) {
        pod_spec::default_template_of(object);
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        pod_spec::validate_template(object.get("template"), "template", causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        workload::warn_of_template(object, old, "template", &mut warnings);
        warnings
    }

    fn generation(&self) -> Generation {
        Generation::Members
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}
