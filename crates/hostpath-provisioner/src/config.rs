//! The flags checked, one by one and together, into what the program runs by. No I/O but the pod's
//! own namespace.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::cli::RunArgs;
use crate::context::Limits;
use crate::directory::Owner;
use crate::input::InputError;
use crate::retries::Retries;

/// Where a pod finds its own namespace.
const POD_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The most workers of a queue.
const WORKERS_MAX: usize = 256;
/// The most retries a second, and at once.
const RETRIES_MAX: u32 = 10_000;
/// The longest time any flag may ask for.
const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Checked flags.
#[derive(Clone, Debug)]
pub struct Settings {
    /// See `--provisioner-name`.
    pub provisioner: String,
    /// See `--storage-class`.
    pub storage_class: String,
    /// The election; its identity is also the one in markers and Events.
    pub election: lease_election::Config,
    /// See `--node-label`: key and value.
    pub node_label: Option<(String, String)>,
    /// See `--workers`.
    pub workers: usize,
    /// See `--drain-grace`.
    pub drain_grace: Duration,
    /// How long work that lost its lease may take to end.
    pub stop_margin: Duration,
    /// How failures are tried again.
    pub retries: Retries,
    /// Time-outs and thresholds.
    pub limits: Limits,
    /// See `--sweep-interval`.
    pub sweep_interval: Duration,
    /// See `--connect-timeout`.
    pub connect_timeout: Duration,
    /// See `--metrics-addr`.
    pub metrics_addr: Option<SocketAddr>,
}

impl Settings {
    /// Checks the flags.
    ///
    /// # Errors
    /// On the first that cannot be used.
    pub fn check(args: &RunArgs) -> Result<Self, InputError> {
        check_name("--storage-class", &args.storage_class)?;
        check_provisioner_name(&args.provisioner_name)?;
        if !(1..=WORKERS_MAX).contains(&args.workers) {
            return Err(out_of_range("--workers", args.workers, 1, WORKERS_MAX));
        }
        let ms = Duration::from_millis;
        for (flag, value, least) in [
            ("--drain-grace", args.drain_grace, ms(0)),
            ("--retry-base", args.retry_base, ms(1)),
            ("--retry-max", args.retry_max, ms(1)),
            ("--provision-timeout", args.provision_timeout, ms(0)),
            ("--delete-timeout", args.delete_timeout, ms(0)),
            ("--api-timeout", args.api_timeout, ms(10)),
            ("--connect-timeout", args.connect_timeout, ms(10)),
            ("--sweep-interval", args.sweep_interval, Duration::from_secs(1)),
        ] {
            if !(least..=TIME_MAX).contains(&value) {
                return Err(InputError::new(
                    flag,
                    format!("{value:?} is out of range"),
                    format!("choose a time from {least:?} to {}h", TIME_MAX.as_secs() / 3600),
                ));
            }
        }
        if args.retry_base > args.retry_max {
            return Err(InputError::new(
                "--retry-base",
                format!("{:?} is longer than --retry-max {:?}", args.retry_base, args.retry_max),
                "choose a --retry-max that is at least as long",
            ));
        }
        for (flag, value) in [("--retry-qps", args.retry_qps), ("--retry-burst", args.retry_burst)]
        {
            if !(1..=RETRIES_MAX).contains(&value) {
                return Err(out_of_range(flag, value, 1, RETRIES_MAX));
            }
        }
        let election = election(args)?;
        Ok(Self {
            provisioner: args.provisioner_name.clone(),
            storage_class: args.storage_class.clone(),
            node_label: args.node_label.as_deref().map(node_label).transpose()?,
            stop_margin: election.stop_margin(),
            election,
            workers: args.workers,
            drain_grace: args.drain_grace,
            retries: Retries {
                base: args.retry_base,
                max: args.retry_max,
                qps: args.retry_qps,
                burst: args.retry_burst,
            },
            limits: Limits {
                api_timeout: args.api_timeout,
                provision_timeout: args.provision_timeout,
                delete_timeout: args.delete_timeout,
                provision_threshold: args.provision_threshold,
                delete_threshold: args.delete_threshold,
            },
            sweep_interval: args.sweep_interval,
            connect_timeout: args.connect_timeout,
            metrics_addr: args.metrics_addr.as_deref().map(address).transpose()?,
        })
    }

