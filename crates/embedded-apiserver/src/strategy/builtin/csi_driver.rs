//! CSIDrivers.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::{UNSET, joined, list};
use crate::strategy::builtin::members::{at, fill, items, part, said, texts};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{immutable, one_of, one_of_texts};
use crate::strategy::columns::Cell::{Is, Made};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy, Write};

pub(super) static CSI_DRIVER: Row = Row {
    group: "storage.k8s.io",
    kind: "CSIDriver",
    plural: "csidrivers",
    strategy: &CsiDriver,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("AttachRequired", Is("/spec/attachRequired")),
    column("PodInfoOnMount", Is("/spec/podInfoOnMount")),
    column("StorageCapacity", Is("/spec/storageCapacity")),
    column("TokenRequests", Made(audiences)),
    column("RequiresRepublish", Is("/spec/requiresRepublish")),
    column("Modes", Made(modes)),
    AGE,
];
const FS_GROUP_POLICIES: &[&str] = &["File", "None", "ReadWriteOnceWithFSType"];
const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;

#[derive(Debug)]
struct CsiDriver;

impl Strategy for CsiDriver {
    #[doc(alias = "SetDefaults_CSIDriver")]
    fn default(&self, object: &mut Object) {
        let defaults = [
            ("attachRequired", json!(true)),
            ("podInfoOnMount", json!(false)),
            ("storageCapacity", json!(false)),
            ("fsGroupPolicy", json!("ReadWriteOnceWithFSType")),
            ("requiresRepublish", json!(false)),
            ("seLinuxMount", json!(false)),
        ];
        fill(object, "spec", &defaults);
        if let Some(Value::Object(spec)) = object.get_mut("spec") {
            if texts(spec.get("volumeLifecycleModes")).is_empty() {
                spec.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
            }
            // Its feature is off.
            spec.remove("preventPodSchedulingIfMissing");
        }
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        one_of(object, "spec.fsGroupPolicy", FS_GROUP_POLICIES, causes);
        let requests = at(object, "spec.tokenRequests");
        validate_requests(requests, causes);
        for (_, mode) in items(at(object, "spec.volumeLifecycleModes"), "") {
            let path = "spec.volumeLifecycleModes";
            one_of_texts(mode, path, &["Persistent", "Ephemeral"], causes);
        }
        let path = "spec.nodeAllocatableUpdatePeriodSeconds";
        if let Some(period) = at(object, path).filter(|it| it.as_i64().is_some_and(|it| it < 10)) {
            let why = "must be greater than or equal to 10 seconds";
            causes.push(FieldError::invalid_json(path, period, why));
        }
        let path = "spec.serviceAccountTokenInSecrets";
        if let Some(in_secrets) = at(object, path)
            && items(requests, "").next().is_none()
        {
            let why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
            causes.push(FieldError::invalid_json(path, in_secrets, why));
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        for (member, named) in [
            ("spec.attachRequired", "spec.attachedRequired"),
            ("spec.volumeLifecycleModes", "spec.volumeLifecycleModes"),
        ] {
            immutable(at(object, member), at(old, member), named, causes);
        }
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let requests = at(object, "spec.tokenRequests");
        let is_new = old.is_none_or(|old| at(old, "spec.tokenRequests") != requests);
        let has_some = items(requests, "").next().is_some();
        if is_new && has_some && at(object, "spec.serviceAccountTokenInSecrets").is_none() {
            let why = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI \
                       driver, set to true to prevent possible logging of tokens in volume \
                       attributes";
            return vec![why.to_owned()];
        }
        Vec::new()
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "validateTokenRequests")]
fn validate_requests(requests: Option<&Value>, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, request) in items(requests, "spec.tokenRequests") {
        let audience = said(request, "audience");
        if seen.contains(&audience) {
            causes.push(FieldError::duplicate(format!("{path}.audience"), &audience.into()));
            continue;
        }
        seen.push(audience);
        let Some(expiration) = part(request, "expirationSeconds") else { continue };
        let seconds = expiration.as_i64().unwrap_or_default();
        let why = if seconds < LEAST_SECONDS {
            "may not specify a duration less than 10 minutes"
        } else if seconds > MOST_SECONDS {
            "may not specify a duration larger than 2^32 seconds"
        } else {
            continue;
        };
        causes.push(FieldError::invalid_json(format!("{path}.expirationSeconds"), expiration, why));
    }
}

fn audiences(driver: &Value) -> Value {
    let requests = list(driver, "/spec/tokenRequests");
    if requests.is_empty() {
        return UNSET.into();
    }
    requests.iter().map(|request| said(request, "audience")).collect::<Vec<_>>().join(",").into()
}

fn modes(driver: &Value) -> Value {
    let modes = list(driver, "/spec/volumeLifecycleModes").iter();
    joined(modes.filter_map(|mode| mode.as_str().map(str::to_owned)))
}
