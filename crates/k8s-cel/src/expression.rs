//! `Expression`: compiled, with its type and its cost, and evaluated.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::ast::{Expr, ExprKind, each};
use crate::compile_error::{CompileError, Issue};
use crate::declared::Declared;
use crate::environment::Environment;
use crate::eval_error::EvalError;
use crate::types::Type;
use crate::value::Value;
use crate::{check, cost, eval, literals, missing, parser};

/// The result of an evaluation, and what it cost.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The value, or why the expression has no value.
    pub value: Result<Value, EvalError>,
    /// In the units of Kubernetes' cost model.
    pub cost: u64,
}

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    expr: Expr,
    result: Type,
    max_cost: u64,
    variables: BTreeSet<String>,
}

impl Expression {
    /// Parses an expression and checks its types. `of` is the type of `self` and `oldSelf`. With
    /// `optional_old` the value before is an optional: a creation has no value before.
    ///
    /// # Errors
    ///
    /// The expression is wrong, or has what this crate does not have: see
    /// [`unsupported`](Self::unsupported).
    pub fn compile(
        source: &str,
        of: &Arc<Declared>,
        optional_old: bool,
    ) -> Result<Self, CompileError> {
        let itself = of.named("selfType");
        let old = if optional_old { Type::optional(itself.clone()) } else { itself.clone() };
        let variables = [("self".to_owned(), itself), ("oldSelf".to_owned(), old)];
        let (compiled, types) = Self::read(source, &variables)?;
        Ok(Self { max_cost: cost::estimate(&compiled.expr, &types, of), ..compiled })
    }

    /// Parses an expression about the variables of an environment and checks its types. Its
    /// [`max_cost`](Self::max_cost) is not estimated: it has no bound.
    ///
    /// # Errors
    ///
    /// As [`compile`](Self::compile).
    pub fn compile_in(source: &str, environment: &Environment) -> Result<Self, CompileError> {
        Self::read(source, environment.variables()).map(|(compiled, _)| compiled)
    }

    /// Returns it with the types of its nodes.
    fn read(source: &str, variables: &[(String, Type)]) -> Result<(Self, Vec<Type>), CompileError> {
        let failed = |issues: &[Issue]| CompileError::new(source, issues);
        let (mut expr, nodes) = parser::parse(source).map_err(|wrong| failed(&[wrong]))?;
        let checked = check::check(&mut expr, nodes, variables).map_err(|wrong| failed(&wrong))?;
        let wrong = literals::wrong_values(&expr, &checked.types);
        if !wrong.is_empty() {
            return Err(failed(&wrong));
        }
        let result = checked.types.get(expr.id).cloned().unwrap_or(Type::Dyn);
        let variables = checked.variables;
        Ok((Self { expr, result, max_cost: u64::MAX, variables }, checked.types))
    }

    /// Returns what of an expression Kubernetes has and this crate does not have: the first of its
    /// functions, its nesting, or its syntax. `None` for a wrong expression too.
    pub fn unsupported(source: &str) -> Option<String> {
        match parser::parse(source) {
            Ok((expr, _)) => {
                missing::missing(&expr).map(|function| format!("the function {function}"))
            }
            Err(wrong) if wrong.why == parser::TOO_DEEP => {
                Some(format!("nesting of more than {} levels", parser::MAX_DEPTH))
            }
            Err(wrong) => parser::MISSING
                .iter()
                .find(|what| **what == wrong.why)
                .map(|what| (*what).to_owned()),
        }
    }

    /// Returns the type of its value.
    pub const fn result(&self) -> &Type {
        &self.result
    }

    /// Returns an upper bound of its cost, for values within the bounds of their declaration.
    pub const fn max_cost(&self) -> u64 {
        self.max_cost
    }

    /// Returns whether it reads `oldSelf`.
    pub fn uses_old(&self) -> bool {
        self.variables.contains("oldSelf")
    }

    pub(crate) const fn root(&self) -> &Expr {
        &self.expr
    }

    /// Evaluates it for these values of `self` and `oldSelf`.
    pub fn evaluate(&self, itself: &Value, old: Option<&Value>) -> Evaluation {
        let mut variables = vec![("self".to_owned(), itself.clone())];
        variables.extend(old.map(|old| ("oldSelf".to_owned(), old.clone())));
        let (value, cost) = eval::evaluate(&self.expr, variables, None);
        Evaluation { value, cost }
    }

    /// Returns the failure of the first conversion of a literal, such as `int("x")`. Kubernetes
    /// makes these conversions when it compiles.
    pub fn wrong_constant(&self) -> Option<EvalError> {
        constants(&self.expr)
    }
}

/// The functions that Kubernetes evaluates when it compiles (`IsTypeConversionFunction`).
const CONVERSIONS: [&str; 8] =
    ["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"];

/// The failure of the first conversion of a literal that fails.
fn constants(expr: &Expr) -> Option<EvalError> {
    let mut failed = None;
    each(expr, &mut |expr| {
        if let ExprKind::Call { function, is_method: false, args } = &expr.kind
            && CONVERSIONS.contains(&function.as_str())
            && let Some(ExprKind::Literal(literal)) = args.first().map(|arg| &arg.kind)
        {
            let (value, _) = eval::evaluate(expr, Vec::new(), None);
            let why = value.err().map(|why| match why {
                EvalError::NoSuchOverload => {
                    let of = Value::of_literal(literal).type_name();
                    EvalError::said(format!("no such overload: {function}({of})"))
                }
                why => why,
            });
            failed = failed.take().or(why);
        }
    });
    failed
}
