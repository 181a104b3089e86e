//! `matchConditions` of webhooks and policies
//! (k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions).

use k8s_cel::{Activation, Environment, Value};
use serde_json::Value as Json;

use crate::admission::expressions::{Budget, Compiled, Spent};
use crate::strategy::expressions::Wanted;

#[cfg(test)]
mod tests;

/// Conditions that a write must fulfil, beside the rules.
#[derive(Debug, Default)]
pub(crate) struct MatchConditions {
    conditions: Vec<Compiled>,
    /// Whether a condition that fails to evaluate counts as not fulfilled:
    /// `failurePolicy: Ignore`.
    ignores_failures: bool,
}

impl MatchConditions {
    /// Reads the conditions of a webhook or of a policy's spec.
    pub(crate) fn read(of: &Json, environment: &Environment) -> Self {
        let conditions = of.get("matchConditions").and_then(Json::as_array).into_iter().flatten();
        let compiled = |condition: &Json| {
            let source = condition.get("expression").and_then(Json::as_str).unwrap_or_default();
            Compiled::new(source, environment, Wanted::Bool)
        };
        Self {
            conditions: conditions.map(compiled).collect(),
            ignores_failures: of.get("failurePolicy").is_some_and(|policy| policy == "Ignore"),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether all are fulfilled. A condition that is false decides, though others fail.
    ///
    /// # Errors
    ///
    /// Says why they cannot be evaluated, unless the failure policy ignores it.
    pub(crate) fn hold(&self, activation: &Activation<'_>) -> Result<bool, String> {
        let mut budget = Budget::MATCH_CONDITIONS;
        let mut results = Vec::new();
        for condition in &self.conditions {
            match budget.evaluate(condition, activation) {
                Ok(result) => results.push(result),
                Err(Spent) => return self.failed(Spent::WHY.to_owned()),
            }
        }
        let mut failed: Vec<String> = Vec::new();
        for result in results {
            match result {
                Ok(Value::Bool(false)) => return Ok(false),
                Ok(_) => {}
                Err(why) if failed.contains(&why) => {}
                Err(why) => failed.push(why),
            }
        }
        match failed.as_mut_slice() {
            [] => Ok(true),
            [one] => self.failed(std::mem::take(one)),
            several => self.failed(format!("[{}]", several.join(", "))),
        }
    }

    fn failed(&self, why: String) -> Result<bool, String> {
        if self.ignores_failures { Ok(false) } else { Err(why) }
    }
}
