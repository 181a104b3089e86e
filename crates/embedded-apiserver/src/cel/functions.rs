//! What functions and operators do, and what one call of them costs at least.

mod amounts;
mod convert;
mod format;
mod lists;
mod network;
mod text;
mod times;

use std::cmp::Ordering;
use std::sync::Arc;

use crate::cel::failure::Failure;
use crate::cel::value::{Value, Value as V};

pub(super) use crate::cel::functions::format::{clauses, refuses};
pub(crate) use crate::cel::functions::times::duration;
pub(super) use crate::cel::functions::times::is_known_zone;

type Called = Result<Value, Failure>;

/// Calls a function, or a method with its target as the first argument.
///
/// # Errors
///
/// There is none for such values, or it fails for these.
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
            Err(Failure::NoSuchOverload) => Err(Failure::NoSuchOverload),
            Err(_) => Ok(V::Optional(None)),
        },
        ("@in", [value, V::List(list)]) => list.contains(value).map(V::Bool),
        ("@in", [value, V::Map(map)]) => Ok(V::Bool(value.key().is_some_and(|key| map.contains_key(&key)))),
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
            value.as_deref().cloned().ok_or_else(|| Failure::said("optional.none() dereference"))
        }
        ("or", [V::Optional(value), other]) => {
            Ok(if value.is_some() { V::Optional(value.clone()) } else { other.clone() })
        }
        ("orValue", [V::Optional(value), other]) => {
            Ok(value.as_deref().cloned().unwrap_or_else(|| other.clone()))
        }
        ("bool" | "int" | "uint" | "double" | "string" | "bytes" | "duration" | "timestamp", [value]) => {
            convert::convert(function, value)
        }
        _ => amounts::call(function, args)
            .or_else(|| times::call(function, args))
            .or_else(|| text::call(function, args))
            .or_else(|| lists::call(function, args))
            .or_else(|| network::call(function, is_method, args))
            .unwrap_or(Err(Failure::NoSuchOverload)),
    }
}

fn ordered(a: &Value, b: &Value, wanted: fn(Ordering) -> bool) -> Called {
    a.compare(b).map(|order| V::Bool(wanted(order))).ok_or(Failure::NoSuchOverload)
}

fn indexed(of: &Value, index: &Value) -> Called {
    match (of, index) {
        (V::List(list), V::Int(at)) => {
            let found = usize::try_from(*at).ok().and_then(|at| list.items.get(at));
            found.cloned().ok_or_else(|| Failure::said(format!("index out of bounds: {at}")))
        }
        (V::Map(map), key) => {
            let found = key.key().and_then(|key| map.get(&key));
            found.cloned().ok_or_else(|| Failure::said(format!("no such key: {}", convert::shown(key))))
        }
        (V::Optional(None), _) => Ok(V::Optional(None)),
        (V::Optional(Some(of)), index) => match indexed(of, index) {
            Ok(found) => Ok(V::some(found)),
            Err(Failure::NoSuchOverload) => Err(Failure::NoSuchOverload),
            Err(_) => Ok(V::Optional(None)),
        },
        _ => Err(Failure::NoSuchOverload),
    }
}

/// Part of a cost: one traversal of so much text (`StringTraversalCostFactor`, 0.1).
const fn traversal(size: u64) -> u64 {
    size.div_ceil(10)
}

/// What a call costs (k8s.io/apiserver/pkg/cel/library/cost.go, `CallCost`, and cel-go's `runtimecost.go`).
pub(super) fn cost(function: &str, args: &[Value]) -> u64 {
    let size = |at: usize| args.get(at).map_or(0, Value::size);
    match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => args.first().map_or(0, walked),
        "lowerAscii" | "upperAscii" | "substring" | "trim" | "startsWith" | "endsWith" | "strings.quote"
        | "format" | "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" => {
            traversal(size(0)).max(1)
        }
        "replace" | "split" | "join" | "ip.isCanonical" => traversal(size(0).saturating_mul(2)).max(1),
        "find" | "findAll" | "matches" => {
            traversal(size(0).saturating_add(1)).saturating_mul(size(1).div_ceil(4)).max(1)
        }
        "contains" => traversal(size(0)).saturating_mul(traversal(size(1))).max(1),
        "@in" => match args.get(1) {
            Some(V::List(list)) => u64::try_from(list.items.len()).unwrap_or(u64::MAX),
            _ => 1,
        },
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => traversal(size(0).min(size(1))).max(1),
        "_+_" => match args {
            [V::Text(_) | V::Bytes(_), _] => traversal(size(0).saturating_add(size(1))).max(1),
            _ => 1,
        },
        _ => 1,
    }
}

/// The cost of walking through a value.
fn walked(value: &Value) -> u64 {
    match value {
        V::Text(text) => u64::try_from(text.len()).unwrap_or(u64::MAX) / 10,
        V::Bytes(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX) / 10,
        V::List(list) => list.items.iter().map(walked).fold(0, u64::saturating_add),
        _ => 1,
    }
}

fn text_list(all: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Value {
    crate::cel::value::List::of(all.into_iter().map(Value::text).collect())
}
