//! The Go toolchain, without what its caller has set up for other work.

use std::process::Command;

/// `go`, in the folder of a module that is to be built as it is: no workspace around it, no flags,
/// tags or target of the caller's.
///
/// ```
/// let mut go = control_plane::go();
/// go.args(["build", "./..."]);
/// ```
#[must_use]
pub fn go() -> Command {
    let mut command = Command::new("go");
    command.env("GOWORK", "off").env("GO111MODULE", "on");
    for of_other_work in ["GOFLAGS", "GOOS", "GOARCH"] {
        command.env_remove(of_other_work);
    }
    command
}
