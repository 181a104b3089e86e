//! What Kubernetes' own controllers do about objects.

pub(crate) mod definitions;
