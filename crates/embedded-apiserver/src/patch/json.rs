//! JSON patches as the real server reads them: RFC 6902, with the liberties of the Go library that
//! it uses.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json_syntax::READABLE_DEPTH;
use crate::patch::document::{Failed, Node};
use crate::query::FieldValidation;
use crate::status::Status;
use k8s_value::go_value::json_type;

/// The most operations of one patch, as kube-apiserver's.
const MAX_OPERATIONS: usize = 10_000;
/// How many bytes the `copy` operations of one patch may add: a body's size, as kube-apiserver's
/// (`AccumulatedCopySizeLimit`).
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// How many bytes of values one patch may have looked through for their depth. Only a patch that
/// moves the same large value to and fro gets there.
const MAX_MEASURED: usize = 64 * 1024 * 1024;

/// One operation of a patch. A missing member is an error only when the operation runs, as on the
/// real server.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    value: Option<Node>,
}

/// Reads a patch: a list of objects.
pub(super) fn parse(body: &Bytes, validation: FieldValidation) -> Result<Vec<Operation>, Status> {
    let ignores = validation == FieldValidation::Ignore;
    let bad = |why: String| {
        let prefix = if ignores { "" } else { "error decoding patch: " };
        Status::bad_request(format!("{prefix}{why}"))
    };
    let unlike = |raw: &RawValue, expected: &str| {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        bad(format!("expected {expected}, got {}", json_type(&value)))
    };
    let raw: &RawValue = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
    let operations: Option<Vec<&RawValue>> =
        serde_json::from_str(raw.get()).map_err(|_| unlike(raw, "a list of operations"))?;
    let operations = operations.unwrap_or_default();
    if operations.len() > MAX_OPERATIONS {
        return Err(Status::too_large(MAX_OPERATIONS));
    }
    let read = |raw: &RawValue| {
        let members: Option<BTreeMap<String, &RawValue>> =
            serde_json::from_str(raw.get()).map_err(|_| unlike(raw, "an operation"))?;
        let members = members.unwrap_or_default();
        if !ignores {
            check(&members).map_err(bad)?;
        }
        let text =
            |name: &str| members.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok());
        let value = members.get("value").map(|raw| Node::said(body, raw));
        Ok(Operation { op: text("op"), path: text("path"), from: text("from"), value })
    };
    operations.into_iter().map(read).collect()
}

/// What every operation is looked at for before any is carried out: `jsonPatchOp` of
/// k8s.io/apiserver.
fn check(members: &BTreeMap<String, &RawValue>) -> Result<(), String> {
    for name in ["op", "from", "path"] {
        let value = members.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        if let Some(value) = value.filter(|value| !value.is_string() && !value.is_null()) {
            return Err(format!("{name}: expected string, got {}", json_type(&value)));
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

/// Why a patch ends.
enum End {
    Failed(Failed),
    Crossed(Status),
}

impl From<Failed> for End {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

/// The text that a patch makes of the text of a document.
pub(super) fn apply(operations: &[Operation], document: Bytes) -> Result<String, Status> {
    let mut cost = Cost::default();
    let mut document = Node::Text(document);
    let opened = document.open().is_some();
    debug_assert!(opened, "an object is a JSON object");
    for operation in operations {
        operation.apply(&mut document, &mut cost).map_err(|end| match end {
            End::Failed(Failed::Refused) => Status::unprocessable(),
            End::Failed(Failed::Panicked) => Status::panicked(),
            End::Crossed(status) => status,
        })?;
    }
    Ok(document.text())
}

impl Operation {
    fn apply(&self, document: &mut Node, cost: &mut Cost) -> Result<(), End> {
        let refused = End::Failed(Failed::Refused);
        let (Some(op), Some(path)) = (&self.op, &self.path) else { return Err(refused) };
        let from = || self.from.as_deref().ok_or(Failed::Refused);
        match &**op {
            "add" => {
                cost.place(path, self.value.as_ref())?;
                document.place(path).ok_or(refused)?.add(self.value.clone())?;
            }
            "replace" if path.is_empty() => {
                let mut value = self.value.clone().ok_or(Failed::Panicked)?;
                value.open().ok_or(refused)?;
                *document = value;
            }
            "replace" => {
                cost.place(path, self.value.as_ref())?;
                document.place(path).ok_or(refused)?.set(self.value.clone())?;
            }
            "remove" => drop(document.place(path).ok_or(refused)?.remove()?),
            "move" => {
                let from = from()?;
                let value = document.place(from).ok_or(Failed::Refused)?.remove()?;
                // A move to the same depth or less cannot nest deeper.
                if levels(path) > levels(from) {
                    cost.place(path, value.as_ref())?;
                }
                document.place(path).ok_or(refused)?.add(value)?;
            }
            "copy" => {
                let mut source = document.place(from()?).ok_or(Failed::Refused)?;
                let value = source.get()?.map(|value| Node::Text(value.text().into()));
                document.place(path).ok_or(Failed::Refused)?;
                cost.copy(value.as_ref())?;
                cost.place(path, value.as_ref())?;
                document.place(path).ok_or(refused)?.add(value)?;
            }
            "test" => self.test(document, path)?,
            _ => return Err(refused),
        }
        Ok(())
    }

    fn test(&self, document: &mut Node, path: &str) -> Result<(), Failed> {
        let mut wanted = self.value.clone();
        let equal = if path.is_empty() {
            document.equals(wanted.as_mut().ok_or(Failed::Panicked)?)?
        } else {
            let mut place = document.place(path).ok_or(Failed::Refused)?;
            match (place.get()?, &mut wanted) {
                (None, None | Some(Node::Null)) => true,
                (None, Some(_)) | (Some(_), None) => false,
                (Some(value), Some(wanted)) => value.equals(wanted)?,
            }
        };
        if equal { Ok(()) } else { Err(Failed::Refused) }
    }
}

fn levels(path: &str) -> usize {
    path.matches('/').count()
}

impl Cost {
    /// Refuses a value that would nest the document deeper than it can be read again.
    fn place(&mut self, path: &str, value: Option<&Node>) -> Result<(), End> {
        let (size, depth) = value.map_or((0, 0), Node::size);
        if levels(path).saturating_add(depth) > READABLE_DEPTH {
            return Err(End::Crossed(Status::too_deep()));
        }
        self.measured = self.measured.saturating_add(size);
        if self.measured > MAX_MEASURED {
            let why = format!("the patch moves more than {MAX_MEASURED} bytes in all");
            return Err(End::Crossed(Status::out_of_bounds(&why)));
        }
        Ok(())
    }

    /// Refuses to copy more in all than fits into a request: a few operations that copy what others
    /// copied would take all memory.
    fn copy(&mut self, value: Option<&Node>) -> Result<(), End> {
        let size = value.map_or(0, |value| value.size().0);
        self.copied = self.copied.saturating_add(size);
        if self.copied > MAX_COPIED {
            let why = format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit \
                 {MAX_COPIED}",
                self.copied
            );
            return Err(End::Crossed(Status::out_of_bounds(&why)));
        }
        Ok(())
    }
}
