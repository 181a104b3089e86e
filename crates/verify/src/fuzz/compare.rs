//! Two answers side by side: equal but for what each server makes up, which must be in one-to-one
//! relation.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::conformance::text;

/// What is known of what the servers made up: uids, names and addresses one to one, versions in the
/// same order as well.
#[derive(Debug, Default)]
pub struct Relation {
    versions: BTreeMap<u64, u64>,
    back: BTreeMap<u64, u64>,
    made_up: BTreeMap<String, String>,
    made_up_back: BTreeMap<String, String>,
    /// An address or a port was not the counterpart of what it was before: somebody may have given
    /// it back, and another drawn it again.
    pub drawn_again: bool,
}

impl Relation {
    /// Compares two bodies: the real server's, and the embedded one's.
    pub fn bodies(&mut self, real: &Value, embedded: &Value) -> Result<(), String> {
        if is_malformed(real) {
            let known = |status: &Value| json!([status["code"], status["reason"]]);
            return same("refusal", &known(real).to_string(), &known(embedded).to_string());
        }
        let is_list = |value: &Value| value.get("items").is_some() || value["kind"] == "Table";
        let (of_list, of_bookmark) = (is_list(real), real["type"] == "BOOKMARK");
        let of_events = real["object"]["kind"] == "Event";
        let causes =
            ["/details/causes", "/object/details/causes"].iter().find_map(|at| real.pointer(at));
        let one_cause = causes.and_then(Value::as_array).is_some_and(|causes| causes.len() == 1);
        self.values(
            real,
            embedded,
            &mut Path { text: String::new(), of_list, of_bookmark, of_events, one_cause },
        )
    }

    fn values(&mut self, real: &Value, embedded: &Value, at: &mut Path) -> Result<(), String> {
        match (real, embedded) {
            (Value::Object(a), Value::Object(b)) => {
                let names: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
                for name in names {
                    let (a, b) = (a.get(name), b.get(name));
                    let length = at.push(name);
                    match (a, b) {
                        (Some(a), Some(b)) => self.member(name, a, b, at)?,
                        (Some(a), None) => {
                            return Err(format!(
                                "{at}: real has {a}, embedded nothing",
                                at = at.text
                            ));
                        }
                        (None, Some(b)) => {
                            return Err(format!(
                                "{at}: real has nothing, embedded {b}",
                                at = at.text
                            ));
                        }
                        (None, None) => {}
                    }
                    at.text.truncate(length);
                }
                Ok(())
            }
            (Value::Array(a), Value::Array(b)) => {
                if a.len() != b.len() {
                    let short = |items: &[Value]| {
                        format!("{} items {:.600}", items.len(), Value::from(items))
                    };
                    return Err(format!(
                        "{}: real has {}, embedded {}",
                        at.text,
                        short(a),
                        short(b)
                    ));
                }
                for (index, (a, b)) in a.iter().zip(b).enumerate() {
                    let length = at.push(&index.to_string());
                    self.values(a, b, at)?;
                    at.text.truncate(length);
                }
                Ok(())
            }
            (Value::String(a), Value::String(b)) => {
                self.texts(a, b).map_err(|why| format!("{}: {why}", at.text))
            }
            _ if real == embedded => Ok(()),
            _ => Err(format!("{}: real has {real}, embedded {embedded}", at.text)),
        }
    }

    fn member(
        &mut self,
        name: &str,
        real: &Value,
        embedded: &Value,
        at: &mut Path,
    ) -> Result<(), String> {
        match (name, real, embedded) {
            ("resourceVersion", Value::String(a), Value::String(b)) => {
                let of_mark = at.of_bookmark && at.text == "/object/metadata/resourceVersion";
                let related = if of_mark && at.of_events {
                    self.not_before(a, b)
                } else if of_mark || (at.of_list && at.text == "/metadata/resourceVersion") {
                    self.in_order(a, b)
                } else {
                    self.same_version(a, b)
                };
                related.map_err(|why| format!("{}: {why}", at.text))
            }
            // Of columns the real server quotes the documentation of fields, which is not recorded.
            ("description", ..) if at.text.contains("/columnDefinitions/") => Ok(()),
            // Go writes a list without items as null if it was never made; which one is, depends on
            // the way to it.
            ("items", Value::Null, Value::Array(none))
            | ("items", Value::Array(none), Value::Null)
                if none.is_empty() =>
            {
                Ok(())
            }
            // What a token says is the server's own business.
            ("continue", Value::String(a), Value::String(b)) if a.is_empty() == b.is_empty() => {
                Ok(())
            }
            // The order of several causes is random, and that of the message's parts with it.
            ("details", ..) => self.values(&sorted(real), &sorted(embedded), at),
            ("message", Value::String(a), Value::String(b)) => {
                let whole = self.texts(a, b);
                let (a, b) = (without_template(a), without_template(b));
                let (a, b) = (without_difference(&a), without_difference(&b));
                let (a, b) = (without_definition(&a), without_definition(&b));
                let related = whole.is_ok()
                    || self.texts(&a, &b).is_ok()
                    || !at.one_cause && parts(&self.as_embedded(&a)) == parts(&b);
                if related { Ok(()) } else { whole.map_err(|why| format!("{}: {why}", at.text)) }
            }
            // Drawn from a range, where none is asked for.
            ("nodePort", Value::Number(a), Value::Number(b)) => {
                self.same_drawn(&format!("port {a}"), &format!("port {b}"))
            }
            _ => self.values(real, embedded, at),
        }
    }

