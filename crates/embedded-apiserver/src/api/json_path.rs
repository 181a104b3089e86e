//! JSON paths of printer columns, as `k8s.io/client-go/util/jsonpath` reads them: members, indices
//! and slices, `*`, `..`, and filters by comparison.

use serde_json::Value;

/// A path to values in an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Member(String),
    /// `[1:3:1]`, `[0]`.
    Slice(Option<i64>, Option<i64>),
    Index(i64),
    Every,
    /// `..name`
    Below,
    Filter(JsonPath, Test, Value),
    /// `[?(@.a)]`
    Exists(JsonPath),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The most values of a step: `..` may visit everything.
const MOST: usize = 10_000;

impl JsonPath {
    /// Parses a path: `.spec.replicas`.
    ///
    /// # Errors
    ///
    /// Names the place of the syntax error.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            rest = if let Some(after) = rest.strip_prefix("..") {
                steps.push(Step::Below);
                if after.starts_with('[') { after } else { member(after, &mut steps) }
            } else if let Some(after) = rest.strip_prefix('.') {
                if after.starts_with('[') { after } else { member(after, &mut steps) }
            } else if let Some(after) = rest.strip_prefix('[') {
                let end =
                    closing(after).ok_or_else(|| format!("unterminated array in {text:?}"))?;
                let inner = after.get(..end).unwrap_or_default().trim();
                steps.push(bracket(inner).ok_or_else(|| format!("invalid array index {inner}"))?);
                after.get(end + 1..).unwrap_or_default()
            } else if let Some(after) = rest.strip_prefix('@') {
                after
            } else {
                member(rest, &mut steps)
            };
        }
        Ok(Self(steps))
    }

    /// The first value at the path.
    pub(crate) fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.find(object).first().copied()
    }

    fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![object];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.go(value)).take(MOST).collect();
        }
        found
    }
}

/// A name up to the next delimiter; `\.` is a dot in it.
fn member<'a>(text: &'a str, steps: &mut Vec<Step>) -> &'a str {
    let mut name = String::new();
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.extend(chars.next().map(|(_, c)| c)),
            '.' | '[' => {
                end = at;
                break;
            }
            c => name.push(c),
        }
    }
    match name.as_str() {
        "" => {}
        "*" => steps.push(Step::Every),
        _ => steps.push(Step::Member(name)),
    }
    text.get(end..).unwrap_or_default()
}

/// The end of the bracket before the text. Quotes hide brackets.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth = depth.saturating_add(1),
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::Every);
    }
    if let Some(name) = unquoted(inner) {
        return Some(Step::Member(name));
    }
    if let Some(condition) = inner.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return filter(condition);
    }
    if let Some((from, to)) = inner.split_once(':') {
        let number = |text: &str| match text.trim() {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        };
        let to = to.split(':').next().unwrap_or_default();
        return Some(Step::Slice(number(from)?, number(to)?));
    }
    inner.parse().ok().map(Step::Index)
}

fn unquoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut name = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        name.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    Some(name)
}

fn filter(condition: &str) -> Option<Step> {
    let tests = [
        ("==", Test::Equal),
        ("!=", Test::NotEqual),
        ("<=", Test::LessOrEqual),
        (">=", Test::GreaterOrEqual),
        ("<", Test::Less),
        (">", Test::Greater),
    ];
    for (sign, test) in tests {
        if let Some((path, value)) = condition.split_once(sign) {
            let value = value.trim();
            let value = match unquoted(value) {
                Some(text) => Value::String(text),
                None => serde_json::from_str(value).ok()?,
            };
            return Some(Step::Filter(JsonPath::parse(path.trim()).ok()?, test, value));
        }
    }
    JsonPath::parse(condition.trim()).ok().map(Step::Exists)
}

impl Step {
    fn go<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let items = || value.as_array().map_or(&[][..], Vec::as_slice);
        match self {
            Self::Member(name) => value.get(name).into_iter().collect(),
            Self::Index(at) => {
                place(*at, items().len()).and_then(|at| items().get(at)).into_iter().collect()
            }
            Self::Slice(from, to) => {
                let length = items().len();
                let bound =
                    |at: Option<i64>, otherwise| at.map_or(Some(otherwise), |at| place(at, length));
                let (Some(from), Some(to)) = (bound(*from, 0), bound(*to, length)) else {
                    return Vec::new();
                };
                items().get(from..to.min(length)).into_iter().flatten().collect()
            }
            Self::Every => match value {
                Value::Object(members) => members.values().collect(),
                Value::Array(items) => items.iter().collect(),
                _ => Vec::new(),
            },
            Self::Below => {
                let mut found = Vec::new();
                below(value, &mut found);
                found
            }
            Self::Filter(path, test, wanted) => {
                let fits =
                    |item: &&Value| path.first(item).is_some_and(|found| test.holds(found, wanted));
                items().iter().filter(fits).collect()
            }
            Self::Exists(path) => {
                items().iter().filter(|item| path.first(item).is_some()).collect()
            }
        }
    }
}

/// A negative index counts from the end.
fn place(at: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    usize::try_from(if at < 0 { at.checked_add(length)? } else { at }).ok()
}

fn below<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    if found.len() >= MOST {
        return;
    }
    found.push(value);
    match value {
        Value::Object(members) => members.values().for_each(|value| below(value, found)),
        Value::Array(items) => items.iter().for_each(|value| below(value, found)),
        _ => {}
    }
}

impl Test {
    fn holds(self, found: &Value, wanted: &Value) -> bool {
        let order = match (found, wanted) {
            (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (a, b) => (a == b).then_some(std::cmp::Ordering::Equal),
        };
        match self {
            Self::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
            Self::NotEqual => !order.is_some_and(std::cmp::Ordering::is_eq),
            Self::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Self::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
            Self::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
            Self::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}
