//! What functions and operators do, and what one call of them costs at least.

mod amounts;
mod authorization;
mod convert;
mod format;
mod lists;
mod network;
mod text;
mod times;

use std::cmp::Ordering;

use crate::eval_error::EvalError;
use crate::value::{Called, Value, Value as V};

pub(super) use crate::functions::format::{clauses, refuses};
pub use crate::functions::times::duration;
pub(super) use crate::functions::times::is_known_zone;
pub(crate) use crate::functions::times::timestamp;

/// Calls a function, or a method with its target as the first argument.
///
/// # Errors
///
/// No such function takes values of these types, or it fails for these values.
pub(super) fn call(function: &str, is_method: bool, args: &[Value]) -> Called {
    match (function, args) {
        ("_==_", [a, b]) => a.equals(b).map(V::Bool),
        ("_!=_", [a, b]) => a.equals(b).map(|same| V::Bool(!same)),
        ("_<_", [a, b]) => ordered(a, b, Ordering::is_lt),
        ("_<=_", [a, b]) => ordered(a, b, Ordering::is_le),
        ("_>_", [a, b]) => ordered(a, b, Ordering::is_gt),
        ("_>=_", [a, b]) => ordered(a, b, Ordering::is_ge),
        ("!_", [V::Bool(value)]) => Ok(V::Bool(!value)),
        ("_[_]", [of, index]) => indexed(of, index),
        ("_[?_]", [of, index]) => match indexed(of, index) {
            Ok(V::Optional(found)) if matches!(of, V::Optional(_)) => Ok(V::Optional(found)),
            Ok(found) => Ok(V::some(found)),
            Err(EvalError::NoSuchOverload) => Err(EvalError::NoSuchOverload),
            Err(_) => Ok(V::Optional(None)),
        },
        ("@in", [value, V::List(list)]) => list.contains(value).map(V::Bool),
        ("@in", [value, V::Map(map)]) => {
            Ok(V::Bool(value.key().is_some_and(|key| map.contains_key(&key))))
        }
        ("size", [value @ (V::Text(_) | V::Bytes(_) | V::List(_) | V::Map(_) | V::Object(_))]) => {
            Ok(V::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
        }
        ("type", [value]) => Ok(V::Type(value.type_name())),
        ("dyn", [value]) => Ok(value.clone()),
        ("optional.of", [value]) => Ok(V::some(value.clone())),
        ("optional.none", []) => Ok(V::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if value.is_zero() { V::Optional(None) } else { V::some(value.clone()) })
        }
        ("hasValue", [V::Optional(value)]) => Ok(V::Bool(value.is_some())),
        ("value", [V::Optional(value)]) => {
            value.as_deref().cloned().ok_or_else(|| EvalError::said("optional.none() dereference"))
        }
        ("or", [V::Optional(value), other]) => {
            Ok(if value.is_some() { V::Optional(value.clone()) } else { other.clone() })
        }
        ("orValue", [V::Optional(value), other]) => {
            Ok(value.as_deref().cloned().unwrap_or_else(|| other.clone()))
        }
        (
            "bool" | "int" | "uint" | "double" | "string" | "bytes" | "duration" | "timestamp",
            [value],
        ) => convert::convert(function, value),
        _ => amounts::call(function, args)
            .or_else(|| times::call(function, args))
            .or_else(|| text::call(function, args))
            .or_else(|| lists::call(function, args))
            .or_else(|| network::call(function, is_method, args))
            .or_else(|| authorization::call(function, args))
            .unwrap_or(Err(EvalError::NoSuchOverload)),
    }
}

fn ordered(a: &Value, b: &Value, wanted: fn(Ordering) -> bool) -> Called {
    a.compare(b).map(|order| V::Bool(wanted(order))).ok_or(EvalError::NoSuchOverload)
}

fn indexed(of: &Value, index: &Value) -> Called {
    match (of, index) {
        (V::List(list), V::Int(at)) => {
            let found = usize::try_from(*at).ok().and_then(|at| list.items.get(at));
            found.cloned().ok_or_else(|| EvalError::said(format!("index out of bounds: {at}")))
        }
        (V::Map(map), key) => {
            let found = key.key().and_then(|key| map.get(&key));
            found
                .cloned()
                .ok_or_else(|| EvalError::said(format!("no such key: {}", convert::shown(key))))
        }
        (V::Optional(None), _) => Ok(V::Optional(None)),
        (V::Optional(Some(of)), index) => match indexed(of, index) {
            Ok(found) => Ok(V::some(found)),
            Err(EvalError::NoSuchOverload) => Err(EvalError::NoSuchOverload),
            Err(_) => Ok(V::Optional(None)),
        },
        _ => Err(EvalError::NoSuchOverload),
    }
}