    /// Two versions of which each is the other's counterpart from now on.
    fn same_version(&mut self, real: &str, embedded: &str) -> Result<(), String> {
        let (Ok(a), Ok(b)) = (real.parse::<u64>(), embedded.parse::<u64>()) else {
            return same("version", real, embedded);
        };
        match (self.versions.get(&a), self.back.get(&b)) {
            (Some(known), _) if *known == b => Ok(()),
            (None, None) => {
                self.in_order(real, embedded)?;
                self.versions.insert(a, b);
                self.back.insert(b, a);
                Ok(())
            }
            (Some(_), _) => Err(format!(
                "the real server has had this version ({a}), the embedded one has another now ({b})"
            )),
            (None, Some(_)) => Err(format!(
                "the embedded server has had this version ({b}), the real one has another now ({a})"
            )),
        }
    }

    /// Two versions between the same neighbours.
    fn in_order(&self, real: &str, embedded: &str) -> Result<(), String> {
        let (Ok(a), Ok(b)) = (real.parse::<u64>(), embedded.parse::<u64>()) else {
            return same("version", real, embedded);
        };
        let below = self.versions.range(..=a).next_back().is_none_or(|(_, known)| *known <= b);
        let above = self.versions.range(a + 1..).next().is_none_or(|(_, known)| *known > b);
        if below && above {
            Ok(())
        } else {
            Err(format!("the versions {a} and {b} are not at the same place in the order"))
        }
    }

    /// The version of a bookmark of Events: the real server may read it after a call that came
    /// later, since it answers a watch before it has read what that begins with.
    fn not_before(&self, real: &str, embedded: &str) -> Result<(), String> {
        let (Ok(a), Ok(b)) = (real.parse::<u64>(), embedded.parse::<u64>()) else {
            return same("version", real, embedded);
        };
        if self.back.range(..=b).next_back().is_none_or(|(_, known)| *known <= a) {
            Ok(())
        } else {
            Err(format!("the bookmark at {a} comes before the one at {b}"))
        }
    }

    /// Two headers, whose lines must be equal in order; but those about unknown fields come in Go's
    /// order of a structure where a patch has copied one.
    pub fn headers(&mut self, real: &[String], embedded: &[String]) -> Result<(), String> {
        let in_order = |lines: &[String]| {
            let (mut unknown, others): (Vec<_>, Vec<_>) =
                lines.iter().cloned().partition(|line| line.contains("unknown field"));
            unknown.sort();
            [others, unknown].concat().join("\n")
        };
        self.texts(&in_order(real), &in_order(embedded))
    }

    /// Two texts whose words are equal, or made up and related.
    pub(super) fn texts(&mut self, real: &str, embedded: &str) -> Result<(), String> {
        if real == embedded || (is_time(real) && is_time(embedded) && real.len() == embedded.len())
        {
            return Ok(());
        }
        let differ = || same("text", real, embedded);
        let (a, b) = (words(real), words(embedded));
        // What stands between the words is nobody's to make up.
        if a.len() != b.len() || between(real) != between(embedded) {
            return differ();
        }
        for (a, b) in a.iter().zip(&b) {
            if a == b {
                continue;
            }
            let related = self.related(a, b);
            if related.is_err() {
                return differ();
            }
        }
        Ok(())
    }

