//! The command line: flags, and their defaults. What they mean together is checked in `config`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::input::InputError;
use crate::names::PROVISIONER;

/// Gives every claim of a StorageClass a directory below --root and a PersistentVolume, and takes
/// them back.
#[derive(Debug, Parser)]
#[command(
    name = "hostpath-provisioner",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run until SIGTERM or SIGINT. Exit status: 0 after a stop, 2 on bad input, 1 on failure.
    #[command(allow_negative_numbers = true)]
    Run(Box<RunArgs>),
}

/// The form of the log, which goes to stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The flags of `run`. Durations are written as in 500ms, 10s, 5m.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// A kubeconfig file; without it the configuration inside a cluster is used
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig; the current one unless given
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub context: Option<String>,
    /// The StorageClass whose claims are served
    #[arg(long, value_name = "NAME")]
    pub storage_class: String,
    /// The folder that holds the directories; made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,
    /// The name that StorageClass.provisioner must have
    #[arg(long, value_name = "NAME", default_value = PROVISIONER)]
    pub provisioner_name: String,
    /// The label of the nodes on which the folder of --root is; pods with volumes of ours then go
    /// only to these
    #[arg(long, value_name = "KEY=VALUE")]
    pub node_label: Option<String>,
    /// Workers of each of the two queues, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub workers: usize,

    /// The Lease by which replicas take turns
    #[arg(
        long,
        value_name = "NAME",
        default_value = "hostpath-provisioner",
        help_heading = "Election"
    )]
    pub lease_name: String,
    /// The Lease's namespace; the pod's own unless given, "default" outside of a cluster
    #[arg(long, value_name = "NAMESPACE", help_heading = "Election")]
    pub lease_namespace: Option<String>,
    /// This replica's identity, unique among all; the host's name and some random digits unless
    /// given
    #[arg(long, value_name = "ID", help_heading = "Election")]
    pub identity: Option<String>,
    /// How long a lease lasts, in whole seconds; 5s unless given
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Election")]
    pub lease_duration: Option<Duration>,
    /// From one renewal to the next; 1s unless given
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Election")]
    pub retry_period: Option<Duration>,
    /// The longest one request of the election may take; 900ms unless given
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Election")]
    pub lease_request_timeout: Option<Duration>,
    /// What work is given to end in when the lease was lost; 1s unless given
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Election")]
    pub stop_margin: Option<Duration>,
    /// What running work is given to end in after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Election")]
    pub drain_grace: Duration,

    /// The first pause after a failure; it doubles with each further one
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration, help_heading = "Retries")]
    pub retry_base: Duration,
    /// The longest pause after a failure
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration, help_heading = "Retries")]
    pub retry_max: Duration,
    /// Retries a second, over both queues, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Retries")]
    pub retry_qps: u32,
    /// Retries at once before --retry-qps counts, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Retries")]
    pub retry_burst: u32,
    /// Failed attempts after which a claim is given up until it changes; 0: never
    #[arg(long, value_name = "N", default_value_t = 15, help_heading = "Retries")]
    pub provision_threshold: u32,
    /// Failed attempts after which a volume is given up until it changes; 0: never
    #[arg(long, value_name = "N", default_value_t = 15, help_heading = "Retries")]
    pub delete_threshold: u32,
    /// The longest one attempt to provision may take; 0s: no limit
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration, help_heading = "Retries")]
    pub provision_timeout: Duration,
    /// The longest one attempt to delete may take; 0s: no limit
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration, help_heading = "Retries")]
    pub delete_timeout: Duration,
    /// The longest one request to the API server may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Retries")]
    pub api_timeout: Duration,
    /// The longest the API server may take to answer at the start
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Retries")]
    pub connect_timeout: Duration,
    /// How often directories without claim and volume are looked for
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration, help_heading = "Retries")]
    pub sweep_interval: Duration,

    /// Where /metrics, /livez and /readyz are served, as in 127.0.0.1:9090; port 0 picks a free
    /// one; off unless given
    #[arg(long, value_name = "ADDRESS", help_heading = "Watching it")]
    pub metrics_addr: Option<String>,
    /// The form of the log
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text, help_heading = "Watching it")]
    pub log_format: LogFormat,
    /// What is logged, as in info or hostpath_provisioner=debug,warn
    #[arg(long, value_name = "FILTER", default_value = "info", help_heading = "Watching it")]
    pub log_level: String,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error} (write it as in 500ms, 10s or 5m)"))
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Asked {
    /// To run.
    Run(Box<RunArgs>),
    /// To print this and be done: help, version.
    Print(String),
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    /// As one line, unlike clap's own.
    pub fn read<I, T>(arguments: I) -> Result<Asked, InputError>
    where
        I: IntoIterator<Item = T>,
        T: Into<std::ffi::OsString> + Clone,
    {
        match Self::try_parse_from(arguments) {
            Ok(Self { command: Command::Run(run) }) => Ok(Asked::Run(run)),
            Err(error) if !error.use_stderr() => Ok(Asked::Print(error.to_string())),
            Err(error) => Err(one_line(&error.to_string())),
        }
    }
}

/// clap's message without its usage and hints, on one line.
fn one_line(message: &str) -> InputError {
    let mut line = String::new();
    for part in message
        .lines()
        .map(str::trim)
        .take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more"))
    {
        let part = part.strip_prefix("error: ").unwrap_or(part);
        if !part.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(line, "{}{part}", if line.is_empty() { "" } else { " " });
        }
    }
    InputError::new("command line", line, "see hostpath-provisioner run --help")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Asked, InputError> {
        Cli::read([&["hostpath-provisioner"], arguments].concat())
    }

    #[test]
    fn the_flags_are_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn a_wrong_command_line_is_told_on_one_line_that_names_the_flag() {
        for (arguments, names) in [
            (&["run"][..], &["--storage-class", "--root"][..]),
            (
                &["run", "--root", "/x", "--storage-class", "c", "--drain-grace", "10"],
                &["--drain-grace", "'10'", "10s"],
            ),
            (
                &["run", "--root", "/x", "--storage-class", "c", "--retry-base=-1s"],
                &["--retry-base", "-1s"],
            ),
            (
                &["run", "--root", "/x", "--storage-class", "c", "--workers", "many"],
                &["--workers", "many"],
            ),
            (
                &["run", "--root", "/x", "--storage-class", "c", "--log-format", "xml"],
                &["--log-format", "xml", "json"],
            ),
            (
                &["run", "--root", "/x", "--storage-class", "c", "--workers", "-1"],
                &["--workers", "-1"],
            ),
            (&["run", "--root", "/x", "--storage-class", "c", "--bogus"], &["--bogus"]),
            (&["walk"], &["walk"]),
            (&[], &["run"]),
        ] {
            let line = read(arguments).unwrap_err().to_string();
            assert!(!line.contains('\n'), "{line}");
            for name in names {
                assert!(line.contains(name), "{name} is not in: {line}");
            }
        }
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for flag in ["--version", "--help"] {
            assert!(
                matches!(read(&[flag]), Ok(Asked::Print(text)) if text.contains("hostpath-provisioner"))
            );
        }
        assert!(matches!(read(&["run", "--help"]), Ok(Asked::Print(_))));
    }
}
