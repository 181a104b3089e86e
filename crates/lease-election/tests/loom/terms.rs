//! Terms: the end of a term, from each side, against concurrent steps.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::task::Poll;

use loom::future::block_on;
use loom::sync::Arc;
use wq_contract::explore::{join, thread};

use crate::leadership::{Ending, Lost};
use crate::loss::Loss;
use crate::platform::{AtomicBool, Notify, Ordering};
use crate::scene::{END, Scene, at};

fn wait_for_the_end(scene: &Scene) -> Loss {
    block_on(scene.leadership().lost())
}

pub(crate) fn lost_against_end() {
    let scene = Scene::without_timers();
    let waiting = thread(&scene, wait_for_the_end);
    scene.term.end(Loss::Deleted);
    assert!(!scene.term.is_valid());
    assert_eq!(waiting.join().unwrap(), Loss::Deleted);
}

pub(crate) fn lost_against_expiry() {
    let scene = Scene::without_timers();
    let waiting = thread(&scene, wait_for_the_end);
    scene.clock.set(END);
    assert!(!scene.leadership().is_valid());
    assert_eq!(waiting.join().unwrap(), Loss::Expired);
}

pub(crate) fn lost_across_a_renewal() {
    let scene = Scene::with_timers();
    let waiting = thread(&scene, |scene| {
        let loss = wait_for_the_end(scene);
        (loss, crate::clock::Clock::now(&scene.clock))
    });
    assert!(scene.term.extend(at(2 * END)));
    scene.clock.set(END);
    assert!(scene.term.is_valid());
    scene.clock.set(2 * END);
    assert_eq!(waiting.join().unwrap(), (Loss::Expired, at(2 * END)));
}

pub(crate) fn two_observers() {
    let scene = Scene::without_timers();
    scene.clock.set(END);
    let asking = |scene: &Scene| {
        let leadership = scene.leadership();
        assert!(!leadership.is_valid());
        assert_eq!(leadership.ensure(), Err(Lost(Loss::Expired)));
        block_on(leadership.lost())
    };
    let told = join([thread(&scene, asking), thread(&scene, asking)]);
    assert_eq!(told, [Loss::Expired, Loss::Expired]);
    assert_eq!(wait_for_the_end(&scene), Loss::Expired);
}

pub(crate) fn renewal_against_expiry() {
    let scene = Scene::without_timers();
    let renewing = thread(&scene, |scene| scene.term.extend(at(2 * END)));
    scene.clock.set(END);
    let goes_on = scene.leadership().is_valid();
    assert_eq!(renewing.join().unwrap(), goes_on, "a term is over, and stays so, or was renewed");
    assert_eq!(scene.leadership().is_valid(), goes_on);
    assert_eq!(scene.leadership().remaining().is_zero(), !goes_on);
}

pub(crate) fn renewal_against_end() {
    let scene = Scene::without_timers();
    let renewing = thread(&scene, |scene| scene.term.extend(at(2 * END)));
    scene.term.end(Loss::Deleted);
    assert!(!scene.leadership().is_valid());
    // In time or too late: the result makes no difference now.
    let _ = renewing.join().unwrap();
    assert!(!scene.leadership().is_valid());
    assert!(scene.leadership().remaining().is_zero());
    assert_eq!(wait_for_the_end(&scene), Loss::Deleted);
}

pub(crate) fn two_ends() {
    let scene = Scene::without_timers();
    let waiting = thread(&scene, wait_for_the_end);
    let ending = thread(&scene, |scene| scene.term.end(Loss::Deleted));
    scene.term.end(Loss::Finished);
    let told = waiting.join().unwrap();
    ending.join().unwrap();
    assert!(matches!(told, Loss::Deleted | Loss::Finished), "{told:?}");
    assert_eq!(scene.leadership().loss(), Some(told));
}

pub(crate) fn guard_against_expiry() {
    let scene = Scene::without_timers();
    let guarded = thread(&scene, |scene| block_on(scene.leadership().guard(pending::<()>())));
    scene.clock.set(END);
    assert!(!scene.leadership().is_valid());
    assert_eq!(guarded.join().unwrap(), Err(Lost(Loss::Expired)));
}

pub(crate) fn guard_against_its_future() {
    let scene = Scene::without_timers();
    let told = Arc::new((AtomicBool::new(false), Notify::new()));
    let signal = Arc::clone(&told);
    let guarded = thread(&scene, move |scene| {
        let mut steps = 0;
        let work = async {
            let mut changed = pin!(signal.1.notified());
            poll_fn(|context| {
                steps += 1;
                if signal.0.load(Ordering::Acquire) {
                    Poll::Ready(())
                } else {
                    changed.as_mut().poll(context)
                }
            })
            .await;
        };
        let result = block_on(scene.leadership().guard(work));
        (result, steps)
    });
    told.0.store(true, Ordering::Release);
    told.1.notify_waiters();
    scene.term.end(Loss::Deleted);
    let (result, steps) = guarded.join().unwrap();
    match result {
        Ok(()) => assert!(steps > 0),
        Err(lost) => assert_eq!(lost, Lost(Loss::Deleted)),
    }
    let late = block_on(scene.leadership().guard(async { panic!("a step after the end") }));
    assert_eq!(late, Err(Lost(Loss::Deleted)));
}

pub(crate) fn ending_against_stop() {
    let scene = Scene::without_timers();
    let working = thread(&scene, |scene| block_on(scene.leadership().ending()));
    scene.term.request_stop();
    assert_eq!(working.join().unwrap(), Ending::StopRequested);
    assert!(scene.leadership().is_valid() && scene.leadership().is_stopping());
}

pub(crate) fn ending_against_stop_and_end() {
    let scene = Scene::without_timers();
    let working = thread(&scene, |scene| block_on(scene.leadership().ending()));
    let stopping = thread(&scene, |scene| scene.term.request_stop());
    scene.term.end(Loss::Deleted);
    let told = working.join().unwrap();
    stopping.join().unwrap();
    assert!(matches!(told, Ending::StopRequested | Ending::Lost(Loss::Deleted)), "{told:?}");
    assert_eq!(block_on(scene.leadership().ending()), Ending::Lost(Loss::Deleted));
}
