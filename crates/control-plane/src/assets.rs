//! Finding the programs: in `KUBEBUILDER_ASSETS`, in the cache, or built from source with Go into
//! the cache.
//!
//! The cache lies outside of any checkout and is keyed by the sources' sums: a second checkout
//! finds what the first one built.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::component::Component;
use crate::error::Error;
use crate::toolchain;

const GO_MOD: &str = include_str!("../../../xtask/control-plane/go.mod");
const GO_SUM: &str = include_str!("../../../xtask/control-plane/go.sum");

/// How often progress is told.
const TICK: Duration = Duration::from_millis(250);
/// Lines of Go's output shown when a build fails.
const TAIL: usize = 12;

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct Assets(BTreeMap<Component, PathBuf>);

/// What [`Assets::prepare`] is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Another process builds; this one waits for it.
    Waiting,
    /// A program is being built; told several times a second.
    Building {
        /// Which.
        component: Component,
        /// Since when.
        elapsed: Duration,
    },
    /// A program was built.
    Built {
        /// Which.
        component: Component,
        /// How long it took.
        took: Duration,
    },
}

impl Assets {
    /// Finds the programs, and builds those that are not there. A first build of all four takes
    /// five minutes on two cores.
    ///
    /// `tell` hears of every step that takes time; when it breaks, the build is ended.
    ///
    /// # Errors
    ///
    /// [`Error::NoGo`], [`Error::NoCacheFolder`], [`Error::Build`], [`Error::Cancelled`], or
    /// [`Error::Io`].
    pub fn prepare(
        components: &[Component],
        mut tell: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self, Error> {
        let given = given();
        let in_given = |component: Component| {
            given.as_ref().map(|folder| folder.join(component.name())).filter(|path| path.is_file())
        };
        let mut found = BTreeMap::new();
        let mut cache = None;
        for &component in components {
            let path = if let Some(path) = in_given(component) {
                path
            } else {
                let cache = match &cache {
                    Some(cache) => cache,
                    None => cache.insert(Cache::open()?),
                };
                cache.get(component, given.as_deref(), &mut tell)?
            };
            found.insert(component, path);
        }
        Ok(Self(found))
    }

    /// What makes [`prepare`](Self::prepare) fail at once: a program that is nowhere, without the
    /// Go that could build it.
    #[must_use]
    pub fn missing(components: &[Component]) -> Option<Error> {
        let assets = given();
        let cached = folder().ok();
        let has = |folder: &Option<PathBuf>, component: Component| {
            folder.as_ref().is_some_and(|folder| folder.join(component.name()).is_file())
        };
        let nowhere =
            |component: &&Component| !has(&assets, **component) && !has(&cached, **component);
        let component = components.iter().copied().find(|component| nowhere(&component))?;
        (!go_is_there()).then_some(Error::NoGo { component, assets })
    }

    /// Where a program is.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if it was not asked for at [`prepare`](Self::prepare).
    pub fn path(&self, component: Component) -> Result<&Path, Error> {
        let missing = || {
            let source = std::io::Error::new(std::io::ErrorKind::NotFound, "it was not prepared");
            Error::Io { what: format!("use {component}"), source }
        };
        self.0.get(&component).map(PathBuf::as_path).ok_or_else(missing)
    }

    /// The version of Kubernetes that is built from source, as in `v1.36.3`.
    #[must_use]
    pub fn kubernetes_version() -> &'static str {
        let line = GO_MOD.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
        line.and_then(|rest| rest.split_whitespace().next()).unwrap_or("v0.0.0")
    }
}

/// The folder of built programs.
struct Cache {
    folder: PathBuf,
}

impl Cache {
    fn open() -> Result<Self, Error> {
        let folder = folder()?;
        fs::create_dir_all(&folder).map_err(Error::io(format!("make {}", folder.display())))?;
        Ok(Self { folder })
    }