    /// Two words that are not equal, but may be made up and related.
    fn related(&mut self, a: &str, b: &str) -> Result<(), String> {
        if is_uid(a) && is_uid(b) || generated(a, b) {
            self.same_word(a, b)
        } else if is_address(a) && is_address(b) {
            self.same_drawn(a, b)
        } else if is_number(a) && is_number(b) {
            // Of versions, which are no less than the first one known. What a client has sent is
            // less, and stays equal.
            match a
                .parse::<u64>()
                .ok()
                .and_then(|a| self.versions.range(..=a).next_back().zip(Some(a)))
            {
                Some(((known, _), a)) if *known == a => self.same_version(&a.to_string(), b),
                Some(_) => self.in_order(a, b),
                None => same("word", a, b),
            }
        } else if is_age(a) && is_age(b) || is_time(a) && is_time(b) {
            Ok(())
        } else if let (Some((of, number)), Some((same, other))) = (node_port(a), node_port(b))
            && of == same
        {
            self.same_drawn(&format!("port {number}"), &format!("port {other}"))
        } else {
            same("word", a, b)
        }
    }

    /// A text of the real server's with the embedded one's counterparts of what is known to be made
    /// up.
    fn as_embedded(&self, real: &str) -> String {
        let mut out = String::new();
        let mut rest = real;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
            out.push_str(self.made_up.get(word).map_or(word, String::as_str));
            let (between, next) = after.split_at(after.find(is_word).unwrap_or(after.len()));
            out.push_str(between);
            rest = next;
        }
        out
    }

    /// As `same_word`, of what servers draw from a range, of which what is given back may be drawn
    /// again.
    fn same_drawn(&mut self, real: &str, embedded: &str) -> Result<(), String> {
        let related = self.same_word(real, embedded);
        self.drawn_again |= related.is_err();
        related
    }

    fn same_word(&mut self, real: &str, embedded: &str) -> Result<(), String> {
        let known = self.made_up.entry(real.to_owned()).or_insert_with(|| embedded.to_owned());
        let back = self.made_up_back.entry(embedded.to_owned()).or_insert_with(|| real.to_owned());
        if known == embedded && back == real { Ok(()) } else { same("word", real, embedded) }
    }
}

struct Path {
    text: String,
    of_list: bool,
    of_bookmark: bool,
    /// Of Events, which have no watch cache.
    of_events: bool,
    /// The real server says one cause, which has no order.
    one_cause: bool,
}

impl Path {
    /// Goes into a member; returns the length to go back to.
    fn push(&mut self, name: &str) -> usize {
        let length = self.text.len();
        self.text.push('/');
        self.text.push_str(name);
        length
    }
}

fn same(what: &str, real: &str, embedded: &str) -> Result<(), String> {
    if real == embedded {
        return Ok(());
    }
    Err(format!("{what}: real {real:.1500?}, embedded {embedded:.1500?}"))
}

/// Details with their causes in one order, each once: the real server says some twice.
fn sorted(details: &Value) -> Value {
    let mut details = details.clone();
    if let Some(causes) = details.get_mut("causes").and_then(Value::as_array_mut) {
        causes.sort_by_key(|cause| (text(cause, "/field").to_owned(), cause.to_string()));
        causes.dedup();
    }
    details
}

/// The parts of a message with several, in one order.
fn parts(message: &str) -> Vec<String> {
    let mut parts: Vec<_> = message
        .split([',', '[', ']', '\n'])
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect();
    parts.sort();
    parts.dedup();
    parts
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':')
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c| !is_word(c))
        .map(|word| word.trim_end_matches(['.', ':']))
        .filter(|word| !word.is_empty())
        .collect()
}

/// All but the words, each of which becomes one sign.
fn between(text: &str) -> String {
    let mut out = String::new();
    let mut in_word = false;
    for c in text.chars() {
        if !is_word(c) {
            out.push(c);
        } else if !in_word {
            out.push('w');
        }
        in_word = is_word(c);
    }
    out
}

