//! Eviction: deletes a Pod if its PodDisruptionBudget allows it.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::api::clock;
use crate::api::metadata::{self, Object};
use crate::api::status::{FieldError, FieldErrors, Status};
use crate::rest::call::Call;
use crate::rest::delete_options::{DeleteOptions, Preconditions};
use crate::rest::guaranteed_update::guaranteed_update;
use crate::rest::named_create::condition::{pod_condition, set_condition};
use crate::rest::named_create::posted::Posted;
use crate::rest::ownership::of_controllers;
use crate::rest::removal::{check_preconditions, remove};
use crate::rest::state::ApiState;
use crate::rest::versions::{Version, put, shown};
use crate::store::state::Place;
use crate::store::stored::{Key, Stored};
use crate::strategy::builtin::label_selector;
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::named_create::NamedCreate;
use crate::strategy::resource::ServedResource;
use k8s_merge::managed_fields::ManagedFields;

/// The largest number of evictions that no controller has confirmed.
#[doc(alias = "MaxDisruptedPodSize")]
const MOST_DISRUPTED: usize = 2000;
/// The largest number of attempts of an eviction whose Pod changes.
#[doc(alias = "EvictionsRetry")]
const ATTEMPTS: usize = 20;

/// Evicts the Pod that the path names. Each step is a write of its own, as upstream: a Pod whose
/// preconditions do not hold has used up its budget.
pub(super) async fn evict(call: Call<'_>, posted: Posted<'_>) -> Result<(), Status> {
    let Call { api, target, .. } = call;
    let name = call.name();
    if metadata::text(&posted.object, "name") != name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let options = options(&posted.object, name, posted.dry_run)?;
    posted.validate().await?;
    let key = Key::new(target.namespace.as_deref().unwrap_or_default(), name);
    let eviction = Eviction { api, pods: &target.kind, key, now: api.clock.now() };
    let mut pod = eviction.pod()?;
    let mut attempts = 1..=ATTEMPTS;
    while needs_no_budget(&pod) {
        let version = pod.revision.to_string();
        let exact = options.at_version(Some(version).filter(|_| !has_ended(&pod)));
        let is_last = attempts.next() == Some(ATTEMPTS);
        match eviction.delete(&exact).await {
            // The Pod has changed: it may need a budget now.
            Err(status) if status.code() == 409 && !options.has_version() && !is_last => {
                pod = eviction.pod()?
            }
            result => return result,
        }
    }
    let budgets = eviction.budgets(&pod);
    let budget = match budgets.as_slice() {
        [] => return eviction.delete(&options).await,
        [budget] => budget,
        _ => {
            return Err(Status::unknown(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource \
                 does not support.",
            ));
        }
    };
    let (kind, budget) = budget;
    if !is_ready(&pod) && frees_unready(&shown(kind, budget)) {
        // The Pod must not have become ready since.
        let exact = options.at_version(Some(pod.revision.to_string()));
        return match eviction.delete(&exact).await {
            Err(status) if status.code() == 409 && !options.has_version() => {
                Err(being_processed(budget.key.name()))
            }
            result => result,
        };
    }
    eviction.use_up(kind, &budget.key, options.is_dry_run()).await?;
    eviction.delete(&options).await
}

/// The options of the delete, with the dry run of the request.
fn options(eviction: &Object, name: &str, dry_run: bool) -> Result<DeleteOptions, Status> {
    let sent = eviction.get("deleteOptions").cloned().unwrap_or_default();
    let member = "ignoreStoreReadErrorWithClusterBreakingPotential";
    if sent.get(member) == Some(&true.into()) {
        let why = "can not be set for pod eviction, try after removing the option";
        let mut causes = FieldErrors::default();
        let field = format!("deleteOptions.{member}");
        causes.push(FieldError::invalid_json(field, &true.into(), why));
        return Err(Status::invalid(NamedCreate::Eviction.posted(), name, &causes));
    }
    let options: Option<DeleteOptions> = serde_json::from_value(sent)
        .map_err(|error| Status::bad_request(format!("deleteOptions: {error}")))?;
    options.unwrap_or_default().with_dry_run(dry_run)
}

/// One eviction.
struct Eviction<'a> {
    api: &'a ApiState,
    pods: &'a ServedResource,
    key: Key,
    now: Timestamp,
}

