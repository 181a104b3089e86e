//! Backend: the store of the lease, in memory or on an API server in this process, under the same
//! weather, operator and judge.

#![cfg_attr(
    any(not(feature = "kube"), wq_plant),
    allow(unused_variables, reason = "a server would need them")
)]

use std::sync::{Arc, Mutex};

use lease_election::{
    Config, Fault, LeaseStore, MemoryLeaseStore, Record, StoredLease, Verb, Version,
};
use tokio::time::Instant;

use crate::judge::{Dice, World};
use crate::memory;
#[cfg(all(feature = "kube", not(wq_plant)))]
use crate::server::Servers;

/// The kind of store of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Memory,
    #[cfg(all(feature = "kube", not(wq_plant)))]
    Server,
}

pub(crate) enum Backend {
    Memory(MemoryLeaseStore),
    #[cfg(all(feature = "kube", not(wq_plant)))]
    Server(Box<Servers>),
}

impl Backend {
    pub(crate) fn new(
        kind: Kind,
        seed: u64,
        nodes: u64,
        start: Instant,
        world: &Arc<Mutex<World>>,
    ) -> Self {
        match kind {
            Kind::Memory => Self::Memory(in_memory(seed, start, world)),
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Kind::Server => Self::Server(Box::new(Servers::new(seed, nodes, start, world))),
        }
    }

    pub(crate) fn connect(
        &self,
        n: u64,
        link: &str,
        config: &Config,
        world: &Arc<Mutex<World>>,
    ) -> Arc<dyn LeaseStore> {
        match self {
            Self::Memory(store) => Arc::new(store.client(link)),
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.connect(n, link, config, world),
        }
    }

    /// Sets the weather of this node's link; 0 is fair.
    pub(crate) fn set_weather(
        &self,
        world: &Mutex<World>,
        n: u64,
        link: &str,
        weather: u64,
        dice: &mut Dice,
    ) {
        let mut world = world.lock().unwrap();
        match self {
            Self::Memory(_) => {
                world.weather.insert(link.to_owned(), weather);
                if weather == 2 {
                    world.saw("link down");
                }
            }
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.set_weather(&mut world, n, link, weather, dice),
        }
    }

    pub(crate) async fn lease(&self) -> Option<StoredLease> {
        match self {
            Self::Memory(store) => store.lease(),
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.lease().await,
        }
    }

    /// Changes a label.
    pub(crate) async fn touch(&self) {
        match self {
            Self::Memory(store) => store.touch(),
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.touch().await,
        }
    }

    pub(crate) async fn delete(&self) {
        match self {
            Self::Memory(store) => store.delete(),
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.delete().await,
        }
    }

    /// Writes as a stranger, without a condition.
    pub(crate) async fn overwrite(&self, record: Record) {
        match self {
            Self::Memory(store) => store.overwrite(record),
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.overwrite(record).await,
        }
    }

    /// Silences the watches of this node, if its weather alone does not.
    pub(crate) fn deafen(&self, n: u64) {
        match self {
            Self::Memory(_) => {}
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.deafen(n),
        }
    }

    /// The servers go away, with all watches, or come back.
    pub(crate) fn set_away(&self, world: &Mutex<World>, away: bool) {
        world.lock().unwrap().away = away;
        match self {
            Self::Memory(_) => {}
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.set_away(away),
        }
    }

    /// Takes a backup of the Lease.
    pub(crate) async fn back_up(&self) -> Option<StoredLease> {
        #[cfg(all(feature = "kube", not(wq_plant)))]
        if let Self::Server(servers) = self {
            servers.back_up().await;
        }
        self.lease().await
    }

    /// Restores the Lease of a backup. With `again` revisions repeat, as after a plain restore;
    /// otherwise they continue above all that were issued. Returns whether it did.
    pub(crate) async fn restore(&self, backup: StoredLease, again: bool) -> bool {
        match self {
            Self::Memory(store) if again => store.rewind(backup),
            Self::Memory(store) => {
                let newest = |lease: &StoredLease| {
                    lease.version.resource_version.parse::<u64>().unwrap_or(0)
                };
                let raised =
                    store.lease().as_ref().map_or(0, newest).max(newest(&backup)) + 1_000_000;
                let version = Version::new(backup.version.uid, raised.to_string());
                store.rewind(StoredLease { version, record: backup.record });
            }
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => return servers.restore(&backup.version).await,
        }
        true
    }

    /// Writes anything into the fields. Returns whether the server accepted it.
    pub(crate) async fn scribble(&self, record: Record) -> bool {
        match self {
            Self::Memory(store) => {
                store.overwrite(record);
                true
            }
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.scribble(&record).await,
        }
    }

    /// Notes what only the store knows, at the end of a run.
    pub(crate) fn tell(&self, world: &mut World, start: Instant) {
        match self {
            Self::Memory(_) => {}
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Server(servers) => servers.tell(world, start),
        }
    }
}

fn in_memory(seed: u64, start: Instant, world: &Arc<Mutex<World>>) -> MemoryLeaseStore {
    let plan = Mutex::new(Dice(seed ^ 0xfa17));
    let (skies, log) = (Arc::clone(world), Arc::clone(world));
    MemoryLeaseStore::new()
        .with_faults(move |client, verb| {
            let mut world = skies.lock().unwrap();
            let weather = if world.dead.contains(client) {
                2
            } else {
                world.weather.get(client).copied().unwrap_or(0)
            };
            let fault = match verb {
                _ if world.away => Fault::Lost,
                Verb::Create if world.no_namespace => memory::no_namespace(),
                _ => memory::fault(weather, verb, &mut plan.lock().unwrap()),
            };
            if let Some(name) = memory::name(verb, &fault) {
                world.saw(name);
            }
            if let (Verb::Update | Verb::Create, Fault::Late(after)) = (verb, &fault) {
                world.late.insert(Instant::now() + *after);
            }
            world.trace.note(start, format_args!("{client} {verb:?} {fault:?}"));
            fault
        })
        .on_write(move |client, lease| {
            let mut world = log.lock().unwrap();
            let (version, holder) = lease
                .map_or(("", ""), |lease| (&lease.version.resource_version, &lease.record.holder));
            world.trace.note(start, format_args!("{client} wrote {version} {holder}"));
            world.carried_out(seed, client, lease.map(|lease| &lease.record));
        })
}
