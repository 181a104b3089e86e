//! The macros of CEL: calls that the parser replaces with nodes of their own.

use crate::ast::{Expr, ExprKind, Fold, FoldKind};
use crate::compile_error::Issue;

/// The comprehension that a method with this number of arguments stands for.
pub(super) fn comprehension(method: &str, arguments: usize) -> Option<FoldKind> {
    match (method, arguments) {
        ("all", 2 | 3) => Some(FoldKind::All),
        ("exists", 2 | 3) => Some(FoldKind::Exists),
        ("exists_one" | "existsOne", 2 | 3) => Some(FoldKind::ExistsOne),
        ("filter", 2) => Some(FoldKind::Filter),
        ("map", 2 | 3) => Some(FoldKind::Map),
        _ => None,
    }
}

/// Expands `range.all(x, condition)` and its kin. `at`: the place of the call.
///
/// # Errors
///
/// A variable is not a simple name.
pub(super) fn fold(
    kind: FoldKind,
    at: usize,
    range: Expr,
    args: Vec<Expr>,
) -> Result<ExprKind, Issue> {
    let mut args = args.into_iter();
    let why = match kind {
        FoldKind::Filter | FoldKind::Map => "argument is not an identifier",
        _ => "argument must be a simple name",
    };
    let first = variable(&mut args, at, why)?;
    let has_step = kind == FoldKind::Map;
    let second =
        if args.len() == 2 && !has_step { Some(variable(&mut args, at, why)?) } else { None };
    let step = if has_step { args.next_back() } else { None };
    let fold = Fold { kind, range, variable: first, second, condition: args.next(), step };
    Ok(ExprKind::Fold(Box::new(fold)))
}

fn variable(args: &mut impl Iterator<Item = Expr>, at: usize, why: &str) -> Result<String, Issue> {
    match args.next() {
        Some(Expr { kind: ExprKind::Name(name), .. }) => Ok(name),
        other => {
            let at = other.map_or(at, |other| other.at);
            Err(Issue::new(at, why))
        }
    }
}

/// Expands `has(a.b)`.
///
/// # Errors
///
/// The argument is not a member of a value.
pub(super) fn has(arg: Expr) -> Result<ExprKind, Issue> {
    match arg.kind {
        ExprKind::Select { of, member, optional: false } => Ok(ExprKind::Has { of, member }),
        _ => Err(Issue::new(arg.at, "invalid argument to has() macro")),
    }
}
