//! Every case, group by group.

use crate::conformance::case::Case;
use crate::conformance::{
    access, apply, apps, bindings, collecting, collections, continuing, conversions, custom,
    definitions, deletes, discovery, disruption_budgets, entrances, events, evictions, expressions,
    faults, finalizers, following, found, found_typed, hostile, jobs, kinds, lifecycles, lists,
    managed, media, metadata, names, namespaces, nodes, patches, paths, pod_changes, pods,
    policies, rbac_kinds, reviews, rules, schemas, selectors, services, shapes, statuses, storage,
    stored_json, tokens, verbs, verdicts, versions, watches, webhooks, workloads, writes,
};

/// Every case, group by group.
#[must_use]
pub fn cases() -> Vec<Case> {
    let groups = [
        ("writes", writes::cases()),
        ("versions", versions::cases()),
        ("names", names::cases()),
        ("metadata", metadata::cases()),
        ("statuses", statuses::cases()),
        ("patches", patches::cases()),
        ("apply", apply::cases()),
        ("managed", managed::cases()),
        ("deletes", deletes::cases()),
        ("finalizers", finalizers::cases()),
        ("collections", collections::cases()),
        ("lists", lists::cases()),
        ("continuing", continuing::cases()),
        ("selectors", selectors::cases()),
        ("watches", watches::cases()),
        ("following", following::cases()),
        ("media", media::cases()),
        ("discovery", discovery::cases()),
        ("entrances", entrances::cases()),
        ("hostile", hostile::cases()),
        ("paths", paths::cases()),
        ("namespaces", namespaces::cases()),
        ("lifecycles", lifecycles::cases()),
        ("collecting", collecting::cases()),
        ("storage", storage::cases()),
        ("events", events::cases()),
        ("workloads", workloads::cases()),
        ("pods", pods::cases()),
        ("bindings", bindings::cases()),
        ("evictions", evictions::cases()),
        ("pod_changes", pod_changes::cases()),
        ("apps", apps::cases()),
        ("jobs", jobs::cases()),
        ("disruption_budgets", disruption_budgets::cases()),
        ("services", services::cases()),
        ("nodes", nodes::cases()),
        ("rbac_kinds", rbac_kinds::cases()),
        ("custom", custom::cases()),
        ("access", access::cases()),
        ("reviews", reviews::cases()),
        ("tokens", tokens::cases()),
        ("definitions", definitions::cases()),
        ("conversions", conversions::cases()),
        ("shapes", shapes::cases()),
        ("schemas", schemas::cases()),
        ("rules", rules::cases()),
        ("verdicts", verdicts::cases()),
        ("expressions", expressions::cases()),
        ("policies", policies::cases()),
        ("verbs", verbs::cases()),
        ("kinds", kinds::cases()),
        ("faults", faults::cases()),
        ("found", found::cases()),
        ("found_typed", found_typed::cases()),
        ("stored_json", stored_json::cases()),
        ("webhooks", webhooks::cases()),
    ];
    let named = |(group, cases): (&'static str, Vec<Case>)| {
        cases.into_iter().map(move |case| Case { group, ..case })
    };
    groups.into_iter().flat_map(named).collect()
}
