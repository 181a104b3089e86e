//! Paths that definitions name, such as `.spec.color` and `.spec['a.b']`: to a place of a schema
//! (`ValidFieldPath` of k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel).

use serde_json::Value;

use crate::keywords::has;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A member that the schema names.
    Member(String),
    /// A key of a map.
    Key(String),
}

/// Finds the place of an `openAPIV3Schema` that a path such as `.spec.color` or `.spec['a.b']`
/// names. Returns the steps to it and its schema. `brackets` allows the second notation.
///
/// # Errors
///
/// The path has no such notation, or names no place of the schema.
#[doc(alias = "ValidFieldPath")]
pub fn find_field<'a>(
    path: &str,
    schema: &'a Value,
    brackets: bool,
) -> Result<(Vec<Step>, &'a Value), String> {
    let nothing = || "does not refer to a valid field".to_owned();
    let end = || "unexpected end of JSON path".to_owned();
    let (mut steps, mut schema) = (Vec::new(), schema);
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix('[') {
            if !brackets {
                return Err("array notation is not allowed".to_owned());
            }
            if after.is_empty() {
                return Err(end());
            }
            let (quoted, after) = quoted(after)?;
            name = quoted;
            rest = match after.strip_prefix(']') {
                Some(rest) => rest,
                None if after.is_empty() => return Err(end()),
                None => return Err(format!("expected ] but got {}", token(after))),
            };
        } else if let Some(after) = rest.strip_prefix('.') {
            if after.is_empty() {
                return Err(end());
            }
            let step = token(after);
            name = step.to_owned();
            rest = after.get(step.len()..).unwrap_or_default();
        } else {
            return Err(format!("expected [ or . but got: {}", token(rest)));
        }
        if schema.get("properties").is_some_and(Value::is_object) {
            schema = schema.get("properties").and_then(|all| all.get(&name)).ok_or_else(nothing)?;
            steps.push(Step::Member(name));
        } else if has(schema, "additionalProperties") {
            schema = schema
                .get("additionalProperties")
                .filter(|value| value.is_object())
                .ok_or_else(nothing)?;
            steps.push(Step::Key(name));
        } else {
            return Err(nothing());
        }
    }
    Ok((steps, schema))
}

/// The text up to the next delimiter, or the delimiter itself.
fn token(text: &str) -> &str {
    let end = text.find(['.', '[', ']']).unwrap_or(text.len());
    let end = if end == 0 { text.chars().next().map_or(0, char::len_utf8) } else { end };
    text.get(..end).unwrap_or_default()
}

/// A text in single quotes, and what follows it.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let wrong = || format!("expected single quoted string but got {}", token(text));
    let inner = text.strip_prefix('\'').ok_or_else(wrong)?;
    let mut name = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return Ok((name, inner.get(at + 1..).unwrap_or_default())),
            '\\' => match chars.next() {
                Some((_, c @ ('\\' | '\''))) => name.push(c),
                Some((_, c)) => {
                    name.push('\\');
                    name.push(c);
                }
                None => return Err(wrong()),
            },
            c => name.push(c),
        }
    }
    Err(wrong())
}
