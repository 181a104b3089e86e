//! `Kind`: a type that can be cached.

use std::fmt;

/// A type that can be cached: a kind of k8s-openapi, a derived custom resource, a `DynamicObject`,
/// or a `PartialObjectMeta`. For the last only metadata is requested.
///
/// Implemented for every type that fits.
pub trait Kind:
    kube::Resource<Scope: 'static>
    + Clone
    + serde::de::DeserializeOwned
    + fmt::Debug
    + Send
    + Sync
    + 'static
{
}

impl<T> Kind for T where
    T: kube::Resource<Scope: 'static>
        + Clone
        + serde::de::DeserializeOwned
        + fmt::Debug
        + Send
        + Sync
        + 'static
{
}
