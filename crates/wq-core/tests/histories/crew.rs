//! Crew: threads that play one history after the other, as concurrently as the machine allows.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::{mem, thread};

use crate::player::{self, Game, Recorded, THREADS};

/// The threads, which wait between two histories.
pub(crate) struct Crew<'s> {
    game: &'s Mutex<Option<Game>>,
    line: &'s Line,
    history: &'s Mutex<Vec<Recorded>>,
}

/// The barrier at which all threads begin and end a history.
struct Line {
    barrier: Barrier,
    ready: AtomicUsize,
    time: AtomicU64,
}

impl Crew<'_> {
    /// Runs `work` with a crew, then ends the threads.
    pub(crate) fn with(work: impl FnOnce(&Crew<'_>)) {
        let (game, history) = (Mutex::new(None), Mutex::new(Vec::new()));
        let line = Line {
            barrier: Barrier::new(THREADS + 1),
            ready: AtomicUsize::new(0),
            time: AtomicU64::new(0),
        };
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

    /// Plays this game. Returns its history, in the order in which the calls began.
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
            // The barrier wakes the threads one after the other. This loop lets them begin
            // together.
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

/// Ends the threads of the crew, even if the check of a history panics.
struct GoesHome<'c>(&'c Crew<'c>);

impl Drop for GoesHome<'_> {
    fn drop(&mut self) {
        *self.0.game.lock().unwrap() = None;
        self.0.line.barrier.wait();
    }
}
