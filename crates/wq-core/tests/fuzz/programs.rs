//! Programs: what a string of bytes says is to be done. Two bytes are a step, and every string is a program.

use proptest::test_runner::TestCaseError;
use wq_contract::backlog::{Step as BacklogStep, keeps_its_books};
use wq_core::{Backlog, Fifo, SlotId};

use crate::world::{ITEMS, Step, Verdict, play};

/// The steps that the bytes say: of each pair the first chooses among `kinds`, the second is its argument.
fn steps<K: Copy, S>(bytes: &[u8], kinds: &[K], step: impl Fn(K, u8) -> S) -> Vec<S> {
    let pairs = bytes.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    pairs.map(|(kind, argument)| step(kinds[usize::from(kind) % kinds.len()], argument)).collect()
}

/// So many items, at least one and at most four, one after the other.
fn some(argument: u8) -> Vec<u8> {
    (0..=argument / 64).map(|more| (argument.wrapping_add(more * more)) % ITEMS).collect()
}

type Make = fn(u8) -> Step;

fn item(argument: u8) -> u8 {
    argument % ITEMS
}

fn which(argument: u8) -> usize {
    usize::from(argument) % 8
}

const ADD: Make = |argument| Step::Add(item(argument));
const ADD_ALL: Make = |argument| Step::AddAll(some(argument));
const ADD_QUIETLY: Make = |argument| Step::AddQuietly(some(argument));
const TRY_ADD: Make = |argument| Step::TryAdd(item(argument));
const ADD_WAIT: Make = |argument| Step::AddWait(item(argument));
const ADD_BLOCKING: Make = |argument| Step::AddBlocking(item(argument));
const TRY_GET: Make = |_| Step::TryGet;
const GET_BATCH: Make = |argument| Step::GetBatch(1 + usize::from(argument % 4));
const GET_BLOCKING: Make = |_| Step::GetBlocking;
const GET_OWNED_BLOCKING: Make = |_| Step::GetOwnedBlocking;
const GET_BATCH_BLOCKING: Make = |argument| Step::GetBatchBlocking(1 + usize::from(argument % 4));
const GET: Make = |_| Step::Get;
const GET_OWNED: Make = |_| Step::GetOwned;
const POLL_GETTER: Make = |argument| Step::PollGetter(which(argument));
const DROP_GETTER: Make = |argument| Step::DropGetter(which(argument));
const POLL_ADDER: Make = |argument| Step::PollAdder(which(argument));
const DROP_ADDER: Make = |argument| Step::DropAdder(which(argument));
const DONE: Make = |argument| Step::Done(which(argument));
const PANIC_AT_WORK: Make = |argument| Step::PanicAtWork(which(argument));
const DONE_AND_GET: Make = |argument| Step::DoneAndGet(which(argument));
const ABANDON: Make = |argument| Step::Abandon(which(argument));
const ABANDON_ITEM: Make = |argument| Step::AbandonItem(item(argument));
const FORGET: Make = |argument| Step::Forget(which(argument));
const END_STALE: Make = |argument| Step::EndStale(which(argument));
const REMOVE: Make = |argument| Step::Remove(item(argument));
const PAUSE: Make = |_| Step::Pause;
const RESUME: Make = |_| Step::Resume;
const DRAIN: Make = |_| Step::Drain;
const DROP_DRAINER: Make = |argument| Step::DropDrainer(which(argument));
const CROWD: Make = |_| Step::Crowd;
const SHRINK: Make = |_| Step::Shrink;
/// What ends the queue is rare: little happens afterwards.
const SHUTDOWN: Make = |argument| if argument < 16 { Step::Shutdown } else { Step::Shrink };
const SHUTDOWN_NOW: Make = |argument| if argument < 16 { Step::ShutdownNow } else { Step::Shrink };

