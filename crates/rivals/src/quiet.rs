//! Quiet: waits until nothing else is at work on the machine, and repeats a measurement that
//! something else disturbed.

use std::cell::Cell;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How long one look at the machine takes.
const LOOK: Duration = Duration::from_millis(100);
/// How many measurements in all are repeated: on a machine that is never quiet, a run must end.
const REPEATS: usize = 60;
/// How long measurements that are repeated may take in all: some take seconds each.
const REPEATING: Duration = Duration::from_mins(3);
/// The share of the machine's time that others may have during a measurement.
const OTHERS: f64 = 0.05;
/// The unit of processor times in `/proc`, USER_HZ: 100 a second on Linux whatever the kernel's own
/// tick is (proc(5)).
const TICKS: f64 = 100.0;

/// Watches over the measurements of one run. Where the system does not tell who is at work, all
/// count as undisturbed.
#[derive(Debug)]
pub struct Quiet {
    /// The process of the peer, whose work is no disturbance.
    peer: Option<u32>,
    patience: Duration,
    waited: Cell<Duration>,
    repeated: Cell<usize>,
    /// What was repeated has taken so long.
    repeating: Cell<Duration>,
    disturbed: Cell<usize>,
}

impl Quiet {
    /// For a run of this process, and of the peer's, that waits so long in all. Without patience
    /// nothing is repeated.
    #[must_use]
    pub const fn new(peer: Option<u32>, patience: Duration) -> Self {
        Self {
            peer,
            patience,
            waited: Cell::new(Duration::ZERO),
            repeated: Cell::new(0),
            repeating: Cell::new(Duration::ZERO),
            disturbed: Cell::new(0),
        }
    }

    /// Measures once nothing else is at work, again if something came to be, for as long as repeats
    /// are left.
    ///
    /// # Errors
    ///
    /// That of the measurement.
    pub fn measure<V, E>(&self, mut run: impl FnMut() -> Result<V, E>) -> Result<V, E> {
        loop {
            self.wait();
            let before = Look::now(self.peer);
            let value = run()?;
            let Some(before) = before.filter(|before| before.others(self.peer) > OTHERS) else {
                return Ok(value);
            };
            let has_patience = !self.patience.is_zero();
            if !has_patience || self.repeated.get() >= REPEATS || self.repeating.get() >= REPEATING
            {
                self.disturbed.set(self.disturbed.get() + 1);
                return Ok(value);
            }
            self.repeated.set(self.repeated.get() + 1);
            self.repeating.set(self.repeating.get() + before.age());
        }
    }

    /// One line on how it went.
    #[must_use]
    pub fn line(&self) -> String {
        let (waited, repeated, disturbed) =
            (self.waited.get(), self.repeated.get(), self.disturbed.get());
        format!(
            "waited {:.1} s for a quiet machine, repeated {repeated} measurements{}",
            waited.as_secs_f64(),
            if disturbed == 0 {
                String::new()
            } else {
                format!("; {disturbed} more were DISTURBED and count as they are")
            },
        )
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "there is no event to wait for: others tell nobody when they end"
    )]
    fn wait(&self) {
        while self.waited.get() < self.patience {
            let Some(before) = Look::now(self.peer) else { return };
            thread::sleep(LOOK);
            if before.others(self.peer) <= OTHERS {
                return;
            }
            self.waited.set(self.waited.get() + LOOK);
        }
    }
}

/// What has been used of the machine's processors until now, in ticks.
struct Look {
    at: Instant,
    by_all: f64,
    by_us: f64,
}

impl Look {
    #[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
    fn now(peer: Option<u32>) -> Option<Self> {
        let by_all = busy(&fs::read_to_string("/proc/stat").ok()?)?;
        let of = |file: String| used(&fs::read_to_string(file).ok()?);
        let theirs = peer.map_or(Some(0.0), |peer| of(format!("/proc/{peer}/stat")));
        Some(Self {
            at: Instant::now(),
            by_all,
            by_us: of("/proc/self/stat".to_owned())? + theirs?,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
    fn age(&self) -> Duration {
        Instant::now().duration_since(self.at)
    }

    /// The share of the machine that others have had since. What is less than two ticks is no
    /// measurement.
    fn others(&self, peer: Option<u32>) -> f64 {
        let Some(now) = Self::now(peer) else { return 0.0 };
        let others = (now.by_all - self.by_all) - (now.by_us - self.by_us);
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let all = (now.at - self.at).as_secs_f64() * TICKS * cores as f64;
        if others < 2.0 { 0.0 } else { others / all }
    }
}

/// The ticks of all processors that were neither idle nor waiting for a disk, of `/proc/stat`.
fn busy(stat: &str) -> Option<f64> {
    let mut ticks =
        stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map(str::parse::<f64>);
    let mut next = || ticks.next()?.ok();
    let (user, nice, system, _idle, _iowait) = (next()?, next()?, next()?, next()?, next()?);
    let (irq, softirq, steal) = (next()?, next()?, next()?);
    Some(user + nice + system + irq + softirq + steal)
}

/// The ticks that a process has used, and those of its children that have ended, of its `stat`:
/// fields 14 to 17, counted after the name, which may hold spaces.
fn used(stat: &str) -> Option<f64> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace().skip(11).map(str::parse::<f64>);
    (0..4).map(|_| fields.next()?.ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::{Duration, Quiet, busy, used};

    #[test]
    fn the_files_of_the_system_are_read() {
        assert_eq!(busy("cpu  10 1 2 900 30 4 5 6 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"), Some(28.0));
        assert_eq!(used("7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"), Some(50.0));
        assert_eq!((busy("nothing"), used("nothing")), (None, None));
    }

    #[test]
    fn an_error_ends_a_measurement() {
        assert_eq!(Quiet::new(None, Duration::ZERO).measure(|| Err::<(), _>("no")), Err("no"));
    }
}
