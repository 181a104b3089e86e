//! `Rules`: the rules in CEL of a schema, read once, and their evaluation
//! (pkg/apiserver/schema/cel/validation.go of k8s.io/apiextensions-apiserver).

mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::field_path::{Step, find_field};
use crate::keywords::{flag, list, text};
use crate::path::Path;
use crate::schema::{ListType, Schema};
use crate::types::Type;
use k8s_cel::{self as cel, CompileError, Declared, EvalError, Evaluation, Expression};
use k8s_value::go_value::shown;
use k8s_value::{FieldError, FieldErrors};

/// The most that all rules of one object may cost (`RuntimeCELCostBudget` of
/// k8s.io/apiserver/pkg/apis/cel).
const BUDGET: u64 = 10_000_000;
/// The longest text that a `messageExpression` may make.
const MAX_MESSAGE: usize = 5 * 1024;

/// The rules of a schema and of all inside of it.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    own: Vec<Rule>,
    /// Of the members that the schema names.
    members: BTreeMap<String, Self>,
    /// Of the elements of a list, or of the values of a map.
    elements: Option<Box<Self>>,
}

/// A rule.
#[derive(Debug)]
struct Rule {
    /// Its message, or else its source: errors of the evaluation show it.
    name: String,
    expression: Result<Expression, CompileError>,
    /// The error if it is broken, unless `says` evaluates to another.
    message: String,
    says: Option<Expression>,
    reason: String,
    field_path: String,
    optional_old: bool,
}

impl Rules {
    /// Reads the rules of a schema; `None` if it has none.
    pub(crate) fn read(schema: &Value, parsed: &Schema) -> Option<Self> {
        let declared = parsed.declared(true);
        Self::read_at(schema, parsed, declared.as_ref())
    }

    fn read_at(schema: &Value, parsed: &Schema, declared: Option<&Arc<Declared>>) -> Option<Self> {
        // Expressions do not see values without a type, nor values inside of them.
        let declared = declared?;
        let mut rules = Self::default();
        for rule in list(schema, "x-kubernetes-validations") {
            rules.own.extend(Rule::read(rule, schema, declared));
        }
        for (name, member) in &parsed.properties {
            let inner = schema.get("properties").and_then(|all| all.get(name));
            let known = match cel::escaped(name) {
                Some(name) => declared.member(&name).cloned(),
                None => member.declared(member.embedded),
            };
            if let Some(found) =
                inner.and_then(|inner| Self::read_at(inner, member, known.as_ref()))
            {
                rules.members.insert(name.clone(), found);
            }
        }
        let element = match (parsed.items.as_deref(), parsed.additional.schema()) {
            (Some(items), _) => schema.get("items").zip(Some(items)),
            (None, Some(values)) => schema.get("additionalProperties").zip(Some(values)),
            (None, None) => None,
        };
        rules.elements = element
            .and_then(|(inner, parsed)| Self::read_at(inner, parsed, declared.element()))
            .map(Box::new);
        (!rules.own.is_empty() || !rules.members.is_empty() || rules.elements.is_some())
            .then_some(rules)
    }

    /// Evaluates the rules. A rule that a value broke before the update is a warning if the value
    /// has not changed.
    pub(crate) fn check(
        &self,
        schema: &Schema,
        object: &Value,
        old: Option<&Value>,
        causes: &mut FieldErrors,
        warnings: &mut Vec<String>,
    ) {
        let mut run = Run { left: BUDGET, causes, warnings };
        let ratchet = Ratchet { current: old.map(|old| (object, old)), parent: None };
        // If the budget is used up, the causes say so.
        let _ = run.node(
            self,
            schema,
            At { value: object, old, path: &Path::Root, ratchet, is_root: true },
        );
    }
}

impl Rule {
    /// Reads a rule; `None` if it is empty.
    fn read(rule: &Value, schema: &Value, declared: &Arc<Declared>) -> Option<Self> {
        let source = text(rule, "rule");
        if source.trim().is_empty() {
            return None;
        }
        let optional_old = flag(rule, "optionalOldSelf");
        let message = text(rule, "message").trim();
        let name = if message.is_empty() { source.trim() } else { message };
        let says = match text(rule, "messageExpression") {
            "" => None,
            says => Expression::compile(says, declared, optional_old).ok(),
        };
        Some(Self {
            name: name.to_owned(),
            expression: Expression::compile(source, declared, optional_old),
            message: if message.is_empty() {
                format!("failed rule: {name}")
            } else {
                name.to_owned()
            },
            says,
            reason: text(rule, "reason").to_owned(),
            field_path: match text(rule, "fieldPath") {
                "" => String::new(),
                path => find_field(path, schema, true)
                    .map(|(steps, _)| normal(&steps))
                    .unwrap_or_default(),
            },
            optional_old,
        })
    }
}

