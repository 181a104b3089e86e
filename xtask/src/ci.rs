//! The stages of `cargo xtask ci`, in the order in which they run: cheap and telling first.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::process::{Deadline, end_with_us, is_installed, run, shown, status};
use crate::stage::{self, Group, Stage, Verdict};
use crate::workspace::Workspace;
use crate::{
    arrows, demo, election, gates, histories, instructions, loom, miri, model, planted, real, schedules,
    shuttle, tidy, wasm, workflows,
};

const STAGES: &[Stage] = &[
    Stage { name: "fmt", asks: "is the code formatted?", group: Group::Static, needs: &[], run: fmt },
    Stage {
        name: "tidy",
        asks: "has every file a first line, a size and a name of its own?",
        group: Group::Static,
        needs: &[],
        run: tidy,
    },
    Stage {
        name: "arrows",
        asks: "do dependencies point down, and is every published crate complete?",
        group: Group::Static,
        needs: &[],
        run: arrows,
    },
    Stage {
        name: "workflows",
        asks: "does a job run every stage, and are the workflow files valid? (actionlint)",
        group: Group::Static,
        needs: &[],
        run: workflows,
    },
    Stage {
        name: "clippy",
        asks: "all targets, all features, warnings denied",
        group: Group::Static,
        needs: &[],
        run: clippy,
    },
    Stage {
        name: "doc",
        asks: "do all pages build and all links hold, the private ones too?",
        group: Group::Static,
        needs: &[],
        run: doc,
    },
    Stage {
        name: "features",
        asks: "does each published crate compile with no feature, each alone, and all?",
        group: Group::Packages,
        needs: &[],
        run: features,
    },
    Stage {
        name: "wasm",
        asks: "does wq-core compile where there is no operating system? (wasm32)",
        group: Group::Packages,
        needs: &[],
        run: wasm::stage,
    },
    Stage {
        name: "package",
        asks: "does each published crate build from its own package?",
        group: Group::Packages,
        needs: &[],
        run: package,
    },
    Stage {
        name: "deny",
        asks: "licences, bans and sources of all dependencies",
        group: Group::Static,
        needs: &[],
        run: deny,
    },
    Stage {
        name: "build",
        asks: "do all programs, tests and examples build?",
        group: Group::Build,
        needs: &[],
        run: build,
    },
    Stage {
        name: "test",
        asks: "unit, integration and doc tests, and every example",
        group: Group::Test,
        needs: &[],
        run: test,
    },
    Stage {
        name: "schedules",
        asks: "do the programs that play schedules build, with and without planted bugs?",
        group: Group::Schedules,
        needs: &[],
        run: schedules::programs,
    },
    Stage {
        name: "election",
        asks: "does no state of the election's protocol, and no seed of its simulation, have two leaders?",
        group: Group::Election,
        needs: &["schedules"],
        run: election::stage,
    },
    Stage {
        name: "model",
        asks: "do the queues do what naive oracles do, over many sequences?",
        group: Group::Models,
        needs: &["schedules"],
        run: model::stage,
    },
    Stage {
        name: "loom",
        asks: "is every schedule of the queues' small scenarios right?",
        group: Group::Models,
        needs: &["schedules"],
        run: loom::stage,
    },
    Stage {
        name: "shuttle",
        asks: "is every one of many schedules of the queues' large scenarios right?",
        group: Group::Models,
        needs: &["schedules"],
        run: shuttle::stage,
    },
    Stage {
        name: "histories",
        asks: "does one order explain what real threads were answered by wq-core?",
        group: Group::Models,
        needs: &["schedules"],
        run: histories::stage,
    },
    Stage {
        name: "miri",
        asks: "do wq-core's tests do nothing undefined, and race for nothing? (miri)",
        group: Group::Models,
        needs: &[],
        run: miri::stage,
    },
    Stage {
        name: "instructions",
        asks: "does no operation of wq-core take more instructions than its budget? (callgrind)",
        group: Group::Models,
        needs: &["schedules"],
        run: instructions::stage,
    },
    Stage {
        name: "planted",
        asks: "is every bug seen that is planted in a queue or the election, by two kinds of checks?",
        group: Group::Planted,
        needs: &["schedules"],
        run: planted::stage,
    },
    Stage {
        name: "demo",
        asks: "does the whole thing work, and does its judge see a planted wrong?",
        group: Group::Demo,
        needs: &[],
        run: run_demo,
    },
    Stage {
        name: "programs",
        asks: "do the real control plane, and all that runs on it, build?",
        group: Group::Programs,
        needs: &[],
        run: real::programs,
    },
    Stage {
        name: "conformance",
        asks: "does the embedded API server answer as the real one does, case by case and to random calls?",
        group: Group::Conformance,
        needs: &["programs"],
        run: real::conformance,
    },
    Stage {
        name: "real",
        asks: "does all that is claimed hold on a real control plane, and with clients that are not ours?",
        group: Group::Real,
        needs: &["programs"],
        run: real::real,
    },
    Stage {
        name: "gates",
        asks: "is every goal of gates.toml met? (only when it is named)",
        group: Group::Gates,
        needs: &["programs"],
        run: gates::stage,
    },
];

