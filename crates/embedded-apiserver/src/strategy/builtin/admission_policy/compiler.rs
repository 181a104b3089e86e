//! Compiles the expressions of a policy while it is validated: variables before what reads them.

use k8s_cel::{Composition, Environment};
use k8s_value::FieldErrors;
use serde_json::Value;

use crate::strategy::builtin::members::{items, part, said};
use crate::strategy::expressions::{Wanted, compile, environment, uncompiled};

/// The variables that the expressions of a policy may read.
#[derive(Debug)]
pub(super) struct Compiler {
    environment: Environment,
    variables: Composition,
}

impl Compiler {
    /// For the spec of a policy, without its variables yet.
    pub(super) fn of(spec: &Value) -> Self {
        let environment = environment(part(spec, "paramKind").is_some(), true);
        let has_variables = items(spec.get("variables"), "").next().is_some();
        Self {
            environment: if has_variables { environment.composed() } else { environment },
            variables: Composition::default(),
        }
    }

    /// Compiles a variable, for the expressions after it.
    #[doc(alias = "CompileAndStoreVariable")]
    pub(super) fn variable(
        &mut self,
        name: &str,
        source: &str,
        field: String,
        causes: &mut FieldErrors,
    ) {
        if let Err(why) = self.variables.add(name, source, &mut self.environment) {
            causes.push(uncompiled(&why).cause(field, source));
        }
    }

    /// Compiles an expression of a validation, of a message or of an audit annotation.
    #[doc(alias = "validateCELCondition")]
    pub(super) fn check(
        &self,
        source: &str,
        wanted: Wanted,
        field: String,
        causes: &mut FieldErrors,
    ) {
        let of_messages;
        let (environment, compiled) = match wanted {
            Wanted::Text => {
                of_messages = self.environment.clone().without_authorizer();
                (&of_messages, source)
            }
            Wanted::TextOrNull => (&self.environment, source.trim()),
            Wanted::Bool => (&self.environment, source),
        };
        if let Err(why) = compile(compiled, environment, wanted) {
            causes.push(why.cause(field, source));
        }
    }
}

/// All expressions of a policy, for those that this server cannot evaluate.
pub(super) fn sources(spec: &Value) -> impl Iterator<Item = &str> {
    let lists = [
        ("matchConditions", "expression"),
        ("variables", "expression"),
        ("validations", "expression"),
        ("validations", "messageExpression"),
        ("auditAnnotations", "valueExpression"),
    ];
    lists.into_iter().flat_map(|(list, member)| {
        items(spec.get(list), "").map(move |(_, item)| said(item, member))
    })
}
