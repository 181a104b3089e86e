//! `/debug`: the state of a manager as JSON.

use std::fmt;
use std::time::Duration;

use reconciler::{Action, AdminServer, Controller, Failure, Manager, Request, reconcile_fn};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::bench::{Log, bench, never, settle, start, until};
use crate::serving::{get, loopback};

/// A key whose own code may panic.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Odd(u32);

impl fmt::Debug for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert_ne!(self.0, 4, "planted");
        write!(f, "odd\n{}", self.0)
    }
}

async fn state(address: std::net::SocketAddr) -> Value {
    let (status, text) = get(address, "/debug").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn it_shows_queues_runs_back_offs_parked_keys_and_caches_and_no_more_than_100_keys() {
    let bench = bench();
    bench.create("a").await;
    let admin = AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let mut manager = Manager::builder().admin(admin).build().unwrap();
    let maps = manager.cache(bench.api());
    let log = Log::new();
    let seen = log.clone();
    let controller = Controller::keyed(
        "odd",
        reconcile_fn(move |request: Request<Odd>| {
            seen.push(());
            async move {
                match request.key().0 {
                    1 | 4 => never().await,
                    2 => Err(Failure::retry_after("\x1b[31mplan\nted", Duration::from_secs(60))),
                    3 => Ok(Action::requeue(Duration::from_secs(3600))),
                    _ => Err(Failure::terminal("planted")),
                }
            }
        }),
    );
    let handle = controller.handle();
    manager.add(controller.workers(3).reads(&maps));
    [1, 2, 3, 4].into_iter().chain(1000..1150).for_each(|key| handle.add(Odd(key)));
    let running = start(manager);
    until("all runs", || log.len() == 154).await;
    sleep(Duration::from_secs(10)).await;
    // Active, so it waits to run again.
    handle.add(Odd(1));
    let state = state(address).await;
    assert_eq!((&state["leader"], &state["keys_at_most"]), (&Value::Null, &json!(100)));
    assert_eq!(
        state["caches"],
        json!([{"name": "v1/configmaps", "synced": true, "objects": 1, "lists": 1, "failures": 0, "failing": null}])
    );
    let odd = &state["controllers"][0];
    for (field, value) in [
        ("name", json!("odd")),
        ("runs", json!(true)),
        ("workers", json!(3)),
        ("depth", json!(1)),
        ("delayed", json!(2)),
        ("missing_caches", json!([])),
    ] {
        assert_eq!(odd[field], value, "{field}");
    }
    let active = &odd["in_flight"];
    let keys: Vec<&Value> = active["keys"].as_array().unwrap().iter().map(|a| &a["key"]).collect();
    assert_eq!(keys, ["odd 1", "(its Debug panicked)"]);
    assert_eq!(active["omitted"], 0);
    let ms = |value: &Value, least: u64| {
        let ms = value.as_u64().unwrap();
        assert!((least..least + 500).contains(&ms), "{value}");
    };
    ms(&active["keys"][0]["ms"], 10_000);
    let retry = &odd["back_off"]["keys"][0];
    assert_eq!((&retry["key"], &retry["failures"]), (&json!("odd 2"), &json!(1)));
    ms(&retry["retry_in_ms"], 49_700);
    assert_eq!(retry["last_error"], " [31mplan ted", "safe for a terminal");
    let parked = odd["parked"]["keys"].as_array().unwrap();
    assert_eq!((parked.len(), &odd["parked"]["omitted"]), (100, &json!(50)));
    assert!(parked.iter().all(|parked| parked["reason"] == "terminal"));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn it_says_why_a_cache_fails_and_what_a_controller_waits_for() {
    let bench = bench();
    bench.server.faults().partition("controller");
    let admin = AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let mut manager = Manager::builder().admin(admin).build().unwrap();
    let maps = manager.cache(bench.api());
    let idle = reconcile_fn(|_: Request<reconciler::ObjectKey>| never());
    manager.add(Controller::keyed("maps", idle).source(maps.objects()));
    let running = start(manager);
    until("a failure", || maps.status().failures > 0).await;
    settle().await;
    let state = state(address).await;
    let cache = &state["caches"][0];
    assert_eq!((&cache["synced"], &cache["objects"]), (&json!(false), &json!(0)));
    assert!(cache["failing"]["error"].as_str().unwrap().contains("no answer"), "{cache}");
    assert_eq!(state["controllers"][0]["missing_caches"], json!(["v1/configmaps"]));
    running.stop().await;
}

#[cfg(feature = "election")]
#[tokio::test(start_paused = true)]
async fn it_shows_the_leader() {
    use lease_election::{Config, LeaderElector, MemoryLeaseStore};

    let store = MemoryLeaseStore::new();
    let config = Config::builder("default", "test").identity("one").build().unwrap();
    let elector = LeaderElector::new(store.client("one"), config);
    let admin = AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let builder = Manager::builder().admin(admin).election(elector.clone());
    let running = start(builder.build().unwrap());
    until("it leads", || elector.is_leader()).await;
    let expected = json!({
        "lease": "default/test", "identity": "one", "leads": true, "holder": "one", "terms": 1,
        "last_error": null,
    });
    assert_eq!(state(address).await["leader"], expected);
    running.stop().await;
}
