//! A schema of OpenAPI, and the definitions that its references name.

use serde_json::Value;

use crate::Object;

/// Where references point to.
const PREFIX: &str = "#/components/schemas/";

/// A schema of OpenAPI v3, as the API server publishes it below `/openapi/v3`, or the
/// `openAPIV3Schema` of a custom resource definition.
///
/// ```
/// use k8s_merge::Schema;
/// use serde_json::json;
///
/// let document = json!({ "components": { "schemas": {
///     "Pod": { "properties": { "spec": { "$ref": "#/components/schemas/PodSpec" } } },
///     "PodSpec": { "type": "object" },
/// } } });
/// let definitions = document["components"]["schemas"].as_object().ok_or("no definitions")?;
/// let schema = Schema::new(&definitions["Pod"], definitions);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Schema<'a> {
    pub(crate) value: &'a Value,
    pub(crate) definitions: &'a Object,
}

impl<'a> Schema<'a> {
    /// `definitions`: the members of `components.schemas`, which `$ref` names. A schema without
    /// references needs none.
    pub const fn new(value: &'a Value, definitions: &'a Object) -> Self {
        Self { value, definitions }
    }

    /// The name of the definition that the schema refers to, by itself or by its only `allOf`.
    pub fn reference(self) -> Option<&'a str> {
        let inner = self.value["allOf"].get(0).unwrap_or(self.value);
        inner["$ref"].as_str()?.strip_prefix(PREFIX)
    }
}
