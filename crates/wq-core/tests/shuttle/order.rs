//! Order: one order of all calls must explain the answers of a schedule, as for real threads.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use shuttle::rand::{RngCore, thread_rng};
use shuttle::thread;

use crate::check;
use crate::player::{self, Game, THREADS};

pub(crate) fn one_order_explains_every_answer() {
    let game = Game::new(thread_rng().next_u64());
    let time = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (game, time) = (game.clone(), Arc::clone(&time));
            thread::spawn(move || player::play(thread, &game, &time))
        })
        .collect();
    let mut history: Vec<_> =
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    history.sort_by_key(|recorded| recorded.began);
    if let Err(unexplained) = check::explain(&history, game.capacity) {
        panic!("no order explains what was answered:\n{unexplained}");
    }
}
