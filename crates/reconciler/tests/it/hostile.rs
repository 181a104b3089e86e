//! Thirty hostile users: each ends in bounded time, other controllers go on, the manager stops and
//! its report is true.
//!
//! | | the user | test |
//! | --- | --- | --- |
//! | 1 | a run panics, before and after its first await | `retries` |
//! | 2 | a local's destructor panics when the run is dropped | `retries` |
//! | 3 | the payload of a panic panics | `seen` |
//! | 4 | a run never waits | `seen` |
//! | 5 | a stream is always ready | `seen` |
//! | 6 | a stream panics | `runs` |
//! | 7 | a mapping panics | `caches` |
//! | 8 | a limiter panics | `retries` |
//! | 9 | a key's `Debug` panics | `seen` |
//! | 10 | a run ignores its cancellation at a stop | `stopping` |
//! | 11 | a run ignores its time-out | `retries` |
//! | 12 | tracked work never ends | `stopping` |
//! | 13 | a reconciler's destructor panics | `destructors` |
//! | 14 | a leader task and its error panic when dropped | `destructors` |
//! | 15 | a right is missing, and a definition | `seen`, `caches` |
//! | 16 | an error's `Display` panics | `users` |
//! | 17 | an error's destructor panics | `users` |
//! | 18 | `requeue(0)` for ever | `users` |
//! | 19 | `requeue(Duration::MAX)` | `users` |
//! | 20 | `retry_after(0)` for ever | `users` |
//! | 21 | a time-out of no time, and one without end | `users` |
//! | 22 | a failing run names its own key | `users` |
//! | 23 | a run names 100,000 keys | `users` |
//! | 24 | a limiter's destructor panics | `users` |
//! | 25 | a stream's destructor panics | `users` |
//! | 26 | each of a key's `Hash`, `Eq`, `Clone`, `Drop` panics once, at any call | `keys` |
//! | 27 | a limiter that never delays a failing run | `a_limiter_without_delays` |
//! | 28 | a cleanup panics, and a transform | `objects_whose_code_panics` |
//! | 29 | the only handle is forgotten | `a_forgotten_handle` |
//! | 30 | the manager is dropped in a run, and its handle used after it | `a_dropped_manager` |

use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use embedded_apiserver::Match;
use futures::Stream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use reconciler::{
    Action, CacheConfig, Cleanup, Context, Controller, Failure, Handle, Key, Manager,
    ObjectReconciler, Reconciler, Report, Request, Source, reconcile_fn,
};
use tokio::time::{Instant, sleep, timeout};
use wq_ratelimit::{ExponentialBackoff, RateLimiter};

use crate::bench::{Log, Running, bench, never, settle, start, until};

const MS: Duration = Duration::from_millis(1);

/// A manager with a grace of 2 s, and a controller that notes its runs.
fn neighbour() -> (Manager, Handle<u32>, Log<u32>) {
    let mut manager = Manager::builder().grace(2000 * MS).build().unwrap();
    let log = Log::new();
    let seen = log.clone();
    let controller = Controller::keyed(
        "neighbour",
        reconcile_fn(move |request: Request<u32>| {
            seen.push(*request.key());
            async { Ok(Action::await_change()) }
        }),
    );
    let handle = controller.handle();
    manager.add(controller);
    (manager, handle, log)
}

/// The neighbour runs at once, and the manager stops within its grace. Returns the user's part of
/// the report.
async fn stopped(user: &str, running: Running, (handle, log): (Handle<u32>, Log<u32>)) -> Report {
    handle.add(1);
    settle().await;
    assert_eq!(log.len(), 1, "{user}: the neighbour runs");
    let asked = Instant::now();
    running.stop.cancel();
    let ended = timeout(3000 * MS, running.ended).await;
    let report = ended.unwrap_or_else(|_| panic!("{user}: it does not stop"));
    let report = report.unwrap_or_else(|panic| panic!("{user}: the manager panicked: {panic}"));
    assert!(asked.elapsed() <= 2100 * MS, "{user}: {:?}", asked.elapsed());
    report.unwrap()
}

/// The numbers of the user's report that are not zero, without runs.
fn told(report: &Report) -> String {
    let user = &report.controllers[1];
    let counts = [
        ("errors", user.errors),
        ("panics", user.panics),
        ("timeouts", user.timeouts),
        ("abandoned", user.abandoned.len() as u64),
        ("not started", user.not_started as u64),
        ("unfinished", report.unfinished_tasks as u64),
    ];
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    counts.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// Panics when it is shown (0), or dropped (1).
struct Trap(u32);

impl fmt::Debug for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trap")
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert_ne!(self.0, 0, "planted in Display");
        f.write_str("trap")
    }
}

