#![doc = include_str!("../README.md")]

mod backend;
mod body;
mod clock;
mod fault;
mod front;
mod introspection;
mod kubeconfig;
#[cfg(feature = "listen")]
mod listen;
mod pipeline;
#[cfg(feature = "proxy")]
mod proxy;
mod query;
mod request_info;
mod request_log;
mod resources;
mod service;
mod signal;
mod status;
#[cfg(feature = "tls")]
mod tls;
mod tokens;
mod user;

pub use backend::Backend;
pub use body::{Body, Disconnected};
pub use clock::Clock;
pub use fault::{
    Chance, Decider, Decision, Effect, Fault, FaultPlan, Faults, Injection, Match, Rule,
    UnknownResource,
};
pub use front::{Front, FrontBuilder};
#[cfg(feature = "listen")]
pub use listen::{ListenError, Listener};
#[cfg(feature = "proxy")]
pub use proxy::{FaultProxy, FaultProxyBuilder, Upstream};
pub use request_info::{RequestInfo, Verb};
pub use request_log::{Counts, Entry, Forgotten, Outcome, RequestLog, Selection, Series};
pub use resources::RESOURCES;
pub use service::FrontService;
pub use signal::{Follower, Signal, SignalError};
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};
pub use user::User;
