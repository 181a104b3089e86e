//! The difference between two versions of an object, as sets of fields.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::Object;
use crate::managed_fields::element::Element;
use crate::managed_fields::element::equal;
use crate::managed_fields::set::{Node, Set};
use crate::managed_fields::types::{Form, List, Members, Ref, Sort, Types};

/// No field is in more than one of the sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(alias = "Comparison")]
pub(super) struct Difference {
    pub(super) removed: Set,
    pub(super) modified: Set,
    pub(super) added: Set,
}

impl Difference {
    /// Leaves out some fields with all below them.
    pub(super) fn without(mut self, fields: &Set) -> Self {
        for set in [&mut self.removed, &mut self.modified, &mut self.added] {
            set.subtract_with_all_below(fields);
        }
        self
    }
}

/// Why an object does not fit its [`Types`]: the first reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch(pub(super) String);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

impl Types {
    /// Compares two objects of this type.
    ///
    /// # Errors
    ///
    /// One of them does not fit the types.
    pub(super) fn compare(&self, old: &Object, new: &Object) -> Result<Difference, Mismatch> {
        let mut found = Gathered::default();
        self.compare_members(self.root(), Some(old), Some(new), &mut found)?;
        Ok(found.into_difference())
    }

    fn compare_at(
        &self,
        of: Ref,
        old: Option<&Value>,
        new: Option<&Value>,
        below: &mut Gathered,
    ) -> Result<Marks, Mismatch> {
        let atom = self.atom(of);
        let (old_form, new_form) = (atom.form(old), atom.form(new));
        // Each has its own form: a value of several types may have changed its type.
        if !self.fits_form(old_form, old) || !self.fits_form(new_form, new) {
            return Err(other_type());
        }
        let mut marks = Marks::default();
        let is_leaf = if new.is_none() {
            self.compare_as(old_form, old, new, &mut marks, below)?
        } else if old.is_none() || old_form.is_same_as(new_form) {
            self.compare_as(new_form, old, new, &mut marks, below)?
        } else {
            self.compare_as(old_form, old, new, &mut marks, below)?;
            self.compare_as(new_form, old, new, &mut marks, below)?
        };
        if !is_leaf {
            marks.added |= old.is_none();
            marks.removed |= new.is_none();
        }
        Ok(marks)
    }

    /// Whether it is compared as one field.
    fn compare_as(
        &self,
        form: Form<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        marks: &mut Marks,
        below: &mut Gathered,
    ) -> Result<bool, Mismatch> {
        match form {
            Form::Nothing => Err(Mismatch("schema error: invalid atom: inlined".to_owned())),
            Form::Scalar(_) => {
                marks.leaf(old, new);
                Ok(true)
            }
            Form::Map(members) => {
                let (old_map, new_map) = (as_map(old), as_map(new));
                let empty = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
                if members.atomic || (empty(old_map) && empty(new_map)) {
                    marks.leaf(old, new);
                    return Ok(true);
                }
                self.compare_members(members, old_map, new_map, below)?;
                Ok(false)
            }
            Form::List(list) => {
                let (old_list, new_list) = (as_list(old), as_list(new));
                if list.sort == Sort::Atomic || (old_list.is_empty() && new_list.is_empty()) {
                    marks.leaf(old, new);
                    return Ok(true);
                }
                self.compare_items(list, old_list, new_list, below)?;
                Ok(false)
            }
        }
    }

    fn compare_members(
        &self,
        members: &Members,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        below: &mut Gathered,
    ) -> Result<(), Mismatch> {
        let mut one = |name: &String, old: Option<&Value>, new: Option<&Value>| {
            // An update leaves most members as they are.
            if old.is_some() && old == new {
                return Ok(());
            }
            let undeclared = || Mismatch(format!(".{name}: field not declared in schema"));
            let of = members.member(name).0.ok_or_else(undeclared)?;
            let mut deeper = Gathered::default();
            let marks = self.compare_at(of, old, new, &mut deeper)?;
            below.attach(|| Element::Field(name.clone()), marks, deeper);
            Ok(())
        };
        // Both are sorted by name.
        let mut left = old.into_iter().flatten().peekable();
        let mut right = new.into_iter().flatten().peekable();
        loop {
            match (left.peek(), right.peek()) {
                (None, None) => return Ok(()),
                (Some((a, x)), Some((b, y))) if a == b => {
                    one(a, Some(x), Some(y))?;
                    left.next();
                    right.next();
                }
                (Some((a, x)), next) if next.is_none_or(|(b, _)| a < b) => {
                    one(a, Some(x), None)?;
                    left.next();
                }
                (_, Some((b, y))) => {
                    one(b, None, Some(y))?;
                    right.next();
                }
                (Some(_), None) => return Ok(()),
            }
        }
    }

