//! Validation of the probes and hooks of a container.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::strategy::builtin::members::said;
use crate::strategy::builtin::values::{not_negative, port_number, port_or_name};

pub(super) fn validate_probes(
    container: &Value,
    initial: bool,
    path: &str,
    causes: &mut FieldErrors,
) {
    let sidecar = said(container, "restartPolicy") == "Always";
    if let Some(lifecycle) = container.get("lifecycle").and_then(Value::as_object) {
        for (hook, handler) in lifecycle.iter().filter(|(_, handler)| handler.is_object()) {
            validate_handler(handler, &format!("{path}.lifecycle.{hook}"), causes);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get(name) else { continue };
        let field = format!("{path}.{name}");
        if initial && !sidecar {
            causes.push(FieldError::forbidden(
                field,
                "may not be set for init containers without restartPolicy=Always",
            ));
            continue;
        }
        validate_handler(probe, &field, causes);
        let seconds = [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ];
        not_negative(probe, &field, &seconds, causes);
        if name != "readinessProbe"
            && let Some(threshold) =
                probe.get("successThreshold").filter(|threshold| **threshold != 1)
        {
            causes.push(FieldError::invalid_json(
                format!("{field}.successThreshold"),
                threshold,
                "must be 1",
            ));
        }
    }
}

#[doc(alias = "validateHandler")]
fn validate_handler(handler: &Value, path: &str, causes: &mut FieldErrors) {
    let sorts = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let mut said_before = false;
    for sort in sorts {
        let Some(action) = handler.get(sort) else { continue };
        let field = format!("{path}.{sort}");
        if std::mem::replace(&mut said_before, true) {
            causes.push(FieldError::forbidden(field, "may not specify more than 1 handler type"));
            continue;
        }
        match sort {
            "exec" if action.get("command").and_then(Value::as_array).is_none_or(Vec::is_empty) => {
                causes.push(FieldError::required(format!("{field}.command"), ""));
            }
            "httpGet" | "tcpSocket" => {
                if sort == "httpGet" && said(action, "path").is_empty() {
                    causes.push(FieldError::required(format!("{field}.path"), ""));
                }
                port_or_name(
                    action.get("port").unwrap_or(&Value::Null),
                    &format!("{field}.port"),
                    causes,
                );
                let schemes = ["HTTP", "HTTPS"];
                if sort == "httpGet" && !schemes.contains(&said(action, "scheme")) {
                    causes.push(FieldError::unsupported(
                        format!("{field}.scheme"),
                        said(action, "scheme"),
                        &schemes,
                    ));
                }
            }
            "grpc" => port_number(
                action.get("port").unwrap_or(&Value::Null),
                &format!("{field}.port"),
                causes,
            ),
            _ => {}
        }
    }
    if !said_before {
        causes.push(FieldError::required(path, "must specify a handler type"));
    }
}
