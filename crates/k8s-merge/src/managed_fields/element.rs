//! One step of the path to a field: its order, its text in fieldsV1, and its text for people.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use k8s_value::go_json::go_json;

/// One step of the path to a field: a member of an object, or an item of a list.
#[derive(Debug, Clone)]
#[doc(alias = "PathElement")]
pub enum Element {
    /// The member of an object: `f:spec`.
    Field(String),
    /// The item of a list with these members, sorted by name: `k:{"name":"a"}`.
    Key(Vec<(String, Value)>),
    /// The item of a set: `v:"a"`.
    Value(Value),
    /// The item at this index: `i:0`. No schema has such items, but a client may send them.
    Index(i64),
}

impl Element {
    /// The member of this name.
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// Reads the text of a step. `None` for an unknown sort of step, which a later version may have
    /// written: like the API server, it is left out.
    ///
    /// # Errors
    ///
    /// Says why a step of a known sort cannot be read.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let wrong = |why: &dyn fmt::Display| format!("parsing {text:?} as a path element: {why}");
        let Some((sort, rest)) = text.split_at_checked(2) else {
            return Err(wrong(&"it must be 2 characters long or longer"));
        };
        match sort {
            "f:" => Ok(Some(Self::field(rest))),
            "v:" => serde_json::from_str(rest)
                .map(|value| Some(Self::Value(value)))
                .map_err(|why| wrong(&why)),
            "k:" => match serde_json::from_str::<Value>(rest) {
                // The members of a `Value` are sorted.
                Ok(Value::Object(members)) => Ok(Some(Self::Key(members.into_iter().collect()))),
                Ok(_) => Err(wrong(&"a key is a JSON object")),
                Err(why) => Err(wrong(&why)),
            },
            "i:" => rest.parse().map(|at| Some(Self::Index(at))).map_err(|why| wrong(&why)),
            _ if sort.ends_with(':') => Ok(None),
            _ => Err(wrong(&"missing colon")),
        }
    }

    /// Appends the step as a JSON string.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Field(name) if is_plain(name) => {
                out.push_str("\"f:");
                out.push_str(name);
                out.push('"');
            }
            Self::Field(name) => write_string(&format!("f:{name}"), out),
            Self::Key(members) => {
                let mut text = "k:{".to_owned();
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    write_string(name, &mut text);
                    text.push(':');
                    text.push_str(&value_text(value));
                }
                text.push('}');
                write_string(&text, out);
            }
            Self::Value(value) => write_string(&format!("v:{}", value_text(value)), out),
            Self::Index(at) => write_string(&format!("i:{at}"), out),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

pub(super) fn write_string(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

/// As Go writes it, and whole floats without a fraction.
fn value_text(value: &Value) -> String {
    match value {
        Value::Number(number) => number_text(number),
        _ => go_json(value),
    }
}

/// A number as Go's `%v` writes it, but for exponents.
pub(super) fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) if float.fract() == 0.0 && float.abs() < 1e21 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(one), Self::Field(other)) => one.cmp(other),
            (Self::Key(one), Self::Key(other)) => {
                let pairs = one
                    .iter()
                    .zip(other)
                    .map(|((a, x), (b, y))| a.cmp(b).then_with(|| order(x, y)));
                let first = pairs.fold(Ordering::Equal, Ordering::then);
                first.then(one.len().cmp(&other.len()))
            }
            (Self::Value(one), Self::Value(other)) => order(one, other),
            (Self::Index(one), Self::Index(other)) => one.cmp(other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

/// The text for people: `.spec`, `[name="a"]`, `[="a"]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(members) => {
                f.write_str("[")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{name}={}", readable(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", readable(value)),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

fn readable(value: &Value) -> String {
    match value {
        Value::Number(number) => number_text(number),
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(readable).collect::<Vec<_>>().join(","))
        }
        Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name}={}", readable(value))).collect()
        }
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// A total order of JSON values: numbers, texts, truth values, lists, objects, null. Numbers are
/// compared by value: 1 equals 1.0.
pub(super) fn order(one: &Value, other: &Value) -> Ordering {
    const fn rank(value: &Value) -> u8 {
        match value {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            // JSON has no NaN; -0 equals 0.
            _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let items = a.iter().zip(b).map(|(a, b)| order(a, b));
            items.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let members =
                a.iter().zip(b).map(|((a, x), (b, y))| a.cmp(b).then_with(|| order(x, y)));
            members.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

/// Whether two values are equal in [`order`].
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    one == other || order(one, other) == Ordering::Equal
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::equal;

    #[test]
    fn numbers_are_equal_by_what_they_are_worth() {
        assert!(equal(&json!(0), &json!(-0.0)) && equal(&json!(1), &json!(1.0)));
        assert!(!equal(&json!(1), &json!(1.5)) && !equal(&json!(0), &json!(null)));
    }
}
