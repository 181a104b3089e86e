#![doc = include_str!("../README.md")]

mod server;
mod builder;
mod service;
mod pipeline;
mod request_info;
mod request_log;
mod tokens;
mod fault;
mod introspection;
mod kubeconfig;
#[cfg(feature = "actors")]
mod actors;
#[cfg(feature = "actors")]
mod collector;
#[cfg(feature = "actors")]
mod lifecycle;
#[cfg(feature = "listen")]
mod listen;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "proxy")]
mod proxy;
mod identity;
mod access;
mod admission;
mod body;
mod kind;
mod definition;
mod json_path;
mod json_syntax;
mod registry;
mod builtin;
mod route;
mod query;
mod media;
mod protobuf;
mod openapi;
mod table;
mod recorded;
mod rest;
mod discovery;
mod selector;
mod patch;
mod fields;
mod metadata;
mod stored;
mod store;
mod manifests;
mod restore;
mod replica;
mod status;
mod clock;
mod signal;
mod yaml;

pub use crate::access::{Access, Account, Grant, Refusal};
pub use crate::admission::{Admission, AdmissionRequest, Denied, Hook, Operation};
pub use crate::body::{Body, Disconnected};
pub use crate::builder::Builder;
pub use crate::clock::ServerClock;
pub use crate::fault::{
    Chance, Decider, Decision, Effect, Fault, FaultPlan, Faults, Injection, Match, Rule,
    UnknownResource,
};
pub use crate::identity::User;
pub use crate::kind::{InvalidKind, Kind};
#[cfg(feature = "listen")]
pub use crate::listen::{ListenError, Listener};
pub use crate::manifests::ManifestError;
#[cfg(feature = "proxy")]
pub use crate::proxy::{FaultProxy, FaultProxyBuilder};
pub use crate::replica::Replica;
pub use crate::request_info::{RequestInfo, Verb};
pub use crate::request_log::{Counts, Entry, Forgotten, Outcome, RequestLog, Selection, Series};
pub use crate::restore::RestoreError;
pub use crate::server::EmbeddedApiServer;
pub use crate::service::ApiService;
#[cfg(feature = "tls")]
pub use crate::tls::{Tls, TlsError};
