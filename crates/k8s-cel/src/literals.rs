//! Checks written-out values in an expression whose types fit (cel-go's validators).

use std::collections::BTreeSet;

use crate::ast::{Expr, ExprKind, Literal, each};
use crate::compile_error::Issue;
use crate::functions;
use crate::pattern::Pattern;
use crate::types::Type;

/// The findings of cel-go's validators in an expression whose types fit: literals that are no
/// pattern, duration or time where one is expected; lists and maps of several types; values that
/// a clause of a format does not take.
pub(super) fn wrong_values(expr: &Expr, types: &[Type]) -> Vec<Issue> {
    let mut wrong = Vec::new();
    let mut within_formats = BTreeSet::new();
    each(expr, &mut |expr| match &expr.kind {
        ExprKind::Call { function, args, .. } if function == "format" => {
            within_formats.extend(args.iter().flat_map(ids));
            wrong.extend(wrong_clause(args, types));
        }
        ExprKind::Call { function, args, .. } => wrong.extend(wrong_literal(function, args)),
        ExprKind::List(items) if !within_formats.contains(&expr.id) => {
            wrong.extend(of_two_types(items.iter(), types));
        }
        ExprKind::Map(entries) if !within_formats.contains(&expr.id) => {
            wrong.extend(of_two_types(entries.iter().map(|(key, _)| key), types));
            wrong.extend(of_two_types(entries.iter().map(|(_, value)| value), types));
        }
        _ => {}
    });
    wrong
}

/// The numbers of all nodes of a tree.
fn ids(expr: &Expr) -> Vec<usize> {
    let mut ids = Vec::new();
    each(expr, &mut |expr| ids.push(expr.id));
    ids
}

fn of_two_types<'a>(all: impl Iterator<Item = &'a Expr>, types: &[Type]) -> Option<Issue> {
    let mut all = all.filter_map(|expr| Some((expr.at, types.get(expr.id)?)));
    let (_, first) = all.next()?;
    let (at, other) = all.find(|(_, of)| *of != first)?;
    Some(Issue::new(at, format!("expected type '{first}' but found '{other}'")))
}

fn wrong_literal(function: &str, args: &[Expr]) -> Option<Issue> {
    let at = usize::from(function == "matches" && args.len() > 1);
    let Expr { at, kind: ExprKind::Literal(Literal::Text(text)), .. } = args.get(at)? else {
        return None;
    };
    let fits = match function {
        "matches" => Pattern::problem(text).is_none(),
        "duration" => functions::duration(text).is_some(),
        "timestamp" => functions::timestamp(text).is_some(),
        _ => true,
    };
    (!fits).then(|| Issue::new(*at, format!("invalid {function} argument")))
}

/// The first value of a format that is written out, which its clause does not take.
fn wrong_clause(args: &[Expr], types: &[Type]) -> Option<Issue> {
    let [
        Expr { kind: ExprKind::Literal(Literal::Text(text)), .. },
        Expr { kind: ExprKind::List(items), .. },
    ] = args
    else {
        return None;
    };
    functions::clauses(text).into_iter().zip(items).find_map(|(clause, item)| {
        let of = types.get(item.id)?;
        let (clause, takes) = functions::refuses(clause, of)?;
        let why = format!(
            "error during formatting: {clause} clause can only be used on {takes}, was given {of}"
        );
        Some(Issue::new(item.at, why))
    })
}
