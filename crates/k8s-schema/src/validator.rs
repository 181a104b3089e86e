//! `Validator`: a schema with its rules, read once, and objects held against both.

use serde_json::Value;

use crate::lists::validate_lists;
use crate::old::Old;
use crate::rules::Rules;
use crate::schema::Schema;
use crate::validate::validate;
use k8s_value::{FieldError, FieldErrors};

/// A schema and its rules in CEL (`x-kubernetes-validations`).
#[derive(Debug)]
pub struct Validator {
    schema: Schema,
    rules: Option<Rules>,
}

impl Validator {
    /// Reads an `openAPIV3Schema`. A rule that does not compile fails for each object, see
    /// [`check_schema`](crate::check_schema).
    ///
    /// # Errors
    ///
    /// It is no schema: it has a wrong type, or nests too deep.
    pub fn read(schema: &Value) -> Result<Self, String> {
        let parsed = Schema::read(schema)?;
        Ok(Self { rules: Rules::read(schema, &parsed), schema: parsed })
    }

    /// Returns the schema.
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns whether the schema has rules.
    pub const fn has_rules(&self) -> bool {
        self.rules.is_some()
    }

    /// Validates an object: its values, lists of type set and map, then the rules. `object` has
    /// its apiVersion and kind. `old` is the object before an update.
    ///
    /// ```
    /// use k8s_schema::{Old, Validator};
    /// use k8s_value::FieldErrors;
    /// use serde_json::json;
    ///
    /// let validator = Validator::read(&json!({
    ///     "type": "object",
    ///     "properties": {"size": {
    ///         "type": "integer",
    ///         "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "only grows"}],
    ///     }},
    /// }))?;
    /// let (before, after) = (json!({"size": 3}), json!({"size": 2}));
    /// let mut errors = FieldErrors::default();
    /// validator.validate(&after, Old(Some(&before)), &mut errors);
    /// assert_eq!(errors.as_slice()[0].to_string(), "size: Invalid value: 2: only grows");
    /// # Ok::<(), String>(())
    /// ```
    pub fn validate(&self, object: &Value, old: Old<'_>, causes: &mut FieldErrors) {
        validate(&self.schema, object, old, causes);
        if let Value::Object(members) = object {
            validate_lists(&self.schema, members, old.0.and_then(Value::as_object), causes);
        }
        self.validate_rules(object, old, causes);
    }

    /// Evaluates the rules alone, unless `causes` has errors that prevent it.
    pub fn validate_rules(&self, object: &Value, old: Old<'_>, causes: &mut FieldErrors) {
        let Some(rules) = &self.rules else { return };
        if causes.block_rules() {
            let why = "some validation rules were not checked because the object was invalid; \
                       correct the existing errors to complete validation";
            causes.push(FieldError::invalid_shown("<nil>", "null", why));
            return;
        }
        rules.check(&self.schema, object, old.0, causes, &mut Vec::new());
    }

    /// Returns the errors of rules that an update leaves out: the value broke the rule before, and
    /// has not changed since.
    pub fn warnings(&self, object: &Value, old: &Value) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(rules) = &self.rules {
            let mut causes = FieldErrors::default();
            rules.check(&self.schema, object, Some(old), &mut causes, &mut warnings);
        }
        warnings
    }
}
