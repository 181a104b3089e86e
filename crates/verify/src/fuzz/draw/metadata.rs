//! Metadata, drawn: what is in order, and now and then what is not.

use super::*;

impl Draw {
    pub(super) fn metadata(&mut self, kind: &Kind, name: &str) -> Value {
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
        if let Value::Object(own) = (kind.annotations)(&mut self.rng) {
            for (name, text) in own {
                metadata["annotations"][name] = text;
            }
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

    pub(super) fn strange_metadata(&mut self, member: &str) -> Value {
        let fitting = match member {
            "uid" => json!("00000000-0000-4000-8000-000000000002"),
            "creationTimestamp" | "deletionTimestamp" => self.one(&[
                json!("2001-01-01T00:00:00Z"),
                json!("2001-01-01T0:00:00,5Z"),
                json!("0001-01-01T00:00:00Z"),
                json!("2001-01-01 00:00:00Z"),
            ]),
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
}
