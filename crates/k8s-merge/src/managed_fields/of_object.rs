//! The fields that an object mentions: what an apply says it wants to own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::Object;
use crate::managed_fields::element::Element;
use crate::managed_fields::set::{Node, Set};
use crate::managed_fields::types::{Form, List, Members, Ref, Sort, Types};

impl Types {
    /// Every field and item in an object of this type. Values that do not fit the types are left
    /// out: a configuration has been validated, a live object may be older than its schema.
    #[doc(alias = "ToFieldSet")]
    pub(super) fn fields_of(&self, object: &Object) -> Set {
        self.fields_of_members(self.root(), object)
    }

    /// Whether the value is a field by itself, and the fields below it.
    fn fields_at(&self, of: Ref, value: &Value) -> (bool, Set) {
        match self.atom(of).form(Some(value)) {
            Form::Nothing => (false, Set::empty()),
            Form::Scalar(_) => (true, Set::empty()),
            Form::Map(members) if members.atomic => (true, Set::empty()),
            Form::List(list) if list.sort == Sort::Atomic => (true, Set::empty()),
            Form::Map(members) => (
                false,
                value
                    .as_object()
                    .map(|all| self.fields_of_members(members, all))
                    .unwrap_or_default(),
            ),
            Form::List(list) => (false, self.fields_of_items(list, value)),
        }
    }

    fn fields_of_members(&self, members: &Members, all: &Object) -> Set {
        let mut nodes = Vec::with_capacity(all.len());
        for (name, value) in all {
            let (of, named) = members.member(name);
            let (member, children) = of.map(|of| self.fields_at(of, value)).unwrap_or_default();
            let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
            nodes.push(Node {
                element: Element::field(name),
                member: member || empty || !named,
                children,
            });
        }
        Set::of_nodes(nodes)
    }

    fn fields_of_items(&self, list: &List, value: &Value) -> Set {
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        let named: Vec<_> =
            items.iter().filter_map(|item| Some((self.item(list, item).ok()?, item))).collect();
        let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
        for (element, _) in &named {
            if !seen.insert(element) {
                twice.insert(element);
            }
        }
        let mut nodes: BTreeMap<&Element, Set> = BTreeMap::new();
        for (element, item) in &named {
            // Items with the same key are one field.
            let children = if twice.contains(element) {
                Set::empty()
            } else {
                self.fields_at(list.items, item).1
            };
            nodes.insert(element, children);
        }
        let nodes = nodes.into_iter().map(|(element, children)| Node {
            element: element.clone(),
            member: true,
            children,
        });
        Set::of_nodes(nodes.collect())
    }

    /// The set with the named fields that have members below them: they are removed as soon as they
    /// are empty.
    #[doc(alias = "EnsureNamedFieldsAreMembers")]
    pub(super) fn with_named_fields(&self, set: &Set) -> Set {
        self.named_fields_at(Some(self.root()), None, set)
    }

    fn named_fields_of(&self, of: Option<Ref>, set: &Set) -> Set {
        let atom = of.map(|of| self.atom(of));
        let map = atom.and_then(|atom| atom.map.as_ref());
        self.named_fields_at(map, atom.and_then(|atom| atom.list.as_ref()), set)
    }

    fn named_fields_at(&self, map: Option<&Members>, list: Option<&List>, set: &Set) -> Set {
        let nodes = set.nodes().iter().map(|node| {
            let (below, named) = match (&node.element, map, list) {
                (Element::Field(name), Some(map), _) => (map.member(name).0, map.names(name)),
                (Element::Key(_), _, Some(list)) => (Some(list.items), false),
                _ => (None, false),
            };
            let member = node.member || (named && !node.children.is_empty());
            let children = self.named_fields_of(below, &node.children);
            Node { element: node.element.clone(), member, children }
        });
        Set::of_nodes(nodes.collect())
    }
}
