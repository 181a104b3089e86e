//! Patches of every type, drawn.

use super::*;

/// JSON patches of which each word counts: numbers and strings are compared as they are written.
const WORDED: [&str; 10] = [
    r#"[{"op":"test","path":"/spec/size","value":1.50}]"#,
    r#"[{"op":"test","path":"/spec/size","value":1.5}]"#,
    r#"[{"op":"test","path":"/spec/size","value":1e20}]"#,
    r#"[{"op":"test","path":"/spec/size","value":100000000000000000000}]"#,
    r#"[{"op":"test","path":"/data/k","value":"a<b&\u2028\u00e9"}]"#,
    r#"[{"op":"test","path":"/data/k","value":"a\u003cb\u0026\u2028é"}]"#,
    r#"[{"op":"test","path":"/spec/list","value":[ "a" , "b" ]}]"#,
    r#"[{"op":"test","path":"/spec/list","value":[{"x":1,"name":"\u0061"}]}]"#,
    r#"[{"op":"add","path":"/spec/size","value":1.50},{"op":"test","path":"/spec/size","value":1.50}]"#,
    r#"[{"op":"add","path":"/data/k","value":"<"},{"op":"copy","from":"/data/k","path":"/data/l"},{"op":"test","path":"/data/l","value":"<"}]"#,
];

impl Draw {
    pub(super) fn patch(&mut self, kind: &Kind) -> Request {
        let name = self.name(kind);
        let rest = self.subresource(kind, &name);
        let mut request = self.request(kind, Method::PATCH, rest);
        self.write_options(&mut request);
        let key = Self::key(kind, &name);
        let (media, body) = match self.rng.u32(..20) {
            0..7 => (MERGE, self.merge(kind, &name, &key)),
            7 if self.one_in(3) => {
                request.media = Some(JSON_PATCH);
                request.body = Body::Raw(self.one(&WORDED));
                return request;
            }
            7..11 => (JSON_PATCH, self.operations(kind, &key)),
            11..14 => (STRATEGIC, self.merge(kind, &name, &key)),
            _ => {
                let mut object = (kind.rest)(&mut self.rng);
                object["apiVersion"] = kind.api_version.into();
                object["kind"] = kind.kind.into();
                object["metadata"] = self.metadata(kind, &name);
                if !request.query.iter().any(|(name, _)| name == "fieldManager") && !self.one_in(15)
                {
                    self.add(&mut request, "fieldManager", &["m", "n", "o"]);
                }
                if self.one_in(3) {
                    self.add(&mut request, "force", &["true", "true", "true", "false", "x"]);
                }
                (APPLY, object)
            }
        };
        let mut body = body;
        if body.is_object() && (media == APPLY || self.one_in(2)) {
            let rest = request.rest.clone();
            self.fit(&mut body, kind, &rest);
        }
        request.media = Some(media);
        request.body =
            if media == APPLY && self.one_in(4) { Body::Yaml(body) } else { Body::Json(body) };
        request
    }

    fn merge(&mut self, kind: &Kind, name: &str, key: &str) -> Value {
        if self.one_in(8) {
            // What makes an object leave a selector, or come to it.
            let label = self.one(&["l", "n"]);
            let value = self.one(&[json!("x"), json!("y"), json!("1"), json!("2"), json!(null)]);
            return json!({ "metadata": { "labels": { label: value } } });
        }
        if self.one_in(30) {
            // More than 32 bits hold, which some numbers have, and others do not.
            let number = self.one(&[json!(4_294_967_297_i64), json!(-2_147_483_649_i64)]);
            let member = self.one(&[
                "replicas",
                "minReadySeconds",
                "leaseTransitions",
                "parallelism",
                "size",
            ]);
            return json!({ "spec": { member: number }, "metadata": { "generation": number } });
        }
        let mut patch = json!({});
        if self.one_in(2) {
            patch = (kind.rest)(&mut self.rng);
            if let Some(members) = patch.as_object_mut() {
                let names: Vec<String> = members.keys().cloned().collect();
                for name in names {
                    match self.rng.u32(..12) {
                        0 => drop(members.insert(name, Value::Null)),
                        1 => drop(members.remove(&name)),
                        _ => {}
                    }
                }
            }
        }
        if self.one_in(2) {
            let mut metadata = self.metadata(kind, name);
            if let Some(members) = metadata.as_object_mut() {
                members.remove("name");
                let names: Vec<String> = members.keys().cloned().collect();
                for name in names {
                    if self.rng.u32(..5) == 0 {
                        members.insert(name, Value::Null);
                    }
                }
            }
            if self.one_in(5) {
                metadata["resourceVersion"] = format!("{{rv:{key}:{}}}", self.rng.u8(..2)).into();
            }
            patch["metadata"] = metadata;
        }
        if self.one_in(12) {
            patch["metadata"]["finalizers"] = Value::Null;
        }
        if self.one_in(10) && kind.kind == "Widget" {
            // Nulls within what is set.
            let member = self.one(&["list", "size", "new"]);
            let value = self.one(&[
                json!([{ "a": null, "b": { "c": null } }]),
                json!({ "a": [{ "b": null }] }),
            ]);
            patch["spec"] = json!({ member: value });
        }
        if self.one_in(40) {
            return odd(&mut self.rng);
        }
        patch
    }

    fn operations(&mut self, kind: &Kind, key: &str) -> Value {
        let mut paths = vec![
            "/metadata/labels/l",
            "/metadata/labels",
            "/metadata/finalizers",
            "/metadata/finalizers/0",
            "/metadata/finalizers/-",
            "/metadata/finalizers/-1",
            "/metadata/finalizers/+0",
            "/metadata/finalizers/00",
            "/metadata/finalizers/-2",
            "/metadata/annotations/note",
            "/metadata/annotations",
            "/metadata/resourceVersion",
            "/data/k",
            "/data",
            "/spec/color",
            "/spec",
            "/spec/list/0",
            "/spec/list/-",
            "/spec/list/-1",
            "/spec/list/01",
            "/spec/list/-1/name",
            "/status",
            "/spec/replicas",
            "/spec/set/0",
            "/spec/template/spec/containers/0/image",
            "/absent/member",
            "",
            "/metadata/labels/a~1b",
            "x",
        ];
        if kind.kind == "Lease" {
            paths.extend(["/spec/holderIdentity", "/spec/leaseTransitions"]);
        }
        let many = self.rng.u32(1..4);
        let operations = (0..many).map(|_| {
            let path = self.one(&paths);
            let value = match path {
                "/metadata/labels" | "/data" | "/metadata/annotations" => json!({ "l": "x" }),
                "/metadata/finalizers" => {
                    self.one(&[json!([]), json!(["example.com/f"]), json!(null)])
                }
                path if path.starts_with("/metadata/finalizers/") => {
                    self.one(&[json!("example.com/h"), json!("example.com/f")])
                }
                "/metadata/resourceVersion" => format!("{{rv:{key}:{}}}", self.rng.u8(..2)).into(),
                "/spec/leaseTransitions" => json!(3),
                _ => self.one(&[
                    json!("x"),
                    json!("y"),
                    json!(null),
                    json!(1),
                    json!("a<b&\u{2028}é"),
                    json!(1e20),
                ]),
            };
            let op = self
                .one(&["add", "add", "replace", "remove", "test", "test", "copy", "move", "odd"]);
            let mut operation = json!({ "op": op, "path": path });
            match op {
                "add" | "replace" | "test" => operation["value"] = value,
                "copy" | "move" => operation["from"] = self.one(&paths).into(),
                _ => {}
            }
            operation
        });
        Value::Array(operations.collect())
    }
}
