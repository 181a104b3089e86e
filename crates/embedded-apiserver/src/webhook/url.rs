//! URLs as Go's net/url reads them, as far as webhooks need it. Pure.

use k8s_value::go_value::quoted;

/// The parts of a URL. A part that is not there is empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    pub(crate) scheme: String,
    /// Name and password.
    pub(crate) user: Option<&'a str>,
    /// With its port.
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) fragment: &'a str,
}

impl<'a> Url<'a> {
    /// Reads a URL (`url.Parse`).
    ///
    /// # Errors
    ///
    /// Go's text, which names the URL.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let shown = text.split('#').next().unwrap_or_default();
        Self::read(text).map_err(|why| format!("parse {}: {why}", quoted(shown)))
    }

    fn read(text: &'a str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = scheme(rest)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let url = Self { scheme, query, fragment, ..Self::default() };
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                // Opaque, as `mailto:a`.
                return Ok(url);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let has_authority = !url.scheme.is_empty() || !rest.starts_with("///");
        let Some(rest) = rest.strip_prefix("//").filter(|_| has_authority) else {
            return Ok(Self { path: rest, ..url });
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        check_host(host)?;
        Ok(Self { user, host, path, ..url })
    }

    /// The host without its port and without brackets.
    pub(crate) fn host_name(&self) -> &'a str {
        match self.host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address,
            None => self.host.split(':').next().unwrap_or_default(),
        }
    }

    /// The path in its shortest form (`path.Clean`); `/` if it is empty.
    pub(crate) fn clean_path(&self) -> String {
        let mut steps: Vec<&str> = Vec::new();
        for step in self.path.split('/') {
            match step {
                "" | "." => {}
                ".." => drop(steps.pop()),
                step => steps.push(step),
            }
        }
        format!("/{}", steps.join("/"))
    }
}

/// The scheme in small letters, and what stands behind it.
fn scheme(text: &str) -> Result<(String, &str), String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let end = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.strip_prefix(':') {
        Some(_) if name.is_empty() => Err("missing protocol scheme".to_owned()),
        Some(rest) if name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            Ok((name.to_lowercase(), rest))
        }
        _ => Ok((String::new(), text)),
    }
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("missing ']' in host")?.1,
        None => host.rfind(':').map_or("", |at| &host[at..]),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let is_port = port.is_empty() || port.starts_with(':');
    if !is_port || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("invalid port {} after host", quoted(port)));
    }
    match host.chars().find(|letter| matches!(letter, ' ' | '"' | '<' | '>' | '\\' | '^' | '`')) {
        Some(letter) => {
            Err(format!("invalid character {} in host name", quoted(&letter.to_string())))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        let url = Url::parse("HTTPS://me:x@example.com:8443/a/../b//c/?q=1#f").unwrap();
        assert_eq!(url.scheme, "https");
        assert_eq!(url.user, Some("me:x"));
        assert_eq!((url.host, url.host_name()), ("example.com:8443", "example.com"));
        assert_eq!((url.query, url.fragment), ("q=1", "f"));
        assert_eq!(url.clean_path(), "/b/c");
        assert_eq!(Url::parse("https://[::1]:443").unwrap().host_name(), "::1");
        assert_eq!(Url::parse("https://[::1]:443").unwrap().clean_path(), "/");
        assert_eq!(Url::parse("example.com/a").unwrap().host, "");
    }

    #[test]
    fn errors_are_those_of_go() {
        let wrong = [
            (":a", r#"parse ":a": missing protocol scheme"#),
            ("a:b", ""),
            ("1:b", r#"parse "1:b": first path segment in URL cannot contain colon"#),
            ("https://a:b", r#"parse "https://a:b": invalid port ":b" after host"#),
            ("https://a b", r#"parse "https://a b": invalid character " " in host name"#),
        ];
        for (text, why) in wrong {
            assert_eq!(Url::parse(text).err().unwrap_or_default(), why, "{text}");
        }
    }
}
