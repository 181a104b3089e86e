//! The command line: flags, their bounds, and one clear line for whatever is out of them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::venue::{Cluster, Engine};

#[cfg(test)]
mod tests;

/// Exit status for flags or surroundings that do not fit.
pub(crate) const BAD_INPUT: u8 = 2;

/// What to do.
#[derive(Debug)]
pub(crate) enum Command {
    Run(Options),
    Serve(ServeOptions),
    Leash(LeashOptions),
}

/// Starts an API server and three replicas of a storage provisioner. The replicas elect a leader
/// and make a volume for each claim. The demo kills the first leader with SIGKILL and stops the
/// second with SIGTERM. At the end a judge reads the server and the disk, and says whether a volume
/// was lost, made twice or left over.
///
/// The last line is PASSED or FAILED. Exit status: 0 passed; 1 failed; 2 bad input; 130 after
/// Ctrl-C.
#[derive(Debug, Parser)]
#[command(
    name = "demo",
    bin_name = "cargo xtask demo",
    version,
    args_conflicts_with_subcommands = true,
    allow_negative_numbers = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    hidden: Option<Hidden>,
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Claims to create: 20 to 20000.
    #[arg(long, value_name = "N", default_value = "500", value_parser = |s: &str| bounded(s, 20, 20_000))]
    claims: u64,
    /// Provisioner replicas: 3 to 9. One is killed, one is stopped, and the rest must finish the
    /// work.
    #[arg(long, value_name = "N", default_value = "3", value_parser = |s: &str| bounded(s, 3, 9))]
    replicas: u64,
    /// Share of the replicas' API requests that fail, in percent: 0 to 30.
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = |s: &str| bounded(s, 0, 30))]
    faults: u64,
    /// Repeats a run's plan: names, faults, deletions. Without it the demo draws a seed and prints
    /// it.
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Claims created per second: 1 to 500.
    #[arg(long, value_name = "PER_SECOND", default_value = "25", value_parser = |s: &str| bounded(s, 1, 500))]
    rate: u64,
    /// Time limit from the moment the API server is ready, 10s to 2h. A run that is late fails,
    /// and says what is stuck [default: 60s + 3 x claims / rate].
    #[arg(long, value_name = "DURATION", value_parser = |s: &str| span(s, Duration::from_secs(10), Duration::from_secs(7200)))]
    timeout: Option<Duration>,
    /// Runs on a real control plane: kube-apiserver, etcd and kube-controller-manager. The
    /// programs come from KUBEBUILDER_ASSETS, or Go builds them once, in some minutes.
    #[arg(long, conflicts_with = "kubeconfig")]
    real: bool,
    /// Runs on your own cluster, in namespaces and with a storage class that the demo makes and
    /// removes.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of --kubeconfig to use, instead of its current one.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    context: Option<String>,
    /// Loopback port of the API server, or of the proxy in front of it; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value = "0", value_parser = |s: &str| bounded(s, 0, 65_535))]
    port: u64,
    /// Plants a wrong outcome after the work, unknown to the replicas: the verdict must then be
    /// FAILED.
    #[arg(long, value_name = "WHAT")]
    sabotage: Option<Sabotage>,
    /// Keeps the server and all files after the verdict, until Ctrl-C, and prints commands to look
    /// around.
    #[arg(long)]
    keep: bool,
    /// Prints one JSON document on stdout, with "verdict"; everything else goes to stderr.
    #[arg(long)]
    json: bool,
    /// The provisioner's binary; `cargo xtask demo` builds it and fills this in.
    #[arg(long, value_name = "PATH", hide = true)]
    provisioner_bin: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Hidden {
    /// The API server, in a process of its own; ends when its stdin does.
    #[command(hide = true)]
    Serve(ServeOptions),
    /// Runs a program that is killed when this process's parent ends.
    #[command(hide = true)]
    Leash(LeashOptions),
}

/// What [`crate::serve`] needs.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// The run's folder: kubeconfigs go there, and it is removed should the parent die.
    #[arg(long)]
    pub(crate) dir: PathBuf,
    #[arg(long)]
    pub(crate) port: u16,
    #[arg(long)]
    pub(crate) seed: u64,
    #[arg(long)]
    pub(crate) faults: u8,
    /// The users whose requests may fail.
    #[arg(long = "replica")]
    pub(crate) replicas: Vec<String>,
    /// Of [`crate::venue::Venue`].
    #[arg(long)]
    pub(crate) mark: String,
    #[arg(long)]
    real: bool,
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    #[arg(long)]
    context: Option<String>,
}

impl ServeOptions {
    pub(crate) fn engine(&self) -> Engine {
        engine(self.real, self.kubeconfig.clone(), self.context.clone())
    }
}

fn engine(real: bool, kubeconfig: Option<PathBuf>, context: Option<String>) -> Engine {
    match kubeconfig {
        Some(kubeconfig) => Engine::Cluster(Cluster { kubeconfig, context }),
        None if real => Engine::Real,
        None => Engine::Embedded,
    }
}

