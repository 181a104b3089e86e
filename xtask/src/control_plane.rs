//! `cargo xtask control-plane`: builds what is absent, starts the real thing, prints a kubeconfig,
//! and stops it on Ctrl-C.

use std::io::{IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use control_plane::{Assets, Component, ControlPlane, Progress};

/// How often it is asked whether the API server is ready.
const TICK: Duration = Duration::from_millis(50);
/// How often the programs are looked at while all is well.
const LOOK: Duration = Duration::from_secs(1);
/// Away from a terminal, a line this often says that a build goes on.
const SIGN_OF_LIFE: u64 = 30;

/// What may be asked for.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Loopback port of the API server; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Build what is absent, and start nothing
    #[arg(long)]
    build: bool,
    /// Leave kube-controller-manager out: nothing is bound, namespaces do not end
    #[arg(long)]
    no_controllers: bool,
}

/// Runs until a signal comes, or a program ends by itself.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (told, signals) = mpsc::channel();
    ctrlc::set_handler(move || {
        let _ = told.send(());
    })
    .context("cannot listen to signals")?;
    let assets = prepare(|| signals.try_recv().is_ok())?;
    if options.build {
        return Ok(());
    }
    let builder =
        ControlPlane::builder().port(options.port).controller_manager(!options.no_controllers);
    // In a thread of its own, so that a signal is heard meanwhile: then this process ends, and the
    // keeper takes away what was started.
    let start = thread::spawn(move || builder.start(&assets));
    while !start.is_finished() {
        match signals.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => bail!("ended before the API server was ready"),
        }
    }
    let mut plane = match start.join() {
        Ok(started) => started?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    eprintln!(
        "kube-apiserver listens on {}; its kubeconfig, for admin, is {} and follows; Ctrl-C ends it",
        plane.url(),
        plane.kubeconfig_file("admin")?.display()
    );
    print!("{}", plane.kubeconfig("admin")?);
    std::io::stdout().flush()?;
    while signals.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        plane.check()?;
    }
    plane.stop()?;
    Ok(())
}

/// Finds or builds all programs, and shows on stderr what takes time. `ended` is asked whether to
/// give up.
fn prepare(ended: impl Fn() -> bool) -> Result<Assets> {
    let mut progress = Shown::default();
    let assets = Assets::prepare(&Component::ALL, |now| {
        progress.tell(now);
        if ended() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.end();
    Ok(assets?)
}

/// One line that is rewritten at a terminal; few lines elsewhere.
#[derive(Default)]
struct Shown {
    last: Option<(Option<Component>, u64)>,
}

impl Shown {
    fn tell(&mut self, progress: Progress) {
        let (component, seconds) = match progress {
            Progress::Building { component, elapsed } => (Some(component), elapsed.as_secs()),
            Progress::Built { component, took } => {
                self.end();
                eprintln!("built {component} in {:.0} s", took.as_secs_f64());
                return;
            }
            _ => (None, 0),
        };
        let terminal = std::io::stderr().is_terminal();
        let stale = self.last.is_none_or(|(shown, at)| {
            shown != component
                || (if terminal {
                    seconds != at
                } else {
                    seconds >= at.saturating_add(SIGN_OF_LIFE)
                })
        });
        if !stale {
            return;
        }
        self.last = Some((component, seconds));
        let line = match component {
            Some(component) => format!("building {component} from source, {seconds} s"),
            None => "waiting for another process that builds".to_owned(),
        };
        if terminal { eprint!("\r\x1b[2K{line}") } else { eprintln!("{line}") }
    }

    /// Leaves the line that is rewritten.
    fn end(&mut self) {
        if self.last.take().is_some() && std::io::stderr().is_terminal() {
            eprint!("\r\x1b[2K");
        }
    }
}
