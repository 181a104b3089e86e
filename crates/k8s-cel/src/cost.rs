//! Estimates what an expression costs at most (cel-go's `checker/cost.go`, and `EstimateCallCost`
//! of k8s.io/apiserver/pkg/cel/library/cost.go): definitions with rules that cost too much are
//! refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ast::{Expr, ExprKind, Fold, FoldKind, Literal};
use crate::declared::Declared;
use crate::types::Type;

mod size;

use size::{Size, UNKNOWN, factor, replaced};

/// What an expression costs at most.
pub(super) fn estimate(expr: &Expr, types: &[Type], root: &Arc<Declared>) -> u64 {
    let mut coster = Coster { types, root, locals: Vec::new(), found: BTreeMap::new() };
    coster.cost(expr)
}

/// Where in the schema a value comes from.
#[derive(Debug, Clone, Default)]
enum Origin {
    /// It is made by the expression.
    #[default]
    Made,
    /// It comes from a place that the schema does not say anything of.
    Unsaid,
    At(Arc<Declared>),
}

impl Origin {
    /// The place of a part of the value.
    fn part(&self, part: impl Fn(&Declared) -> Option<&Arc<Declared>>) -> Self {
        match self {
            Self::Made => Self::Made,
            Self::Unsaid => Self::Unsaid,
            Self::At(place) => part(place).map_or(Self::Unsaid, |part| Self::At(Arc::clone(part))),
        }
    }

    fn size(&self) -> Option<Size> {
        match self {
            Self::At(place) => Some(Size { min: 0, max: place.max_elements }),
            _ => None,
        }
    }
}

/// The size and the origin of a node's value, as far as they are known.
#[derive(Debug, Clone, Default)]
struct Node {
    from: Origin,
    size: Option<Size>,
    /// The sizes of its elements.
    elements: Option<Size>,
}

struct Coster<'a> {
    types: &'a [Type],
    root: &'a Arc<Declared>,
    locals: Vec<(String, Node)>,
    found: BTreeMap<usize, Node>,
}

