//! A contest: electors as processes of their own, each behind a link of its own, that want one
//! Lease; and what the judge finds out about them from outside, by their acts.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{FenceToken, Loss, Moment};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use verify::elector::{Acts, Orders};
use verify::real::config_of;

use super::judge::{Judge, Term, Told, assert_exclusive, for_a_time, now, wait_for};
use super::replica::Place;
use super::{MS, SOON};
use crate::link::Link;

/// How an elector is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) lease: Duration,
    renewal: Duration,
    request: Duration,
    margin: Duration,
}

impl Timing {
    /// A leader that its watch did not tell of a change knows it by now: its next renewal met a
    /// conflict, and a read told why.
    pub(crate) fn notice(&self) -> Duration {
        self.renewal + 2 * self.request
    }
}

/// The shortest there is.
pub(crate) const SHORTEST: Timing =
    Timing { lease: Duration::from_secs(1), renewal: ms(250), request: ms(250), margin: ms(150) };
pub(crate) const SHORT: Timing =
    Timing { lease: Duration::from_secs(2), renewal: ms(400), request: ms(500), margin: ms(300) };
/// With leases as long as those of the candidates of client-go.
pub(crate) const AS_GO: Timing =
    Timing { lease: Duration::from_secs(3), renewal: ms(600), request: ms(700), margin: ms(500) };
pub(crate) const LONG: Timing =
    Timing { lease: Duration::from_secs(4), renewal: ms(800), request: ms(900), margin: ms(500) };

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// What a process said, and its terms as it told of them.
struct Said {
    identity: String,
    lines: Mutex<Vec<(Moment, String)>>,
    terms: Mutex<Vec<Term>>,
    acts: Acts,
}

impl Said {
    fn has(&self, text: &str) -> bool {
        self.lines.lock().unwrap().iter().any(|(_, line)| line == text)
    }

    /// The last of these that was said.
    fn last_of(&self, texts: &[&str]) -> Option<String> {
        let lines = self.lines.lock().unwrap();
        lines
            .iter()
            .rev()
            .map(|(_, line)| line)
            .find(|line| texts.contains(&line.as_str()))
            .cloned()
    }

    fn hear(&self, lease: &str, line: &str) -> Option<()> {
        let (nanos, text) = line.split_once(' ')?;
        let at = Moment::from_origin(Duration::from_nanos(nanos.parse().ok()?));
        let words: Vec<&str> = text.splitn(5, ' ').collect();
        let mut terms = self.terms.lock().unwrap();
        match words[..] {
            ["began", _, uid, version, transitions] => terms.push(Term {
                lease: lease.to_owned(),
                identity: self.identity.clone(),
                fence: FenceToken {
                    uid: uid.to_owned(),
                    resource_version: version.to_owned(),
                    transitions: transitions.parse().ok()?,
                },
                began: at,
                valid_until: at,
                over_by: None,
                told: None,
                loss: None,
            }),
            ["over", term, ref why @ ..] => {
                let term = terms.get_mut(term.parse::<usize>().ok()?)?;
                term.over_by = Some(at);
                term.loss = match why {
                    ["Expired"] => Some(Loss::Expired),
                    ["Deleted"] => Some(Loss::Deleted),
                    ["Replaced"] => Some(Loss::Replaced),
                    ["Released"] => Some(Loss::Released),
                    ["ForeignWrite"] => Some(Loss::ForeignWrite),
                    ["Rewound"] => Some(Loss::Rewound),
                    ["TakenOver", by] => Some(Loss::TakenOver { by: (*by).to_owned() }),
                    _ => None,
                };
            }
            _ => {}
        }
        drop(terms);
        self.lines.lock().unwrap().push((at, text.to_owned()));
        Some(())
    }

    /// Its terms, each valid for as long as it acted.
    fn terms(&self) -> Vec<Term> {
        let mut terms = self.terms.lock().unwrap().clone();
        for (term, number) in terms.iter_mut().zip(0..) {
            term.valid_until =
                self.acts.last(number).map_or(term.began, |last| last.max(term.began));
        }
        terms
    }
}