/// Whether the real server refuses input that is malformed, which it says in Go's words: what else
/// it says of it is not compared.
fn is_malformed(status: &Value) -> bool {
    const WORDS: [&str; 39] = [
        // Bodies, and their members.
        "json: cannot unmarshal ",
        "json parse error: ",
        "invalid character '",
        "unexpected end of JSON input",
        "Object 'Kind' is missing",
        "Object 'apiVersion' is missing",
        " accessor error: ",
        "illegal base64 data",
        "parsing time ",
        "boolean or JSON schema expected",
        "quantities must match",
        "in scheme \"pkg/runtime/scheme.go",
        ": unknown conversion",
        // Out of maps.
        "cannot restore ",
        "cannot convert ",
        "unrecognized type: ",
        "failed to convert new object",
        "expected map, got ",
        "expected list, got ",
        "expected string, got ",
        "expected boolean, got ",
        "expected numeric (int or float), got ",
        "expected any scalar, got ",
        // Patches.
        " \"\" is invalid: patch: ",
        "Invalid JSON Patch",
        "unknown patch type: ",
        "does not contain declared merge key",
        "expected a []interface {}",
        "The order in patch list:",
        "list element types are not identical",
        // Paths and queries.
        "strconv.ParseInt: ",
        "strconv.ParseUint: ",
        "invalid timeout specified in the request URL",
        "time: invalid duration",
        "time: missing unit",
        "time: unknown unit",
        "invalid continue token",
        "invalid key: ",
        "\\x",
    ];
    let message = text(status, "/message");
    status["kind"] == "Status" && WORDS.iter().any(|words| message.contains(words))
}

/// A message without the schemas, rules and versions of a definition, which Go shows as its own
/// structures.
fn without_definition(message: &str) -> Cow<'_, str> {
    const BEGIN: &str = "Invalid value: ";
    const MEMBERS: [&str; 7] = [
        "\"OpenAPIV3Schema\":",
        "\"openAPIV3Schema\":",
        "\"XValidations\":",
        "\"MessageExpression\":",
        "\"rule\":",
        "\"type\":\"object\"",
        "\"Served\":",
    ];
    let mut parts = message.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut values = serde_json::Deserializer::from_str(part).into_iter::<Value>();
        let is_value = values.next().is_some_and(|value| value.is_ok());
        let (shown, rest) = part.split_at(if is_value { values.byte_offset() } else { 0 });
        out.push_str(BEGIN);
        out.push_str(if MEMBERS.iter().any(|member| shown.contains(member)) { "" } else { shown });
        out.push_str(rest);
    }
    out.into()
}

/// A message without how an object would differ: the lines from one that begins with `@@` on, as
/// long as they are of it.
fn without_difference(message: &str) -> Cow<'_, str> {
    let Some((before, difference)) = message.split_once("\n@@") else { return message.into() };
    let is_of_it = |line: &str| line.starts_with(['@', ' ', '+', '-']);
    let after: Vec<_> = difference.split('\n').skip(1).skip_while(|line| is_of_it(line)).collect();
    format!("{before}{}", after.join("\n")).into()
}

/// A message without the template that may not change, which Go shows as its own structure.
fn without_template(message: &str) -> Cow<'_, str> {
    const BEGIN: &str = "Invalid value: {";
    const END: &str = "}: field is immutable";
    let Some((head, after)) = message.split_once(END) else { return message.into() };
    let after = without_template(after);
    // The last that begins before the end: others stand as they are.
    let Some((before, shown)) = head.rsplit_once(BEGIN) else {
        return format!("{head}{END}{after}").into();
    };
    let is_template =
        ["\"Containers\":", "\"containers\":"].iter().any(|member| shown.contains(member));
    let shown = if is_template { "" } else { shown };
    format!("{before}{BEGIN}{shown}{END}{after}").into()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_uid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Two names of one `generateName`.
fn generated(real: &str, embedded: &str) -> bool {
    let cut = |name: &str| name.len().checked_sub(5).filter(|at| name.is_char_boundary(*at));
    let (Some(a), Some(b)) = (cut(real), cut(embedded)) else { return false };
    real[..a] == embedded[..b] && real[..a].ends_with('-') && a > 1
}

fn is_address(word: &str) -> bool {
    word.split('.').count() == 4 && word.split('.').all(is_number)
}

fn is_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 20
        && bytes[4] == b'-'
        && bytes[10] == b'T'
        && bytes.ends_with(b"Z")
        && bytes[..4].iter().all(u8::is_ascii_digit)
}

/// A port of a Service with the one on the nodes that was drawn for it, as tables show them:
/// `80:30001`.
fn node_port(word: &str) -> Option<(&str, &str)> {
    let (port, drawn) = word.split_once(':')?;
    let is_drawn = drawn.parse().is_ok_and(|drawn: u16| (30000..=32767).contains(&drawn));
    (is_number(port) && is_drawn).then_some((port, drawn))
}

/// How long something has been there, as tables say it.
fn is_age(word: &str) -> bool {
    word.strip_suffix('s').is_some_and(is_number)
}
