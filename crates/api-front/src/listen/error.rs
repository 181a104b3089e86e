//! Why a server does not listen.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Why a server does not listen.
#[derive(Debug)]
#[non_exhaustive]
pub enum ListenError {
    /// The address cannot be read or resolved.
    Address {
        /// As it was given.
        address: String,
        /// The reason.
        source: io::Error,
    },
    /// The address can be reached from outside this machine, and the builder does not allow that.
    NotLoopback {
        /// What the address resolved to.
        address: SocketAddr,
    },
    /// Another socket has the port.
    InUse {
        /// The address.
        address: SocketAddr,
    },
    /// The system refuses for another reason.
    Io {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { address, source } => {
                write!(
                    f,
                    "cannot listen on {address:?}: {source}; give HOST:PORT, for example 127.0.0.1:0"
                )
            }
            Self::NotLoopback { address } => write!(
                f,
                "cannot listen on {address}: it is not a loopback address, and this server trusts whoever reaches it; \
                 use 127.0.0.1 or [::1], or build the server with allow_non_loopback(true)"
            ),
            Self::InUse { address } => write!(
                f,
                "cannot listen on {address}: the port is in use; stop what uses it, or give port 0 for any free one"
            ),
            Self::Io { address, source } => write!(f, "cannot listen on {address}: {source}"),
        }
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address { source, .. } | Self::Io { source, .. } => Some(source),
            Self::NotLoopback { .. } | Self::InUse { .. } => None,
        }
    }
}
