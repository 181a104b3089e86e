//! Every flag's bounds, and the shape of a refusal.

use super::{Cli, Command, Options, checked, one_line};
use clap::{CommandFactory, Parser};
use std::time::Duration;

fn read(args: &[&str]) -> Result<Options, String> {
    let me = std::env::current_exe().unwrap();
    let all =
        ["demo", "--provisioner-bin", me.to_str().unwrap()].into_iter().chain(args.iter().copied());
    let cli = Cli::try_parse_from(all).map_err(|error| one_line(&error.to_string()))?;
    checked(cli.run)
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn defaults_are_those_of_the_readme() {
    let options = read(&[]).unwrap();
    assert_eq!(
        (options.claims, options.replicas, options.faults, options.rate, options.port),
        (500, 3, 5, 25, 0)
    );
    assert_eq!(options.timeout, Duration::from_secs(120));
    assert!(options.sabotage.is_none() && !options.keep && !options.json);
}

#[test]
fn every_flag_out_of_range_is_refused_in_one_line_that_names_flag_and_bound() {
    for (flag, value, bound) in [
        ("--claims", "0", "20 to 20000"),
        ("--claims", "20001", "20 to 20000"),
        ("--claims", "many", "20 to 20000"),
        ("--replicas", "2", "3 to 9"),
        ("--replicas", "10", "3 to 9"),
        ("--faults", "31", "0 to 30"),
        ("--faults", "-1", "0 to 30"),
        ("--rate", "0", "1 to 500"),
        ("--rate", "501", "1 to 500"),
        ("--timeout", "9s", "10s to 2h"),
        ("--timeout", "3h", "10s to 2h"),
        ("--timeout", "soon", "10s to 2h"),
        ("--port", "65536", "0 to 65535"),
        ("--sabotage", "everything", "duplicate, orphan, lose"),
    ] {
        let error = read(&[flag, value]).unwrap_err();
        assert!(error.contains(flag), "{error}");
        assert!(error.contains(value), "{error}");
        assert!(error.contains(bound), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = read(&["--seed", "x"]).unwrap_err();
    assert!(error.contains("--seed") && !error.contains('\n'), "{error}");
    assert!(!read(&["--no-such-flag"]).unwrap_err().contains('\n'));
}

#[test]
fn a_time_limit_shorter_than_the_writing_is_refused_with_the_remedy() {
    let error = read(&["--claims", "1000", "--rate", "10", "--timeout", "1m"]).unwrap_err();
    assert!(error.contains("--timeout 1m") && error.contains("at least 1m 50s"), "{error}");
}

#[test]
fn a_missing_provisioner_is_refused_with_the_remedy() {
    let cli = Cli::try_parse_from(["demo", "--provisioner-bin", "/nowhere/at/all"]).unwrap();
    let error = checked(cli.run).unwrap_err();
    assert!(
        error.contains("/nowhere/at/all") && error.contains("cargo build -p hostpath-provisioner"),
        "{error}"
    );
}

#[test]
fn hidden_commands_need_no_provisioner() {
    let args = ["demo", "leash", "--parent", "7", "--", "sleep", "--x"].map(Into::into);
    let Ok(Command::Leash(leash)) = super::parse(args) else { panic!("not a leash") };
    assert_eq!(leash.parent, 7);
    assert_eq!(leash.program, ["sleep", "--x"]);
}
