//! Requests of the manager's clients, over real sockets: counted, and errors that name the server.

use std::net::{Ipv4Addr, SocketAddr};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config};
use reconciler::{AdminServer, Failure, Manager};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::bench::start;
use crate::serving::{get, loopback};

fn client(manager: &Manager, server: SocketAddr) -> Client {
    manager.client(Config::new(format!("http://{server}").parse().unwrap())).unwrap()
}

/// Answers each connection once.
async fn answer(listener: TcpListener, answers: &[&str]) {
    for answer in answers {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert!(connection.read(&mut request).await.unwrap() > 0);
        connection.write_all(answer.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn requests_are_counted_by_code_method_and_host_and_errors_name_the_host() {
    let admin = AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let manager = Manager::builder().admin(admin).build().unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let server = listener.local_addr().unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&manager, server));
    let end = "connection: close\r\ncontent-length: 2\r\n\r\n{}";
    let answers = [
        format!("HTTP/1.1 200 OK\r\n{end}"),
        format!("HTTP/1.1 404 Not Found\r\n{end}"),
        format!("HTTP/1.1 404 Not Found\r\n{end}"),
    ];
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let asked = async {
        maps.get("a").await.unwrap();
        maps.get("b").await.unwrap_err();
        maps.delete("c", &Default::default()).await.unwrap_err();
    };
    tokio::join!(asked, answer(listener, &answers));
    // The listener is gone.
    let failure = Failure::from(maps.get("d").await.unwrap_err()).to_string();
    let expected = format!("ServiceError: no answer from {server}: ");
    assert!(failure.starts_with(&expected), "{failure}");
    assert!(failure.contains("Connection refused"), "{failure}");
    let running = start(manager);
    let (_, text) = get(address, "/metrics").await;
    for (code, method, count) in
        [("200", "GET", 1), ("404", "GET", 1), ("404", "DELETE", 1), ("<error>", "GET", 1)]
    {
        let line = format!(
            "rest_client_requests_total{{code=\"{code}\",method=\"{method}\",host=\"{server}\"}} {count}"
        );
        assert!(text.lines().any(|shown| shown == line), "no line {line} in:\n{text}");
    }
    running.stop().await;
}

/// As API priority and fairness answers: no JSON.
#[tokio::test]
async fn the_header_of_an_overloaded_server_says_when_to_ask_again() {
    let manager = Manager::builder().build().unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut server =
        Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
    server.default_retry = false;
    let maps: Api<ConfigMap> = Api::default_namespaced(manager.client(server).unwrap());
    let text = "HTTP/1.1 429 Too Many Requests\r\ncontent-type: text/plain\r\nretry-after: 30\r\n\
        connection: close\r\ncontent-length: 4\r\n\r\nbusy";
    let answers = [text];
    let (asked, ()) = tokio::join!(maps.get("a"), answer(listener, &answers));
    let failure = Failure::from(asked.unwrap_err());
    let status = failure.status().unwrap();
    assert_eq!((status.code, status.details.as_ref().unwrap().retry_after_seconds), (429, 30));
    assert!(failure.to_string().contains("ask again in 30 s"), "{failure}");
}
