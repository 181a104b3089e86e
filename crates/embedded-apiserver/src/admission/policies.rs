//! ValidatingAdmissionPolicies and their bindings, held against a write
//! (k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go).

mod binding;
mod params;
mod policy;

use std::sync::Arc;

use k8s_cel::Authorizer;
use parking_lot::RwLock;

use crate::admission::configurations::Configurations;
use crate::admission::expressions::Variables;
use crate::admission::policies::binding::{Action, Binding};
use crate::admission::policies::params::ParamKind;
use crate::admission::policies::policy::{Denial, Outcome, Policy};
use crate::admission::subject::{Matched, Subject};
use crate::api::status::Status;
use crate::store::Store;
use crate::strategy::registry::Registry;

/// The policies of a server.
#[derive(Debug)]
pub(crate) struct Policies {
    policies: Configurations<Policy>,
    bindings: Configurations<Binding>,
}

/// What the policies say of a write.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// The first refusal.
    pub(crate) denied: Option<Status>,
    pub(crate) warnings: Vec<String>,
}

/// Where policies find their parameters, and whom they ask for permissions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cluster<'a> {
    pub(crate) store: &'a Store,
    pub(crate) registry: &'a RwLock<Registry>,
    pub(crate) authorizer: &'a Arc<dyn Authorizer>,
}

impl Default for Policies {
    fn default() -> Self {
        let group = "admissionregistration.k8s.io";
        Self {
            policies: Configurations::new(group, "validatingadmissionpolicies", Policy::read),
            bindings: Configurations::new(
                group,
                "validatingadmissionpolicybindings",
                Binding::read,
            ),
        }
    }
}

impl Policies {
    /// Whether a policy is bound at all.
    pub(crate) fn are_bound(&self, store: &Store) -> bool {
        !self.bindings.now(store).is_empty()
    }

    /// Evaluates the policies about a write, in the order of their names.
    #[doc(alias = "Dispatch")]
    pub(crate) fn judge(&self, subject: &Subject<'_>, cluster: &Cluster<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        if subject.is_exempt() {
            return verdict;
        }
        let bindings = self.bindings.now(cluster.store);
        for (name, policy) in &*self.policies.now(cluster.store) {
            let mut bound = bindings.iter().filter(|(_, binding)| binding.is_of(name)).peekable();
            if bound.peek().is_none() {
                continue;
            }
            let mut judge = Judge { subject, cluster, name, policy, verdict: &mut verdict };
            let Some(matched) = judge.matched() else { continue };
            let kind = match policy.param_kind().map(|kind| kind.find(cluster.registry)) {
                Some(Err(why)) => {
                    judge.misconfigured(None, &why);
                    continue;
                }
                Some(Ok(kind)) => Some(kind),
                None => None,
            };
            let mut variables = None;
            for (binding_name, binding) in bound {
                judge.binding((binding_name, binding), kind.as_ref(), &matched, &mut variables);
            }
        }
        verdict
    }
}

/// One policy, held against one write.
struct Judge<'a> {
    subject: &'a Subject<'a>,
    cluster: &'a Cluster<'a>,
    name: &'a str,
    policy: &'a Policy,
    verdict: &'a mut Verdict,
}

impl Judge<'_> {
    fn matched(&mut self) -> Option<Matched> {
        let matched = self.policy.matcher().matches(self.subject);
        matched.unwrap_or_else(|why| {
            self.misconfigured(None, &why.to_string());
            None
        })
    }

    fn binding(
        &mut self,
        (name, binding): (&str, &Binding),
        kind: Option<&ParamKind>,
        matched: &Matched,
        variables: &mut Option<Variables>,
    ) {
        match binding.matches(self.subject) {
            Ok(true) => {}
            Ok(false) => return,
            Err(why) => return self.misconfigured(Some(name), &why.to_string()),
        }
        let namespace = self.subject.namespace_name();
        let params = match params::collect(kind, binding.param_ref(), namespace, self.cluster.store)
        {
            Ok(params) => params,
            Err(why) => return self.misconfigured(Some(name), &why),
        };
        let authorizer = self.cluster.authorizer;
        let new = || Variables::of(self.subject, matched, authorizer);
        for params in params {
            let variables = variables.get_or_insert_with(new);
            self.evaluated((name, binding), self.policy.evaluate(variables, params.as_ref()));
        }
    }

    fn evaluated(&mut self, (name, binding): (&str, &Binding), outcome: Outcome) {
        for denial in outcome.denials {
            for action in binding.actions() {
                match action {
                    Action::Deny => self.deny(Some(name), &denial),
                    Action::Warn => {
                        let (policy, why) = (self.name, &denial.message);
                        self.verdict.warnings.push(format!(
                            "Validation failed for ValidatingAdmissionPolicy '{policy}' with \
                             binding '{name}': {why}"
                        ));
                    }
                }
            }
        }
        for message in outcome.failed_annotations {
            self.deny(Some(name), &Denial { message, reason: String::new() });
        }
    }

    /// A policy or a binding that cannot be evaluated.
    #[doc(alias = "addConfigError")]
    fn misconfigured(&mut self, binding: Option<&str>, why: &str) {
        if !self.policy.ignores_failures() {
            let what = if binding.is_some() { "binding" } else { "policy" };
            let message = format!("failed to configure {what}: {why}");
            self.deny(binding, &Denial { message, reason: String::new() });
        }
    }

    fn deny(&mut self, binding: Option<&str>, denial: &Denial) {
        if self.verdict.denied.is_some() {
            return;
        }
        let with = binding.map(|binding| format!(" with binding '{binding}'")).unwrap_or_default();
        let (name, why) = (self.name, &denial.message);
        let message = format!("ValidatingAdmissionPolicy '{name}'{with} denied request: {why}");
        let request = self.subject.request;
        let place = (&*request.group, &*request.resource, &*request.name);
        self.verdict.denied = Some(Status::denied_by_policy(place, &denial.reason, &message));
    }
}