impl Eviction<'_> {
    fn pod(&self) -> Result<Arc<Stored>, Status> {
        let found = self.api.store.get(&self.pods.storage, &self.key);
        found.ok_or_else(|| Status::not_found(self.pods, self.key.name()))
    }

    /// The budgets that select the Pod.
    #[doc(alias = "getPodDisruptionBudgets")]
    fn budgets(&self, pod: &Stored) -> Vec<(Arc<ServedResource>, Arc<Stored>)> {
        let kind = self.api.registry.read().find("policy", "v1", "poddisruptionbudgets");
        let Some(kind) = kind else { return Vec::new() };
        let namespace = Some(self.key.namespace());
        let place = Place { table: &kind.storage, namespace, from: None };
        let all = self.api.store.look(|state| state.snapshot(&place, None)).unwrap_or_default();
        let labels = metadata::get(&pod.object(), "labels").and_then(Value::as_object).cloned();
        let labels = labels.unwrap_or_default();
        let selects = |budget: &Arc<Stored>| {
            let budget = shown(&kind, budget);
            at(&budget, "spec.selector")
                .is_some_and(|selector| label_selector::matches(selector, &labels))
        };
        let found = all.into_iter().filter(selects);
        found.map(|budget| (Arc::clone(&kind), budget)).collect()
    }

    /// Takes one of the disruptions that a budget allows.
    #[doc(alias = "checkAndDecrement")]
    async fn use_up(&self, kind: &ServedResource, key: &Key, dry_run: bool) -> Result<(), Status> {
        guaranteed_update!(self.api, |transaction| {
            let current = transaction.get(&kind.storage, key);
            let current = current.ok_or_else(|| Status::not_found(kind, key.name()))?;
            let old = shown(kind, &current);
            check_budget(&old, key.name())?;
            if dry_run {
                return Ok(());
            }
            let mut new = old.clone();
            self.count(&mut new);
            let owned = current.managed();
            let managed = &of_controllers(self.api, kind, &old, owned, &new, self.now);
            let unsaid = current.leaves_unsaid();
            let version = Version { key: key.clone(), object: new, managed, unsaid, over: None };
            put(self.api, transaction, kind, version, current.revision, false).await.map(drop)
        })
        .map(drop)
    }

    /// Notes the disruption in the status of its budget.
    fn count(&self, budget: &mut Object) {
        let now = clock::seconds(self.now);
        let allowed = number(budget, "status.disruptionsAllowed").saturating_sub(1);
        let observed = at(budget, "status.observedGeneration").cloned().unwrap_or_default();
        let Some(Value::Object(status)) = budget.get_mut("status") else { return };
        status.insert("disruptionsAllowed".to_owned(), allowed.into());
        let disrupted = status.entry("disruptedPods").or_insert_with(|| json!({}));
        if let Value::Object(disrupted) = disrupted {
            disrupted.insert(self.key.name().to_owned(), now.as_str().into());
        }
        if allowed == 0 {
            let condition = [
                ("type", "DisruptionAllowed".into()),
                ("status", "False".into()),
                ("observedGeneration", observed),
                ("lastTransitionTime", now.into()),
                ("reason", "InsufficientPods".into()),
                ("message", "".into()),
            ];
            let condition = condition.map(|(member, value)| (member.to_owned(), value));
            set_condition(budget, condition.into_iter().collect());
        }
    }

    /// Says in the Pod's status that it is evicted, and deletes it.
    #[doc(alias = "addConditionAndDeletePod")]
    async fn delete(&self, options: &DeleteOptions) -> Result<(), Status> {
        let Self { api, pods, key, now } = self;
        let marked = match options.is_dry_run() {
            true => None,
            false => self.mark(options.preconditions.as_ref()).await?,
        };
        let options = &options.at_version(marked.filter(|_| options.has_version()));
        options.check()?;
        guaranteed_update!(api, |transaction| {
            remove(api, transaction, pods, key, options, None, *now).await.map(drop)
        })
        .map(drop)
    }

    /// Sets the condition. Returns the new version of the Pod.
    async fn mark(&self, wanted: Option<&Preconditions>) -> Result<Option<String>, Status> {
        let Self { api, pods, key, now } = self;
        let written = guaranteed_update!(api, |transaction| {
            let current = transaction.get(&pods.storage, key);
            let current = current.ok_or_else(|| Status::not_found(pods, key.name()))?;
            if let Some(wanted) = wanted {
                check_preconditions(pods, key.name(), wanted, &current)?;
            }
            let old = shown(pods, &current);
            let mut pod = old.clone();
            let mut condition = pod_condition("DisruptionTarget", *now);
            condition.insert("reason".to_owned(), "EvictionByEvictionAPI".into());
            condition.insert("message".to_owned(), "Eviction API: evicting".into());
            set_condition(&mut pod, condition);
            if pod == old {
                return Ok(());
            }
            // As upstream, the condition has no owner.
            let managed = &ManagedFields::parse(current.managed());
            let unsaid = current.leaves_unsaid();
            let version = Version { key: key.clone(), object: pod, managed, unsaid, over: None };
            put(self.api, transaction, pods, version, current.revision, false).await.map(drop)
        });
        let (written, ()) = written?;
        Ok(written.first().map(|pod| pod.revision.to_string()))
    }
}

