//! ServiceAccounts.

use crate::api::metadata::{self, Object};
use crate::strategy::Strategy;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::columns::{AGE, Column, NAME};

pub(super) static SERVICE_ACCOUNT: Row = Row {
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    short_names: &["sa"],
    strategy: &ServiceAccount,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[NAME, AGE];

#[derive(Debug)]
struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, _old: Option<&Object>) -> Vec<String> {
        const ENFORCED: &str = "kubernetes.io/enforce-mountable-secrets";
        let annotations = metadata::get(object, "annotations");
        if annotations.is_none_or(|all| all.get(ENFORCED).is_none()) {
            return Vec::new();
        }
        vec![format!(
            "metadata.annotations[{ENFORCED}]: deprecated in v1.32+; prefer separate namespaces \
             to isolate access to mounted secrets"
        )]
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}
