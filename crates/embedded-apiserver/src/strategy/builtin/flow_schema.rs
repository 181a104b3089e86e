//! FlowSchemas.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::list;
use crate::strategy::builtin::flow_rules;
use crate::strategy::builtin::members::{at, items, part, said, text};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::columns::Cell::{Made, Member, Number};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static FLOW_SCHEMA: Row = Row {
    group: "flowcontrol.apiserver.k8s.io",
    kind: "FlowSchema",
    plural: "flowschemas",
    status: true,
    strategy: &FlowSchema,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("PriorityLevel", Member("/spec/priorityLevelConfiguration/name", "")),
    column("MatchingPrecedence", Number("/spec/matchingPrecedence")).of_text(),
    column("DistinguisherMethod", Member("/spec/distinguisherMethod/type", "<none>")),
    AGE,
    column("MissingPL", Made(dangling)),
];
const LAST: i64 = 10_000;

#[derive(Debug)]
struct FlowSchema;

impl Strategy for FlowSchema {
    #[doc(alias = "SetDefaults_FlowSchemaSpec")]
    fn default(&self, object: &mut Object) {
        if let Some(Value::Object(spec)) = object.get_mut("spec") {
            let precedence = spec.entry("matchingPrecedence").or_insert(Value::Null);
            if precedence.is_null() || *precedence == 0 {
                *precedence = 1000.into();
            }
        }
    }

    fn prepare_create(&self, object: &mut Object, _: Creation) {
        object.insert("status".to_owned(), json!({}));
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            validate_conditions(object, causes);
            return;
        }
        validate_precedence(object, causes);
        let path = "spec.distinguisherMethod.type";
        if at(object, "spec.distinguisherMethod").is_some() {
            let methods = ["ByNamespace", "ByUser"];
            let method = text(object, path);
            if !methods.contains(&method) {
                let shown = json!({ "Type": method }).to_string();
                causes.push(FieldError::unsupported_shown(path, &shown, &methods));
            }
        }
        let path = "spec.priorityLevelConfiguration.name";
        match text(object, path) {
            "" => causes.push(FieldError::required(path, "must reference a priority level")),
            name => {
                if let Some(why) = names::wrong_subdomain(name) {
                    causes.push(FieldError::invalid(path, name, why));
                }
            }
        }
        for (path, rule) in items(at(object, "spec.rules"), "spec.rules") {
            flow_rules::validate(rule, &path, causes);
        }
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn changes_metadata_by_status(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

fn validate_precedence(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.matchingPrecedence";
    let zero = json!(0);
    let precedence = at(object, path).unwrap_or(&zero);
    let number = precedence.as_i64().unwrap_or_default();
    let mut refuse = |why: &str| causes.push(FieldError::invalid_json(path, precedence, why));
    if number <= 0 {
        refuse("must be a positive value");
    }
    if number > LAST {
        refuse(&format!("must not be greater than {LAST}"));
    }
    if number == 1 && metadata::text(object, "name") != "exempt" {
        refuse("only the schema named 'exempt' may have matchingPrecedence 1");
    }
}

/// The conditions of a FlowSchema or a PriorityLevelConfiguration: each type once.
#[doc(alias("ValidateFlowSchemaStatus", "ValidatePriorityLevelConfigurationStatus"))]
pub(super) fn validate_conditions(object: &Object, causes: &mut FieldErrors) {
    let path = "status.conditions";
    let mut seen = Vec::new();
    for (path, condition) in items(at(object, path), path) {
        let kind = said(condition, "type");
        let path = format!("{path}.type");
        if seen.contains(&kind) {
            causes.push(FieldError::duplicate(path.clone(), &kind.into()));
        }
        seen.push(kind);
        if kind.is_empty() {
            causes.push(FieldError::required(path, ""));
        }
    }
}

fn dangling(schema: &Value) -> Value {
    let mut conditions = list(schema, "/status/conditions").iter();
    let found = conditions.find(|condition| said(condition, "type") == "Dangling");
    found.and_then(|condition| part(condition, "status").cloned()).unwrap_or_else(|| "?".into())
}
