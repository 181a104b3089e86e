//! What is wrong with an object or with options, one by one: the causes of an Invalid status.

use serde_json::{Value, json};

use crate::go_json::go_json;
use crate::go_value::quoted;

/// One thing that is wrong with an object: `causes` of an Invalid status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(super) reason: &'static str,
    pub(super) field: String,
    pub(super) message: String,
}

impl Cause {
    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self { reason: "FieldValueRequired", field: field.into(), message }
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field: field.into(),
            message: format!("Invalid value: {}: {why}", quoted(value)),
        }
    }

    /// As `invalid`, of a value that is no text.
    pub(crate) fn invalid_json(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field: field.into(),
            message: format!("Invalid value: {}: {why}", go_json(value)),
        }
    }

    pub(crate) fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueForbidden",
            field: field.into(),
            message: format!("Forbidden: {why}"),
        }
    }

    pub(crate) fn unsupported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let supported = supported.iter().map(|s| format!("{s:?}")).collect::<Vec<_>>().join(", ");
        Self {
            reason: "FieldValueNotSupported",
            field: field.into(),
            message: format!("Unsupported value: {}: supported values: {supported}", quoted(value)),
        }
    }

    /// As `unsupported`, of a value that is no text.
    pub(crate) fn unsupported_json(
        field: impl Into<String>,
        value: &Value,
        supported: &[&str],
    ) -> Self {
        let mut cause = Self::unsupported(field, "", supported);
        cause.message = cause.message.replacen("\"\"", &value.to_string(), 1);
        cause
    }

    pub(crate) fn too_long(field: impl Into<String>, max: usize) -> Self {
        Self {
            reason: "FieldValueTooLong",
            field: field.into(),
            message: format!("Too long: may not be more than {max} bytes"),
        }
    }

    /// As `invalid`, of a value that is written already.
    pub(crate) fn invalid_text(field: impl Into<String>, shown: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field: field.into(),
            message: format!("Invalid value: {shown}: {why}"),
        }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::duplicate_text(field, &value.to_string())
    }

    /// As `duplicate`, of a value that is written already.
    pub(crate) fn duplicate_text(field: impl Into<String>, shown: &str) -> Self {
        let message = format!("Duplicate value: {shown}");
        Self { reason: "FieldValueDuplicate", field: field.into(), message }
    }

    pub(crate) fn not_found(field: impl Into<String>, value: &str) -> Self {
        let message = format!("Not found: {value:?}");
        Self { reason: "FieldValueNotFound", field: field.into(), message }
    }

    pub(crate) fn too_many(field: impl Into<String>, count: usize, max: usize) -> Self {
        let message = format!("Too many: {count}: must have at most {max} items");
        Self { reason: "FieldValueTooMany", field: field.into(), message }
    }

    /// As `invalid`, of a value as Go writes it.
    pub(crate) fn invalid_shown(field: String, value: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field,
            message: format!("Invalid value: {value}: {why}"),
        }
    }

    /// A value of another type than its schema says.
    pub(crate) fn type_invalid(field: String, value: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueTypeInvalid",
            field,
            message: format!("Invalid value: {value}: {why}"),
        }
    }

    /// As `unsupported`, of a value as Go writes it.
    pub(crate) fn unsupported_shown(field: String, value: &str, supported: &[&str]) -> Self {
        let mut cause = Self::unsupported(field, "", supported);
        cause.message = cause.message.replacen("\"\"", value, 1);
        cause
    }

    /// A cause in words of its own.
    pub(crate) fn said(reason: &'static str, field: String, message: String) -> Self {
        Self { reason, field, message }
    }

    /// Whether it keeps the rules of a definition from being looked at (`hasBlockingErr` of
    /// k8s.io/apiextensions-apiserver).
    fn blocks_rules(&self) -> bool {
        matches!(
            self.reason,
            "FieldValueNotSupported"
                | "FieldValueRequired"
                | "FieldValueTooLong"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
        )
    }

    /// Whether its field is at this place or below it.
    fn is_within(&self, place: &str) -> bool {
        self.field
            .strip_prefix(place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    pub(crate) fn too_long_text(field: String, max: i64) -> Self {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        let message = format!("Too long: may not be more than {max} {bytes}");
        Self { reason: "FieldValueTooLong", field, message }
    }

    pub(crate) fn too_many_of(field: String, size: i64, max: i64) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        let message = format!("Too many: {size}: must have at most {max} {items}");
        Self { reason: "FieldValueTooMany", field, message }
    }

    /// As messages have it.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }

    /// Some of them as a message has them.
    pub(super) fn texts(causes: &[Self]) -> String {
        match causes {
            [one] => one.text(),
            many => format!("[{}]", many.iter().map(Self::text).collect::<Vec<_>>().join(", ")),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "reason": self.reason, "message": self.message, "field": self.field })
    }

    /// So many bytes of a field or a message are kept.
    pub(crate) const LONGEST: usize = 4096;

    /// Field and message cut to what an answer may hold of them: a client may send a megabyte as a
    /// label.
    pub(super) fn shortened(mut self) -> Self {
        shorten(&mut self.field);
        shorten(&mut self.message);
        self
    }
}

fn shorten(text: &mut String) {
    if text.len() > Cause::LONGEST {
        text.truncate(text.floor_char_boundary(Cause::LONGEST));
        text.push_str("...");
    }
}

/// What is wrong with an object, each thing once, as `ToAggregate` of
/// k8s.io/apimachinery/pkg/util/validation/field has it, and never more than an answer should hold:
/// what a client sends must not come back a hundredfold.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    pub(super) found: Vec<Cause>,
    bytes: usize,
}

impl Causes {
    /// No list is longer than that.
    const MOST: usize = 64;
    /// Nothing is added to a list with so much text.
    const MOST_BYTES: usize = 16 * 1024;

    pub(crate) fn push(&mut self, cause: Cause) {
        if self.is_full() {
            return;
        }
        let cause = cause.shortened();
        if !self.found.contains(&cause) {
            self.bytes =
                self.bytes.saturating_add(cause.field.len()).saturating_add(cause.message.len());
            self.found.push(cause);
        }
    }

    /// Adds all of others.
    pub(crate) fn append(&mut self, others: Self) {
        others.found.into_iter().for_each(|cause| self.push(cause));
    }

    /// What is wrong with the metadata counts only where nothing else is wrong.
    pub(crate) fn metadata_last(&mut self) {
        let of_metadata = |cause: &Cause| cause.field.starts_with("metadata.");
        if !self.found.iter().all(of_metadata) {
            self.found.retain(|cause| !of_metadata(cause));
        }
    }

    /// Whether more would not be kept: a reason not to look any further.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= Self::MOST || self.bytes >= Self::MOST_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether something was found that keeps the rules of a definition from being looked at.
    pub(crate) fn block_rules(&self) -> bool {
        self.found.iter().any(Cause::blocks_rules)
    }

    /// Whether something was found at this place or below it.
    pub(crate) fn any_within(&self, place: &str) -> bool {
        self.found.iter().any(|cause| cause.is_within(place))
    }

    pub(super) fn text(&self) -> String {
        Cause::texts(&self.found)
    }

    /// Adds what was found in a part of the object, at the place of that part.
    pub(crate) fn append_below(&mut self, place: &str, found: Self) {
        for cause in found.found {
            self.push(Cause { field: format!("{place}.{}", cause.field), ..cause });
        }
    }

    /// In the order of their texts.
    pub(crate) fn sorted(mut self) -> Self {
        self.found.sort_by_key(Cause::text);
        self
    }
}
