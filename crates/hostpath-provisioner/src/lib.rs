//! Gives every claim of its class a directory and a PersistentVolume, and takes them back.
//!
//! The program is in `main.rs`; this library is what it is made of, so that tests and the demo can
//! name the same things. A directory and its marker are the [`Root`]'s business, what is to be done
//! about a claim or a volume is decided by pure functions ([`claims`], [`volumes`]), and
//! [`assemble`] puts both under one manager.
#![forbid(unsafe_code)]

mod names;
mod marker;
mod fence;
mod location;
mod parameters;
mod directory;
mod us;
mod outcome;
pub mod claims;
pub mod volumes;
mod context;
mod pause;
mod sweep;
mod events;
mod metrics;
mod retries;
mod permissions;
mod app;
mod input;
mod cli;
mod config;
mod check;
mod run;

pub use self::app::{Assembly, assemble};
pub use self::cli::{Asked, Cli, Command, LogFormat, RunArgs};
pub use self::config::Settings;
pub use self::context::Limits;
pub use self::directory::{
    Authority, Cleared, DirectoryError, Ensured, Listed, Listing, Moment, Owner, Probe, Removed,
    Root, TermRecord, Trouble,
};
pub use self::events::{Events, Told};
pub use self::fence::{Term, TermOver};
pub use self::input::InputError;
pub use self::location::{InvalidLocation, Location, SUBDIR_MAX_DEPTH};
pub use self::marker::{Fence, InvalidMarker, MARKER_MAX_BYTES, Marker};
pub use self::metrics::Metrics;
pub use self::names::{
    FINALIZER, MARKER_FILE, PROVISIONED_BY, PROVISIONER, RESTORED_FILE, RETAINED_FOLDER,
    SELECTED_NODE, STAGING_FOLDER, STATE_FOLDER, STORAGE_PROVISIONER, STORAGE_PROVISIONER_BETA,
    TERM_FILE, TRASH_FOLDER, WAITING_MESSAGE, WAITING_REASON, claim_uid_of, is_uid, volume_name,
};
pub use self::outcome::{MESSAGE_MAX_BYTES, Problem, Reason, shown};
pub use self::parameters::{InvalidParameters, Parameters};
pub use self::permissions::{
    NoticeRefusals, NoticeRefusalsLayer, PERMISSIONS, Permission, Permissions, Scope,
};
pub use self::retries::Retries;
pub use self::run::{RunError, run};
pub use self::sweep::{Judgement, judge};
pub use self::us::Us;
