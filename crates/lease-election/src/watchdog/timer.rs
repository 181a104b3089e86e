//! Timer: the watchdog's timer, on Linux one of the kernel's on the clock that counts suspend.

use crate::clock::Moment;

/// A timer that any thread sets and one thread waits for.
pub(crate) trait Timer: Send + Sync + std::fmt::Debug {
    /// Makes it go off at this moment of the [`BootClock`](crate::BootClock), or never.
    fn set(&self, at: Option<Moment>);

    /// Blocks the thread until it goes off. May return early.
    fn wait(&self);
}

/// The best timer of the system.
pub(super) fn timer() -> std::io::Result<Box<dyn Timer>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return Ok(Box::new(boot::BootTimer::new()?));
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    Ok(Box::new(slices::SliceTimer::default()))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod boot {
    use std::os::fd::OwnedFd;
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };

    use super::Timer;
    use crate::clock::Moment;

    /// A `timerfd` on `CLOCK_BOOTTIME`, which goes off at a wake-up if its time passed during the
    /// suspend.
    #[derive(Debug)]
    pub(super) struct BootTimer {
        pub(super) fd: OwnedFd,
    }

    impl BootTimer {
        pub(super) fn new() -> std::io::Result<Self> {
            let fd = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?;
            Ok(Self { fd })
        }
    }

    impl Timer for BootTimer {
        fn set(&self, at: Option<Moment>) {
            // All zeros would turn it off.
            let at = at.map_or(Duration::ZERO, |at| at.since_origin().max(Duration::from_nanos(1)));
            let time = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec {
                    tv_sec: at.as_secs().try_into().unwrap_or(i64::MAX),
                    tv_nsec: at.subsec_nanos().into(),
                },
            };
            // Fails only for another kind of descriptor or a time below zero.
            let _ = timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &time);
        }

        fn wait(&self) {
            let mut expirations = [0; 8];
            match rustix::io::read(&self.fd, &mut expirations) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => {
                    // Cannot happen; if it does, the thread must not spin.
                    let lock = Mutex::new(());
                    let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
                    let _ = Condvar::new().wait_timeout(held, Duration::from_millis(100));
                }
            }
        }
    }
}

/// The timer without the kernel's: the thread looks at the clock twice a second while a time is
/// set.
#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
mod slices {
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::Duration;

    use super::Timer;
    use crate::clock::{BootClock, Clock, Moment};

    #[derive(Debug, Default)]
    pub(super) struct SliceTimer {
        at: Mutex<Option<Moment>>,
        changed: Condvar,
    }

    impl Timer for SliceTimer {
        fn set(&self, at: Option<Moment>) {
            *self.at.lock().unwrap_or_else(PoisonError::into_inner) = at;
            self.changed.notify_all();
        }

        fn wait(&self) {
            let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let left = at.map(|at| at.since(BootClock.now()));
                at = match left {
                    Some(Duration::ZERO) => {
                        *at = None;
                        return;
                    }
                    Some(left) => {
                        let slice = left.min(Duration::from_millis(500));
                        self.changed
                            .wait_timeout(at, slice)
                            .unwrap_or_else(PoisonError::into_inner)
                            .0
                    }
                    None => self.changed.wait(at).unwrap_or_else(PoisonError::into_inner),
                };
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::clock::{BootClock, Clock as _};

    fn timers() -> [Arc<dyn Timer>; 2] {
        [Arc::new(boot::BootTimer::new().unwrap()), Arc::new(slices::SliceTimer::default())]
    }

    /// Asks the kernel about the descriptor: no test can suspend the machine.
    #[test]
    fn the_kernels_timer_is_on_the_clock_that_counts_suspend() {
        let timer = boot::BootTimer::new().unwrap();
        let about =
            std::fs::read_to_string(format!("/proc/self/fdinfo/{}", timer.fd.as_raw_fd())).unwrap();
        // `CLOCK_BOOTTIME` of `linux/time.h`; `CLOCK_MONOTONIC` is 1.
        assert!(about.lines().any(|line| line == "clockid: 7"), "{about}");
    }

    #[test]
    fn it_goes_off_at_its_time_and_at_once_if_that_is_over() {
        for timer in timers() {
            for wait in [Duration::from_millis(30), Duration::ZERO] {
                let at = BootClock.now().after(wait);
                timer.set(Some(at));
                timer.wait();
                assert!(BootClock.now() >= at, "{timer:?}");
            }
            timer.set(Some(Moment::from_origin(Duration::ZERO)));
            timer.wait();
        }
    }

    #[test]
    fn it_can_be_set_earlier_while_a_thread_waits_for_it() {
        for timer in timers() {
            timer.set(Some(Moment::from_origin(Duration::MAX)));
            let (tell, told) = channel();
            let waiting = Arc::clone(&timer);
            let thread = std::thread::spawn(move || {
                tell.send(()).unwrap();
                waiting.wait();
            });
            told.recv().unwrap();
            timer.set(Some(BootClock.now()));
            thread.join().unwrap();
        }
    }

    #[test]
    fn turned_off_it_does_not_go_off() {
        for timer in timers() {
            let (tell, told) = channel();
            timer.set(Some(BootClock.now().after(Duration::from_millis(20))));
            timer.set(None);
            let waiting = Arc::clone(&timer);
            let thread = std::thread::spawn(move || {
                waiting.wait();
                tell.send(BootClock.now()).unwrap();
            });
            // Set again, much later than it would have gone off.
            let later = BootClock.now().after(Duration::from_millis(120));
            timer.set(Some(later));
            assert!(told.recv().unwrap() >= later, "{timer:?}");
            thread.join().unwrap();
        }
    }
}
