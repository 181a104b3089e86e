//! `format`: those that kube-apiserver checks (pkg/apiserver/validation/formats.go of
//! k8s.io/apiextensions-apiserver), as k8s.io/kube-openapi/pkg/validation/strfmt reads them. All
//! others say nothing.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use crate::schema::Type;
use k8s_value::names;

/// A format that is checked, by its name in messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    name: &'static str,
    test: Option<fn(&str) -> bool>,
}

impl Format {
    const fn numeric(name: &'static str) -> Self {
        Self { name, test: None }
    }

    /// The format of a type; none if it is not one that is checked.
    pub(crate) fn read(types: Type, name: &str) -> Option<Self> {
        match (types, name) {
            (Type::Integer, "int32") => Some(Self::numeric("int32")),
            (Type::Integer, "int64") => Some(Self::numeric("int64")),
            (Type::Number, "float") => Some(Self::numeric("float")),
            (Type::Number, "double") => Some(Self::numeric("double")),
            (Type::Any | Type::String | Type::IntOrString, name) => Self::of_text(name),
            _ => None,
        }
    }

    fn of_text(name: &str) -> Option<Self> {
        // Dashes do not count, but are shown as they were written.
        let (name, test): (_, fn(&str) -> bool) = match name {
            "bsonobjectid" => ("bsonobjectid", is_object_id),
            "uri" => ("uri", is_uri),
            "email" => ("email", is_email),
            "hostname" => ("hostname", is_hostname),
            "ipv4" => ("ipv4", is_ipv4),
            "ipv6" => ("ipv6", is_ipv6),
            "cidr" => ("cidr", is_cidr),
            "mac" => ("mac", is_mac),
            "uuid" => ("uuid", |text| is_uuid(text, None)),
            "uuid3" => ("uuid3", |text| is_uuid(text, Some('3'))),
            "uuid4" => ("uuid4", |text| is_uuid(text, Some('4'))),
            "uuid5" => ("uuid5", |text| is_uuid(text, Some('5'))),
            "isbn" => ("isbn", |text| is_isbn10(text) || is_isbn13(text)),
            "isbn10" => ("isbn10", is_isbn10),
            "isbn13" => ("isbn13", is_isbn13),
            "creditcard" => ("creditcard", is_credit_card),
            "ssn" => ("ssn", is_ssn),
            "hexcolor" => ("hexcolor", is_hex_color),
            "rgbcolor" => ("rgbcolor", is_rgb_color),
            "byte" => ("byte", is_base64),
            "password" => ("password", |_| true),
            "date" => ("date", is_date),
            "duration" => ("duration", is_duration),
            "datetime" => ("datetime", is_date_time),
            "date-time" => ("date-time", is_date_time),
            "k8s-short-name" => ("k8s-short-name", is_short_name),
            "k8s-long-name" => ("k8s-long-name", is_long_name),
            _ => return None,
        };
        Some(Self { name, test: Some(test) })
    }

    pub(crate) const fn name(self) -> &'static str {
        self.name
    }

    pub(super) const fn is_of_text(self) -> bool {
        self.test.is_some()
    }

    pub(super) fn fits(self, text: &str) -> bool {
        self.test.is_none_or(|test| test(text))
    }
}

fn is_object_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Go's `url.ParseRequestURI`, as far as it refuses something.
fn is_uri(text: &str) -> bool {
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
fn is_email(text: &str) -> bool {
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

fn is_hostname(text: &str) -> bool {
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

fn is_ipv4(text: &str) -> bool {
    sloppy_ipv4(text) || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok())
}

fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
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

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, digits: usize, counts: &[usize]| {
        let groups: Vec<&str> = text.split(separator).collect();
        counts.contains(&groups.len())
            && groups
                .iter()
                .all(|group| group.len() == digits && group.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    let mut hex = String::with_capacity(32);
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((part, after)) = rest.split_at_checked(length) else { return false };
        hex.push_str(part);
        rest = after;
    }
    if !rest.is_empty() || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return false;
    }
    let digit = |at: usize| hex.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
    let variant = matches!(digit(16), '8' | '9' | 'a' | 'b' | 'A' | 'B');
    match version {
        None => true,
        Some('3') => digit(12) == '3',
        Some(version) => digit(12) == version && variant,
    }
}

fn without_space_and_dash(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '-' | ' ' | '\t' | '\n' | '\u{c}' | '\r')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = without_space_and_dash(text);
    let value = |at: usize, c: char| match c {
        'X' if at == 9 => Some(10),
        c => c.to_digit(10),
    };
    let values: Option<Vec<u32>> = digits.chars().enumerate().map(|(at, c)| value(at, c)).collect();
    values.is_some_and(|values| {
        let sum: u32 = (1..).zip(&values).map(|(weight, value)| weight * value).sum();
        values.len() == 10 && sum.is_multiple_of(11)
    })
}

