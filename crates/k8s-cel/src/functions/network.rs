//! Addresses and networks (k8s.io/apiserver/pkg/cel/library/ip.go, cidr.go).

use std::net::IpAddr;

use crate::eval_error::EvalError;
use crate::value::{Called, Value, Value as V};

pub(super) fn call(function: &str, is_method: bool, args: &[Value]) -> Option<Called> {
    Some(match (function, args) {
        ("ip", [V::Text(text)]) if !is_method => address(text).map(V::Ip),
        ("ip", [V::Cidr(address, _)]) => Ok(V::Ip(*address)),
        ("isIP", [V::Text(text)]) => Ok(V::Bool(address(text).is_ok())),
        ("ip.isCanonical", [V::Text(text)]) => {
            address(text).map(|ip| V::Bool(ip.to_string() == **text))
        }
        ("family", [V::Ip(ip)]) => Ok(V::Int(if ip.is_ipv4() { 4 } else { 6 })),
        ("isUnspecified", [V::Ip(ip)]) => Ok(V::Bool(ip.is_unspecified())),
        ("isLoopback", [V::Ip(ip)]) => Ok(V::Bool(ip.is_loopback())),
        ("isLinkLocalMulticast", [V::Ip(ip)]) => Ok(V::Bool(is_link_local_multicast(*ip))),
        ("isLinkLocalUnicast", [V::Ip(ip)]) => Ok(V::Bool(is_link_local(*ip))),
        ("isGlobalUnicast", [V::Ip(ip)]) => Ok(V::Bool(is_global_unicast(*ip))),
        ("cidr", [V::Text(text)]) => network(text).map(|(ip, bits)| V::Cidr(ip, bits)),
        ("isCIDR", [V::Text(text)]) => Ok(V::Bool(network(text).is_ok())),
        ("prefixLength", [V::Cidr(_, bits)]) => Ok(V::Int(i64::from(*bits))),
        ("masked", [V::Cidr(ip, bits)]) => Ok(V::Cidr(masked(*ip, *bits), *bits)),
        ("containsIP", [V::Cidr(ip, bits), V::Ip(other)]) => {
            Ok(V::Bool(contains(*ip, *bits, *other)))
        }
        ("containsIP", [V::Cidr(ip, bits), V::Text(text)]) => {
            address(text).map(|other| V::Bool(contains(*ip, *bits, other)))
        }
        ("containsCIDR", [V::Cidr(ip, bits), V::Cidr(other, longer)]) => {
            Ok(V::Bool(longer >= bits && contains(*ip, *bits, *other)))
        }
        ("containsCIDR", [V::Cidr(ip, bits), V::Text(text)]) => network(text)
            .map(|(other, longer)| V::Bool(longer >= *bits && contains(*ip, *bits, other))),
        _ => return None,
    })
}

fn address(text: &str) -> Result<IpAddr, EvalError> {
    let ip: IpAddr = text.parse().map_err(|_| {
        EvalError::said(format!(
            "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): unable to parse IP"
        ))
    })?;
    not_mapped(ip, text)
}

fn not_mapped(ip: IpAddr, text: &str) -> Result<IpAddr, EvalError> {
    match ip {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(EvalError::said(format!("IPv4-mapped IPv6 address {text:?} is not allowed")))
        }
        ip => Ok(ip),
    }
}

fn network(text: &str) -> Result<(IpAddr, u8), EvalError> {
    let wrong = |why: &str| {
        let shown = format!("netip.ParsePrefix({text:?}): {why}");
        EvalError::said(format!(
            "network address parse error during conversion from string: {shown}"
        ))
    };
    let (ip, bits) = text.rsplit_once('/').ok_or_else(|| wrong("no '/'"))?;
    let parsed: IpAddr =
        ip.parse().map_err(|_| wrong(&format!("ParseAddr({ip:?}): unable to parse IP")))?;
    let most = if parsed.is_ipv4() { 32 } else { 128 };
    let digits = !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && (bits == "0" || !bits.starts_with('0'));
    let length = bits.parse::<u8>().ok().filter(|length| *length <= most && digits);
    let length = length.ok_or_else(|| wrong("prefix length out of range"))?;
    Ok((not_mapped(parsed, text)?, length))
}

fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

fn contains(network: IpAddr, bits: u8, ip: IpAddr) -> bool {
    network.is_ipv4() == ip.is_ipv4() && masked(network, bits) == masked(ip, bits)
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.octets().starts_with(&[224, 0, 0]),
        IpAddr::V6(v6) => v6.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

/// As Go's `netip.Addr.IsGlobalUnicast`: private addresses too.
fn is_global_unicast(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    !broadcast
        && !ip.is_unspecified()
        && !ip.is_loopback()
        && !ip.is_multicast()
        && !is_link_local(ip)
}
