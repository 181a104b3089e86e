//! Random histories of writes, events, new lists and time-outs, beside a server's log of writes.

use std::collections::BTreeMap;

use fastrand::Rng;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

use super::*;
use crate::cache::Shows as _;
use crate::cache::store::Relist;
use crate::oracle::play;
use crate::{Cache, CacheConfig};

const NAMESPACES: [&str; 2] = ["a", "b"];
const KEYS: [u8; 2] = [0, 1];

fn object(namespace: &str, name: &str, uid: u64, version: u64) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.namespace = Some(namespace.to_owned());
    map.metadata.name = Some(name.to_owned());
    map.metadata.uid = Some(uid.to_string());
    map.metadata.resource_version = Some(version.to_string());
    map
}

/// The objects of a namespace, all its writes, and how many of these the cache has seen.
#[derive(Default)]
struct Side {
    objects: BTreeMap<&'static str, ConfigMap>,
    /// The object as its event shows it, and whether it was deleted.
    log: Vec<(ConfigMap, bool)>,
    seen: usize,
}

struct World<'a> {
    cache: Cache<ConfigMap>,
    sides: [Side; 2],
    revision: u64,
    /// The uids that the last run of each key wrote, and the writes to wait for: a side and
    /// a length of its log.
    wrote: [Vec<Option<String>>; 2],
    awaited: [Vec<(usize, usize)>; 2],
    writes: &'a Writes<u8>,
}

impl World<'_> {
    /// Somebody writes an object: the run of a key, or a stranger.
    fn write(&mut self, by: Option<u8>, side: usize, name: &'static str) {
        self.revision += 1;
        let held = self.sides[side].objects.get(name);
        let uid = held.and_then(|held| held.metadata.uid.clone());
        let uid = uid.map_or(self.revision, |uid| uid.parse().unwrap());
        let map = object(NAMESPACES[side], name, uid, self.revision);
        self.sides[side].objects.insert(name, map.clone());
        self.sides[side].log.push((map.clone(), false));
        if let Some(key) = by {
            self.wrote[usize::from(key)].push(map.metadata.uid.clone());
            self.writes.note(&key, self.cache.written(&map.metadata));
            self.awaits(key, side);
        }
    }

    fn delete(&mut self, by: Option<u8>, side: usize, name: &'static str, repeats: bool) {
        let Some(mut map) = self.sides[side].objects.get(name).cloned() else { return };
        let (key, uid) = (ObjectKey::of(&map).unwrap(), map.metadata.uid.clone());
        if let Some(by) = by {
            // A run deletes what it made, or what the cache shows.
            let is_shown = self.cache.get(&key).is_some_and(|held| held.metadata.uid == uid);
            if !is_shown && !self.wrote[usize::from(by)].contains(&uid) {
                return;
            }
        }
        self.revision += 1;
        self.sides[side].objects.remove(name);
        // Some servers repeat the object's last version instead of the deletion's.
        if !repeats {
            map.metadata.resource_version = Some(self.revision.to_string());
        }
        self.sides[side].log.push((map, true));
        if let Some(by) = by {
            self.writes.note(&by, self.cache.deleted(&key, uid.as_deref()));
            self.awaits(by, side);
        }
    }

    fn awaits(&mut self, key: u8, side: usize) {
        self.awaited[usize::from(key)].push((side, self.sides[side].log.len()));
    }

    /// The watch shows the next write.
    fn event(&mut self, at: usize) {
        let (side, feed) = (&mut self.sides[at], self.cache.feed_of(NAMESPACES[at]));
        let Some((map, is_deleted)) = side.log.get(side.seen) else {
            return feed.scope().has_read(&self.revision.to_string());
        };
        side.seen += 1;
        match is_deleted {
            true => feed.delete(&map.metadata),
            false => feed.apply(self.cache.prepare(map.clone()).ok().unwrap()),
        }
        feed.scope().has_read(map.metadata.resource_version.as_deref().unwrap());
    }

    /// The watch restarts with a new list.
    fn list(&mut self, at: usize) {
        let (side, feed) = (&mut self.sides[at], self.cache.feed_of(NAMESPACES[at]));
        let mut relist = Relist::new(Some(NAMESPACES[at].into()));
        for map in side.objects.values() {
            feed.relist_object(&mut relist, self.cache.prepare(map.clone()).ok().unwrap());
        }
        assert!(feed.commit(relist, false).is_ok());
        feed.scope().has_listed(&self.revision.to_string());
        side.seen = side.log.len();
    }

    fn has_seen(&self, key: u8) -> bool {
        let mut awaited = self.awaited[usize::from(key)].iter();
        awaited.all(|(side, length)| self.sides[*side].seen >= *length)
    }
}

fn history(rng: &mut Rng, client: Client, start: Instant) {
    let writes = Writes::new();
    let config = CacheConfig::new().namespaces(NAMESPACES);
    let mut world = World {
        cache: Cache::new(Api::all(client), config),
        sides: Default::default(),
        revision: 0,
        wrote: Default::default(),
        awaited: Default::default(),
        writes: &writes,
    };
    let mut now = start;
    // When the first look found the barrier closed.
    let mut closed: [Option<Instant>; 2] = [None, None];
    for _ in 0..30 {
        let (at, side) = (rng.usize(0..2), rng.usize(0..2));
        let (key, name) = (KEYS[at], if rng.bool() { "x" } else { "y" });
        // A key that waits has no active run, which could write.
        let by = Some(key).filter(|_| rng.bool() && closed[at].is_none());
        match rng.u8(0..10) {
            0..=2 => world.write(by, side, name),
            3 => world.delete(by, side, name, rng.bool()),
            4..=6 => world.event(side),
            7 if rng.u8(0..4) == 0 => world.list(side),
            8 => now += Duration::from_secs(3) * rng.u32(0..3),
            _ => {
                let waited = closed[at].map_or(Duration::ZERO, |since| now - since);
                let due = match (world.has_seen(key), LONGEST_WAIT.checked_sub(waited)) {
                    (true, _) => Barrier::Open,
                    (false, None | Some(Duration::ZERO)) => Barrier::Late,
                    (false, Some(left)) => {
                        Barrier::Closed(left.min(waited.clamp(FIRST_LOOK, LONGEST_LOOK)))
                    }
                };
                assert_eq!(writes.begin(&key, now), due, "key {key} after {waited:?}");
                if let Barrier::Closed(_) = due {
                    closed[at].get_or_insert(now);
                } else {
                    closed[at] = None;
                    world.awaited[at].clear();
                    world.wrote[at].clear();
                }
            }
        }
    }
}

#[test]
fn a_run_starts_when_the_cache_has_seen_all_writes_of_the_last_one_or_after_10_s() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let client = embedded_apiserver::EmbeddedApiServer::new().client();
    let start = Instant::now();
    play(|rng| history(rng, client.clone(), start));
}
