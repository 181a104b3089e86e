//! `MatchResources`: what an admission policy or its binding matches.

use serde_json::{Value, json};

use crate::strategy::builtin::members::{objects, set_missing};

#[doc(alias = "SetDefaults_MatchResources")]
pub(super) fn default(matches: Option<&mut Value>) {
    let Some(Value::Object(matches)) = matches else { return };
    set_missing(
        matches,
        &[
            ("matchPolicy", json!("Equivalent")),
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
        ],
    );
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in objects(matches.get_mut(rules)) {
            rule.entry("scope").or_insert_with(|| "*".into());
        }
    }
}
