//! A kubeconfig for the server's URL, readable by kube, client-go and kubectl.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The YAML text for one user. Strings are written as JSON strings, which YAML takes as they are.
/// `authority`: the certificate that the server's own is signed by, as PEM.
///
/// Over plain HTTP the token appears twice: kube sends it as a bearer token, while client-go and
/// kubectl send none (clientcmd reads a user's credentials only for TLS) but do send the user part
/// of the server's URL.
pub(crate) fn kubeconfig(
    url: &str,
    user: &str,
    token: Option<&str>,
    authority: Option<&str>,
) -> String {
    let server = match (url.split_once("://"), token) {
        (Some(("http", rest)), Some(token)) => {
            format!("http://{}:{}@{rest}", escaped(user), escaped(token))
        }
        _ => url.to_owned(),
    };
    let trust = authority.map_or_else(String::new, |authority| {
        format!(", certificate-authority-data: {}", STANDARD.encode(authority))
    });
    let credentials =
        token.map_or_else(|| "{}".to_owned(), |token| format!("{{token: {}}}", quoted(token)));
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: embedded\n\
         \x20 cluster: {{server: {server}{trust}}}\n\
         users:\n\
         - name: {user}\n\
         \x20 user: {credentials}\n\
         contexts:\n\
         - name: embedded\n\
         \x20 context: {{cluster: embedded, user: {user}, namespace: default}}\n\
         current-context: embedded\n",
        server = quoted(&server),
        user = quoted(user),
    )
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn escaped(text: &str) -> impl std::fmt::Display {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
}

#[cfg(test)]
mod tests;
