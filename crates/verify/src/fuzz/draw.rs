//! Sequences of calls, drawn from a seed and nothing else.

use fastrand::Rng;
use http::Method;
use serde_json::{Value, json};

use crate::conformance::{APPLY, JSON_PATCH, MERGE, STRATEGIC};
use crate::fuzz::call::{Body, CLIENTS, Call, Request, What};
use crate::fuzz::kind::Kind;
use crate::fuzz::kinds::kinds;
use crate::fuzz::pick::{odd, one};

mod deletes;
mod metadata;
mod patches;
mod reads;
mod strange;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

/// The calls of a seed, about these kinds; about all if there are none.
pub(super) fn sequence(seed: u64, length: usize, only: &[String]) -> Vec<Call> {
    let mut rng = Rng::with_seed(seed);
    // A few kinds at a time, so that calls meet.
    let among: Vec<&Kind> = kinds()
        .filter(|kind| only.is_empty() || only.iter().any(|name| name == kind.kind))
        .collect();
    let kinds = (0..2).map(|_| kind(&mut rng, &among)).collect();
    let mut draw = Draw { rng, kinds, opened: Vec::new() };
    (0..length).map(|id| Call { id, what: draw.call(id) }).collect()
}

/// Whether there are calls about a kind of this version.
pub fn draws_of(version: &str, name: &str) -> bool {
    kinds().any(|kind| kind.api_version == version && kind.kind == name)
}

/// Whether there are calls about a kind.
pub fn draws(name: &str) -> bool {
    kinds().any(|kind| kind.kind == name)
}

fn kind(rng: &mut Rng, among: &[&'static Kind]) -> &'static Kind {
    let all: u32 = among.iter().map(|kind| kind.weight).sum();
    let mut at = rng.u32(..all.max(1));
    for kind in among {
        match at.checked_sub(kind.weight) {
            Some(rest) => at = rest,
            None => return kind,
        }
    }
    among[0]
}

/// Sets a member of the metadata, if those are an object at all.
fn set(object: &mut Value, member: &str, value: impl Into<Value>) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(member.to_owned(), value.into());
    }
}

struct Draw {
    rng: Rng,
    kinds: Vec<&'static Kind>,
    opened: Vec<usize>,
}

impl Draw {
    fn one_in(&mut self, of: u32) -> bool {
        self.rng.u32(..of) == 0
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        one(&mut self.rng, of)
    }

    fn call(&mut self, id: usize) -> What {
        let kind = self.one(&self.kinds.clone());
        match self.rng.u32(..100) {
            0..20 => What::Send(self.create(kind)),
            20..28 => What::Send(self.get(kind)),
            28..40 => What::Send(self.list(kind)),
            40..54 => What::Send(self.update(kind)),
            54..74 => What::Send(self.patch(kind)),
            74..84 => What::Send(self.delete(kind)),
            84..87 => What::Send(self.delete_collection(kind)),
            87..95 => {
                self.opened.push(id);
                What::Watch(self.watch(kind))
            }
            95..98 if !self.opened.is_empty() => {
                let at = self.rng.usize(..self.opened.len());
                What::Close(self.opened.swap_remove(at))
            }
            _ => What::Send(self.strange(kind)),
        }
    }

    fn name(&mut self, kind: &Kind) -> String {
        let name = self.one(&["a", "a", "b", "c"]);
        // Some kinds prescribe the name.
        let prescribed = match kind.kind {
            "CustomResourceDefinition" => Some("things.{own}.example.com"),
            "APIService" => Some("v1.{own}.example.com"),
            "IPAddress" => Some("10.99.0.1"),
            _ => None,
        };
        if let Some(name) = prescribed.filter(|_| !self.one_in(6)) {
            return name.to_owned();
        }
        if kind.cluster { format!("{{own}}-{name}") } else { name.to_owned() }
    }

    fn key(kind: &Kind, name: &str) -> String {
        let plural = kind.collection.rsplit('/').next().unwrap_or_default();
        format!("{plural}/{name}")
    }

