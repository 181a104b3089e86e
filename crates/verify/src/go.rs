//! The Go programs of `crates/verify/go`: client-go beside ours.

use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Builds the package (`.`, `./election`) into `program`; `None`, said on stderr, where there is no
/// Go, which a laptop is forgiven.
///
/// # Panics
///
/// If there is no Go and `CI` is `true`, or the program does not build.
#[must_use]
#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
pub fn build(package: &str, program: &Path) -> Option<PathBuf> {
    let go = || {
        let mut command = control_plane::go();
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("go"));
        command
    };
    let version = go().arg("version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        let why = "there is no Go to build client-go with; install Go 1.26";
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{why}");
        eprintln!("SKIPPED: {why}");
        return None;
    }
    match go().args(["build", "-o"]).arg(program).arg(package).output() {
        Ok(built) if built.status.success() => Some(program.to_owned()),
        Ok(built) => panic!("{package} does not build: {}", String::from_utf8_lossy(&built.stderr)),
        Err(error) => panic!("go does not start: {error}"),
    }
}
