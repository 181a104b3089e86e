//! Cluster IPs and node ports of Services: each gets the next free one. Stored Services are the
//! record, so nothing is released. Pure.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::ops::Range;

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::AllocationCounts;
use crate::strategy::builtin::members::{at, said, text};
use crate::strategy::builtin::service::exposure::{is_headless, needs_cluster_ip, needs_node_port};

/// The range of cluster IPs (`--service-cluster-ip-range`), 256 times as large as kube-apiserver's
/// default.
const RANGE: (Ipv4Addr, u32) = (Ipv4Addr::new(10, 0, 0, 0), 16);
/// The first allocated address, relative to the network's. Lower ones are for explicit requests
/// (KEP-3070).
const FIRST_ADDRESS: u32 = 257;
/// The default of `--service-node-port-range`.
const PORTS: std::ops::RangeInclusive<u32> = 30000..=32767;
/// As `FIRST_ADDRESS`, for ports (KEP-3668).
const FIRST_PORT: u32 = 30_086;

/// The allocated addresses and ports.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    addresses: HashSet<Ipv4Addr>,
    ports: HashSet<u32>,
}

impl Taken {
    /// Adds those of a stored Service.
    pub(crate) fn add(&mut self, service: &Object) {
        self.addresses.extend(address_of(service));
        self.ports.extend(ports_of(service).map(|(_, port)| port));
    }
}

fn address_of(service: &Object) -> Option<Ipv4Addr> {
    text(service, "spec.clusterIP").parse().ok()
}

/// Its node ports, each with its index in the list.
fn ports_of(service: &Object) -> impl Iterator<Item = (usize, u32)> {
    let ports = at(service, "spec.ports").and_then(Value::as_array).into_iter().flatten();
    ports.enumerate().filter_map(|(at, port)| {
        let number = port.get("nodePort").and_then(Value::as_u64).unwrap_or(0);
        Some((at, u32::try_from(number).ok().filter(|number| *number != 0)?))
    })
}

/// Whether a Service needs or requests an address or a port. Reading the others is slow.
pub(crate) fn concerns(service: &Object, old: Option<&Object>) -> bool {
    let same = |path: &str| old.is_some_and(|old| at(service, path) == at(old, path));
    let addressed = !text(service, "spec.clusterIP").is_empty()
        && same("spec.clusterIP")
        && same("spec.clusterIPs");
    let ports = !needs_node_port(service) || same("spec.ports");
    // The possible families of a headless Service depend on its selector.
    let families = !is_headless(service) || same("spec.selector");
    needs_cluster_ip(service) && !(addressed && ports && families && same("spec.type"))
}

/// Allocates the missing cluster IPs and node ports of a Service. As upstream, a dry run returns
/// values that it does not allocate.
///
/// # Errors
///
/// Names the fields whose value is allocated or out of range.
pub(crate) fn allocate(
    service: &mut Object,
    old: Option<&Object>,
    taken: &Taken,
    counts: &mut AllocationCounts,
    dry_run: bool,
) -> Result<(), FieldErrors> {
    let mut causes = FieldErrors::default();
    let headless = is_headless(service);
    let selects =
        at(service, "spec.selector").is_some_and(|s| s.as_object().is_some_and(|s| !s.is_empty()));
    set_families(service, headless && !selects, &mut causes);
    if !causes.is_empty() {
        return Err(causes);
    }
    // A Service created by a status write has no address. Only a change of its type allocates one.
    let goes_without =
        old.is_some_and(|old| needs_cluster_ip(old) && text(old, "spec.clusterIP").is_empty());
    let had = old.map(|old| text(old, "spec.clusterIP").to_owned()).unwrap_or_default();
    let asked = text(service, "spec.clusterIP").to_owned();
    let listed = at(service, "spec.clusterIPs").cloned();
    // Upstream creates an IPAddress object that names the Service.
    let nameless = old.is_none() && !dry_run && metadata::text(service, "name").is_empty();
    let ownerless = |address: Ipv4Addr| {
        format!(
            "IPAddress.networking.k8s.io \"{address}\" is invalid: spec.parentRef.name: \
             Required value"
        )
    };
    let Some(Value::Object(spec)) = service.get_mut("spec") else { return Ok(()) };
    if headless || asked == had && !asked.is_empty() {
        spec.entry("clusterIPs").or_insert_with(|| json!([asked]));
    } else if asked.is_empty() {
        if listed.is_none() && !goes_without {
            let address = if dry_run { Some(RANGE.0) } else { next_address(taken, counts) };
            let Some(address) = address else {
                let why = "failed to allocate a serviceIP: range is full";
                causes.push(FieldError::invalid_json("spec.clusterIPs", &json!([]), why));
                return Err(causes);
            };
            if nameless {
                let why = format!("failed to allocate IP: {}", ownerless(address));
                causes.push(FieldError::invalid_json("spec.clusterIPs", &json!([""]), &why));
                return Err(causes);
            }
            spec.insert("clusterIP".to_owned(), address.to_string().into());
            spec.insert("clusterIPs".to_owned(), json!([address.to_string()]));
        }
    } else if let Ok(address) = asked.parse::<Ipv4Addr>() {
        let wrong = if !is_in_range(address) {
            let (base, bits) = RANGE;
            let range = format!("The range of valid IPs is {base}/{bits}");
            Some(format!("the provided IP ({address}) is not in the valid range. {range}"))
        } else if taken.addresses.contains(&address) {
            Some("provided IP is already allocated".to_owned())
        } else {
            nameless.then(|| ownerless(address))
        };
        if let Some(wrong) = wrong {
            let why = format!("failed to allocate IP {address}: {wrong}");
            causes.push(FieldError::invalid_json("spec.clusterIPs", &json!([asked]), &why));
            return Err(causes);
        }
        spec.entry("clusterIPs").or_insert_with(|| json!([asked]));
    } else {
        // Validation reports a missing address.
        spec.entry("clusterIPs").or_insert_with(|| json!([asked]));
    }
    if needs_node_port(service) {
        allocate_ports(service, old, taken, counts, dry_run, &mut causes);
    }
    if causes.is_empty() { Ok(()) } else { Err(causes) }
}

