//! `Activation`: the values of the variables of an evaluation.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::composition::Composition;
use crate::eval::{self, Outer};
use crate::eval_error::EvalError;
use crate::expression::{Evaluation, Expression};
use crate::value::{Called, Value};

/// The values of the variables of an [`Environment`](crate::Environment).
///
/// Members of `variables` keep their values: expressions that share an activation evaluate each
/// once.
#[derive(Debug, Default)]
#[doc(alias = "interpreter.Activation")]
pub struct Activation<'a> {
    values: Vec<(&'static str, Value)>,
    composition: Option<&'a Composition>,
    composed: RefCell<BTreeMap<String, Called>>,
    /// The cost of members of `variables` that no evaluation has counted yet.
    unpaid: Cell<u64>,
}

impl<'a> Activation<'a> {
    /// Sets the value of a variable.
    #[must_use]
    pub fn set(mut self, name: &'static str, value: Value) -> Self {
        self.values.push((name, value));
        self
    }

    /// Sets the expressions behind `variables`.
    #[must_use]
    pub const fn composed(mut self, composition: &'a Composition) -> Self {
        self.composition = Some(composition);
        self
    }

    /// Evaluates an expression. The cost is its own, and that of the members of `variables` that it
    /// is the first to read.
    pub fn evaluate(&self, expression: &Expression) -> Evaluation {
        let (value, cost) = eval::evaluate(expression.root(), Vec::new(), Some(self));
        Evaluation { value, cost: cost.saturating_add(self.unpaid.take()) }
    }
}

impl Outer for Activation<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn member(&self, name: &str) -> Option<Called> {
        let compiled = self.composition?.get(name)?;
        if let Some(known) = self.composed.borrow().get(name) {
            return Some(known.clone());
        }
        let value = match compiled {
            Ok(compiled) => {
                let (value, cost) = eval::evaluate(compiled.root(), Vec::new(), Some(self));
                self.unpaid.set(self.unpaid.get().saturating_add(cost));
                value.map_err(|why| failed(name, &format!("evaluate: {why}")))
            }
            Err(why) => Err(failed(name, &format!("compile: compilation failed: {why}"))),
        };
        self.composed.borrow_mut().insert(name.to_owned(), value.clone());
        Some(value)
    }
}

fn failed(name: &str, why: &str) -> EvalError {
    EvalError::said(format!("composited variable {name:?} fails to {why}"))
}
