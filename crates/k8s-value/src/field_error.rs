//! `FieldError` and `FieldErrors`: the errors of an object's fields, as an `Invalid` status lists
//! them in its causes.
//!
//! The words are those of k8s.io/apimachinery/pkg/util/validation/field.

use std::fmt::{self, Display};

use serde_json::{Value, json};

use crate::go_json::go_json;
use crate::go_value::quoted;

/// The error of one field.
///
/// ```
/// let error = k8s_value::FieldError::invalid("spec.replicas", "-1", "must not be negative");
/// assert_eq!(error.to_string(), r#"spec.replicas: Invalid value: "-1": must not be negative"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(alias = "field.Error")]
pub struct FieldError {
    reason: &'static str,
    field: String,
    message: String,
}

impl FieldError {
    /// The most bytes that [`FieldErrors`] keeps of a field and of a message.
    pub const LONGEST: usize = 4096;

    /// An error with a reason and a message of its own.
    pub fn new(reason: &'static str, field: String, message: String) -> Self {
        Self { reason, field, message }
    }

    /// The field is missing. `why` may be empty.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let colon = if why.is_empty() { "" } else { ": " };
        Self::new("FieldValueRequired", field.into(), format!("Required value{colon}{why}"))
    }

    /// The field has a text that it may not have.
    pub fn invalid(field: impl Into<String>, value: &str, why: &str) -> Self {
        Self::invalid_shown(field, &quoted(value), why)
    }

    /// As [`invalid`](Self::invalid), for a value that is no text.
    pub fn invalid_json(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self::invalid_shown(field, &go_json(value), why)
    }

    /// As [`invalid`](Self::invalid), with the value as the message shows it.
    pub fn invalid_shown(field: impl Into<String>, shown: &str, why: &str) -> Self {
        Self::new("FieldValueInvalid", field.into(), format!("Invalid value: {shown}: {why}"))
    }

    /// The value has another type. `shown` is the value as the message shows it.
    pub fn type_invalid(field: impl Into<String>, shown: &str, why: &str) -> Self {
        Self::new("FieldValueTypeInvalid", field.into(), format!("Invalid value: {shown}: {why}"))
    }

    /// The field may not be set, or not be changed.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self::new("FieldValueForbidden", field.into(), format!("Forbidden: {why}"))
    }

    /// The field has a text other than these.
    #[doc(alias = "NotSupported")]
    pub fn unsupported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        Self::unsupported_shown(field, &quoted(value), supported)
    }

    /// As [`unsupported`](Self::unsupported), with the value as the message shows it.
    pub fn unsupported_shown(field: impl Into<String>, shown: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|it| format!("{it:?}")).collect();
        let supported = supported.join(", ");
        let message = format!("Unsupported value: {shown}: supported values: {supported}");
        Self::new("FieldValueNotSupported", field.into(), message)
    }

    /// The value has more bytes than this.
    pub fn too_long(field: impl Into<String>, max: impl Display) -> Self {
        let max = max.to_string();
        let bytes = if max == "1" { "byte" } else { "bytes" };
        let message = format!("Too long: may not be more than {max} {bytes}");
        Self::new("FieldValueTooLong", field.into(), message)
    }

    /// The list or map has more items than this.
    pub fn too_many(field: impl Into<String>, count: impl Display, max: impl Display) -> Self {
        let max = max.to_string();
        let items = if max == "1" { "item" } else { "items" };
        let message = format!("Too many: {count}: must have at most {max} {items}");
        Self::new("FieldValueTooMany", field.into(), message)
    }

    /// The list has the value twice.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::duplicate_shown(field, &value.to_string())
    }

    /// As [`duplicate`](Self::duplicate), with the value as the message shows it.
    pub fn duplicate_shown(field: impl Into<String>, shown: &str) -> Self {
        Self::new("FieldValueDuplicate", field.into(), format!("Duplicate value: {shown}"))
    }

    /// The field names something that does not exist.
    pub fn not_found(field: impl Into<String>, value: &str) -> Self {
        Self::new("FieldValueNotFound", field.into(), format!("Not found: {value:?}"))
    }

    /// Returns the entry in the status's `details.causes`.
    #[doc(alias = "StatusCause")]
    pub fn to_cause(&self) -> Value {
        json!({ "reason": self.reason, "message": self.message, "field": self.field })
    }

    /// Returns the errors as one message: several are a list in brackets.
    #[doc(alias = "ToAggregate")]
    pub fn message_of(errors: &[Self]) -> String {
        match errors {
            [one] => one.to_string(),
            many => {
                let many: Vec<String> = many.iter().map(Self::to_string).collect();
                format!("[{}]", many.join(", "))
            }
        }
    }

    /// Cuts field and message to [`LONGEST`](Self::LONGEST): a client may send a megabyte as
    /// a label.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        shorten(&mut self.field);
        shorten(&mut self.message);
        self
    }

    /// Whether it prevents the evaluation of a definition's rules (`hasBlockingErr` of
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
        let rest = self.field.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for FieldError {}

