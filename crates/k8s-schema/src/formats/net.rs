//! Formats of the net: addresses, hosts, links and mail.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

/// Go's `url.ParseRequestURI`, as far as it refuses something.
pub(super) fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let (scheme, rest) = match text.split_once(':') {
        Some(("", _)) => return false,
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, text),
    };
    let path = rest.split(['?']).next().unwrap_or_default();
    if !rest.starts_with('/') {
        // Without a slash it is opaque, if there is a scheme.
        return scheme.is_some();
    }
    let (authority, path) = match path.strip_prefix("//") {
        Some(after) if scheme.is_some() || !path.starts_with("///") => match after.find('/') {
            Some(at) => (after.get(..at), after.get(at..).unwrap_or_default()),
            None => (Some(after), ""),
        },
        _ => (None, path),
    };
    authority.is_none_or(is_authority) && escapes_are_whole(path)
}

fn is_authority(authority: &str) -> bool {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    let in_user = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(in_user) || !escapes_are_whole(user) {
        return false;
    }
    let port_is_digits = |port: &str| port.chars().all(|c| c.is_ascii_digit());
    if let Some(bracketed) = host.strip_prefix('[') {
        let Some((address, port)) = bracketed.rsplit_once(']') else { return false };
        let address = address.split('%').next().unwrap_or_default();
        return address.parse::<Ipv6Addr>().is_ok()
            && (port.is_empty() || port.strip_prefix(':').is_some_and(port_is_digits));
    }
    let (host, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let in_host = |c: char| {
        !c.is_ascii() || c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:[]<>\"%".contains(c)
    };
    port_is_digits(port) && host.chars().all(in_host) && escapes_are_whole(host)
}

/// Every percent sign is followed by two hexadecimal digits.
fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let mut digits = after.bytes();
        digits.next().is_some_and(|b| b.is_ascii_hexdigit())
            && digits.next().is_some_and(|b| b.is_ascii_hexdigit())
    })
}

/// Go's `mail.ParseAddress`: `a@b`, or a display name before `<a@b>`.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    let address = match text.strip_suffix('>') {
        Some(inner) => match inner.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atom =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    let dotted =
        |text: &str| text.split('.').all(|part| !part.is_empty() && part.chars().all(atom));
    let quoted = local.len() > 2
        && local
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .is_some_and(|rest| !rest.contains('"'));
    let literal =
        domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).is_some_and(|address| {
            address.parse::<Ipv4Addr>().is_ok()
                || address
                    .strip_prefix("IPv6:")
                    .is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
        });
    (dotted(local) || quoted) && (dotted(domain) || literal)
}

pub(super) fn is_hostname(text: &str) -> bool {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = "^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|([a-zA-Z0-9\\p{S}\\p{L}]\
                       (([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$";
        Regex::new(pattern).ok()
    });
    text.len() <= 255
        && text.split('.').all(|part| part.len() <= 63)
        && PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// An IPv4 address whose numbers may begin with zeros.
fn sloppy_ipv4(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_byte = |part: &&str| {
        !part.is_empty()
            && part.len() <= 16
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.parse::<u64>().is_ok_and(|number| number <= 255)
    };
    parts.len() == 4 && parts.iter().all(is_byte)
}

pub(super) fn is_ipv4(text: &str) -> bool {
    sloppy_ipv4(text) || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok())
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match () {
        () if sloppy_ipv4(address) => 32,
        () if is_ipv6(address) => 128,
        () => return false,
    };
    !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

pub(super) fn is_mac(text: &str) -> bool {
    let groups = |separator: char, digits: usize, counts: &[usize]| {
        let groups: Vec<&str> = text.split(separator).collect();
        counts.contains(&groups.len())
            && groups
                .iter()
                .all(|group| group.len() == digits && group.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}
