//! The functions and their types: the environment of rules in definitions of Kubernetes 1.36
//! (k8s.io/apiserver/pkg/cel/environment/base.go), except those listed as missing.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::authorizer;
use crate::types::{Known, Type};

/// One way to call a function.
#[derive(Debug)]
pub(super) struct Overload {
    pub(super) is_method: bool,
    args: Vec<Type>,
    result: Type,
    params: usize,
}

impl Overload {
    /// The types of its arguments and of its result, with parameters of their own.
    pub(super) fn fresh(&self, known: &mut Known) -> (Vec<Type>, Type) {
        let params: Vec<Type> = (0..self.params).map(|_| known.fresh()).collect();
        let args = self.args.iter().map(|arg| replaced(arg, &params)).collect();
        (args, replaced(&self.result, &params))
    }
}

fn replaced(of: &Type, params: &[Type]) -> Type {
    let inner = |of: &Type| Arc::new(replaced(of, params));
    match of {
        Type::Param(number) => params.get(*number).cloned().unwrap_or(Type::Dyn),
        Type::List(of) => Type::List(inner(of)),
        Type::Map(key, value) => Type::Map(inner(key), inner(value)),
        Type::Optional(of) => Type::Optional(inner(of)),
        Type::Meta(of) => Type::Meta(inner(of)),
        other => other.clone(),
    }
}

/// The ways to call a function; none: there is no such function.
pub(super) fn overloads(function: &str) -> Option<&'static [Overload]> {
    FUNCTIONS.get(function).map(Vec::as_slice)
}

/// What the real server has and this one has not: functions and macros, by the first word of their
/// names.
pub(super) fn is_missing(function: &str) -> bool {
    MISSING.contains(&function)
}

const MISSING: [&str; 34] = [
    "url",
    "isURL",
    "getScheme",
    "getHost",
    "getHostname",
    "getPort",
    "getEscapedPath",
    "getQuery", // URLs
    "semver",
    "isSemver",
    "major",
    "minor",
    "patch", // versions
    "format.named",
    "format.dns1123Label",
    "format.dns1123Subdomain",
    "format.dns1035Label",
    "format.qualifiedName",
    "format.dns1123LabelPrefix",
    "format.dns1123SubdomainPrefix",
    "format.dns1035LabelPrefix",
    "format.labelValue",
    "format.uri",
    "format.uuid",
    "format.byte",
    "format.date",
    "format.datetime",
    "validate", // named formats
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
    "optMap",
    "optFlatMap", // macros
];

static FUNCTIONS: LazyLock<BTreeMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let mut functions: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
    for line in DECLARED.lines() {
        let Some((name, ways)) = line.trim().split_once(": ") else { continue };
        for way in ways.split("; ") {
            functions.entry(name).or_default().extend(read(way));
        }
    }
    functions
});

/// `target.(args) -> result`, or `(args) -> result`.
fn read(way: &str) -> Option<Overload> {
    let (args, result) = way.split_once(" -> ")?;
    let (target, args) = match args.split_once(".(") {
        Some((target, args)) => (Some(target), args),
        None => (None, args.strip_prefix('(')?),
    };
    let mut reader = Reader { rest: args, params: 0 };
    let mut all = Vec::new();
    if let Some(target) = target {
        let mut of_target = Reader { rest: target, params: 0 };
        all.push(of_target.read()?);
        reader.params = of_target.params;
    }
    while !reader.rest.starts_with(')') {
        all.push(reader.read()?);
        reader.rest = reader.rest.trim_start_matches([',', ' ']);
    }
    reader.rest = result;
    let result = reader.read()?;
    Some(Overload { is_method: target.is_some(), args: all, result, params: reader.params })
}

