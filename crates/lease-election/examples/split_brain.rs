//! Split brain: the shortest way to two leaders under client-go's rules, by a search of every
//! state.
//!
//! The world and the search are those of the crate's model (`tests/model/`), which finds no such
//! way for the shipped protocol. No process pauses, no clock is off, and no client deletes
//! anything. One answer is slow, and then the leader is cut off.
#![allow(dead_code, unreachable_pub, reason = "files of the model, of which a part is asked")]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use lease_election::{LeaseEvent, Moment, Record, StoreError, StoredLease, Version};

#[path = "../tests/model/client_go.rs"]
mod client_go;
#[path = "../tests/model/explore.rs"]
mod explore;
#[path = "../src/fnv.rs"]
mod fnv;
#[path = "../src/candidate/outlook/names.rs"]
mod names;
#[path = "../tests/model/world.rs"]
mod world;

use client_go::ClientGo;
use explore::{Play, explore};
use world::{Call, More, Phase, Rules, Step, World, name};

/// client-go's defaults are 15, 10 and 2 s, with 5 s for a request. These keep the proportions, and
/// need fewer ticks.
const LEASE: Duration = Duration::from_secs(6);
const RENEW_DEADLINE: Duration = Duration::from_secs(4);
const RETRY_PERIOD: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(2);

fn elector(node: u8) -> ClientGo {
    ClientGo::new(if node == 0 { "A" } else { "B" }, LEASE, RENEW_DEADLINE, RETRY_PERIOD)
}

fn main() {
    let rules = Rules {
        tick: vec![Duration::from_secs(1); 2],
        margin: Duration::ZERO,
        punctual: Some(TIMEOUT),
        late_writes: 0,
        watches: false,
        stale_events: false,
        doubled_writes: 0,
        twice: 0,
        rewinds: 0,
        touches: false,
        strangers: false,
        deletions: false,
        work_ends: false,
        joins: true,
        restarts: 0,
        restores: 0,
        more: More::default(),
    };
    let start = World::new([elector(0), elector(1)]);
    println!(
        "two candidates with client-go's rules: LeaseDuration {} s, RenewDeadline {} s, RetryPeriod {} s, {} s for a request\n",
        LEASE.as_secs(),
        RENEW_DEADLINE.as_secs(),
        RETRY_PERIOD.as_secs(),
        TIMEOUT.as_secs()
    );
    let play = Play {
        rules: &rules,
        start: start.clone(),
        restart: &|node, _| elector(node),
        bound: 5_000_000,
        look: &|_, _| Ok(()),
    };
    let found = explore(&play);
    let Some((way, wrong)) = found.wrong else {
        println!("{} states, and no two leaders", found.states);
        return;
    };
    let mut world = start;
    for step in &way {
        let before = world.clone();
        let _ = world.step(&rules, *step, &|node, _| elector(node));
        if let Some(line) = told(&before, &world, *step) {
            println!("t={:>2} s  {line}", world.ticks);
        }
    }
    println!(
        "\n{wrong}: after {} steps, the fewest there are; {} states were looked at.",
        way.len(),
        found.states
    );
    println!(
        "A may lead until {} s after the answer to its last renewal (RetryPeriod + RenewDeadline), B takes the lease {} s after it saw it: an answer that took \
         longer than the difference is enough. Here a hold counts from before the request was sent, and ends a margin before the lease does.",
        (RETRY_PERIOD + RENEW_DEADLINE).as_secs(),
        LEASE.as_secs()
    );
}

/// A step in words; `None` for a tick.
fn told(before: &World<ClientGo>, after: &World<ClientGo>, step: Step) -> Option<String> {
    let node = |world: &World<ClientGo>, i: u8| world.nodes[usize::from(i)].clone();
    let began = |i: u8| {
        let leads = node(before, i).phase != Phase::Lead && node(after, i).phase == Phase::Lead;
        if leads { ": it leads" } else { "" }
    };
    Some(match step {
        Step::Send(i) => {
            let what = match node(after, i).flight.as_ref().map(|flight| &flight.call) {
                Some(Call::Read(..)) => "GET",
                Some(Call::Write(..)) if before.lease.is_none() => "POST",
                Some(Call::Write(..)) => "PUT",
                None => return None,
            };
            format!("{}       sends {what}", name(i))
        }
        Step::Arrive(i) => {
            let wrote = after.lease != before.lease;
            let did = if wrote { "carried out" } else { "answered" };
            let holder = match &after.lease {
                None => "there is no lease".to_owned(),
                Some(lease) => {
                    format!(
                        "version {}, held by {}",
                        lease.version.resource_version, lease.record.holder
                    )
                }
            };
            format!("server  {}'s request is {did}: {holder}", name(i))
        }
        Step::Answer(i) => format!("{}       has its answer{}", name(i), began(i)),
        Step::Lose(i) => format!("{}       gets no answer in time", name(i)),
        Step::Wake(i) => format!("{}       gives up, its RenewDeadline is over", name(i)),
        Step::Join(i) => format!("{}       has stopped its work", name(i)),
        _ => return None,
    })
}
