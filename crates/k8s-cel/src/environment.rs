//! `Environment`: the variables that an expression may read, with their types.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::{ObjectType, Type};

/// The name of the variable that holds the values of a [`Composition`](crate::Composition).
pub(crate) const COMPOSED: &str = "variables";

/// The variables that an expression may read, with their types.
///
/// ```
/// use k8s_cel::{Activation, Environment, Expression, Type, Value};
///
/// let environment = Environment::default().variable("object", Type::Dyn);
/// let expression = Expression::compile_in("object.replicas <= 5", &environment)?;
/// let activation = Activation::default().set("object", Value::of_json(&serde_json::json!({
///     "replicas": 3,
/// })));
/// assert!(matches!(activation.evaluate(&expression).value, Ok(Value::Bool(true))));
/// # Ok::<(), k8s_cel::CompileError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[doc(alias = "cel.Env")]
pub struct Environment {
    variables: Vec<(String, Type)>,
}

impl Environment {
    /// Adds a variable. A name with a dot, as `authorizer.requestResource`, is one variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, of: Type) -> Self {
        self.variables.push((name.into(), of));
        self
    }

    /// Adds the variable `variables`, an object without members yet.
    #[must_use]
    pub fn composed(self) -> Self {
        self.variable(COMPOSED, composed(BTreeMap::new()))
    }

    /// Removes the variable `authorizer` and what begins with its name and a dot.
    #[must_use]
    pub fn without_authorizer(mut self) -> Self {
        self.variables.retain(|(name, _)| name.split('.').next() != Some("authorizer"));
        self
    }

    /// Adds a member to `variables`, if there is this variable.
    pub(crate) fn add_member(&mut self, name: &str, of: Type) {
        for (variable, known) in &mut self.variables {
            if let (COMPOSED, Type::Object(object)) = (variable.as_str(), &*known) {
                let mut members = object.members.clone();
                members.insert(name.to_owned(), of.clone());
                *known = composed(members);
            }
        }
    }

    pub(crate) fn variables(&self) -> &[(String, Type)] {
        &self.variables
    }
}

fn composed(members: BTreeMap<String, Type>) -> Type {
    Type::Object(Arc::new(ObjectType { name: "kubernetes.variables".to_owned(), members }))
}