fn is_isbn13(text: &str) -> bool {
    let digits = without_space_and_dash(text);
    let values: Option<Vec<u32>> = digits.chars().map(|c| c.to_digit(10)).collect();
    values.is_some_and(|values| {
        let sum: u32 =
            [1, 3].into_iter().cycle().zip(&values).map(|(weight, value)| weight * value).sum();
        values.len() == 13 && sum.is_multiple_of(10)
    })
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let starts = |prefix: &[u32]| digits.starts_with(prefix);
    let among =
        |at: usize, wanted: &[u32]| digits.get(at).is_some_and(|digit| wanted.contains(digit));
    let known = match digits.len() {
        13 => starts(&[4]),
        14 => starts(&[3, 0]) && among(2, &[0, 1, 2, 3, 4, 5]) || starts(&[3]) && among(1, &[6, 8]),
        15 => starts(&[3]) && among(1, &[4, 7]) || starts(&[2, 1, 3, 1]) || starts(&[1, 8, 0, 0]),
        16 => {
            starts(&[4])
                || starts(&[5]) && among(1, &[1, 2, 3, 4, 5])
                || starts(&[6, 0, 1, 1])
                || starts(&[6, 5])
                || starts(&[3, 5])
        }
        _ => false,
    };
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| if at % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    known && sum.is_multiple_of(10)
}

fn is_ssn(text: &str) -> bool {
    let mut rest = text;
    for (at, length) in [3, 2, 4].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(['-', ' ']).unwrap_or(rest);
        }
        let Some((part, after)) = rest.split_at_checked(length) else { return false };
        if !part.bytes().all(|b| b.is_ascii_digit()) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_rgb_color(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let is_part = |part: &str| {
        let part = part.trim_matches([' ', '\t', '\n', '\u{c}', '\r']);
        (part == "0" || !part.starts_with('0'))
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.parse::<u8>().is_ok()
    };
    inner.split(',').count() == 3 && inner.split(',').all(is_part)
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    !digits.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

fn is_date(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(at, b)| match at {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        });
    shape && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time).is_some()
}

/// `hh:mm:ss`, perhaps a fraction after any one character, and a zone.
fn is_time(text: &str) -> Option<()> {
    fn two(text: &str, most: &str) -> Option<()> {
        (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()) && text <= most).then_some(())
    }
    two(text.get(0..2)?, "23")?;
    two(text.get(3..5)?, "59")?;
    two(text.get(6..8)?, "59")?;
    (text.get(2..3)? == ":" && text.get(5..6)? == ":").then_some(())?;
    let rest = text.get(8..)?;
    let zone = match rest.strip_suffix('z') {
        Some(fraction) => fraction,
        None => {
            let (fraction, zone) = rest.split_at_checked(rest.len().checked_sub(6)?)?;
            let zone = zone.strip_prefix(['+', '-'])?;
            two(zone.get(0..2)?, "99")?;
            two(zone.get(3..5)?, "99")?;
            (zone.get(2..3)? == ":").then_some(())?;
            fraction
        }
    };
    let mut fraction = zone.chars();
    let is_fraction = match fraction.next() {
        None => true,
        Some('\n') => false,
        Some(_) => !fraction.as_str().is_empty() && fraction.all(|c| c.is_ascii_digit()),
    };
    is_fraction.then_some(())
}

/// Go's `time.ParseDuration`, or words as `3 days`.
fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_worded_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        if !digits.bytes().any(|b| b.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        if !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        rest = after;
    }
    true
}

fn is_worded_duration(text: &str) -> bool {
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "µs"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    let known = |word: &str| {
        let word = word.to_lowercase();
        UNITS
            .iter()
            .any(|(whole, beginning)| whole.contains(&word.as_str()) || word.starts_with(beginning))
    };
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest =
            rest.get(start..).unwrap_or_default().trim_start_matches(|c: char| c.is_ascii_digit());
        let word = rest.trim_start_matches([' ', '\t', '\n', '\u{c}', '\r']);
        let end = word.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(word.len());
        if known(word.get(..end).unwrap_or_default()) {
            return true;
        }
    }
    false
}

fn is_short_name(text: &str) -> bool {
    names::wrong_label(text).is_none()
}

fn is_long_name(text: &str) -> bool {
    names::wrong_subdomain(text).is_none()
}
