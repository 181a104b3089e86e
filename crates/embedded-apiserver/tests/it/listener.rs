//! The listener over real sockets: kube's client by a kubeconfig, HTTP/2 without TLS, tokens,
//! drops, shutdown. Real sockets need the real clock. Nothing sleeps; a time limit only ends a
//! failed test.

use crate::objects::{code, config_map};
use bytes::Bytes;
use embedded_apiserver::{
    EmbeddedApiServer, Fault, FaultPlan, ListenError, Match, Outcome, Rule, Verb,
};
use futures::{StreamExt, TryStreamExt};
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(20);

/// kube's client, configured by the text of a kubeconfig.
async fn client(kubeconfig: &str) -> Client {
    let parsed = Kubeconfig::from_yaml(kubeconfig).expect("kube reads it");
    let mut config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
        .await
        .expect("usable");
    // No retries: these tests count requests.
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

#[tokio::test]
async fn kube_works_by_the_kubeconfig_and_its_user_is_in_the_log() {
    let server =
        EmbeddedApiServer::builder().token("alice", "to:k en\"1").token("bob", "token-2").build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    for user in ["alice", "bob"] {
        let maps = maps(&client(&server.kubeconfig(&listener.url(), user)).await);
        maps.create(&PostParams::default(), &config_map(user, "1")).await.unwrap();
        assert_eq!(maps.get(user).await.unwrap().data.unwrap()["key"], "1");
        server.requests().by(user).assert_exactly(2);
        server.requests().by(user).writes().resource("configmaps").assert_exactly(1);
    }
    listener.shutdown().await;
}

#[tokio::test]
async fn a_wrong_or_missing_token_is_401_and_a_client_in_the_process_needs_none() {
    let server = EmbeddedApiServer::builder().token("alice", "token-1").build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let nobody = server.kubeconfig(&listener.url(), "nobody");
    let wrong = server
        .kubeconfig(&listener.url(), "alice")
        .replace("token-1", "token-2")
        .replace("token%2D1", "x");
    for text in [nobody, wrong] {
        let refused = maps(&client(&text).await).get("a").await.unwrap_err();
        assert_eq!(code(refused), (401, "Unauthorized".to_owned()));
    }
    assert_eq!(server.requests().by("system:anonymous").answered_with(401), 2);
    assert_eq!(code(maps(&server.client_as("inside")).get("a").await.unwrap_err()).0, 404);
    server.requests().by("inside").assert_exactly(1);
}

#[tokio::test]
async fn the_token_as_password_in_the_url_is_enough_for_clients_that_send_no_bearer_token_without_tls()
 {
    let server = EmbeddedApiServer::builder().token("alice", "token-1").build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    // alice:token-1, as Go's net/http encodes the user of a URL.
    let (status, _) = plain(&listener, "/version", Some("Basic YWxpY2U6dG9rZW4tMQ==")).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = plain(&listener, "/version", Some("Basic YWxpY2U6dG9rZW4tMg==")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

/// A GET by a bare HTTP/1.1 client.
async fn plain(
    listener: &embedded_apiserver::Listener,
    path: &str,
    authorization: Option<&str>,
) -> (StatusCode, Bytes) {
    let mut request = Request::get(format!("{}{path}", listener.url()));
    if let Some(value) = authorization {
        request = request.header(header::AUTHORIZATION, value);
    }
    send(request.body(Full::default()).unwrap(), false).await
}

async fn send(request: Request<Full<Bytes>>, http2: bool) -> (StatusCode, Bytes) {
    let client = legacy::Client::builder(TokioExecutor::new()).http2_only(http2).build_http();
    let response =
        timeout(LIMIT, client.request(request)).await.expect("in time").expect("an answer");
    let status = response.status();
    (status, response.into_body().collect().await.expect("whole").to_bytes())
}

#[tokio::test]
async fn http2_in_the_clear_is_understood_on_the_same_port() {
    let server = EmbeddedApiServer::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let request =
        Request::get(format!("{}/version", listener.url())).body(Full::default()).unwrap();
    let (status, body) = send(request, true).await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.starts_with(b"{"));
    assert_eq!(plain(&listener, "/version", None).await.0, StatusCode::OK);
}

#[tokio::test]
async fn many_connections_are_served_at_once() {
    let server = EmbeddedApiServer::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let text = server.kubeconfig(&listener.url(), "anyone");
    let work = (0..40).map(|number| {
        let text = text.clone();
        async move {
            let maps = maps(&client(&text).await);
            maps.create(&PostParams::default(), &config_map(&format!("m{number}"), "1"))
                .await
                .unwrap();
            maps.watch(&WatchParams::default().disable_bookmarks(), "0")
                .await
                .unwrap()
                .boxed()
                .next()
                .await
                .unwrap()
                .unwrap();
        }
    });
    futures::future::join_all(work).await;
    server.requests().writes_to("configmaps").assert_exactly(40);
}

#[tokio::test]
async fn a_dropped_request_ends_in_a_closed_socket_without_a_byte() {
    let drops = |fault| {
        FaultPlan::none().rule(Rule::new(Match::any().verb(Verb::Create), fault).calls(1..=1))
    };
    for (fault, applied) in [(Fault::DropBefore, false), (Fault::DropAfter, true)] {
        let server = EmbeddedApiServer::builder().faults(drops(fault)).build();
        let listener = server.listen("127.0.0.1:0").await.unwrap();
        let mut socket = TcpStream::connect(listener.local_addr()).await.unwrap();
        let body = r#"{"metadata":{"name":"a"}}"#;
        let request = format!(
            "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A shutdown and a reset both close the socket.
        let _ =
            timeout(LIMIT, socket.read_to_end(&mut answer)).await.expect("the socket is closed");
        assert_eq!(String::from_utf8_lossy(&answer), "");
        assert_eq!(maps(&server.client()).get_opt("a").await.unwrap().is_some(), applied);
        let entry = server.requests().writes_to("configmaps").entries().remove(0);
        assert_eq!(entry.outcome, Outcome::Disconnected);
    }
}

#[tokio::test]
async fn a_drop_takes_the_whole_http2_connection() {
    let rule = Rule::new(Match::any().resource("configmaps").verb(Verb::Get), Fault::DropBefore);
    let server = EmbeddedApiServer::builder().faults(FaultPlan::none().rule(rule)).build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let client = legacy::Client::builder(TokioExecutor::new())
        .http2_only(true)
        .retry_canceled_requests(false)
        .build_http::<Full<Bytes>>();
    let get =
        |path| Request::get(format!("{}{path}", listener.url())).body(Full::default()).unwrap();
    let watch = client.request(get("/api/v1/configmaps?watch=1")).await.unwrap();
    timeout(LIMIT, client.request(get("/api/v1/namespaces/default/configmaps/a")))
        .await
        .unwrap()
        .unwrap_err();
    timeout(LIMIT, watch.into_body().collect()).await.expect("ends").expect_err("not in order");
}

#[tokio::test]
async fn a_watch_that_is_cut_in_the_middle_of_a_line_ends_the_connection_there() {
    let cut = Fault::CutWatch { min_events: 1, max_events: 1, after_ms: None, mid_line: true };
    let plan = FaultPlan::none().rule(Rule::new(Match::any().verb(Verb::Watch), cut));
    let server = EmbeddedApiServer::builder().faults(plan).build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    for name in ["a", "b"] {
        maps(&server.client())
            .create(&PostParams::default(), &config_map(name, "1"))
            .await
            .unwrap();
    }
    let mut socket = TcpStream::connect(listener.local_addr()).await.unwrap();
    let path = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0";
    socket.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(LIMIT, socket.read_to_end(&mut answer)).await.expect("the socket is closed");
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(
        answer.matches("\"ADDED\"").count(),
        2,
        "one event and the start of another: {answer}"
    );
    assert_eq!(answer.matches("}\n").count(), 1, "{answer}");
    assert!(!answer.ends_with("0\r\n\r\n"), "the chunked body has no end mark: {answer}");

    let client = client(&server.kubeconfig(&listener.url(), "anyone")).await;
    let mut events = maps(&client)
        .watch(&WatchParams::default().disable_bookmarks(), "0")
        .await
        .unwrap()
        .boxed();
    assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    // kube takes half a line for a regular end. It must not become an event.
    let end = timeout(LIMIT, events.try_next()).await.expect("ends");
    assert!(!matches!(end, Ok(Some(_))), "{end:?}");
}

#[tokio::test]
async fn shutdown_ends_watches_in_order_and_leaves_no_socket() {
    let rule = Rule::new(Match::any().verb(Verb::Get), Fault::NeverAnswer);
    let server = EmbeddedApiServer::builder().faults(FaultPlan::none().rule(rule)).build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr();
    let client = client(&server.kubeconfig(&listener.url(), "anyone")).await;
    let mut events = maps(&client)
        .watch(&WatchParams::default().disable_bookmarks(), "0")
        .await
        .unwrap()
        .boxed();
    let stuck = tokio::spawn({
        let maps = maps(&client);
        async move { maps.get("a").await }
    });
    server.requests().verb(Verb::Get).reached(1).await;
    timeout(LIMIT, listener.shutdown()).await.expect("a stuck request does not hold it up");
    assert!(matches!(events.try_next().await, Ok(None)), "a regular end");
    stuck.await.unwrap().expect_err("cut off");
    TcpStream::connect(address).await.expect_err("nobody listens");
    server.listen(&address.to_string()).await.expect("the port is free again").shutdown().await;
}

#[tokio::test]
async fn a_dropped_listener_closes_everything_at_once() {
    let server = EmbeddedApiServer::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let mut socket = TcpStream::connect(listener.local_addr()).await.unwrap();
    socket.write_all(b"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    server.requests().verb(Verb::Watch).reached(1).await;
    drop(listener);
    let mut rest = Vec::new();
    let _ = timeout(LIMIT, socket.read_to_end(&mut rest)).await.expect("closed");
}

#[tokio::test]
async fn a_client_that_goes_away_is_seen_in_the_log() {
    let rule = Rule::new(Match::any().verb(Verb::Get), Fault::NeverAnswer);
    let server = EmbeddedApiServer::builder().faults(FaultPlan::none().rule(rule)).build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let mut socket = TcpStream::connect(listener.local_addr()).await.unwrap();
    let path = "/api/v1/namespaces/default/configmaps/a";
    socket.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    server.requests().verb(Verb::Get).reached(1).await;
    drop(socket);
    let gone = async {
        while server.requests().all().counts().unanswered == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, gone).await.expect("noticed");
    assert_eq!(server.requests().all().entries()[0].outcome, Outcome::Abandoned);
}

#[tokio::test]
async fn unusable_addresses_are_refused_by_name() {
    let server = EmbeddedApiServer::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let taken = listener.local_addr().to_string();
    let refused = server.listen(&taken).await.unwrap_err();
    assert!(matches!(refused, ListenError::InUse { .. }));
    assert!(
        refused.to_string().contains(&taken) && refused.to_string().contains("port 0"),
        "{refused}"
    );

    let refused = server.listen("0.0.0.0:0").await.unwrap_err();
    assert!(matches!(refused, ListenError::NotLoopback { .. }));
    assert!(
        refused.to_string().contains("0.0.0.0:0")
            && refused.to_string().contains("allow_non_loopback")
    );
    let open = EmbeddedApiServer::builder().allow_non_loopback(true).build();
    open.listen("0.0.0.0:0").await.expect("allowed").shutdown().await;

    for nonsense in ["", "localhost", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x"] {
        let refused = server.listen(nonsense).await.unwrap_err();
        assert!(matches!(refused, ListenError::Address { .. }), "{nonsense:?}: {refused}");
    }
}

#[tokio::test]
async fn other_processes_read_the_log_and_change_the_faults_under_embedded() {
    let server = EmbeddedApiServer::builder().token("judge", "t").introspection(true).build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let bearer = Some("Bearer t");
    assert_eq!(
        plain(&listener, "/embedded/healthz", None).await,
        (StatusCode::OK, Bytes::from_static(b"ok"))
    );
    assert_eq!(plain(&listener, "/embedded/requests", None).await.0, StatusCode::UNAUTHORIZED);
    maps(&server.client_as("writer"))
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();

    let read = async |query: &str| {
        let (status, body) = plain(&listener, &format!("/embedded/requests{query}"), bearer).await;
        (status, serde_json::from_slice::<serde_json::Value>(&body).unwrap())
    };
    let (status, answer) = read("?user=writer").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["counts"].as_array().unwrap().len(), 1);
    assert_eq!(answer["counts"][0]["resource"], "configmaps");
    assert_eq!(answer["counts"][0]["requests"], 1);
    assert_eq!(answer["counts"][0]["answered"]["201"], 1);
    assert!(answer.get("entries").is_none());
    let (_, answer) = read("?user=writer&kind=writes&except=leases&since_unix_us=0&limit=1").await;
    let entry = &answer["entries"][0];
    assert_eq!((&entry["verb"], &entry["status"]), (&"create".into(), &201.into()));
    let at = entry["wall_unix_us"].as_u64().unwrap();
    assert!(at <= answer["now_unix_us"].as_u64().unwrap());
    let (_, answer) = read(&format!("?user=writer&since_unix_us={}", at + 1)).await;
    assert_eq!(answer["entries"].as_array().unwrap().len(), 0);
    for bad in ["?usr=x", "?verb=put", "?kind=all", "?since_unix_us=-1", "?limit=x"] {
        assert_eq!(read(bad).await.0, StatusCode::BAD_REQUEST, "{bad}");
    }

    let put = async |plan: &'static str| {
        let request = Request::put(format!("{}/embedded/faults", listener.url()))
            .header(header::AUTHORIZATION, "Bearer t")
            .body(Full::from(plan))
            .unwrap();
        send(request, false).await
    };
    let (status, body) = put(r#"{"rules":[{"faults":["konflict"]}]}"#).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(String::from_utf8_lossy(&body).contains("konflict"));
    assert_eq!(put(r#"{"rules":[{"faults":["conflict"]}]}"#).await.0, StatusCode::OK);
    let (_, plan) = plain(&listener, "/embedded/faults", bearer).await;
    assert_eq!(serde_json::from_slice::<FaultPlan>(&plan).unwrap(), server.faults().plan());
    let writes = maps(&server.client_as("writer"));
    let refused = writes.create(&PostParams::default(), &config_map("b", "1")).await.unwrap_err();
    assert_eq!(code(refused), (409, "Conflict".to_owned()));
    server.requests().by("judge").assert_none();
}

#[tokio::test]
async fn without_introspection_there_is_nothing_under_embedded() {
    let server = EmbeddedApiServer::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    for path in ["/embedded/healthz", "/embedded/requests", "/embedded/faults"] {
        assert_eq!(plain(&listener, path, None).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}
