//! Play: a program that runs scenarios under random and priority-based schedules of shuttle by
//! seed, the dice that they roll, and the states that they must reach.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::time::Instant;

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};

use crate::scenario::{Scenario, list};

/// Schedules of one seed.
const BATCH: u64 = 100;
/// Changes of priority in one schedule of the priority-based scheduler.
const DEPTH: usize = 4;
/// What is rare must have come about at least once in so many schedules.
const ENOUGH: u64 = 10_000;

thread_local! {
    /// What this thread plays, for whoever sees it fail.
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The scenarios of a crate, and the states that they must reach.
#[derive(Debug)]
pub struct Programme {
    /// The crate's name.
    pub of: &'static str,
    /// A seed picks one of them.
    pub scenarios: &'static [Scenario],
    /// See [`State`].
    pub states: &'static [(&'static State, &'static str)],
}

/// With `SEED SCHEDULES` plays so many, with `--list` prints the scenarios, with nothing does
/// nothing.
///
/// # Panics
///
/// If the arguments are others.
#[must_use]
pub fn main(programme: &'static Programme) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => ExitCode::SUCCESS,
        ["--list"] => {
            list(programme.scenarios);
            ExitCode::SUCCESS
        }
        [seed, schedules] => play_all(
            programme,
            seed.parse().expect("a seed"),
            schedules.parse().expect("a number of schedules"),
        ),
        _ => panic!("the arguments are `SEED SCHEDULES` or `--list`"),
    }
}

fn play_all(programme: &'static Programme, seed: u64, schedules: u64) -> ExitCode {
    let Programme { of, scenarios, states } = programme;
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(seed) = SEED.take() {
            println!(
                "to play it again: cargo xtask shuttle --package {of} --seed {seed} --schedules {BATCH}"
            );
        }
        tell(panic);
    }));
    let batches = schedules.div_ceil(BATCH);
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let took: Vec<Mutex<(u64, f64)>> = scenarios.iter().map(|_| Mutex::default()).collect();
    let player = || {
        while !failed.load(SeqCst) {
            let batch = next.fetch_add(1, SeqCst);
            if batch >= batches {
                return;
            }
            let seed = seed.wrapping_add(batch);
            let which = usize::try_from(seed % scenarios.len() as u64).unwrap();
            let start = now();
            if !play(scenarios, seed) {
                failed.store(true, SeqCst);
            }
            let mut took = took[which].lock().unwrap();
            *took = (took.0 + BATCH, took.1 + start.elapsed().as_secs_f64());
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(player)));
    });
    if failed.load(SeqCst) {
        return ExitCode::FAILURE;
    }
    for (scenario, took) in scenarios.iter().zip(took) {
        let (schedules, seconds) = took.into_inner().unwrap();
        println!(
            "{of} {}: {schedules} schedules in {seconds:.1} s: {}",
            scenario.name, scenario.shows
        );
    }
    if batches * BATCH >= ENOUGH { judge(states) } else { ExitCode::SUCCESS }
}

/// The schedules of one seed.
fn play(scenarios: &'static [Scenario], seed: u64) -> bool {
    let count = scenarios.len() as u64;
    let run = scenarios[usize::try_from(seed % count).unwrap()].run;
    let by_priority = (seed / count) % 2 == 1;
    let schedules = usize::try_from(BATCH).unwrap();
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    SEED.set(Some(seed));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        if by_priority {
            Runner::new(PctScheduler::new_from_seed(seed, DEPTH, schedules), config).run(run)
        } else {
            Runner::new(RandomScheduler::new_from_seed(seed, schedules), config).run(run)
        }
    }));
    ended.is_ok()
}

#[expect(clippy::disallowed_methods, reason = "what a scenario takes is timed by the real clock")]
fn now() -> Instant {
    Instant::now()
}

/// One of so many, drawn from the seed.
#[must_use]
pub fn roll(sides: u8) -> u8 {
    thread_rng().gen_range(0..sides)
}

/// A state that is rare, and must come about all the same: a scenario that never reaches it proves
/// nothing.
#[derive(Debug)]
pub struct State(AtomicU64);

impl State {
    /// One that nobody has reached.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// It was reached.
    pub fn note(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new()
    }
}

/// States by name, and `ALL` of them with what each is.
#[macro_export]
macro_rules! states {
    ($($name:ident: $shown:literal,)*) => {
        $(pub(crate) static $name: $crate::play::State = $crate::play::State::new();)*
        pub(crate) const ALL: &[(&$crate::play::State, &str)] = &[$((&$name, $shown)),*];
    };
}

fn judge(states: &[(&State, &str)]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (state, shown) in states {
        let times = state.0.load(Relaxed);
        println!("{times:>9} {shown}");
        if times == 0 {
            println!("          never: the scenarios no longer show what they are said to");
            code = ExitCode::FAILURE;
        }
    }
    code
}
