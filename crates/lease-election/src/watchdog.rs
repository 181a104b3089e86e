//! Watchdog: a thread that acts when work outlives its term, even if the runtime is blocked.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{BootClock, Clock, Moment};
use crate::config::Config;
use crate::error::ConfigError;
use crate::term_watch::TermWatch;
use crate::version::FenceToken;

// The model checker's program has no elector.
#[cfg(not(wq_loom))]
mod elector;
mod last_words;
pub(crate) mod shared;
pub(crate) mod state;
pub(crate) mod timer;

use shared::Shared;
use state::{Due, State};

/// The action on work that is still there after its term, for
/// [`LeaderElector::with_watchdog`](crate::LeaderElector::with_watchdog).
///
/// The elector tells work that its term is over, and drops it at an await after the stop margin.
/// Neither reaches work that blocks its thread, and neither happens while all threads of the
/// runtime are blocked or starved. A watchdog is one thread for each elector, and needs no runtime.
/// It waits for the end of the hold on a clock that counts suspend. Each renewal sets it anew, and
/// the end of the work turns it off.
///
/// # When it acts
/// If the work is still there [`grace`](Self::grace) after its term: after the end of its last
/// renewal's hold, or after the elector saw the term lost. It acts once for a term, and never if
/// the work ended before, released or not. It also watches work that outlives a runtime's shutdown,
/// to its end.
///
/// # What it cannot give
/// - It stops the process, or calls you, but it recalls no request. Only a
///   [fence](crate::Leadership::fence) that the receiver checks is sure.
/// - It stands still when the whole process does: `SIGSTOP`, a frozen cgroup, a paused virtual
///   machine, suspend. It acts at once afterwards, but the work may be faster unless it
///   [asks](crate::Leadership::is_valid) before each effect.
/// - It is late by the time that the machine takes to run a thread. An abort is late by the time
///   that the kernel takes to write a core file.
/// - It knows only the work's future, as the elector does, and no task or thread that the work
///   started and did not join.
/// - Without `timerfd` (other systems than Linux) it looks at the clock twice a second, and that
///   clock need not count suspend.
pub struct Watchdog {
    act: Act,
    grace: Option<Duration>,
}

enum Act {
    Abort,
    Call(Arc<dyn Fn(&Overdue) + Send + Sync>),
}

impl Watchdog {
    /// Ends the process ([`std::process::abort`]), after a line on stderr if that takes it at once.
    /// No destructor runs, no lock is waited for, nothing is released: the lease runs out.
    #[must_use]
    pub fn abort() -> Self {
        Self { act: Act::Abort, grace: None }
    }

    /// Calls `act` once for each overdue term, on a thread of its own. `act` may block: the elector
    /// does not wait for it. The watchdog watches on, and calls it again beside the first call if a
    /// later term is overdue. (If the system gives no thread, the watchdog calls it on its own, and
    /// watches nothing until it returns.)
    ///
    /// If `act` panics the process aborts, because nothing else would stop the work. `act` should
    /// not hold the [`LeaderElector`](crate::LeaderElector), which would then never be dropped; a
    /// [`StopHandle`](crate::StopHandle) is fine.
    #[must_use]
    pub fn call(act: impl Fn(&Overdue) + Send + Sync + 'static) -> Self {
        Self { act: Act::Call(Arc::new(act)), grace: None }
    }

    /// How long the work may outlive its term. At most the stop margin; default: half of it.
    ///
    /// So the watchdog acts before the lease ends by any other clock ([`hold`](Config::hold)):
    /// `hold + grace <= hold + stop_margin <= lease_duration * (1 - rho) / (1 + rho)`. The process
    /// has the rest of the margin to end in.
    ///
    /// With zero the watchdog acts at the end of the hold itself: also on work that was told of the
    /// end and winds up within the stop margin, as it should.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let act = match self.act {
            Act::Abort => "abort",
            Act::Call(_) => "call",
        };
        f.debug_struct("Watchdog").field("act", &act).field("grace", &self.grace).finish()
    }
}

/// The reason why an elector gets no watchdog.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchdogError {
    /// The grace is longer than the stop margin.
    Config(ConfigError),
    /// This elector has one already.
    Present,
    /// The system gave no timer.
    Timer(std::io::Error),
    /// The system gave no thread.
    Thread(std::io::Error),
}

impl fmt::Display for WatchdogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Present => f.write_str("this elector has a watchdog already"),
            Self::Timer(error) => write!(f, "there is no timer for the watchdog: {error}"),
            Self::Thread(error) => write!(f, "there is no thread for the watchdog: {error}"),
        }
    }
}

impl std::error::Error for WatchdogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Present => None,
            Self::Timer(error) | Self::Thread(error) => Some(error),
        }
    }
}

