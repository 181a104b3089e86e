//! The variable `authorizer` and its functions (k8s.io/apiserver/pkg/cel/library/authz.go).

use std::sync::Arc;

use k8s_value::names;

use crate::authorizer::{Asked, AskedResource, Authorization, Authorizer, Check, Subject};
use crate::eval_error::EvalError;
use crate::value::{Called, Value, Value as V};

impl Value {
    /// The variable `authorizer`, of [`Type::AUTHORIZER`](crate::Type::AUTHORIZER).
    pub fn authorizer(by: &Arc<dyn Authorizer>) -> Self {
        let subject = Subject { by: Arc::clone(by), account: None };
        check(Authorization::Authorizer(subject))
    }

    /// The variable `authorizer.requestResource`, of
    /// [`Type::RESOURCE_CHECK`](crate::Type::RESOURCE_CHECK).
    pub fn request_resource(by: &Arc<dyn Authorizer>, of: AskedResource) -> Self {
        let subject = Subject { by: Arc::clone(by), account: None };
        check(Authorization::Resource(subject, of))
    }
}

pub(super) fn call(function: &str, args: &[Value]) -> Option<Called> {
    let (V::Authorization(Check(of)), rest) = args.split_first()? else { return None };
    Some(match (&**of, function, rest) {
        (Authorization::Authorizer(subject), "path", [V::Text(path)]) => {
            some(path, "path").map(|()| check(Authorization::Path(subject.clone(), path.clone())))
        }
        (Authorization::Authorizer(subject), "group", [V::Text(group)]) => {
            Ok(check(Authorization::Group(subject.clone(), group.clone())))
        }
        (
            Authorization::Authorizer(subject),
            "serviceAccount",
            [V::Text(namespace), V::Text(name)],
        ) => account(subject, namespace, name),
        (Authorization::Group(subject, group), "resource", [V::Text(resource)]) => {
            some(resource, "resource").map(|()| {
                let (group, resource) = (group.to_string(), resource.to_string());
                let of = AskedResource { group, resource, ..AskedResource::default() };
                check(Authorization::Resource(subject.clone(), of))
            })
        }
        (Authorization::Resource(subject, of), _, [V::Text(said)]) if function != "check" => {
            let (mut of, said) = (of.clone(), said.to_string());
            match function {
                "subresource" => of.subresource = said,
                "namespace" => of.namespace = said,
                "name" => of.name = said,
                // Roles know no selectors: a right to all objects is a right to a part.
                "fieldSelector" | "labelSelector" => {}
                _ => return None,
            }
            Ok(check(Authorization::Resource(subject.clone(), of)))
        }
        (Authorization::Path(subject, path), "check", [V::Text(verb)]) => {
            Ok(decided(subject, &Asked::Path { path, verb }))
        }
        (Authorization::Resource(subject, of), "check", [V::Text(verb)]) => {
            Ok(decided(subject, &Asked::Resource { of, verb }))
        }
        (Authorization::Decision(decision), _, []) => Ok(match function {
            "allowed" => V::Bool(decision.allowed),
            "reason" => V::text(decision.reason.as_str()),
            "errored" => V::Bool(!decision.error.is_empty()),
            "error" => V::text(decision.error.as_str()),
            _ => return None,
        }),
        _ => return None,
    })
}

fn check(of: Authorization) -> Value {
    V::Authorization(Check(Arc::new(of)))
}

fn decided(subject: &Subject, asked: &Asked<'_>) -> Value {
    check(Authorization::Decision(subject.decide(asked)))
}

fn some(text: &str, what: &str) -> Result<(), EvalError> {
    if text.trim().is_empty() {
        return Err(EvalError::said(format!("{what} must not be empty")));
    }
    Ok(())
}

fn account(subject: &Subject, namespace: &Arc<str>, name: &Arc<str>) -> Called {
    if names::wrong_subdomain(name).is_some() {
        return Err(EvalError::said("Invalid service account name"));
    }
    if names::wrong_label(namespace).is_some() {
        return Err(EvalError::said("Invalid service account namespace"));
    }
    let account = Some((Arc::clone(namespace), Arc::clone(name)));
    Ok(check(Authorization::Authorizer(Subject { account, ..subject.clone() })))
}
