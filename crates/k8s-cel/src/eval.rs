//! Evaluates a checked expression. The cost is counted as in cel-go's `runtimecost.go`, so that
//! nothing runs for long.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ast::{Expr, ExprKind, Fold, FoldKind};
use crate::environment::COMPOSED;
use crate::eval_error::EvalError;
use crate::functions;
use crate::names;
use crate::value::{Key, List, Value};

/// As much one evaluation may cost (`PerCallLimit` of k8s.io/apiserver/pkg/apis/cel).
const PER_CALL_LIMIT: u64 = 1_000_000;

/// Evaluates an expression with these variables and those from outside. Also returns what it cost.
pub(super) fn evaluate(
    expr: &Expr,
    variables: Vec<(String, Value)>,
    outer: Option<&dyn Outer>,
) -> (Result<Value, EvalError>, u64) {
    let mut run = Run { outer, scope: variables, spent: 0 };
    let value = run.expr(expr);
    let value = if run.spent > PER_CALL_LIMIT { Err(EvalError::TooExpensive) } else { value };
    (value, run.spent)
}

/// What cel-go's macros cost an element, beside what their condition and step cost: by what
/// parser/macro.go expands them to, at what interpreter/runtimecost.go counts for that. 1 each: a
/// name, a call.
const fn cost_of_step(kind: FoldKind) -> u64 {
    /// `@not_strictly_false(@result)` before each round, `@result` of `@result && ..` in it.
    const ALL: u64 = 3;
    /// As that, with a `!` before the round.
    const EXISTS: u64 = ALL + 1;
    /// The `@result` of either branch.
    const EXISTS_ONE: u64 = 1;
    /// `@result + [..]`: a name, a sum, and what a new list costs.
    const INTO_LIST: u64 = 2 + LIST;
    match kind {
        FoldKind::All => ALL,
        FoldKind::Exists => EXISTS,
        FoldKind::ExistsOne => EXISTS_ONE,
        FoldKind::Filter | FoldKind::Map => INTO_LIST,
    }
}

/// What making a list costs, and what making a map does (`common.ListCreateBaseCost`,
/// `common.MapCreateBaseCost` of cel-go).
const LIST: u64 = 10;
const MAP: u64 = 30;

/// Variables from outside of an expression.
pub(super) trait Outer {
    fn get(&self, name: &str) -> Option<Value>;

    /// A member of `variables`. `None`: there are no variables, or none of this name.
    fn member(&self, name: &str) -> Option<Evaluated>;
}

struct Run<'a> {
    outer: Option<&'a dyn Outer>,
    scope: Vec<(String, Value)>,
    spent: u64,
}

pub(super) type Evaluated = Result<Value, EvalError>;

