//! The text itself; that kube reads it is tested in tests/it.

use super::kubeconfig;

#[test]
fn a_token_is_given_to_kube_and_to_kubectl() {
    let text = kubeconfig("http://127.0.0.1:6443", "replica-1", Some("a b\"c"), None);
    assert!(text.contains("server: \"http://replica%2D1:a%20b%22c@127.0.0.1:6443\""), "{text}");
    assert!(text.contains("user: {token: \"a b\\\"c\"}"), "{text}");
}

#[test]
fn without_a_token_the_url_stays_as_it_is() {
    let text = kubeconfig("http://[::1]:6443", "anyone", None, None);
    assert!(text.contains("server: \"http://[::1]:6443\""), "{text}");
    assert!(text.contains("user: {}"), "{text}");
}

#[test]
fn with_tls_the_authority_is_inline_and_the_token_is_not_in_the_url() {
    let text = kubeconfig("https://127.0.0.1:6443", "alice", Some("t"), Some("PEM"));
    let cluster = "cluster: {server: \"https://127.0.0.1:6443\", certificate-authority-data: UEVN}";
    assert!(text.contains(cluster), "{text}");
    assert!(text.contains("user: {token: \"t\"}"), "{text}");
}