/// Whether a Pod is no part of what a budget protects.
#[doc(alias = "canIgnorePDB")]
fn needs_no_budget(pod: &Stored) -> bool {
    has_ended(pod) || text(&pod.object(), "status.phase") == "Pending"
}

fn has_ended(pod: &Stored) -> bool {
    let phase = pod.object();
    pod.is_being_deleted() || matches!(text(&phase, "status.phase"), "Succeeded" | "Failed")
}

fn is_ready(pod: &Stored) -> bool {
    let pod = pod.object();
    let conditions = at(&pod, "status.conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type") == Some(&"Ready".into())
            && condition.get("status") == Some(&"True".into())
    })
}

/// Whether a budget lets an unready Pod go without a disruption.
fn frees_unready(budget: &Object) -> bool {
    let (current, desired) = healthy(budget);
    text(budget, "spec.unhealthyPodEvictionPolicy") == "AlwaysAllow"
        || (current >= desired && desired > 0)
}

/// How many Pods of a budget are healthy, and how many must be.
fn healthy(budget: &Object) -> (i64, i64) {
    (number(budget, "status.currentHealthy"), number(budget, "status.desiredHealthy"))
}

/// Says why a budget allows no disruption now.
fn check_budget(budget: &Object, name: &str) -> Result<(), Status> {
    let refused = |why| Status::refused("policy", "poddisruptionbudget", name, why);
    let allowed = number(budget, "status.disruptionsAllowed");
    if number(budget, "status.observedGeneration") < metadata::generation(budget) {
        return Err(being_processed(name));
    }
    if allowed < 0 {
        return Err(refused("pdb disruptions allowed is negative"));
    }
    let disrupted = at(budget, "status.disruptedPods").and_then(Value::as_object);
    if disrupted.map_or(0, Map::len) > MOST_DISRUPTED {
        return Err(refused(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed > 0 {
        return Ok(());
    }
    let conditions = at(budget, "status.conditions").and_then(Value::as_array);
    let said = |condition: &Value, member: &str| {
        condition.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|condition| said(condition, "type") == "DisruptionAllowed")
        .filter(|condition| said(condition, "status") == "False")
        .map(|condition| (said(condition, "reason"), said(condition, "message")))
        .filter(|(_, message)| !message.is_empty());
    let (current, desired) = healthy(budget);
    let none = format!("The disruption budget {name} does not allow evicting pods currently");
    let why = match condition {
        Some((reason, message)) if reason == "SyncFailed" => {
            format!("{none} because it failed sync: {message}")
        }
        _ if current <= desired => format!(
            "The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        ),
        Some((reason, message)) => format!("{none} ({reason}): {message}"),
        None => none,
    };
    Err(violates(&why, 0))
}

fn number(object: &Object, path: &str) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or_default()
}

#[doc(alias = "createTooManyRequestsError")]
fn being_processed(budget: &str) -> Status {
    let why = format!("The disruption budget {budget} is still being processed by the server.");
    violates(&why, 10)
}

fn violates(why: &str, retry_after: u32) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    Status::too_many_requests(message, ("DisruptionBudget", why), retry_after)
}
