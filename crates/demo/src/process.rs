//! Child processes that never outlive the demo: each in a process group of its own, its stderr in a
//! log file, on a leash.
//!
//! A child is told to end by signal and pid. Should the demo itself die without a word, the kernel
//! ends what is on a leash (the parent-death signal, kept across exec), and the server ends with
//! its stdin; see [`crate::serve`].

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;

use crate::cli::{self, LeashOptions};
use crate::logs::Log;

/// A process this one started.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) name: String,
    pub(crate) log: PathBuf,
    inner: tokio::process::Child,
    ended: Option<ExitStatus>,
}

impl Child {
    /// Starts `command` with its stderr in `log`.
    ///
    /// Call it from the main thread: the leash holds while the thread that pulled it lives.
    pub(crate) fn start(name: &str, mut command: Command, log: PathBuf) -> io::Result<Self> {
        let stderr = File::create(&log)?;
        let inner =
            command.stderr(Stdio::from(stderr)).process_group(0).kill_on_drop(true).spawn()?;
        Ok(Self { name: name.to_owned(), log, inner, ended: None })
    }

    /// Its pipes.
    pub(crate) fn pipes(&mut self) -> &mut tokio::process::Child {
        &mut self.inner
    }

    /// Sends a signal; whether it was still there to get it.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let pid = self.inner.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.inner.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Waits for its end, at most so long.
    pub(crate) async fn wait(&mut self, most: Duration) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended =
                tokio::time::timeout(most, self.inner.wait()).await.ok().and_then(Result::ok);
        }
        self.ended
    }

    /// Ends it now if it has not ended by itself, and waits until it is gone.
    pub(crate) async fn end(&mut self) {
        if self.ended().is_none() {
            let _ = self.inner.start_kill();
            self.wait(Duration::from_secs(5)).await;
        }
    }

    /// Reads its log.
    pub(crate) fn log(&self) -> Log {
        let text = std::fs::read(&self.log).unwrap_or_default();
        Log { name: self.name.clone(), text: String::from_utf8_lossy(&text).into_owned() }
    }
}

/// A command that runs `program` on a leash held by this process.
pub(crate) fn on_leash(program: &Path) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("leash").arg("--parent").arg(std::process::id().to_string()).arg("--").arg(program);
    Ok(command)
}

/// The hidden command behind [`on_leash`]: asks the kernel to be killed with its parent, then
/// becomes the program.
pub(crate) fn leash(options: &LeashOptions) -> ExitCode {
    #[cfg(target_os = "linux")]
    {
        if let Err(error) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
            return cli::refuse(&format!("cannot ask for a parent-death signal: {error}"));
        }
        // The parent may have died before the kernel was asked.
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
        if parent != Some(options.parent) {
            return cli::refuse("the process that held the leash is gone");
        }
    }
    let Some((program, arguments)) = options.program.split_first() else {
        return cli::refuse("no program on the leash");
    };
    let error = std::process::Command::new(program).args(arguments).exec();
    cli::refuse(&format!("cannot start {}: {error}", program.display()))
}