    /// Who the root belongs to.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner {
            provisioner: self.provisioner.clone(),
            storage_class: self.storage_class.clone(),
            lease: format!("{}/{}", self.election.namespace(), self.election.name()),
        }
    }
}

/// The fast preset, but for what the flags say.
fn election(args: &RunArgs) -> Result<lease_election::Config, InputError> {
    let namespace =
        args.lease_namespace.clone().unwrap_or_else(|| namespace_of_pod(Path::new(POD_NAMESPACE)));
    let mut config = lease_election::Config::builder(namespace, args.lease_name.clone()).fast();
    if let Some(identity) = &args.identity {
        config = config.identity(identity.clone());
    }
    let preset = config.clone().build().map_err(|error| refused(args, error))?;
    let stop_margin = args.stop_margin.unwrap_or_else(|| preset.stop_margin());
    config
        .lease_duration(args.lease_duration.unwrap_or_else(|| preset.lease_duration()))
        .retry_period(args.retry_period.unwrap_or_else(|| preset.retry_period()))
        .request_timeout(args.lease_request_timeout.unwrap_or_else(|| preset.request_timeout()))
        .stop_margin(stop_margin)
        // The manager drops what outlasts the grace; the rest is blocking work, which is waited for
        // a little longer.
        .drain_timeout(args.drain_grace.saturating_add(stop_margin))
        .build()
        .map_err(|error| refused(args, error))
}

/// Names the flag whose value it is; and if that was not given, those that were, because one of
/// them does not go with the preset.
fn refused(args: &RunArgs, error: lease_election::ConfigError) -> InputError {
    let flag = match error.field {
        "namespace" => "--lease-namespace".to_owned(),
        "name" => "--lease-name".to_owned(),
        "identity" => "--identity".to_owned(),
        field => {
            let mut given = vec![
                ("lease_duration", "--lease-duration", args.lease_duration),
                ("retry_period", "--retry-period", args.retry_period),
                ("request_timeout", "--lease-request-timeout", args.lease_request_timeout),
                ("stop_margin", "--stop-margin", args.stop_margin),
            ];
            given.retain(|(.., time)| time.is_some());
            if given.iter().any(|(of, ..)| *of == field) {
                given.retain(|(of, ..)| *of == field);
            }
            let given = given
                .iter()
                .map(|(_, flag, time)| format!("{flag} {:?}", time.unwrap_or_default()));
            given.collect::<Vec<_>>().join(" ")
        }
    };
    InputError::new(flag, error, "")
}

fn namespace_of_pod(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let name = text.trim();
    if name.is_empty() { "default".to_owned() } else { name.to_owned() }
}

fn address(text: &str) -> Result<SocketAddr, InputError> {
    let whole = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    whole.parse().map_err(|_| {
        InputError::new(
            "--metrics-addr",
            format!("{text:?} is no address with a port"),
            "write it as in 127.0.0.1:9090, [::1]:9090 or :9090",
        )
    })
}

fn out_of_range(
    flag: &str,
    value: impl std::fmt::Display,
    least: impl std::fmt::Display,
    most: impl std::fmt::Display,
) -> InputError {
    InputError::new(
        flag,
        format!("{value} is out of range"),
        format!("choose a number from {least} to {most}"),
    )
}

/// A name of an object, as the API server checks it (RFC 1123, a subdomain).
fn check_name(flag: &str, name: &str) -> Result<(), InputError> {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if name.len() <= 253 && name.split('.').all(label) {
        return Ok(());
    }
    Err(InputError::new(
        flag,
        format!("{name:?} is no name of an object"),
        "use lower-case letters, digits, '-' and '.', at most 253, that begin and end with a letter or digit",
    ))
}

/// What stands behind the slash of a qualified name, and, if it is not empty, a label's value.
fn is_plain(part: &str) -> bool {
    (1..=63).contains(&part.len())
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && part.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && part.as_bytes().last().is_some_and(u8::is_ascii_alphanumeric)
}

fn is_qualified(name: &str) -> bool {
    match name.split_once('/') {
        Some((domain, rest)) => check_name("", domain).is_ok() && is_plain(rest),
        None => is_plain(name),
    }
}

