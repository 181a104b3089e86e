//! The order of a merged list.

use serde_json::Value;

use crate::patch::error::PatchError;
use crate::patch::strategic::directives::{DIRECTIVE, SET_ORDER};
use crate::patch::strategic::items::{identity, places};

/// Checks that the items of the patch are in the list of the order, and in its order.
pub(super) fn check_order(
    patch: &[Value],
    order: &[Value],
    key: Option<&str>,
) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let wanted = identity(item, key)?;
        let found = loop {
            match rest.next() {
                Some(next) if identity(next, key)? == wanted => break true,
                Some(_) => {}
                None => break false,
            }
        };
        if !found {
            return Err(PatchError::Unmergeable(format!(
                "the order in the patch's list {} doesn't match the {SET_ORDER} list {}",
                Value::from(patch),
                Value::from(order)
            )));
        }
    }
    Ok(())
}

/// Orders a merged list. Items of the patch have the patch's order, other items have their old one.
/// If both an item of the patch and another one were in the old list, the two keep their order.
pub(super) fn arrange(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    let (order, before) = (places(order, key)?, places(before, key)?);
    let (mut known, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let identity = identity(&item, key)?;
        let place = before.get(&identity).copied();
        match order.get(&identity) {
            Some(rank) => known.push((*rank, place, item)),
            None => others.push((place.unwrap_or(usize::MAX), place, item)),
        }
    }
    known.sort_by_key(|(rank, ..)| *rank);
    others.sort_by_key(|(rank, ..)| *rank);
    let mut arranged = Vec::with_capacity(known.len().saturating_add(others.len()));
    let (mut known, mut others) = (known.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), known.peek()) {
            (None, None) => return Ok(arranged),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((_, Some(other), _)), Some((_, Some(known), _))) => other < known,
            (Some(_), Some(_)) => false,
        };
        let next = if other_first { others.next() } else { known.next() };
        arranged.extend(next.map(|(.., item)| item));
    }
}
