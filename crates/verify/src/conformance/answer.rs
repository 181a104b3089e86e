//! An answer of a server, and how a case says what it expects of one.

use http::HeaderMap;
use serde_json::Value;

/// What a case found: nothing, or how the answer differs from what was expected.
pub type Outcome = Result<(), String>;

/// An answer with its whole body.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What was asked, for messages.
    pub request: String,
    /// The HTTP status code.
    pub code: u16,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub text: String,
    /// The body as JSON; null if it says to be something else.
    pub json: Value,
}

impl Answer {
    /// The body of an answer with this code.
    ///
    /// # Errors
    ///
    /// Says what came instead.
    pub fn is(&self, code: u16) -> Result<Value, String> {
        if self.code == code {
            return Ok(self.json.clone());
        }
        Err(format!(
            "{}: expected {code}, got {} {}",
            self.request,
            self.code,
            shortened(&self.text)
        ))
    }

    /// The `Status` of a refusal with this code and reason.
    ///
    /// # Errors
    ///
    /// Says what came instead.
    pub fn refused(&self, code: u16, reason: &str) -> Result<Value, String> {
        let status = self.is(code)?;
        let expected = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
            "reason": if reason.is_empty() { Value::Null } else { reason.into() },
        });
        has(&status, expected).map_err(|why| format!("{}: {why}", self.request))?;
        Ok(status)
    }

    /// A refusal whose message contains a text.
    ///
    /// # Errors
    ///
    /// Says what came instead.
    pub fn says(&self, code: u16, reason: &str, part: &str) -> Result<Value, String> {
        let status = self.refused(code, reason)?;
        let message = text(&status, "/message");
        if message.contains(part) {
            return Ok(status);
        }
        Err(format!("{}: expected a message with {part:?}, got {message:?}", self.request))
    }

    /// An `Invalid` whose causes are these: `reason field` each, in order. The real server checks
    /// some metadata twice and then gives the same cause twice: they count once.
    ///
    /// # Errors
    ///
    /// Says what came instead.
    pub fn invalid(&self, causes: &[&str]) -> Result<Value, String> {
        let status = self.refused(422, "Invalid")?;
        let mut found: Vec<_> = items(&status, "/details/causes")
            .iter()
            .map(|cause| format!("{} {}", text(cause, "/reason"), text(cause, "/field")))
            .collect();
        found.dedup();
        if found == causes {
            return Ok(status);
        }
        Err(format!(
            "{}: expected the causes {causes:?}, got {found:?} {}",
            self.request,
            shortened(&self.text)
        ))
    }

    /// A header as text; empty if it is not there.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// All `Warning` headers.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let values = self.headers.get_all("warning").iter();
        values.map(|value| value.to_str().unwrap_or_default().to_owned()).collect()
    }
}

fn shortened(text: &str) -> String {
    const MOST: usize = 900;
    let mut short: String = text.trim().chars().take(MOST).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short
}

/// The text at a JSON pointer; empty if there is none.
#[must_use]
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The items at a JSON pointer; none if there is no array.
#[must_use]
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The names of a list's items, in order, with commas between.
#[must_use]
pub(super) fn names(list: &Value) -> String {
    let names: Vec<_> =
        items(list, "/items").iter().map(|item| text(item, "/metadata/name")).collect();
    names.join(",")
}

/// The resource version of an object or a list.
#[must_use]
pub(super) fn version(object: &Value) -> &str {
    text(object, "/metadata/resourceVersion")
}

/// The resource version as a number, where an order is the rule.
#[must_use]
pub(super) fn number(object: &Value) -> u64 {
    version(object).parse().unwrap_or(0)
}

/// Everything of `expected` is in `actual`: members of objects, arrays as a whole. Null stands for
/// absent, `"*"` for any text that is not empty.
///
/// # Errors
///
/// Says where they differ.
pub(super) fn has(actual: &Value, expected: impl Into<Value>) -> Outcome {
    has_at(actual, &expected.into(), "")
}

fn has_at(actual: &Value, expected: &Value, path: &str) -> Outcome {
    let differs =
        || Err(format!("at {path:?}: expected {expected}, got {}", shortened(&actual.to_string())));
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            expected.iter().try_for_each(|(name, expected)| {
                has_at(
                    actual.get(name).unwrap_or(&Value::Null),
                    expected,
                    &format!("{path}/{name}"),
                )
            })
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            let mut pairs = expected.iter().zip(actual).enumerate();
            pairs.try_for_each(|(at, (expected, actual))| {
                has_at(actual, expected, &format!("{path}/{at}"))
            })
        }
        (Value::String(any), Value::String(text)) if any == "*" && !text.is_empty() => Ok(()),
        _ if expected == actual => Ok(()),
        _ => differs(),
    }
}

/// Two things are the same.
///
/// # Errors
///
/// Says what each is.
pub(super) fn same<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
    what: &str,
    actual: T,
    expected: U,
) -> Outcome {
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected:?}, got {actual:?}"))
    }
}

/// Something holds.
///
/// # Errors
///
/// What was expected.
pub(super) fn holds(expected: &str, holds: bool) -> Outcome {
    if holds { Ok(()) } else { Err(format!("it does not hold that {expected}")) }
}
