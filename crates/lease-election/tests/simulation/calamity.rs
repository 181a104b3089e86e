//! Calamity: faults of the Lease itself, and a watch that repeats events.
//!
//! A backup is restored, the namespace is missing for a while, or a client writes anything into the
//! fields.

use std::time::Duration;

use jiff::Timestamp;
use lease_election::{LeaseEvent, Record, StoreError};

use crate::MS;
use crate::backend::Kind;
use crate::fate::{kill, start_again};
use crate::judge::{Dice, World};
use crate::node::{DAY, Mode, Node, Stage};

/// The weather of a process with expired credentials.
pub(crate) const EXPIRED: u64 = 5;

/// Longer than any lease holds, and than any request is in flight.
const AWAY: Duration = Duration::from_secs(21);

/// Restores the last backup of the store. All servers are away for longer than any lease holds. If
/// revisions repeat, no process that knew them may live, so all restart.
pub(crate) async fn restore(
    stage: &Stage,
    running: &mut [Node],
    buried: &mut Vec<(u64, Node)>,
    step: u64,
    dice: &mut Dice,
) {
    let (world, backend) = (&stage.world, &stage.backend);
    let taken = world.lock().unwrap().backup.take();
    let Some(backup) = taken else { return };
    let again = stage.kind == Kind::Memory && dice.roll(2) == 0;
    if again {
        for node in running.iter() {
            kill(stage, node);
        }
        // Processes that were started by mistake die too.
        let mut now = world.lock().unwrap();
        now.dead.extend(buried.iter().map(|(_, node)| node.link.clone()));
    }
    backend.set_away(world, true);
    tokio::time::sleep(AWAY).await;
    let newer = backend.lease().await.is_some_and(|lease| lease.version != backup.version);
    if backend.restore(backup, again).await {
        let mut now = world.lock().unwrap();
        now.went_back(again);
        if newer {
            now.saw("restored");
            if again {
                now.saw("restored, and revisions again");
            }
        }
    }
    backend.set_away(world, false);
    for n in 0..running.len() as u64 {
        if again {
            start_again(stage, running, buried, n, step, dice);
        } else {
            backend.set_weather(world, n, &running[n as usize].link, 0, dice);
        }
    }
}

/// Deletes the Lease while all candidates know it (A7): no process stands still or is cut off. The
/// leader may be cut off just before, if no other lease is shorter. Then no process starts until
/// its hold is over.
pub(crate) async fn delete(stage: &Stage, running: &[Node], dice: &mut Dice) {
    let (world, backend) = (&stage.world, &stage.backend);
    for node in running {
        backend.set_weather(world, node.number, &node.link, 0, dice);
    }
    tokio::time::sleep(4000 * MS).await;
    let is_shortest = |leader: &&Node| {
        running.iter().all(|n| stage.lease(leader.number) <= stage.lease(n.number))
    };
    let cut = if dice.roll(2) == 0 && !stage.mode.is_coordinated() {
        running.iter().find(|node| node.elector.is_leader()).filter(is_shortest)
    } else {
        None
    };
    if let Some(leader) = cut {
        backend.set_weather(world, leader.number, &leader.link, 2, dice);
        backend.deafen(leader.number);
    }
    world.lock().unwrap().saw("deletion");
    backend.delete().await;
    tokio::time::sleep(MS * 500).await;
    if cut.is_some_and(|leader| leader.elector.is_leader()) {
        world.lock().unwrap().saw("deletion unheard by its leader");
    }
    tokio::time::sleep(MS * if cut.is_some() { 4500 } else { 2500 }).await;
}

/// Deletes the namespace with the Lease, and makes it again after some seconds. As for any
/// deletion, all electors know the Lease.
pub(crate) async fn lose_namespace(stage: &Stage, running: &[Node], dice: &mut Dice) {
    let (world, backend) = (&stage.world, &stage.backend);
    for node in running {
        backend.set_weather(world, node.number, &node.link, 0, dice);
    }
    tokio::time::sleep(4000 * MS).await;
    world.lock().unwrap().no_namespace = true;
    backend.delete().await;
    tokio::time::sleep(MS * (3000 + dice.roll(8000)) as u32).await;
    world.lock().unwrap().no_namespace = false;
}

