//! `Format`: the formats that kube-apiserver checks (pkg/apiserver/validation/formats.go of
//! k8s.io/apiextensions-apiserver), as k8s.io/kube-openapi/pkg/validation/strfmt reads them.

mod net;
mod time;

use k8s_value::names;

use crate::types::Type;

/// A `format` that is checked. Other formats have no effect.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    name: &'static str,
    test: Option<fn(&str) -> bool>,
}

impl Format {
    const fn numeric(name: &'static str) -> Self {
        Self { name, test: None }
    }

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
            "uri" => ("uri", net::is_uri),
            "email" => ("email", net::is_email),
            "hostname" => ("hostname", net::is_hostname),
            "ipv4" => ("ipv4", net::is_ipv4),
            "ipv6" => ("ipv6", net::is_ipv6),
            "cidr" => ("cidr", net::is_cidr),
            "mac" => ("mac", net::is_mac),
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
            "date" => ("date", time::is_date),
            "duration" => ("duration", time::is_duration),
            "datetime" => ("datetime", time::is_date_time),
            "date-time" => ("date-time", time::is_date_time),
            "k8s-short-name" => ("k8s-short-name", is_short_name),
            "k8s-long-name" => ("k8s-long-name", is_long_name),
            _ => return None,
        };
        Some(Self { name, test: Some(test) })
    }

    /// Returns the format's name, as messages show it.
    pub const fn name(self) -> &'static str {
        self.name
    }

    pub(crate) const fn is_of_text(self) -> bool {
        self.test.is_some()
    }

    pub(crate) fn fits(self, text: &str) -> bool {
        self.test.is_none_or(|test| test(text))
    }
}

fn is_object_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
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

fn is_short_name(text: &str) -> bool {
    names::wrong_label(text).is_none()
}

fn is_long_name(text: &str) -> bool {
    names::wrong_subdomain(text).is_none()
}
