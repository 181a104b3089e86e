//! What ends in time, what fails, and what hangs.

use std::process::Command;
use std::time::Duration;

use super::{Deadline, run};

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_command_that_ends_well_in_time_passes() {
    assert!(run(sh("exit 0"), Deadline::within(Duration::from_secs(60))).is_ok());
}

#[test]
fn a_command_that_fails_is_named_with_its_status() {
    let error =
        run(sh("exit 3"), Deadline::within(Duration::from_secs(60))).unwrap_err().to_string();
    assert!(error.contains("`sh -c exit 3` ended with") && error.contains('3'), "{error}");
}

#[test]
fn a_command_that_hangs_is_killed_and_named() {
    let error = run(sh("read forever < /dev/zero"), Deadline::within(Duration::ZERO))
        .unwrap_err()
        .to_string();
    assert!(error.contains("read forever") && error.contains("was killed"), "{error}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = run(Command::new("no-such-program"), Deadline::within(Duration::from_secs(60)))
        .unwrap_err();
    assert!(error.to_string().contains("cannot start `no-such-program`"), "{error}");
}
