//! JSON patches as the API server reads them: RFC 6902, with the liberties of its library.

use std::collections::BTreeMap;

use bytes::Bytes;
use k8s_value::go_value::json_type;
use k8s_value::json_text::READABLE_DEPTH;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::patch::document::{Node, is_too_deep};
use crate::patch::error::PatchError;

/// The most operations of one patch, as kube-apiserver's.
const MAX_OPERATIONS: usize = 10_000;
/// How many bytes the `copy` operations of one patch may add: a body's size, as kube-apiserver's
/// (`AccumulatedCopySizeLimit`).
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// How many bytes of values one patch may have looked through for their depth. Only a patch that
/// moves the same large value to and fro gets there.
const MAX_MEASURED: usize = 64 * 1024 * 1024;

/// A JSON patch: a list of operations.
///
/// ```
/// use k8s_merge::patch::{JsonPatch, PatchError};
///
/// let patch = JsonPatch::parse(
///     r#"[
///         { "op": "test", "path": "/replicas", "value": 1 },
///         { "op": "replace", "path": "/replicas", "value": 2 },
///         { "op": "add", "path": "/ports/-", "value": 443 }
///     ]"#,
/// )?;
/// let patched = patch.apply(r#"{"ports":[80],"replicas":1}"#)?;
/// assert_eq!(patched, r#"{"ports":[80,443],"replicas":2}"#);
/// let why = "testing value /replicas failed: test failed".to_owned();
/// assert_eq!(patch.apply(patched), Err(PatchError::Unprocessable(why)));
/// # Ok::<(), PatchError>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "jsonpatch.Patch")]
pub struct JsonPatch(Vec<Operation>);

/// One operation. A missing member is an error only when the operation runs, as in the API server.
#[derive(Debug, Clone)]
struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    value: Option<Node>,
}

impl JsonPatch {
    /// Reads a patch, and checks the types of the members of its operations.
    ///
    /// # Errors
    ///
    /// It is no list of operations, has too many of them, or is nested too deep.
    #[doc(alias = "DecodePatch")]
    pub fn parse(patch: impl Into<Bytes>) -> Result<Self, PatchError> {
        Self::read(&patch.into(), true)
    }

    /// As [`parse`](Self::parse), for a request with `fieldValidation=Ignore`: a member of a wrong
    /// type is taken for missing.
    ///
    /// # Errors
    ///
    /// It is no list of operations, has too many of them, or is nested too deep.
    pub fn parse_unchecked(patch: impl Into<Bytes>) -> Result<Self, PatchError> {
        Self::read(&patch.into(), false)
    }

    /// Whether it has no operation.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn read(patch: &Bytes, checks_members: bool) -> Result<Self, PatchError> {
        let unlike = |raw: &RawValue, expected: &str| {
            let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
            PatchError::Malformed(format!("expected {expected}, got {}", json_type(&value)))
        };
        let raw: &RawValue = serde_json::from_slice(patch)
            .map_err(|error| PatchError::Malformed(error.to_string()))?;
        if is_too_deep(patch) {
            return Err(PatchError::TooDeep);
        }
        let operations: Option<Vec<&RawValue>> =
            serde_json::from_str(raw.get()).map_err(|_| unlike(raw, "a list of operations"))?;
        let operations = operations.unwrap_or_default();
        if operations.len() > MAX_OPERATIONS {
            return Err(PatchError::TooManyOperations(MAX_OPERATIONS));
        }
        let read = |raw: &RawValue| {
            let members: Option<BTreeMap<String, &RawValue>> =
                serde_json::from_str(raw.get()).map_err(|_| unlike(raw, "an operation"))?;
            let members = members.unwrap_or_default();
            if checks_members {
                check(&members)?;
            }
            let text =
                |name: &str| members.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok());
            let value = members.get("value").map(|raw| Node::of_operation(patch, raw));
            Ok(Operation { op: text("op"), path: text("path"), from: text("from"), value })
        };
        operations.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the text of a document after the operations. A value that none of them opens keeps
    /// its text, but for blanks.
    ///
    /// # Errors
    ///
    /// The document is neither an object nor a list, an operation fails, or a bound is crossed:
    /// copies may add 3 MiB in all.
    #[doc(alias = "jsonpatch.ApplyWithOptions")]
    pub fn apply(&self, document: impl Into<Bytes>) -> Result<String, PatchError> {
        let document = document.into();
        if is_too_deep(&document) {
            return Err(PatchError::TooDeep);
        }
        let mut cost = Cost::default();
        let mut document = Node::Text(document);
        document.open().ok_or(PatchError::NotAnObject)?;
        for operation in &self.0 {
            operation.apply(&mut document, &mut cost)?;
        }
        Ok(document.text())
    }
}

/// Checks the members of an operation before any operation runs: `jsonPatchOp` of
/// k8s.io/apiserver.
fn check(members: &BTreeMap<String, &RawValue>) -> Result<(), PatchError> {
    for name in ["op", "from", "path"] {
        let value = members.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        if let Some(value) = value.filter(|value| !value.is_string() && !value.is_null()) {
            let why = format!("{name}: expected string, got {}", json_type(&value));
            return Err(PatchError::Malformed(why));
        }
    }
    Ok(())
}

/// How much a patch has cost so far.
#[derive(Debug, Default)]
struct Cost {
    copied: usize,
    measured: usize,
}

