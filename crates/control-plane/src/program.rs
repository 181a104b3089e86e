//! One running program: its log in a file, its end, and what it said last.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::component::Component;
use crate::error::Error;
use crate::keeper::Keeper;

/// Lines of a log that are shown.
const TAIL: usize = 12;

#[derive(Debug)]
pub(crate) struct Program {
    component: Component,
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts it with its output at the end of `COMPONENT.log` in `folder`.
    pub(crate) fn start(
        component: Component,
        path: &Path,
        flags: &[String],
        folder: &Path,
        keeper: &Keeper,
    ) -> Result<Self, Error> {
        let log = log(folder, component);
        let failed = |source| Error::Spawn { component, source };
        let out = File::options().create(true).append(true).open(&log).map_err(failed)?;
        let err = out.try_clone().map_err(failed)?;
        let mut command = Command::new(path);
        command.args(flags).current_dir(folder).stdin(Stdio::null()).stdout(out).stderr(err);
        keeper.keep(&mut command);
        let child = command.spawn().map_err(failed)?;
        Ok(Self { component, child, log })
    }

    /// An error if it has ended.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(self.ended(status)),
            _ => Ok(()),
        }
    }

    fn ended(&self, status: ExitStatus) -> Error {
        Error::Ended { component: self.component, status, tail: tail(&self.log) }
    }

    /// Ends it at once: its data are thrown away with it, so there is nothing to put in order.
    /// Stopped programs end too.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: rustix::process::Signal) -> Result<(), Error> {
        signal_to(&self.child, signal).map_err(Error::io(format!("signal {}", self.component)))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal to a child that was not waited for yet.
#[cfg(unix)]
pub(crate) fn signal_to(child: &Child, signal: rustix::process::Signal) -> std::io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let Some(pid) = pid else { return Err(std::io::ErrorKind::NotFound.into()) };
    Ok(rustix::process::kill_process(pid, signal)?)
}

/// Where a program's output goes.
pub(crate) fn log(folder: &Path, component: Component) -> PathBuf {
    folder.join(format!("{component}.log"))
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n")
}
