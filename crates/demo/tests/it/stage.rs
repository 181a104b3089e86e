//! Runs of the demo in a world of their own: a folder for everything it may write, and a look at
//! every process that knows of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// No run of these tests takes longer, or it hangs.
const PATIENCE: Duration = Duration::from_secs(150);

/// Real processes live in real time: these tests wait for them, bounded, and draw moments at which
/// to disturb them.
#[expect(clippy::disallowed_methods, reason = "real processes in real time")]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}

#[expect(clippy::disallowed_methods, reason = "real processes in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The provisioner: the one that `PROVISIONER_BIN` names, or one that is built once, from the same
/// profile as the demo.
pub(crate) fn provisioner() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(built) = std::env::var_os("PROVISIONER_BIN") {
            return built.into();
        }
        let demo = Path::new(env!("CARGO_BIN_EXE_demo"));
        let folder = demo.parent().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build
            // As `cargo xtask demo` builds them, so that nothing is built twice.
            .args([
                "build",
                "--quiet",
                "--bins",
                "--package",
                "demo",
                "--package",
                "hostpath-provisioner",
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            // Set for the times of tests, it would make cargo build every crate again.
            .env_remove("RUSTC_BOOTSTRAP");
        build.arg("--target-dir").arg(folder.parent().unwrap());
        if folder.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "hostpath-provisioner does not build");
        folder.join("hostpath-provisioner")
    })
}

/// A program that stands in for the provisioner.
pub(crate) fn stand_in(folder: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("stand-in");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Where a run may write, and nothing else does.
pub(crate) struct World {
    dir: TempDir,
}

/// A run under way.
pub(crate) struct Run<'a> {
    world: &'a World,
    child: Child,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(world.tmp()).unwrap();
        world
    }

    /// For files of the test itself.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// Starts the demo with the real provisioner.
    pub(crate) fn start(&self, args: &[&str]) -> Run<'_> {
        self.start_with(provisioner(), args)
    }

    /// Starts the demo with another program in the provisioner's place.
    pub(crate) fn start_with(&self, provisioner: &Path, args: &[&str]) -> Run<'_> {
        let out = |name: &str| Stdio::from(fs::File::create(self.dir.path().join(name)).unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_demo"))
            .args(args)
            .arg("--provisioner-bin")
            .arg(provisioner)
            .env("TMPDIR", self.tmp())
            // Nobody listens there, and nothing that a run does on this machine is to go there.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("http_proxy", "http://127.0.0.1:9")
            .stdin(Stdio::null())
            .stdout(out("stdout"))
            .stderr(out("stderr"))
            .spawn()
            .unwrap();
        Run { world: self, child }
    }

    /// Lists the files in the run's world, and the processes started in it (they inherit its
    /// TMPDIR).
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = fs::read_dir(self.tmp())
            .unwrap()
            .map(|entry| entry.unwrap().path().display().to_string())
            .collect();
        let tmp = self.tmp();
        let mark = format!("TMPDIR={}", tmp.display());
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environ.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
                let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                // A process that is gone but not yet waited for has no command line any more.
                if !command.is_empty() {
                    left.push(format!(
                        "{}: {}",
                        entry.path().display(),
                        String::from_utf8_lossy(&command).replace('\0', " ")
                    ));
                }
            }
        }
        left
    }

    #[track_caller]
    pub(crate) fn assert_empty(&self) {
        let left = self.left();
        assert!(left.is_empty(), "left behind: {left:#?}");
    }
}

impl Run<'_> {
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Whether it has ended.
    pub(crate) fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Outcome {
        let start = now();
        let read = |name: &str| fs::read_to_string(self.world.path().join(name)).unwrap();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Outcome { status, stdout: read("stdout"), stderr: read("stderr") };
            }
            if start.elapsed() > PATIENCE {
                let _ = self.child.kill();
                panic!("it hangs:\n{}\n{}", read("stdout"), read("stderr"));
            }
            sleep(Duration::from_millis(10));
        }
    }
}

impl Outcome {
    /// The last line of stdout.
    #[track_caller]
    pub(crate) fn verdict(&self) -> &str {
        self.stdout.lines().last().unwrap_or_else(|| panic!("stdout is empty: {self:?}"))
    }

    /// The line before the verdict.
    #[track_caller]
    pub(crate) fn summary(&self) -> &str {
        self.stdout.lines().nth_back(1).unwrap_or_else(|| panic!("no summary: {self:?}"))
    }

    /// The value of `key=` in the summary.
    #[track_caller]
    pub(crate) fn figure(&self, key: &str) -> u64 {
        let words = self.summary().split_whitespace();
        let value = words.filter_map(|word| word.strip_prefix(key)?.strip_prefix('=')).next();
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {key}: {self:?}"))
    }
}
