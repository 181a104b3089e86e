//! The client of an API server behind the proxy: it goes there directly, and passes on every answer
//! as it is.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::anyhow;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

/// The variables in which kube looks for a proxy, in its order.
const VARIABLES: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];

pub(super) async fn client(file: Kubeconfig, context: Option<String>) -> anyhow::Result<Client> {
    let by_file = names_a_proxy(&file, context.as_deref());
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    let mut config =
        Config::from_custom_kubeconfig(file, &options).await.map_err(|error| match error {
            KubeconfigError::ParseProxyUrl(_) => no_proxy(by_file),
            error => error.into(),
        })?;
    // As Go has it: the environment's proxy is not for this machine itself.
    if !by_file && config.cluster_url.host().is_some_and(is_loopback) {
        config.proxy_url = None;
    }
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    Client::try_from(config).map_err(|error| match error {
        kube::Error::ProxyProtocolDisabled { .. }
        | kube::Error::ProxyProtocolUnsupported { .. } => no_proxy(by_file),
        error => error.into(),
    })
}

/// What a server says of itself, as in `kube-apiserver v1.36.3`.
pub(super) async fn version(client: &Client) -> Result<String, kube::Error> {
    Ok(format!("kube-apiserver {}", client.apiserver_version().await?.git_version))
}

/// Why a request failed, in one line: a server's refusal in its own words, all else with its
/// causes.
pub(super) fn why(error: kube::Error) -> anyhow::Error {
    match error {
        kube::Error::Api(status) if status.message.is_empty() => {
            anyhow!("refused: {}", status.reason)
        }
        kube::Error::Api(status) => anyhow!("refused: {}", status.message),
        error => anyhow!("{}", chain(&error)),
    }
}

/// An error with its causes, each once.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut said = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !said.iter().any(|known| known.contains(&words)) {
            said.push(words);
        }
        cause = error.source();
    }
    said.join(": ")
}

/// Without the proxy's address, in which a password may stand.
fn no_proxy(by_file: bool) -> anyhow::Error {
    if by_file {
        return anyhow!(
            "its proxy-url names a proxy, and the demo reaches API servers only directly"
        );
    }
    let set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    let name = VARIABLES.into_iter().find(set).unwrap_or(VARIABLES[0]);
    anyhow!(
        "{name} names a proxy, and the demo reaches API servers only directly: unset {name} for the demo"
    )
}

/// Whether the cluster of this context is behind a proxy by the file's own word.
fn names_a_proxy(file: &Kubeconfig, context: Option<&str>) -> bool {
    let context = context.or(file.current_context.as_deref());
    let context = file.contexts.iter().find(|named| Some(&*named.name) == context);
    let cluster = context.and_then(|named| named.context.as_ref()).map(|context| &*context.cluster);
    let cluster = file.clusters.iter().find(|named| Some(&*named.name) == cluster);
    let proxy = cluster
        .and_then(|named| named.cluster.as_ref())
        .and_then(|cluster| cluster.proxy_url.as_deref());
    proxy.is_some_and(|proxy| !proxy.is_empty())
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use kube::config::Kubeconfig;

    use super::{client, is_loopback, why};

    #[test]
    fn only_this_machine_is_loopback() {
        for host in ["localhost", "127.0.0.1", "127.9.0.1", "::1", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["10.0.0.1", "example.com", "localhost.example.com", "[fe80::1]"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[tokio::test]
    async fn a_proxy_that_the_file_names_is_refused_without_its_address() {
        let file = "
            current-context: c
            contexts: [{name: c, context: {cluster: k}}]
            clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1', proxy-url: 'http://me:secret@example.com'}}]
        ";
        let Err(error) = client(Kubeconfig::from_yaml(file).unwrap(), None).await else {
            panic!("a client that would go around the proxy");
        };
        let line = format!("{error:#}");
        assert!(line.contains("proxy-url") && !line.contains("secret"), "{line}");
    }

    #[test]
    fn a_refusal_is_told_in_the_servers_words_alone() {
        let status = kube::core::Status::failure("Unauthorized", "Unauthorized").with_code(401);
        assert_eq!(why(kube::Error::Api(status.boxed())).to_string(), "refused: Unauthorized");
    }
}
