//! The keeper: a shell that leads the process group of all that was started, and ends it should its
//! owner die without a word.
//!
//! The owner holds the other end of its stdin. When that closes, whatever the reason, everything in
//! the group is killed and the folder removed. A control plane that is stopped in order kills the
//! keeper too.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Programs are told to end first, so that nothing is written any more while the folder is removed.
const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT
while read -r _; do :; done
kill -TERM 0
sleep 1
rm -rf -- "$1"
kill -KILL 0
"#;

#[derive(Debug)]
pub(crate) struct Keeper(Child);

impl Keeper {
    /// Starts to keep `folder`.
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "keeper"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map(Self)
    }

    /// Makes the program that `command` will start one of those that are kept.
    pub(crate) fn keep(&self, command: &mut Command) {
        #[cfg(unix)]
        if let Ok(group) = i32::try_from(self.0.id()) {
            std::os::unix::process::CommandExt::process_group(command, group);
        }
        #[cfg(not(unix))]
        let _ = command;
    }
}

impl Drop for Keeper {
    /// There is nothing left to keep.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