/// Runs the named stages, or all that run unasked.
pub(crate) fn run_stages(names: &[String], is_long: bool) -> Result<()> {
    let stages = stage::pick(STAGES, names)?;
    end_with_us()?;
    stage::run_all(&stages, &Workspace::load()?.long(is_long))
}

/// Prints one line a stage.
pub(crate) fn list() {
    for stage in STAGES {
        println!("{:<11} {}", stage.name, stage.asks);
    }
}

fn fmt(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    run(workspace.cargo(&["fmt", "--all", "--check"]), deadline)?;
    Ok(Verdict::Passed)
}

fn tidy(_: &Workspace, _: Deadline) -> Result<Verdict> {
    tidy::check()?;
    Ok(Verdict::Passed)
}

fn arrows(_: &Workspace, _: Deadline) -> Result<Verdict> {
    arrows::check()?;
    Ok(Verdict::Passed)
}

fn workflows(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    workflows::run_all_of(STAGES, workspace)?;
    if !is_installed("go", "version") {
        ensure!(
            std::env::var_os("CI").is_none(),
            "Go is not installed; install Go 1.26, actionlint is a Go module"
        );
        return Ok(Verdict::Skipped("Go is not installed, and actionlint is a Go module".to_owned()));
    }
    workflows::lint(workspace, deadline)?;
    Ok(Verdict::Passed)
}

fn clippy(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    // Twice: what a plain `cargo test` leaves out is no part of "all targets".
    for targets in [&["--all-targets"][..], &["--test=clients", "--test=real"]] {
        let mut command = workspace.cargo(&["clippy", "--locked", "--workspace", "--all-features"]);
        command.args(targets).args(["--", "-Dwarnings"]);
        run(command, deadline)?;
    }
    Ok(Verdict::Passed)
}

fn doc(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    // Twice: a link from a public page to a private item is an error only in the first, one between private items only in the second.
    for private in [None, Some("--document-private-items")] {
        let mut command = workspace.cargo(&["doc", "--locked", "--workspace", "--no-deps", "--all-features"]);
        command.args(private).env("RUSTDOCFLAGS", "-Dwarnings");
        run(command, deadline)?;
    }
    Ok(Verdict::Passed)
}

fn features(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    for package in workspace.published() {
        let check = |flags: &[&str]| {
            let mut command = workspace.cargo(&["clippy", "--locked", "--quiet", "--package", &package.name]);
            command.args(flags).args(["--", "-Dwarnings"]);
            run(command, deadline)
        };
        check(&["--no-default-features"])?;
        for feature in package.features.keys().filter(|feature| *feature != "default") {
            check(&["--no-default-features", "--features", feature])?;
        }
        check(&["--all-features"])?;
    }
    Ok(Verdict::Passed)
}

