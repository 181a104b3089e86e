//! Process: a side at work in a process of its own, as seen from outside: its lines, its memory
//! and its wake-ups.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::roles::Who;
use crate::seen::{Mode, monotonic};

/// A peer, and how many keys it works on at once: 0 for its default.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Peer {
    Rust(Who, u16),
    ControllerRuntime(u16),
}

/// Ours, kube-runtime's and controller-runtime's at their defaults.
pub(crate) const DEFAULTS: [Peer; 3] =
    [Peer::Rust(Who::Ours, 0), Peer::Rust(Who::Kube, 0), Peer::ControllerRuntime(0)];
/// The same with four workers.
pub(crate) const FOUR: [Peer; 3] =
    [Peer::Rust(Who::Ours, 4), Peer::Rust(Who::Kube, 4), Peer::ControllerRuntime(4)];

/// A process that has been started.
pub(crate) struct Process {
    child: Child,
    ask: ChildStdin,
    lines: Receiver<String>,
    /// When it was started.
    pub(crate) began: u64,
}

/// The progress of a side: its runs, and its CPU time in nanoseconds.
pub(crate) struct Count {
    pub(crate) runs: u64,
    pub(crate) distinct: u64,
    pub(crate) longest: u64,
    pub(crate) cpu: u64,
}

/// A side has seen all objects: the time, its CPU time, and the time of the first object.
pub(crate) struct Reached {
    pub(crate) at: u64,
    pub(crate) cpu: u64,
    pub(crate) first: u64,
}

impl Process {
    /// Starts a peer on a server, at a URL or by the path of a kubeconfig, with this number of
    /// objects.
    pub(crate) fn start(
        go: &Path,
        peer: Peer,
        server: &str,
        mode: Mode,
        objects: usize,
    ) -> Result<Self> {
        let (mut command, workers) = match peer {
            Peer::Rust(who, workers) => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["side", &format!("{who:?}").to_lowercase()]);
                (command, workers)
            }
            Peer::ControllerRuntime(workers) => {
                let mut command = Command::new(go);
                command.arg("controller");
                if server.starts_with("http:") {
                    // A list as the others have it.
                    command.env("KUBE_FEATURE_WatchListClient", "false");
                }
                (command, workers)
            }
        };
        let mode = format!("{mode:?}").to_lowercase();
        command.args([server, &workers.to_string(), &mode, &objects.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let began = monotonic();
        let mut child = command.spawn().with_context(|| format!("cannot start {peer:?}"))?;
        let (Some(ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{peer:?} has no pipes")
        };
        let (said, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(answers).lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, ask, lines, began })
    }

    /// Waits for a line that begins with this word; its numbers.
    fn hear<const N: usize>(&self, word: &str, within: Duration) -> Result<Option<[u64; N]>> {
        let deadline = monotonic().saturating_add(u64::try_from(within.as_nanos())?);
        loop {
            let left = Duration::from_nanos(deadline.saturating_sub(monotonic()));
            let Ok(line) = self.lines.recv_timeout(left) else { return Ok(None) };
            let mut words = line.split(' ');
            if words.next() == Some(word) {
                let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>()?;
                let numbers = <[u64; N]>::try_from(numbers);
                return Ok(Some(numbers.ok().with_context(|| format!("it said {line:?}"))?));
            }
        }
    }

    /// Waits until it has seen all objects.
    pub(crate) fn reached(&self, within: Duration) -> Result<Option<Reached>> {
        let numbers = self.hear::<3>("reached", within)?;
        Ok(numbers.map(|[at, cpu, first]| Reached { at, cpu, first }))
    }

    /// As [`reached`](Self::reached), of a side that has to.
    pub(crate) fn must_reach(&self) -> Result<Reached> {
        self.reached(Duration::from_mins(2))?.context("a side did not see all objects in 2 minutes")
    }

    /// Waits for a run; when it began.
    pub(crate) fn ran(&self) -> Result<u64> {
        let [at] = self.hear("run", Duration::from_secs(10))?.context("no run in 10 s")?;
        Ok(at)
    }

    /// Asks how far it is.
    pub(crate) fn count(&mut self) -> Result<Count> {
        self.ask("count")
    }

    /// Makes it wait for another turn of this number of objects.
    pub(crate) fn turn(&mut self, turn: u64, objects: usize) -> Result<Count> {
        self.ask(&format!("turn {turn} {objects}"))
    }

    fn ask(&mut self, line: &str) -> Result<Count> {
        writeln!(self.ask, "{line}")?;
        let answer = self.hear("count", Duration::from_secs(30))?;
        let [runs, distinct, longest, cpu] = answer.context("a side does not answer")?;
        Ok(Count { runs, distinct, longest, cpu })
    }

    /// Stops it, or lets it go on.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.context("no process")?, signal)?)
    }

    /// Bytes of memory: `VmRSS` for now, `VmHWM` for the most since
    /// [`forget_peak`](Self::forget_peak).
    pub(crate) fn memory(&self, field: &str) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        Ok(1024.0 * number(&status, field).with_context(|| format!("no {field}"))?)
    }

    /// Begins anew with the most memory.
    pub(crate) fn forget_peak(&self) -> Result<()> {
        fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")
            .context("cannot reset the peak of a process's memory")
    }

    /// How often its threads have waited until now.
    pub(crate) fn wake_ups(&self) -> Result<f64> {
        let mut sum = 0.0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let status = fs::read_to_string(thread?.path().join("status"))?;
            sum += number(&status, "voluntary_ctxt_switches").context("no switches")?;
        }
        Ok(sum)
    }
}

/// A number of a `status` of `/proc`.
fn number(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
