//! The Common Expression Language as the rules of definitions use it: read, checked against the
//! types of a schema, estimated, evaluated. Functions that are not here are named, so that a
//! definition with them can be refused as not implemented. Pure.

mod ast;
mod check;
mod cost;
mod declarations;
mod declared;
mod eval;
mod failure;
mod functions;
mod names;
mod parser;
#[cfg(test)]
mod tests;
mod tokens;
mod types;
mod value;

use std::sync::Arc;

use crate::cel::ast::{Expr, ExprKind};

pub(crate) use crate::cel::declared::Declared;
pub(crate) use crate::cel::failure::Failure;
pub(crate) use crate::cel::functions::duration;
pub(crate) use crate::cel::names::escaped;
pub(crate) use crate::cel::types::Type;
pub(crate) use crate::cel::value::{Key, List, Object, Order, Value};

/// One thing that is wrong in an expression; `at`: where, in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    at: usize,
    why: String,
}

impl Wrong {
    fn new(at: usize, why: impl Into<String>) -> Self {
        Self { at, why: why.into() }
    }

    const fn at(&self) -> usize {
        self.at
    }

    /// In cel-go's words, with the line that it is in.
    fn shown(&self, source: &str) -> String {
        let before: Vec<char> = source.chars().take(self.at).collect();
        let line = before.iter().filter(|c| **c == '\n').count();
        let column = before.iter().rev().take_while(|c| **c != '\n').count();
        let text = source.split('\n').nth(line).unwrap_or_default();
        let dots = ".".repeat(column);
        format!("ERROR: <input>:{}:{}: {}\n | {text}\n | {dots}^", line + 1, column + 1, self.why)
    }
}

/// An expression that was read and checked.
#[derive(Debug)]
pub(crate) struct Expression {
    expr: Expr,
    result: Type,
    /// What it costs at most.
    pub(crate) max_cost: u64,
    /// It reads the value before the update.
    pub(crate) uses_old: bool,
}

impl Expression {
    /// Reads an expression about `self`, and perhaps `oldSelf`.
    ///
    /// # Errors
    ///
    /// All that is wrong with it, in cel-go's words.
    pub(crate) fn read(
        source: &str,
        of: &Arc<Declared>,
        optional_old: bool,
    ) -> Result<Self, String> {
        let failed = |wrong: &[Wrong]| {
            let wrong: Vec<String> = wrong.iter().map(|wrong| wrong.shown(source)).collect();
            wrong.join("\n")
        };
        let (mut expr, nodes) = parser::parse(source).map_err(|wrong| failed(&[wrong]))?;
        let itself = of.named("selfType");
        let old = if optional_old { Type::optional(itself.clone()) } else { itself.clone() };
        let variables = [("self", itself), ("oldSelf", old)];
        let checked = check::check(&mut expr, nodes, &variables).map_err(|wrong| failed(&wrong))?;
        let wrong = check::wrong_values(&expr, &checked.types);
        if !wrong.is_empty() {
            return Err(failed(&wrong));
        }
        let max_cost = cost::estimate(&expr, &checked.types, of);
        let result = checked.types.get(expr.id).cloned().unwrap_or(Type::Dyn);
        Ok(Self { uses_old: checked.variables.contains("oldSelf"), expr, result, max_cost })
    }

    /// What of an expression the real server has and this one has not: the first of its functions,
    /// how deep it nests, or how it is written.
    pub(crate) fn missing(source: &str) -> Option<String> {
        match parser::parse(source) {
            Ok((expr, _)) => {
                check::missing(&expr).map(|function| format!("the function {function}"))
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

    /// The type of its value.
    pub(crate) const fn result(&self) -> &Type {
        &self.result
    }

    /// Evaluates it. Also returns what that cost.
    pub(crate) fn evaluate(
        &self,
        itself: &Value,
        old: Option<&Value>,
    ) -> (Result<Value, Failure>, u64) {
        let mut variables = vec![("self".to_owned(), itself.clone())];
        variables.extend(old.map(|old| ("oldSelf".to_owned(), old.clone())));
        eval::evaluate(&self.expr, variables)
    }

    /// What goes wrong when conversions of what is written in it are made at once, as the real
    /// server does.
    pub(crate) fn wrong_constant(&self) -> Option<Failure> {
        constants(&self.expr)
    }
}

/// The failure of the first conversion of a literal that fails.
fn constants(expr: &Expr) -> Option<Failure> {
    let mut failed = None;
    check::each(expr, &mut |expr| {
        if let ExprKind::Call { function, is_method: false, args } = &expr.kind
            && matches!(function.as_str(), "int" | "uint" | "double" | "bool")
            && matches!(args.first().map(|arg| &arg.kind), Some(ExprKind::Literal(_)))
        {
            let (value, _) = eval::evaluate(expr, Vec::new());
            failed = failed.take().or_else(|| value.err());
        }
    });
    failed
}
