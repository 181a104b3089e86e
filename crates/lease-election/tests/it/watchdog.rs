//! Watchdog: its thread beside a blocked runtime, on the machine's clock: each test waits for an
//! event, and none for a time to pass.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use lease_election::{
    Config, FenceToken, LeaderElector, MemoryLeaseStore, Outcome, Watchdog, WatchdogError,
};

const MS: Duration = Duration::from_millis(1);
/// A bound for events that take less than a second on an idle machine.
const SOON: Duration = Duration::from_secs(120);

/// The shortest possible term.
fn config() -> Config {
    Config::builder("ns", "lease")
        .identity("a")
        .lease_duration(1000 * MS)
        .retry_period(50 * MS)
        .request_timeout(50 * MS)
        .stop_margin(600 * MS)
        .build()
        .unwrap()
}

#[derive(Debug)]
struct Told {
    fence: FenceToken,
    is_working: bool,
    text: String,
}

/// An elector whose watchdog reports to the receiver. The receiver disconnects when the watchdog's
/// thread has ended.
fn watched(config: Config) -> (LeaderElector, Receiver<Told>) {
    let (tell, told) = channel();
    let watchdog = Watchdog::call(move |overdue| {
        assert_eq!((overdue.namespace(), overdue.name()), ("ns", "lease"));
        let (fence, is_working) = (overdue.fence().clone(), overdue.is_working());
        tell.send(Told { fence, is_working, text: overdue.to_string() }).unwrap();
    });
    let elector = LeaderElector::new(MemoryLeaseStore::new(), config);
    (elector.with_watchdog(watchdog).unwrap(), told)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn it_acts_while_the_only_thread_of_the_runtime_is_blocked() {
    let (elector, told) = watched(config());
    let (unblock, blocked) = channel::<()>();
    let (lead, led) = channel();
    let running = thread::spawn(move || {
        runtime().block_on(elector.run(|leadership| async move {
            lead.send(leadership.fence()).unwrap();
            // No await: the runtime stands still until the test says so.
            let _ = blocked.recv();
            leadership.is_valid()
        }))
    });
    let fence = led.recv_timeout(SOON).unwrap();
    let overdue = told.recv_timeout(SOON).unwrap();
    assert_eq!(overdue.fence, fence);
    assert!(overdue.is_working);
    assert!(overdue.text.contains("of lease ns/lease is still there"), "{overdue:?}");
    unblock.send(()).unwrap();
    assert_eq!(running.join().unwrap(), Outcome::Lost(false));
    // It reports once, and its thread has ended with the elector.
    assert!(matches!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected)));
}

#[test]
fn a_call_that_blocks_leaves_no_later_term_unwatched() {
    let (tell, told) = channel();
    let (release, held) = channel::<()>();
    let held = std::sync::Mutex::new(Some(held));
    let watchdog = Watchdog::call(move |overdue| {
        tell.send(overdue.fence().clone()).unwrap();
        let held = held.lock().unwrap().take();
        if let Some(held) = held {
            let _ = held.recv();
            tell.send(overdue.fence().clone()).unwrap();
        }
    });
    let elector =
        LeaderElector::new(MemoryLeaseStore::new(), config()).with_watchdog(watchdog).unwrap();
    let (unblock, blocked) = channel::<()>();
    let (blocked, stop) =
        (std::sync::Arc::new(std::sync::Mutex::new(blocked)), elector.stop_handle());
    let running = thread::spawn(move || {
        runtime().block_on(elector.run_forever(move |_| {
            // The closure itself blocks, which is work too.
            let _ = blocked.lock().unwrap().recv();
            std::future::ready(())
        }));
    });
    let first = told.recv_timeout(SOON).unwrap();
    unblock.send(()).unwrap();
    // The first call has not returned, and the second term is overdue.
    let second = told.recv_timeout(SOON).unwrap();
    assert!(second > first, "{second:?} {first:?}");
    stop.stop();
    unblock.send(()).unwrap();
    running.join().unwrap();
    // The threads end with their calls, and drop the closure.
    release.send(()).unwrap();
    assert_eq!(told.recv_timeout(SOON).unwrap(), first);
    assert!(matches!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected)));
}

