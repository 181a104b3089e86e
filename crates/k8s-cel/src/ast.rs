//! Expressions as trees. Macros (`all`, `exists`, `map`, `filter`, `has`) are nodes of their own
//! here.

/// An expression; `at`: where it is in the source, in characters.
#[derive(Debug)]
pub(super) struct Expr {
    /// Its number, unique in its tree.
    pub(super) id: usize,
    pub(super) at: usize,
    pub(super) kind: ExprKind,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Literal(Literal),
    Name(String),
    /// `of.member`, or `of.?member`.
    Select {
        of: Box<Expr>,
        member: String,
        optional: bool,
    },
    /// `has(of.member)`.
    Has {
        of: Box<Expr>,
        member: String,
    },
    /// A function, a method with its target as the first argument, or an operator by the name that
    /// cel-go gives it.
    Call {
        function: String,
        is_method: bool,
        args: Vec<Expr>,
    },
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Fold(Box<Fold>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A walk over a list or a map.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Expr,
    pub(super) variable: String,
    /// With two variables the first one is the index or the key.
    pub(super) second: Option<String>,
    /// Which elements count.
    pub(super) condition: Option<Expr>,
    /// The value that the walk makes of each.
    pub(super) step: Option<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

/// `a.b` as a name.
pub(super) fn qualified(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Select { of, member, optional: false } => {
            Some(format!("{}.{member}", qualified(of)?))
        }
        _ => None,
    }
}

/// Calls back with every node.
pub(super) fn each<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Name(_) => {}
        ExprKind::Select { of, .. } | ExprKind::Has { of, .. } => each(of, visit),
        ExprKind::Call { args, .. } => args.iter().for_each(|arg| each(arg, visit)),
        ExprKind::List(items) => items.iter().for_each(|item| each(item, visit)),
        ExprKind::Map(entries) => entries.iter().for_each(|(key, value)| {
            each(key, visit);
            each(value, visit);
        }),
        ExprKind::Fold(fold) => {
            let parts = [Some(&fold.range), fold.condition.as_ref(), fold.step.as_ref()];
            parts.into_iter().flatten().for_each(|part| each(part, visit));
        }
    }
}
