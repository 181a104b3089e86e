#![doc = include_str!("../README.md")]

mod server;
mod handler;
mod controllers;
mod kubectl;
mod replica;
mod rest;
mod access;
mod admission;
mod strategy;
mod store;
mod webhook;
mod api;

pub use crate::access::{Access, Account, Grant, Refusal};
pub use crate::admission::{Admission, AdmissionRequest, Denied, Hook, Operation};
pub use crate::api::kind::{InvalidKind, Kind};
pub use crate::server::{
    ApiService, Builder, EmbeddedApiServer, ManifestError, Replica, RestoreError,
};
#[doc(inline)]
pub use api_front::Clock as ServerClock;
#[doc(inline)]
pub use api_front::{
    Body, Chance, Counts, Decider, Decision, Disconnected, Effect, Entry, Fault, FaultPlan, Faults,
    Forgotten, Injection, Match, Outcome, RequestInfo, RequestLog, Rule, Selection, Series,
    UnknownResource, User, Verb,
};
#[cfg(feature = "proxy")]
#[doc(inline)]
pub use api_front::{FaultProxy, FaultProxyBuilder};
#[cfg(feature = "listen")]
#[doc(inline)]
pub use api_front::{ListenError, Listener};
#[cfg(feature = "tls")]
#[doc(inline)]
pub use api_front::{Tls, TlsError};
