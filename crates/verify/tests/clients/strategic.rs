//! The recorded answers to strategic merge patches, by which the embedded server is tested, asked
//! of the real server again.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

/// A request by kube's client; the status code and the answer's JSON.
async fn send(
    client: &Client,
    method: &str,
    path: &str,
    media: &str,
    body: String,
) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    let request = request.body(body.into_bytes()).expect("a request");
    match client.request::<Value>(request).await {
        Ok(answer) => (200, answer),
        Err(kube::Error::Api(status)) => (status.code, json!({ "reason": status.reason })),
        Err(error) => panic!("{method} {path}: {error}"),
    }
}

/// Whether all that is expected is in the answer. Items of lists of objects may have members more:
/// defaults.
fn contains(answer: &Value, expected: &Value) -> bool {
    match (answer, expected) {
        (Value::Object(answer), Value::Object(expected)) => expected
            .iter()
            .all(|(name, value)| contains(answer.get(name).unwrap_or(&Value::Null), value)),
        (Value::Array(answer), Value::Array(expected)) => {
            answer.len() >= expected.len()
                && expected.iter().zip(answer).all(|(value, answer)| contains(answer, value))
        }
        _ => answer == expected,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_server_answers_strategic_merge_patches_as_recorded() {
    let Some(plane) =
        tokio::task::spawn_blocking(verify::real::shared).await.expect("it does not panic")
    else {
        return;
    };
    let client = verify::real::client(plane, "admin").await;
    let space = json!({ "metadata": { "name": "strategic" } }).to_string();
    let made = send(&client, "POST", "/api/v1/namespaces", "application/json", space).await;
    assert_eq!(made.0, 200, "{}", made.1);
    let cases = include_str!("../../../embedded-apiserver/tests/it/strategic.json");
    let cases: Vec<Value> = serde_json::from_str(cases).expect("a list of cases");
    for (number, case) in cases.iter().enumerate() {
        let plural =
            format!("{}s", case["object"]["kind"].as_str().expect("a kind").to_lowercase());
        let path = format!("/api/v1/namespaces/strategic/{plural}");
        let name = format!("case-{number}");
        let mut object = case["object"].clone();
        object["metadata"]["name"] = name.as_str().into();
        let created = send(&client, "POST", &path, "application/json", object.to_string()).await;
        assert_eq!(created.0, 200, "{}: {}", case["name"], created.1);
        let patch = match case["patch"].as_str().and_then(|text| text.strip_prefix("RAW:")) {
            Some(raw) => raw.to_owned(),
            None => case["patch"].to_string(),
        };
        let object = format!("{path}/{name}");
        let (code, answer) =
            send(&client, "PATCH", &object, "application/strategic-merge-patch+json", patch).await;
        assert_eq!(u64::from(code), case["code"], "{}: {answer}", case["name"]);
        if code == 200 {
            assert!(contains(&answer, &case["result"]), "{}: {answer}", case["name"]);
        }
    }
}
