//! What the user sees meanwhile: bars on a terminal, a plain line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use parking_lot::Mutex;

use crate::clock;

/// How often a plain line is written.
const EVERY: Duration = Duration::from_secs(2);
/// How often a plain line says that the same thing still takes time.
const EVERY_OTHER: Duration = Duration::from_secs(10);

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// The phase before there is anything to show.
pub(crate) const STARTING: &str = "starting";

/// Where a run stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    pub(crate) phase: &'static str,
    pub(crate) claims: usize,
    pub(crate) created: usize,
    pub(crate) bound: usize,
    pub(crate) deletions: usize,
    pub(crate) deleted: usize,
    pub(crate) leader: Option<String>,
    /// Items waiting in all replicas' queues; `None` before anybody could be asked.
    pub(crate) depth: Option<u64>,
    pub(crate) retries: u64,
}

/// Shows it.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    /// Words go to stdout, unless that is kept for JSON.
    words_to_stdout: bool,
    bars: Option<Bars>,
    /// When a plain line was last written, and in which phase.
    last: Mutex<Option<(Instant, &'static str)>>,
    /// When a plain line was last written about something that takes time, and what.
    told: Mutex<Option<(Instant, String)>>,
}

#[derive(Debug)]
struct Bars {
    all: MultiProgress,
    created: ProgressBar,
    bound: ProgressBar,
    deleted: ProgressBar,
    status: ProgressBar,
}

impl Progress {
    pub(crate) fn new(json: bool) -> Self {
        // indicatif itself leaves colours out under NO_COLOR.
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let bars = (std::io::stderr().is_terminal() && !dumb).then(Bars::new);
        Self {
            start: clock::now(),
            words_to_stdout: !json,
            bars,
            last: Mutex::new(None),
            told: Mutex::new(None),
        }
    }

    /// Says something worth keeping.
    pub(crate) fn say(&self, words: &str) {
        let line = format!("{:>6}  {words}", elapsed(self.start));
        match &self.bars {
            Some(bars) => bars.all.suspend(|| self.print(&line)),
            None => self.print(&line),
        }
    }

    /// Prints as it is.
    pub(crate) fn print(&self, text: &str) {
        // A reader that went away (a closed pipe) does not stop the run: it still has to clean up.
        if self.words_to_stdout {
            let _ = writeln!(std::io::stdout(), "{text}");
        } else {
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Shows what takes time before there is a run to show, or after it.
    pub(crate) fn doing(&self, what: &str) {
        if let Some(bars) = &self.bars {
            bars.status.enable_steady_tick(TICK);
            bars.status.set_message(what.to_owned());
            return;
        }
        // The same again, with another number, is not worth a line each time.
        let kind: String = what.chars().take_while(|c| *c != ':').collect();
        let mut told = self.told.lock();
        if told.as_ref().is_none_or(|(at, last)| at.elapsed() >= EVERY_OTHER || *last != kind) {
            *told = Some((clock::now(), kind));
            let _ = writeln!(std::io::stderr(), "{:>6}  {what}", elapsed(self.start));
        }
    }

    /// Shows where the run stands.
    pub(crate) fn show(&self, now: &Standing) {
        let Some(bars) = &self.bars else { return self.show_line(now) };
        bars.show(now);
    }

    fn show_line(&self, now: &Standing) {
        // What ends before anything has started has nothing to show.
        if now.phase == STARTING {
            return;
        }
        let mut last = self.last.lock();
        if last.is_none_or(|(at, phase)| at.elapsed() >= EVERY || phase != now.phase) {
            *last = Some((clock::now(), now.phase));
            let _ = writeln!(std::io::stderr(), "{:>6}  {}", elapsed(self.start), line(now));
        }
    }

    /// Takes the bars away.
    pub(crate) fn finish(&self) {
        if let Some(bars) = &self.bars {
            bars.status.disable_steady_tick();
            let _ = bars.all.clear();
        }
    }
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::new();
        let bar = |name: &'static str, colour: &str| {
            let template = format!("{{prefix:>8}} {{bar:40.{colour}}} {{pos:>5}}/{{len}}");
            let style = ProgressStyle::with_template(&template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            all.add(ProgressBar::new(0).with_style(style).with_prefix(name))
        };
        let (created, bound, deleted) =
            (bar("created", "blue"), bar("bound", "green"), bar("deleted", "magenta"));
        let style = ProgressStyle::with_template("{spinner} {elapsed:>4} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let status = all.add(ProgressBar::new_spinner().with_style(style));
        status.enable_steady_tick(TICK);
        Self { all, created, bound, deleted, status }
    }

    fn show(&self, now: &Standing) {
        for (bar, done, all) in [
            (&self.created, now.created, now.claims),
            (&self.bound, now.bound, now.claims),
            (&self.deleted, now.deleted, now.deletions),
        ] {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        }
        self.status.set_message(rest(now));
    }
}

fn line(now: &Standing) -> String {
    format!(
        "created {}/{}  bound {}/{}  deleted {}/{}  {}",
        now.created,
        now.claims,
        now.bound,
        now.claims,
        now.deleted,
        now.deletions,
        rest(now)
    )
}

fn rest(now: &Standing) -> String {
    let leader = now.leader.as_deref().unwrap_or("none");
    let depth = now.depth.map_or_else(|| "?".to_owned(), |depth| depth.to_string());
    format!("leader {leader}  queue {depth}  retries {}  [{}]", now.retries, now.phase)
}

fn elapsed(start: Instant) -> String {
    let tenths = start.elapsed().as_millis() / 100;
    format!("{}.{}s", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::{Standing, line};

    #[test]
    fn a_plain_line_says_everything() {
        let now = Standing {
            phase: "creating",
            claims: 500,
            created: 300,
            bound: 251,
            deletions: 100,
            retries: 7,
            ..Standing::default()
        };
        assert_eq!(
            line(&now),
            "created 300/500  bound 251/500  deleted 0/100  leader none  queue ?  retries 7  [creating]"
        );
        let now = Standing { leader: Some("replica-2".into()), depth: Some(34), ..now };
        assert!(line(&now).contains("leader replica-2  queue 34  retries 7"));
    }
}
