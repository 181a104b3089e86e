//! Users with static bearer tokens, as kube-apiserver's `--token-auth-file` has them, and the
//! kubeconfigs they use.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::error::Error;

/// Who may do everything; there always is one.
pub(crate) const ADMIN: &str = "admin";
const ADMIN_GROUP: &str = "system:masters";

#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) token: String,
    groups: Vec<String>,
}

impl User {
    pub(crate) fn new(name: &str, token: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        Self { name: name.to_owned(), token: token.to_owned(), groups }
    }

    /// The user who may do everything, with a token that nobody can guess.
    pub(crate) fn admin() -> Result<Self, Error> {
        Ok(Self::new(ADMIN, &secret()?, &[ADMIN_GROUP]))
    }

    /// The line of the token file, or which field cannot stand in one.
    pub(crate) fn line(&self) -> Result<String, Error> {
        let groups = self.groups.iter().map(|group| ("group", group));
        for (field, value) in
            [("name", &self.name), ("token", &self.token)].into_iter().chain(groups)
        {
            let breaks = |c: char| {
                c == ',' || c == '"' || c.is_control() || (field == "token" && c.is_whitespace())
            };
            if value.is_empty() || value.contains(breaks) {
                let shown = if field == "token" { String::new() } else { value.clone() };
                return Err(Error::User { field, value: shown });
            }
        }
        let Self { name, token, groups } = self;
        Ok(format!("{token},{name},{name},\"{}\"\n", groups.join(",")))
    }
}

/// A kubeconfig with one user, as YAML (which every JSON document is).
pub(crate) fn kubeconfig(url: &str, ca: &Path, token: &str, namespace: &str) -> String {
    let quote = |text: &str| format!("{text:?}");
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: real\n\
         clusters:\n- name: real\n  cluster:\n    server: {}\n    certificate-authority: {}\n\
         users:\n- name: user\n  user:\n    token: {}\n\
         contexts:\n- name: real\n  context: {{cluster: real, user: user, namespace: {}}}\n",
        quote(url),
        quote(&ca.to_string_lossy()),
        quote(token),
        quote(namespace),
    )
}

/// Writes a file that only its owner may read.
pub(crate) fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// 128 bits from the system.
fn secret() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut source| io::Read::read_exact(&mut source, &mut bytes))
        .map_err(Error::io("draw a token from /dev/urandom"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{User, kubeconfig};
    use std::path::Path;

    #[test]
    fn a_user_becomes_a_line_of_the_token_file() {
        let line = User::new("alice", "secret", &["a", "b"]).line().unwrap();
        assert_eq!(line, "secret,alice,alice,\"a,b\"\n");
    }

    #[test]
    fn what_would_break_the_file_is_refused_and_a_token_never_shown() {
        for (user, field) in [
            (User::new("", "t", &[]), "name"),
            (User::new("a\nb", "t", &[]), "name"),
            (User::new("a", "to ken", &[]), "token"),
            (User::new("a", "secret,", &[]), "token"),
            (User::new("a", "t", &["g\"h"]), "group"),
        ] {
            let said = user.line().unwrap_err().to_string();
            assert!(said.contains(field), "{said}");
            assert!(!said.contains("secret"), "{said}");
        }
    }

    #[test]
    fn a_kubeconfig_quotes_what_it_is_given() {
        let text = kubeconfig("https://127.0.0.1:1", Path::new("/a \"b\"/ca"), "t", "n");
        assert!(text.contains("certificate-authority: \"/a \\\"b\\\"/ca\""), "{text}");
    }
}
