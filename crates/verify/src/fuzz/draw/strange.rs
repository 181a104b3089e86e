//! What no client means, drawn.

use super::*;

impl Draw {
    pub(super) fn strange(&mut self, kind: &Kind) -> Request {
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
        if kind.cluster {
            // Others have objects there, too.
            request.query.push(("labelSelector".to_owned(), "run={own}".to_owned()));
        }
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
