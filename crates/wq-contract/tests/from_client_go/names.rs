//! The names of the Go packages, as `names/exported.awk` makes them from `go doc`: each is in the
//! first column of a table.

use crate::{cells, code, page, words};
use std::collections::HashSet;

const WORKQUEUE: &str = include_str!("names/workqueue.txt");
const PRIORITY_QUEUE: &str = include_str!("names/priorityqueue.txt");

/// The words of the first column of the tables that begin so.
fn theirs<'p>(page: &'p str, head: &str) -> HashSet<&'p str> {
    let mut of_theirs = false;
    let mut found = HashSet::new();
    for line in page.lines() {
        of_theirs = if of_theirs { line.starts_with('|') } else { line.starts_with(head) };
        if of_theirs {
            found.extend(code(cells(line)[0]).flat_map(words));
        }
    }
    found
}

fn missing<'l>(list: &'l str, page: &str, head: &str) -> Vec<&'l str> {
    let there = theirs(page, head);
    let is_missing = |name: &&str| !there.contains(name.rsplit('.').next().unwrap());
    list.lines().filter(is_missing).collect()
}

#[test]
fn every_exported_name_is_on_the_page() {
    let page = page();
    assert_eq!(missing(WORKQUEUE, &page, "| client-go |"), [""; 0]);
    assert_eq!(missing(PRIORITY_QUEUE, &page, "| controller-runtime |"), [""; 0]);
    assert!((WORKQUEUE.lines().count(), PRIORITY_QUEUE.lines().count()) >= (136, 13));
}

#[test]
fn a_name_that_is_not_there_is_missed() {
    let page = "| client-go | here |\n| --- | --- |\n| `New`, `NewTyped[T]` | `New::gone` |\n\n| `Len` | |\n";
    assert_eq!(
        missing("New\nNewTyped\nQueue.Len\ngone", page, "| client-go |"),
        ["Queue.Len", "gone"]
    );
}
