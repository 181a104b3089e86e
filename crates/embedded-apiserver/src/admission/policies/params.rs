//! The parameters of a policy: objects that a binding names or selects
//! (`CollectParams` of k8s.io/apiserver/pkg/admission/plugin/policy/generic).

use std::sync::Arc;

use k8s_cel::Value;
use parking_lot::RwLock;
use serde_json::{Map, Value as Json};

use crate::store::Store;
use crate::store::state::Place;
use crate::store::stored::{Key, Stored};
use crate::strategy::builtin::label_selector;
use crate::strategy::registry::Registry;
use crate::strategy::resource::ServedResource;

/// A parameter of a policy; `None`: it is evaluated without one.
type Param = Option<Value>;

/// `paramKind` of a policy.
#[derive(Debug)]
pub(super) struct KindOfParams {
    group: String,
    version: String,
    kind: String,
}

/// A served kind of parameters.
#[derive(Debug)]
pub(super) struct ParamKind(Arc<ServedResource>);

/// `paramRef` of a binding.
#[derive(Debug)]
pub(super) struct ParamRef {
    namespace: String,
    name: String,
    selector: Option<Json>,
    denies_missing: bool,
}

fn text(of: &Json, name: &str) -> String {
    of.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

impl KindOfParams {
    pub(super) fn read(kind: &Json) -> Self {
        let of = text(kind, "apiVersion");
        let (group, version) = of.split_once('/').unwrap_or(("", &of));
        Self { group: group.to_owned(), version: version.to_owned(), kind: text(kind, "kind") }
    }

    /// Finds the served kind.
    ///
    /// # Errors
    ///
    /// It is not served.
    pub(super) fn find(&self, registry: &RwLock<Registry>) -> Result<ParamKind, String> {
        let Self { group, version, kind } = self;
        let registry = registry.read();
        let mut kinds = registry.of_version(group, version);
        let found = kinds.find(|known| known.kind() == kind).cloned().map(ParamKind);
        found.ok_or_else(|| {
            format!(
                "failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"
            )
        })
    }
}

impl ParamRef {
    pub(super) fn read(reference: &Json) -> Self {
        Self {
            namespace: text(reference, "namespace"),
            name: text(reference, "name"),
            selector: reference.get("selector").filter(|selector| !selector.is_null()).cloned(),
            denies_missing: text(reference, "parameterNotFoundAction") == "Deny",
        }
    }
}

/// The parameters for a write in this namespace. A policy is evaluated once for each.
///
/// # Errors
///
/// No parameter is found where one is required, or the reference does not fit the scope.
pub(super) fn collect(
    kind: Option<&ParamKind>,
    reference: Option<&ParamRef>,
    namespace: &str,
    store: &Store,
) -> Result<Vec<Param>, String> {
    let (Some(ParamKind(kind)), Some(reference)) = (kind, reference) else { return Ok(vec![None]) };
    let namespace = match (kind.is_namespaced(), &*reference.namespace) {
        (true, "") if namespace.is_empty() => {
            let why = "cannot use namespaced paramRef in policy binding that matches \
                       cluster-scoped resources";
            return Err(why.to_owned());
        }
        (true, "") => namespace,
        (true, said) => said,
        (false, "") => "",
        (false, _) => {
            let why = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
            return Err(why.to_owned());
        }
    };
    let found = if reference.name.is_empty() {
        select(kind, reference.selector.as_ref(), namespace, store)
    } else {
        store.get(&kind.storage, &Key::new(namespace, &reference.name)).into_iter().collect()
    };
    if found.is_empty() && reference.denies_missing {
        let why = "no params found for policy binding with `Deny` parameterNotFoundAction";
        return Err(why.to_owned());
    }
    Ok(found.iter().map(|param| Some(shown(kind, param))).collect())
}

fn select(
    kind: &ServedResource,
    selector: Option<&Json>,
    namespace: &str,
    store: &Store,
) -> Vec<Arc<Stored>> {
    let namespace = kind.is_namespaced().then_some(namespace);
    let place = Place { table: &kind.storage, namespace, from: None };
    let mut all = store.look(|state| state.snapshot(&place, None)).unwrap_or_default();
    if let Some(selector) = selector {
        let none = Map::new();
        all.retain(|param| {
            let object = param.object();
            let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
            label_selector::matches(selector, labels.and_then(Json::as_object).unwrap_or(&none))
        });
    }
    all
}

/// The variable `params`.
fn shown(kind: &ServedResource, param: &Stored) -> Value {
    let mut object = kind.to_version(param.object(), param.revision);
    object.insert("apiVersion".to_owned(), kind.api_version().into());
    object.insert("kind".to_owned(), kind.kind().into());
    Value::of_members(&object)
}
