//! The types and the estimated cost of the rules of a schema
//! (`ValidateCustomResourceDefinitionOpenAPISchema` and cel_validation.go in
//! pkg/apis/apiextensions/validation of k8s.io/apiextensions-apiserver).

use std::sync::Arc;

use serde_json::Value;

use crate::keywords::{flag, list, subschemas, text};
use crate::path::Path;
use crate::schema::Schema;
use k8s_cel::{Declared, Expression, Type, escaped};
use k8s_value::{FieldError, FieldErrors};

/// The most that one rule may cost.
const RULE_LIMIT: u64 = 10_000_000;
/// The most that all rules of a schema may cost together.
const SCHEMA_LIMIT: u64 = 100_000_000;
/// The most rules that are named if all together cost too much.
const MOST_EXPENSIVE: usize = 4;

/// Returns the first function or macro of Kubernetes in the rules of an `openAPIV3Schema` that
/// [k8s-cel](https://docs.rs/k8s-cel) does not have.
pub fn unsupported_in_rules(schema: &Value) -> Option<String> {
    let rules = list(schema, "x-kubernetes-validations").iter();
    let mut sources = rules
        .flat_map(|rule| [text(rule, "rule"), text(rule, "messageExpression")])
        .filter(|source| !source.is_empty());
    sources
        .find_map(Expression::unsupported)
        .or_else(|| subschemas(schema).find_map(unsupported_in_rules))
}

/// Checks the rules of a structural schema. Rules at places with errors in `found` are left out.
pub(super) fn check(schema: &Value, parsed: &Schema, path: &Path<'_>, found: &mut FieldErrors) {
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
            let why = "contributed to estimated rule cost total exceeding cost limit for entire \
                       OpenAPIv3 schema";
            found.push(FieldError::forbidden(place, why));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        found.push(FieldError::forbidden(path.to_string(), &too_much(what, total, SCHEMA_LIMIT)));
    }
}

/// Whether there are errors at this place or below it.
pub(super) fn has_errors(errors: &FieldErrors, path: &Path<'_>) -> bool {
    match path {
        Path::Root => !errors.is_empty(),
        path => errors.any_within(&path.to_string()),
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
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding \
         maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// A place of a schema.
struct Node<'a> {
    schema: &'a Value,
    parsed: &'a Schema,
    declared: Option<Arc<Declared>>,
    /// The most values of it in one object; `None` without a bound.
    count: Option<u64>,
    /// The list around it whose items do not correlate with those before an update.
    uncorrelated: Option<String>,
}

struct Admission<'a> {
    before: &'a FieldErrors,
    wrong: FieldErrors,
    total: u64,
    /// Rules that cost at least 1 % of the limit of all.
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
        if rules.is_empty() || has_errors(self.before, path) {
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
                // As upstream: a rule that does not compile does not use oldSelf.
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
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within \
                     {list}"
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