impl Coster<'_> {
    fn of(&self, expr: &Expr) -> &Type {
        self.types.get(expr.id).unwrap_or(&Type::Dyn)
    }

    fn node(&self, expr: &Expr) -> Node {
        self.found.get(&expr.id).cloned().unwrap_or_default()
    }

    fn known_size(&self, expr: &Expr) -> Option<Size> {
        let node = self.node(expr);
        let literal = match &expr.kind {
            ExprKind::Literal(Literal::Text(text)) => Some(text.chars().count()),
            ExprKind::Literal(Literal::Bytes(bytes)) => Some(bytes.len()),
            ExprKind::Literal(_) => Some(1),
            ExprKind::List(items) => Some(items.len()),
            ExprKind::Map(entries) => Some(entries.len()),
            _ => None,
        };
        node.size
            .or_else(|| literal.map(|size| Size::exactly(u64::try_from(size).unwrap_or(u64::MAX))))
            .or_else(|| node.from.size())
            .or_else(|| self.of(expr).is_scalar().then_some(Size::exactly(1)))
    }

    fn size(&self, expr: &Expr) -> Size {
        self.known_size(expr).unwrap_or(UNKNOWN)
    }

    fn cost(&mut self, expr: &Expr) -> u64 {
        let (cost, node) = match &expr.kind {
            ExprKind::Literal(_) => (0, Node::default()),
            ExprKind::Name(name) => (1, self.name(name)),
            ExprKind::Select { of, member, optional } => {
                let cost = self.cost(of);
                let from = match self.node(of).from {
                    _ if *optional => Origin::Made,
                    // cel-go takes a member of a value without a place for one of the root.
                    Origin::Made => Origin::Made,
                    from => from.part(|from| from.member(member)),
                };
                let own =
                    u64::from(*optional || matches!(self.of(of), Type::Map(..) | Type::Object(_)));
                (cost.saturating_add(own), Node { from, ..Node::default() })
            }
            // `PresenceTestHasCost(false)`.
            ExprKind::Has { of, .. } => (self.cost(of), Node::default()),
            ExprKind::List(items) => {
                let cost =
                    items.iter().fold(10_u64, |cost, item| cost.saturating_add(self.cost(item)));
                let sizes = items.iter().map(|item| self.size(item)).reduce(Size::or);
                (
                    cost,
                    Node { elements: Some(sizes.unwrap_or(Size::exactly(0))), ..Node::default() },
                )
            }
            ExprKind::Map(entries) => {
                let cost = entries.iter().fold(30_u64, |cost, (key, value)| {
                    cost.saturating_add(self.cost(key)).saturating_add(self.cost(value))
                });
                let sizes = entries.iter().map(|(_, value)| self.size(value)).reduce(Size::or);
                (
                    cost,
                    Node { elements: Some(sizes.unwrap_or(Size::exactly(0))), ..Node::default() },
                )
            }
            ExprKind::Fold(fold) => self.fold(fold),
            ExprKind::Call { function, is_method, args } => self.call(function, *is_method, args),
        };
        self.found.insert(expr.id, node);
        cost
    }

    fn name(&self, name: &str) -> Node {
        match self.locals.iter().rev().find(|(known, _)| known == name) {
            Some((_, node)) => node.clone(),
            None => Node { from: Origin::At(Arc::clone(self.root)), ..Node::default() },
        }
    }

    /// Where the elements of a value come from. Those of what an expression makes are looked up
    /// without a path, which finds the root: so cel-go and Kubernetes' estimator do together.
    fn elements(&self, range: &Expr) -> Origin {
        match self.node(range).from {
            Origin::Made => Origin::At(Arc::clone(self.root)),
            from => from.part(Declared::element),
        }
    }

    fn fold(&mut self, fold: &Fold) -> (u64, Node) {
        let range_cost = self.cost(&fold.range);
        let element = Node { from: self.elements(&fold.range), ..Node::default() };
        let is_list = matches!(self.of(&fold.range), Type::List(_));
        // Keys of maps have no size of their own.
        let key = Node { size: Some(Size::exactly(0)), ..Node::default() };
        let before = self.locals.len();
        match &fold.second {
            Some(second) => {
                self.locals
                    .push((fold.variable.clone(), if is_list { Node::default() } else { key }));
                self.locals.push((second.clone(), element.clone()));
            }
            None => self
                .locals
                .push((fold.variable.clone(), if is_list { element.clone() } else { key })),
        }
        let condition = fold.condition.as_ref().map_or(0, |condition| self.cost(condition));
        let step = fold.step.as_ref().map_or(1, |step| self.cost(step));
        let step_size = fold.step.as_ref().map(|step| self.size(step));
        self.locals.truncate(before);
        // What the macro becomes around the condition and the step: reading, testing and growing
        // the result.
        let (start, each) = match fold.kind {
            FoldKind::All => (0, condition.saturating_add(3)),
            FoldKind::Exists => (0, condition.saturating_add(4)),
            FoldKind::ExistsOne => (1, condition.saturating_add(2)),
            FoldKind::Map | FoldKind::Filter => {
                (10, condition.saturating_add(12).saturating_add(step))
            }
        };
        let count = self.size(&fold.range);
        let cost = range_cost.saturating_add(start).saturating_add(1);
        let cost = cost.saturating_add(count.max.saturating_mul(each));
        let node = match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => {
                Node { size: Some(Size::exactly(1)), ..Node::default() }
            }
            FoldKind::Map | FoldKind::Filter => {
                let of_element = step_size.or_else(|| element.from.size()).unwrap_or(UNKNOWN);
                let elements = Some(Size { min: 0, max: of_element.max });
                Node { from: Origin::Made, size: Some(count), elements }
            }
        };
        (cost, node)
    }

    fn call(&mut self, function: &str, is_method: bool, args: &[Expr]) -> (u64, Node) {
        let costs: Vec<u64> = args.iter().map(|arg| self.cost(arg)).collect();
        let all = costs.iter().fold(0_u64, |sum, cost| sum.saturating_add(*cost));
        let sized = |size: Size| Node { size: Some(size), ..Node::default() };
        let size = |at: usize| args.get(at).map_or(UNKNOWN, |arg| self.size(arg));
        let of = |at: usize| args.get(at).map_or(&Type::Dyn, |arg| self.of(arg));
        match function {
            "_&&_" | "_||_" => return (all, Node::default()),
            "_?_:_" => {
                let [condition, then, otherwise] = costs[..] else { return (all, Node::default()) };
                let node = match args {
                    [_, then, otherwise] => {
                        let elements = self.node(then).elements.zip(self.node(otherwise).elements);
                        Node {
                            size: Some(self.size(then).or(self.size(otherwise))),
                            elements: elements.map(|(a, b)| a.or(b)),
                            from: Origin::Made,
                        }
                    }
                    _ => Node::default(),
                };
                return (condition.saturating_add(then.max(otherwise)), node);
            }
            "dyn" => {
                let node = args.first().map(|arg| Node {
                    size: self.known_size(arg),
                    elements: self.node(arg).elements,
                    from: Origin::Made,
                });
                return (all.saturating_add(1), node.unwrap_or_default());
            }
            _ => {}
        }
        let text_or_bytes = matches!(of(0), Type::String | Type::Bytes);
        let (own, node) = match function {
            "_[_]" => {
                let node = args.first().map(|of| {
                    let size = self.node(of).elements;
                    Node { from: self.elements(of), size, elements: None }
                });
                (1, node.unwrap_or_default())
            }
            "@in" if matches!(of(1), Type::List(_)) => (size(1).max, Node::default()),
            "_+_" if text_or_bytes => {
                let both = size(0).plus(size(1));
                (both.traversal(), sized(both))
            }
            "_+_" if matches!(of(0), Type::List(_)) => {
                let elements = match args {
                    [a, b] => self.node(a).elements.zip(self.node(b).elements),
                    _ => None,
                };
                let elements = elements.map(|(a, b)| a.or(b));
                (1, Node { size: Some(size(0).plus(size(1))), elements, from: Origin::Made })
            }
            "_==_" if matches!(of(0), Type::Opaque(_)) => (1, Node::default()),
            "_==_" | "_!=_" => (factor(size(0).max.min(size(1).max), 0.1), Node::default()),
            "_<_" | "_<=_" | "_>_" | "_>=_" if text_or_bytes => {
                (factor(size(0).max.min(size(1).max), 0.1), Node::default())
            }
            "startsWith" | "endsWith" => (size(1).traversal(), Node::default()),
            "bytes" if matches!(of(0), Type::String) => {
                let size = size(0);
                (size.traversal(), sized(Size { min: size.min, max: size.max.saturating_mul(4) }))
            }
            "string" if matches!(of(0), Type::Bytes) => {
                let size = size(0);
                (size.traversal(), sized(Size { min: size.min / 4, max: size.max }))
            }
            "strings.quote" => {
                let size = size(0);
                let max = size.max.saturating_mul(2).saturating_add(2);
                (size.traversal(), sized(Size { min: size.min.saturating_add(2), max }))
            }
            "format" => (size(0).traversal(), Node::default()),
            "matches" | "find" | "findAll" => {
                let text = size(0).plus(Size::exactly(1)).traversal();
                let cost = text.saturating_mul(factor(size(1).max, 0.25));
                let found = Size { min: 0, max: size(0).max };
                (cost, if function == "matches" { Node::default() } else { sized(found) })
            }
            "contains" => {
                (size(0).traversal().saturating_mul(size(1).traversal()), Node::default())
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                (self.walked(args), Node::default())
            }
            "sets.contains" | "sets.intersects" => {
                (size(0).times(size(1)).max.saturating_add(1), Node::default())
            }
            "sets.equivalent" => {
                let pairs = size(0).times(size(1)).max;
                (pairs.saturating_mul(2).saturating_add(1), Node::default())
            }
            "slice" | "lists.range" | "reverse" | "flatten" | "distinct" | "sort" => {
                allocated(function, args, size(0), of(0))
            }
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                (size(0).traversal(), sized(size(0)))
            }
            "replace" => (factor(size(0).max, 0.2), sized(replaced(size(0), size(1), size(2)))),
            "split" => {
                let most = match args.get(2).map(|arg| &arg.kind) {
                    Some(ExprKind::Literal(Literal::Int(most))) => {
                        u64::try_from(*most).unwrap_or(u64::MAX)
                    }
                    _ => size(0).max,
                };
                (factor(size(0).max, 0.2), sized(Size { min: 0, max: most }))
            }
            "join" => {
                let joined = self.joined(args);
                (joined.traversal(), sized(joined))
            }
            "ip" if is_method => (1, Node::default()),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" => {
                (size(0).traversal(), Node::default())
            }
            "ip.isCanonical" => (factor(size(0).max, 0.2), Node::default()),
            "containsIP" | "containsCIDR" => {
                let fixed = if function == "containsIP" { 4 } else { 7 };
                let parsed = if matches!(of(1), Type::String) { size(1).traversal() } else { 0 };
                (parsed.saturating_add(fixed), Node::default())
            }
            _ => (1, Node::default()),
        };
        (all.saturating_add(own), node)
    }

    /// One walk over a list, or over a text.
    fn walked(&self, args: &[Expr]) -> u64 {
        let Some(target) = args.first() else { return 1 };
        let Type::List(of) = self.of(target) else { return self.size(target).traversal() };
        let each = match **of {
            Type::String | Type::Bytes => self.texts(target).traversal().saturating_add(1),
            _ => 1,
        };
        self.size(target).max.saturating_mul(each)
    }

    /// The size of the texts of a list.
    fn texts(&self, list: &Expr) -> Size {
        self.node(list).from.part(Declared::element).size().unwrap_or(UNKNOWN)
    }

    fn joined(&self, args: &[Expr]) -> Size {
        let Some(target) = args.first() else { return UNKNOWN };
        let list = self.size(target);
        let texts = list.times(self.texts(target));
        let Some(by) = args.get(1) else { return texts };
        let between = Size { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
        texts.plus(self.size(by).times(between))
    }
}

/// What a call costs that makes a list (`estimateAllocatingListCall` of cel-go's `ext/lists.go`).
fn allocated(function: &str, args: &[Expr], size: Size, of: &Type) -> (u64, Node) {
    let number = |at: usize, otherwise: u64| match args.get(at).map(|arg| &arg.kind) {
        Some(ExprKind::Literal(Literal::Int(number))) => u64::try_from(*number).unwrap_or(u64::MAX),
        _ => otherwise,
    };
    let is_text = matches!(of, Type::List(of) if matches!(**of, Type::String | Type::Bytes));
    let (each, size) = match function {
        "slice" => (1.0, Size::exactly(number(2, size.max).wrapping_sub(number(1, 0)))),
        "lists.range" => (1.0, Size::exactly(number(0, u64::MAX))),
        "flatten" if args.len() > 1 => (number(1, u64::MAX) as f64, size),
        "distinct" => (2.0, size.times(size)),
        "sort" => (if is_text { 2.1 } else { 2.0 }, size.times(size)),
        _ => (1.0, size),
    };
    let cost = factor(size.max, each).saturating_add(11);
    (cost, Node { size: Some(size), ..Node::default() })
}
