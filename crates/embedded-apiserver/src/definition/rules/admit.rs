//! Whether a definition may say what its rules say: their types, what they cost
//! (`ValidateCustomResourceDefinitionOpenAPISchema` and cel_validation.go in
//! pkg/apis/apiextensions/validation of k8s.io/apiextensions-apiserver).

use std::sync::Arc;

use serde_json::Value;

use crate::definition::structural::{flag, list, text};
use crate::status::{FieldError, FieldErrors};
use k8s_cel::{Declared, Expression, Type, escaped};
use k8s_schema::{Path, Schema};

/// As much one rule may cost.
const RULE_LIMIT: u64 = 10_000_000;
/// As much all rules of a schema may cost together.
const SCHEMA_LIMIT: u64 = 100_000_000;
/// As many rules are named if all together cost too much.
const MOST_EXPENSIVE: usize = 4;

/// What of the rules of a schema this server has not.
pub(in crate::definition) fn missing(schema: &Value) -> Option<String> {
    let sources = list(schema, "x-kubernetes-validations").iter();
    let sources = sources.flat_map(|rule| [text(rule, "rule"), text(rule, "messageExpression")]);
    let mut found = sources.filter(|source| !source.is_empty()).find_map(Expression::unsupported);
    crate::definition::structural::each_child(schema, &mut |child| {
        if found.is_none() {
            found = missing(child);
        }
    });
    found
}

/// Checks the rules of a schema that is right otherwise; `found`: what is wrong with it.
pub(in crate::definition) fn check(
    schema: &Value,
    parsed: &Schema,
    path: &Path<'_>,
    found: &mut FieldErrors,
) {
    let mut admission =
        Admission { before: found, wrong: FieldErrors::default(), total: 0, expensive: Vec::new() };
    let root = Node {
        schema,
        parsed,
        declared: parsed.declared(true),
        count: Some(1),
        uncorrelated: None,
    };
    admission.node(&root, path);
    let Admission { wrong, total, mut expensive, .. } = admission;
    found.append(wrong);
    if total > SCHEMA_LIMIT {
        expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        for (place, _) in expensive.into_iter().take(MOST_EXPENSIVE) {
            let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            found.push(FieldError::forbidden(place, why));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        found.push(FieldError::forbidden(path.to_string(), &too_much(what, total, SCHEMA_LIMIT)));
    }
}

fn too_much(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// A place of a schema.
struct Node<'a> {
    schema: &'a Value,
    parsed: &'a Schema,
    declared: Option<Arc<Declared>>,
    /// As often it may be in one object; nothing: without bound.
    count: Option<u64>,
    /// The list around it whose elements have no past.
    uncorrelated: Option<String>,
}

struct Admission<'a> {
    before: &'a FieldErrors,
    wrong: FieldErrors,
    total: u64,
    /// Rules of which each is a good part of what all may cost.
    expensive: Vec<(String, u64)>,
}

