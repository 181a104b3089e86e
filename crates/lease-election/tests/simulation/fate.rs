//! Fate: a process is killed, is stopped, or loses its campaign's future, and another takes its
//! place.

use crate::judge::Dice;
use crate::node::{Mode, Node, Stage};
use crate::{AFTER_DEATH, STEPS};

/// From now on the process receives and sends nothing.
pub(crate) fn kill(stage: &Stage, node: &Node) {
    let mut now = stage.world.lock().unwrap();
    now.saw("process killed");
    now.dead.insert(node.link.clone());
    if stage.mode == Mode::Evidence {
        // The process has ended, with its work.
        now.ended.insert(node.link.clone());
        node.still.stand(AFTER_DEATH * 1000 / STEPS);
    }
}

pub(crate) fn start_again(
    stage: &Stage,
    running: &mut [Node],
    buried: &mut Vec<(u64, Node)>,
    n: u64,
    step: u64,
    dice: &mut Dice,
) {
    let next = stage.start(n, step, dice);
    let old = std::mem::replace(&mut running[n as usize], next);
    // The new plan cuts off the dead links.
    stage.backend.set_weather(&stage.world, n, &running[n as usize].link, 0, dice);
    buried.push((step, old));
}

/// Stops the process, or drops its campaign, at any step. The process goes on for as long as that
/// takes.
pub(crate) fn send_away(stage: &Stage, node: &Node, dice: &mut Dice) {
    let mut now = stage.world.lock().unwrap();
    if node.elector.is_leader() {
        now.saw("leader sent away");
    }
    if dice.roll(2) == 0 {
        now.saw("stopped");
        drop(now);
        node.elector.stop_handle().stop();
    } else {
        now.saw("future dropped");
        drop(now);
        node.run.abort();
    }
}