    fn get(
        &self,
        component: Component,
        given: Option<&Path>,
        tell: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<PathBuf, Error> {
        let path = self.folder.join(component.name());
        if path.is_file() {
            return Ok(path);
        }
        if !go_is_there() {
            return Err(Error::NoGo { component, assets: given.map(Path::to_owned) });
        }
        let _turn = self.take_turn(tell)?;
        // Whoever had the turn before may have built it.
        if !path.is_file() {
            self.build(component, &path, tell)?;
        }
        Ok(path)
    }

    /// One process builds at a time; the lock goes with the file handle, however its owner ends.
    fn take_turn(&self, tell: &mut impl FnMut(Progress) -> ControlFlow<()>) -> Result<File, Error> {
        let path = self.folder.join("lock");
        let failed = |source| Error::Io { what: format!("lock {}", path.display()), source };
        let lock = File::create(&path).map_err(failed)?;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
                Err(fs::TryLockError::WouldBlock) => {
                    check(tell(Progress::Waiting))?;
                    pause(TICK);
                }
            }
        }
    }

    /// Builds into a file beside, and renames it: a build that was cut off leaves nothing that
    /// looks built.
    fn build(
        &self,
        component: Component,
        path: &Path,
        tell: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let module = self.folder.join("module");
        let unfinished = self.folder.join(format!("{component}.unfinished"));
        fs::create_dir_all(&module)
            .and_then(|()| fs::write(module.join("go.mod"), GO_MOD))
            .and_then(|()| fs::write(module.join("go.sum"), GO_SUM))
            .map_err(Error::io(format!("write {}", module.display())))?;
        let mut command = toolchain::go();
        command
            .current_dir(&module)
            .args(["build", "-mod=readonly", "-trimpath", "-ldflags", &ldflags(), "-o"])
            .arg(&unfinished)
            .arg(component.package())
            // Static programs, which need no C compiler.
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let start = now();
        let mut go = command.spawn().map_err(Error::io("start go"))?;
        let said = lines(go.stderr.take());
        let mut tail = Vec::new();
        loop {
            match said.recv_timeout(TICK) {
                Ok(line) => {
                    if tail.len() == TAIL {
                        tail.remove(0);
                    }
                    tail.push(line);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let told =
                        check(tell(Progress::Building { component, elapsed: start.elapsed() }));
                    if told.is_err() {
                        interrupt(&mut go);
                        return told;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = go.wait().map_err(Error::io("wait for go"))?;
        if !status.success() {
            let _ = fs::remove_file(&unfinished);
            // A Ctrl-C at a terminal reaches Go too, and perhaps first.
            check(tell(Progress::Building { component, elapsed: start.elapsed() }))?;
            return Err(Error::Build { component, tail: tail.join("\n") });
        }
        fs::rename(&unfinished, path).map_err(Error::io(format!("keep {}", path.display())))?;
        check(tell(Progress::Built { component, took: start.elapsed() }))
    }
}

fn check(told: ControlFlow<()>) -> Result<(), Error> {
    match told {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

/// The lines that come out of a pipe, read in a thread that ends with it.
fn lines(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// Go ends its compilers when it is interrupted, and leaves them running when it is killed.
fn interrupt(go: &mut std::process::Child) {
    #[cfg(unix)]
    let _ = crate::program::signal_to(go, rustix::process::Signal::INT);
    #[cfg(not(unix))]
    let _ = go.kill();
    let _ = go.wait();
}

/// Programs that the user has built already; kubebuilder's own variable.
fn given() -> Option<PathBuf> {
    std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// `$XDG_CACHE_HOME/wq-rs/control-plane/KEY`, or the same below `$HOME/.cache`.
fn folder() -> Result<PathBuf, Error> {
    let variable = |name| {
        std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from)
    };
    let caches = variable("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .ok_or(Error::NoCacheFolder)?;
    Ok(caches.join("wq-rs").join("control-plane").join(key()))
}

/// Changes with the sources, and with how they are built.
fn key() -> String {
    let mut hash = Sha256::new();
    for part in [GO_MOD, GO_SUM, &ldflags(), std::env::consts::OS, std::env::consts::ARCH] {
        hash.update(part);
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Without these the programs say that they are v0.0.0, and kubectl warns of it.
fn ldflags() -> String {
    let version = Assets::kubernetes_version();
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    ["gitVersion=".to_owned() + version, format!("gitMajor={major}"), format!("gitMinor={minor}")]
        .iter()
        .fold("-s -w".to_owned(), |flags, set| {
            format!("{flags} -X k8s.io/component-base/version.{set}")
        })
}

fn go_is_there() -> bool {
    let mut command = toolchain::go();
    command.arg("version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[expect(clippy::disallowed_methods, reason = "builds take real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process holds the lock; the system cannot be waited for with a way out"
)]
fn pause(span: Duration) {
    thread::sleep(span);
}

#[cfg(test)]
mod tests {
    use super::{Assets, key, ldflags};

    #[test]
    fn the_version_is_the_one_in_the_module_file() {
        assert!(
            Assets::kubernetes_version().starts_with("v1."),
            "{}",
            Assets::kubernetes_version()
        );
        assert!(ldflags().contains("gitMajor=1 "), "{}", ldflags());
    }

    #[test]
    fn the_key_is_a_name_for_a_folder() {
        assert_eq!(key().len(), 16);
        assert!(key().bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
