//! The listener: HTTP/1.1 and HTTP/2 on a loopback address, in the clear or by TLS.

mod coalesce;
mod connection;
mod error;
mod listener;

pub use error::ListenError;
pub use listener::Listener;
