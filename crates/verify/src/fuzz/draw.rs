//! Sequences of calls, drawn from a seed and nothing else.

use fastrand::Rng;
use http::Method;
use serde_json::{Value, json};

use crate::conformance::{APPLY, JSON_PATCH, MERGE, STRATEGIC};
use crate::fuzz::call::{Body, CLIENTS, Call, Request, What};
use crate::fuzz::kinds::{KINDS, Kind, odd, one};

mod patches;

const JSON: &str = "application/json";

/// The calls of a seed.
pub(super) fn sequence(seed: u64, length: usize) -> Vec<Call> {
    let mut rng = Rng::with_seed(seed);
    // A few kinds at a time, so that calls meet.
    let kinds: Vec<&Kind> = (0..2).map(|_| kind(&mut rng)).collect();
    let mut draw = Draw { rng, kinds, opened: Vec::new() };
    (0..length).map(|id| Call { id, what: draw.call(id) }).collect()
}

fn kind(rng: &mut Rng) -> &'static Kind {
    let all: u32 = KINDS.iter().map(|kind| kind.weight).sum();
    let mut at = rng.u32(..all);
    for kind in KINDS {
        match at.checked_sub(kind.weight) {
            Some(rest) => at = rest,
            None => return kind,
        }
    }
    &KINDS[0]
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
            (0, ..) => Some("application/json;as=Table;v=v1;g=meta.k8s.io"),
            (1, &Method::GET, "") => Some("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"),
            (1, ..) => Some("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"),
            _ => Some(JSON),
        };
        let mut query = Vec::new();
        if self.one_in(60) {
            query.push(("unknown".to_owned(), "1".to_owned()));
        }
        if self.one_in(60) {
            query.push(("pretty".to_owned(), self.one(&["true", "false", "x"]).to_owned()));
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

    fn metadata(&mut self, kind: &Kind, name: &str) -> Value {
        let mut metadata = json!({ "name": name });
        let mut labels = if kind.cluster { json!({ "run": "{own}" }) } else { json!({}) };
        for label in ["l", "n"] {
            if self.one_in(3) {
                labels[label] = self.one(&["x", "y", "", "1", "2"]).into();
            }
        }
        if labels.as_object().is_some_and(|labels| !labels.is_empty()) || self.one_in(10) {
            metadata["labels"] = labels;
        }
        if self.one_in(6) {
            metadata["annotations"] = json!({ "note": self.one(&["1", "2", ""]) });
        }
        if self.one_in(7) {
            metadata["finalizers"] = self.one(&[
                json!(["example.com/f"]),
                json!(["example.com/f", "example.com/g"]),
                json!([]),
                json!(["bad"]),
            ]);
        }
        if self.one_in(15) {
            let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "00000000-0000-4000-8000-000000000001" });
            metadata["ownerReferences"] = json!([owner]);
        }
        if self.one_in(25) {
            let member = self.one(&[
                "uid",
                "creationTimestamp",
                "deletionTimestamp",
                "generation",
                "selfLink",
                "namespace",
                "labels",
                "annotations",
                "finalizers",
                "ownerReferences",
                "extra",
                "resourceVersion",
                "generateName",
                "managedFields",
                "deletionGracePeriodSeconds",
                "name",
            ]);
            metadata[member] = self.strange_metadata(member);
        }
        metadata
    }

    fn strange_metadata(&mut self, member: &str) -> Value {
        let fitting = match member {
            "uid" => json!("00000000-0000-4000-8000-000000000002"),
            "creationTimestamp" | "deletionTimestamp" => json!("2001-01-01T00:00:00Z"),
            "generation" => json!(7),
            "namespace" => json!("other"),
            "labels" => self.one(&[
                json!({ "a b": "x" }),
                json!({ "l": "x y" }),
                json!({ "l": "x".repeat(64) }),
                json!({ "l": null }),
            ]),
            "annotations" => self.one(&[json!({ "a b": "x" }), json!({ "x": null })]),
            "finalizers" => json!(["example.com/f", "a b"]),
            "resourceVersion" => self.one(&[json!("0"), json!("1"), json!("x"), json!("")]),
            "name" => self.one(&[json!("A"), json!("a..b"), json!(""), json!("a_b"), json!("..")]),
            _ => odd(&mut self.rng),
        };
        if self.one_in(3) { odd(&mut self.rng) } else { fitting }
    }

    fn object(&mut self, kind: &Kind, name: &str) -> Value {
        let mut object = (kind.rest)(&mut self.rng);
        object["metadata"] = self.metadata(kind, name);
        if kind.custom || !self.one_in(3) {
            object["apiVersion"] = kind.api_version.into();
            object["kind"] = kind.kind.into();
        }
        if self.one_in(30) {
            let member = self.one(&["apiVersion", "kind", "extra", "spec", "status", "data", "metadata"]);
            object[member] = if self.one_in(2) { odd(&mut self.rng) } else { "x".into() };
        }
        if self.one_in(25) {
            let spec = if object.get("spec").is_some_and(Value::is_object) { "spec" } else { "data" };
            if let Some(members) = object.get_mut(spec).and_then(Value::as_object_mut) {
                let names: Vec<String> = members.keys().cloned().chain(["extra".to_owned()]).collect();
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
        request.media = Some(JSON);
        request.body = Body::Json(object);
        self.write_options(&mut request);
        request
    }

    fn get(&mut self, kind: &Kind) -> Request {
        let name = self.name(kind);
        let rest = match kind.subresources {
            [] => format!("/{name}"),
            some if self.one_in(6) => format!("/{name}/{}", self.one(some)),
            _ => format!("/{name}"),
        };
        let mut request = self.request(kind, Method::GET, rest);
        if self.one_in(6) {
            let version = self.version_of(kind, &name);
            request.query.push(("resourceVersion".to_owned(), version));
        }
        request
    }

    /// A version to read at.
    fn version_of(&mut self, kind: &Kind, name: &str) -> String {
        let plural = kind.collection.rsplit('/').next().unwrap_or_default();
        match self.rng.u32(..12) {
            0..3 => "0".to_owned(),
            3..6 => format!("{{rv:{plural}:{}}}", self.rng.u8(..2)),
            6..10 => format!("{{rv:{}:{}}}", Self::key(kind, name), self.rng.u8(..3)),
            10 => self.one(&["x", "", "-1", "00"]).to_owned(),
            _ => String::new(),
        }
    }

    fn selectors(&mut self, request: &mut Request, kind: &Kind) {
        if kind.cluster {
            let more = self.one(&["", "", ",l", ",l=x", ",!n"]);
            request.query.push(("labelSelector".to_owned(), format!("run={{own}}{more}")));
        } else if self.one_in(3) {
            let selectors = [
                "l",
                "!l",
                "l=x",
                "l==x",
                "l!=x",
                "l in (x,y)",
                "l notin (x)",
                "l=x,n=y",
                "n>1",
                "n<2",
                "l=",
                "l in ()",
                "l = x ",
                ",",
                "=x",
                "l=x=y",
                "l in x",
                "a b",
                "l,",
                "",
                "!",
                "l in (x",
                "example.com/l=x",
                "l=x,!n",
                "x/y/z",
                "n>x",
                "l=é",
            ];
            self.add(request, "labelSelector", &selectors);
        }
        if self.one_in(6) && !kind.cluster {
            let mut fields = vec![
                "metadata.name=a",
                "metadata.name!=a",
                "metadata.name=a,metadata.namespace={ns}",
                "metadata.namespace=x",
                "spec.x=1",
                "metadata.name",
                "metadata.name=a,metadata.name=b",
                "=",
                "metadata.name==a",
                "",
                "metadata.name=",
                "metadata.name=a\\,b",
                "metadata.name in (a)",
            ];
            let own: Vec<String> = kind
                .fields
                .iter()
                .flat_map(|field| {
                    ["", "red", "Pending", "Opaque", "p", "ClusterIP"].map(|value| format!("{field}={value}"))
                })
                .collect();
            fields.extend(own.iter().map(String::as_str));
            self.add(request, "fieldSelector", &fields);
        }
    }

    fn list(&mut self, kind: &Kind) -> Request {
        let mut request = self.request(kind, Method::GET, String::new());
        self.selectors(&mut request, kind);
        if self.one_in(3) {
            self.add(&mut request, "limit", &["1", "2", "1", "3", "500", "-1", "0", "x", ""]);
        }
        let plural = kind.collection.rsplit('/').next().unwrap_or_default();
        if self.one_in(6) {
            let token = if self.one_in(8) {
                self.one(&["x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"]).to_owned()
            } else {
                format!("{{token:{plural}}}")
            };
            request.query.push(("continue".to_owned(), token));
        }
        if self.one_in(4) {
            let version = self.version_of(kind, "a");
            request.query.push(("resourceVersion".to_owned(), version));
        }
        if self.one_in(6) {
            self.add(
                &mut request,
                "resourceVersionMatch",
                &["Exact", "Exact", "NotOlderThan", "NotOlderThan", "x", ""],
            );
        }
        if self.one_in(40) {
            self.add(&mut request, "allowWatchBookmarks", &["true", "x"]);
        }
        if self.one_in(40) {
            self.add(&mut request, "sendInitialEvents", &["true", "x"]);
        }
        if self.one_in(40) {
            self.add(&mut request, "timeoutSeconds", &["10", "-1", "x"]);
        }
        request
    }

    fn watch(&mut self, kind: &Kind) -> Request {
        let mut request = self.request(kind, Method::GET, String::new());
        request.query.push(("watch".to_owned(), self.one(&["true", "true", "1"]).to_owned()));
        self.selectors(&mut request, kind);
        match self.rng.u32(..8) {
            0 => {}
            1 => request.query.push(("resourceVersion".to_owned(), "0".to_owned())),
            2 => {
                request
                    .query
                    .push(("sendInitialEvents".to_owned(), self.one(&["true", "true", "false"]).to_owned()));
                let matched = self.one(&["NotOlderThan", "NotOlderThan", "NotOlderThan", "Exact", ""]);
                request.query.push(("resourceVersionMatch".to_owned(), matched.to_owned()));
                if self.one_in(3) {
                    let version = self.version_of(kind, "a");
                    request.query.push(("resourceVersion".to_owned(), version));
                }
            }
            _ => {
                let version = self.version_of(kind, "a");
                request.query.push(("resourceVersion".to_owned(), version));
            }
        }
        if self.one_in(2) {
            self.add(&mut request, "allowWatchBookmarks", &["true", "true", "false"]);
        }
        if self.one_in(30) {
            self.add(&mut request, "timeoutSeconds", &["600", "x"]);
        }
        if self.one_in(40) {
            self.add(&mut request, "limit", &["1", "x"]);
        }
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
        let mut request = self.request(kind, Method::PUT, rest);
        request.media = Some(JSON);
        request.body = Body::Json(object);
        self.write_options(&mut request);
        request
    }

    fn delete_options(&mut self, request: &mut Request, key: &str) {
        let mut options = json!({});
        if self.one_in(3) {
            options["preconditions"] = match self.rng.u32(..4) {
                0 => json!({ "uid": format!("{{uid:{key}}}") }),
                1 => json!({ "resourceVersion": format!("{{rv:{key}:{}}}", self.rng.u8(..2)) }),
                2 => json!({ "uid": "00000000-0000-4000-8000-000000000009" }),
                _ => json!({ "uid": format!("{{uid:{key}}}"), "resourceVersion": format!("{{rv:{key}:0}}") }),
            };
        }
        if self.one_in(4) {
            options["propagationPolicy"] = self.one(&["Background", "Foreground", "Orphan", "x"]).into();
        }
        if self.one_in(10) {
            options["orphanDependents"] = self.rng.bool().into();
        }
        if self.one_in(5) {
            options["gracePeriodSeconds"] = self.one(&[0, 1, 30, -1]).into();
        }
        if self.one_in(12) {
            options["dryRun"] = self.one(&[json!(["All"]), json!(["x"]), json!([])]);
        }
        if self.one_in(20) {
            options["kind"] = self.one(&["DeleteOptions", "x"]).into();
            options["apiVersion"] = self.one(&["v1", "x"]).into();
        }
        if self.one_in(20) {
            let member =
                self.one(&["extra", "preconditions", "gracePeriodSeconds", "propagationPolicy", "dryRun"]);
            options[member] = odd(&mut self.rng);
        }
        if options.as_object().is_some_and(|options| !options.is_empty()) || self.one_in(8) {
            request.media = Some(JSON);
            request.body = Body::Json(options);
        }
        if self.one_in(8) {
            let (name, values): (_, &[&str]) = self.one(&[
                ("propagationPolicy", &["Background", "Foreground", "x"][..]),
                ("gracePeriodSeconds", &["0", "1", "x", "-1"]),
                ("dryRun", &["All", "x"]),
                ("orphanDependents", &["true", "false", "x"]),
            ]);
            self.add(request, name, values);
        }
    }

    fn delete(&mut self, kind: &Kind) -> Request {
        let name = self.name(kind);
        let mut request = self.request(kind, Method::DELETE, format!("/{name}"));
        self.delete_options(&mut request, &Self::key(kind, &name));
        request
    }

    fn delete_collection(&mut self, kind: &Kind) -> Request {
        let mut request = self.request(kind, Method::DELETE, String::new());
        self.selectors(&mut request, kind);
        if self.one_in(3) {
            self.delete_options(&mut request, &Self::key(kind, "a"));
        }
        request
    }

    /// What no client means.
    fn strange(&mut self, kind: &Kind) -> Request {
        let name = self.name(kind);
        let rest = self.one(&[
            "",
            "/{name}",
            "/{name}/status",
            "/{name}/scale",
            "/{name}/odd",
            "/{name}/status/x",
            "/",
        ]);
        let rest = rest.replace("{name}", &name);
        let method = self.one(&[
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::OPTIONS,
        ]);
        let mut request = self.request(kind, method, rest);
        request.media = self.one(&[
            None,
            Some(JSON),
            Some(MERGE),
            Some("text/plain"),
            Some("application/json; charset=utf-8"),
            Some("a/b;c"),
        ]);
        request.accept = self.one(&[
            Some(JSON),
            Some("text/html"),
            Some("*/*"),
            Some("application/*"),
            Some("application/xml,application/json"),
            Some(";"),
        ]);
        request.body = match self.rng.u32(..6) {
            0 => Body::None,
            1 => Body::Raw(self.one(&[
                "{",
                "[]",
                "null",
                "\"x\"",
                "{\"a\":1,\"a\":2}",
                "nul",
                "{}{}",
                " ",
                "{\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}",
            ])),
            2 => Body::Json(odd(&mut self.rng)),
            _ => Body::Json(self.object(kind, &name)),
        };
        request
    }
}