/// Every verb. The first byte says how much room there is, if there is a bound, and how many spares.
pub(crate) fn any(bytes: &[u8]) -> Verdict {
    const KINDS: &[Make] = &[
        ADD,
        ADD,
        ADD,
        ADD_ALL,
        ADD_QUIETLY,
        TRY_ADD,
        ADD_WAIT,
        ADD_BLOCKING,
        TRY_GET,
        GET_BLOCKING,
        GET_OWNED_BLOCKING,
        GET_BATCH,
        GET_BATCH_BLOCKING,
        GET,
        GET_OWNED,
        POLL_GETTER,
        POLL_GETTER,
        DROP_GETTER,
        POLL_ADDER,
        DROP_ADDER,
        DONE,
        DONE,
        PANIC_AT_WORK,
        DONE_AND_GET,
        ABANDON,
        ABANDON_ITEM,
        FORGET,
        END_STALE,
        REMOVE,
        PAUSE,
        RESUME,
        RESUME,
        DRAIN,
        DROP_DRAINER,
        CROWD,
        SHRINK,
        SHUTDOWN,
        SHUTDOWN_NOW,
    ];
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let capacity = Some(usize::from(first % 4)).filter(|capacity| *capacity > 0);
    play(capacity, usize::from(first / 4 % 3), steps(rest, KINDS, |make, argument| make(argument)))
}

/// Many at a time, in and out.
pub(crate) fn batches(bytes: &[u8]) -> Verdict {
    const KINDS: &[Make] = &[
        ADD_ALL,
        ADD_ALL,
        ADD_QUIETLY,
        GET_BATCH,
        GET_BATCH,
        GET,
        POLL_GETTER,
        DONE,
        DONE,
        DONE_AND_GET,
        ABANDON,
        DRAIN,
    ];
    play(None, 0, steps(bytes, KINDS, |make, argument| make(argument)))
}

/// Adds that are refused, or wait for room, and everything that makes room.
pub(crate) fn bounded(bytes: &[u8]) -> Verdict {
    const KINDS: &[Make] = &[
        ADD,
        TRY_ADD,
        TRY_ADD,
        ADD_WAIT,
        ADD_WAIT,
        ADD_BLOCKING,
        POLL_ADDER,
        POLL_ADDER,
        DROP_ADDER,
        TRY_GET,
        TRY_GET,
        DONE,
        DONE_AND_GET,
        REMOVE,
        PAUSE,
        RESUME,
        SHUTDOWN,
        SHUTDOWN_NOW,
    ];
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    play(Some(1 + usize::from(first % 3)), 0, steps(rest, KINDS, |make, argument| make(argument)))
}

/// The contract of a backlog, on `Fifo`, and its order.
pub(crate) fn backlog(bytes: &[u8]) -> Result<(), TestCaseError> {
    let book_steps = steps(bytes, &[0, 0, 0, 1, 1, 2, 3, 4], |kind, argument| {
        let id = u32::from(argument % 12);
        match kind {
            0 => BacklogStep::Add(id, ()),
            1 => BacklogStep::Pop,
            2 => BacklogStep::Remove(id),
            3 => BacklogStep::MoveDown(id),
            _ => BacklogStep::Shrink,
        }
    });
    keeps_its_books(Fifo::default(), book_steps.clone())?;
    let (mut fifo, mut line) = (Fifo::default(), Vec::new());
    for step in book_steps {
        match step {
            BacklogStep::Add(id, ()) if line.contains(&id) => fifo.touch(SlotId::from_index(id), &()),
            BacklogStep::Add(id, ()) => {
                fifo.push(SlotId::from_index(id), ());
                line.push(id);
            }
            BacklogStep::Pop => {
                let first = (!line.is_empty()).then(|| line.remove(0));
                if fifo.pop().map(|(id, ())| id.index()) != first {
                    return Err(TestCaseError::fail("not the first in is the first out"));
                }
            }
            BacklogStep::Remove(id) => {
                line.retain(|other| *other != id);
                fifo.remove(SlotId::from_index(id));
            }
            BacklogStep::Shrink => fifo.shrink(),
            _ => {}
        }
    }
    Ok(())
}
