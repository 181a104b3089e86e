//! Slow, broken, oversized and too many connections: each times out, and others are served. The
//! clock is paused and advances only when all tasks are idle.

use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Listener};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// `ReadHeaderTimeout` of kube-apiserver.
const HEAD: Duration = Duration::from_secs(32);
/// `--request-timeout` of kube-apiserver.
const BODY: Duration = Duration::from_secs(60);

async fn stage() -> (EmbeddedApiServer, Listener) {
    let server = EmbeddedApiServer::new();
    let listener = server.listen("127.0.0.1:0").await.expect("a free port");
    (server, listener)
}

async fn connect(listener: &Listener, bytes: impl AsRef<[u8]>) -> TcpStream {
    let mut socket = TcpStream::connect(listener.local_addr()).await.expect("it listens");
    // The server may close before it has read everything.
    let _ = socket.write_all(bytes.as_ref()).await;
    socket
}

/// Reads until the server closes. Returns the bytes and the time.
async fn until_closed(mut socket: TcpStream) -> (String, Duration) {
    let start = Instant::now();
    let mut answer = Vec::new();
    // A shutdown and a reset both close the socket.
    let _ = socket.read_to_end(&mut answer).await;
    (String::from_utf8_lossy(&answer).into_owned(), start.elapsed())
}

/// Another client, by HTTP/1.1 or HTTP/2 on the same port.
async fn others_are_served(listener: &Listener) {
    for http2 in [false, true] {
        let client = legacy::Client::builder(TokioExecutor::new()).http2_only(http2).build_http();
        let request =
            Request::get(format!("{}{MAPS}", listener.url())).body(Full::<bytes::Bytes>::default());
        let answer = client.request(request.expect("a request")).await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        answer.into_body().collect().await.expect("whole");
    }
}

/// No more tasks than before: those of closed connections have ended.
async fn only(tasks: usize) {
    for _ in 0..1000 {
        if Handle::current().metrics().num_alive_tasks() <= tasks {
            return;
        }
        sleep(Duration::from_secs(1)).await;
    }
    panic!("{} tasks instead of {tasks}", Handle::current().metrics().num_alive_tasks());
}

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_end_is_waited_for_half_a_minute() {
    let (_server, listener) = stage().await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    for begun in [
        "",
        "G",
        "GET /api HTTP/1.1\r\nhost: x\r\n",
        "PRI * HTTP/2.0\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let (answer, took) = until_closed(connect(&listener, begun).await).await;
        assert!(took <= HEAD + Duration::from_secs(1), "{begun:?}: {took:?}");
        assert!(!answer.contains("200 OK"), "{answer}");
        others_are_served(&listener).await;
    }
    only(tasks).await;
}

#[tokio::test(start_paused = true)]
async fn a_head_that_comes_byte_by_byte_is_not_waited_for_longer() {
    let (_server, listener) = stage().await;
    let mut socket = connect(&listener, "GET /version HTTP/1.1\r\nx: ").await;
    let start = Instant::now();
    // A write to a closed socket fails, at the latest the second time.
    while socket.write_all(b"x").await.is_ok() {
        assert!(start.elapsed() <= HEAD + Duration::from_secs(20), "still open");
        sleep(Duration::from_secs(5)).await;
    }
    others_are_served(&listener).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_waited_for_a_minute_and_answered() {
    let (server, listener) = stage().await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    let mut socket = connect(&listener, head).await;
    let start = Instant::now();
    let mut answer = vec![0; 4096];
    let length = socket.read(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(
        answer.starts_with("HTTP/1.1 504 ") && answer.contains("\"reason\":\"Timeout\""),
        "{answer}"
    );
    assert!(
        (BODY..BODY + Duration::from_secs(1)).contains(&start.elapsed()),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(server.revision(), EmbeddedApiServer::new().revision(), "nothing was written");
    drop(socket);
    others_are_served(&listener).await;
    only(tasks).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_of_more_than_three_mebibytes_is_413_however_long_it_is_said_to_be() {
    let (_server, listener) = stage().await;
    let big = "x".repeat(3 * 1024 * 1024 + 1);
    for length in
        [format!("content-length: {}", big.len()), "content-length: 1000000000000".to_owned()]
    {
        let head = format!(
            "POST {MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{length}\r\n\r\n"
        );
        let mut socket = connect(&listener, head + &big).await;
        let mut answer = vec![0; 4096];
        let length = socket.read(&mut answer).await.expect("an answer");
        let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        let status: Value = serde_json::from_str(body).unwrap_or_default();
        assert_eq!(status["reason"], "RequestEntityTooLarge", "{answer}");
        others_are_served(&listener).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_http_is_refused_or_closed() {
    let (_server, listener) = stage().await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let flood = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(200_000));
    let long = format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(2 << 20));
    for sent in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(), /* The start of a TLS
                                                                     * handshake. */
        b"\0\0\0\0\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /api/v1/\xff HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        flood.as_bytes(),
        long.as_bytes(),
    ] {
        let (answer, took) = until_closed(connect(&listener, sent).await).await;
        let shown = String::from_utf8_lossy(&sent[..sent.len().min(40)]).into_owned();
        assert!(took <= BODY + Duration::from_secs(31), "{shown:?}: {took:?}");
        assert!(!answer.starts_with("HTTP/1.1 2"), "{shown:?}: {answer}");
        others_are_served(&listener).await;
    }
    only(tasks).await;
}

#[tokio::test(start_paused = true)]
async fn paths_that_lead_elsewhere_lead_nowhere() {
    let (_server, listener) = stage().await;
    for path in [
        "/../../etc/passwd",
        "/api/v1/namespaces/default/configmaps/../secrets",
        "/api/v1/namespaces/default/configmaps/..",
        "/api/v1/namespaces/default/configmaps/%2e%2e",
        "/api/v1/namespaces/default/configmaps/a%2f..%2f..%2fb",
        "/api/v1/namespaces/default/configmaps/%00",
        "/api/v1/namespaces/default/configmaps/%ff",
        "/api/v1/namespaces/default/configmaps/a%",
        "/api/v1/namespaces/%2e%2e/configmaps/a",
        "//api/v1/namespaces",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let (answer, _) = until_closed(connect(&listener, request).await).await;
        let code = answer.split(' ').nth(1).unwrap_or_default();
        assert!(
            matches!(code, "400" | "404") || answer.contains("no object can be in a namespace"),
            "{path}: {answer}"
        );
        assert!(!answer.contains("root:"), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_no_more_is_answered_or_let_go() {
    let (_server, listener) = stage().await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    for path in ["/version".to_owned(), format!("{MAPS}?watch=1")] {
        let mut socket =
            connect(&listener, format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        socket.shutdown().await.expect("its half is closed");
        let (_, took) = until_closed(socket).await;
        assert!(took < Duration::from_secs(1), "{path}: {took:?}");
    }
    only(tasks).await;
}

#[tokio::test(start_paused = true)]
async fn two_thousand_connections_that_come_and_go_leave_nothing() {
    let (server, listener) = stage().await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    for round in 0..2_000 {
        let begun = match round % 4 {
            0 => String::new(),
            1 => "GET /ver".to_owned(),
            2 => format!("GET {MAPS}?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n"),
            _ => format!("POST {MAPS} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{{"),
        };
        drop(connect(&listener, begun).await);
    }
    others_are_served(&listener).await;
    only(tasks).await;
    assert_eq!(server.faults().live_watches(&embedded_apiserver::Match::any()), 0);
}