#[test]
fn it_acts_on_blocked_work_that_a_runtime_left_behind() {
    let (elector, told) = watched(config());
    let (unblock, blocked) = channel::<()>();
    let (lead, led) = channel();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.spawn(async move {
        elector
            .run(|_| async move {
                lead.send(()).unwrap();
                let _ = blocked.recv();
            })
            .await
    });
    led.recv_timeout(SOON).unwrap();
    runtime.shutdown_background();
    assert!(told.recv_timeout(SOON).unwrap().is_working);
    unblock.send(()).unwrap();
    assert!(matches!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected)));
}

#[test]
fn it_is_silent_and_gone_after_work_that_ended_and_after_electors_that_never_led() {
    // The work ends by itself, ends after a stop, is dropped with its caller, or panics; or the
    // elector never led.
    for how in 0..5 {
        // The terms are so long that none is overdue, even on a machine that stands still for a
        // while.
        let (elector, told) = watched(Config::builder("ns", "lease").build().unwrap());
        let stop = elector.stop_handle();
        let run = async move {
            match how {
                0 => assert_eq!(elector.run(async |_| ()).await, Outcome::Finished(())),
                1 => {
                    let work = elector.run(async move |leadership| {
                        stop.stop();
                        leadership.ending().await;
                    });
                    assert_eq!(work.await, Outcome::Finished(()));
                }
                2 => {
                    let (lead, led) = tokio::sync::oneshot::channel();
                    let run = elector.run(async move |leadership| {
                        lead.send(()).unwrap();
                        leadership.ending().await;
                    });
                    // Dropped while it leads.
                    futures::future::select(Box::pin(run), led).await;
                }
                3 => {
                    let failed = tokio::spawn(async move {
                        elector.run(async |_| std::panic::resume_unwind(Box::new("gone"))).await
                    });
                    assert!(failed.await.unwrap_err().is_panic());
                }
                _ => drop(elector),
            }
        };
        runtime().block_on(run);
        // The thread drops its closure last, after any report.
        assert!(matches!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected)), "{how}");
    }
}

#[test]
fn an_elector_has_one_watchdog_and_its_grace_ends_with_the_margin() {
    let (elector, _told) = watched(config());
    let second = elector.with_watchdog(Watchdog::abort());
    assert!(matches!(second, Err(WatchdogError::Present)));
    let elector = LeaderElector::new(MemoryLeaseStore::new(), config());
    let Err(WatchdogError::Config(error)) =
        elector.with_watchdog(Watchdog::abort().grace(601 * MS))
    else {
        panic!("a grace that outlasts the margin was accepted")
    };
    assert_eq!(error.field, "grace");
}

const CHILD: &str = "LEASE_ELECTION_WATCHDOG_CHILD";

/// Does nothing, except as the child of the next test.
#[test]
fn child_of_the_abort() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let watchdog = match what.as_str() {
        "panic" => Watchdog::call(|_| std::panic::resume_unwind(Box::new("the callback panics"))),
        _ => Watchdog::abort(),
    };
    let elector =
        LeaderElector::new(MemoryLeaseStore::new(), config()).with_watchdog(watchdog).unwrap();
    if what == "stuck" {
        // Holds the lock of stderr for ever, in a pipe without a reader.
        thread::spawn(|| {
            let mut stderr = std::io::stderr().lock();
            loop {
                let _ = std::io::Write::write_all(&mut stderr, &[b'x'; 4096]);
            }
        });
    }
    let (_unblock, blocked) = channel::<()>();
    let _ = runtime().block_on(elector.run(|_| async move { blocked.recv() }));
    unreachable!("the work never ends");
}

#[test]
fn an_abort_ends_the_process_by_a_signal_and_says_why_if_somebody_reads() {
    for what in ["abort", "panic", "stuck"] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "watchdog::child_of_the_abort", "--nocapture"])
            .env(CHILD, what)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let id = child.id();
        let (tell, told) = channel();
        thread::spawn(move || tell.send(child.wait().unwrap()));
        let status =
            told.recv_timeout(SOON).unwrap_or_else(|_| panic!("{what}: {id} is still there"));
        // SIGABRT.
        assert_eq!(status.signal(), Some(6), "{what}: {status}");
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        let line = "is still there";
        assert_eq!(
            text.contains(line) && text.contains("aborts the process\n"),
            what != "stuck",
            "{text}"
        );
    }
}
