//! A document that a patch opens level by level, as the API server's library does. A value that no
//! operation opens keeps its text, and a test compares that text.

use std::collections::BTreeMap;

use bytes::Bytes;
use k8s_value::go_json;
use k8s_value::go_value::quoted;
use k8s_value::json_text::{READABLE_DEPTH, compact, depth};
use serde_json::value::RawValue;

use crate::patch::error::PatchError;

/// A value of a document.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// JSON that no operation has opened.
    Text(Bytes),
    /// The null of an operation. A null of a document is the absence of a node.
    Null,
    Object(Members),
    List(Items),
}

pub(super) type Members = BTreeMap<String, Option<Node>>;
pub(super) type Items = Vec<Option<Node>>;

/// The place that the path of an operation names.
pub(super) enum Place<'a> {
    Member(&'a mut Members, String),
    Item(&'a mut Items, String),
}

/// Whether a text has more levels than can be read, or than the stack is made for.
pub(super) fn is_too_deep(json: &[u8]) -> bool {
    // Most texts have fewer brackets than that.
    let brackets = json.iter().filter(|byte| matches!(byte, b'{' | b'['));
    brackets.count() > READABLE_DEPTH && depth(json) > READABLE_DEPTH
}

/// A part of a text, without a copy.
fn part(whole: &Bytes, raw: &RawValue) -> Option<Node> {
    (raw.get() != "null").then(|| Node::Text(whole.slice_ref(raw.get().as_bytes())))
}

impl Node {
    /// The value of an operation.
    pub(super) fn of_operation(whole: &Bytes, raw: &RawValue) -> Self {
        part(whole, raw).unwrap_or(Self::Null)
    }

    /// Opens an object. Like Go, it reads null as an object without members.
    pub(super) fn open_object(&mut self) -> Option<&mut Members> {
        if let Self::Text(text) = self {
            let members: Option<BTreeMap<String, &RawValue>> = serde_json::from_slice(text).ok()?;
            let members = members.into_iter().flatten();
            *self = Self::Object(members.map(|(name, raw)| (name, part(text, raw))).collect());
        }
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Opens a list, or null.
    fn open_list(&mut self) -> Option<&mut Items> {
        if let Self::Text(text) = self {
            let items: Option<Vec<&RawValue>> = serde_json::from_slice(text).ok()?;
            *self = Self::List(items.into_iter().flatten().map(|raw| part(text, raw)).collect());
        }
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Opens an object or a list. `None` for any other value.
    pub(super) fn open(&mut self) -> Option<&mut Self> {
        let is_list = match self {
            Self::Text(text) => text.trim_ascii_start().starts_with(b"["),
            Self::List(_) => true,
            Self::Object(_) => false,
            Self::Null => return None,
        };
        if is_list {
            self.open_list().map(drop)?
        } else {
            self.open_object().map(drop)?
        }
        Some(self)
    }

    /// The place of a path. `None` if a part before the last one leads to no value.
    pub(super) fn place(&mut self, path: &str) -> Option<Place<'_>> {
        // Go ignores the text before the first slash.
        let (_, path) = path.split_once('/')?;
        let (parents, last) =
            path.rsplit_once('/').map_or((None, path), |(parents, last)| (Some(parents), last));
        let mut node = self;
        for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
            let part = decoded(part);
            let next = match node {
                Self::Object(members) => members.get_mut(&part)?.as_mut()?,
                Self::List(items) => {
                    let at = index(&part, items.len()).ok()?;
                    items.get_mut(at)?.as_mut()?
                }
                Self::Text(_) | Self::Null => return None,
            };
            node = next.open()?;
        }
        match node {
            Self::Object(members) => Some(Place::Member(members, decoded(last))),
            Self::List(items) => Some(Place::Item(items, decoded(last))),
            Self::Text(_) | Self::Null => None,
        }
    }

    /// Compares two values: objects and lists by their members, anything else by its text.
    pub(super) fn equals(&mut self, other: &mut Self) -> Result<bool, PatchError> {
        if matches!(self, Self::Text(_)) && self.open_object().is_none() {
            self.open_list();
        }
        match self {
            Self::Text(_) | Self::Null => Ok(match other {
                Self::Text(_) | Self::Null => self.compact() == other.compact(),
                Self::Object(_) | Self::List(_) => false,
            }),
            Self::Object(members) => {
                let Some(others) = other.open_object() else { return Ok(false) };
                if members.len() != others.len() {
                    return Ok(false);
                }
                for (name, value) in members {
                    let equal = match (value, others.get_mut(name)) {
                        (Some(value), Some(Some(other))) => value.equals(other)?,
                        (None, Some(None)) => true,
                        _ => false,
                    };
                    if !equal {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::List(items) => {
                let Some(others) = other.open_list() else { return Ok(false) };
                if items.len() != others.len() {
                    return Ok(false);
                }
                for (value, other) in items.iter_mut().zip(others) {
                    let (Some(value), Some(other)) = (value, other) else {
                        return Err(PatchError::Panic);
                    };
                    if !value.equals(other)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// The text without the blanks between its parts.
    fn compact(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => compact(text),
            _ => Vec::new(),
        }
    }

    /// Appends the value as Go's `json.Marshal` does.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Text(text) => {
                // It is a part of a text that is UTF-8.
                let text = String::from_utf8(compact(text)).unwrap_or_default();
                out.push_str(&go_json::escaped(&text));
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(&go_json::go_json(name));
                    out.push(':');
                    value.as_ref().unwrap_or(&Self::Null).write(out);
                }
                out.push('}');
            }
            Self::List(items) => {
                out.push('[');
                for (at, value) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    value.as_ref().unwrap_or(&Self::Null).write(out);
                }
                out.push(']');
            }
        }
    }

    /// The value as a text of its own.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// About how many bytes it has, and how many levels.
    pub(super) fn size(&self) -> (usize, usize) {
        let sum = |parts: &mut dyn Iterator<Item = (usize, Option<&Self>)>| {
            parts.fold((2_usize, 0_usize), |(size, depth), (name, value)| {
                let (inner, deeper) = value.map_or((4, 0), Self::size);
                (size.saturating_add(name).saturating_add(inner), depth.max(deeper))
            })
        };
        let (size, depth) = match self {
            Self::Null => return (4, 0),
            Self::Text(text) => return (text.len(), depth(text)),
            Self::Object(members) => sum(&mut members
                .iter()
                .map(|(name, value)| (name.len().saturating_add(4), value.as_ref()))),
            Self::List(items) => sum(&mut items.iter().map(|value| (1, value.as_ref()))),
        };
        (size, depth.saturating_add(1))
    }
}

impl Place<'_> {
    /// The value there. `None` for null, and for a member that is absent.
    pub(super) fn get(&mut self) -> Result<Option<&mut Node>, PatchError> {
        match self {
            Self::Member(members, name) => Ok(members.get_mut(name).and_then(Option::as_mut)),
            Self::Item(items, at) => {
                let at = index(at, items.len())?;
                Ok(items.get_mut(at).and_then(Option::as_mut))
            }
        }
    }

    /// Replaces the value there. A member may be absent.
    pub(super) fn set(self, value: Option<Node>) -> Result<(), PatchError> {
        match self {
            Self::Member(members, name) => drop(members.insert(name, value)),
            Self::Item(items, at) => {
                let at = index(&at, items.len())?;
                *items.get_mut(at).ok_or_else(|| missing(&at.to_string()))? = value;
            }
        }
        Ok(())
    }

    /// Adds a member, or an item before the one there; `-` is the end of the list.
    pub(super) fn add(self, value: Option<Node>) -> Result<(), PatchError> {
        match self {
            Self::Member(members, name) => drop(members.insert(name, value)),
            Self::Item(items, at) if at == "-" => items.push(value),
            Self::Item(items, at) => {
                // The end of the list is one place more.
                let at = index(&at, items.len().saturating_add(1)).map_err(|error| {
                    match at.parse::<i64>() {
                        Ok(_) => error,
                        Err(_) => error.of(&format!("value was not a proper array index: '{at}'")),
                    }
                })?;
                items.insert(at, value);
            }
        }
        Ok(())
    }

    pub(super) fn remove(self) -> Result<Option<Node>, PatchError> {
        match self {
            Self::Member(members, name) => members.remove(&name).ok_or_else(|| missing(&name)),
            Self::Item(items, at) => {
                let at = index(&at, items.len())?;
                Ok(items.remove(at))
            }
        }
    }
}

/// The error about a member that is absent.
fn missing(name: &str) -> PatchError {
    PatchError::Unprocessable(format!("Unable to remove nonexistent key: {name}: missing value"))
}

/// An index as Go's `strconv.Atoi` reads it: with a sign and with zeros before it; one below zero
/// counts from the end.
fn index(text: &str, len: usize) -> Result<usize, PatchError> {
    let Ok(said) = text.parse::<i64>() else {
        let text = quoted(text);
        let why = format!("strconv.Atoi: parsing {text}: invalid syntax");
        return Err(PatchError::Unprocessable(why));
    };
    let at = match usize::try_from(said) {
        Ok(at) => Some(at),
        Err(_) => usize::try_from(said.unsigned_abs()).ok().and_then(|back| len.checked_sub(back)),
    };
    at.filter(|at| *at < len).ok_or_else(|| {
        let why = format!("Unable to access invalid index: {said}: invalid index referenced");
        PatchError::Unprocessable(why)
    })
}

/// A part of a path: `~1` is a slash, `~0` a tilde.
fn decoded(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('~') {
        out.push_str(before);
        rest = match after.as_bytes().first() {
            Some(b'1') => {
                out.push('/');
                after.get(1..).unwrap_or_default()
            }
            Some(b'0') => {
                out.push('~');
                after.get(1..).unwrap_or_default()
            }
            _ => {
                out.push('~');
                after
            }
        };
    }
    out.push_str(rest);
    out
}
