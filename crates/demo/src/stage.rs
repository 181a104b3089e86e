//! All that a run starts and writes, in one place, so that it can be taken away again whatever
//! happened.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use kube::config::Kubeconfig;
use kube::{Client, Config};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStdout, Command};

use crate::births::Births;
use crate::cli::Options;
use crate::disk;
use crate::failover::Ending;
use crate::logs::Log;
use crate::obstacle::Obstacle;
use crate::plan::Plan;
use crate::process::Child;
use crate::progress::Progress;
use crate::record::Record;
use crate::replica::{self, Replica};
use crate::serve::Answer;
use crate::users;
use crate::venue::{Engine, Lease, Venue};

/// A server process that says nothing for so long while it starts is broken. An API server that
/// does not get ready is given up, with the end of its log, after 60 s.
const SILENT: Duration = Duration::from_secs(75);
/// A provisioner that was told to stop has drained and released its lease well before this.
const STOP: Duration = Duration::from_secs(8);

/// The run's folder and processes. Dropping it kills and removes too, only less gently than
/// [`Stage::clear`].
#[derive(Debug)]
pub(crate) struct Stage {
    // Fields drop in this order: processes before the folder they write into.
    pub(crate) replicas: Vec<Replica>,
    server: Option<Child>,
    /// What the server's process says.
    said: Option<Lines<BufReader<ChildStdout>>>,
    dir: TempDir,
    /// Where the server listens.
    pub(crate) url: String,
    /// What it is, by its own word.
    pub(crate) engine: String,
}

