//! Whether an applied configuration fits the types.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::managed_fields::element::Element;
use crate::managed_fields::types::{Form, List, Members, Ref, Scalar, Sort, Types};
use k8s_value::go_value::json_type;

/// The most errors that are listed.
const MOST: usize = 64;

impl Scalar {
    pub(super) const fn fits(self, value: &Value) -> bool {
        match self {
            Self::Number => matches!(value, Value::Number(_) | Value::Null),
            Self::Text => matches!(value, Value::String(_) | Value::Null),
            Self::Truth => matches!(value, Value::Bool(_) | Value::Null),
            Self::Any => !matches!(value, Value::Array(_) | Value::Object(_)),
        }
    }
}

impl Types {
    /// Checks an object.
    ///
    /// # Errors
    ///
    /// Lists what is wrong with it, as one text.
    pub(super) fn validate(&self, object: &Map<String, Value>) -> Result<(), String> {
        let mut wrong = Vec::new();
        self.validate_members(self.root(), object, "", &mut wrong);
        match &*wrong {
            [] => Ok(()),
            [one] => Err(one.clone()),
            many => Err(format!("errors:\n  {}", many.join("\n  "))),
        }
    }

    /// Whether a value, if there is one, is of the form. One field is checked with all within it:
    /// no other comparison reads that.
    pub(super) fn fits_form(&self, form: Form<'_>, value: Option<&Value>) -> bool {
        let Some(value) = value else { return true };
        match (form, value) {
            (Form::Nothing, _) => true,
            (Form::Scalar(scalar), value) => scalar.fits(value),
            (Form::Map(_) | Form::List(_), Value::Null) => true,
            (Form::Map(members), value) => {
                value.is_object()
                    && (!members.atomic || self.fits_members(members, value.as_object()))
            }
            (Form::List(list), value) => {
                let items = value.as_array();
                items.is_some_and(|items| list.sort != Sort::Atomic || self.fits_items(list, items))
            }
        }
    }

    fn fits_members(&self, members: &Members, all: Option<&Map<String, Value>>) -> bool {
        let fits = |(name, value): (&String, &Value)| {
            members.member(name).0.is_some_and(|member| self.fits_value(member, value))
        };
        all.into_iter().flatten().all(fits)
    }

    fn fits_items(&self, list: &List, items: &[Value]) -> bool {
        let named = |item| list.sort == Sort::Atomic || self.item(list, item).is_ok();
        items.iter().all(|item| named(item) && self.fits_value(list.items, item))
    }

    fn fits_value(&self, of: Ref, value: &Value) -> bool {
        match (self.atom(of).form(Some(value)), value) {
            (Form::Nothing, _) => false,
            (Form::Scalar(scalar), value) => scalar.fits(value),
            (Form::Map(_) | Form::List(_), Value::Null) => true,
            (Form::Map(members), value) => {
                value.is_object() && self.fits_members(members, value.as_object())
            }
            (Form::List(list), value) => {
                value.as_array().is_some_and(|items| self.fits_items(list, items))
            }
        }
    }

    fn validate_at(&self, of: Option<Ref>, value: &Value, path: &str, wrong: &mut Vec<String>) {
        if wrong.len() >= MOST {
            return;
        }
        let mut say = |why: String| {
            wrong.push(if path.is_empty() { why } else { format!("{path}: {why}") });
        };
        let Some(of) = of else { return say("field not declared in schema".to_owned()) };
        let expected = match (self.atom(of).form(Some(value)), value) {
            (Form::Nothing, _) => return say("schema error: invalid atom: inlined".to_owned()),
            (Form::Scalar(scalar), value) if scalar.fits(value) => return,
            (Form::Scalar(Scalar::Number), _) => "numeric (int or float)",
            (Form::Scalar(Scalar::Text), _) => "string",
            (Form::Scalar(Scalar::Truth), _) => "boolean",
            (Form::Scalar(Scalar::Any), _) => "any scalar",
            (Form::Map(_) | Form::List(_), Value::Null) => return,
            (Form::Map(members), Value::Object(all)) => {
                return self.validate_members(members, all, path, wrong);
            }
            (Form::List(list), Value::Array(items)) => {
                return self.validate_items(list, items, path, wrong);
            }
            (Form::Map(_), _) => "map",
            (Form::List(_), _) => "list",
        };
        say(format!("expected {expected}, got {}", json_type(value)));
    }

    fn validate_members(
        &self,
        members: &Members,
        all: &Map<String, Value>,
        path: &str,
        wrong: &mut Vec<String>,
    ) {
        for (name, value) in all {
            let of = members.member(name).0;
            self.validate_at(of, value, &format!("{path}.{name}"), wrong);
            // Like the API server, which checks no further member of this object.
            if of.is_none() {
                return;
            }
        }
    }

    fn validate_items(&self, list: &List, items: &[Value], path: &str, wrong: &mut Vec<String>) {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}: ") };
        let mut seen = BTreeSet::new();
        for (at, item) in items.iter().enumerate() {
            let element = match list.sort {
                Sort::Atomic => Element::Index(i64::try_from(at).unwrap_or(i64::MAX)),
                Sort::Set | Sort::Map(_) => match self.item(list, item) {
                    Ok(element) => element,
                    Err(why) => return wrong.push(format!("{prefix}element {at}: {why}")),
                },
            };
            self.validate_at(Some(list.items), item, &format!("{path}{element}"), wrong);
            if list.sort != Sort::Atomic && !seen.insert(element.clone()) && wrong.len() < MOST {
                wrong.push(format!("{prefix}duplicate entries for key {element}"));
            }
        }
    }
}
