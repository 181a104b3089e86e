//! Why a webhook's certificate is not accepted, in the words of Go's crypto/x509. Pure.

use std::net::IpAddr;
use std::time::Duration;

use rustls::CertificateError;
use rustls::pki_types::{ServerName, UnixTime};

/// The text behind `x509: `.
pub(super) fn text(error: &CertificateError) -> String {
    match error {
        // A wrong signature: the bundle has another authority of the same name. Go adds a hint.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate signed by unknown authority".to_owned()
        }
        CertificateError::ExpiredContext { time, not_after } => {
            outdated(*time, "is after", *not_after)
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            outdated(*time, "is before", *not_before)
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            wrong_name(expected, presented)
        }
        // Go accepts it.
        CertificateError::Other(why) if format!("{why:?}").contains("CaUsedAsEndEntity") => {
            "this server takes no certificate of an authority (CA:TRUE) for that of a server: \
             make one with CA:FALSE"
                .to_owned()
        }
        other => other.to_string(),
    }
}

fn outdated(now: UnixTime, relation: &str, limit: UnixTime) -> String {
    let text = |time: UnixTime| {
        let time = jiff::Timestamp::UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
        time.map_or_else(|_| "?".to_owned(), |time| time.to_string())
    };
    let (now, limit) = (text(now), text(limit));
    format!("certificate has expired or is not yet valid: current time {now} {relation} {limit}")
}

/// `x509.HostnameError`.
fn wrong_name(expected: &ServerName<'_>, presented: &[String]) -> String {
    let inside = |name: &str, begin: &str, end: &str| {
        Some(name.strip_prefix(begin)?.strip_suffix(end)?.to_owned())
    };
    let expected = expected.to_str();
    let is_address = expected.parse::<IpAddr>().is_ok();
    let valid = presented.iter().filter_map(|name| match is_address {
        true => inside(name, "IpAddress(", ")"),
        false => inside(name, "DnsName(\"", "\")"),
    });
    let valid: Vec<String> = valid.collect();
    match (valid.is_empty(), is_address) {
        (true, true) => format!(
            "cannot validate certificate for {expected} because it doesn't contain any IP SANs"
        ),
        (true, false) => {
            format!("certificate is not valid for any names, but wanted to match {expected}")
        }
        (false, _) => format!("certificate is valid for {}, not {expected}", valid.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(host: &str, presented: &[&str]) -> String {
        let expected = ServerName::try_from(host.to_owned()).unwrap();
        let presented = presented.iter().map(|name| (*name).to_owned()).collect();
        text(&CertificateError::NotValidForNameContext { expected, presented })
    }

    #[test]
    fn a_wrong_name_is_told_beside_the_right_ones() {
        let presented = ["DnsName(\"localhost\")", "IpAddress(127.0.0.1)", "IpAddress(::1)"];
        assert_eq!(
            named("127.0.0.2", &presented),
            "certificate is valid for 127.0.0.1, ::1, not 127.0.0.2"
        );
        assert_eq!(named("a.com", &presented), "certificate is valid for localhost, not a.com");
        assert_eq!(
            named("127.0.0.2", &presented[..1]),
            "cannot validate certificate for 127.0.0.2 because it doesn't contain any IP SANs"
        );
        assert_eq!(
            named("a.com", &presented[1..]),
            "certificate is not valid for any names, but wanted to match a.com"
        );
    }

    #[test]
    fn an_old_certificate_is_told_with_both_times() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let error = CertificateError::ExpiredContext { time: at(86_400), not_after: at(1) };
        assert_eq!(
            text(&error),
            "certificate has expired or is not yet valid: current time 1970-01-02T00:00:00Z is \
             after 1970-01-01T00:00:01Z"
        );
    }
}
