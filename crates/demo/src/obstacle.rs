//! Plain files where the provisioner wants folders: put there before it starts, taken away while it
//! works.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// A plain file in the place of a folder, and the folder that will take its place.
#[derive(Debug, Clone)]
pub(crate) struct Obstacle {
    place: PathBuf,
    folder: PathBuf,
}

impl Obstacle {
    /// Puts a plain file at `place` and makes the folder for later at `folder`, on the same file
    /// system.
    pub(crate) fn put(place: PathBuf, folder: PathBuf) -> io::Result<Self> {
        fs::create_dir(&folder)?;
        fs::write(&place, "A plain file in the way, put here by the demo.\n")?;
        Ok(Self { place, folder })
    }

    /// The folder for later, where it lies now.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Lets file and folder change places in one step, so that nobody else can make the folder, and
    /// removes the file.
    pub(crate) fn lift(&self) -> io::Result<()> {
        match renameat_with(CWD, &self.folder, CWD, &self.place, RenameFlags::EXCHANGE) {
            Ok(()) => fs::remove_file(&self.folder),
            // This file system cannot exchange two names.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                fs::remove_file(&self.place)?;
                fs::rename(&self.folder, &self.place)
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Obstacle;

    #[test]
    fn lifting_leaves_the_prepared_folder_in_place_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let (place, folder) = (root.path().join("place"), root.path().join("folder"));
        let obstacle = Obstacle::put(place.clone(), folder.clone()).unwrap();
        assert!(place.is_file() && folder.is_dir());
        std::fs::create_dir(folder.join("mark")).unwrap();
        obstacle.lift().unwrap();
        assert!(place.join("mark").is_dir() && !folder.exists());
    }
}
