//! Deletes of one object and of a collection, drawn.

use super::*;

impl Draw {
    pub(super) fn delete_options(&mut self, request: &mut Request, key: &str) {
        let mut options = json!({});
        if self.one_in(3) {
            options["preconditions"] = match self.rng.u32(..4) {
                0 => json!({ "uid": format!("{{uid:{key}}}") }),
                1 => json!({ "resourceVersion": format!("{{rv:{key}:{}}}", self.rng.u8(..2)) }),
                2 => json!({ "uid": "00000000-0000-4000-8000-000000000009" }),
                _ => {
                    json!({ "uid": format!("{{uid:{key}}}"), "resourceVersion": format!("{{rv:{key}:0}}") })
                }
            };
        }
        if self.one_in(4) {
            options["propagationPolicy"] =
                self.one(&["Background", "Foreground", "Orphan", "x"]).into();
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
            let member = self.one(&[
                "extra",
                "preconditions",
                "gracePeriodSeconds",
                "propagationPolicy",
                "dryRun",
            ]);
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

    pub(super) fn delete(&mut self, kind: &Kind) -> Request {
        let name = self.name(kind);
        let mut request = self.request(kind, Method::DELETE, format!("/{name}"));
        self.delete_options(&mut request, &Self::key(kind, &name));
        request
    }

    pub(super) fn delete_collection(&mut self, kind: &Kind) -> Request {
        let mut request = self.request(kind, Method::DELETE, String::new());
        self.selectors(&mut request, kind);
        if self.one_in(3) {
            self.delete_options(&mut request, &Self::key(kind, "a"));
        }
        request
    }
}
