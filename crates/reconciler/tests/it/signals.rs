//! Signals to a real process: this test binary again, with `program` as its only test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::{env, io, thread};

use rustix::process::{Pid, Signal, kill_process};

const IS_PROGRAM: &str = "RECONCILER_TEST_PROGRAM";

/// Does nothing in a run of all tests. As a program, it blocks its only thread when it should stop.
#[test]
fn program() {
    if env::var_os(IS_PROGRAM).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let shutdown = reconciler::shutdown_signal().unwrap();
        writeln!(io::stdout(), "waits").unwrap();
        shutdown.await;
        writeln!(io::stdout(), "stops").unwrap();
        loop {
            thread::park();
        }
    });
}

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_first_signal_asks_for_a_stop_and_the_second_ends_a_process_that_hangs() {
    for (first, second) in [(Signal::TERM, Signal::TERM), (Signal::INT, Signal::TERM)] {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "signals::program", "--nocapture"]).env(IS_PROGRAM, "1");
        let mut program = Program(command.stdout(Stdio::piped()).spawn().unwrap());
        let pid = Pid::from_child(&program.0);
        let mut lines = BufReader::new(program.0.stdout.take().unwrap()).lines();
        let mut hear = |word: &str| {
            assert!(lines.any(|line| line.unwrap().contains(word)), "it never says {word}");
        };
        hear("waits");
        kill_process(pid, first).unwrap();
        hear("stops");
        kill_process(pid, second).unwrap();
        assert_eq!(program.0.wait().unwrap().code(), Some(1), "{first:?} {second:?}");
    }
}
