//! Histories: one order of all calls must explain the answers that real threads got. In it each
//! call lies between its beginning and its end, and the oracle gives the same answers. The stage
//! `histories` plays many.
//!
//! `HISTORIES` is the number of histories, `HISTORIES_SEED` the first seed.

#[path = "../model/oracle.rs"]
mod oracle;
mod call;
mod check;
mod crew;
mod platform;
mod player;

use crew::Crew;
use player::Game;

/// Few enough for a plain `cargo test` to end at once.
const FEW: u64 = 200;

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn every_history_is_explained_by_one_order() {
    let (histories, seed) = (variable("HISTORIES", FEW), variable("HISTORIES_SEED", 1));
    let mut overlaps = 0;
    Crew::with(|crew| {
        for seed in seed..seed + histories {
            let game = Game::new(seed);
            let capacity = game.capacity;
            let history = crew.play(game);
            overlaps += usize::from(history.windows(2).any(|pair| pair[0].ended > pair[1].began));
            if let Err(unexplained) = check::explain(&history, capacity) {
                panic!("no order explains what was answered to seed {seed}:\n{unexplained}");
            }
        }
    });
    #[expect(clippy::print_stdout, reason = "it says how well the threads met")]
    {
        println!("{histories} histories, calls overlapped in {overlaps}");
    }
    assert!(
        histories < 1000 || overlaps as u64 > histories / 50,
        "the threads hardly met: {overlaps}"
    );
}
