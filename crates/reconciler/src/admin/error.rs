//! `AdminError`: why the admin server could not start.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// The admin server could not be started.
///
/// `Debug` shows the message, too: a `main` that returns the error prints it so.
#[non_exhaustive]
pub struct AdminError {
    /// The requested address.
    pub address: SocketAddr,
    /// The error of the operating system.
    pub error: io::Error,
}

impl fmt::Debug for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, error } = self;
        match error.kind() {
            io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "the admin address {address} is in use: choose another port, or 0 for a free one"
                )
            }
            io::ErrorKind::PermissionDenied => {
                write!(f, "the admin address {address} is not allowed: choose a port above 1023")
            }
            _ => write!(f, "the admin address {address} cannot be used: {error}"),
        }
    }
}

impl std::error::Error for AdminError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
