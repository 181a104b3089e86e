//! A ValidatingAdmissionPolicyBinding, read once.

use serde_json::Value;

use crate::admission::matcher::{Matcher, NoNamespace};
use crate::admission::policies::params::ParamRef;
use crate::admission::subject::Subject;
use crate::api::metadata::Object;

/// What becomes of a write that a policy does not allow. Audit events do not exist here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "ValidationAction")]
pub(super) enum Action {
    Deny,
    Warn,
}

/// A ValidatingAdmissionPolicyBinding.
#[derive(Debug)]
pub(super) struct Binding {
    policy: String,
    matcher: Option<Matcher>,
    param_ref: Option<ParamRef>,
    actions: Vec<Action>,
}

impl Binding {
    pub(super) fn read(_name: &str, binding: &Object) -> Self {
        let spec = binding.get("spec").unwrap_or(&Value::Null);
        let actions = spec.get("validationActions").and_then(Value::as_array);
        let action = |action: &Value| match action.as_str()? {
            "Deny" => Some(Action::Deny),
            "Warn" => Some(Action::Warn),
            _ => None,
        };
        Self {
            policy: spec.get("policyName").and_then(Value::as_str).unwrap_or_default().to_owned(),
            matcher: spec.get("matchResources").map(Matcher::of_resources),
            param_ref: spec.get("paramRef").map(ParamRef::read),
            actions: actions.into_iter().flatten().filter_map(action).collect(),
        }
    }

    /// Whether it binds the policy of this name.
    pub(super) fn is_of(&self, policy: &str) -> bool {
        self.policy == policy
    }

    #[doc(alias = "BindingMatches")]
    pub(super) fn matches(&self, subject: &Subject<'_>) -> Result<bool, NoNamespace> {
        match &self.matcher {
            Some(matcher) => matcher.matches(subject).map(|matched| matched.is_some()),
            None => Ok(true),
        }
    }

    pub(super) const fn param_ref(&self) -> Option<&ParamRef> {
        self.param_ref.as_ref()
    }

    pub(super) fn actions(&self) -> &[Action] {
        &self.actions
    }
}
