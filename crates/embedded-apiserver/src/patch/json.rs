//! JSON patches as the real server reads them: RFC 6902, with the liberties of the Go library that it uses.

use json_patch::{AddOperation, PatchOperation};
use serde_json::Value;

use crate::json_syntax::{READABLE_DEPTH, mismatch};
use crate::patch::wrong;
use crate::status::Status;

/// The most operations of one patch, as kube-apiserver's.
const MAX_OPERATIONS: usize = 10_000;
/// How many bytes the `copy` operations of one patch may add: a body's size, as kube-apiserver's
/// (`AccumulatedCopySizeLimit`).
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// How many bytes of values one patch may have looked through for their depth. Only a patch that moves the same large
/// value to and fro gets there.
const MAX_MEASURED: usize = 64 * 1024 * 1024;

/// One operation of a patch.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Operation(PatchOperation),
    /// It cannot be carried out, whatever the object is. Said when its turn comes, as the real server does.
    Wrong,
}

/// Reads a patch: a list of objects. What they say is looked at one by one.
pub(super) fn parse(body: &[u8]) -> Result<Vec<Step>, Status> {
    let bad = |why: String| Status::bad_request(format!("error decoding patch: {why}"));
    let operations = match serde_json::from_slice(body).map_err(|error| bad(wrong(body, &error)))? {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        other => return Err(bad(mismatch(&other, "value of type []handlers.jsonPatchOp"))),
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(Status::too_large(MAX_OPERATIONS));
    }
    operations.iter().try_for_each(check).map_err(bad)?;
    Ok(operations.into_iter().map(step).collect())
}

/// What every operation is looked at for before any is carried out: `jsonPatchOp` of k8s.io/apiserver.
fn check(operation: &Value) -> Result<(), String> {
    let members = match operation {
        Value::Object(members) => members,
        Value::Null => return Ok(()),
        other => return Err(mismatch(other, "value of type handlers.jsonPatchOp")),
    };
    for name in ["op", "from", "path"] {
        if let Some(value) = members.get(name).filter(|value| !value.is_string() && !value.is_null()) {
            return Err(mismatch(value, &format!("struct field jsonPatchOp.{name} of type string")));
        }
    }
    Ok(())
}

fn step(operation: Value) -> Step {
    let Value::Object(mut operation) = operation else { return Step::Wrong };
    // No value is a null.
    operation.entry("value").or_insert(Value::Null);
    match serde_json::from_value(Value::Object(operation)) {
        Ok(operation) => Step::Operation(operation),
        Err(_) => Step::Wrong,
    }
}

/// How much a patch has cost so far.
#[derive(Debug, Default)]
struct Cost {
    copied: usize,
    measured: usize,
}

pub(super) fn apply(steps: &[Step], document: &mut Value) -> Result<(), Status> {
    let mut cost = Cost::default();
    for step in steps {
        let operation = match step {
            Step::Operation(operation) => liberal(operation, document),
            Step::Wrong => return Err(Status::unprocessable()),
        };
        if tests_absence(&operation, document) {
            continue;
        }
        if is_of_the_whole(&operation) {
            return Err(Status::unprocessable());
        }
        cost.count(&operation, document)?;
        json_patch::patch(document, std::slice::from_ref(&operation)).map_err(|_| Status::unprocessable())?;
        // A whole object may become another one, and nothing else.
        if !document.is_object() {
            return Err(Status::unprocessable());
        }
    }
    Ok(())
}

/// What the real server takes an operation on an absent member of an object for: `replace` adds it, `copy` from there
/// adds a null.
fn liberal(operation: &PatchOperation, document: &Value) -> PatchOperation {
    let add = |path: &_, value: &Value| {
        PatchOperation::Add(AddOperation { path: Clone::clone(path), value: value.clone() })
    };
    match operation {
        PatchOperation::Replace(replace) if is_absent_member(&replace.path, document) => {
            add(&replace.path, &replace.value)
        }
        PatchOperation::Copy(copy) if is_absent_member(&copy.from, document) => add(&copy.path, &Value::Null),
        as_it_is => as_it_is.clone(),
    }
}

