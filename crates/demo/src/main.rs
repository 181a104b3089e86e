//! `cargo xtask demo`: starts an API server and provisioner replicas, breaks them, and judges from
//! outside.
//!
//! Reading order: [`cli`] what may be asked for, [`plan`] what will happen (pure, seeded), [`run`]
//! and [`act`] how it happens, [`evidence`] what is looked at, [`judge`] whether it went well
//! (pure), [`report`] how that is said, [`autopsy`] what a late run waits for, [`logs`] which log
//! lines concern a failure, [`keep`] the instructions of `--keep`. Around them: [`venue`] on which
//! API server, [`users`] who reaches it, [`serve`] that server's own process, [`replica`] the
//! provisioner's, [`process`] children that never outlive us, [`stage`] all that was started and
//! written and how it is taken away; [`writer`], [`obstacle`] and [`sabotage`] act; [`record`],
//! [`watch`], [`history`], [`births`], [`disk`], [`requests`] and [`metrics`] observe; [`failover`]
//! and [`figures`] count; [`progress`] shows; [`clock`] is the only one that reads a clock.

mod cli;
mod plan;
mod run;
mod act;
mod evidence;
mod judge;
mod report;
mod autopsy;
mod logs;
mod keep;

mod venue;
mod users;
mod serve;
mod replica;
mod process;
mod stage;
mod writer;
mod wrong_phase;
mod obstacle;
mod sabotage;
mod record;
mod watch;
mod history;
mod births;
mod disk;
mod requests;
mod metrics;
mod failover;
mod figures;
mod progress;
mod clock;

use std::process::ExitCode;

use cli::Command;

fn main() -> ExitCode {
    let command = match cli::parse(std::env::args_os()) {
        Ok(command) => command,
        Err(exit) => return exit,
    };
    match command {
        Command::Leash(leash) => process::leash(&leash),
        Command::Serve(options) => serve::main(options),
        Command::Run(options) => run::main(options),
    }
}