fn shorten(text: &mut String) {
    if text.len() > FieldError::LONGEST {
        text.truncate(text.floor_char_boundary(FieldError::LONGEST));
        text.push_str("...");
    }
}

/// The errors of one object, each once. At most 64 are kept and about 16 KiB of text: what a client
/// sends must not come back a hundredfold.
#[derive(Debug, Default)]
#[doc(alias = "ErrorList")]
pub struct FieldErrors {
    found: Vec<FieldError>,
    bytes: usize,
}

impl FieldErrors {
    const MOST: usize = 64;
    /// Nothing is added to a list with so much text.
    const MOST_BYTES: usize = 16 * 1024;

    /// Adds an error, unless it is known or the list is full.
    pub fn push(&mut self, error: FieldError) {
        if self.is_full() {
            return;
        }
        let error = error.shortened();
        if !self.found.contains(&error) {
            let bytes = error.field.len().saturating_add(error.message.len());
            self.bytes = self.bytes.saturating_add(bytes);
            self.found.push(error);
        }
    }

    /// Adds all errors of another list.
    pub fn append(&mut self, others: Self) {
        others.found.into_iter().for_each(|error| self.push(error));
    }

    /// Adds the errors of a part of the object, at the place of that part.
    pub fn append_below(&mut self, place: &str, others: Self) {
        for error in others.found {
            self.push(FieldError { field: format!("{place}.{}", error.field), ..error });
        }
    }

    /// Removes errors of the metadata if there are others.
    pub fn metadata_last(&mut self) {
        let of_metadata = |error: &FieldError| error.field.starts_with("metadata.");
        if !self.found.iter().all(of_metadata) {
            self.found.retain(|error| !of_metadata(error));
        }
    }

    /// Returns whether no more errors are kept: a reason to end the validation.
    pub fn is_full(&self) -> bool {
        self.found.len() >= Self::MOST || self.bytes >= Self::MOST_BYTES
    }

    /// Returns whether there is no error.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the errors, in the order in which they were added.
    pub fn as_slice(&self) -> &[FieldError] {
        &self.found
    }

    /// Returns whether an error prevents the evaluation of a definition's rules.
    #[doc(alias = "hasBlockingErr")]
    pub fn block_rules(&self) -> bool {
        self.found.iter().any(FieldError::blocks_rules)
    }

    /// Returns whether there is an error of the field at this place, or below it.
    pub fn any_within(&self, place: &str) -> bool {
        self.found.iter().any(|error| error.is_within(place))
    }

    /// Returns the errors in the order of their texts.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.found.sort_by_key(FieldError::to_string);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_each_error_once_and_no_more_than_an_answer_may_hold() {
        let mut errors = FieldErrors::default();
        for _ in 0..2 {
            errors.push(FieldError::required("a", ""));
        }
        assert_eq!(FieldError::message_of(errors.as_slice()), "a: Required value");
        errors.push(FieldError::too_many("b", 2, 1));
        let message = "[a: Required value, b: Too many: 2: must have at most 1 item]";
        assert_eq!(FieldError::message_of(errors.as_slice()), message);
        for number in 0..100 {
            errors.push(FieldError::forbidden(number.to_string(), "no"));
        }
        assert_eq!(errors.as_slice().len(), 64);
        let mut errors = FieldErrors::default();
        for number in 0..9 {
            errors.push(FieldError::forbidden(format!("{number}{}", "é".repeat(9000)), "no"));
        }
        assert!(errors.is_full() && errors.as_slice().len() == 4, "{}", errors.as_slice().len());
    }

    #[test]
    fn places_are_at_or_below_a_field() {
        let mut errors = FieldErrors::default();
        let mut below = FieldErrors::default();
        below.push(FieldError::invalid("c[0]", "x", "why"));
        errors.append_below("a.b", below);
        assert!(["a", "a.b", "a.b.c", "a.b.c[0]"].iter().all(|place| errors.any_within(place)));
        assert!(!["b", "a.b.c[", "a.b.c[0].d"].iter().any(|place| errors.any_within(place)));
        assert!(!errors.block_rules());
        errors.push(FieldError::too_long("metadata.name", 63));
        assert!(errors.block_rules());
        errors.metadata_last();
        assert!(!errors.any_within("metadata"));
    }
}