impl std::error::Error for Trap {}

impl Drop for Trap {
    fn drop(&mut self) {
        assert!(self.0 != 1 || std::thread::panicking(), "planted in a destructor");
    }
}

/// A limiter of a constant delay, whose destructor may panic.
struct Constant(Duration, #[expect(dead_code, reason = "for its destructor")] Trap);

impl RateLimiter<u32> for Constant {
    fn next_delay(&mut self, _: &u32, _: std::time::Instant) -> Duration {
        self.0
    }
    fn forget(&mut self, _: &u32) {}
    fn num_requeues(&self, _: &u32) -> u32 {
        0
    }
}

/// A stream without items.
struct Silent(#[expect(dead_code, reason = "for its destructor")] Trap);

impl Stream for Silent {
    type Item = u32;

    fn poll_next(self: Pin<&mut Self>, _: &mut Poller<'_>) -> Poll<Option<u32>> {
        Poll::Pending
    }
}

/// A controller whose runs get their number. It backs off for 100 ms, doubling to 1 s.
fn user<Fut>(
    run: impl Fn(u32, Request<u32>) -> Fut + Send + Sync + 'static,
) -> Controller<impl Reconciler<Key = u32>>
where
    Fut: Future<Output = Result<Action, Failure>> + Send + 'static,
{
    let number = AtomicU32::new(0);
    Controller::keyed(
        "user",
        reconcile_fn(move |request| run(number.fetch_add(1, Ordering::Relaxed), request)),
    )
    .limiter(ExponentialBackoff::new(100 * MS, 1000 * MS).unwrap())
}

/// Runs key 1 of a user for a minute. `runs` bounds the runs.
async fn minute<R: Reconciler<Key = u32>>(
    name: &str,
    controller: Controller<R>,
    runs: std::ops::RangeInclusive<u64>,
    expected: &str,
) {
    let (mut manager, ordinary, log) = neighbour();
    controller.handle().add(1);
    manager.add(controller);
    let running = start(manager);
    sleep(Duration::from_secs(60)).await;
    let report = stopped(name, running, (ordinary, log)).await;
    let ran = report.controllers[1].reconciles;
    assert!(runs.contains(&ran), "{name}: {ran} runs");
    assert_eq!(told(&report), expected, "{name}");
}

#[tokio::test(start_paused = true)]
async fn users() {
    let done = || Ok(Action::await_change());
    minute(
        "an error's Display panics",
        user(|_, _| async { Err(Failure::retry(Trap(0))) }),
        62..=64,
        "errors 63, not started 1",
    )
    .await;
    minute(
        "an error's destructor panics",
        user(|_, _| async { Err(Failure::retry(Trap(1))) }),
        62..=64,
        "errors 63, not started 1",
    )
    .await;
    let zero = || async { Ok(Action::requeue(Duration::ZERO)) };
    minute("requeue(0)", user(move |_, _| zero()), 5000..=6100, "not started 1").await;
    let late = || async { Ok(Action::requeue(Duration::MAX)) };
    minute("requeue(MAX)", user(move |_, _| late()), 1..=1, "not started 1").await;
    let soon = |number| async move {
        if number == 3000 {
            Ok(Action::await_change())
        } else {
            Err(Failure::retry_after("no", Duration::ZERO))
        }
    };
    minute("retry_after(0)", user(move |number, _| soon(number)), 3001..=3001, "errors 3000").await;
    let slow = || async {
        sleep(MS).await;
        Ok(Action::await_change())
    };
    minute("a time-out of no time", user(move |_, _| slow()).timeout(Duration::ZERO), 1..=1, "")
        .await;
    let endless = user(|_, _| never()).timeout(Duration::MAX);
    minute("a time-out without end", endless, 0..=0, "abandoned 1").await;
    let own = Arc::new(std::sync::OnceLock::<Handle<u32>>::new());
    let named = Arc::clone(&own);
    let selfish = user(move |_, request| {
        named.get().unwrap().add(*request.key());
        async { Err(Failure::retry("no")) }
    });
    own.set(selfish.handle()).ok().unwrap();
    minute("a failing run names its own key", selfish, 60..=125, "errors 63, not started 1").await;
    let own = Arc::new(std::sync::OnceLock::<Handle<u32>>::new());
    let named = Arc::clone(&own);
    let crowd = user(move |number, _| {
        if number == 0 {
            (0..100_000).for_each(|key| named.get().unwrap().add(key));
        }
        async { Ok(Action::await_change()) }
    });
    own.set(crowd.handle()).ok().unwrap();
    minute("a run names 100,000 keys", crowd, 100_001..=100_001, "").await;
    let limiter = Constant(100 * MS, Trap(1));
    minute(
        "a limiter's destructor panics",
        user(move |_, _| async move { done() }).limiter(limiter),
        1..=1,
        "",
    )
    .await;
    let stream = Source::stream("silent", Silent(Trap(1)));
    minute(
        "a stream's destructor panics",
        user(move |_, _| async move { done() }).source(stream),
        1..=1,
        "",
    )
    .await;
}

/// The method of a key that panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Hash,
    Eq,
    Clone,
    Drop,
}

/// A method, and the number of calls of it before it panics once.
struct Fuse {
    method: Method,
    left: AtomicUsize,
    has_fired: AtomicBool,
}

/// A key whose method panics once.
struct Unruly {
    name: u32,
    fuse: Arc<Fuse>,
}

impl Unruly {
    fn calls(&self, method: Method) {
        // A panic in an unwinding destructor ends any process.
        if self.fuse.method != method || std::thread::panicking() {
            return;
        }
        let left = self.fuse.left.fetch_sub(1, Ordering::Relaxed);
        if left == 0 {
            self.fuse.has_fired.store(true, Ordering::Relaxed);
            panic!("planted in {method:?}");
        }
    }
}

impl fmt::Debug for Unruly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

impl Hash for Unruly {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.calls(Method::Hash);
        self.name.hash(state);
    }
}