/// A label with its value, as the API server checks both.
fn node_label(text: &str) -> Result<(String, String), InputError> {
    match text.split_once('=') {
        Some((key, value)) if is_qualified(key) && (value.is_empty() || is_plain(value)) => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(InputError::new(
            "--node-label",
            format!("{text:?} is no label with a value"),
            "write it as in hostpath.wq-rs.dev/root=true, or use kubernetes.io/hostname=NODE",
        )),
    }
}

/// A provisioner's name, as the API server checks it (a qualified name).
fn check_provisioner_name(name: &str) -> Result<(), InputError> {
    if is_qualified(name) {
        return Ok(());
    }
    Err(InputError::new(
        "--provisioner-name",
        format!("{name:?} is no name of a provisioner"),
        "write it as in example.com/hostpath",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Asked, Cli};

    fn check(flags: &[&str]) -> Result<Settings, InputError> {
        let base = ["hostpath-provisioner", "run", "--root", "/x", "--storage-class", "hostpath"];
        // The last value of a flag that is given twice would be an error: replace it.
        let mut arguments: Vec<&str> = base.to_vec();
        for pair in flags.chunks(2) {
            match arguments.iter().position(|have| *have == pair[0]) {
                Some(at) => arguments[at + 1] = pair[1],
                None => arguments.extend(pair),
            }
        }
        let Asked::Run(args) = Cli::read(arguments)? else { panic!("no run") };
        Settings::check(&args)
    }

    #[test]
    fn the_defaults_are_upstreams_where_the_issue_says_nothing_else() {
        let settings = check(&["--lease-namespace", "ns"]).unwrap();
        assert_eq!(settings.workers, 4);
        assert_eq!(
            (settings.limits.provision_threshold, settings.limits.delete_threshold),
            (15, 15)
        );
        assert_eq!(
            (settings.retries.base, settings.retries.max),
            (Duration::from_secs(1), Duration::from_secs(300))
        );
        assert_eq!((settings.retries.qps, settings.retries.burst), (10, 100));
        assert_eq!(settings.owner().lease, "ns/hostpath-provisioner");
        assert_eq!(settings.metrics_addr, None);
    }

    #[test]
    fn the_election_is_the_fast_preset_and_each_flag_replaces_one_value() {
        let ms = Duration::from_millis;
        let times = |flags: &[&str]| {
            let election = check(flags).unwrap().election;
            [
                election.lease_duration(),
                election.retry_period(),
                election.request_timeout(),
                election.stop_margin(),
            ]
        };
        let fast = lease_election::Config::builder("ns", "lease").fast().build().unwrap();
        let [lease, renew, request, margin] = [
            fast.lease_duration(),
            fast.retry_period(),
            fast.request_timeout(),
            fast.stop_margin(),
        ];
        assert_eq!(times(&[]), [lease, renew, request, margin]);
        assert_eq!(times(&["--lease-duration", "15s"]), [ms(15_000), renew, request, margin]);
        assert_eq!(times(&["--retry-period", "1500ms"]), [lease, ms(1500), request, margin]);
        assert_eq!(times(&["--lease-request-timeout", "1s"]), [lease, renew, ms(1000), margin]);
        assert_eq!(times(&["--stop-margin", "2s"]), [lease, renew, request, ms(2000)]);
        // What outlasts the grace is dropped, and the rest waited for a little longer.
        let settings = check(&["--stop-margin", "500ms", "--drain-grace", "3s"]).unwrap();
        assert_eq!(
            (settings.stop_margin, settings.election.drain_timeout(), settings.drain_grace),
            (ms(500), ms(3500), ms(3000))
        );
    }

    #[test]
    fn a_flag_that_the_election_cannot_have_is_named_with_its_value_and_the_bound() {
        for (flag, value, bound) in [
            ("--lease-duration", "1500ms", "whole number of seconds"),
            ("--lease-duration", "1s", "shorter than lease_duration 1s"),
            ("--lease-duration", "3s", "must not exceed the hold of 1.9"),
            ("--retry-period", "5s", "shorter than lease_duration 5s"),
            ("--retry-period", "2s", "must not exceed the hold of 3.9"),
            ("--lease-request-timeout", "2s", "must not exceed the hold of 3.9"),
            ("--stop-margin", "3s", "must not exceed the hold of 1.9"),
            ("--stop-margin", "1ms", "at least 10ms"),
        ] {
            let line = check(&[flag, value]).unwrap_err().to_string();
            let value = humantime::parse_duration(value).unwrap();
            assert!(line.starts_with(&format!("{flag} {value:?}: ")), "{line}");
            assert!(line.contains(bound), "{bound} is not in: {line}");
        }
        // Two that do not go together are both named, and one that was not given is not.
        let line =
            check(&["--lease-duration", "15s", "--stop-margin", "14s"]).unwrap_err().to_string();
        assert!(line.starts_with("--lease-duration 15s --stop-margin 14s: "), "{line}");
    }

    #[test]
    fn the_help_says_the_times_of_the_fast_preset() {
        use clap::CommandFactory as _;
        let fast = lease_election::Config::builder("ns", "lease").fast().build().unwrap();
        let mut command = Cli::command();
        let run = command.find_subcommand_mut("run").unwrap();
        for (flag, time) in [
            ("lease_duration", fast.lease_duration()),
            ("retry_period", fast.retry_period()),
            ("lease_request_timeout", fast.request_timeout()),
            ("stop_margin", fast.stop_margin()),
        ] {
            let argument = run.get_arguments().find(|argument| argument.get_id() == flag).unwrap();
            let help = argument.get_help().unwrap().to_string();
            let says = format!("{} unless given", humantime::format_duration(time));
            assert!(help.contains(&says), "{says:?} is not in {help:?}");
        }
    }

    #[test]
    fn retry_flags_reach_the_settings() {
        let settings = check(&[
            "--retry-base",
            "3s",
            "--retry-max",
            "7s",
            "--retry-qps",
            "2",
            "--retry-burst",
            "9",
        ])
        .unwrap();
        let wanted =
            Retries { base: Duration::from_secs(3), max: Duration::from_secs(7), qps: 2, burst: 9 };
        assert_eq!(settings.retries, wanted);
    }

    #[test]
    fn every_flag_out_of_range_is_named_with_a_remedy() {
        for (flag, value) in [
            ("--workers", "0"),
            ("--workers", "257"),
            ("--storage-class", "Upper"),
            ("--storage-class", "../x"),
            ("--storage-class", ""),
            ("--provisioner-name", "a/b/c"),
            ("--provisioner-name", ""),
            ("--node-label", "root"),
            ("--node-label", "a/b/c=d"),
            ("--node-label", "=true"),
            ("--node-label", "root=-"),
            ("--drain-grace", "25h"),
            ("--retry-base", "0s"),
            ("--retry-base", "6m"),
            ("--retry-max", "0s"),
            ("--retry-qps", "0"),
            ("--retry-burst", "10001"),
            ("--api-timeout", "0s"),
            ("--connect-timeout", "1ms"),
            ("--sweep-interval", "10ms"),
            ("--provision-timeout", "2days"),
            ("--delete-timeout", "2days"),
            ("--metrics-addr", "nowhere"),
            ("--metrics-addr", "127.0.0.1"),
            ("--metrics-addr", "127.0.0.1:99999"),
            ("--lease-name", "../x"),
            ("--lease-namespace", "A"),
            ("--identity", ""),
            ("--identity", "a\nb"),
            ("--lease-duration", "1500ms"),
            ("--lease-duration", "0s"),
            ("--retry-period", "20s"),
            ("--lease-request-timeout", "20s"),
            ("--stop-margin", "20s"),
        ] {
            let line = check(&[flag, value])
                .expect_err(&format!("{flag} {value:?} was accepted"))
                .to_string();
            assert!(line.starts_with(flag), "{flag} {value:?}: {line}");
            assert!(
                line.contains(';') || line.contains("choose") || line.contains("use"),
                "{line}"
            );
            assert!(!line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn a_label_is_a_key_and_a_value_that_may_be_empty() {
        for (text, key, value) in [
            ("hostpath.wq-rs.dev/root=true", "hostpath.wq-rs.dev/root", "true"),
            ("root=", "root", ""),
        ] {
            let label = check(&["--node-label", text]).unwrap().node_label;
            assert_eq!(label, Some((key.to_owned(), value.to_owned())));
        }
    }

    #[test]
    fn a_port_alone_is_an_address() {
        assert_eq!(
            check(&["--metrics-addr", ":9090"]).unwrap().metrics_addr,
            Some("0.0.0.0:9090".parse().unwrap())
        );
        assert_eq!(
            check(&["--metrics-addr", "[::1]:0"]).unwrap().metrics_addr,
            Some("[::1]:0".parse().unwrap())
        );
    }
}
