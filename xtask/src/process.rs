//! Running a command to its end, or to the end of a stage's time: something that hangs must fail, and say what it was.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use wait_timeout::ChildExt as _;

/// When the time of a stage is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// `None` for a span that no clock holds.
    pub(crate) fn after(start: Instant, span: Duration) -> Option<Self> {
        start.checked_add(span).map(Self)
    }

    #[expect(clippy::disallowed_methods, reason = "stages are timed by the real clock")]
    fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// Prints the command, runs it to its end, and fails unless it exits with 0.
pub(crate) fn run(command: Command, deadline: Deadline) -> Result<()> {
    let shown = shown(&command);
    println!("$ {shown}");
    let status = status(command, deadline)?;
    ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}

/// Runs the command to its end. What has not ended at the deadline is killed, with all that it started, and fails.
pub(crate) fn status(mut command: Command, deadline: Deadline) -> Result<ExitStatus> {
    let shown = shown(&command);
    let leads_group = lead_a_group(&mut command);
    let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
    let _running = leads_group.then(|| Running::new(&child));
    match child.wait_timeout(deadline.remaining()).with_context(|| format!("cannot wait for `{shown}`"))? {
        Some(status) => Ok(status),
        None => {
            kill(&mut child, leads_group);
            let _ = child.wait();
            bail!("`{shown}` had not ended when the time of its stages was over, and was killed");
        }
    }
}

/// The group of the command that runs now, for [`end_with_us`].
static RUNNING: Mutex<Option<u32>> = Mutex::new(None);

/// While this lives, the child's group is the one that runs.
struct Running;

impl Running {
    fn new(child: &Child) -> Self {
        note(Some(child.id()));
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        note(None);
    }
}

fn note(group: Option<u32>) {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = group;
}

/// From here on a signal that ends this process is passed on first: a command that leads a group hears none by itself. At a terminal
/// it leads none: Ctrl-C reaches it there, but a SIGTERM that is sent to this process alone does not.
pub(crate) fn end_with_us() -> Result<()> {
    ctrlc::set_handler(|| {
        let group = *RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(unix)]
        if let Some(group) =
            group.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
        let _ = group;
        std::process::exit(130);
    })
    .context("cannot listen to signals")
}

/// The command as one would type it, with the variables set for it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_else(|| command.get_program());
    let vars = command
        .get_envs()
        .filter_map(|(key, value)| Some(format!("{}='{}'", key.to_string_lossy(), value?.to_string_lossy())));
    let words = std::iter::once(program).chain(command.get_args());
    vars.chain(words.map(|word| word.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
}

/// Whether a program answers when asked for its version.
pub(crate) fn is_installed(program: &str, version: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(version).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Away from a terminal the command leads a process group, which can be killed as a whole. At a terminal it stays in
/// ours, so that Ctrl-C reaches it.
#[cfg(unix)]
fn lead_a_group(command: &mut Command) -> bool {
    use std::io::IsTerminal as _;
    use std::os::unix::process::CommandExt as _;

    let alone = !std::io::stdin().is_terminal();
    if alone {
        command.process_group(0);
    }
    alone
}

#[cfg(not(unix))]
fn lead_a_group(_: &mut Command) -> bool {
    false
}

fn kill(child: &mut Child, leads_group: bool) {
    #[cfg(unix)]
    if leads_group
        && let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
        && rustix::process::kill_process_group(group, rustix::process::Signal::KILL).is_ok()
    {
        return;
    }
    let _ = leads_group;
    let _ = child.kill();
}

#[cfg(test)]
mod tests;
