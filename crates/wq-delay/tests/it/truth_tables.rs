//! The truth tables in the docs, made by running every case. `TRUTH_TABLE=write` writes them again.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use wq_delay::{Added, DelayingQueue, ImmediateAdd, ManualTimer, Scheduled, SecondAdd};

const SECOND: Duration = Duration::from_secs(1);

fn queue(second: SecondAdd, immediate: ImmediateAdd) -> (DelayingQueue<&'static str>, ManualTimer) {
    let timer = ManualTimer::new();
    let builder =
        DelayingQueue::builder().timer(timer.clone()).second_add(second).immediate_add(immediate);
    (builder.build().unwrap(), timer)
}

/// The seconds in which the item comes out, if a worker takes all ready items at the end of each.
fn runs(queue: &DelayingQueue<&'static str>, timer: &ManualTimer) -> String {
    let mut at = Vec::new();
    for second in 0..20 {
        if second > 0 {
            timer.advance(SECOND);
        }
        while queue.try_get().is_ok() {
            at.push(if second == 0 { "now".to_owned() } else { format!("after {second} s") });
        }
    }
    if at.is_empty() { "never".to_owned() } else { at.join(", ") }
}

fn check(file: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    if std::env::var_os("TRUTH_TABLE").is_some_and(|word| word == "write") {
        std::fs::write(&path, table).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written, table, "run the test with TRUTH_TABLE=write, and read what changed");
}

fn answer(scheduled: Scheduled) -> String {
    match scheduled {
        Scheduled::Now(added) => format!("`Now({added:?})`"),
        other => format!("`{other:?}`"),
    }
}

#[test]
fn of_a_second_add() {
    let mut table = String::from(
        "| waits for | second add | `Earliest` | comes out | `Latest` | comes out | `Replace` | comes out |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let delays = [
        ("0", Duration::ZERO),
        ("3 s", SECOND * 3),
        ("5 s", SECOND * 5),
        ("8 s", SECOND * 8),
        ("`MAX`", Duration::MAX),
    ];
    for first in [("5 s", SECOND * 5), ("`MAX`", Duration::MAX)] {
        for second in delays {
            write!(table, "| {} | {} |", first.0, second.0).unwrap();
            for policy in [SecondAdd::Earliest, SecondAdd::Latest, SecondAdd::Replace] {
                let (queue, timer) = queue(policy, ImmediateAdd::Keep);
                queue.add_after("item", first.1);
                let scheduled = queue.add_after("item", second.1);
                write!(table, " {} | {} |", answer(scheduled), runs(&queue, &timer)).unwrap();
            }
            table.push('\n');
        }
    }
    check("second_add.md", &table);
}

/// The state of the item when it is added without a delay.
#[derive(Clone, Copy)]
enum Place {
    Nowhere,
    Delayed,
    DelayedAndQueued,
    DelayedAndInFlight,
    Due,
}

#[test]
fn of_an_immediate_add() {
    let mut table = String::from(
        "| the item is | `Keep` | comes out | `Merge` | comes out | `Defer` | comes out |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (name, place) in [
        ("nowhere", Place::Nowhere),
        ("delayed by 5 s", Place::Delayed),
        ("delayed by 5 s and queued", Place::DelayedAndQueued),
        ("delayed by 5 s and in flight", Place::DelayedAndInFlight),
        ("due, but not queued yet", Place::Due),
    ] {
        write!(table, "| {name} |").unwrap();
        for policy in [ImmediateAdd::Keep, ImmediateAdd::Merge, ImmediateAdd::Defer] {
            let (queue, timer) = queue(SecondAdd::Earliest, policy);
            if let Place::DelayedAndQueued | Place::DelayedAndInFlight = place {
                queue.add("item");
            }
            let guard =
                if let Place::DelayedAndInFlight = place { queue.try_get().ok() } else { None };
            if !matches!(place, Place::Nowhere) {
                queue.add_after("item", SECOND * 5);
            }
            if let Place::Due = place {
                timer.advance(SECOND * 5);
            }
            let added: Added = queue.add("item");
            drop(guard);
            write!(table, " `{added:?}` | {} |", runs(&queue, &timer)).unwrap();
        }
        table.push('\n');
    }
    check("immediate_add.md", &table);
}
