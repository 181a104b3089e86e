//! The public API, mostly through `kube::Client` as users reach it.

mod objects;
mod wire;