/// Something about the surroundings does not fit: exit status 2, not 1.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) String);

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl Stage {
    /// Makes the run's folder.
    pub(crate) fn new() -> Result<Self, Refusal> {
        let parent = std::env::temp_dir();
        let refused = |error: std::io::Error| {
            Refusal(format!(
                "cannot make a folder in {}: {error}; point TMPDIR at one that can be written to",
                parent.display()
            ))
        };
        let dir =
            tempfile::Builder::new().prefix("wq-demo-").tempdir_in(&parent).map_err(refused)?;
        for folder in [root_in(dir.path()), later_in(dir.path())] {
            fs::create_dir(folder).map_err(refused)?;
        }
        Ok(Self {
            replicas: Vec::new(),
            server: None,
            said: None,
            dir,
            url: String::new(),
            engine: String::new(),
        })
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The provisioner's root.
    pub(crate) fn root(&self) -> PathBuf {
        root_in(self.dir.path())
    }

    /// Starts the server's process and waits until it listens. Cancel safe: dropped, it leaves a
    /// stage that can be cleared.
    pub(crate) async fn serve(
        &mut self,
        options: &Options,
        venue: &Venue,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg("--dir").arg(self.dir.path());
        for (flag, value) in [
            ("--port", u64::from(options.port)),
            ("--seed", options.seed),
            ("--faults", u64::from(options.faults)),
        ] {
            command.arg(flag).arg(value.to_string());
        }
        command.arg("--mark").arg(&venue.mark);
        match &venue.engine {
            Engine::Embedded => {}
            Engine::Real => drop(command.arg("--real")),
            Engine::Cluster(cluster) => {
                command.arg("--kubeconfig").arg(&cluster.kubeconfig);
                if let Some(context) = &cluster.context {
                    command.arg("--context").arg(context);
                }
            }
        }
        for i in 0..options.replicas {
            command.arg("--replica").arg(replica::name(i));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let log = self.dir.path().join("server.log");
        let child =
            Child::start("server", command, log).context("starting the server's process")?;
        let child = self.server.insert(child);
        let stdout = child.pipes().stdout.take().context("the server's process has no stdout")?;
        let said = self.said.insert(BufReader::new(stdout).lines());
        loop {
            let line = match tokio::time::timeout(SILENT, said.next_line()).await {
                Ok(line) => line.ok().flatten(),
                Err(_) => {
                    bail!("the server's process says nothing for {SILENT:?}")
                }
            };
            match line.as_deref().map(serde_json::from_str) {
                Some(Ok(Answer::Doing { what })) => progress.doing(&what),
                Some(Ok(Answer::Ready { url, engine })) => {
                    (self.url, self.engine) = (url, engine);
                    return Ok(());
                }
                Some(Ok(Answer::Refused { why })) => bail!(Refusal(why)),
                Some(Ok(Answer::Left { .. }) | Err(_)) | None => {
                    bail!("the server's process ended without a word")
                }
            }
        }
    }

    /// A client for one of the server's users.
    pub(crate) fn client(&self, user: &str) -> anyhow::Result<Client> {
        let path = users::kubeconfig(self.dir.path(), user);
        let file = Kubeconfig::read_from(&path)?;
        // By hand: what reads a whole file also looks for a proxy in the environment, which is not
        // for this machine itself.
        let mut config = Config::new(self.url.parse().context("the server's address")?);
        config.auth_info =
            file.auth_infos.into_iter().find_map(|user| user.auth_info).unwrap_or_default();
        Client::try_from(config).with_context(|| format!("a client from {}", path.display()))
    }

    /// Lays out the disk: a watched folder for each namespace, or a plain file in its place for
    /// now. Nobody works there yet.
    pub(crate) fn lay_out(
        &self,
        plan: &Plan,
        record: &Arc<Record>,
    ) -> anyhow::Result<(Births, Vec<Option<Obstacle>>)> {
        let root = self.root();
        let names = plan.namespaces.iter().map(|namespace| namespace.name.clone()).collect();
        let mut births = Births::of(&root, names, Arc::clone(record))
            .context("watching the disk with inotify")?;
        let mut obstacles = Vec::new();
        for namespace in &plan.namespaces {
            let place = root.join(&namespace.name);
            if namespace.blocked {
                let obstacle =
                    Obstacle::put(place.clone(), later_in(self.dir.path()).join(&namespace.name))?;
                keep(obstacle.folder())?;
                births.add(obstacle.folder(), &place)?;
                obstacles.push(Some(obstacle));
            } else {
                fs::create_dir(&place)?;
                keep(&place)?;
                births.add(&place, &place)?;
                obstacles.push(None);
            }
        }
        Ok((births, obstacles))
    }

    /// Starts all replicas.
    pub(crate) fn replicate(&mut self, options: &Options, lease: Lease<'_>) -> anyhow::Result<()> {
        for i in 0..options.replicas {
            let name = replica::name(i);
            let replica =
                Replica::start(&name, &options.provisioner, self.dir.path(), &self.root(), lease);
            self.replicas.push(replica.with_context(|| format!("starting {name}"))?);
        }
        Ok(())
    }

    pub(crate) fn replica(&mut self, name: &str) -> Option<&mut Replica> {
        self.replicas.iter_mut().find(|replica| replica.process.name == name)
    }

    /// Names a process that ended without being told to; its output is in [`Stage::logs`].
    pub(crate) fn unexpected(&mut self) -> Option<String> {
        let replicas = self
            .replicas
            .iter_mut()
            .filter(|replica| replica.told.is_none())
            .map(|replica| &mut replica.process);
        replicas.chain(self.server.as_mut()).find_map(|process| {
            let status = process.ended()?;
            Some(format!("{} ended by itself ({status})", process.name))
        })
    }

    /// Tells every replica still running to stop and waits for that; those that do not end well are
    /// named.
    pub(crate) async fn stop_replicas(&mut self) -> Vec<(String, String)> {
        for replica in &mut self.replicas {
            if replica.told.is_none() {
                replica.tell(Ending::Handover);
            }
        }
        let mut bad = Vec::new();
        for Replica { process, told } in &mut self.replicas {
            match process.wait(STOP).await {
                Some(status) if status.success() || *told == Some(Ending::Crash) => {}
                Some(status) => {
                    bad.push((process.name.clone(), format!("ended with {status} after SIGTERM")))
                }
                None => {
                    process.end().await;
                    bad.push((
                        process.name.clone(),
                        format!("had not ended {STOP:?} after SIGTERM"),
                    ));
                }
            }
        }
        bad
    }

    /// What every process has logged.
    pub(crate) fn logs(&self) -> Vec<Log> {
        let replicas = self.replicas.iter().map(|replica| &replica.process);
        replicas.chain(self.server.as_ref()).map(Child::log).collect()
    }

    /// The replicas that still run.
    pub(crate) fn running(&mut self) -> Vec<String> {
        let running = self.replicas.iter_mut().filter_map(|Replica { process, .. }| {
            process.ended().is_none().then(|| process.name.clone())
        });
        running.collect()
    }

    /// Ends every process and removes every file, and all that was made on a cluster of the user's.
    /// Says what could not be removed.
    pub(crate) async fn clear(mut self, venue: &Venue, progress: &Progress) -> Result<(), String> {
        for replica in &mut self.replicas {
            replica.process.end().await;
        }
        let mut left = Vec::new();
        if let Some(mut server) = self.server.take() {
            // The end of its stdin is its word to go.
            drop(server.pipes().stdin.take());
            if let Some(said) = self.said.take() {
                // Nothing is made anywhere before the server is ready.
                let remedy = venue.remedy().filter(|_| !self.url.is_empty());
                left = farewell(said, venue, remedy, progress).await;
            }
            server.end().await;
        }
        let path = self.dir.path().to_owned();
        if let Err(error) = self.dir.close()
            && path.exists()
        {
            left.push(format!("cannot remove {}: {error}", path.display()));
        }
        if left.is_empty() { Ok(()) } else { Err(left.join("; ")) }
    }
}

/// Listens to the server's process until it has ended. What it could not take away; or the remedy,
/// if it ended without a word on that, or did not in time.
async fn farewell(
    mut said: Lines<BufReader<ChildStdout>>,
    venue: &Venue,
    remedy: Option<String>,
    progress: &Progress,
) -> Vec<String> {
    let patience = match venue.engine {
        Engine::Embedded => Duration::from_secs(3),
        Engine::Real => Duration::from_secs(15),
        Engine::Cluster(_) => Duration::from_secs(75),
    };
    let mut left = None;
    loop {
        match tokio::time::timeout(patience, said.next_line()).await {
            Ok(Ok(Some(line))) => match serde_json::from_str(&line) {
                Ok(Answer::Doing { what }) => progress.doing(&what),
                Ok(Answer::Left { what }) => left = Some(what),
                _ => {}
            },
            Ok(_) | Err(_) => return left.unwrap_or_else(|| remedy.into_iter().collect()),
        }
    }
}

fn root_in(dir: &Path) -> PathBuf {
    dir.join("root")
}

fn keep(folder: &Path) -> std::io::Result<()> {
    fs::write(
        folder.join(disk::KEEPER),
        "The demo watches this folder for the directories made in it.\n",
    )
}

/// Folders that will take the place of plain files; on the same file system as the root.
fn later_in(dir: &Path) -> PathBuf {
    dir.join("later")
}
