//! The heap of the programs that measure: it keeps the memory that a round gives back, as the
//! peer's does.
//!
//! Go's heap keeps what it was given from one round to the next. glibc returns each block of more
//! than 32 MB to the system as soon as it is free, and takes it again from zero, page by page:
//! rounds of a million items would compare that.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What glibc reads when a program begins (`man 3 mallopt`; in bytes).
const TUNABLES: &str = "GLIBC_TUNABLES";
const KEPT: &str =
    "glibc.malloc.mmap_threshold=17179869184:glibc.malloc.trim_threshold=17179869184";

/// Begins the program anew, unless it runs with such a heap already, or one that whoever called it
/// has chosen.
///
/// # Errors
///
/// If the system does not find the program.
pub(crate) fn keep() -> io::Result<()> {
    if !cfg!(target_env = "gnu") || env::var_os(TUNABLES).is_some() {
        return Ok(());
    }
    Err(Command::new(env::current_exe()?).args(env::args_os().skip(1)).env(TUNABLES, KEPT).exec())
}
