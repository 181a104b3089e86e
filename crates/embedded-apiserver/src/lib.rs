#![doc = include_str!("../README.md")]

mod server;
#[cfg(feature = "actors")]
mod actors;
#[cfg(feature = "actors")]
mod collector;
#[cfg(feature = "actors")]
mod lifecycle;
mod access;
mod admission;
mod kind;
mod resource;
mod definition;
mod json_path;
mod json_syntax;
mod registry;
mod strategy;
mod query;
mod media;
mod protobuf;
mod openapi;
mod table;
mod recorded;
mod handler;
mod controllers;
mod rest;
mod response;
mod discovery;
mod metadata;
mod stored;
mod store;
mod replica;
mod status;
mod clock;
mod yaml;

pub use crate::access::{Access, Account, Grant, Refusal};
pub use crate::admission::{Admission, AdmissionRequest, Denied, Hook, Operation};
pub use crate::kind::{InvalidKind, Kind};
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
