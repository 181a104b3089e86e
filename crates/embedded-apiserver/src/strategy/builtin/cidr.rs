//! CIDR ranges and single addresses, as upstream checks them since 1.36: no leading zeros, no bits
//! beyond the prefix.

use std::net::IpAddr;

use k8s_value::{FieldError, FieldErrors};

const NO_RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cidr {
    address: IpAddr,
    prefix: u32,
}

impl Cidr {
    /// Reads a range. Leading zeros are allowed.
    #[doc(alias = "ParseCIDRSloppy")]
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address = read_address(address)?;
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|_| is_number)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= most).then_some(Self { address, prefix })
    }

    pub(super) const fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// The first address of the range.
    fn network(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.prefix)).unwrap_or(0);
                IpAddr::V4((v4.to_bits() & mask).into())
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.prefix)).unwrap_or(0);
                IpAddr::V6((v6.to_bits() & mask).into())
            }
        }
    }

    /// Whether all addresses of the other range are in this one, and not only those.
    pub(super) fn is_wider_than(&self, other: &Self) -> bool {
        let widened = Self { address: other.network(), prefix: self.prefix };
        self.is_ipv4() == other.is_ipv4()
            && self.prefix < other.prefix
            && widened.network() == self.network()
    }

    fn canonical(&self) -> String {
        format!("{}/{}", self.network(), self.prefix)
    }
}

/// An address. Leading zeros are allowed.
#[doc(alias = "ParseIPSloppy")]
pub(super) fn read_address(text: &str) -> Option<IpAddr> {
    let part = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let without_zeros = || text.split('.').map(part).collect::<Vec<_>>().join(".");
    text.parse().ok().or_else(|| without_zeros().parse().ok())
}

/// Says what is wrong with an address.
#[doc(alias = "IsValidIPForLegacyField")]
pub(super) fn wrong_address(text: &str) -> Option<&'static str> {
    match read_address(text) {
        None => Some(NO_ADDRESS),
        Some(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_some() => {
            Some("must not be an IPv4-mapped IPv6 address")
        }
        Some(_) if text.parse::<IpAddr>().is_err() => Some("must not have leading 0s"),
        Some(_) => None,
    }
}

/// Says what is wrong with an address that must be in canonical form.
#[doc(alias = "IsValidIP")]
pub(super) fn wrong_canonical_address(text: &str) -> Option<String> {
    let canonical = || {
        let canonical = read_address(text)?.to_string();
        (canonical != text).then(|| format!("must be in canonical form ({canonical:?})"))
    };
    wrong_address(text).map(str::to_owned).or_else(canonical)
}

/// The warning of an address that is valid, but not in canonical form.
#[doc(alias = "GetWarningsForIP")]
pub(super) fn address_warning(text: &str, path: &str) -> Option<String> {
    let IpAddr::V6(v6) = text.parse().ok()? else { return None };
    let canonical = v6.to_string();
    (canonical != text).then(|| {
        format!(
            "{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})"
        )
    })
}

#[doc(alias = "IsValidCIDRForLegacyField")]
pub(super) fn validate(text: &str, path: &str, causes: &mut FieldErrors) {
    let wrong = match Cidr::parse(text) {
        None => Some(NO_RANGE),
        Some(Cidr { address: IpAddr::V6(v6), .. }) if v6.to_ipv4_mapped().is_some() => {
            Some("must not have an IPv4-mapped IPv6 address")
        }
        Some(_) if has_leading_zeros(text) => {
            Some("must not have leading 0s in IP or prefix length")
        }
        Some(range) if range.network() != range.address => {
            Some("must not have bits set beyond the prefix length")
        }
        Some(_) => None,
    };
    if let Some(why) = wrong {
        causes.push(FieldError::invalid(path, text, why));
    }
}

fn has_leading_zeros(text: &str) -> bool {
    let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
    address.parse::<IpAddr>().is_err() || (prefix.len() > 1 && prefix.starts_with('0'))
}

/// As [`validate`], and the range must be in canonical form.
#[doc(alias = "IsValidCIDR")]
pub(super) fn validate_canonical(text: &str, path: &str, causes: &mut FieldErrors) {
    let mut wrong = FieldErrors::default();
    validate(text, path, &mut wrong);
    if let Some(canonical) = Cidr::parse(text).map(|range| range.canonical())
        && wrong.is_empty()
        && canonical != text
    {
        let why = format!("must be in canonical form ({canonical:?})");
        wrong.push(FieldError::invalid(path, text, &why));
    }
    causes.append(wrong);
}

/// The warning of a range that is valid, but not in canonical form.
#[doc(alias = "GetWarningsForCIDR")]
pub(super) fn warning(text: &str, path: &str) -> Option<String> {
    let range = Cidr::parse(text).filter(|range| !range.is_ipv4())?;
    let canonical = format!("{}/{}", range.address, range.prefix);
    (canonical != text).then(|| {
        format!(
            "{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format \
             ({canonical:?})"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_compared_and_checked() {
        let range = |text: &str| Cidr::parse(text).expect("a range");
        assert!(range("10.0.0.0/8").is_wider_than(&range("10.1.0.0/16")));
        assert!(!range("10.0.0.0/8").is_wider_than(&range("10.0.0.0/8")));
        assert!(!range("10.0.0.0/8").is_wider_than(&range("11.0.0.0/16")));
        assert!(range("::/0").is_wider_than(&range("2001:db8::/32")));
        for (text, wrong) in [
            ("10.0.0.0/8", None),
            ("2001:db8::/32", None),
            ("10.0.0.0", Some("must be a valid CIDR value")),
            ("10.0.0.0/33", Some("must be a valid CIDR value")),
            ("10.0.0.1/8", Some("bits set beyond")),
            ("010.0.0.0/8", Some("leading 0s")),
            ("10.0.0.0/08", Some("leading 0s")),
        ] {
            let mut causes = FieldErrors::default();
            validate(text, "f", &mut causes);
            let said = FieldError::message_of(causes.as_slice());
            match wrong {
                None => assert!(causes.is_empty(), "{text}: {said}"),
                Some(wrong) => assert!(said.contains(wrong), "{text}: {said}"),
            }
        }
        assert_eq!(wrong_address("010.0.0.1"), Some("must not have leading 0s"));
        assert!(wrong_canonical_address("2001:DB8::1").is_some_and(|why| why.contains("2001:db8")));
    }
}
