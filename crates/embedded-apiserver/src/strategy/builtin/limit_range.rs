//! LimitRanges.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use k8s_value::quantity::Quantity;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Map, Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, items, members, said};
use crate::strategy::builtin::resource_names::{
    compare, is_overcommitted, quantity, validate, validate_of_container,
};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::{Strategy, Write};

pub(super) static LIMIT_RANGE: Row = Row {
    kind: "LimitRange",
    plural: "limitranges",
    short_names: &["limits"],
    strategy: &LimitRange,
    ..NAMESPACED
};

const TYPES: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];

#[derive(Debug)]
struct LimitRange;

impl Strategy for LimitRange {
    #[doc(alias = "SetDefaults_LimitRangeItem")]
    fn default(&self, object: &mut Object) {
        let limits = object.get_mut("spec").and_then(|spec| spec.get_mut("limits"));
        let limits = limits.and_then(Value::as_array_mut).into_iter().flatten();
        let of_containers = limits.filter(|limit| said(limit, "type") == "Container");
        for limit in of_containers.filter_map(Value::as_object_mut) {
            for (from, to) in
                [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")]
            {
                copy_missing(limit, from, to);
            }
        }
    }

    #[doc(alias = "ValidateLimitRange")]
    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        let mut seen = Vec::new();
        for (path, limit) in items(at(object, "spec.limits"), "spec.limits") {
            let of = said(limit, "type");
            validate_type(of, &format!("{path}.type"), causes);
            if seen.contains(&of) {
                causes.push(FieldError::duplicate(format!("{path}.type"), &of.into()));
            }
            seen.push(of);
            validate_limit(limit, &path, causes);
        }
    }

    fn draws_names(&self) -> bool {
        true
    }

    fn creates_on_update(&self) -> bool {
        true
    }
}

/// Copies the amounts that another list lacks.
fn copy_missing(limit: &mut Map<String, Value>, from: &str, to: &str) {
    let amounts = members(limit.get(from));
    if amounts.is_empty() {
        return;
    }
    if let Value::Object(target) = limit.entry(to).or_insert_with(|| json!({})) {
        for (name, amount) in amounts {
            target.entry(name).or_insert(amount);
        }
    }
}

#[doc(alias = "validateLimitRangeTypeName")]
fn validate_type(of: &str, path: &str, causes: &mut FieldErrors) {
    if names::wrong_qualified_name(of).is_some() {
        for why in names::wrongs_of_qualified_name(of) {
            causes.push(FieldError::invalid(path, of, why));
        }
    } else if !of.contains('/') && !TYPES.contains(&of) {
        let why = "must be a standard limit type or fully qualified";
        causes.push(FieldError::invalid(path, of, why));
    }
}

fn validate_limit(limit: &Value, path: &str, causes: &mut FieldErrors) {
    let of = said(limit, "type");
    let mut resources = BTreeSet::new();
    for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        let amounts = members(limit.get(list));
        if of == "Pod" && list.starts_with("default") {
            if !amounts.is_empty() {
                let why = "may not be specified when `type` is 'Pod'";
                causes.push(FieldError::forbidden(format!("{path}.{list}"), why));
            }
            continue;
        }
        for name in amounts.keys() {
            let field = format!("{path}.{list}[{name}]");
            match of {
                "Pod" | "Container" => validate_of_container(name, &field, causes),
                _ => validate(name, &field, causes),
            }
        }
        resources.extend(amounts.into_iter().map(|(name, _)| name));
    }
    let has_storage =
        |list| limit.get(list).is_some_and(|amounts| amounts.get("storage").is_some());
    if of == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        causes.push(FieldError::required(format!("{path}.limits"), why));
    }
    for name in &resources {
        Amounts { limit, path, name, of_pods: of == "Pod" }.validate(causes);
    }
}

/// The amounts of one resource.
struct Amounts<'a> {
    limit: &'a Value,
    path: &'a str,
    name: &'a str,
    /// Limits of Pods have no defaults.
    of_pods: bool,
}

impl Amounts<'_> {
    fn of(&self, list: &str) -> Option<(&Value, Quantity)> {
        let amount = self.limit.get(list)?.get(self.name)?;
        (!self.of_pods || !list.starts_with("default")).then_some((amount, quantity(amount)?))
    }

    fn validate(&self, causes: &mut FieldErrors) {
        let field = |list: &str| format!("{}.{list}[{}]", self.path, self.name);
        // The field of the error, the value in it, and its message.
        for (small, large, field_of, shown, words) in [
            ("min", "max", "min", "min", ("min value", "max value")),
            (
                "min",
                "defaultRequest",
                "defaultRequest",
                "defaultRequest",
                ("min value", "default request value"),
            ),
            (
                "defaultRequest",
                "max",
                "defaultRequest",
                "defaultRequest",
                ("default request value", "max value"),
            ),
            (
                "defaultRequest",
                "default",
                "defaultRequest",
                "defaultRequest",
                ("default request value", "default limit value"),
            ),
            ("min", "default", "default", "min", ("min value", "default value")),
            ("default", "max", "default", "max", ("default value", "max value")),
        ] {
            let (Some(small), Some(large)) = (self.of(small), self.of(large)) else { continue };
            if compare(small.1, large.1) == Ordering::Greater {
                let (one, other) = words;
                let why =
                    format!("{one} {} is greater than {other} {}", text(small.0), text(large.0));
                let shown = self.of(shown).map_or(&Value::Null, |(amount, _)| amount);
                causes.push(FieldError::invalid_json(field(field_of), shown, &why));
            }
        }
        self.validate_ratio(&field("maxLimitRequestRatio"), causes);
        if let (Some(limit), Some(request)) = (self.of("default"), self.of("defaultRequest"))
            && !is_overcommitted(self.name)
            && compare(limit.1, request.1) != Ordering::Equal
        {
            let why = format!(
                "default value {} must equal to defaultRequest value {} in {}",
                text(limit.0),
                text(request.0),
                self.name
            );
            causes.push(FieldError::invalid_json(field("defaultRequest"), request.0, &why));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "as upstream: the ratio is a float")]
    fn validate_ratio(&self, field: &str, causes: &mut FieldErrors) {
        const ONE: u128 = 1_000_000_000;
        let Some((shown, ratio)) = self.of("maxLimitRequestRatio") else { return };
        if ratio.is_negative() || ratio.nanos() < ONE {
            let why = format!("ratio {} is less than 1", text(shown));
            causes.push(FieldError::invalid_json(field, shown, &why));
        }
        if let (Some((_, least)), Some((_, most))) = (self.of("min"), self.of("max")) {
            let most_ratio = most.nanos() as f64 / least.nanos() as f64;
            if ratio.nanos() as f64 / ONE as f64 > most_ratio {
                let why =
                    format!("ratio {} is greater than max/min = {most_ratio:.6}", text(shown));
                causes.push(FieldError::invalid_json(field, shown, &why));
            }
        }
    }
}

fn text(amount: &Value) -> &str {
    amount.as_str().unwrap_or_default()
}
