//! The functions and macros that Kubernetes has and this crate does not.

use crate::ast::{Expr, ExprKind, Literal, each, qualified};
use crate::declarations;
use crate::functions;

/// The first function or macro of an expression that the real server has and this one has not.
pub(super) fn missing(expr: &Expr) -> Option<String> {
    let mut found = None;
    each(expr, &mut |expr| {
        if found.is_some() {
            return;
        }
        found = match &expr.kind {
            ExprKind::Name(name) => declarations::is_missing(name).then(|| name.clone()),
            ExprKind::Call { function, is_method, args } => {
                let prefix = args.first().filter(|_| *is_method).and_then(qualified);
                let name = prefix
                    .map_or_else(|| function.clone(), |prefix| format!("{prefix}.{function}"));
                let known = [function.as_str(), &name]
                    .into_iter()
                    .find(|name| declarations::is_missing(name));
                known.map(str::to_owned).or_else(|| missing_of(function, args))
            }
            _ => None,
        };
    });
    found
}

/// The missing part of a function that exists for other arguments.
fn missing_of(function: &str, args: &[Expr]) -> Option<String> {
    let text = |at: usize| match args.get(at).map(|arg| &arg.kind) {
        Some(ExprKind::Literal(Literal::Text(text))) => Some(text.as_str()),
        _ => None,
    };
    match (function, args.len()) {
        ("format", 2) => match text(0) {
            Some(text) if !functions::clauses(text).contains(&'e') => None,
            Some(_) => Some("format with %e".to_owned()),
            None => Some("format of a text that is not written out".to_owned()),
        },
        (name, 2) if name.starts_with("get") => match text(1) {
            Some(zone) if functions::is_known_zone(zone) => None,
            _ => Some(format!("{name} in a time zone that is no distance from UTC")),
        },
        _ => None,
    }
}
