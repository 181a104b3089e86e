//! What the real API server does, as cases that run against it and against the embedded one.
//!
//! A case asserts what the *real* server was seen to do; it is the authority. Where the embedded
//! server does something else, the case says what and why ([`Case::difference`]), and a second
//! check pins exactly that: a difference that went away, or became another one, fails as loudly as
//! one nobody stated.

mod answer;
mod case;
pub(crate) mod certificates;
mod objects;
mod target;
mod until;
mod waiting;
mod webhook_server;
mod seen;
mod must_haves;
mod refusals;

mod access;
mod admission_kinds;
mod apply;
mod bindings;
mod collecting;
mod apps;
mod autoscalers;
mod autoscalers_v1;
mod collections;
mod continuing;
mod conversions;
mod cron_jobs;
mod custom;
mod daemon_sets;
mod definitions;
mod deletes;
mod discovery;
mod disruption_budgets;
mod driver_kinds;
mod entrances;
mod events;
mod evictions;
mod expressions;
mod faults;
mod finalizers;
mod found;
mod found_typed;
mod following;
mod hostile;
mod lifecycles;
mod jobs;
mod kinds;
mod lists;
mod media;
mod managed;
mod metadata;
mod names;
mod namespaces;
mod network_kinds;
mod nodes;
mod patches;
mod paths;
mod refused_members;
mod reviews;
mod rules;
mod scheduling_classes;
mod schemas;
mod pod_changes;
mod pods;
mod policies;
mod quotas;
mod rbac_kinds;
mod replication_controllers;
mod selectors;
mod services;
mod shapes;
mod signing_requests;
mod stateful_sets;
mod statuses;
mod storage;
mod stored_json;
mod tokens;
mod verbs;
mod verdicts;
mod versions;
mod watches;
mod webhooks;
mod workloads;
mod writes;

mod page;
mod run;
mod suite;

pub(crate) use crate::conformance::answer::text;
pub(crate) use crate::conformance::target::{APPLY, JSON_PATCH, MERGE, STRATEGIC};

pub use crate::conformance::answer::{Answer, Outcome};
pub use crate::conformance::case::{Case, case};
pub use crate::conformance::kinds::walked;
pub use crate::conformance::must_haves::{MUST_HAVES, MustHave};
pub use crate::conformance::page::{page, support};
pub use crate::conformance::refusals::{REFUSALS, Refusal};
pub use crate::conformance::run::{Failure, Run, Side, report, run, run_one, verdict};
pub use crate::conformance::seen::{Sight, Verb};
pub use crate::conformance::suite::cases;
pub use crate::conformance::target::{Lines, Server, Target};
