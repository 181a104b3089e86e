//! One elector as a process, for tests that stop it, kill it and cut it off. It is told what to do
//! in one line on standard input (`verify::elector::Orders`), ends when that ends, and says what
//! becomes of it on standard output, each line with the time by CLOCK_BOOTTIME. SIGTERM makes it
//! stop and give the lease back.
#![expect(clippy::print_stdout, reason = "what the test that started it reads")]

use std::error::Error;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lease_election::{
    BootClock, Clock, Config, Ending, KubeLeaseStore, LeaderElector, Leadership, Loss, Moment,
    Sleep,
};
use tokio::signal::unix::{SignalKind, signal};
use verify::elector::{Acts, Orders};

/// From one act to the next.
const PACE: Duration = Duration::from_millis(2);

/// The clock of a machine whose wall clock is wrong.
#[derive(Debug)]
struct Ahead(SignedDuration);

impl Clock for Ahead {
    fn now(&self) -> Moment {
        BootClock.now()
    }

    fn wall(&self) -> Timestamp {
        BootClock.wall().saturating_add(self.0).unwrap_or(Timestamp::MAX)
    }

    fn sleep_until(&self, deadline: Moment) -> Sleep {
        BootClock.sleep_until(deadline)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let orders: Orders = serde_json::from_str(&line)?;
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1)
    });
    let mut terminate = signal(SignalKind::terminate())?;
    let config = Config::builder(orders.namespace, orders.lease)
        .identity(orders.identity)
        .lease_duration(orders.lease_duration)
        .retry_period(orders.retry_period)
        .request_timeout(orders.request_timeout)
        .stop_margin(orders.stop_margin)
        .build()?;
    let store =
        KubeLeaseStore::connect(verify::real::config_of(&orders.kubeconfig).await, &config)?;
    let elector = match orders.ahead {
        0 => LeaderElector::new(store, config),
        ahead => LeaderElector::with_clock(
            store,
            config,
            Ahead(SignedDuration::from_secs(ahead)),
            fastrand::u64(..),
        ),
    };
    let stop = elector.stop_handle();
    tokio::spawn(async move {
        terminate.recv().await;
        say("terminated");
        stop.stop();
    });
    tokio::spawn(tell_watching(elector.clone()));
    let acts = Arc::new(Acts::create(&orders.acts)?);
    let terms = AtomicU64::new(0);
    say("standing");
    elector
        .run_forever(move |leadership| {
            act(leadership, terms.fetch_add(1, Ordering::SeqCst), Arc::clone(&acts), orders.wind_up)
        })
        .await;
    say("ended");
    Ok(())
}

/// The work: it asks before each act, and its acts are what the judge knows of it.
async fn act(leadership: Leadership, term: u64, acts: Arc<Acts>, wind_up: Duration) {
    let fence = leadership.fence();
    say(&format!("began {term} {} {} {}", fence.uid, fence.resource_version, fence.transitions));
    let mut work = Work { leadership, term, has_ended: false };
    let mut stopping: Option<Moment> = None;
    loop {
        let before = BootClock.now();
        if !work.leadership.is_valid() || stopping.is_some_and(|end| before >= end) {
            break;
        }
        if let Err(error) = acts.note(term, before) {
            say(&format!("broken {error}"));
        }
        tokio::select! {
            biased;
            ending = work.leadership.ending(), if stopping.is_none() => match ending {
                Ending::StopRequested => {
                    say(&format!("told {term} stop"));
                    stopping = Some(BootClock.now().after(wind_up));
                }
                _ => say(&format!("told {term} lost")),
            },
            () = tokio::time::sleep(PACE) => {}
        }
    }
    work.has_ended = true;
}

/// Says when the work is over, also where it is dropped: after a pause that outlasts the stop
/// margin it is not asked once more.
struct Work {
    leadership: Leadership,
    term: u64,
    has_ended: bool,
}

impl Drop for Work {
    fn drop(&mut self) {
        let why = match self.leadership.loss() {
            None if self.has_ended => "finished".to_owned(),
            None => "dropped".to_owned(),
            Some(Loss::TakenOver { by }) => format!("TakenOver {by}"),
            Some(loss) => format!("{loss:?}"),
        };
        say(&format!("over {} {why}", self.term));
    }
}

/// Says when its watch opens and closes.
async fn tell_watching(elector: LeaderElector) {
    let mut told = false;
    loop {
        let watching = elector.status().watching;
        if watching != told {
            say(if watching { "watching" } else { "blind" });
            told = watching;
        }
        tokio::time::sleep(10 * PACE).await;
    }
}

fn say(text: &str) {
    println!("{} {text}", BootClock.now().since_origin().as_nanos());
}