/// A path as causes have it.
fn normal(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Member(name) if path.is_empty() => path.push_str(name),
            Step::Member(name) => path.extend([".", name]),
            Step::Key(key) => path.extend(["[", key, "]"]),
        }
    }
    path
}

/// Whether a value is as it was.
#[derive(Debug, Clone, Copy)]
struct Ratchet<'a> {
    /// The value and the one before the update, if they correlate.
    current: Option<(&'a Value, &'a Value)>,
    /// The same of the nearest place around that correlates.
    parent: Option<(&'a Value, &'a Value)>,
}

impl<'a> Ratchet<'a> {
    fn holds(self) -> bool {
        self.current.or(self.parent).is_some_and(|(now, before)| now == before)
    }

    fn inner(self, value: &'a Value, old: Option<&'a Value>) -> Self {
        if self.current.is_none() {
            return self;
        }
        Self { current: old.map(|old| (value, old)), parent: self.current }
    }

    fn member(self, name: &str, value: &'a Value, old: Option<&'a Value>) -> Self {
        // Both are shown as one version.
        if self.parent.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self { current: None, parent: None };
        }
        self.inner(value, old)
    }
}

/// A value and where it is.
#[derive(Debug, Clone, Copy)]
struct At<'a> {
    value: &'a Value,
    old: Option<&'a Value>,
    path: &'a Path<'a>,
    ratchet: Ratchet<'a>,
    is_root: bool,
}

/// A value as the rules of its schema see it.
#[derive(Debug, Clone, Copy)]
struct Subject<'a> {
    schema: &'a Schema,
    at: At<'a>,
    itself: &'a cel::Value,
    old: Option<&'a cel::Value>,
}

struct Run<'a> {
    /// The rest of the budget.
    left: u64,
    causes: &'a mut FieldErrors,
    warnings: &'a mut Vec<String>,
}

/// The budget is used up: no more rules are evaluated.
struct Spent;

