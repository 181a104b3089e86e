//! Whether a value is as its schema says: the checks, their order and their words are those of
//! k8s.io/kube-openapi/pkg/validation/validate, and of the ratcheting around it in
//! k8s.io/apiextensions-apiserver.

mod alternatives;
mod number;

use serde_json::{Map, Value};

use crate::numbers::{is_the_same, is_whole};
use crate::old::Old;
use crate::path::Path;
use crate::schema::{Additional, Schema};
use crate::types::Type;
use k8s_value::go_value::shown;
use k8s_value::{FieldError, FieldErrors};

/// Validates an object. An error that was there before the update, in a value that has not changed
/// since, is left out: ratcheting.
pub fn validate(schema: &Schema, object: &Value, old: Old<'_>, causes: &mut FieldErrors) {
    validate_member(schema, object, old, "", causes);
}

/// Validates the value of a member of the object. Messages name places inside of it without the
/// member's own name.
pub fn validate_member(
    schema: &Schema,
    value: &Value,
    old: Old<'_>,
    member: &str,
    causes: &mut FieldErrors,
) {
    let checker = Checker { member };
    for problem in checker.ratcheted(schema, value, old, &Path::Root).problems {
        causes.push(problem.cause);
    }
}

/// One thing that is wrong.
#[derive(Debug)]
struct Problem {
    /// The same words twice are one problem.
    message: String,
    cause: FieldError,
}

/// What a check found.
#[derive(Debug, Default)]
struct Found {
    problems: Vec<Problem>,
    /// How many checks passed: of several alternatives that fail, the one with most of them is
    /// reported.
    passed: u32,
}

/// More than that is never shown.
const MOST_PROBLEMS: usize = 64;

impl Found {
    fn add(&mut self, problem: Problem) {
        let known = |known: &Problem| known.message == problem.message;
        if self.problems.len() < MOST_PROBLEMS && !self.problems.iter().any(known) {
            self.problems.push(problem);
        }
    }

    fn merge(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        other.problems.into_iter().for_each(|problem| self.add(problem));
    }

    fn pass(&mut self) {
        self.passed = self.passed.saturating_add(1);
    }

    fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }
}

struct Checker<'a> {
    /// The member that is checked; empty: the whole object.
    member: &'a str,
}

/// A path without the root's own sign.
fn plain(path: &Path<'_>) -> String {
    if matches!(path, Path::Root) { String::new() } else { path.to_string() }
}

