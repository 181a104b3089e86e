//! The listener with TLS: generated and given certificates, kube by the kubeconfig, HTTP/1.1 and
//! HTTP/2, tokens and roles. Real sockets need the real clock. Nothing sleeps; a time limit only
//! ends a failed test.

use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Tls, TlsError, User};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::objects::{code, config_map};

const LIMIT: Duration = Duration::from_secs(20);

async fn client(kubeconfig: &str) -> Client {
    let parsed = Kubeconfig::from_yaml(kubeconfig).expect("kube reads it");
    let mut config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
        .await
        .expect("usable");
    config.default_retry = false;
    config.proxy_url = None;
    Client::try_from(config).expect("a client")
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

#[tokio::test]
async fn kube_works_by_the_kubeconfig_with_the_authority_inline() {
    let server = EmbeddedApiServer::builder().token("alice", "a-secret").build();
    let listener = server.listen_tls("127.0.0.1:0", &Tls::self_signed().unwrap()).await.unwrap();
    assert!(listener.url().starts_with("https://127.0.0.1:"));
    let kubeconfig = listener.kubeconfig("alice");
    assert!(!kubeconfig.contains("alice:"), "the token is not in the URL");
    let maps = maps(client(&kubeconfig).await);
    maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let mut events = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    timeout(LIMIT, events.next())
        .await
        .expect("in time")
        .expect("an event")
        .expect("of a ConfigMap");
    server.requests().by("alice").assert_exactly(2);
    listener.shutdown().await;
    // A bookmark may be pending.
    while let Some(Ok(_)) = timeout(LIMIT, events.next()).await.expect("the watch ends") {}
}

#[tokio::test]
async fn who_trusts_another_authority_does_not_connect() {
    let server = EmbeddedApiServer::new();
    let listener = server.listen_tls("127.0.0.1:0", &Tls::self_signed().unwrap()).await.unwrap();
    let other = server.listen_tls("127.0.0.1:0", &Tls::self_signed().unwrap()).await.unwrap();
    let wrong = other.kubeconfig("x").replace(&other.url(), &listener.url());
    assert!(maps(client(&wrong).await).list(&ListParams::default()).await.is_err());
    let right = client(&listener.kubeconfig("x")).await;
    assert!(maps(right).list(&ListParams::default()).await.is_ok());
}

#[tokio::test]
async fn tokens_and_roles_hold_over_tls() {
    let server = EmbeddedApiServer::builder()
        .rbac(true)
        .token(User::new("root").group("system:masters"), "root-token")
        .token("bob", "bob-token")
        .build();
    let listener = server.listen_tls("127.0.0.1:0", &Tls::self_signed().unwrap()).await.unwrap();
    let list =
        async |text: &str| maps(client(text).await).list(&ListParams::default()).await.map(drop);
    assert!(list(&listener.kubeconfig("root")).await.is_ok());
    assert_eq!(
        code(list(&listener.kubeconfig("bob")).await.unwrap_err()),
        (403, "Forbidden".to_owned())
    );
    // Without a token: anonymous, with the roles of that user.
    assert_eq!(
        code(list(&listener.kubeconfig("nobody")).await.unwrap_err()),
        (403, "Forbidden".to_owned())
    );
    let wrong = listener.kubeconfig("bob").replace("bob-token", "x");
    assert_eq!(code(list(&wrong).await.unwrap_err()), (401, "Unauthorized".to_owned()));
    server.requests().by("system:anonymous").assert_exactly(2);
}

#[tokio::test]
async fn a_client_that_speaks_no_tls_is_sent_away() {
    let server = EmbeddedApiServer::new();
    let listener = server.listen_tls("127.0.0.1:0", &Tls::self_signed().unwrap()).await.unwrap();
    let mut socket = TcpStream::connect(listener.local_addr()).await.unwrap();
    socket.write_all(b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(LIMIT, socket.read_to_end(&mut answer)).await.expect("the socket is closed");
    assert!(!answer.starts_with(b"HTTP"), "{:?}", String::from_utf8_lossy(&answer));
    assert!(
        maps(client(&listener.kubeconfig("x")).await).list(&ListParams::default()).await.is_ok()
    );
}

#[test]
fn certificates_that_cannot_be_used_are_refused_by_what_is_wrong() {
    let own = Tls::self_signed().unwrap();
    let authority = own.authority();
    assert!(matches!(Tls::from_pem("", "", authority), Err(TlsError::Certificates { .. })));
    assert!(matches!(Tls::from_pem(authority, "no key", authority), Err(TlsError::Key { .. })));
    assert!(matches!(Tls::from_pem(authority, "", "nothing"), Err(TlsError::Certificates { .. })));
    let broken = authority.replace("-----BEGIN", "-----BEGINS");
    let said = Tls::from_pem(&broken, "", authority).unwrap_err().to_string();
    assert!(
        said.starts_with("cannot read the certificates: ") && said.contains("give PEM"),
        "{said}"
    );
    assert!(!format!("{own:?}").contains("PRIVATE"));
}
