//! What does not fit is refused with exit status 2 and one line, and nothing is left running or
//! written.

use super::stage::{World, stand_in};

#[track_caller]
pub(crate) fn refused(world: &World, args: &[&str], words: &[&str]) {
    let never = stand_in(world.path(), "exit 9");
    let outcome = world.start_with(&never, args).wait();
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "{word}: {outcome:?}");
    }
    world.assert_empty();
}

#[test]
fn flags_out_of_range_are_refused() {
    let world = World::new();
    refused(&world, &["--claims", "0"], &["--claims", "20 to 20000"]);
    refused(&world, &["--replicas", "2"], &["--replicas", "3 to 9"]);
    refused(&world, &["--faults", "99"], &["--faults", "0 to 30"]);
    refused(&world, &["--timeout", "1s"], &["--timeout", "10s"]);
    refused(&world, &["--sabotage", "maybe"], &["duplicate", "orphan", "lose"]);
    refused(&world, &["--no-such-flag"], &["--no-such-flag"]);
    refused(&world, &["stray"], &["stray"]);
}

#[test]
fn a_port_in_use_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(&World::new(), &["--port", &port], &["--port", &port]);
}

#[test]
fn a_missing_provisioner_is_refused() {
    let world = World::new();
    let outcome = world.start_with("/nowhere/provisioner".as_ref(), &[]).wait();
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert!(
        outcome.stderr.contains("/nowhere/provisioner") && outcome.stderr.lines().count() == 1,
        "{outcome:?}"
    );
    world.assert_empty();
}

#[test]
fn a_temporary_folder_that_cannot_be_used_is_refused() {
    let world = World::new();
    let outcome = std::process::Command::new(env!("CARGO_BIN_EXE_demo"))
        .arg("--provisioner-bin")
        .arg(stand_in(world.path(), "exit 9"))
        .env("TMPDIR", "/nowhere/at/all")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("/nowhere/at/all")
            && stderr.contains("TMPDIR")
            && stderr.lines().count() == 1,
        "{stderr}"
    );
}

#[test]
fn help_speaks_of_cargo_xtask_demo_and_hides_what_is_not_for_people() {
    let outcome =
        std::process::Command::new(env!("CARGO_BIN_EXE_demo")).arg("--help").output().unwrap();
    let stdout = String::from_utf8_lossy(&outcome.stdout);
    assert!(outcome.status.success());
    assert!(stdout.contains("Usage: cargo xtask demo [OPTIONS]"), "{stdout}");
    for hidden in ["serve", "leash", "--provisioner-bin"] {
        assert!(
            stdout.lines().all(|line| line.split_whitespace().next() != Some(hidden)),
            "{stdout}"
        );
    }
}
