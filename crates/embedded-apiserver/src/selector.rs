//! Label and field selectors: parsed once per request, matched against what is stored beside an object.

use std::collections::BTreeSet;

use crate::builtin::event;
use crate::kind::Kind;
use crate::names;
use crate::status::Status;
use crate::stored::Stored;

#[cfg(test)]
mod tests;

/// Which objects a list, a watch or a deletecollection is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<LabelRequirement>,
    fields: Vec<FieldRequirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LabelRequirement {
    key: String,
    test: LabelTest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LabelTest {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Greater(i64),
    Less(i64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldRequirement {
    path: String,
    value: String,
    equal: bool,
}

impl Selector {
    pub(crate) fn parse(kind: &Kind, labels: &str, fields: &str) -> Result<Self, Status> {
        let labels = parse_labels(labels)
            .map_err(|why| Status::bad_request(format!("unable to parse requirement: {why}")))?;
        let fields = parse_fields(fields)
            .map_err(|why| Status::bad_request(format!("invalid field selector: {why}")))?;
        let fields = fields
            .into_iter()
            .map(|mut requirement| {
                let path = requirement.path.as_str();
                let known = matches!(path, "metadata.name" | "metadata.namespace")
                    || kind.selectable().iter().any(|known| known == path);
                if !known {
                    // The kinds without fields of their own have another way to say it.
                    let generic = kind.builtin.is_some() && kind.selectable().is_empty();
                    return Err(Status::bad_request(if generic {
                        format!(
                            "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                        )
                    } else {
                        format!("field label not supported: {path}")
                    }));
                }
                requirement.path = event::stored_path(kind, path).into_owned();
                Ok(requirement)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { labels, fields })
    }

    /// Selects everything: then a list can say how many objects remain.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The one value that a field must have for an object to be selected, if the selector says so.
    pub(crate) fn only(&self, path: &str) -> Option<&str> {
        self.fields.iter().find(|r| r.equal && r.path == path).map(|r| r.value.as_str())
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.iter().all(|r| r.matches(object.label(&r.key)))
            && self.fields.iter().all(|r| (object.field(&r.path) == r.value) == r.equal)
    }
}

impl LabelRequirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match &self.test {
            LabelTest::Exists => value.is_some(),
            LabelTest::Absent => value.is_none(),
            LabelTest::In(values) => value.is_some_and(|v| values.contains(v)),
            LabelTest::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
            LabelTest::Greater(bound) => number().is_some_and(|v| v > *bound),
            LabelTest::Less(bound) => number().is_some_and(|v| v < *bound),
        }
    }
}

/// `a=b`, `a==b`, `a!=b`, `a`, `!a`, `a in (b,c)`, `a notin (b,c)`, `a>1`, `a<1`, joined by commas.
fn parse_labels(text: &str) -> Result<Vec<LabelRequirement>, String> {
    let mut requirements = Vec::new();
    if text.trim().is_empty() {
        return Ok(requirements);
    }
    for part in split_outside_parentheses(text)? {
        let part = part.trim();
        if part.is_empty() {
            return Err(format!("found an empty requirement in {text:?}"));
        }
        let requirement = parse_label(part)?;
        if let Some(why) = names::wrong_qualified_name(&requirement.key) {
            return Err(format!("invalid label key {:?}: {why}", requirement.key));
        }
        if let LabelTest::In(values) | LabelTest::NotIn(values) = &requirement.test {
            for value in values {
                if let Some(why) = names::wrong_label_value(value) {
                    return Err(format!("invalid label value {value:?}: {why}"));
                }
            }
        }
        requirements.push(requirement);
    }
    Ok(requirements)
}

fn split_outside_parentheses(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut inside, mut start) = (false, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' if inside => return Err(format!("found a second '(' in {text:?}")),
            '(' => inside = true,
            ')' if !inside => return Err(format!("found ')' without '(' in {text:?}")),
            ')' => inside = false,
            ',' if !inside => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(format!("'(' is never closed in {text:?}"));
    }
    parts.push(text.get(start..).unwrap_or_default());
    Ok(parts)
}

fn parse_label(part: &str) -> Result<LabelRequirement, String> {
    let requirement = |key: &str, test| Ok(LabelRequirement { key: key.trim().to_owned(), test });
    let one = |value: &str| BTreeSet::from([value.trim().to_owned()]);
    if let Some(key) = part.strip_prefix('!') {
        return requirement(key, LabelTest::Absent);
    }
    if let Some((head, rest)) = part.split_once('(') {
        let Some(values) = rest.trim_end().strip_suffix(')') else {
            return Err(format!("found text after ')' in {part:?}"));
        };
        let values = values.split(',').map(|v| v.trim().to_owned()).collect();
        let words: Vec<_> = head.split_whitespace().collect();
        return match words[..] {
            [key, "in"] => requirement(key, LabelTest::In(values)),
            [key, "notin"] => requirement(key, LabelTest::NotIn(values)),
            _ => Err(format!("expected 'in' or 'notin' before '(' in {part:?}")),
        };
    }
    if let Some((key, value)) = part.split_once("!=") {
        return requirement(key, LabelTest::NotIn(one(value)));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return requirement(key, LabelTest::In(one(value)));
    }
    for (sign, test) in [('>', LabelTest::Greater as fn(i64) -> _), ('<', LabelTest::Less)] {
        if let Some((key, value)) = part.split_once(sign) {
            let bound = value.trim().parse().map_err(|_| format!("{value:?} is no integer in {part:?}"))?;
            return requirement(key, test(bound));
        }
    }
    requirement(part, LabelTest::Exists)
}

/// `a=b`, `a==b`, `a!=b`, joined by commas; `\` escapes a comma, an equals sign or itself.
fn parse_fields(text: &str) -> Result<Vec<FieldRequirement>, String> {
    let mut requirements = Vec::new();
    for part in split_unescaped(text) {
        if part.is_empty() {
            continue;
        }
        let found = ["!=", "==", "="].into_iter().filter_map(|sign| Some((part.find(sign)?, sign)));
        // At the same place the longer sign wins; it is listed first.
        let Some((at, sign)) = found.reduce(|best, next| if next.0 < best.0 { next } else { best }) else {
            return Err(format!("{part:?}; can't understand it"));
        };
        let (path, value) =
            (part.get(..at).unwrap_or_default(), part.get(at + sign.len()..).unwrap_or_default());
        let value = unescape(value).ok_or_else(|| format!("{part:?}; an escape is not finished"))?;
        requirements.push(FieldRequirement { path: path.trim().to_owned(), value, equal: sign != "!=" });
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

fn unescape(value: &str) -> Option<String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                c @ ('\\' | ',' | '=') => plain.push(c),
                _ => return None,
            },
            ',' | '=' => return None,
            c => plain.push(c),
        }
    }
    Some(plain)
}
