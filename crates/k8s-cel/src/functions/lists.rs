//! Functions of lists, and of lists as sets.

use std::cmp::Ordering;

use crate::eval_error::EvalError;
use crate::functions::{amounts, times};
use crate::value::{Called, List, Value, Value as V};

pub(super) fn call(function: &str, args: &[Value]) -> Option<Called> {
    let number = |at: Option<usize>| V::Int(at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1));
    Some(match (function, args) {
        ("_+_", [V::List(a), V::List(b)]) => a.plus(b).map(V::List),
        ("join", [V::List(list)]) => join(list, ""),
        ("join", [V::List(list), V::Text(by)]) => join(list, by),
        ("isSorted", [V::List(list)]) => {
            let sorted = list.items.windows(2).all(|pair| match pair {
                [a, b] => a.compare(b).is_some_and(Ordering::is_le),
                _ => true,
            });
            Ok(V::Bool(sorted))
        }
        ("sum", [V::List(list)]) => sum(list),
        ("max", [V::List(list)]) => extreme(list, "max", Ordering::is_gt),
        ("min", [V::List(list)]) => extreme(list, "min", Ordering::is_lt),
        ("indexOf", [V::List(list), wanted]) => {
            places(list, wanted).map(|found| number(found.first().copied()))
        }
        ("lastIndexOf", [V::List(list), wanted]) => {
            places(list, wanted).map(|found| number(found.last().copied()))
        }
        ("slice", [V::List(list), V::Int(from), V::Int(to)]) => slice(list, *from, *to),
        ("flatten", [V::List(list)]) => Ok(List::of(flatten(list, 1))),
        ("flatten", [V::List(list), V::Int(depth)]) => match usize::try_from(*depth) {
            Ok(depth) => Ok(List::of(flatten(list, depth))),
            Err(_) => Err(EvalError::said("level must be non-negative")),
        },
        ("sort", [V::List(list)]) => {
            let mut items = Vec::clone(&list.items);
            items.sort_by(|a, b| a.compare(b).unwrap_or(Ordering::Equal));
            Ok(List::of(items))
        }
        ("distinct", [V::List(list)]) => distinct(list),
        ("reverse", [V::List(list)]) => Ok(List::of(list.items.iter().rev().cloned().collect())),
        ("first", [V::List(list)]) => {
            Ok(list.items.first().map_or(V::Optional(None), |item| V::some(item.clone())))
        }
        ("last", [V::List(list)]) => {
            Ok(list.items.last().map_or(V::Optional(None), |item| V::some(item.clone())))
        }
        ("lists.range", [V::Int(end)]) => {
            if *end > 1_000_000 {
                return Some(Err(EvalError::TooExpensive));
            }
            Ok(List::of((0..*end).map(V::Int).collect()))
        }
        ("sets.contains", [V::List(list), V::List(of)]) => contains_all(list, of).map(V::Bool),
        ("sets.equivalent", [V::List(a), V::List(b)]) => contains_all(a, b)
            .and_then(|all| if all { contains_all(b, a) } else { Ok(false) })
            .map(V::Bool),
        ("sets.intersects", [V::List(a), V::List(b)]) => {
            let found = b
                .items
                .iter()
                .map(|item| a.contains(item))
                .find(|found| !matches!(found, Ok(false)));
            found.unwrap_or(Ok(false)).map(V::Bool)
        }
        _ => return None,
    })
}

fn join(list: &List, by: &str) -> Called {
    let texts = list.items.iter().map(|item| match item {
        V::Text(text) => Ok(&**text),
        _ => Err(EvalError::NoSuchOverload),
    });
    Ok(V::text(texts.collect::<Result<Vec<_>, _>>()?.join(by)))
}

fn sum(list: &List) -> Called {
    let mut all = list.items.iter();
    let Some(first) = all.next() else { return Ok(V::Int(0)) };
    all.try_fold(first.clone(), |sum, item| {
        let pair = [sum, item.clone()];
        amounts::call("_+_", &pair)
            .or_else(|| times::call("_+_", &pair))
            .unwrap_or(Err(EvalError::NoSuchOverload))
    })
}

fn extreme(list: &List, name: &str, better: fn(Ordering) -> bool) -> Called {
    let mut all = list.items.iter();
    let first =
        all.next().ok_or_else(|| EvalError::said(format!("{name} called on empty list")))?;
    let best = all
        .fold(first, |best, item| if item.compare(best).is_some_and(better) { item } else { best });
    Ok(best.clone())
}

/// Where a value is in a list.
fn places(list: &List, wanted: &Value) -> Result<Vec<usize>, EvalError> {
    let mut found = Vec::new();
    for (at, item) in list.items.iter().enumerate() {
        if item.equals(wanted)? {
            found.push(at);
        }
    }
    Ok(found)
}

fn slice(list: &List, from: i64, to: i64) -> Called {
    let length = list.items.len();
    let why = match (usize::try_from(from), usize::try_from(to)) {
        (Ok(start), Ok(end)) if start <= end && end <= length => {
            return Ok(List::of(list.items.get(start..end).unwrap_or_default().to_vec()));
        }
        (Ok(start), Ok(end)) if start > end => {
            "start index must be less than or equal to end index".to_owned()
        }
        (Ok(_), Ok(_)) => format!("list is length {length}"),
        _ => "negative indexes not supported".to_owned(),
    };
    Err(EvalError::said(format!("cannot slice({from}, {to}), {why}")))
}

fn flatten(list: &List, depth: usize) -> Vec<Value> {
    let mut flat = Vec::new();
    for item in list.items.iter() {
        match item {
            V::List(inner) if depth > 0 => flat.extend(flatten(inner, depth - 1)),
            item => flat.push(item.clone()),
        }
    }
    flat
}

fn distinct(list: &List) -> Called {
    let mut kept = List { items: Vec::new().into(), order: list.order.clone() };
    for item in list.items.iter() {
        if !kept.contains(item)? {
            std::sync::Arc::make_mut(&mut kept.items).push(item.clone());
        }
    }
    Ok(List::of(Vec::clone(&kept.items)))
}

fn contains_all(list: &List, of: &List) -> Result<bool, EvalError> {
    for item in of.items.iter() {
        if !list.contains(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}