/// Sends a signal to a child that was not waited for yet.
pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, signal).unwrap();
}

/// An elector as a process.
pub(crate) struct Candidate {
    child: Child,
    /// Its end is the end of the process.
    _orders: ChildStdin,
    said: Arc<Said>,
    pub(crate) link: Link,
}

impl Candidate {
    pub(crate) fn identity(&self) -> &str {
        &self.said.identity
    }

    /// Stands still from now on, as a process whose machine has no time for it.
    pub(crate) fn pause(&self) {
        signal(&self.child, Signal::STOP);
    }

    pub(crate) fn resume(&self) {
        signal(&self.child, Signal::CONT);
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        signal(&self.child, Signal::TERM);
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn await_watching(&self) {
        let seen = wait_for(SOON, || {
            (self.said.last_of(&["watching", "blind"]).as_deref() == Some("watching")).then_some(())
        });
        assert!(seen.is_some(), "{} does not watch", self.identity());
    }

    pub(crate) fn await_end(mut self) {
        let ended = wait_for(SOON, || self.child.try_wait().unwrap());
        assert!(
            ended.is_some_and(|status| status.success()),
            "{} ended {ended:?}",
            self.identity()
        );
        assert!(self.said.has("ended"));
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All that want one Lease.
pub(crate) struct Contest<'a> {
    pub(crate) place: &'a Place,
    pub(crate) judge: &'a Judge,
    pub(crate) lease: String,
    started: AtomicUsize,
    all: Mutex<Vec<Arc<Said>>>,
    folder: TempDir,
}

impl<'a> Contest<'a> {
    pub(crate) fn new(place: &'a Place, judge: &'a Judge, lease: String) -> Self {
        Self {
            place,
            judge,
            lease,
            started: AtomicUsize::new(0),
            all: Mutex::default(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn start(&self, timing: Timing) -> Candidate {
        self.start_with(timing, |_, _| {})
    }

    /// One that is ordered otherwise, or whose link has a fault from the start.
    pub(crate) fn start_with(
        &self,
        timing: Timing,
        change: impl FnOnce(&mut Orders, &Link),
    ) -> Candidate {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let plain = self.place.kubeconfig("elector");
        let (link, server) = self.place.runtime.block_on(async {
            let cluster = config_of(plain).await;
            (Link::to(&cluster).await, cluster.cluster_url.to_string())
        });
        let kubeconfig = plain.replace(server.trim_end_matches('/'), &link.url());
        assert_ne!(kubeconfig, plain, "the way through the link");
        let mut orders = Orders {
            kubeconfig,
            namespace: self.place.namespace.clone(),
            lease: self.lease.clone(),
            identity: format!("{}-{number}", self.lease),
            lease_duration: timing.lease,
            retry_period: timing.renewal,
            request_timeout: timing.request,
            stop_margin: timing.margin,
            wind_up: Duration::ZERO,
            ahead: 0,
            acts: self.folder.path().join(number.to_string()),
        };
        change(&mut orders, &link);
        // Made here, so that it is there whatever becomes of the process.
        drop(Acts::create(&orders.acts).unwrap());
        let mut child = Command::new(env!("CARGO_BIN_EXE_elector"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        writeln!(stdin, "{}", serde_json::to_string(&orders).unwrap()).unwrap();
        let said = Arc::new(Said {
            identity: orders.identity,
            lines: Mutex::default(),
            terms: Mutex::default(),
            acts: Acts::open(&orders.acts).unwrap(),
        });
        self.all.lock().unwrap().push(Arc::clone(&said));
        let (heard, lease) = (Arc::clone(&said), self.lease.clone());
        std::thread::spawn(move || listen(stdout, &heard, &lease));
        Candidate { child, _orders: stdin, said, link }
    }

    /// One that leads, and so many others that watch.
    pub(crate) fn crowd(&self, timing: Timing, others: usize) -> (Candidate, Vec<Candidate>, Term) {
        self.crowd_with(timing, others, |_, _| {})
    }

    pub(crate) fn crowd_with(
        &self,
        timing: Timing,
        others: usize,
        change: impl Fn(&mut Orders, &Link),
    ) -> (Candidate, Vec<Candidate>, Term) {
        let leader = self.start_with(timing, &change);
        let led = self.await_term("a first term", |_| true);
        let others: Vec<Candidate> =
            (0..others).map(|_| self.start_with(timing, &change)).collect();
        for candidate in others.iter().chain([&leader]) {
            candidate.await_watching();
        }
        (leader, others, led)
    }

    /// The same crowd, and who of it leads by now.
    pub(crate) fn who_leads(
        &self,
        (first, mut all, _): (Candidate, Vec<Candidate>, Term),
    ) -> (Candidate, Vec<Candidate>, Term) {
        all.push(first);
        let led = self.await_leader();
        let at = all.iter().position(|candidate| candidate.identity() == &*led.identity).unwrap();
        (all.swap_remove(at), all, led)
    }

    pub(crate) fn terms(&self) -> Vec<Term> {
        self.all.lock().unwrap().iter().flat_map(|said| said.terms()).collect()
    }

    pub(crate) fn history(&self) -> Vec<Told> {
        self.judge.history(&self.lease)
    }

    /// The first term, in order of their fences, for which `fits` holds.
    pub(crate) fn await_term(&self, what: &str, fits: impl Fn(&Term) -> bool) -> Term {
        let found = wait_for(SOON, || {
            let mut terms = self.terms();
            terms.sort_by(|one, other| one.fence.cmp(&other.fence));
            terms.into_iter().find(|term| fits(term))
        });
        found.unwrap_or_else(|| {
            panic!("{}: not within {SOON:?}: {what}; {}", self.lease, self.told())
        })
    }

    /// The next term of another. Who is to be replaced may have lost its lease, and taken it again,
    /// before the fault: on a machine that is too busy to renew in time.
    pub(crate) fn await_another(&self, led: &Term) -> Term {
        let another = |term: &Term| term.fence > led.fence && term.identity != led.identity;
        self.await_term("the next term of another", another)
    }

    pub(crate) fn await_next(&self, led: &Term) -> Term {
        self.await_term("the next term", |term| term.fence > led.fence)
    }

    pub(crate) fn await_over(&self, led: &Term) -> Term {
        self.await_term("the end of the term", |term| {
            term.fence == led.fence && term.over_by.is_some()
        })
    }

    /// Somebody acts.
    pub(crate) fn await_leader(&self) -> Term {
        self.await_term("somebody who acts", |term| {
            term.over_by.is_none() && now().since(term.valid_until) < 50 * MS
        })
    }

    /// Looks on for a while: the term must not be taken from its leader, who may give it up only
    /// because no renewal got through in time.
    pub(crate) fn stays(&self, led: &Term, time: Duration) {
        for_a_time(time);
        let term = self.await_term("the term", |term| term.fence == led.fence);
        let unharmed = term.over_by.is_none() || term.loss == Some(Loss::Expired);
        assert!(unharmed, "{}: {term:?}; {}", self.lease, self.told());
    }

    /// How many terms there were, of which no two overlapped.
    pub(crate) fn verdict(&self) -> usize {
        let terms = self.terms();
        assert_exclusive(&terms, &self.history());
        let broken = |said: &Arc<Said>| {
            said.lines.lock().unwrap().iter().any(|(_, line)| line.starts_with("broken"))
        };
        assert!(!self.all.lock().unwrap().iter().any(broken), "an act was not noted");
        let dropped = |said: &Arc<Said>| {
            said.lines.lock().unwrap().iter().any(|(_, line)| line.ends_with("dropped"))
        };
        assert!(
            !self.all.lock().unwrap().iter().any(dropped),
            "work was dropped in its term: {}",
            self.told()
        );
        terms.len()
    }

    fn told(&self) -> String {
        let all = self.all.lock().unwrap();
        all.iter()
            .map(|said| format!("\n  {}: {:?}", said.identity, said.lines.lock().unwrap()))
            .collect()
    }
}

fn listen(stdout: ChildStdout, said: &Said, lease: &str) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let _ = said.hear(lease, &line);
    }
}
