//! `Composition`: named expressions, which other expressions read as `variables.name`.

use crate::compile_error::CompileError;
use crate::environment::Environment;
use crate::expression::Expression;
use crate::types::Type;

/// Named expressions, which other expressions read as `variables.name`. Each is evaluated at the
/// first read, once for an [`Activation`](crate::Activation).
///
/// ```
/// use k8s_cel::{Activation, Composition, Environment, Expression, Type, Value};
///
/// let mut environment = Environment::default().variable("object", Type::Dyn).composed();
/// let mut variables = Composition::default();
/// variables.add("half", "int(object.replicas) / 2", &mut environment)?;
/// variables.add("quarter", "variables.half / 2", &mut environment)?;
/// let expression = Expression::compile_in("variables.quarter == 2", &environment)?;
/// let object = Value::of_json(&serde_json::json!({ "replicas": 8 }));
/// let activation = Activation::default().set("object", object).composed(&variables);
/// assert!(matches!(activation.evaluate(&expression).value, Ok(Value::Bool(true))));
/// # Ok::<(), k8s_cel::CompileError>(())
/// ```
#[derive(Debug, Default)]
#[doc(alias = "CompositedCompiler")]
pub struct Composition {
    named: Vec<(String, Result<Expression, CompileError>)>,
}

impl Composition {
    /// Compiles an expression and gives it a name, for the expressions that come later. A member of
    /// the same name is replaced.
    ///
    /// # Errors
    ///
    /// The expression does not compile. The name is known nevertheless, of type `dyn`: an
    /// expression that reads it compiles, and its evaluation fails.
    pub fn add(
        &mut self,
        name: &str,
        source: &str,
        environment: &mut Environment,
    ) -> Result<(), CompileError> {
        let compiled = Expression::compile_in(source, environment);
        let of = compiled.as_ref().map_or(Type::Dyn, |compiled| declared(compiled.result()));
        environment.add_member(name, of);
        let outcome = compiled.as_ref().map(|_| ()).map_err(CompileError::clone);
        self.named.push((name.to_owned(), compiled));
        outcome
    }

    /// The expression of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Result<Expression, CompileError>> {
        self.named.iter().rev().find(|(known, _)| known == name).map(|(_, compiled)| compiled)
    }
}

/// The type that other expressions see: objects and Kubernetes' own types are `dyn`
/// (`convertCelTypeToDeclType` of k8s.io/apiserver/pkg/admission/plugin/cel).
fn declared(of: &Type) -> Type {
    match of {
        Type::List(of) => Type::List(declared(of).into()),
        Type::Map(key, value) => Type::Map(declared(key).into(), declared(value).into()),
        Type::Error
        | Type::Optional(_)
        | Type::Meta(_)
        | Type::Opaque(_)
        | Type::Object(_)
        | Type::Param(_) => Type::Dyn,
        plain => plain.clone(),
    }
}