/// Work that is still there after its term, as a [`Watchdog`] saw it.
#[derive(Clone)]
pub struct Overdue {
    namespace: Arc<str>,
    name: Arc<str>,
    fence: Arc<FenceToken>,
    late: Duration,
    shared: Arc<Shared>,
}

impl Overdue {
    /// The Lease's namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The Lease's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fence token of the work's term.
    #[must_use]
    pub fn fence(&self) -> &FenceToken {
        &self.fence
    }

    /// How long after the deadline, which is the end of the term plus the grace, the watchdog saw
    /// it. Long after a suspend.
    #[must_use]
    pub fn late(&self) -> Duration {
        self.late
    }

    /// Whether the work goes on now: it may have ended since.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.shared.is_working(&self.fence)
    }
}

impl fmt::Display for Overdue {
    /// Allocates nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the work of term {}/{} of lease {}/{} is still there {} ms after its deadline",
            self.fence.uid.escape_debug(),
            self.fence.resource_version.escape_debug(),
            self.namespace,
            self.name,
            self.late.as_millis()
        )
    }
}

impl fmt::Debug for Overdue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overdue")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("fence", &self.fence)
            .field("late", &self.late)
            .finish_non_exhaustive()
    }
}

/// The handle of a watchdog's thread, which ends when the elector and the work of its terms are
/// gone.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    grace: Duration,
}

impl Watch {
    /// Starts the thread.
    pub(crate) fn start(
        watchdog: Watchdog,
        config: &Config,
        clock: &Arc<dyn Clock>,
    ) -> Result<Arc<Self>, WatchdogError> {
        let grace = grace(watchdog.grace, config).map_err(WatchdogError::Config)?;
        let timer = timer::timer().map_err(WatchdogError::Timer)?;
        let shared = Arc::new(Shared::new(timer));
        let (watched, act) = (Arc::clone(&shared), watchdog.act);
        let (namespace, name) = (Arc::from(config.namespace()), Arc::from(config.name()));
        // Linux shows 15 bytes of a thread's name.
        std::thread::Builder::new()
            .name("lease-watchdog".to_owned())
            .spawn(move || watch(&watched, &act, &namespace, &name))
            .map_err(WatchdogError::Thread)?;
        Ok(Arc::new(Self { shared, clock: Arc::clone(clock), grace }))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.change(State::end);
    }
}

fn grace(asked: Option<Duration>, config: &Config) -> Result<Duration, ConfigError> {
    let margin = config.stop_margin();
    match asked {
        None => Ok(margin / 2),
        Some(grace) if grace <= margin => Ok(grace),
        Some(grace) => Err(ConfigError {
            field: "grace",
            value: format!("{grace:?}"),
            bound: format!("at most stop_margin {margin:?}: after it another may be at work"),
            remedy: "shorten it, or use a longer stop_margin",
        }),
    }
}

/// The thread's loop.
fn watch(shared: &Arc<Shared>, act: &Act, namespace: &Arc<str>, name: &Arc<str>) {
    loop {
        match shared.due(BootClock.now()) {
            Due::Wait(_) => shared.wait(),
            Due::End => return,
            Due::Fire { fence, late } => {
                let (namespace, name) = (Arc::clone(namespace), Arc::clone(name));
                let overdue = Overdue { namespace, name, fence, late, shared: Arc::clone(shared) };
                match act {
                    Act::Abort => last_words::abort(&overdue),
                    Act::Call(act) => {
                        let (called, late) = (Arc::clone(act), overdue.clone());
                        let thread = std::thread::Builder::new().name("lease-overdue".to_owned());
                        if thread.spawn(move || call(&*called, &late)).is_err() {
                            call(&**act, &overdue);
                        }
                    }
                }
            }
        }
    }
}

fn call(act: &(dyn Fn(&Overdue) + Send + Sync), overdue: &Overdue) {
    if catch_unwind(AssertUnwindSafe(|| act(overdue))).is_err() {
        last_words::abort(overdue);
    }
}

impl Watch {
    fn change<T>(&self, until: Moment, change: impl FnOnce(&mut State, Moment) -> T) {
        let deadline = self.clock.boot_moment(until).after(self.grace);
        drop(self.shared.change(|state| change(state, deadline)));
    }
}

impl TermWatch for Watch {
    fn term_begins(&self, fence: &FenceToken, until: Moment) {
        let fence = Arc::new(fence.clone());
        self.change(until, |state, deadline| state.begin(fence, deadline));
    }

    fn term_extends(&self, until: Moment) {
        self.change(until, State::extend);
    }

    fn term_ended(&self, at: Moment) {
        self.change(at, State::shorten);
    }

    fn work_begins(&self) {
        self.shared.change(State::work_begins);
    }

    fn work_ended(&self) {
        self.shared.change(State::work_ended);
    }
}

// Not as a part of the model checker's program, which has no elector.
#[cfg(all(test, not(wq_loom)))]
mod tests;