struct Reader<'a> {
    rest: &'a str,
    params: usize,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<Type> {
        let end = self.rest.find(['(', ')', ',', ' ']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let inner = |reader: &mut Self| {
            reader.rest = reader.rest.trim_start_matches(['(', ',', ' ']);
            let of = reader.read()?;
            Some(Arc::new(of))
        };
        let read = match name {
            "dyn" => Type::Dyn,
            "null" => Type::Null,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "Quantity" => Type::Opaque(QUANTITY),
            "IP" => Type::Opaque(IP),
            "CIDR" => Type::Opaque(CIDR),
            "Authorizer" => Type::AUTHORIZER,
            "PathCheck" => Type::Opaque(authorizer::PATH_CHECK),
            "GroupCheck" => Type::Opaque(authorizer::GROUP_CHECK),
            "ResourceCheck" => Type::RESOURCE_CHECK,
            "Decision" => Type::Opaque(authorizer::DECISION),
            "A" | "B" => {
                let number = usize::from(name == "B");
                self.params = self.params.max(number + 1);
                Type::Param(number)
            }
            "list" | "optional" | "type" => {
                let of = inner(self)?;
                self.rest = self.rest.strip_prefix(')')?;
                match name {
                    "list" => Type::List(of),
                    "optional" => Type::Optional(of),
                    _ => Type::Meta(of),
                }
            }
            "map" => {
                let (key, value) = (inner(self)?, inner(self)?);
                self.rest = self.rest.strip_prefix(')')?;
                Type::Map(key, value)
            }
            _ => return None,
        };
        Some(read)
    }
}

pub(super) const QUANTITY: &str = "kubernetes.Quantity";
pub(super) const IP: &str = "net.IP";
pub(super) const CIDR: &str = "net.CIDR";

