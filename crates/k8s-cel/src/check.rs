//! Checks the types of an expression (cel-go's `checker.go`): finds names, members and overloads,
//! and says what does not fit, in cel-go's words.

use std::collections::BTreeSet;

use crate::ast::{Expr, ExprKind, Fold, FoldKind, Literal, qualified};
use crate::compile_error::Issue;
use crate::declarations;
use crate::names;
use crate::types::{Known, Type, most_general};

/// The types and variables of an expression.
#[derive(Debug)]
pub(super) struct Checked {
    /// Of each node, by its number.
    pub(super) types: Vec<Type>,
    /// The names of variables that it reads, but for those of its own walks.
    pub(super) variables: BTreeSet<String>,
}

/// Checks a tree with this number of nodes and these variables.
///
/// # Errors
///
/// Everything that does not fit, in the order of the source.
pub(super) fn check(
    expr: &mut Expr,
    nodes: usize,
    variables: &[(String, Type)],
) -> Result<Checked, Vec<Issue>> {
    let mut checker = Checker {
        known: Known::default(),
        outer: variables.len(),
        scope: variables.to_vec(),
        types: vec![Type::Error; nodes],
        variables: BTreeSet::new(),
        wrong: Vec::new(),
    };
    checker.expr(expr);
    if !checker.wrong.is_empty() {
        checker.wrong.sort_by_key(|issue| issue.at);
        return Err(checker.wrong);
    }
    let known = checker.known;
    let types = checker.types.iter().map(|of| known.resolve(of, true)).collect();
    Ok(Checked { types, variables: checker.variables })
}

struct Checker {
    known: Known,
    /// As many of the scope are variables from outside.
    outer: usize,
    scope: Vec<(String, Type)>,
    types: Vec<Type>,
    variables: BTreeSet<String>,
    wrong: Vec<Issue>,
}