/// Part of a cost: one traversal of so much text (`StringTraversalCostFactor`, 0.1).
const fn traversal(size: u64) -> u64 {
    size.div_ceil(10)
}

/// The cost of a check of an authorizer: an expression can afford two.
const CHECK: u64 = 350_000;

/// The cost of a selector of this length (`selectorCostEstimate`).
const fn selector(length: u64) -> u64 {
    const LIST: u64 = 10;
    const STRUCT: u64 = 40;
    let requirements = length.div_ceil(2).saturating_mul(LIST + STRUCT);
    requirements.saturating_add(traversal(length)).saturating_add(LIST)
}

/// The cost of a call (k8s.io/apiserver/pkg/cel/library/cost.go, `CallCost`, and cel-go's
/// `runtimecost.go`).
///
/// Unlike there, comparing and copying lists costs by their size. Otherwise a few dozen doublings
/// would exceed the memory, and a rule would block other requests.
pub(super) fn cost(function: &str, args: &[Value]) -> u64 {
    let size = |at: usize| args.get(at).map_or(0, Value::size);
    let inside = |at: usize| args.get(at).map_or(0, |value| leaves(value, length));
    let walked =
        |at: usize| args.get(at).map_or(0, |value| leaves(value, |leaf| length(leaf).div_ceil(10)));
    let cost = match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => return walked(0),
        "lowerAscii" | "upperAscii" | "substring" | "trim" | "startsWith" | "endsWith"
        | "strings.quote" | "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" => {
            traversal(size(0))
        }
        "format" => traversal(size(0).saturating_add(inside(1).saturating_sub(1))),
        "split" | "ip.isCanonical" => traversal(size(0).saturating_mul(2)),
        "join" => {
            let made = inside(0).saturating_add(size(0).saturating_mul(size(1)));
            traversal(size(0).saturating_mul(2).max(made))
        }
        "replace" => {
            let places = if size(1) == 0 { size(0).saturating_add(1) } else { size(0) / size(1) };
            traversal(size(0).saturating_mul(2).max(places.saturating_mul(size(2))))
        }
        "find" | "findAll" | "matches" => {
            traversal(size(0).saturating_add(1)).saturating_mul(size(1).div_ceil(4))
        }
        "contains" => traversal(size(0)).saturating_mul(traversal(size(1))),
        "@in" => match args.get(1) {
            Some(V::List(_)) => return size(1).max(traversal(inside(1))),
            _ => 1,
        },
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => traversal(inside(0).min(inside(1))),
        "check" => CHECK,
        "fieldSelector" | "labelSelector" => selector(size(1)),
        "_+_" => match args {
            [V::Text(_) | V::Bytes(_), _] => traversal(size(0).saturating_add(size(1))),
            [V::List(_), _] => size(0).saturating_add(size(1)),
            _ => 1,
        },
        "lists.range" => match args.first() {
            Some(V::Int(end)) => u64::try_from(*end).unwrap_or(0),
            _ => 1,
        },
        "sort" | "reverse" | "slice" | "flatten" => walked(0),
        "distinct" => size(0).saturating_mul(traversal(inside(0))),
        "sets.contains" | "sets.intersects" => size(1).saturating_mul(traversal(inside(0))),
        "sets.equivalent" => {
            let there = size(1).saturating_mul(traversal(inside(0)));
            there.saturating_add(size(0).saturating_mul(traversal(inside(1))))
        }
        _ => 1,
    };
    cost.max(1)
}

/// The length of a text, in characters or bytes; 1 for everything else.
fn length(leaf: &Value) -> u64 {
    match leaf {
        V::Text(_) | V::Bytes(_) => leaf.size(),
        _ => 1,
    }
}

/// The sum over all that is inside of a value, at any depth. Lists may hold one value many times:
/// more than can be afforded are not counted to their end.
fn leaves(value: &Value, of: fn(&Value) -> u64) -> u64 {
    const MOST: u64 = 1_000_000;
    fn sum(value: &Value, of: fn(&Value) -> u64, met: &mut u64) -> u64 {
        *met = met.saturating_add(1);
        if *met > MOST {
            return 0;
        }
        let all = |values: &mut dyn Iterator<Item = &Value>, met: &mut u64| {
            values.fold(0, |all: u64, value| all.saturating_add(sum(value, of, met)))
        };
        match value {
            V::List(list) => all(&mut list.items.iter(), met),
            V::Map(map) => all(&mut map.values(), met),
            V::Object(object) => all(&mut object.members.values(), met),
            V::Optional(Some(value)) => sum(value, of, met),
            leaf => of(leaf),
        }
    }
    let mut met = 0;
    let sum = sum(value, of, &mut met);
    if met > MOST { u64::MAX } else { sum }
}