/// Name: ways to call it.
const DECLARED: &str = "
    _?_:_: (bool, A, A) -> A
    _&&_: (bool, bool) -> bool
    _||_: (bool, bool) -> bool
    !_: (bool) -> bool
    -_: (int) -> int; (double) -> double
    _==_: (A, A) -> bool
    _!=_: (A, A) -> bool
    _<_: (bool, bool) -> bool; (int, int) -> bool; (int, double) -> bool; (int, uint) -> bool; (uint, uint) -> bool; (uint, double) -> bool; (uint, int) -> bool; (double, double) -> bool; (double, int) -> bool; (double, uint) -> bool; (string, string) -> bool; (bytes, bytes) -> bool; (timestamp, timestamp) -> bool; (duration, duration) -> bool
    _<=_: (bool, bool) -> bool; (int, int) -> bool; (int, double) -> bool; (int, uint) -> bool; (uint, uint) -> bool; (uint, double) -> bool; (uint, int) -> bool; (double, double) -> bool; (double, int) -> bool; (double, uint) -> bool; (string, string) -> bool; (bytes, bytes) -> bool; (timestamp, timestamp) -> bool; (duration, duration) -> bool
    _>_: (bool, bool) -> bool; (int, int) -> bool; (int, double) -> bool; (int, uint) -> bool; (uint, uint) -> bool; (uint, double) -> bool; (uint, int) -> bool; (double, double) -> bool; (double, int) -> bool; (double, uint) -> bool; (string, string) -> bool; (bytes, bytes) -> bool; (timestamp, timestamp) -> bool; (duration, duration) -> bool
    _>=_: (bool, bool) -> bool; (int, int) -> bool; (int, double) -> bool; (int, uint) -> bool; (uint, uint) -> bool; (uint, double) -> bool; (uint, int) -> bool; (double, double) -> bool; (double, int) -> bool; (double, uint) -> bool; (string, string) -> bool; (bytes, bytes) -> bool; (timestamp, timestamp) -> bool; (duration, duration) -> bool
    _+_: (bytes, bytes) -> bytes; (double, double) -> double; (duration, duration) -> duration; (duration, timestamp) -> timestamp; (timestamp, duration) -> timestamp; (int, int) -> int; (list(A), list(A)) -> list(A); (string, string) -> string; (uint, uint) -> uint
    _-_: (double, double) -> double; (duration, duration) -> duration; (int, int) -> int; (timestamp, duration) -> timestamp; (timestamp, timestamp) -> duration; (uint, uint) -> uint
    _*_: (double, double) -> double; (int, int) -> int; (uint, uint) -> uint
    _/_: (double, double) -> double; (int, int) -> int; (uint, uint) -> uint
    _%_: (int, int) -> int; (uint, uint) -> uint
    _[_]: (list(A), int) -> A; (map(A, B), A) -> B; (optional(list(A)), int) -> optional(A); (optional(map(A, B)), A) -> optional(B)
    _[?_]: (list(A), int) -> optional(A); (optional(list(A)), int) -> optional(A); (map(A, B), A) -> optional(B); (optional(map(A, B)), A) -> optional(B)
    @in: (A, list(A)) -> bool; (A, map(A, B)) -> bool
    size: bytes.() -> int; (bytes) -> int; list(A).() -> int; (list(A)) -> int; map(A, B).() -> int; (map(A, B)) -> int; string.() -> int; (string) -> int
    type: (A) -> type(A)
    dyn: (A) -> dyn
    bool: (bool) -> bool; (string) -> bool
    int: (int) -> int; (double) -> int; (duration) -> int; (string) -> int; (timestamp) -> int; (uint) -> int
    uint: (uint) -> uint; (double) -> uint; (int) -> uint; (string) -> uint
    double: (double) -> double; (int) -> double; (string) -> double; (uint) -> double
    string: (string) -> string; (bool) -> string; (bytes) -> string; (double) -> string; (duration) -> string; (int) -> string; (timestamp) -> string; (uint) -> string; (IP) -> string; (CIDR) -> string
    bytes: (bytes) -> bytes; (string) -> bytes
    duration: (duration) -> duration; (int) -> duration; (string) -> duration
    timestamp: (timestamp) -> timestamp; (int) -> timestamp; (string) -> timestamp
    contains: string.(string) -> bool
    startsWith: string.(string) -> bool
    endsWith: string.(string) -> bool
    matches: (string, string) -> bool; string.(string) -> bool
    getFullYear: timestamp.() -> int; timestamp.(string) -> int
    getMonth: timestamp.() -> int; timestamp.(string) -> int
    getDayOfYear: timestamp.() -> int; timestamp.(string) -> int
    getDayOfMonth: timestamp.() -> int; timestamp.(string) -> int
    getDate: timestamp.() -> int; timestamp.(string) -> int
    getDayOfWeek: timestamp.() -> int; timestamp.(string) -> int
    getHours: timestamp.() -> int; timestamp.(string) -> int; duration.() -> int
    getMinutes: timestamp.() -> int; timestamp.(string) -> int; duration.() -> int
    getSeconds: timestamp.() -> int; timestamp.(string) -> int; duration.() -> int
    getMilliseconds: timestamp.() -> int; timestamp.(string) -> int; duration.() -> int
    charAt: string.(int) -> string
    indexOf: string.(string) -> int; string.(string, int) -> int; list(A).(A) -> int
    lastIndexOf: string.(string) -> int; string.(string, int) -> int; list(A).(A) -> int
    lowerAscii: string.() -> string
    upperAscii: string.() -> string
    replace: string.(string, string) -> string; string.(string, string, int) -> string
    split: string.(string) -> list(string); string.(string, int) -> list(string)
    substring: string.(int) -> string; string.(int, int) -> string
    trim: string.() -> string
    format: string.(list(dyn)) -> string
    strings.quote: (string) -> string
    join: list(string).() -> string; list(string).(string) -> string
    find: string.(string) -> string
    findAll: string.(string) -> list(string); string.(string, int) -> list(string)
    isSorted: list(int).() -> bool; list(uint).() -> bool; list(double).() -> bool; list(bool).() -> bool; list(duration).() -> bool; list(timestamp).() -> bool; list(string).() -> bool; list(bytes).() -> bool
    sum: list(int).() -> int; list(uint).() -> uint; list(double).() -> double; list(duration).() -> duration
    max: list(int).() -> int; list(uint).() -> uint; list(double).() -> double; list(bool).() -> bool; list(duration).() -> duration; list(timestamp).() -> timestamp; list(string).() -> string; list(bytes).() -> bytes
    min: list(int).() -> int; list(uint).() -> uint; list(double).() -> double; list(bool).() -> bool; list(duration).() -> duration; list(timestamp).() -> timestamp; list(string).() -> string; list(bytes).() -> bytes
    slice: list(A).(int, int) -> list(A)
    flatten: list(list(A)).() -> list(A); list(list(A)).(int) -> list(dyn)
    sort: list(int).() -> list(int); list(uint).() -> list(uint); list(double).() -> list(double); list(bool).() -> list(bool); list(duration).() -> list(duration); list(timestamp).() -> list(timestamp); list(string).() -> list(string); list(bytes).() -> list(bytes)
    distinct: list(A).() -> list(A)
    reverse: list(A).() -> list(A)
    first: list(A).() -> optional(A)
    last: list(A).() -> optional(A)
    lists.range: (int) -> list(int)
    sets.contains: (list(A), list(A)) -> bool
    sets.equivalent: (list(A), list(A)) -> bool
    sets.intersects: (list(A), list(A)) -> bool
    optional.of: (A) -> optional(A)
    optional.ofNonZeroValue: (A) -> optional(A)
    optional.none: () -> optional(A)
    hasValue: optional(A).() -> bool
    value: optional(A).() -> A
    or: optional(A).(optional(A)) -> optional(A)
    orValue: optional(A).(A) -> A
    quantity: (string) -> Quantity
    isQuantity: (string) -> bool
    sign: (Quantity) -> int
    isGreaterThan: Quantity.(Quantity) -> bool
    isLessThan: Quantity.(Quantity) -> bool
    compareTo: Quantity.(Quantity) -> int
    asApproximateFloat: Quantity.() -> double
    asInteger: Quantity.() -> int
    isInteger: Quantity.() -> bool
    add: Quantity.(Quantity) -> Quantity; Quantity.(int) -> Quantity
    sub: Quantity.(Quantity) -> Quantity; Quantity.(int) -> Quantity
    ip: (string) -> IP; CIDR.() -> IP
    isIP: (string) -> bool
    ip.isCanonical: (string) -> bool
    family: IP.() -> int
    isUnspecified: IP.() -> bool
    isLoopback: IP.() -> bool
    isLinkLocalMulticast: IP.() -> bool
    isLinkLocalUnicast: IP.() -> bool
    isGlobalUnicast: IP.() -> bool
    cidr: (string) -> CIDR
    isCIDR: (string) -> bool
    containsIP: CIDR.(IP) -> bool; CIDR.(string) -> bool
    containsCIDR: CIDR.(CIDR) -> bool; CIDR.(string) -> bool
    masked: CIDR.() -> CIDR
    prefixLength: CIDR.() -> int
    path: Authorizer.(string) -> PathCheck
    group: Authorizer.(string) -> GroupCheck
    serviceAccount: Authorizer.(string, string) -> Authorizer
    resource: GroupCheck.(string) -> ResourceCheck
    subresource: ResourceCheck.(string) -> ResourceCheck
    namespace: ResourceCheck.(string) -> ResourceCheck
    name: ResourceCheck.(string) -> ResourceCheck
    fieldSelector: ResourceCheck.(string) -> ResourceCheck
    labelSelector: ResourceCheck.(string) -> ResourceCheck
    check: PathCheck.(string) -> Decision; ResourceCheck.(string) -> Decision
    allowed: Decision.() -> bool
    reason: Decision.() -> string
    errored: Decision.() -> bool
    error: Decision.() -> string
";
