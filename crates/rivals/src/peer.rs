//! Peer: the program with client-go, which runs one round for each line that it is sent.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The program in `go/`, built and started. It ends when this is dropped.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Builds the program beside this one.
    ///
    /// # Errors
    ///
    /// If Go is not installed, or cannot build it.
    pub fn build() -> Result<PathBuf> {
        let ourselves = std::env::current_exe().context("cannot tell where this program is")?;
        let program = ourselves.with_file_name("rivals-go");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("go");
        let mut build = control_plane::go();
        build.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources);
        let built =
            build.status().context("cannot run go; install Go 1.26, the peer is client-go")?;
        ensure!(built.success(), "go build: {built}");
        Ok(program)
    }

    /// Builds the program, and starts it.
    ///
    /// # Errors
    ///
    /// If Go is not installed, or cannot build it.
    pub fn start() -> Result<Self> {
        let program = Self::build()?;
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let (Some(ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the peer has no pipes")
        };
        Ok(Self { child, ask, answers: BufReader::new(answers) })
    }

    /// Its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Has it run one round of a workload: nanoseconds an item.
    ///
    /// # Errors
    ///
    /// If it does not know the workload, or has ended.
    pub fn round(&mut self, workload: &str) -> Result<f64> {
        writeln!(self.ask, "{workload}").context("the peer has ended")?;
        self.ask.flush()?;
        let mut answer = String::new();
        ensure!(self.answers.read_line(&mut answer)? > 0, "the peer has ended in {workload:?}");
        read(workload, answer.trim_end())
    }
}

fn read(workload: &str, answer: &str) -> Result<f64> {
    let name = workload.split(' ').next().unwrap_or_default();
    let value = answer.strip_prefix(name).and_then(|rest| rest.trim().parse().ok());
    value.with_context(|| format!("{workload:?} was answered {answer:?}"))
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn an_answer_names_its_workload() {
        assert_eq!(read("ping 1 2", "ping 42.5").ok(), Some(42.5));
        assert!(read("ping 1 2", "error no workload").is_err());
        assert!(read("ping 1 2", "pong 1").is_err());
    }
}
