//! The live object merged with an applied configuration. No field is removed, lists are merged by
//! the keys of their items.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::Object;
use crate::managed_fields::compare::{as_list, as_map};
use crate::managed_fields::element::Element;
use crate::managed_fields::types::{Form, List, Members, Ref, Sort, Types};

static NULL: Value = Value::Null;

impl Types {
    /// Merges two objects that fit the types.
    pub(super) fn merge(&self, live: &Object, config: &Object) -> Object {
        self.merge_members(self.root(), Some(live), Some(config))
    }

    fn merge_at(&self, of: Ref, live: &Value, config: &Value) -> Value {
        match self.atom(of).form(Some(config)) {
            Form::Nothing | Form::Scalar(_) => config.clone(),
            Form::Map(members) => {
                let (old, new) = (as_map(Some(live)), as_map(Some(config)));
                let empty = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
                if members.atomic || (empty(old) && empty(new)) {
                    return config.clone();
                }
                Value::Object(self.merge_members(members, old, new))
            }
            Form::List(list) => {
                let (old, new) = (as_list(Some(live)), as_list(Some(config)));
                if list.sort == Sort::Atomic || (old.is_empty() && new.is_empty()) {
                    return config.clone();
                }
                self.merge_items(list, old, new)
            }
        }
    }

    fn merge_members(
        &self,
        members: &Members,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
    ) -> Object {
        let mut merged = old.cloned().unwrap_or_default();
        for (name, value) in new.into_iter().flatten() {
            let both = members.member(name).0.zip(merged.get(name));
            let value = match both {
                Some((of, live)) => self.merge_at(of, live, value),
                None => value.clone(),
            };
            merged.insert(name.clone(), value);
        }
        merged
    }

    /// Merges items, in the configuration's order. Items of the live list alone keep their place
    /// relative to the items of both.
    fn merge_items(&self, list: &List, old: &[Value], new: &[Value]) -> Value {
        let live = self.named(list, old);
        let config = self.named(list, new);
        // Two items with the same key are not merged with.
        let mut lives: BTreeMap<&Element, &Value> = BTreeMap::new();
        for (element, item) in &live {
            lives.entry(element).and_modify(|item| *item = &NULL).or_insert(item);
        }
        let configs: BTreeSet<&Element> = config.iter().map(|(element, _)| element).collect();
        let one = |element: &Element, item: &Value| match lives.get(element) {
            Some(live) => self.merge_at(list.items, live, item),
            None => item.clone(),
        };
        let mut shared =
            config.iter().map(|(element, _)| element).filter(|element| lives.contains_key(element));
        let mut next_shared = shared.next();
        let mut merged: BTreeSet<&Element> = BTreeSet::new();
        let mut out: Vec<Cow<'_, Value>> = Vec::with_capacity(old.len().max(new.len()));
        let (mut live, mut config) = (live.iter().peekable(), config.iter().peekable());
        loop {
            let (left, right) = (live.peek().copied(), config.peek().copied());
            if let (Some((element, _)), Some((wanted, item))) = (left, right) {
                if element == wanted {
                    merged.insert(wanted);
                    out.push(Cow::Owned(one(wanted, item)));
                    live.next();
                    config.next();
                    next_shared = shared.next();
                    continue;
                }
                // In both, but not the one whose turn it is.
                if configs.contains(element) && next_shared.is_some_and(|next| next != element) {
                    live.next();
                    continue;
                }
            }
            if let Some((element, item)) = left {
                if !configs.contains(element) {
                    out.push(Cow::Borrowed(*item));
                    live.next();
                    continue;
                }
                if merged.contains(element) {
                    live.next();
                }
            }
            match right {
                Some((element, item)) => {
                    merged.insert(element);
                    out.push(Cow::Owned(one(element, item)));
                    config.next();
                    if next_shared == Some(element) {
                        next_shared = shared.next();
                    }
                }
                // The items of both are merged by now.
                None if left.is_none() => break,
                None => {}
            }
        }
        Value::Array(out.into_iter().map(Cow::into_owned).collect())
    }

    fn named<'a>(&self, list: &List, items: &'a [Value]) -> Vec<(Element, &'a Value)> {
        items.iter().filter_map(|item| Some((self.item(list, item).ok()?, item))).collect()
    }
}
