//! What can go wrong, each in one line that says what to do; a program's last words follow on lines
//! of their own.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use crate::component::Component;

/// Why there is no control plane.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A program is not there, and neither is the Go that could build it.
    NoGo {
        /// What is missing.
        component: Component,
        /// The folder in `KUBEBUILDER_ASSETS`, if that is set.
        assets: Option<PathBuf>,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where built programs may be kept.
    NoCacheFolder,
    /// A program does not build.
    Build {
        /// Which.
        component: Component,
        /// Go's last lines.
        tail: String,
    },
    /// The caller asked for an end.
    Cancelled,
    /// Another process has the port.
    PortTaken {
        /// The port asked for.
        port: u16,
    },
    /// A program cannot be started.
    Spawn {
        /// Which.
        component: Component,
        /// The system's reason.
        source: io::Error,
    },
    /// A program ended that must not.
    Ended {
        /// Which.
        component: Component,
        /// How.
        status: ExitStatus,
        /// The end of its log.
        tail: String,
    },
    /// A program does not get ready.
    NotReady {
        /// Which.
        component: Component,
        /// How long it was waited for.
        within: Duration,
        /// The end of its log.
        tail: String,
    },
    /// A name, token or group that cannot stand in a token file.
    User {
        /// `name`, `token` or `group`.
        field: &'static str,
        /// What was given; empty for a token.
        value: String,
    },
    /// No user of this name was given to the builder.
    UnknownUser(String),
    /// A file, folder or process does not do as told.
    Io {
        /// What was tried.
        what: String,
        /// The system's reason.
        source: io::Error,
    },
    /// etcd does not do as told.
    Etcd(String),
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        |source| Self::Io { what, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGo { component, assets: Some(assets) } => write!(
                f,
                "{component} is not in KUBEBUILDER_ASSETS ({}), and Go is not installed to build it; install Go 1.26, or put it there",
                assets.display()
            ),
            Self::NoGo { component, assets: None } => write!(
                f,
                "{component} is not built, and Go is not installed to build it; install Go 1.26, or let KUBEBUILDER_ASSETS name a folder that holds it"
            ),
            Self::NoCacheFolder => {
                f.write_str("neither XDG_CACHE_HOME nor HOME is set: no place for the built programs; set one")
            }
            Self::Build { component, tail } => write!(f, "{component} does not build; Go says:\n{tail}"),
            Self::Cancelled => f.write_str("ended before all was built"),
            Self::PortTaken { port } => {
                write!(f, "port {port} is taken; stop what uses it, or give port 0 for any free one")
            }
            Self::Spawn { component, source } => write!(f, "cannot start {component}: {source}"),
            Self::Ended { component, status, tail } => {
                write!(f, "{component} ended by itself ({status}); the end of its log:\n{tail}")
            }
            Self::NotReady { component, within, tail } => write!(
                f,
                "{component} was not ready within {} s; the end of its log:\n{tail}",
                within.as_secs()
            ),
            Self::User { field: "token", .. } => {
                f.write_str("a token is empty or holds a comma, a quote, white space or a control character; give another")
            }
            Self::User { field, value } => write!(
                f,
                "the user's {field} {value:?} is empty or holds a comma, a quote or a control character; give another"
            ),
            Self::UnknownUser(user) => {
                write!(f, "there is no user {user:?}; name it to the builder before the start")
            }
            Self::Io { what, source } => write!(f, "cannot {what}: {source}"),
            Self::Etcd(why) => write!(f, "etcd does not do as told: {why}"),
        }
    }
}

/// No `source`: each message holds its cause.
impl std::error::Error for Error {}