/// Writes anything into the Lease, but no free record and no duration below a lease (A7): a leader
/// that is cut off would not hear of that.
pub(crate) async fn scribble(stage: &Stage, dice: &mut Dice) {
    let (world, backend) = (&stage.world, &stage.backend);
    if backend.lease().await.is_none() {
        return;
    }
    let record = anything(stage, dice);
    let endless = record.lease_duration_seconds > 60;
    let taken = backend.scribble(record).await;
    world.lock().unwrap().saw(if taken { "hostile record" } else { "hostile record refused" });
    tokio::time::sleep(MS * (5500 + dice.roll(4000)) as u32).await;
    // No elector leads by an earlier record, so the operator may free the Lease.
    let still = backend.lease().await.is_some_and(|lease| lease.record.lease_duration_seconds > 60);
    if taken && endless && still {
        world.lock().unwrap().saw("hostile record waited for");
        backend.overwrite(Record { lease_duration_seconds: 1, ..Record::default() }).await;
    }
}

fn anything(stage: &Stage, dice: &mut Dice) -> Record {
    let identity = stage.mode.identity(dice.roll(stage.nodes), 0);
    let holder = match dice.roll(5) {
        // Evidence of that node's end would be true.
        0..=1 if stage.mode != Mode::Evidence => identity.clone(),
        2 => "\u{1b}[31mroot\n\u{0}".to_owned(),
        3 => "é".repeat(300),
        _ => "x".to_owned(),
    };
    let time = |dice: &mut Dice| match dice.roll(5) {
        0 => None,
        1 => Timestamp::from_second(-62_135_596_800).ok(),
        2 => Timestamp::from_second(253_402_207_200).ok(),
        3 => Some(Timestamp::UNIX_EPOCH),
        _ => Timestamp::from_second(DAY + stage.start.elapsed().as_secs() as i64).ok(),
    };
    // A duration of zero or less counts as the reader's own lease, which must not be shorter than
    // the leader's.
    let none = |seconds: i32| if stage.leases_differ() { 5 } else { seconds };
    let seconds = [none(0), none(-1), none(i32::MIN), 5, i32::MAX, i32::MAX, 601, 1_000_000];
    let transitions = [0, -1, i32::MIN, i32::MAX];
    let (acquire_time, renew_time) = (time(dice), time(dice));
    Record {
        holder,
        lease_duration_seconds: seconds[dice.roll(8) as usize],
        acquire_time,
        renew_time,
        leader_transitions: transitions[dice.roll(4) as usize],
        strategy: ["", "OldestEmulationVersion", "a/b", "?"][dice.roll(4) as usize].to_owned(),
        preferred_holder: if dice.roll(3) == 0 { identity.clone() } else { String::new() },
        write_id: (dice.roll(2) == 0)
            .then(|| ["", ".", "0.1.2", "\u{0}"][dice.roll(4) as usize].to_owned()),
        successor: if dice.roll(2) == 0 { identity } else { String::new() },
    }
}

/// A watch that repeats some of its events, at once or after a later one.
pub(crate) struct Echo {
    dice: Dice,
    last: Option<LeaseEvent>,
}

impl Echo {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice(seed), last: None }
    }

    /// The events that arrive for one event.
    pub(crate) fn of(
        &mut self,
        event: Result<LeaseEvent, StoreError>,
        world: &mut World,
    ) -> Vec<Result<LeaseEvent, StoreError>> {
        let Ok(LeaseEvent::Changed(_) | LeaseEvent::Deleted(_)) = &event else {
            return vec![event];
        };
        let before = std::mem::replace(&mut self.last, event.clone().ok());
        match (self.dice.roll(24), before) {
            (0, _) => {
                world.saw("event twice");
                vec![event.clone(), event]
            }
            (1, Some(before)) => {
                world.saw("old event again");
                vec![event, Ok(before)]
            }
            _ => vec![event],
        }
    }
}
