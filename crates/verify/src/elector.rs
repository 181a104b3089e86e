//! What the program `elector` is told by the test that starts it, and where it leaves when it last
//! acted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lease_election::Moment;
use serde::{Deserialize, Serialize};

/// One line of JSON on the standard input of the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// How to reach the server, as YAML.
    pub kubeconfig: String,
    /// The Lease's namespace.
    pub namespace: String,
    /// The Lease's name.
    pub lease: String,
    /// Who the candidate is.
    pub identity: String,
    /// How long its leases are.
    pub lease_duration: Duration,
    /// From one renewal to the next.
    pub retry_period: Duration,
    /// How long a request may take.
    pub request_timeout: Duration,
    /// What work is given to stop in.
    pub stop_margin: Duration,
    /// For how long its work goes on after a stop was asked for.
    pub wind_up: Duration,
    /// Its wall clock is so many seconds ahead.
    pub ahead: i64,
    /// The file of its [`Acts`].
    pub acts: PathBuf,
}

/// A file in which a process notes when it last acted in each of its terms. What it noted stays
/// there however the process ends.
#[derive(Debug)]
pub struct Acts(File);

impl Acts {
    /// Makes the file.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn create(path: &Path) -> io::Result<Self> {
        File::create(path).map(Self)
    }

    /// Opens the file of another process.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// Notes an act in the term of this number.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn note(&self, term: u64, at: Moment) -> io::Result<()> {
        let nanos = u64::try_from(at.since_origin().as_nanos()).unwrap_or(u64::MAX);
        self.0.write_all_at(&nanos.to_le_bytes(), term.saturating_mul(8))
    }

    /// The last act noted in the term of this number.
    #[must_use]
    pub fn last(&self, term: u64) -> Option<Moment> {
        let mut nanos = [0; 8];
        self.0.read_exact_at(&mut nanos, term.saturating_mul(8)).ok()?;
        let nanos = u64::from_le_bytes(nanos);
        (nanos != 0).then(|| Moment::from_origin(Duration::from_nanos(nanos)))
    }
}
