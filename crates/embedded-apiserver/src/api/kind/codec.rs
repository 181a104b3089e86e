//! The conversion of objects between a version and the stored form.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::api::metadata::Object;

/// The conversion between the stored form of an object and that of a version.
#[doc(alias = "ObjectConvertor")]
pub(crate) trait Codec: fmt::Debug + Send + Sync {
    /// Whether an object written at `revision` needs the conversion.
    fn converts(&self, _revision: u64) -> bool {
        false
    }

    /// Converts from the stored form, written at `revision`.
    fn to_version(&self, object: Object, _revision: u64) -> Object {
        object
    }

    /// Converts to the stored form.
    fn to_storage(&self, object: Object) -> Object {
        object
    }

    /// Whether an object that is converted to the version and back may differ.
    fn is_lossy(&self) -> bool {
        false
    }

    /// Whether a webhook converts between versions. Then the form of each version is its own, and
    /// the methods above convert within it.
    fn has_webhook(&self) -> bool {
        false
    }

    /// The path of a selectable field in the stored form.
    fn stored_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        path.into()
    }

    /// The value of a selectable field that the object does not contain literally.
    fn selectable_value(&self, _object: &Value, _path: &str) -> Option<String> {
        None
    }
}