/// Whether an operation has the whole object where the real server can have only a part of it: it replaces and tests
/// the whole, and does nothing else with it.
fn is_of_the_whole(operation: &PatchOperation) -> bool {
    match operation {
        PatchOperation::Add(add) => add.path.is_root(),
        PatchOperation::Remove(remove) => remove.path.is_root(),
        PatchOperation::Copy(copy) => copy.from.is_root() || copy.path.is_root(),
        PatchOperation::Move(moved) => moved.from.is_root() || moved.path.is_root(),
        PatchOperation::Replace(_) | PatchOperation::Test(_) => false,
    }
}

/// Whether a pointer names a member that an object, which is there, does not have.
fn is_absent_member(path: &json_patch::jsonptr::Pointer, document: &Value) -> bool {
    let Some((parent, member)) = path.split_back() else { return false };
    let parent = parent.resolve(document).ok().and_then(Value::as_object);
    parent.is_some_and(|parent| !parent.contains_key(member.decoded().as_ref()))
}

/// `test` for null on an absent member: the real server's way to say "absent" (RFC 6902 itself would fail it). kube's
/// finalizer helper relies on it.
fn tests_absence(operation: &PatchOperation, document: &Value) -> bool {
    let PatchOperation::Test(test) = operation else { return false };
    test.value.is_null() && is_absent_member(&test.path, document)
}

impl Cost {
    /// Refuses an operation that would nest the document deeper than it can be read again, or copy more in all than
    /// fits into a request: a few operations that copy what others copied would take all memory and the stack.
    fn count(&mut self, operation: &PatchOperation, document: &Value) -> Result<(), Status> {
        let (path, value, copies) = match operation {
            PatchOperation::Add(add) => (&add.path, Some(&add.value), false),
            PatchOperation::Replace(replace) => (&replace.path, Some(&replace.value), false),
            // What is not nested deeper than it was is not too deep.
            PatchOperation::Move(moved) if moved.path.count() <= moved.from.count() => return Ok(()),
            PatchOperation::Move(moved) => (&moved.path, moved.from.resolve(document).ok(), false),
            PatchOperation::Copy(copy) => (&copy.path, copy.from.resolve(document).ok(), true),
            PatchOperation::Remove(_) | PatchOperation::Test(_) => return Ok(()),
        };
        // A source that is not there is reported by the operation itself.
        let Some(value) = value else { return Ok(()) };
        let size = READABLE_DEPTH.checked_sub(path.count()).and_then(|room| size_within(value, room));
        let Some(size) = size else {
            return Err(Status::too_deep());
        };
        self.measured = self.measured.saturating_add(size);
        if self.measured > MAX_MEASURED {
            let why = format!("the patch moves more than {MAX_MEASURED} bytes in all");
            return Err(Status::out_of_bounds(&why));
        }
        if copies {
            self.copied = self.copied.saturating_add(size);
            if self.copied > MAX_COPIED {
                let why = format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit \
                     {MAX_COPIED}",
                    self.copied
                );
                return Err(Status::out_of_bounds(&why));
            }
        }
        Ok(())
    }
}

/// About how many bytes of JSON a value is; nothing if it is nested deeper than `room` levels.
fn size_within(value: &Value, room: usize) -> Option<usize> {
    let size = match value {
        Value::Object(members) => {
            let room = room.checked_sub(1)?;
            members.iter().try_fold(2_usize, |sum, (name, member)| {
                Some(
                    sum.saturating_add(name.len())
                        .saturating_add(4)
                        .saturating_add(size_within(member, room)?),
                )
            })?
        }
        Value::Array(items) => {
            let room = room.checked_sub(1)?;
            items.iter().try_fold(2_usize, |sum, item| {
                Some(sum.saturating_add(1).saturating_add(size_within(item, room)?))
            })?
        }
        Value::String(text) => text.len().saturating_add(2),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    };
    Some(size)
}
