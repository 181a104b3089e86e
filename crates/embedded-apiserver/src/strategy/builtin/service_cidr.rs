//! ServiceCIDRs.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::list;
use crate::strategy::builtin::cidr::{self, Cidr};
use crate::strategy::builtin::members::{at, texts};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::IMMUTABLE;
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static SERVICE_CIDR: Row = Row {
    group: "networking.k8s.io",
    kind: "ServiceCIDR",
    plural: "servicecidrs",
    status: true,
    strategy: &ServiceCidr,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[NAME, column("CIDRs", Made(ranges)), AGE];
const PATH: &str = "spec.cidrs";

#[derive(Debug)]
struct ServiceCidr;

impl Strategy for ServiceCidr {
    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        let grows = |old: &Object| {
            let (new, old) = (texts(at(object, PATH)), texts(at(old, PATH)));
            old.len() == 1 && new.len() == 2
        };
        if write.subresource.is_none() && write.old.is_none_or(grows) {
            validate_ranges(&texts(at(object, PATH)), causes);
        }
    }

    /// A second range may be added, of the other family.
    #[doc(alias = "ValidateServiceCIDRUpdate")]
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let (new, old) = (texts(at(object, PATH)), texts(at(old, PATH)));
        if new.len() == old.len() || (old.len() == 1 && new.len() == 2) {
            for (index, (new, _)) in new.iter().zip(old).enumerate().filter(|(_, (a, b))| *a != b) {
                let field = format!("{PATH}[{index}]");
                causes.push(FieldError::invalid(field, new, IMMUTABLE));
            }
        } else {
            causes.push(FieldError::invalid_json(PATH, &json!(new), IMMUTABLE));
        }
    }

    fn changes_metadata_by_status(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "validateServiceCIDRSpec")]
fn validate_ranges(ranges: &[&str], causes: &mut FieldErrors) {
    match ranges.len() {
        0 => return causes.push(FieldError::required(PATH, "at least one CIDR required")),
        1 | 2 => {}
        _ => {
            let shown = json!({ "CIDRs": ranges });
            let why = "may only hold up to 2 values";
            return causes.push(FieldError::invalid_json(PATH, &shown, why));
        }
    }
    for (at, range) in ranges.iter().enumerate() {
        cidr::validate_canonical(range, &format!("{PATH}[{at}]"), causes);
    }
    let families: Vec<_> = ranges.iter().map(|range| Some(Cidr::parse(range)?.is_ipv4())).collect();
    if let [Some(one), Some(other)] = families.as_slice()
        && one == other
    {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and \
                   2001:db8::/64";
        causes.push(FieldError::invalid_json(PATH, &json!(ranges), why));
    }
}

fn ranges(of: &Value) -> Value {
    let all: Vec<&str> = list(of, "/spec/cidrs").iter().filter_map(Value::as_str).collect();
    all.join(",").into()
}
