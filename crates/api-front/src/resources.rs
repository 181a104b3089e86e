//! The resources of the real API server, as they were recorded.

/// All resources that kube-apiserver 1.36 serves: a line `GROUP/VERSION NAME SCOPE KIND` each.
///
/// The core group has only its version. The name of a subresource has a slash.
///
/// ```
/// assert!(api_front::RESOURCES.lines().any(|line| line == "v1 pods/status namespaced Pod"));
/// ```
pub const RESOURCES: &str = include_str!("../data/resources.txt");