impl Operation {
    fn apply(&self, document: &mut Node, cost: &mut Cost) -> Result<(), PatchError> {
        let refused = |why: String| PatchError::Unprocessable(why);
        let op = self.op.as_deref().unwrap_or("unknown");
        let lacks = |what: &str, path: &str| {
            refused(format!(
                "{op} operation does not apply: doc is missing {what}: {path}: missing value"
            ))
        };
        let at = |path: &str| format!("error in {op} for path: '{path}'");
        let Some(path) = &self.path else {
            return Err(refused(format!("{op} operation failed to decode path: missing value")));
        };
        let from = || {
            let none = || refused(format!("{op} operation failed to decode from: missing value"));
            self.from.as_deref().ok_or_else(none)
        };
        match op {
            "add" => {
                cost.place(path, self.value.as_ref())?;
                let place = document.place(path);
                let place = place.ok_or_else(|| lacks("path", &format!("\"{path}\"")))?;
                place.add(self.value.clone()).map_err(|error| error.of(&at(path)))?;
            }
            "replace" if path.is_empty() => {
                let mut value = self.value.clone().ok_or(PatchError::Panic)?;
                let why = "replace operation value must be object or array: %!w(<nil>)";
                value.open().ok_or_else(|| refused(why.to_owned()))?;
                *document = value;
            }
            "replace" => {
                cost.place(path, self.value.as_ref())?;
                let place = document.place(path).ok_or_else(|| lacks("path", path))?;
                place.set(self.value.clone()).map_err(|_| lacks("key", path))?;
            }
            "remove" => {
                let place = document.place(path);
                let place = place.ok_or_else(|| lacks("path", &format!("\"{path}\"")))?;
                drop(place.remove().map_err(|error| error.of(&at(path)))?);
            }
            "move" => {
                let from = from()?;
                let place = document.place(from).ok_or_else(|| lacks("from path", from))?;
                let key = from.rsplit('/').next().unwrap_or_default();
                let value = place.remove().map_err(|error| error.of(&at(key)))?;
                // A move to the same depth or less cannot nest deeper.
                if levels(path) > levels(from) {
                    cost.place(path, value.as_ref())?;
                }
                let place = document.place(path).ok_or_else(|| lacks("destination path", path))?;
                place.add(value).map_err(|error| error.of(&at(path)))?;
            }
            "copy" => {
                let from = from()?;
                let mut place = document.place(from).ok_or_else(|| lacks("from path", from))?;
                let found = place.get();
                let found = found
                    .map_err(|error| error.of(&format!("error in copy for from: '{from}'")))?;
                let value = found.map(|value| Node::Text(value.text().into()));
                document.place(path).ok_or_else(|| lacks("destination path", path))?;
                cost.copy(value.as_ref())?;
                cost.place(path, value.as_ref())?;
                let place = document.place(path).ok_or_else(|| lacks("destination path", path))?;
                place
                    .add(value)
                    .map_err(|error| error.of("error while adding value during copy"))?;
            }
            "test" => self.test(document, path)?,
            _ => return Err(refused(format!("Unexpected kind: {op}"))),
        }
        Ok(())
    }

    fn test(&self, document: &mut Node, path: &str) -> Result<(), PatchError> {
        let mut wanted = self.value.clone();
        let equal = if path.is_empty() {
            document.equals(wanted.as_mut().ok_or(PatchError::Panic)?)?
        } else {
            let mut place = document.place(path).ok_or_else(|| {
                let why = "test operation does not apply: is missing path";
                PatchError::Unprocessable(format!("{why}: {path}: missing value"))
            })?;
            let found =
                place.get().map_err(|e| e.of(&format!("error in test for path: '{path}'")))?;
            match (found, &mut wanted) {
                (None, None | Some(Node::Null)) => true,
                (None, Some(_)) | (Some(_), None) => false,
                (Some(value), Some(wanted)) => value.equals(wanted)?,
            }
        };
        let why = || format!("testing value {path} failed: test failed");
        if equal { Ok(()) } else { Err(PatchError::Unprocessable(why())) }
    }
}

fn levels(path: &str) -> usize {
    path.matches('/').count()
}

impl Cost {
    /// Refuses a value that would nest the document deeper than it can be read again.
    fn place(&mut self, path: &str, value: Option<&Node>) -> Result<(), PatchError> {
        let (size, depth) = value.map_or((0, 0), Node::size);
        if levels(path).saturating_add(depth) > READABLE_DEPTH {
            return Err(PatchError::TooDeep);
        }
        self.measured = self.measured.saturating_add(size);
        if self.measured > MAX_MEASURED {
            let why = format!("the patch moves more than {MAX_MEASURED} bytes in all");
            return Err(PatchError::OutOfBounds(why));
        }
        Ok(())
    }

    /// Refuses to copy more in all than fits into a request: a few operations that copy what others
    /// copied would take all memory.
    fn copy(&mut self, value: Option<&Node>) -> Result<(), PatchError> {
        let size = value.map_or(0, |value| value.size().0);
        self.copied = self.copied.saturating_add(size);
        if self.copied > MAX_COPIED {
            let why = format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit \
                 {MAX_COPIED}",
                self.copied
            );
            return Err(PatchError::OutOfBounds(why));
        }
        Ok(())
    }
}
