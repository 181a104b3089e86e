//! The public API, mostly through `kube::Client`.

#[cfg(feature = "actors")]
#[cfg(feature = "actors")]
mod collector;
#[cfg(feature = "actors")]
mod lifecycle;
mod sizes;
mod manifests;
mod broken;
mod apply;
mod faults;
mod trace;
mod trace_many;
mod kinds;
#[cfg(feature = "listen")]
mod listener;
mod objects;
mod openapi;
mod ordered;
#[cfg(feature = "proxy")]
mod proxy;
mod replica;
mod request_log;
mod determinism;
mod discovery;
mod facts;
mod fuzz_target;
mod fuzz_bodies;
mod fuzz_requests;
mod fuzz_selectors;
mod hostile;
mod hostile_definitions;
#[cfg(feature = "listen")]
mod hostile_socket;
mod lists;
mod runtime;
mod access;
mod admission;
mod scale;
mod strategic;
mod subresources;
mod tables;
mod wakeups;
mod watches;
mod webhooks;
#[cfg(feature = "tls")]
mod tls;
mod wire;