impl PartialEq for Unruly {
    fn eq(&self, other: &Self) -> bool {
        self.calls(Method::Eq);
        self.name == other.name
    }
}

impl Eq for Unruly {}

impl Clone for Unruly {
    fn clone(&self) -> Self {
        self.calls(Method::Clone);
        Self { name: self.name, fuse: Arc::clone(&self.fuse) }
    }
}

impl Drop for Unruly {
    fn drop(&mut self) {
        self.calls(Method::Drop);
    }
}

/// Adds a key as a user does who survives the panics of its own code.
fn add<K: Key>(handle: &Handle<K>, key: impl FnOnce() -> K) {
    let _ = catch_unwind(AssertUnwindSafe(|| handle.add(key())));
}

/// Plays a life of keys whose `method` panics at call `call`. Returns whether it was called so
/// often.
async fn life(method: Method, call: usize) -> bool {
    let what = format!("{method:?} {call}");
    let fuse = Fuse { method, left: AtomicUsize::new(call), has_fired: AtomicBool::new(false) };
    let fuse = Arc::new(fuse);
    let key = |name| Unruly { name, fuse: Arc::clone(&fuse) };
    let (mut manager, ordinary, log) = neighbour();
    let runs = Log::new();
    let seen = runs.clone();
    let controller = Controller::keyed(
        "user",
        reconcile_fn(move |request: Request<Unruly>| {
            let (name, attempt) = (request.key().name, request.attempt());
            seen.push(name);
            async move {
                match name {
                    // Fails once.
                    1 if attempt == 0 => Err(Failure::retry("once")),
                    2 => Err(Failure::terminal("parked")),
                    3 => Ok(Action::requeue(Duration::from_secs(3600))),
                    4 => never().await,
                    _ => Ok(Action::await_change()),
                }
            }
        }),
    )
    .limiter(ExponentialBackoff::new(100 * MS, 1000 * MS).unwrap());
    let handle = controller.handle();
    (1..4).for_each(|name| add(&handle, || key(name)));
    manager.add(controller);
    let running = start(manager);
    settle().await;
    (0..5).for_each(|name| add(&handle, || key(name)));
    sleep(Duration::from_secs(5)).await;
    // Whatever was lost: a key that is named again runs.
    for name in [0, 1, 3] {
        let earlier = runs.all().iter().filter(|ran| **ran == name).count();
        add(&handle, || key(name));
        sleep(Duration::from_secs(2)).await;
        add(&handle, || key(name));
        sleep(Duration::from_secs(2)).await;
        let now = runs.all().iter().filter(|ran| **ran == name).count();
        assert!(now > earlier, "{what}: key {name} is stuck after {:?}", runs.all());
    }
    let report = stopped(&what, running, (ordinary, log)).await;
    assert!(report.controllers[1].abandoned.len() <= 1, "{what}");
    fuse.left.store(usize::MAX / 2, Ordering::Relaxed); // What is left drops in peace.
    fuse.has_fired.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn keys() {
    for method in [Method::Hash, Method::Eq, Method::Clone, Method::Drop] {
        let mut call = 0;
        while life(method, call).await {
            call += 1;
        }
        assert!(call > 10, "{method:?} is called {call} times");
    }
}

#[tokio::test(start_paused = true)]
async fn a_limiter_without_delays() {
    let (mut manager, ordinary, log) = neighbour();
    let controller = user(|_, _| async { Err(Failure::retry("no")) })
        .limiter(Constant(Duration::ZERO, Trap(2)))
        .workers(1);
    controller.handle().add(1);
    manager.add(controller);
    let running = start(manager);
    // The clock stands still while a run is ready.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    ordinary.add(1);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(log.len(), 1);
    let report = running.stop().await;
    assert_eq!(report.controllers[1].reconciles, report.controllers[1].errors);
    assert_eq!(report.controllers[1].not_started, 1);
}

/// Its cleanups panic, all but the third.
struct Messy(AtomicU32);

impl ObjectReconciler for Messy {
    type Object = ConfigMap;

    async fn reconcile(&self, _: &ConfigMap, _: &Context<ConfigMap>) -> Result<Action, Failure> {
        Ok(Action::await_change())
    }

    async fn cleanup(&self, _: &ConfigMap, _: &Context<ConfigMap>) -> Result<Cleanup, Failure> {
        assert_eq!(self.0.fetch_add(1, Ordering::Relaxed), 2, "planted in a cleanup");
        Ok(Cleanup::Complete)
    }
}

#[tokio::test(start_paused = true)]
async fn objects_whose_code_panics() {
    let bench = bench();
    let (mut manager, ordinary, log) = neighbour();
    let config = CacheConfig::<ConfigMap>::new().transform(|map| {
        assert_ne!(map.metadata.name.as_deref(), Some("opaque"), "planted in a transform");
    });
    let maps = manager.cache_with(bench.api(), config);
    let controller = Controller::new("user", &maps, Messy(AtomicU32::new(0)));
    manager.add(controller.finalizer("example.com/messy"));
    bench.create("a").await;
    bench.create("opaque").await;
    let running = start(manager);
    let held = |name: &'static str| {
        let maps = bench.maps.clone();
        async move { maps.get_opt(name).await.unwrap() }
    };
    sleep(Duration::from_secs(5)).await;
    assert!(held("a").await.unwrap().metadata.finalizers.is_some());
    bench.maps.delete("a", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert!(held("a").await.is_none(), "the third cleanup is complete");
    assert_eq!(maps.len(), 0);
    assert_eq!(maps.status().undecodable, 1);
    let map: ConfigMap =
        serde_json::from_value(serde_json::json!({"metadata": {"name": "b"}})).unwrap();
    bench.maps.create(&PostParams::default(), &map).await.unwrap();
    until("the next object", || maps.len() == 1).await;
    let report = stopped("panics of objects", running, (ordinary, log)).await;
    assert_eq!(told(&report), "errors 2, panics 2");
    assert_eq!(bench.server.faults().live_watches(&Match::any().user("controller")), 0);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_handle() {
    let (mut manager, ordinary, log) = neighbour();
    let controller = user(|_, _| async { Ok(Action::await_change()) });
    drop(controller.handle());
    manager.add(controller);
    let running = start(manager);
    sleep(Duration::from_secs(3600)).await;
    let report = stopped("a forgotten handle", running, (ordinary, log)).await;
    assert_eq!((told(&report).as_str(), report.controllers[1].reconciles), ("", 0));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_manager() {
    let (mut manager, _ordinary, _log) = neighbour();
    let dropped = Arc::new(AtomicBool::new(false));
    struct Mark(Arc<AtomicBool>);
    impl Drop for Mark {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let begun = Log::new();
    let (seen, mark) = (begun.clone(), Arc::clone(&dropped));
    let controller = user(move |_, _| {
        seen.push(());
        let mark = Mark(Arc::clone(&mark));
        async move {
            let _mark = mark;
            never().await
        }
    });
    let (handle, view) = (controller.handle(), controller.observe());
    manager.add(controller);
    let running = start(manager);
    handle.add(1);
    until("the run", || begun.len() == 1).await;
    running.ended.abort();
    assert!(running.ended.await.is_err());
    settle().await;
    assert!(dropped.load(Ordering::Relaxed), "the run is dropped");
    (0..1000).for_each(|key| handle.add(key));
    settle().await;
    assert_eq!((begun.len(), view.depth(), view.parked().len()), (1, 0, 0));
}
