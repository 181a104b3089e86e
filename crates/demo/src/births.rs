//! Every appearance of a volume's directory, in order, seen from outside: inotify on the root and
//! on each namespace's folder.
//!
//! Exact because every folder is made and watched before the provisioner can know of it, and the
//! kernel queues each creation and each rename into a folder in order. A queue that overflowed, or
//! a folder made anew by somebody else, is noted as a gap: then the judge calls himself blind. The
//! marker is read at the moment the directory appears under its final name.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use crate::disk::{self, Directory};
use crate::record::Record;

/// A folder of this name in the root is no volume but a mark in the order of events; see
/// [`crate::evidence`].
pub(crate) const BARRIER: &str = ".demo-barrier-";

/// Room for some hundred events a read.
const BUFFER: usize = 16 * 1024;

/// Watches folders for the directories that appear in them.
#[derive(Debug)]
pub(crate) struct Births {
    events: OwnedFd,
    /// What each watched folder is called, which may not yet be where it lies.
    folders: HashMap<i32, PathBuf>,
    root: PathBuf,
    /// The names of namespaces.
    expected: Vec<String>,
    record: Arc<Record>,
}

impl Births {
    /// For `root`, in which folders called as one of `expected` may lie. Add them first: one that
    /// is made after the start is a gap.
    pub(crate) fn of(root: &Path, expected: Vec<String>, record: Arc<Record>) -> io::Result<Self> {
        let events = init(CreateFlags::CLOEXEC)?;
        Ok(Self { events, folders: HashMap::new(), root: root.to_owned(), expected, record })
    }

    /// Watches the folder that lies at `now` and is, or will be, called `called`.
    pub(crate) fn add(&mut self, now: &Path, called: &Path) -> io::Result<()> {
        let what = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        let watch = add_watch(&self.events, now, what)?;
        self.folders.insert(watch, called.to_owned());
        Ok(())
    }

    /// Notes births in a thread of its own, which ends when the root is removed.
    pub(crate) fn start(mut self) -> io::Result<()> {
        let root = self.root.clone();
        self.add(&root, &root)?;
        let read = move || {
            if let Err(error) = self.read() {
                self.gap(format!("file events cannot be read: {error}"));
            }
        };
        thread::Builder::new().name("births".to_owned()).spawn(read).map(drop)
    }

    fn read(&self) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event)
                    if event.events().contains(ReadFlags::IGNORED)
                        && self.folders.get(&event.wd()) == Some(&self.root) =>
                {
                    return Ok(());
                }
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    self.seen(event.wd(), event.events(), name);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn seen(&self, watch: i32, what: ReadFlags, name: Option<&OsStr>) {
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.gap(
                "the kernel's queue of file events overflowed: creations of directories may be unseen"
                    .to_owned(),
            );
        }
        let (Some(folder), Some(name)) = (self.folders.get(&watch), name) else { return };
        if !what.contains(ReadFlags::ISDIR) {
            return;
        }
        let name = name.to_string_lossy();
        if disk::is_volume_name(&name) {
            self.record.born(Directory::read(folder.join(&*name)));
        } else if *folder == self.root && name.starts_with(BARRIER) {
            self.record.barrier(&name);
        } else if *folder == self.root
            && what.contains(ReadFlags::CREATE)
            && self.expected.iter().any(|expected| *expected == name)
        {
            self.gap(format!("the folder {name} was made anew: creations in it may be unseen"));
        }
    }

    fn gap(&self, why: String) {
        self.record.history(|history| history.gap(why));
    }
}

#[cfg(test)]
mod tests {
    use super::Births;
    use crate::record::Record;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Arc;

    /// Does `act` in a watched root and gives back the births seen, relative to the root, and the
    /// gaps.
    async fn seen(act: impl FnOnce(&dyn Fn(&str) -> PathBuf)) -> (Vec<PathBuf>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        let at = |path: &str| root.join(path);
        for folder in ["team-a", "staging"] {
            fs::create_dir(at(folder)).unwrap();
        }
        let record = Arc::new(Record::new());
        let mut births =
            Births::of(&root, vec!["team-a".into(), "team-b".into()], Arc::clone(&record)).unwrap();
        births.add(&at("team-a"), &at("team-a")).unwrap();
        births.start().unwrap();
        act(&at);
        fs::create_dir(at(".demo-barrier-1")).unwrap();
        record.changes().wait_for(|()| record.has_passed(".demo-barrier-1")).await.unwrap();
        let births = record
            .births()
            .into_iter()
            .map(|birth| birth.path.strip_prefix(&root).unwrap().to_owned());
        (births.collect(), record.peek(|history| history.gaps().to_vec()))
    }

    #[tokio::test]
    async fn directories_made_or_renamed_in_are_births_in_order_also_when_they_are_gone_again() {
        let (births, gaps) = seen(|at| {
            fs::create_dir(at("team-a/pvc-1")).unwrap();
            fs::create_dir(at("staging/make-2")).unwrap();
            fs::rename(at("staging/make-2"), at("team-a/pvc-2")).unwrap();
            fs::remove_dir(at("team-a/pvc-1")).unwrap();
            fs::create_dir(at("team-a/pvc-1")).unwrap();
            fs::create_dir(at("pvc-3")).unwrap();
        })
        .await;
        assert_eq!(
            births,
            ["team-a/pvc-1", "team-a/pvc-2", "team-a/pvc-1", "pvc-3"].map(PathBuf::from)
        );
        assert_eq!(gaps, [""; 0]);
    }

    #[tokio::test]
    async fn files_and_other_folders_are_no_births() {
        let (births, gaps) = seen(|at| {
            fs::write(at("team-a/pvc-1"), "").unwrap();
            fs::create_dir(at("other")).unwrap();
            fs::create_dir(at("team-a/make-1")).unwrap();
        })
        .await;
        assert!(births.is_empty(), "{births:?}");
        assert_eq!(gaps, [""; 0]);
    }

    #[tokio::test]
    async fn a_namespaces_folder_that_somebody_else_makes_is_a_gap() {
        let (_, gaps) = seen(|at| fs::create_dir(at("team-b")).unwrap()).await;
        assert_eq!(gaps.len(), 1);
        assert!(gaps[0].contains("team-b"), "{gaps:?}");
    }
}
