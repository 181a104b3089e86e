//! A ValidatingAdmissionPolicy: compiled once, evaluated for a write and a parameter
//! (k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go).

use k8s_cel::{Composition, Value};
use serde_json::Value as Json;

use crate::admission::expressions::{Budget, Compiled, Spent, Variables};
use crate::admission::match_conditions::MatchConditions;
use crate::admission::matcher::Matcher;
use crate::admission::policies::params::KindOfParams;
use crate::api::metadata::Object;
use crate::strategy::expressions::{Wanted, environment};

/// The longest text that a `messageExpression` may make.
const MAX_MESSAGE: usize = 5 * 1024;

/// A compiled policy.
#[derive(Debug)]
pub(super) struct Policy {
    matcher: Matcher,
    ignores_failures: bool,
    param_kind: Option<KindOfParams>,
    variables: Composition,
    conditions: MatchConditions,
    validations: Vec<Validation>,
    /// The values of audit annotations.
    annotations: Vec<Compiled>,
}

#[derive(Debug)]
struct Validation {
    expression: Compiled,
    message_expression: Option<Compiled>,
    /// The message, unless the expression makes one.
    message: String,
    reason: String,
}

/// Why a policy does not allow a write.
#[derive(Debug)]
pub(super) struct Denial {
    pub(super) message: String,
    /// Empty: that of an invalid object.
    pub(super) reason: String,
}

/// What a policy says of a write.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// What the binding's actions are about.
    pub(super) denials: Vec<Denial>,
    /// Audit annotations that cannot be made. They deny, whatever the actions.
    pub(super) failed_annotations: Vec<String>,
}

impl Policy {
    #[doc(alias = "compilePolicy")]
    pub(super) fn read(_name: &str, policy: &Object) -> Self {
        let spec = policy.get("spec").unwrap_or(&Json::Null);
        let items = |name: &str| spec.get(name).and_then(Json::as_array).into_iter().flatten();
        let text = |of: &Json, name: &str| {
            of.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let param_kind = spec.get("paramKind").filter(|kind| !kind.is_null());
        let mut environment = environment(param_kind.is_some(), true).composed();
        let mut variables = Composition::default();
        for variable in items("variables") {
            let (name, source) = (text(variable, "name"), text(variable, "expression"));
            // What does not compile fails where it is read.
            let _known = variables.add(&name, &source, &mut environment);
        }
        let of_messages = environment.clone().without_authorizer();
        let validation = |validation: &Json| {
            let source = text(validation, "expression");
            let message_expression = Some(text(validation, "messageExpression"));
            Validation {
                message: match text(validation, "message").trim() {
                    "" => format!("failed expression: {}", source.trim()),
                    said => said.to_owned(),
                },
                reason: text(validation, "reason"),
                expression: Compiled::new(&source, &environment, Wanted::Bool),
                message_expression: message_expression
                    .filter(|source| !source.is_empty())
                    .map(|source| Compiled::new(&source, &of_messages, Wanted::Text)),
            }
        };
        let annotation = |annotation: &Json| {
            let source = text(annotation, "valueExpression");
            Compiled::new(&source, &environment, Wanted::TextOrNull)
        };
        Self {
            matcher: Matcher::of_resources(spec.get("matchConstraints").unwrap_or(&Json::Null)),
            ignores_failures: text(spec, "failurePolicy") == "Ignore",
            param_kind: param_kind.map(KindOfParams::read),
            conditions: MatchConditions::read(spec, &environment),
            validations: items("validations").map(validation).collect(),
            annotations: items("auditAnnotations").map(annotation).collect(),
            variables,
        }
    }

    pub(super) const fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    pub(super) const fn ignores_failures(&self) -> bool {
        self.ignores_failures
    }

    pub(super) const fn param_kind(&self) -> Option<&KindOfParams> {
        self.param_kind.as_ref()
    }

    /// Evaluates it.
    #[doc(alias = "Validate")]
    pub(super) fn evaluate(&self, variables: &Variables, params: Option<&Value>) -> Outcome {
        let conditions = variables.of_conditions(params).composed(&self.variables);
        match self.conditions.hold(&conditions) {
            Ok(true) => {}
            Ok(false) => return Outcome::default(),
            Err(why) => return self.failed(why),
        }
        let mut budget = Budget::VALIDATIONS;
        let Ok(results) = self.results(variables, params, &mut budget) else {
            return self.failed(Spent::WHY.to_owned());
        };
        let messages = self.messages(variables, params, &mut budget);
        let mut outcome = Outcome::default();
        for (at, (validation, result)) in self.validations.iter().zip(results).enumerate() {
            outcome.denials.extend(match (result, &messages) {
                (Err(why), _) => self.denied(why),
                (Ok(_), Err(Spent)) => {
                    self.denied(format!("failed messageExpression: {}", Spent::WHY))
                }
                (Ok(Value::Bool(true)), Ok(_)) => None,
                (Ok(_), Ok(messages)) => {
                    let message = messages.get(at).cloned().flatten();
                    let message = message.unwrap_or_else(|| validation.message.clone());
                    let reason = validation.reason.clone();
                    Some(Denial { message, reason })
                }
            });
        }
        let annotations = variables.of_messages(params, &self.variables);
        let mut budget = Budget::VALIDATIONS;
        for annotation in &self.annotations {
            match budget.evaluate(annotation, &annotations) {
                Ok(Ok(_)) => {}
                Ok(Err(_)) if self.ignores_failures => {}
                Ok(Err(why)) => outcome.failed_annotations.push(why),
                Err(Spent) => return self.failed(Spent::WHY.to_owned()),
            }
        }
        outcome
    }

    fn results(
        &self,
        variables: &Variables,
        params: Option<&Value>,
        budget: &mut Budget,
    ) -> Result<Vec<Result<Value, String>>, Spent> {
        let activation = variables.of_validations(params, &self.variables);
        let all = self.validations.iter();
        all.map(|validation| budget.evaluate(&validation.expression, &activation)).collect()
    }

    /// The messages that expressions make. As upstream, those of validations that hold too.
    fn messages(
        &self,
        variables: &Variables,
        params: Option<&Value>,
        budget: &mut Budget,
    ) -> Result<Vec<Option<String>>, Spent> {
        let activation = variables.of_messages(params, &self.variables);
        let mut message = |validation: &Validation| {
            let Some(expression) = &validation.message_expression else { return Ok(None) };
            let Ok(Value::Text(text)) = budget.evaluate(expression, &activation)? else {
                return Ok(None);
            };
            let text = text.trim();
            let fits = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
            Ok(fits.then(|| text.to_owned()))
        };
        self.validations.iter().map(&mut message).collect()
    }

    fn denied(&self, message: String) -> Option<Denial> {
        (!self.ignores_failures).then(|| Denial { message, reason: String::new() })
    }

    fn failed(&self, why: String) -> Outcome {
        Outcome { denials: self.denied(why).into_iter().collect(), ..Outcome::default() }
    }
}