impl Checker<'_> {
    /// The field of a cause.
    fn field(&self, path: &str) -> String {
        let path = path.strip_prefix('.').unwrap_or(path);
        match (self.member, path) {
            ("", "") => "<nil>".to_owned(),
            (member, "") => member.to_owned(),
            ("", path) => path.to_owned(),
            (member, path) => format!("{member}.{path}"),
        }
    }

    fn problem(
        &self,
        path: &str,
        make: fn(String, &str, &str) -> FieldError,
        value: &str,
        message: String,
    ) -> Problem {
        Problem { cause: make(self.field(path), value, &message), message }
    }

    fn wrong_type(&self, path: &Path<'_>, wanted: &str, is: &str) -> Problem {
        let path = plain(path);
        let message = format!("{path} in body must be of type {wanted}: {is:?}");
        self.problem(&path, FieldError::type_invalid, &format!("{is:?}"), message)
    }

    fn wrong(&self, path: &Path<'_>, value: &str, what: &str) -> Problem {
        let path = plain(path);
        let message = format!("{path} in body {what}");
        self.problem(&path, FieldError::invalid_shown, value, message)
    }

    /// What the real server says of no field.
    fn loose(&self, message: String) -> Problem {
        self.problem("", FieldError::invalid_shown, "\"\"", message)
    }

    /// The errors of a value, unless it was the same before.
    fn ratcheted(&self, schema: &Schema, value: &Value, old: Old<'_>, path: &Path<'_>) -> Found {
        let mut found = self.value(schema, value, old, path);
        if !found.is_valid() && old.is(value) {
            found.problems.clear();
        }
        found
    }

    fn value(&self, schema: &Schema, value: &Value, old: Old<'_>, path: &Path<'_>) -> Found {
        let mut found = Found::default();
        if value.is_null() {
            match self.types(schema, value, path) {
                Some(problem) => found.add(problem),
                None => found.pass(),
            }
            if let Some(problem) = self.allowed(schema, value, path) {
                found.add(problem);
            }
            return found;
        }
        if schema.types != Type::Any || schema.format.is_some() {
            match self.types(schema, value, path) {
                Some(problem) => found.add(problem),
                None => found.pass(),
            }
            found.pass();
        }
        self.alternatives(schema, value, old, path, &mut found);
        found.pass();
        match value {
            Value::String(text) => {
                if let Some(problem) = self.text(schema, text, path) {
                    found.add(problem);
                }
                found.pass();
                if let Some(format) = schema.format.filter(|format| format.is_of_text()) {
                    if !format.fits(text) {
                        found.add(self.wrong_type(path, format.name(), text));
                    }
                    found.pass();
                }
            }
            Value::Number(_) => {
                self.number(schema, value, path, &mut found);
                found.pass();
                found.pass();
            }
            Value::Array(items) => {
                self.items(schema, items, old, path, &mut found);
                found.pass();
                found.pass();
            }
            _ => {}
        }
        if let Some(problem) = self.allowed(schema, value, path) {
            found.add(problem);
        }
        found.pass();
        if let Value::Object(members) = value {
            self.members(schema, members, old, path, &mut found);
            found.pass();
        }
        found.pass();
        found
    }

    fn types(&self, schema: &Schema, value: &Value, path: &Path<'_>) -> Option<Problem> {
        let (is, is_format) = match value {
            Value::Null => {
                let wrong = schema.types != Type::Any && !schema.nullable;
                return wrong.then(|| self.wrong_type(path, schema.types.name(), "null"));
            }
            Value::Bool(_) => ("boolean", ""),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) => ("object", ""),
            Value::Number(number) if number.is_i64() => ("integer", "int64"),
            Value::Number(_) => ("number", "float64"),
        };
        let named = |name: &str| match schema.types {
            Type::Any => false,
            Type::IntOrString => matches!(name, "integer" | "string"),
            named => named.name() == name,
        };
        let whole = is == "number" && value.as_f64().is_some_and(is_whole) && named("integer");
        let fits = named(is) || whole || (is == "integer" && named("number"));
        let is_list_or_text = value.is_string() || value.is_array();
        if let Some(format) = schema.format {
            if !is_list_or_text && !fits && format.name() != is_format {
                return Some(self.wrong_type(path, format.name(), is_format));
            }
            // A format of text says all of the type, of lists too.
            if is_list_or_text && !named("number") && !named("integer") {
                return None;
            }
        }
        (!fits).then(|| self.wrong_type(path, schema.types.name(), is))
    }

    fn allowed(&self, schema: &Schema, value: &Value, path: &Path<'_>) -> Option<Problem> {
        if schema.allowed.is_empty()
            || schema.allowed.iter().any(|allowed| is_the_same(value, allowed))
        {
            return None;
        }
        let path = plain(path);
        let names = schema.allowed.iter().map(|allowed| match allowed {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let names: Vec<String> = names.collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let cause = FieldError::unsupported_shown(self.field(&path), &shown(value), &names);
        Some(Problem {
            message: format!("{path} in body should be one of [{}]", names.join(" ")),
            cause,
        })
    }

    fn text(&self, schema: &Schema, text: &str, path: &Path<'_>) -> Option<Problem> {
        let limits = &schema.limits;
        let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(max) = limits.max_length.filter(|max| length() > *max) {
            let path = plain(path);
            let cause = FieldError::too_long(self.field(&path), max);
            return Some(Problem {
                message: format!("{path} in body should be at most {max} chars long"),
                cause,
            });
        }
        if let Some(min) = limits.min_length.filter(|min| length() < *min) {
            let what = format!("should be at least {min} chars long");
            return Some(self.wrong(path, &format!("{text:?}"), &what));
        }
        let pattern = schema.pattern.as_ref()?;
        let what = match pattern.matches(text) {
            Ok(true) => return None,
            Ok(false) => format!("should match '{}'", pattern.text()),
            Err(why) => format!("should match '{}, but pattern is invalid: {why}'", pattern.text()),
        };
        Some(self.wrong(path, &format!("{text:?}"), &what))
    }

    fn items(
        &self,
        schema: &Schema,
        items: &[Value],
        old: Old<'_>,
        path: &Path<'_>,
        found: &mut Found,
    ) {
        if let Some(of_items) = &schema.items {
            let before = old.items(schema);
            for (at, item) in items.iter().enumerate() {
                found.merge(self.ratcheted(of_items, item, before.of(item), &path.index(at)));
                if found.problems.len() >= MOST_PROBLEMS {
                    break;
                }
            }
        }
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(min) = schema.limits.min_items.filter(|min| size < *min) {
            found.add(self.wrong(
                path,
                &size.to_string(),
                &format!("should have at least {min} items"),
            ));
        }
        if let Some(max) = schema.limits.max_items.filter(|max| size > *max) {
            found.add(self.too_many(path, size, max, "items"));
        }
    }

    fn too_many(&self, path: &Path<'_>, size: i64, max: i64, what: &str) -> Problem {
        let path = plain(path);
        let cause = FieldError::too_many(self.field(&path), size, max);
        Problem { message: format!("{path} in body should have at most {max} {what}"), cause }
    }

    fn members(
        &self,
        schema: &Schema,
        members: &Map<String, Value>,
        old: Old<'_>,
        path: &Path<'_>,
        found: &mut Found,
    ) {
        let size = i64::try_from(members.len()).unwrap_or(i64::MAX);
        if let Some(min) = schema.limits.min_properties.filter(|min| size < *min) {
            found.add(self.wrong(
                path,
                &size.to_string(),
                &format!("should have at least {min} properties"),
            ));
        }
        if let Some(max) = schema.limits.max_properties.filter(|max| size > *max) {
            found.add(self.too_many(path, size, max, "properties"));
        }
        let at_root = matches!(path, Path::Root);
        if !matches!(schema.additional, Additional::Unsaid | Additional::Any) {
            for (name, value) in
                members.iter().filter(|(name, _)| !schema.properties.contains_key(*name))
            {
                match schema.additional.schema() {
                    Some(of_member) => {
                        // The path of such a member begins with a dot, even at the root.
                        let dotted;
                        let step = if at_root {
                            dotted = format!(".{name}");
                            &dotted
                        } else {
                            name
                        };
                        found.merge(self.ratcheted(
                            of_member,
                            value,
                            old.member(name),
                            &path.field(step),
                        ));
                    }
                    None => {
                        let path = plain(path);
                        let message = format!("{path}.{name} in body is a forbidden property");
                        found.add(self.problem(
                            &path,
                            FieldError::invalid_shown,
                            &format!("{name:?}"),
                            message,
                        ));
                    }
                }
                if found.problems.len() >= MOST_PROBLEMS {
                    return;
                }
            }
        }
        for (name, of_member) in &schema.properties {
            let Some(value) = members.get(name) else { continue };
            // What version an object is of does not show in how it is stored.
            let type_meta =
                at_root && self.member.is_empty() && matches!(name.as_str(), "kind" | "apiVersion");
            let before = if type_meta { Old(None) } else { old.member(name) };
            found.merge(self.ratcheted(of_member, value, before, &path.field(name)));
        }
        for name in schema.required.iter().filter(|name| !members.contains_key(*name)) {
            let path = format!("{}.{name}", plain(path));
            let cause = FieldError::required(self.field(&path), "");
            found.add(Problem { message: format!("{path} in body is required"), cause });
        }
    }
}