    fn request(&mut self, kind: &Kind, method: Method, rest: String) -> Request {
        // Metadata of what the answer is: of an object, or of a list.
        let accept = match (self.rng.u32(..40), &method, rest.as_str()) {
            (0..2, &Method::DELETE, _) => Some(JSON),
            // Upstream has no tables of approvals.
            (0, ..) if !rest.ends_with("/approval") => {
                Some("application/json;as=Table;v=v1;g=meta.k8s.io")
            }
            (1, &Method::GET, "") => {
                Some("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
            }
            (1, ..) => Some(
                "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
            ),
            _ => Some(JSON),
        };
        let mut query = Vec::new();
        if self.one_in(60) {
            query.push(("unknown".to_owned(), "1".to_owned()));
        }
        if self.one_in(60) {
            query.push(("pretty".to_owned(), self.one(&["true", "false", "x"]).to_owned()));
        }
        if kind.dry && method != Method::GET {
            query.push(("dryRun".to_owned(), "All".to_owned()));
        }
        let client = self.rng.usize(..CLIENTS.len());
        Request {
            client,
            method,
            collection: kind.collection.to_owned(),
            rest,
            query,
            media: None,
            accept,
            body: Body::None,
        }
    }

    fn add(&mut self, request: &mut Request, name: &str, values: &[&str]) {
        request.query.push((name.to_owned(), self.one(values).to_owned()));
    }

    fn write_options(&mut self, request: &mut Request) {
        if self.one_in(12) {
            self.add(request, "dryRun", &["All", "All", "All", "x", ""]);
        }
        if self.one_in(10) {
            self.add(request, "fieldValidation", &["Strict", "Ignore", "Warn", "x", ""]);
        }
        if self.one_in(8) {
            self.add(request, "fieldManager", &["m", "n", "", "a b", "é"]);
        }
    }

    fn object(&mut self, kind: &Kind, name: &str) -> Value {
        let mut object = (kind.rest)(&mut self.rng);
        object["metadata"] = self.metadata(kind, name);
        if kind.custom || !self.one_in(3) {
            object["apiVersion"] = kind.api_version.into();
            object["kind"] = kind.kind.into();
        }
        if self.one_in(30) {
            let member =
                self.one(&["apiVersion", "kind", "extra", "spec", "status", "data", "metadata"]);
            object[member] = if self.one_in(2) { odd(&mut self.rng) } else { "x".into() };
        }
        if self.one_in(25) {
            let spec =
                if object.get("spec").is_some_and(Value::is_object) { "spec" } else { "data" };
            if let Some(members) = object.get_mut(spec).and_then(Value::as_object_mut) {
                let names: Vec<String> =
                    members.keys().cloned().chain(["extra".to_owned()]).collect();
                let name = one(&mut self.rng, &names);
                members.insert(name, odd(&mut self.rng));
            }
        }
        object
    }

    fn create(&mut self, kind: &Kind) -> Request {
        let name = self.name(kind);
        let mut object = self.object(kind, &name);
        if self.one_in(20) && !kind.cluster {
            set(&mut object, "generateName", "a-");
            if self.one_in(2) {
                // Of two such, nobody knows which comes first: it is not stored.
                if let Some(metadata) = object["metadata"].as_object_mut() {
                    metadata.remove("name");
                }
                let mut request = self.request(kind, Method::POST, String::new());
                request.media = Some(JSON);
                request.body = Body::Json(object);
                request.query.push(("dryRun".to_owned(), "All".to_owned()));
                return request;
            }
        }
        let mut request = self.request(kind, Method::POST, String::new());
        (request.media, request.body) = self.body(object);
        self.write_options(&mut request);
        request
    }

    fn subresource(&mut self, kind: &Kind, name: &str) -> String {
        match kind.subresources {
            some @ [_, ..] if self.one_in(4) => format!("/{name}/{}", self.one(some)),
            _ => format!("/{name}"),
        }
    }

    fn update(&mut self, kind: &Kind) -> Request {
        let name = self.name(kind);
        let mut object = self.object(kind, &name);
        let key = Self::key(kind, &name);
        match self.rng.u32(..10) {
            0..5 => set(&mut object, "resourceVersion", format!("{{rv:{key}:0}}")),
            5 | 6 => {
                let version = format!("{{rv:{key}:{}}}", self.rng.u8(1..3));
                set(&mut object, "resourceVersion", version);
            }
            7 if self.one_in(4) => {
                let version = self.one(&["x", "0", "99999999999", ""]);
                set(&mut object, "resourceVersion", version);
            }
            _ => {}
        }
        if self.one_in(10) {
            let other = self.name(kind);
            set(&mut object, "uid", format!("{{uid:{}}}", Self::key(kind, &other)));
        }
        let rest = self.subresource(kind, &name);
        self.fit(&mut object, kind, &rest);
        let mut request = self.request(kind, Method::PUT, rest);
        (request.media, request.body) = self.body(object);
        self.write_options(&mut request);
        request
    }

    /// Makes of an object what goes to a subresource of it.
    fn fit(&mut self, object: &mut Value, kind: &Kind, rest: &str) {
        let of_status = rest.ends_with("/status") || rest.ends_with("/approval");
        if of_status && !self.one_in(5) {
            object["status"] = (kind.status)(&mut self.rng);
        }
        if rest.ends_with("/scale") && !self.one_in(8) {
            let replicas = self.one(&[json!(0), json!(1), json!(2), json!(-1), json!("x")]);
            let (api_version, metadata) = ("autoscaling/v1", object["metadata"].take());
            *object = json!({
                "apiVersion": api_version, "kind": "Scale", "metadata": metadata, "spec": { "replicas": replicas },
            });
        }
    }

    /// A whole object as the body of a write: JSON, or now and then YAML.
    fn body(&mut self, object: Value) -> (Option<&'static str>, Body) {
        if self.one_in(8) {
            (Some(YAML), Body::Yaml(object))
        } else {
            (Some(JSON), Body::Json(object))
        }
    }
}
