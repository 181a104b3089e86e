//! Crew: threads that play one history after the other, at the same time as far as the machine allows.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::{mem, thread};

use crate::player::{self, Game, Recorded, THREADS};

/// The threads; between two histories they wait.
pub(crate) struct Crew<'s> {
    game: &'s Mutex<Option<Game>>,
    line: &'s Line,
    history: &'s Mutex<Vec<Recorded>>,
}

/// Where all threads begin and end a history.
struct Line {
    barrier: Barrier,
    ready: AtomicUsize,
    time: AtomicU64,
}

impl Crew<'_> {
    /// Runs `work` with a crew, which goes home afterwards.
    pub(crate) fn with(work: impl FnOnce(&Crew<'_>)) {
        let (game, history) = (Mutex::new(None), Mutex::new(Vec::new()));
        let line =
            Line { barrier: Barrier::new(THREADS + 1), ready: AtomicUsize::new(0), time: AtomicU64::new(0) };
        let crew = Crew { game: &game, line: &line, history: &history };
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let crew = &crew;
                scope.spawn(move || crew.member(thread));
            }
            let goes_home = GoesHome(&crew);
            work(&crew);
            drop(goes_home);
        });
    }

    /// The history of this game, by the beginnings of its calls.
    pub(crate) fn play(&self, game: Game) -> Vec<Recorded> {
        *self.game.lock().unwrap() = Some(game);
        self.line.ready.store(0, SeqCst);
        self.line.barrier.wait();
        self.line.barrier.wait();
        let mut history = mem::take(&mut *self.history.lock().unwrap());
        history.sort_by_key(|recorded| recorded.began);
        history
    }

    fn member(&self, thread: usize) {
        loop {
            self.line.barrier.wait();
            let Some(game) = self.game.lock().unwrap().clone() else { return };
            // They are woken one after the other; this lets them begin as one.
            self.line.ready.fetch_add(1, SeqCst);
            while self.line.ready.load(SeqCst) < THREADS {
                thread::yield_now();
            }
            let mut recorded = player::play(thread, &game, &self.line.time);
            self.history.lock().unwrap().append(&mut recorded);
            self.line.barrier.wait();
        }
    }
}

/// Sends the crew home, also when a history was not explained.
struct GoesHome<'c>(&'c Crew<'c>);

impl Drop for GoesHome<'_> {
    fn drop(&mut self) {
        *self.0.game.lock().unwrap() = None;
        self.0.line.barrier.wait();
    }
}
