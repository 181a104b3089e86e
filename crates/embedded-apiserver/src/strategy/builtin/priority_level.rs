//! PriorityLevelConfigurations.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::NONE;
use crate::strategy::builtin::flow_schema::validate_conditions;
use crate::strategy::builtin::members::{at, part, said, set_missing, text};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static PRIORITY_LEVEL_CONFIGURATION: Row = Row {
    group: "flowcontrol.apiserver.k8s.io",
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    status: true,
    strategy: &PriorityLevelConfiguration,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Type", Member("/spec/type", "")),
    column("NominalConcurrencyShares", Made(|level| limit(level, "/nominalConcurrencyShares"))),
    column("Queues", Made(|level| limit(level, "/limitResponse/queuing/queues"))),
    column("HandSize", Made(|level| limit(level, "/limitResponse/queuing/handSize"))),
    column(
        "QueueLengthLimit",
        Made(|level| limit(level, "/limitResponse/queuing/queueLengthLimit")),
    ),
    AGE,
];
const MOST_QUEUES: i64 = 10_000_000;
/// The bits of a hash that deals queues to a flow.
const MOST_BITS: f64 = 60.0;

#[derive(Debug)]
struct PriorityLevelConfiguration;

impl Strategy for PriorityLevelConfiguration {
    #[doc(alias(
        "SetDefaults_LimitedPriorityLevelConfiguration",
        "SetDefaults_QueuingConfiguration"
    ))]
    fn default(&self, object: &mut Object) {
        let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
        for (member, shares) in [("exempt", 0), ("limited", 30)] {
            let Some(Value::Object(level)) = spec.get_mut(member) else { continue };
            let defaults =
                [("nominalConcurrencyShares", json!(shares)), ("lendablePercent", json!(0))];
            set_missing(level, &defaults);
            let queuing = level.get_mut("limitResponse").and_then(|it| it.get_mut("queuing"));
            let Some(Value::Object(queuing)) = queuing else { continue };
            for (member, value) in [("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)] {
                let said = queuing.entry(member).or_insert(Value::Null);
                if said.is_null() || *said == 0 {
                    *said = value.into();
                }
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
        let of = text(object, "spec.type");
        if (metadata::text(object, "name") == "exempt") != (of == "Exempt") {
            let why = "must be 'Exempt' if and only if `name` is 'exempt'";
            causes.push(FieldError::invalid("spec.type", of, why));
        }
        let (exempt, limited) = (at(object, "spec.exempt"), at(object, "spec.limited"));
        match of {
            "Exempt" => {
                if limited.is_some() {
                    let why = "must be nil if the type is not Limited";
                    causes.push(FieldError::forbidden("spec.limited", why));
                }
                if let Some(exempt) = exempt {
                    validate_shares(exempt, "spec.exempt", causes);
                }
            }
            "Limited" => {
                if exempt.is_some() {
                    let why = "must be nil if the type is Limited";
                    causes.push(FieldError::forbidden("spec.exempt", why));
                }
                match limited {
                    Some(limited) => validate_limited(limited, causes),
                    None => {
                        let why = "must not be empty when type is Limited";
                        causes.push(FieldError::required("spec.limited", why));
                    }
                }
            }
            "" => causes.push(FieldError::required("spec.type", "")),
            other => {
                causes.push(FieldError::unsupported("spec.type", other, &["Exempt", "Limited"]));
            }
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

fn validate_shares(level: &Value, path: &str, causes: &mut FieldErrors) {
    let wrong = |member: &str, range: std::ops::RangeInclusive<i64>| {
        part(level, member).filter(|it| it.as_i64().is_some_and(|it| !range.contains(&it)))
    };
    for (member, range, why) in [
        ("nominalConcurrencyShares", 0..=i64::MAX, "must be a non-negative integer"),
        ("lendablePercent", 0..=100, "must be between 0 and 100, inclusive"),
    ] {
        if let Some(value) = wrong(member, range) {
            causes.push(FieldError::invalid_json(format!("{path}.{member}"), value, why));
        }
    }
}

fn validate_limited(limited: &Value, causes: &mut FieldErrors) {
    validate_shares(limited, "spec.limited", causes);
    if let Some(percent) = part(limited, "borrowingLimitPercent")
        && percent.as_i64().is_some_and(|percent| percent < 0)
    {
        let path = "spec.limited.borrowingLimitPercent";
        let why = "if specified, must be a non-negative integer";
        causes.push(FieldError::invalid_json(path, percent, why));
    }
    let path = "spec.limited.limitResponse";
    let response = part(limited, "limitResponse").unwrap_or(&Value::Null);
    let queuing = part(response, "queuing");
    match said(response, "type") {
        "Reject" => {
            if queuing.is_some() {
                let why = "must be nil if limited.limitResponse.type is not Limited";
                causes.push(FieldError::forbidden(format!("{path}.queuing"), why));
            }
        }
        "Queue" => match queuing {
            Some(queuing) => validate_queuing(queuing, &format!("{path}.queuing"), causes),
            None => {
                let why = "must not be empty if limited.limitResponse.type is Limited";
                causes.push(FieldError::required(format!("{path}.queuing"), why));
            }
        },
        "" => causes.push(FieldError::required(format!("{path}.type"), "")),
        other => {
            let path = format!("{path}.type");
            causes.push(FieldError::unsupported(path, other, &["Queue", "Reject"]));
        }
    }
}

#[doc(alias = "ValidatePriorityLevelQueuingConfiguration")]
fn validate_queuing(queuing: &Value, path: &str, causes: &mut FieldErrors) {
    let of = |member: &str| queuing.get(member).and_then(Value::as_i64).unwrap_or_default();
    let mut refuse = |member: &str, why: &str| {
        let path = format!("{path}.{member}");
        causes.push(FieldError::invalid_json(path, &of(member).into(), why));
    };
    if of("queueLengthLimit") <= 0 {
        refuse("queueLengthLimit", "must be positive");
    }
    let (queues, hand) = (of("queues"), of("handSize"));
    if queues <= 0 {
        refuse("queues", "must be positive");
    } else if queues > MOST_QUEUES {
        refuse("queues", &format!("must not be greater than {MOST_QUEUES}"));
    }
    if hand <= 0 {
        refuse("handSize", "must be positive");
    } else if hand > queues {
        refuse("handSize", &format!("should not be greater than queues ({queues})"));
    } else if bits(queues, hand) > MOST_BITS {
        let why = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater \
             than {MOST_BITS}"
        );
        refuse("handSize", &why);
    }
}

#[doc(alias = "RequiredEntropyBits")]
fn bits(queues: i64, hand: i64) -> f64 {
    let float = |number: i64| i32::try_from(number).map_or(f64::MAX, f64::from);
    (float(queues).log2() * float(hand)).ceil()
}

fn limit(level: &Value, path: &str) -> Value {
    let value = level["spec"].get("limited").and_then(|limited| limited.pointer(path));
    value.cloned().unwrap_or_else(|| NONE.into())
}
