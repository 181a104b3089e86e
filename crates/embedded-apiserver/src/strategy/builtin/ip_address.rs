//! IPAddresses: each is named by its address.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::NONE;
use crate::strategy::builtin::cidr::wrong_canonical_address;
use crate::strategy::builtin::go_struct::{self, Field, Shape::Text};
use crate::strategy::builtin::members::{at, said};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{IMMUTABLE, path_name, subdomain};
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static IP_ADDRESS: Row = Row {
    group: "networking.k8s.io",
    kind: "IPAddress",
    plural: "ipaddresses",
    short_names: &["ip"],
    strategy: &IpAddress,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[NAME, column("ParentRef", Made(parent)), AGE.without_definition()];

const PARENT: &[Field] = &[
    ("Group", "group", Text),
    ("Resource", "resource", Text),
    ("Namespace", "namespace", Text),
    ("Name", "name", Text),
];

#[derive(Debug)]
struct IpAddress;

impl Strategy for IpAddress {
    /// The name is checked by [`validate`](Strategy::validate): its error names the right form.
    fn validate_name(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        for (member, is_required) in [("generateName", false), ("name", true)] {
            let name = metadata::text(object, member);
            let wrong = wrong_canonical_address(name).filter(|_| is_required || !name.is_empty());
            if let Some(why) = wrong {
                causes.push(FieldError::invalid(format!("metadata.{member}"), name, &why));
            }
        }
        let path = "spec.parentRef";
        match at(object, path) {
            None => causes.push(FieldError::required(path, "")),
            Some(parent) => validate_parent(parent, path, causes),
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let path = "spec.parentRef";
        let parent = at(object, path);
        if parent != at(old, path) {
            let shown = parent.map_or_else(|| "null".to_owned(), |it| go_struct::shown(it, PARENT));
            causes.push(FieldError::invalid_shown(path, &shown, IMMUTABLE));
        }
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "validateIPAddressParentReference")]
fn validate_parent(parent: &Value, path: &str, causes: &mut FieldErrors) {
    let path = |member: &str| format!("{path}.{member}");
    let group = said(parent, "group");
    if !group.is_empty() {
        subdomain(group, &path("group"), causes);
    }
    for member in ["resource", "name"] {
        match said(parent, member) {
            "" => causes.push(FieldError::required(path(member), "")),
            name => path_name(name, &path(member), causes),
        }
    }
    path_name(said(parent, "namespace"), &path("namespace"), causes);
}

fn parent(address: &Value) -> Value {
    let Some(parent) = address.pointer("/spec/parentRef") else { return NONE.into() };
    let (group, resource) = (said(parent, "group"), said(parent, "resource"));
    let dot = if group.is_empty() { "" } else { "." };
    let mut text = format!("{resource}{dot}{group}").to_lowercase();
    for member in ["namespace", "name"] {
        let value = said(parent, member);
        if !value.is_empty() || member == "name" {
            text.push('/');
            text.push_str(value);
        }
    }
    text.into()
}
