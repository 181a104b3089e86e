//! How long each stage took the last time on this machine: a file in the target folder, a line a
//! stage.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Times {
    file: PathBuf,
    seconds: BTreeMap<String, f64>,
}

impl Times {
    /// A file that cannot be read is an empty one: the times are for show.
    pub(crate) fn load(target: &Path) -> Self {
        let file = target.join("ci-times.txt");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let line = |line: &str| {
            let (name, seconds) = line.split_once(' ')?;
            Some((
                name.to_owned(),
                seconds.parse().ok().filter(|seconds: &f64| (0.0..1e9).contains(seconds))?,
            ))
        };
        Self { file, seconds: text.lines().filter_map(line).collect() }
    }

    pub(crate) fn last(&self, stage: &str) -> Option<Duration> {
        self.seconds.get(stage).map(|seconds| Duration::from_secs_f64(*seconds))
    }

    pub(crate) fn note(&mut self, stage: &str, took: Duration) {
        self.seconds.insert(stage.to_owned(), took.as_secs_f64());
        let lines = self.seconds.iter().map(|(name, seconds)| format!("{name} {seconds:.1}\n"));
        let _ = fs::write(&self.file, lines.collect::<String>());
    }
}
