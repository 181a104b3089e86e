//! Looks for folders of the root that are on another mount.

use super::mount::Mount;
use super::{DirectoryError, Root, open_root, walk};
use crate::location::SUBDIR_MAX_DEPTH;
use crate::names::{RETAINED_FOLDER, STAGING_FOLDER, STATE_FOLDER, TRASH_FOLDER, claim_uid_of};

impl Root {
    /// Looks for a folder of the root, outside of the volumes' directories, that is on another
    /// mount: no rename gets there.
    ///
    /// # Errors
    /// Naming the first such folder. A folder that cannot be looked into is passed over.
    pub fn check_mounts(&self) -> Result<(), DirectoryError> {
        let root = open_root(self.path()).map_err(|error| {
            DirectoryError::io(self.path(), "the root cannot be opened", error.into())
        })?;
        let mount = Mount::of_path(&root, self.path())?;
        if let Ok(state) = walk::open_folder(&root, STATE_FOLDER) {
            let path = self.path().join(STATE_FOLDER);
            mount.check(&state, &path)?;
            for name in [STAGING_FOLDER, TRASH_FOLDER, RETAINED_FOLDER] {
                if let Ok(folder) = walk::open_folder(&state, name) {
                    mount.check(&folder, &path.join(name))?;
                }
            }
        }
        let mut folders = vec![(root, self.path().to_path_buf(), 0)];
        while let Some((folder, path, depth)) = folders.pop() {
            let Ok(entries) = rustix::fs::Dir::read_from(&folder) else { continue };
            for entry in entries.map_while(Result::ok) {
                let Ok(name) = entry.file_name().to_str() else { continue };
                if name.starts_with('.') || claim_uid_of(name).is_some() {
                    continue;
                }
                let Ok(next) = walk::open_folder(&folder, name) else { continue };
                let path = path.join(name);
                mount.check(&next, &path)?;
                if depth + 1 < SUBDIR_MAX_DEPTH {
                    folders.push((next, path, depth + 1));
                }
            }
        }
        Ok(())
    }
}
