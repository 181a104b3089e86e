//! Running a command to its end, or to the end of a stage's time: something that hangs must fail,
//! and say what it was.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use wait_timeout::ChildExt as _;

/// When the time of a stage is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// A span from now; a day if the clock cannot hold it.
    pub(crate) fn within(span: Duration) -> Self {
        let now = now();
        Self(now.checked_add(span).unwrap_or_else(|| now + Duration::from_hours(24)))
    }

    /// The earlier of the two.
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    fn remaining(self) -> Duration {
        self.0.saturating_duration_since(now())
    }
}

#[expect(clippy::disallowed_methods, reason = "commands are timed by the real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// `7.3 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// A check failed, and these commands run just what failed.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) what: String,
    pub(crate) commands: Vec<String>,
}

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Again {}

/// Prints the command, runs it to its end, and fails unless it exits with 0.
pub(crate) fn run(command: Command, deadline: Deadline) -> Result<()> {
    let shown = shown(&command);
    println!("$ {shown}");
    let status = status(command, deadline)?;
    ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}

/// Runs the command to its end. At the deadline it is killed with its whole process group, and has
/// failed.
pub(crate) fn status(command: Command, deadline: Deadline) -> Result<ExitStatus> {
    let shown = shown(&command);
    match status_in_time(command, deadline)? {
        Some(status) => Ok(status),
        None => bail!("`{shown}` reached the limit of its stage and was killed"),
    }
}

/// Runs the command to its end. `None`: it had not ended at the deadline, and was killed with all
/// that it started.
pub(crate) fn status_in_time(
    mut command: Command,
    deadline: Deadline,
) -> Result<Option<ExitStatus>> {
    let shown = shown(&command);
    command.process_group(0); // Which can be killed as a whole.
    let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
    let group = child.id();
    running().insert(group);
    let status = child.wait_timeout(deadline.remaining());
    if let Ok(None) = status {
        signal(group, Signal::KILL);
        let _ = child.wait();
    }
    running().remove(&group);
    status.with_context(|| format!("cannot wait for `{shown}`"))
}

/// As [`status_in_time`], with all that the command wrote.
pub(crate) fn output_in_time(
    mut command: Command,
    deadline: Deadline,
) -> Result<(Option<ExitStatus>, String)> {
    let mut file = tempfile::tempfile().context("cannot make a file for what a command writes")?;
    let copy = || file.try_clone().map(Stdio::from).context("cannot share a file");
    command.stdout(copy()?).stderr(copy()?);
    let status = status_in_time(command, deadline)?;
    let mut written = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut written))
        .context("cannot read what a command wrote")?;
    Ok((status, String::from_utf8_lossy(&written).into_owned()))
}

/// The groups of the commands that run now, for [`forward_signals`].
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on a signal that ends this process (Ctrl-C, a termination, a hang-up) ends the groups
/// of its commands first: by themselves they hear of none.
pub(crate) fn forward_signals() -> Result<()> {
    ctrlc::set_handler(|| {
        running().iter().for_each(|group| signal(*group, Signal::TERM));
        std::process::exit(130);
    })
    .context("cannot listen to signals")
}

/// The command as one would type it, with the variables set for it.
pub(crate) fn shown(command: &Command) -> String {
    let program =
        Path::new(command.get_program()).file_name().unwrap_or_else(|| command.get_program());
    let vars = command.get_envs().filter_map(|(key, value)| {
        Some(format!("{}='{}'", key.to_string_lossy(), value?.to_string_lossy()))
    });
    let words = std::iter::once(program).chain(command.get_args());
    vars.chain(words.map(|word| word.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
}

/// Whether a program answers when asked for its version.
pub(crate) fn is_installed(program: &str, version: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(version).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn signal(group: u32, signal: Signal) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal); // It may have ended.
    }
}

#[cfg(test)]
mod tests;
