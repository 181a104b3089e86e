#![cfg_attr(feature = "election", doc = include_str!("../README.md"))] // Its program elects.
#![cfg_attr(not(feature = "election"), doc = "A controller runtime for Kubernetes.")]
//!
//! ## Permissions
//!
//! | use | verbs |
//! | --- | --- |
//! | a cache | `list`, `watch` of its kind |
//! | `Context::apply` | `patch` and `create` of the kind |
//! | `Context::create`, `patch`, `delete` | the same verb of the kind |
//! | `Context::update_status` | `patch` of the kind's `status` |
//! | `Controller::finalizer` | `patch` of the controller's kind |
//! | `Context::event` | `create`, `patch` of `events` in `events.k8s.io` |
//! | an election | `get`, `create`, `update`, `watch` of `leases` in `coordination.k8s.io` |
//!
//! The log and `/readyz` name a right that a cache misses. Where the admission plugin
//! OwnerReferencesPermissionEnforcement is on, owned objects also need `update` of the subresource
//! `finalizers` of the owner's kind.
//!
//! ## Tests
//!
//! A test runs the program on an API server in the process, in tokio's paused time
//! (`#[tokio::test(start_paused = true)]`). It waits for what it expects, and back-offs take no
//! time. `server.requests()` has what was sent.
//!
//! ```
//! use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule};
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kube::{Api, Client, api::PostParams, runtime::wait::await_condition};
//! # use reconciler::{Action, Context, Controller, Failure, Manager, ObjectReconciler};
//! # struct Keys;
//! # impl ObjectReconciler for Keys {
//! #     type Object = ConfigMap;
//! #     async fn reconcile(
//! #         &self, map: &ConfigMap, cx: &Context<ConfigMap>,
//! #     ) -> Result<Action, Failure> {
//! #         let name = map.metadata.name.clone();
//! #         let metadata = kube::api::ObjectMeta { name, ..Default::default() };
//! #         cx.apply(Secret { metadata, ..Secret::default() }).await?;
//! #         Ok(Action::await_change())
//! #     }
//! # }
//! # fn add_keys(manager: &mut Manager, client: &Client) {
//! #     let maps = manager.cache(Api::<ConfigMap>::all(client.clone()));
//! #     let secrets = manager.cache(Api::<Secret>::all(client.clone()));
//! #     manager.add(Controller::new("keys", &maps, Keys).owns(&secrets));
//! # }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let writes = Match::any().user("operator").writes().resource("secrets");
//! let lost = Rule::new(writes, Fault::DropAfter).calls(1..=1); // done, but the answer is lost
//! let server = EmbeddedApiServer::builder().faults(FaultPlan::none().rule(lost)).build();
//! let mut manager = Manager::builder().build()?;
//! add_keys(&mut manager, &server.client_as("operator")); // as the program does
//! tokio::spawn(manager.run(std::future::pending()));
//!
//! let maps = Api::<ConfigMap>::namespaced(server.client(), "default");
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("a".to_owned());
//! maps.create(&PostParams::default(), &map).await?;
//! let secrets = Api::<Secret>::namespaced(server.client(), "default");
//! await_condition(secrets, "a", |secret: Option<&Secret>| secret.is_some()).await?;
//! server.faults().assert_all_fired();
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod manager;
mod controller;
mod run;
mod action;
mod failure;
mod key;
mod kind;
mod source;
mod change;
mod cache;
mod watch;
mod queue;
mod metrics;
mod report;
mod error;
mod requests;
mod hostile;
#[cfg(test)]
mod oracle;
#[cfg(feature = "admin")]
mod admin;

pub use action::Action;
#[cfg(feature = "admin")]
pub use admin::AdminServer;
#[cfg(feature = "admin")]
pub use admin::error::AdminError;
pub use cache::{Cache, CacheConfig, CacheStatus, Degraded, Index, SyncTimeout};
pub use change::{Change, ChangeKind};
pub use controller::{Controller, ControllerView};
pub use error::ManagerError;
pub use failure::{BoxError, Failure, FailureError};
pub use key::{Key, ObjectKey};
pub use kind::Kind;
#[cfg(feature = "election")]
#[doc(no_inline)]
pub use lease_election;
#[cfg(feature = "cli")]
pub use manager::flags::Flags;
pub use manager::leader_task::LeaderTask;
pub use manager::signal::shutdown_signal;
pub use manager::{Manager, ManagerBuilder};
pub use queue::inbox::Handle;
pub use queue::reasons::Reason;
#[cfg(feature = "election")]
pub use report::Release;
pub use report::{ControllerReport, Report};
pub use run::events::{EventRecorder, EventType};
pub use run::outcome::Parked;
pub use run::reconciler::{ReconcileFn, Reconciler, reconcile_fn};
pub use run::request::Request;
pub use run::{
    Cleanup, Conditions, Context, Finalizers, ObjectAdapter, ObjectReconciler, TypedKind,
};
pub use source::{Source, predicate};
#[doc(no_inline)]
pub use wq_ratelimit::RateLimiter;