impl Checker {
    fn wrong(&mut self, at: usize, why: String) {
        self.wrong.push(Issue::new(at, why));
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type {
        self.wrong(at, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }

    fn shown(&self, of: &Type) -> String {
        self.known.resolve(of, true).to_string()
    }

    fn expr(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        self.join_name(expr);
        let of = match &mut expr.kind {
            ExprKind::Literal(literal) => of_literal(literal),
            ExprKind::Name(name) => self.name(name, at),
            ExprKind::Select { of, member, optional } => {
                let of = self.expr(of);
                self.select(&of, member, *optional, at)
            }
            ExprKind::Has { of, member } => {
                let of = self.expr(of);
                self.select(&of, member, false, at);
                Type::Bool
            }
            ExprKind::Call { .. } => self.call(expr),
            ExprKind::List(items) => {
                let element = self.joined(items.iter_mut());
                Type::list(element)
            }
            ExprKind::Map(entries) => {
                let key = self.joined(entries.iter_mut().map(|(key, _)| key));
                let value = self.joined(entries.iter_mut().map(|(_, value)| value));
                Type::Map(key.into(), value.into())
            }
            ExprKind::Fold(fold) => self.fold(fold, at),
        };
        let of = self.known.resolve(&of, false);
        if let Some(slot) = self.types.get_mut(expr.id) {
            *slot = of.clone();
        }
        of
    }

    /// `a.b` is one name, if there is a variable of it.
    fn join_name(&self, expr: &mut Expr) {
        if let ExprKind::Select { .. } = expr.kind
            && let Some(whole) = qualified(expr)
            && self.scope.iter().any(|(known, _)| *known == whole)
        {
            expr.kind = ExprKind::Name(whole);
        }
    }

    fn name(&mut self, name: &str, at: usize) -> Type {
        let found = self.scope.iter().rposition(|(known, _)| known == name);
        if let Some((place, (_, of))) =
            found.and_then(|place| self.scope.get(place).map(|found| (place, found)))
        {
            if place < self.outer {
                self.variables.insert(name.to_owned());
            }
            return of.clone();
        }
        let named = match name {
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "null_type" => Type::Null,
            "list" => Type::list(Type::Dyn),
            "map" => Type::Map(Type::Dyn.into(), Type::Dyn.into()),
            _ => return self.undeclared(at, name),
        };
        Type::Meta(named.into())
    }

    fn select(&mut self, of: &Type, member: &str, optional: bool, at: usize) -> Type {
        let (of, was_optional) = match of {
            Type::Optional(inner) => (self.known.resolve(inner, false), true),
            other => (other.clone(), false),
        };
        let selected = match &of {
            Type::Map(_, value) => Type::clone(value),
            Type::Object(object) => match names::member(member, |name| object.members.get(name)) {
                Some(of) => of.clone(),
                None => {
                    self.wrong(at, format!("undefined field '{member}'"));
                    Type::Error
                }
            },
            Type::Opaque(name) => {
                self.wrong(at, format!("unexpected failed resolution of '{name}'"));
                Type::Error
            }
            Type::Param(_) => {
                self.known.fit(&Type::Dyn, &of);
                Type::Dyn
            }
            other if other.is_any() => Type::Dyn,
            other => {
                let shown = self.shown(other);
                self.wrong(at, format!("type '{shown}' does not support field selection"));
                Type::Dyn
            }
        };
        if optional || was_optional { Type::optional(selected) } else { selected }
    }

    /// The type that all of these have.
    fn joined<'a>(&mut self, all: impl Iterator<Item = &'a mut Expr>) -> Type {
        let mut joined: Option<Type> = None;
        for expr in all {
            let of = self.expr(expr);
            joined = Some(match joined {
                None => of,
                Some(before) if self.known.fit(&before, &of) => most_general(&before, &of).clone(),
                // Whether it may be is looked at when all types are known.
                Some(_) => Type::Dyn,
            });
        }
        joined.unwrap_or_else(|| self.known.fresh())
    }

    fn call(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        let ExprKind::Call { function, is_method, args } = &mut expr.kind else {
            return Type::Error;
        };
        // `optional.of(x)` is a function by this whole name.
        if *is_method
            && let Some(prefix) = args.first().and_then(qualified)
            && declarations::overloads(&format!("{prefix}.{function}")).is_some()
        {
            args.remove(0);
            *function = format!("{prefix}.{function}");
            *is_method = false;
        }
        let (target, rest) = args.split_at_mut(usize::from(*is_method));
        let rest: Vec<Type> = rest.iter_mut().map(|arg| self.expr(arg)).collect();
        let mut types: Vec<Type> = target.iter_mut().map(|arg| self.expr(arg)).collect();
        types.extend(rest);
        let Some(overloads) = declarations::overloads(function) else {
            return self.undeclared(at, function);
        };
        if matches!(function.as_str(), "_&&_" | "_||_") {
            let mut result = Type::Bool;
            for (arg, of) in args.iter().zip(&types) {
                if !self.known.fit(of, &Type::Bool) {
                    result = Type::Error;
                    let shown = self.shown(of);
                    self.wrong(arg.at, format!("expected type 'bool' but found '{shown}'"));
                }
            }
            return result;
        }
        let mut result: Option<Type> = None;
        for overload in overloads.iter().filter(|overload| overload.is_method == *is_method) {
            let (wanted, returns) = overload.fresh(&mut self.known);
            if self.known.fit_all(&types, &wanted) {
                let returns = self.known.resolve(&returns, false);
                result = Some(match result {
                    None => returns,
                    Some(before) if before == returns => before,
                    Some(_) => Type::Dyn,
                });
            }
        }
        result.unwrap_or_else(|| {
            let shown: Vec<String> = types.iter().map(|of| self.shown(of)).collect();
            let signature = match shown.split_first() {
                Some((target, args)) if *is_method => format!("{target}.({})", args.join(", ")),
                _ => format!("({})", shown.join(", ")),
            };
            let why =
                format!("found no matching overload for '{function}' applied to '{signature}'");
            self.wrong(at, why);
            Type::Error
        })
    }

    fn fold(&mut self, fold: &mut Fold, at: usize) -> Type {
        let range = self.expr(&mut fold.range);
        let (index, key, value) = match &range {
            Type::List(of) => (Type::Int, Type::clone(of), Type::clone(of)),
            Type::Map(key, value) => (Type::clone(key), Type::clone(key), Type::clone(value)),
            other if other.is_any() || matches!(other, Type::Param(_)) => {
                (Type::Dyn, Type::Dyn, Type::Dyn)
            }
            other => {
                let shown = self.shown(other);
                let why = format!(
                    "expression of type '{shown}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.wrong(fold.range.at, why);
                (Type::Error, Type::Error, Type::Error)
            }
        };
        let before = self.scope.len();
        match &fold.second {
            Some(second) => {
                self.scope.push((fold.variable.clone(), index));
                self.scope.push((second.clone(), value));
            }
            None => self.scope.push((fold.variable.clone(), key.clone())),
        }
        let condition =
            fold.condition.as_mut().map(|condition| (condition.at, self.expr(condition)));
        let step = fold.step.as_mut().map(|step| self.expr(step));
        if let Some((place, of)) = condition
            && !self.known.fit(&of, &Type::Bool)
        {
            let shown = self.shown(&of);
            // What the macro makes of the rest: the result with the element, or without it.
            let result = match (fold.kind, &step) {
                (FoldKind::All | FoldKind::Exists, _) => None,
                (FoldKind::Map, Some(step)) => Some(Type::list(step.clone())),
                (FoldKind::Filter, _) => Some(Type::list(key.clone())),
                _ => Some(Type::Int),
            };
            match result.map(|result| self.shown(&result)) {
                None => self.wrong(place, format!("expected type 'bool' but found '{shown}'")),
                Some(result) => {
                    let why = format!(
                        "found no matching overload for '_?_:_' applied to '({shown}, {result}, {result})'"
                    );
                    self.wrong(at, why);
                }
            }
        }
        self.scope.truncate(before);
        match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => Type::Bool,
            FoldKind::Filter => Type::list(key),
            FoldKind::Map => Type::list(step.unwrap_or(Type::Error)),
        }
    }
}

const fn of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::Text(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
