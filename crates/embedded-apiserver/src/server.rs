//! The public handles: a server, its builder, its clients and sockets, its replicas.

mod builder;
#[cfg(feature = "client")]
mod client;
mod core;
mod default_roles;
mod handle;
#[cfg(feature = "listen")]
mod listen;
mod manifests;
mod replica;
mod replica_state;
mod restore;
mod service;
mod shared;
#[cfg(feature = "client")]
mod status;

pub use builder::Builder;
pub use handle::EmbeddedApiServer;
pub use manifests::ManifestError;
pub use replica::Replica;
pub use restore::RestoreError;
pub use service::ApiService;
