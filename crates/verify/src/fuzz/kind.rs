//! A kind as calls see it.

use fastrand::Rng;
use serde_json::{Value, json};

/// One kind.
pub(super) struct Kind {
    pub(super) collection: &'static str,
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    /// Its names begin with what nobody else's do.
    pub(super) cluster: bool,
    pub(super) subresources: &'static [&'static str],
    pub(super) custom: bool,
    /// How often it is drawn.
    pub(super) weight: u32,
    /// Fields that can be selected by, beside name and namespace.
    pub(super) fields: &'static [&'static str],
    /// Everything of an object but metadata, kind and version.
    pub(super) rest: fn(&mut Rng) -> Value,
    /// Annotations that mean something to the kind.
    pub(super) annotations: fn(&mut Rng) -> Value,
    /// The status that whoever keeps it writes.
    pub(super) status: fn(&mut Rng) -> Value,
    /// What is written is only tried: somebody else writes to such an object, too, in his own
    /// time.
    pub(super) dry: bool,
}

/// A namespaced kind of core/v1, without a name.
pub(super) const BASE: Kind = Kind {
    collection: "",
    api_version: "v1",
    kind: "",
    cluster: false,
    subresources: &[],
    custom: false,
    weight: 1,
    fields: &[],
    rest: |_| json!({}),
    annotations: |_| Value::Null,
    status: |_| json!({}),
    dry: false,
};
