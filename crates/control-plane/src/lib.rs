//! A real Kubernetes control plane on this machine: kube-apiserver, etcd, kube-controller-manager
//! and kubectl.
//!
//! [`Assets`] finds the programs, or builds them from source into a cache. [`ControlPlane`] starts
//! them on loopback ports with a folder of their own, breaks them on request, and leaves nothing
//! behind however its owner ends.

mod assets;
mod builder;
mod component;
mod toolchain;
mod plane;
mod user;
mod program;
mod settings;
mod keeper;
mod port;
mod etcd;
mod error;

pub use crate::assets::{Assets, Progress};
pub use crate::builder::Builder;
pub use crate::component::Component;
pub use crate::error::Error;
pub use crate::plane::{ControlPlane, Paused};
pub use crate::toolchain::go;