/// What [`crate::process::leash`] needs.
#[derive(Debug, Args)]
pub(crate) struct LeashOptions {
    /// The process id whose end ends the program.
    #[arg(long)]
    pub(crate) parent: i32,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) program: Vec<OsString>,
}

/// A wrong outcome, planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sabotage {
    /// A second volume and directory for a claim that has one.
    Duplicate,
    /// A directory for a claim that never was.
    Orphan,
    /// A bound claim's directory is taken away.
    Lose,
}

/// A checked request to run the demo.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) claims: usize,
    pub(crate) replicas: usize,
    /// Percent.
    pub(crate) faults: u8,
    pub(crate) seed: u64,
    /// Claims per second.
    pub(crate) rate: u32,
    pub(crate) timeout: Duration,
    pub(crate) engine: Engine,
    pub(crate) port: u16,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) keep: bool,
    pub(crate) json: bool,
    pub(crate) provisioner: PathBuf,
}

/// Reads the command line. Help and version are printed here; so is the one line about a flag that
/// does not fit.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, ExitCode> {
    let parsed = Cli::command()
        .try_get_matches_from(args)
        .and_then(|mut m| Cli::from_arg_matches_mut(&mut m));
    let cli = parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => refuse(&one_line(&error.to_string())),
    })?;
    match cli.hidden {
        Some(Hidden::Serve(options)) => Ok(Command::Serve(options)),
        Some(Hidden::Leash(options)) => Ok(Command::Leash(options)),
        None => checked(cli.run).map(Command::Run).map_err(|why| refuse(&why)),
    }
}

/// Says on stderr why nothing was started, and gives the exit status for that.
#[expect(clippy::print_stderr, reason = "the one place that refuses")]
pub(crate) fn refuse(why: &str) -> ExitCode {
    eprintln!("demo: {why}");
    ExitCode::from(BAD_INPUT)
}

/// What spans several flags: the binary is there, and the time limit leaves room for the pace.
fn checked(args: RunArgs) -> Result<Options, String> {
    let writing = Duration::from_secs(args.claims.div_ceil(args.rate));
    let timeout = args
        .timeout
        .unwrap_or_else(|| Duration::from_secs(60).saturating_add(writing.saturating_mul(3)));
    let least = writing.saturating_add(Duration::from_secs(10));
    if timeout < least {
        return Err(format!(
            "--timeout {}: creating {} claims at {} per second alone takes {}; give at least {}, or raise --rate",
            humantime::format_duration(timeout),
            args.claims,
            args.rate,
            humantime::format_duration(writing),
            humantime::format_duration(least),
        ));
    }
    let Some(provisioner) = args.provisioner_bin else {
        return Err("--provisioner-bin is missing: run cargo xtask demo, which builds the provisioner and fills it in".to_owned());
    };
    let wrong = match std::fs::metadata(&provisioner) {
        Ok(file) if file.is_file() => None,
        Ok(_) => Some("is no file".to_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(wrong) = wrong {
        let path = provisioner.display();
        return Err(format!(
            "--provisioner-bin {path}: {wrong}; build it: cargo build -p hostpath-provisioner"
        ));
    }
    // Bounds above make every conversion exact.
    Ok(Options {
        claims: usize::try_from(args.claims).unwrap_or(usize::MAX),
        replicas: usize::try_from(args.replicas).unwrap_or(usize::MAX),
        faults: u8::try_from(args.faults).unwrap_or(u8::MAX),
        seed: args.seed.unwrap_or_else(|| u64::from(fastrand::u32(..))),
        rate: u32::try_from(args.rate).unwrap_or(u32::MAX),
        timeout,
        engine: engine(args.real, args.kubeconfig, args.context),
        port: u16::try_from(args.port).unwrap_or(u16::MAX),
        sabotage: args.sabotage,
        keep: args.keep,
        json: args.json,
        provisioner,
    })
}

fn bounded(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let out = || format!("must be a whole number from {least} to {most}");
    let value: u64 = text.trim().parse().map_err(|_| out())?;
    if (least..=most).contains(&value) { Ok(value) } else { Err(out()) }
}

fn span(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let out = || {
        let (least, most) = (humantime::format_duration(least), humantime::format_duration(most));
        format!("must be a duration from {least} to {most}, such as 90s")
    };
    let value = humantime::parse_duration(text).map_err(|_| out())?;
    if (least..=most).contains(&value) { Ok(value) } else { Err(out()) }
}

/// Folds clap's paragraphs into one line.
fn one_line(error: &str) -> String {
    let kept: Vec<&str> = error
        .lines()
        .map(str::trim)
        .filter(|line| {
            !line.is_empty()
                && !line.starts_with("Usage:")
                && !line.starts_with("For more information")
        })
        .map(|line| line.trim_start_matches("error: "))
        .collect();
    // What follows a colon is what it announces.
    let line = kept.join("; ").replace(":; ", ": ");
    format!("{line} (see cargo xtask demo --help)")
}
