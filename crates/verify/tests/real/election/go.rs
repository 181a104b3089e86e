//! A candidate of client-go: the program `crates/verify/go/election`, built once, as a process.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use lease_election::Moment;
use rustix::process::Signal;

use super::contest::signal;
use super::judge::wait_for;

/// The program, built once; nothing where there is no Go, which a CI machine must have.
pub(crate) fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        verify::go::build("./election", &Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-election"))
    };
    PROGRAM.get_or_init(build).as_deref()
}

type Lines = Arc<Mutex<Vec<(Moment, String)>>>;

/// How long its leases are.
pub(crate) const LEASE: Duration = Duration::from_secs(3);
/// For how long it tries to renew.
pub(crate) const RENEW_DEADLINE: Duration = Duration::from_secs(2);
/// From one try to the next, while it leads; up to 2.2 times as long while it does not.
pub(crate) const RETRY_PERIOD: Duration = Duration::from_millis(500);

/// A candidate with these durations, which gives the lease back when it is asked to end.
pub(crate) struct GoCandidate {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines,
}

impl GoCandidate {
    pub(crate) fn start(
        program: &Path,
        kubeconfig: &Path,
        namespace: &str,
        lease: &str,
        identity: &str,
    ) -> Self {
        let mut child = Command::new(program)
            .arg("-kubeconfig")
            .arg(kubeconfig)
            .args(["-namespace", namespace, "-name", lease, "-identity", identity])
            .arg(format!("-lease-duration={}ms", LEASE.as_millis()))
            .arg(format!("-renew-deadline={}ms", RENEW_DEADLINE.as_millis()))
            .arg(format!("-retry-period={}ms", RETRY_PERIOD.as_millis()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let lines = Lines::default();
        let read = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Some((nanos, text)) = line.split_once(' ') else { continue };
                let Ok(nanos) = nanos.parse() else { continue };
                let at = Moment::from_origin(Duration::from_nanos(nanos));
                read.lock().unwrap().push((at, text.to_owned()));
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines }
    }

    /// When it first said this, by its own clock, which is ours.
    pub(crate) fn said(&self, text: &str) -> Option<Moment> {
        self.lines.lock().unwrap().iter().find(|(_, line)| line == text).map(|(at, _)| *at)
    }

    pub(crate) fn await_said(&self, text: &str, longest: Duration) -> Moment {
        wait_for(longest, || self.said(text))
            .unwrap_or_else(|| panic!("never said {text:?} but {:?}", self.lines.lock().unwrap()))
    }

    /// Cancels its context: it stops and releases.
    pub(crate) fn stop(&mut self) {
        drop(self.stdin.take());
    }

    pub(crate) fn pause(&self) {
        signal(&self.child, Signal::STOP);
    }

    pub(crate) fn resume(&self) {
        signal(&self.child, Signal::CONT);
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for GoCandidate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
