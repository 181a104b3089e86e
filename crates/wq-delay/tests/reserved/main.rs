//! Reserved room: while it suffices for the delayed items, no add, move or removal allocates.

use std::alloc::System;
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use wq_delay::{DelayingQueue, ManualTimer, SecondAdd};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How the deadlines follow each other.
#[derive(Debug, Clone, Copy)]
enum Course {
    Rising,
    Falling,
    AtRandom,
    Together,
}

impl Course {
    fn after(self, number: u64) -> Duration {
        let hour = 3_600_000_000_000;
        Duration::from_nanos(match self {
            Self::Rising => hour + number,
            Self::Falling => hour - number,
            Self::AtRandom => 1 + spread(number) % hour,
            Self::Together => hour,
        })
    }
}

fn spread(number: u64) -> u64 {
    number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

/// A program with one thread, because the allocator counts the whole process.
fn main() {
    use Course::{AtRandom, Falling, Rising, Together};
    let courses = [Rising, Falling, AtRandom, Together];
    for items in [1, 10, 100, 330, 331, 500, 700, 1000, 1024, 1025, 1500, 5000, 20_000] {
        for (course, next) in courses.into_iter().flat_map(|one| courses.map(|other| (one, other)))
        {
            let queue = DelayingQueue::<u64>::builder()
                .timer(ManualTimer::new())
                .second_add(SecondAdd::Replace)
                .reserve_delayed(usize::try_from(items).unwrap())
                .build()
                .unwrap();
            let region = Region::new(ALLOCATOR);
            (0..items).for_each(|item| _ = queue.add_after(item, course.after(item)));
            (0..items).for_each(|item| _ = queue.add_after(item, next.after(2 * items + item)));
            // Nine of ten items are canceled and added again with other deadlines.
            let goes = |item: &u64| !spread(*item).is_multiple_of(10);
            (0..items).filter(goes).for_each(|item| _ = queue.cancel(&item));
            (0..items)
                .filter(goes)
                .for_each(|item| _ = queue.add_after(item, course.after(4 * items + item)));
            let change = region.change();
            assert_eq!(
                (change.allocations, change.reallocations),
                (0, 0),
                "{items} items, {course:?}, then {next:?}"
            );
            assert_eq!(queue.delayed_len() as u64, items);
        }
    }
}