impl Run<'_> {
    fn node(&mut self, rules: &Rules, schema: &Schema, at: At<'_>) -> Result<(), Spent> {
        if at.value.is_null() {
            return Ok(());
        }
        if !rules.own.is_empty() {
            self.own(rules, schema, at)?;
        }
        match at.value {
            Value::Array(items) => self.items(rules, schema, items, at),
            Value::Object(members) => self.members(rules, schema, members, at),
            _ => Ok(()),
        }
    }

    fn items(
        &mut self,
        rules: &Rules,
        schema: &Schema,
        items: &[Value],
        at: At<'_>,
    ) -> Result<(), Spent> {
        let (Some(of_items), Some(inner)) = (&rules.elements, &schema.items) else { return Ok(()) };
        let before = at.old.and_then(Value::as_array).filter(|_| schema.list_type == ListType::Map);
        let keys = |item: &Value| -> Vec<Option<Value>> {
            schema.list_keys.iter().map(|key| item.get(key).cloned()).collect()
        };
        for (index, item) in items.iter().enumerate() {
            let old = before.and_then(|before| before.iter().find(|old| keys(old) == keys(item)));
            let path = at.path.index(index);
            let ratchet = at.ratchet.inner(item, old);
            self.node(
                of_items,
                inner,
                At { value: item, old, path: &path, ratchet, is_root: inner.embedded },
            )?;
        }
        Ok(())
    }

    fn members(
        &mut self,
        rules: &Rules,
        schema: &Schema,
        members: &Map<String, Value>,
        at: At<'_>,
    ) -> Result<(), Spent> {
        for (name, value) in members {
            let named = rules.members.get(name).zip(schema.properties.get(name));
            let (inner, of, path) = match (named, &rules.elements, schema.additional.schema()) {
                (Some((inner, of)), ..) => (inner, of, at.path.field(name)),
                (None, Some(inner), Some(of)) => (&**inner, of, at.path.key(name)),
                _ => continue,
            };
            let old = at.old.and_then(|old| old.get(name)).filter(|old| !old.is_null());
            let ratchet = at.ratchet.member(name, value, old);
            self.node(inner, of, At { value, old, path: &path, ratchet, is_root: of.embedded })?;
        }
        Ok(())
    }

    fn own(&mut self, rules: &Rules, schema: &Schema, at: At<'_>) -> Result<(), Spent> {
        let itself = values::of(schema, at.value, at.is_root);
        let old =
            at.old.filter(|old| !old.is_null()).map(|old| values::of(schema, old, at.is_root));
        for rule in &rules.own {
            self.rule(rule, Subject { schema, at, itself: &itself, old: old.as_ref() })?;
        }
        Ok(())
    }

    fn refuse(&mut self, at: At<'_>, schema: &Schema, why: &str) {
        let named = shown(&schema.types.name().into());
        let named = if schema.types == Type::IntOrString { "\"\"" } else { &named };
        self.causes.push(FieldError::invalid_shown(at.path.to_string(), named, why));
    }

    fn spend(&mut self, cost: u64, at: At<'_>, schema: &Schema, why: &str) -> Result<(), Spent> {
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.refuse(at, schema, why);
                Err(Spent)
            }
        }
    }

    fn rule(&mut self, rule: &Rule, subject: Subject<'_>) -> Result<(), Spent> {
        let Subject { schema, at, itself, old } = subject;
        let expression = match &rule.expression {
            Ok(expression) => expression,
            Err(why) => {
                self.refuse(at, schema, &format!("rule compile error: compilation failed: {why}"));
                return Ok(());
            }
        };
        if expression.uses_old() && old.is_none() && !rule.optional_old {
            return Ok(());
        }
        let optional = rule.optional_old.then(|| cel::Value::Optional(old.cloned().map(Arc::new)));
        let old = optional.as_ref().or(old);
        let Evaluation { value, cost } = expression.evaluate(itself, old);
        let why = "validation failed due to running out of cost budget, no further validation \
                   rules will be run";
        self.spend(cost, at, schema, why)?;
        let name = &rule.name;
        match value {
            Ok(cel::Value::Bool(true)) => return Ok(()),
            Ok(_) => {}
            Err(failure @ EvalError::NoSuchOverload) => {
                let why = "call arguments did not match a supported operator, function or macro \
                           signature for rule";
                self.refuse(at, schema, &format!("'{failure}': {why}: {name}"));
                return Ok(());
            }
            Err(failure @ EvalError::TooExpensive) => {
                let why = "no further validation rules will be run due to call cost exceeds \
                           limit for rule";
                self.refuse(at, schema, &format!("'{failure}': {why}: {name}"));
                return Err(Spent);
            }
            Err(failure) => {
                self.refuse(at, schema, &format!("{failure} evaluating rule: {name}"));
                return Ok(());
            }
        }
        let message = self.message(rule, Subject { old, ..subject })?;
        let field = match (at.path, rule.field_path.as_str()) {
            (path, "") => path.to_string(),
            (Path::Root, below) => below.to_owned(),
            (path, below) => format!("{path}.{below}"),
        };
        let cause = broken(&rule.reason, field, at.value, &message);
        if !expression.uses_old() && at.ratchet.holds() {
            self.warnings.push(cause.to_string());
        } else {
            self.causes.push(cause);
        }
        Ok(())
    }

    /// The message of a broken rule.
    fn message(&mut self, rule: &Rule, subject: Subject<'_>) -> Result<String, Spent> {
        let Subject { schema, at, itself, old } = subject;
        let Some(says) = &rule.says else { return Ok(rule.message.clone()) };
        let Evaluation { value, cost } = says.evaluate(itself, old);
        let why = "messageExpression evaluation failed due to running out of cost budget, no \
                   further validation rules will be run";
        self.spend(cost, at, schema, why)?;
        let Ok(cel::Value::Text(text)) = value else { return Ok(rule.message.clone()) };
        let text = text.trim();
        let fits = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
        Ok(if fits { text.to_owned() } else { rule.message.clone() })
    }
}

/// The cause of a broken rule; whole objects and lists are not shown.
fn broken(reason: &str, field: String, value: &Value, message: &str) -> FieldError {
    let is_whole = value.is_object() || value.is_array();
    let value = if is_whole { String::new() } else { format!("{}: ", shown(value)) };
    match reason {
        "FieldValueForbidden" => FieldError::forbidden(field, message),
        "FieldValueRequired" => FieldError::required(field, message),
        "FieldValueDuplicate" if is_whole => {
            FieldError::new("FieldValueDuplicate", field, "Duplicate value".to_owned())
        }
        "FieldValueDuplicate" => FieldError::duplicate_shown(field, value.trim_end_matches(": ")),
        _ => {
            FieldError::new("FieldValueInvalid", field, format!("Invalid value: {value}{message}"))
        }
    }
}
