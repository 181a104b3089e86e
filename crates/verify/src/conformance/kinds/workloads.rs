//! The kinds of workloads, and of what limits them.

use serde_json::json;

use crate::conformance::Case;
use crate::conformance::kinds::walk::{KIND, Sample};

static BUDGET: Sample = Sample {
    version: "policy/v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    has_status: true,
    content: |_, _| json!({ "spec": { "maxUnavailable": 1 } }),
    ..KIND
};

pub(super) fn cases() -> Vec<Case> {
    kinds! {
        "disruption_budgets" BUDGET "a PodDisruptionBudget is answered, its status included";
    }
}
