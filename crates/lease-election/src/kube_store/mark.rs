//! Mark: the two annotations of a record, on any kind of object: the name of the write, and the
//! successor.

use kube::api::DynamicObject;

use crate::record::Record;
use crate::{SUCCESSOR_ANNOTATION, WRITE_ANNOTATION};

/// Adds both to the record. A held Lease has no successor, whatever its annotation says.
pub(crate) fn read(object: &DynamicObject, record: Record) -> Record {
    let annotations = object.metadata.annotations.as_ref();
    let annotation = |key: &str| annotations.and_then(|all| all.get(key)).cloned();
    let successor = record.is_free().then(|| annotation(SUCCESSOR_ANNOTATION)).flatten();
    Record {
        write_id: annotation(WRITE_ANNOTATION),
        successor: successor.unwrap_or_default(),
        ..record
    }
}

/// Writes both, or removes those of an earlier record.
pub(crate) fn write(object: &mut DynamicObject, record: &Record) {
    let annotations = object.metadata.annotations.get_or_insert_default();
    let successor = Some(&record.successor).filter(|name| !name.is_empty() && record.is_free());
    for (key, value) in
        [(WRITE_ANNOTATION, record.write_id.as_ref()), (SUCCESSOR_ANNOTATION, successor)]
    {
        match value {
            Some(value) => annotations.insert(key.to_owned(), value.clone()),
            None => annotations.remove(key),
        };
    }
}