impl Run<'_> {
    fn spend(&mut self, cost: u64) -> Result<(), EvalError> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > PER_CALL_LIMIT { Err(EvalError::TooExpensive) } else { Ok(()) }
    }

    fn expr(&mut self, expr: &Expr) -> Evaluated {
        match &expr.kind {
            ExprKind::Literal(literal) => Ok(Value::of_literal(literal)),
            ExprKind::Name(name) => {
                self.spend(1)?;
                self.name(name)
            }
            ExprKind::Select { of, member, optional } => {
                if let Some(composed) = self.composed(of, member) {
                    self.spend(2)?;
                    let value = composed?;
                    return Ok(if *optional { Value::some(value) } else { value });
                }
                let of = self.expr(of)?;
                self.spend(1)?;
                select(&of, member, *optional)
            }
            ExprKind::Has { of, member } => {
                if let Some(composed) = self.composed(of, member) {
                    return composed.map(|_| Value::Bool(true));
                }
                let of = self.expr(of)?;
                match find(&of, member)? {
                    Some(Value::Broken(why)) => Err(EvalError::said(why.to_string())),
                    found => Ok(Value::Bool(found.is_some())),
                }
            }
            ExprKind::List(items) => {
                self.spend(LIST)?;
                Ok(List::of(items.iter().map(|item| self.expr(item)).collect::<Result<_, _>>()?))
            }
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Fold(fold) => self.fold(fold),
            ExprKind::Call { function, args, is_method } => self.call(function, *is_method, args),
        }
    }

    fn name(&self, name: &str) -> Evaluated {
        if let Some((_, value)) = self.scope.iter().rev().find(|(known, _)| known == name) {
            return sound(value.clone());
        }
        if let Some(value) = self.outer.and_then(|all| all.get(name)) {
            return Ok(value);
        }
        let named =
            ["bool", "int", "uint", "double", "string", "bytes", "null_type", "list", "map"];
        match named.into_iter().find(|known| *known == name) {
            Some(known) => Ok(Value::Type(known)),
            None => Err(EvalError::said(format!("no such attribute(s): {name}"))),
        }
    }

    /// A member of `variables`, unless this is a variable of a walk.
    fn composed(&self, of: &Expr, member: &str) -> Option<Evaluated> {
        match &of.kind {
            ExprKind::Name(name) if name == COMPOSED => {}
            _ => return None,
        }
        if self.scope.iter().any(|(known, _)| known == COMPOSED) {
            return None;
        }
        self.outer?.member(member)
    }

    fn map(&mut self, entries: &[(Expr, Expr)]) -> Evaluated {
        self.spend(MAP)?;
        let mut map = BTreeMap::new();
        for (key, value) in entries {
            let key = self.expr(key)?;
            let Some(key) = key.key() else {
                return Err(EvalError::said(format!("unsupported key type: {}", key.type_name())));
            };
            map.insert(key, self.expr(value)?);
        }
        Ok(Value::Map(Arc::new(map)))
    }

    fn call(&mut self, function: &str, is_method: bool, args: &[Expr]) -> Evaluated {
        match (function, args) {
            ("_&&_", [left, right]) => return self.either(left, right, false),
            ("_||_", [left, right]) => return self.either(left, right, true),
            ("_?_:_", [condition, then, otherwise]) => {
                return match self.expr(condition)? {
                    Value::Bool(true) => self.expr(then),
                    Value::Bool(false) => self.expr(otherwise),
                    _ => Err(EvalError::NoSuchOverload),
                };
            }
            _ => {}
        }
        let args = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>, _>>()?;
        self.spend(functions::cost(function, &args))?;
        sound(functions::call(function, is_method, &args)?)
    }

    /// `&&`, `||`: the operand that decides does so from either side, though the other one fails.
    fn either(&mut self, left: &Expr, right: &Expr, decides: bool) -> Evaluated {
        let as_bool = |value: Evaluated| match value {
            Ok(Value::Bool(value)) => Ok(value),
            Ok(_) => Err(EvalError::NoSuchOverload),
            Err(failure) => Err(failure),
        };
        let left = as_bool(self.expr(left));
        if left == Ok(decides) || left == Err(EvalError::TooExpensive) {
            return left.map(Value::Bool);
        }
        let right = as_bool(self.expr(right));
        if right == Ok(decides) || right == Err(EvalError::TooExpensive) {
            return right.map(Value::Bool);
        }
        left.and(right).map(Value::Bool)
    }

    fn fold(&mut self, fold: &Fold) -> Evaluated {
        let range = self.expr(&fold.range)?;
        let elements = elements(&range)?;
        let before = self.scope.len();
        let (mut count, mut kept, mut failed) = (0_u64, Vec::new(), None);
        for (index, value) in elements {
            self.spend(cost_of_step(fold.kind))?;
            let single =
                if matches!(range, Value::List(_)) { value.clone() } else { index.clone() };
            match &fold.second {
                Some(second) => {
                    self.scope.push((fold.variable.clone(), index));
                    self.scope.push((second.clone(), value));
                }
                None => self.scope.push((fold.variable.clone(), single.clone())),
            }
            let counts = match &fold.condition {
                None => Ok(true),
                Some(condition) => match self.expr(condition) {
                    Ok(Value::Bool(counts)) => Ok(counts),
                    Ok(_) => Err(EvalError::NoSuchOverload),
                    Err(failure) => Err(failure),
                },
            };
            let step = match (&counts, &fold.step) {
                (Ok(true), Some(step)) => Some(self.expr(step)),
                _ => None,
            };
            self.scope.truncate(before);
            match (fold.kind, counts) {
                (_, Err(EvalError::TooExpensive)) => return Err(EvalError::TooExpensive),
                (FoldKind::All, Ok(false)) => return Ok(Value::Bool(false)),
                (FoldKind::Exists, Ok(true)) => return Ok(Value::Bool(true)),
                // Another element may still decide.
                (FoldKind::All | FoldKind::Exists, Err(failure)) => {
                    failed = failed.or(Some(failure))
                }
                (FoldKind::All | FoldKind::Exists, Ok(_)) => {}
                (_, Err(failure)) => return Err(failure),
                (_, Ok(false)) => {}
                (FoldKind::ExistsOne, Ok(true)) => count += 1,
                (FoldKind::Filter | FoldKind::Map, Ok(true)) => {
                    kept.push(step.unwrap_or(Ok(single))?)
                }
            }
        }
        if let Some(failure) = failed {
            return Err(failure);
        }
        Ok(match fold.kind {
            FoldKind::All => Value::Bool(true),
            FoldKind::Exists => Value::Bool(false),
            FoldKind::ExistsOne => Value::Bool(count == 1),
            FoldKind::Filter | FoldKind::Map => List::of(kept),
        })
    }
}

/// A value that may be read.
fn sound(value: Value) -> Evaluated {
    match value {
        Value::Broken(why) => Err(EvalError::said(why.to_string())),
        value => Ok(value),
    }
}

/// The elements of a walk: indices or keys, and elements or values. They come one at a time: a walk
/// that ends early does not pay for the rest.
fn elements(range: &Value) -> Result<Box<dyn Iterator<Item = (Value, Value)> + '_>, EvalError> {
    Ok(match range {
        Value::List(list) => Box::new(
            list.items.iter().zip(0_i64..).map(|(item, at)| (Value::Int(at), item.clone())),
        ),
        Value::Map(map) => Box::new(map.iter().map(|(key, value)| (key.value(), value.clone()))),
        Value::Object(object) => Box::new(
            object.members.iter().map(|(name, value)| (Value::text(name.as_str()), value.clone())),
        ),
        _ => return Err(EvalError::NoSuchOverload),
    })
}

fn find(of: &Value, member: &str) -> Result<Option<Value>, EvalError> {
    Ok(match of {
        Value::Object(object) => names::member(member, |name| object.members.get(name)).cloned(),
        Value::Map(map) => map.get(&Key::Text(member.into())).cloned(),
        Value::Optional(Some(of)) => find(of, member)?,
        // What has no members lacks each (`refQualify` of cel-go's interpreter).
        _ => None,
    })
}

fn select(of: &Value, member: &str, optional: bool) -> Evaluated {
    let found = find(of, member)?;
    if optional || matches!(of, Value::Optional(_)) {
        return Ok(Value::Optional(found.map(Arc::new)));
    }
    sound(found.ok_or_else(|| EvalError::said(format!("no such key: {member}")))?)
}
