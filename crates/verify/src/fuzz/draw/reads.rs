//! Reads, lists and watches, drawn.

use super::*;

impl Draw {
    pub(super) fn get(&mut self, kind: &Kind) -> Request {
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
    pub(super) fn version_of(&mut self, kind: &Kind, name: &str) -> String {
        let plural = kind.collection.rsplit('/').next().unwrap_or_default();
        match self.rng.u32(..12) {
            0..3 => "0".to_owned(),
            3..6 => format!("{{rv:{plural}:{}}}", self.rng.u8(..2)),
            6..10 => format!("{{rv:{}:{}}}", Self::key(kind, name), self.rng.u8(..3)),
            10 => self.one(&["x", "", "-1", "00"]).to_owned(),
            _ => String::new(),
        }
    }

    pub(super) fn selectors(&mut self, request: &mut Request, kind: &Kind) {
        let watches = request.query.iter().any(|(name, _)| name == "watch");
        if kind.cluster {
            let more = self.one(&["", "", ",l", ",l=x", ",!n", ",l!=x", ",l notin (x)"]);
            request.query.push(("labelSelector".to_owned(), format!("run={{own}}{more}")));
        } else if self.one_in(if watches { 2 } else { 3 }) {
            let meant = [
                "l",
                "!l",
                "l=x",
                "l==x",
                "l!=x",
                "l in (x,y)",
                "l notin (x)",
                "n notin (1,x)",
                "l=x,n=y",
                "l!=y,n",
                "n>1",
                "n<2",
            ];
            self.add(request, "labelSelector", &meant);
        } else if self.one_in(9) {
            let odd = [
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
            self.add(request, "labelSelector", &odd);
        }
        if self.one_in(8) && kind.cluster {
            let fields = [
                "metadata.namespace=x",
                "metadata.namespace=",
                "metadata.name={own}-a",
                "metadata.name!={own}-a",
            ];
            self.add(request, "fieldSelector", &fields);
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
                    ["", "red", "Pending", "Opaque", "p", "ClusterIP"]
                        .map(|value| format!("{field}={value}"))
                })
                .collect();
            fields.extend(own.iter().map(String::as_str));
            self.add(request, "fieldSelector", &fields);
        }
    }

    pub(super) fn list(&mut self, kind: &Kind) -> Request {
        let mut request = self.request(kind, Method::GET, String::new());
        self.selectors(&mut request, kind);
        // Whether there is more depends on others there, too.
        if !kind.cluster && self.one_in(3) {
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

    pub(super) fn watch(&mut self, kind: &Kind) -> Request {
        let mut request = self.request(kind, Method::GET, String::new());
        if self.one_in(10) {
            request.accept = Some("application/json;as=Table;v=v1;g=meta.k8s.io");
            self.add(&mut request, "includeObject", &["", "None", "Metadata", "Object"]);
        }
        request.query.push(("watch".to_owned(), self.one(&["true", "true", "1"]).to_owned()));
        self.selectors(&mut request, kind);
        match self.rng.u32(..8) {
            0 => {}
            1 => request.query.push(("resourceVersion".to_owned(), "0".to_owned())),
            2 => {
                request.query.push((
                    "sendInitialEvents".to_owned(),
                    self.one(&["true", "true", "false"]).to_owned(),
                ));
                let matched =
                    self.one(&["NotOlderThan", "NotOlderThan", "NotOlderThan", "Exact", ""]);
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
}