impl Admission<'_> {
    fn node(&mut self, node: &Node<'_>, path: &Path<'_>) {
        let Node { schema, parsed, .. } = node;
        let times = |limit: Option<i64>| {
            let limit = limit.map(|limit| u64::try_from(limit).unwrap_or(0));
            node.count.zip(limit).map(|(count, limit)| count.saturating_mul(limit))
        };
        let declared = |name: Option<String>, of: &Schema| match (&node.declared, name) {
            (Some(declared), Some(name)) => declared.member(&name).cloned(),
            _ => of.declared(of.embedded),
        };
        if let (Some(inner), Some(values)) =
            (schema.get("additionalProperties"), parsed.additional.schema())
        {
            let declared = node.declared.as_ref().and_then(|declared| declared.element().cloned());
            let count = times(parsed.limits.max_properties);
            let inner = Node {
                schema: inner,
                parsed: values,
                declared,
                count,
                uncorrelated: node.uncorrelated.clone(),
            };
            self.node(&inner, &path.field("additionalProperties"));
        }
        let properties = path.field("properties");
        for (name, member) in &parsed.properties {
            let Some(inner) = schema.get("properties").and_then(|all| all.get(name)) else {
                continue;
            };
            let declared = declared(escaped(name), member);
            let uncorrelated = node.uncorrelated.clone();
            let inner =
                Node { schema: inner, parsed: member, declared, count: node.count, uncorrelated };
            self.node(&inner, &properties.key(name));
        }
        if let (Some(inner), Some(items)) = (schema.get("items"), parsed.items.as_deref()) {
            let declared = node.declared.as_ref().and_then(|declared| declared.element().cloned());
            let has_past = text(schema, "x-kubernetes-list-type") == "map";
            let uncorrelated =
                node.uncorrelated.clone().or_else(|| (!has_past).then(|| path.to_string()));
            let count = times(parsed.limits.max_items);
            let inner = Node { schema: inner, parsed: items, declared, count, uncorrelated };
            self.node(&inner, &path.field("items"));
        }
        let rules = list(schema, "x-kubernetes-validations");
        if rules.is_empty() || self.before.any_within(&path.to_string()) {
            return;
        }
        let place = path.field("x-kubernetes-validations");
        for (at, rule) in rules.iter().enumerate() {
            self.rule(rule, node, &place.index(at));
        }
    }

    fn spend(&mut self, place: String, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA_LIMIT / 100 {
            self.expensive.push((place, cost));
        }
    }

    fn rule(&mut self, rule: &Value, node: &Node<'_>, path: &Path<'_>) {
        let field = |name: &str| path.field(name).to_string();
        let Some(declared) = &node.declared else {
            let why =
                "internal error: failed to retrieve type information for x-kubernetes-validations";
            return self.wrong.push(FieldError::invalid(field("rule"), text(rule, "rule"), why));
        };
        let optional_old = flag(rule, "optionalOldSelf");
        let expression = match read(text(rule, "rule"), declared, optional_old, &Type::Bool) {
            Ok(expression) => expression,
            Err(why) => {
                self.wrong.push(FieldError::invalid_json(field("rule"), rule, &why));
                // What was never compiled is taken not to read the value before.
                if let Some(said) = rule.get("optionalOldSelf").filter(|said| !said.is_null()) {
                    let why = "may not be set if oldSelf is not used in rule";
                    self.wrong.push(FieldError::invalid_json(field("optionalOldSelf"), said, why));
                }
                return;
            }
        };
        let count = node.count.unwrap_or_else(|| declared.max_cardinality());
        let cost = expression.max_cost().saturating_mul(count);
        if cost > RULE_LIMIT {
            let why = too_much("estimated rule cost", cost, RULE_LIMIT);
            self.wrong.push(FieldError::forbidden(field("rule"), &why));
        }
        self.spend(field("rule"), cost);
        let says = text(rule, "messageExpression");
        if !says.is_empty() {
            match read(says, declared, optional_old, &Type::String) {
                Err(why) => {
                    let place = field("messageExpression");
                    self.wrong.push(FieldError::invalid_json(place, rule, &why));
                }
                Ok(says) => {
                    if says.max_cost() > RULE_LIMIT {
                        let why = too_much(
                            "estimated messageExpression cost",
                            says.max_cost(),
                            RULE_LIMIT,
                        );
                        self.wrong.push(FieldError::forbidden(field("messageExpression"), &why));
                    }
                    self.spend(field("messageExpression"), says.max_cost());
                }
            }
        }
        let said = rule.get("optionalOldSelf").filter(|said| !said.is_null());
        match (expression.uses_old(), &node.uncorrelated, said) {
            (true, Some(list), _) => {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                );
                self.wrong.push(FieldError::invalid(field("rule"), text(rule, "rule"), &why));
            }
            (false, _, Some(said)) => {
                let why = "may not be set if oldSelf is not used in rule";
                self.wrong.push(FieldError::invalid_json(field("optionalOldSelf"), said, why));
            }
            _ => {}
        }
    }
}

/// Reads a rule or the expression of its message.
fn read(
    source: &str,
    declared: &Arc<Declared>,
    optional_old: bool,
    wanted: &Type,
) -> Result<Expression, String> {
    let (of_message, must) = match wanted {
        Type::Bool => ("", "cel expression must evaluate to a bool"),
        _ => ("messageExpression ", "messageExpression must evaluate to a string"),
    };
    let expression = Expression::compile(source, declared, optional_old)
        .map_err(|why| format!("{of_message}compilation failed: {why}"))?;
    if expression.result() != wanted {
        return Err(must.to_owned());
    }
    match expression.wrong_constant() {
        Some(why) if of_message.is_empty() => Err(format!("program instantiation failed: {why}")),
        Some(why) => Err(format!("messageExpression instantiation failed: {why}")),
        None => Ok(expression),
    }
}