    fn compare_items(
        &self,
        list: &List,
        old: &[Value],
        new: &[Value],
        below: &mut Gathered,
    ) -> Result<(), Mismatch> {
        // Items with the same key are compared as one field.
        let mut items: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (at, item) in old.iter().enumerate() {
            items.entry(self.name_of(list, at, item)?).or_default().0.push(item);
        }
        for (at, item) in new.iter().enumerate() {
            items.entry(self.name_of(list, at, item)?).or_default().1.push(item);
        }
        for (element, (old, new)) in items {
            let (mut deeper, mut marks) = (Gathered::default(), Marks::default());
            let compare =
                |old, new, deeper: &mut Gathered| self.compare_at(list.items, old, new, deeper);
            match (&*old, &*new) {
                ([], []) => {}
                ([_] | [], [_] | []) => {
                    marks = compare(old.first().copied(), new.first().copied(), &mut deeper)?;
                }
                ([_, _, ..], [_, _, ..]) => {
                    let same =
                        old.len() == new.len() && old.iter().zip(&new).all(|(a, b)| equal(a, b));
                    marks.modified = !same;
                }
                ([_, _, ..], _) => {
                    if let Some(only) = new.first() {
                        marks = compare(None, Some(only), &mut deeper)?;
                    }
                    marks.removed = true;
                }
                (_, _) => {
                    if let Some(only) = old.first() {
                        marks = compare(Some(only), None, &mut deeper)?;
                    }
                    marks.added = true;
                }
            }
            below.attach(|| element, marks, deeper);
        }
        Ok(())
    }

    fn name_of(&self, list: &List, at: usize, item: &Value) -> Result<Element, Mismatch> {
        self.item(list, item).map_err(|why| Mismatch(format!("element {at}: {why}")))
    }
}

/// The changes of one field.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    removed: bool,
    modified: bool,
    added: bool,
}

impl Marks {
    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.added = true,
            (_, None) => self.removed = true,
            (Some(old), Some(new)) => self.modified |= !equal(old, new),
        }
    }
}

#[derive(Debug, Default)]
struct Gathered {
    removed: Vec<Node>,
    modified: Vec<Node>,
    added: Vec<Node>,
}

impl Gathered {
    fn attach(&mut self, element: impl FnOnce() -> Element, marks: Marks, below: Self) {
        let sides = [
            (&mut self.removed, marks.removed, below.removed),
            (&mut self.modified, marks.modified, below.modified),
            (&mut self.added, marks.added, below.added),
        ];
        let concerned = sides.into_iter().filter(|(_, member, below)| *member || !below.is_empty());
        let mut concerned = concerned.peekable();
        if concerned.peek().is_none() {
            return;
        }
        // Most of the time it is one side, which gets the element itself.
        let mut element = Some(element());
        while let Some((nodes, member, below)) = concerned.next() {
            let element = if concerned.peek().is_some() { element.clone() } else { element.take() };
            nodes.extend(element.map(|element| Node {
                element,
                member,
                children: Set::of_nodes(below),
            }));
        }
    }

    fn into_difference(self) -> Difference {
        Difference {
            removed: Set::of_nodes(self.removed),
            modified: Set::of_nodes(self.modified),
            added: Set::of_nodes(self.added),
        }
    }
}

fn other_type() -> Mismatch {
    Mismatch("a value is of another type than its schema says".to_owned())
}

pub(super) fn as_map(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

pub(super) fn as_list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
