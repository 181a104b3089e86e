//! Label and field selectors: parsed once per request, matched against indexed fields of a stored
//! object.

mod labels;

use crate::api::status::Status;
use crate::rest::selector::labels::LabelRequirement;
use crate::store::stored::Stored;
use crate::strategy::resource::ServedResource;

#[cfg(test)]
mod tests;

/// The selector of a list, a watch or a deletecollection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<LabelRequirement>,
    fields: Vec<FieldRequirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldRequirement {
    path: String,
    value: String,
    equal: bool,
}

impl Selector {
    /// Checks the syntax of selectors, for any kind.
    pub(crate) fn check(labels: &str, fields: &str) -> Result<(), Status> {
        labels::parse(labels).map_err(Status::bad_request)?;
        parse_fields(fields).map(drop).map_err(Status::bad_request)
    }

    pub(crate) fn parse(kind: &ServedResource, labels: &str, fields: &str) -> Result<Self, Status> {
        let labels = labels::parse(labels).map_err(Status::bad_request)?;
        let fields = parse_fields(fields).map_err(Status::bad_request)?;
        let fields = fields
            .into_iter()
            // An empty selector matches every object.
            .filter(|requirement| !(requirement.path.is_empty() && requirement.value.is_empty()))
            .map(|mut requirement| {
                let path = requirement.path.as_str();
                let known = path == "metadata.name"
                    || (path == "metadata.namespace" && takes_namespace(kind))
                    || kind.selectable().iter().any(|known| known == path);
                if !known {
                    // Kinds without fields of their own report it in other words.
                    let generic = kind.is_built_in() && kind.selectable().is_empty();
                    return Err(Status::bad_request(if generic {
                        format!(
                            "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                        )
                    } else {
                        kind.strategy().why_unselectable(path)
                    }));
                }
                requirement.path = kind.stored_path(path).into_owned();
                Ok(requirement)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { labels, fields })
    }

    /// Whether it selects every object. Then a list can count the remaining ones.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The value that the selector requires of a field, if it requires one.
    pub(crate) fn only(&self, path: &str) -> Option<&str> {
        self.fields.iter().find(|r| r.equal && r.path == path).map(|r| r.value.as_str())
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.iter().all(|r| r.matches(object.label(&r.key)))
            && self.fields.iter().all(|r| (object.field(&r.path) == r.value) == r.equal)
    }
}

/// Whether a field selector may use `metadata.namespace`. For cluster scope, kinds that list their
/// fields refuse it.
fn takes_namespace(kind: &ServedResource) -> bool {
    kind.is_namespaced() || (kind.is_built_in() && kind.selectable().is_empty())
}

/// `a=b`, `a==b`, `a!=b`, separated by commas. `\` escapes a comma, an equals sign or itself.
fn parse_fields(text: &str) -> Result<Vec<FieldRequirement>, String> {
    let mut requirements = Vec::new();
    for part in split_unescaped(text) {
        if part.is_empty() {
            continue;
        }
        let found = ["!=", "==", "="].into_iter().filter_map(|sign| Some((part.find(sign)?, sign)));
        // The longer sign wins. It is listed first.
        let Some((at, sign)) = found.reduce(|best, next| if next.0 < best.0 { next } else { best })
        else {
            return Err(format!("invalid selector: '{text}'; can't understand '{part}'"));
        };
        let (path, value) =
            (part.get(..at).unwrap_or_default(), part.get(at + sign.len()..).unwrap_or_default());
        let value = unescape(value).map_err(|why| format!("invalid field selector: {why}"))?;
        requirements.push(FieldRequirement {
            path: path.trim().to_owned(),
            value,
            equal: sign != "!=",
        });
    }
    Ok(requirements)
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut escaped, mut start) = (false, 0);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                other => {
                    return Err(format!(
                        "invalid escape sequence: \\{}",
                        other.map(String::from).unwrap_or_default()
                    ));
                }
            },
            ',' | '=' => return Err(format!("unescaped character in value: {}", u32::from(c))),
            c => plain.push(c),
        }
    }
    Ok(plain)
}
