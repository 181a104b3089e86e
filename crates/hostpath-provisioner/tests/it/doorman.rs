//! A server that grants less: refuses what it is told to refuse, and answers, if it is told to know
//! the question, what an account may do.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use embedded_apiserver::{ApiService, Disconnected};
use hostpath_provisioner::{PERMISSIONS, Permission};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use parking_lot::Mutex;
use reconciler::BoxError;
use serde_json::{Value, json};
use tower::ServiceExt as _;

type Answer = UnsyncBoxBody<Bytes, BoxError>;

#[derive(Clone, Default)]
pub(crate) struct Doorman(Arc<Mutex<Rules>>);

#[derive(Default)]
struct Rules {
    denied: BTreeSet<usize>,
    knows_reviews: bool,
    is_out_of_order: bool,
    questions: usize,
}

impl Doorman {
    pub(crate) fn knows_reviews(&self) {
        self.0.lock().knows_reviews = true;
    }

    /// Whether it answers questions with 500.
    pub(crate) fn out_of_order(&self, is_so: bool) {
        self.0.lock().is_out_of_order = is_so;
    }

    pub(crate) fn deny(&self, place: usize) {
        self.0.lock().denied.insert(place);
    }

    pub(crate) fn grant(&self, place: usize) {
        self.0.lock().denied.remove(&place);
    }

    /// How often it was asked what an account may do.
    pub(crate) fn questions(&self) -> usize {
        self.0.lock().questions
    }

    pub(crate) async fn pass(
        &self,
        request: Request<Body>,
        service: ApiService,
    ) -> Result<Response<Answer>, Disconnected> {
        if request.uri().path().ends_with("/selfsubjectaccessreviews") {
            self.0.lock().questions += 1;
            if self.0.lock().is_out_of_order {
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "reason": "InternalError",
                    "message": "the doorman is out of order",
                });
                return Ok(answer(500, &status));
            }
            if self.0.lock().knows_reviews {
                return Ok(self.review(request).await);
            }
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
                "message": "the server could not find the requested resource",
            });
            return Ok(answer(404, &status));
        }
        let uri = request.uri();
        let place = Permission::of_request(request.method().as_str(), uri.path(), uri.query());
        if place.is_some_and(|place| self.0.lock().denied.contains(&place)) {
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden",
                "message": "the doorman says no",
            });
            return Ok(answer(403, &status));
        }
        Ok(service.oneshot(request).await?.map(|body| body.map_err(BoxError::from).boxed_unsync()))
    }

    async fn review(&self, request: Request<Body>) -> Response<Answer> {
        let body = request.into_body().collect().await.expect("a question").to_bytes();
        let mut question: Value = serde_json::from_slice(&body).expect("a question in JSON");
        let asked = question["spec"]["resourceAttributes"].clone();
        let place = PERMISSIONS.iter().position(|permission| {
            (permission.verb, permission.group, permission.resource)
                == (text(&asked["verb"]), text(&asked["group"]), text(&asked["resource"]))
        });
        let place = place.expect("a question about a permission of the list");
        question["status"] = json!({"allowed": !self.0.lock().denied.contains(&place)});
        answer(201, &question)
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn answer(code: u16, body: &Value) -> Response<Answer> {
    let body = Full::from(serde_json::to_vec(body).expect("JSON"))
        .map_err(|never| match never {})
        .boxed_unsync();
    Response::builder()
        .status(code)
        .header("content-type", "application/json")
        .body(body)
        .expect("an answer")
}