/// Sets the families: there is one, IPv4.
fn set_families(service: &mut Object, any: bool, causes: &mut FieldErrors) {
    let Some(Value::Object(spec)) = service.get_mut("spec") else { return };
    if spec.get("ipFamilyPolicy").is_some_and(|policy| policy == "RequireDualStack") && !any {
        let why = "this cluster is not configured for dual-stack services";
        causes.push(FieldError::invalid("spec.ipFamilyPolicy", "RequireDualStack", why));
    }
    let families = spec.get("ipFamilies").and_then(Value::as_array).cloned().unwrap_or_default();
    for (at, family) in families.iter().enumerate().filter(|(_, family)| *family == "IPv6") {
        if !any {
            let family = family.as_str().unwrap_or_default();
            causes.push(FieldError::invalid(
                format!("spec.ipFamilies[{at}]"),
                family,
                "not configured on this cluster",
            ));
        }
    }
    // A headless Service without selector may have endpoints of any family.
    let (families, policy) = if any {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!(["IPv4"]), "SingleStack")
    };
    if spec.get("ipFamilies").is_none_or(|families| *families == json!([])) {
        spec.insert("ipFamilies".to_owned(), families);
    }
    spec.entry("ipFamilyPolicy").or_insert_with(|| policy.into());
}

const fn hosts() -> u32 {
    1 << (32 - RANGE.1)
}

fn is_in_range(address: Ipv4Addr) -> bool {
    let offset = address.to_bits().wrapping_sub(RANGE.0.to_bits());
    (1..hosts() - 1).contains(&offset)
}

fn next_address(taken: &Taken, counts: &mut AllocationCounts) -> Option<Ipv4Addr> {
    let nth = |offset| Ipv4Addr::from_bits(RANGE.0.to_bits() + offset);
    let is_free = |offset| !taken.addresses.contains(&nth(offset));
    // Excludes the broadcast address.
    next(&mut counts.addresses, FIRST_ADDRESS..hosts() - 1, is_free).map(nth)
}

/// The next free number of a range. Wraps around.
fn next(count: &mut u32, range: Range<u32>, is_free: impl Fn(u32) -> bool) -> Option<u32> {
    let length = range.end - range.start;
    (0..length).find_map(|_| {
        let number = range.start + *count % length;
        *count = count.wrapping_add(1);
        is_free(number).then_some(number)
    })
}

fn allocate_ports(
    service: &mut Object,
    old: Option<&Object>,
    taken: &Taken,
    counts: &mut AllocationCounts,
    dry_run: bool,
    causes: &mut FieldErrors,
) {
    let numbers = |service: &Object| -> HashSet<u64> {
        let ports = at(service, "spec.ports").and_then(Value::as_array).into_iter().flatten();
        ports.filter_map(|port| port.get("nodePort")?.as_u64()).collect()
    };
    let own = old.map(numbers).unwrap_or_default();
    let asked = numbers(service);
    let Some(Value::Array(ports)) = service.get_mut("spec").and_then(|spec| spec.get_mut("ports"))
    else {
        return;
    };
    // TCP and UDP may share a port number.
    let mut by_number: Vec<(u64, String, u32)> = Vec::new();
    for (at, port) in ports.iter_mut().enumerate() {
        let number = port.get("nodePort").and_then(Value::as_u64).unwrap_or(0);
        if number != 0 {
            let narrow = u32::try_from(number).unwrap_or(0);
            let wrong = if own.contains(&number) || dry_run {
                None
            } else if !PORTS.contains(&narrow) {
                let (first, last) = (PORTS.start(), PORTS.end());
                Some(format!(
                    "provided port is not in the valid range. The range of valid ports is \
                     {first}-{last}"
                ))
            } else if taken.ports.contains(&narrow) {
                Some("provided port is already allocated".to_owned())
            } else {
                None
            };
            if let Some(why) = wrong {
                causes.push(FieldError::invalid_json(
                    format!("spec.ports[{at}].nodePort"),
                    &number.into(),
                    &why,
                ));
            }
            continue;
        }
        let (of, protocol) = (
            port.get("port").and_then(Value::as_u64).unwrap_or(0),
            said(port, "protocol").to_owned(),
        );
        let shared =
            by_number.iter().find(|(number, other, _)| *number == of && *other != protocol);
        let free = match shared {
            Some((_, _, port)) => Some(*port),
            None if dry_run => Some(PORTS.end() + 2),
            None => {
                let is_free =
                    |port| !taken.ports.contains(&port) && !asked.contains(&u64::from(port));
                next(&mut counts.ports, FIRST_PORT..PORTS.end() + 1, is_free)
            }
        };
        let Some(free) = free else {
            let why = "failed to allocate a nodePort: range is full";
            causes.push(FieldError::invalid_json(
                format!("spec.ports[{at}].nodePort"),
                &0.into(),
                why,
            ));
            continue;
        };
        by_number.push((of, protocol, free));
        if let Value::Object(port) = port {
            port.insert("nodePort".to_owned(), free.into());
        }
    }
}