fn package(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    // A folder that no run before had: cargo keeps the sources that it packs by folder and version, and would check a crate beside
    // those of an earlier commit.
    let folder = tempfile::Builder::new().prefix("package-").tempdir_in(workspace.target_dir());
    let folder = folder.context("cannot make a folder for the packages")?;
    let mut command = workspace.cargo(&["package", "--locked", "--workspace", "--allow-dirty", "--quiet"]);
    command.arg("--target-dir").arg(folder.path());
    // Nobody reads it.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    for package in workspace.unpublished() {
        command.args(["--exclude", &package.name]);
    }
    run(command, deadline)?;
    Ok(Verdict::Passed)
}

fn deny(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    ensure!(
        is_installed("cargo-deny", "--version"),
        "cargo-deny is not installed; run `cargo install --locked cargo-deny`"
    );
    run(
        workspace.program("cargo-deny", &["--log-level", "error", "check", "bans", "licenses", "sources"]),
        deadline,
    )?;
    Ok(Verdict::Passed)
}

/// Ahead of `test` and `demo`, so that the time of those stages is the time of what they run.
fn build(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    let mut command = tests(workspace)?;
    command.arg("--no-run");
    run(command, deadline)?;
    run(
        workspace.cargo(&["build", "--locked", "--quiet", "--workspace", "--all-features", "--examples"]),
        deadline,
    )?;
    run(demo::build_command(workspace), deadline)?;
    Ok(Verdict::Passed)
}

fn test(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    run(tests(workspace)?, deadline)?;
    // Cargo builds some crates again for these: it cannot do so before.
    run(workspace.cargo(&["test", "--locked", "--workspace", "--all-features", "--doc"]), deadline)?;
    for example in examples(workspace) {
        let mut command = Command::new(&example);
        // Those that would go on for ever end.
        command.arg("--once").current_dir(workspace.root()).stdout(Stdio::null());
        run(command, deadline)?;
    }
    Ok(Verdict::Passed)
}

/// All of a plain `cargo test` but the documentation's, and but what stages of its own play, optimized and for longer.
fn tests(workspace: &Workspace) -> Result<Command> {
    let packages = workspace.packages();
    let targets =
        packages.iter().flat_map(|package| package.targets.iter().map(move |target| (*package, target)));
    let (played, plain): (Vec<_>, Vec<_>) = targets
        .filter(|(_, target)| target.is_test() && target.test)
        .partition(|(package, target)| schedules::has_a_stage(package, &target.name));
    let played: BTreeSet<_> = played.into_iter().map(|(_, target)| &target.name).collect();
    // Cargo is told names, and runs those of all crates.
    if let Some((package, target)) = plain.iter().find(|(_, target)| played.contains(&target.name)) {
        bail!("no stage runs the test target `{}` of {}: give it another name", target.name, package.name);
    }
    let names: BTreeSet<_> = plain.into_iter().map(|(_, target)| &target.name).collect();
    let mut command =
        workspace.cargo(&["test", "--locked", "--workspace", "--all-features", "--lib", "--bins"]);
    command.args(names.into_iter().flat_map(|name| ["--test", name]));
    Ok(command)
}

/// The example programs of the published crates, as the stage `build` left them.
fn examples(workspace: &Workspace) -> Vec<PathBuf> {
    let folder = workspace.debug_dir().join("examples");
    let targets = workspace.published().flat_map(|package| &package.targets);
    targets.filter(|target| target.is_example()).map(|target| folder.join(&target.name)).collect()
}

fn run_demo(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    run(demo::build_command(workspace), deadline)?;
    run(demo::command(workspace, &["--claims".into(), "200".into(), "--seed".into(), "1".into()]), deadline)?;
    for wrong in ["duplicate", "orphan", "lose"] {
        let args = ["--claims", "64", "--seed", "1", "--sabotage", wrong].map(Into::into);
        let command = demo::command(workspace, &args);
        println!("$ {} (must end with exit status 1)", shown(&command));
        let status = status(command, deadline)?;
        if status.code() != Some(1) {
            bail!("the demo with a planted `{wrong}` must end with exit status 1, and ended with {status}");
        }
    }
    Ok(Verdict::Passed)
}
