//! Errors of the builder, and their messages.

use wq_delay::{BuildError, DelayingQueue, ManualTimer, ThreadTimer};

#[test]
fn a_queue_without_a_timer_is_refused() {
    let error = DelayingQueue::<u64>::builder().build().unwrap_err();
    assert_eq!(error, BuildError::NoTimer);
    assert!(error.to_string().contains("TokioTimer"));
}

#[test]
fn a_timer_that_cannot_wake_tasks_is_refused_for_async_getters() {
    let error = DelayingQueue::<u64>::builder().timer(ThreadTimer).build().unwrap_err();
    assert!(matches!(&error, BuildError::TimerCannotWakeTasks { timer } if timer == "ThreadTimer"));
    assert!(error.to_string().contains("build_blocking"));
    assert!(DelayingQueue::<u64>::builder().timer(ThreadTimer).build_blocking().is_ok());
}

#[test]
#[cfg_attr(miri, ignore = "it asks for more memory than there is")]
fn more_room_than_there_can_be_is_refused() {
    for items in [BuildError::MOST_RESERVED + 1, usize::MAX] {
        let builder =
            DelayingQueue::<u64>::builder().timer(ManualTimer::new()).reserve_delayed(items);
        let error = builder.build().unwrap_err();
        assert_eq!(error, BuildError::TooMuchReserved { items });
        let text = error.to_string();
        assert!(
            text.contains(&format!("reserve_delayed is {items}")) && text.contains("2147483648"),
            "{text}"
        );
    }
    // A table for this many items would be larger than any memory.
    let builder = DelayingQueue::<[u64; 1 << 20]>::builder()
        .timer(ManualTimer::new())
        .reserve_delayed(1 << 31);
    let error = builder.build().unwrap_err();
    assert_eq!(error, BuildError::NoMemoryToReserve { items: 1 << 31 });
    assert!(error.to_string().contains("reserve_delayed is 2147483648"), "{error}");
}

#[test]
fn a_fault_of_the_core_queue_is_passed_on() {
    let error =
        DelayingQueue::<u64>::builder().timer(ManualTimer::new()).capacity(0).build().unwrap_err();
    assert!(matches!(error, BuildError::Core(_)));
    assert!(error.to_string().contains("capacity"));
}
