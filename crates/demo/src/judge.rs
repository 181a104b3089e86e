//! The verdict, from what server, disk, watches and request log show. Pure: evidence in, verdict
//! out.
//!
//! Lost: a claim without its one volume, bound, with its one directory. Duplicated: a claim that
//! ever had more than one of either. Orphaned: a volume, a directory or anything else left without
//! a claim.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;

use crate::disk::{Directory, Marker};
use crate::history::VolumeBirth;

#[cfg(test)]
mod tests;

/// Everything the judge looks at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// What the writer did.
    pub(crate) written: Vec<Written>,
    /// Claims on the server at the end.
    pub(crate) claims: Vec<ClaimState>,
    /// Volumes on the server at the end.
    pub(crate) volumes: Vec<VolumeState>,
    /// Volume directories on disk at the end.
    pub(crate) directories: Vec<Directory>,
    /// Whatever else lies under the root at the end.
    pub(crate) strays: Vec<PathBuf>,
    /// Volumes in the order of their creation.
    pub(crate) volume_births: Vec<VolumeBirth>,
    /// Volume directories in the order of their creation, each with the marker that was in it.
    pub(crate) directory_births: Vec<Directory>,
    /// Why the two lists of births may have holes.
    pub(crate) gaps: Vec<String>,
}

/// A claim the writer created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// The writer deleted it afterwards.
    pub(crate) deleted: bool,
    /// The watch showed it bound at some time.
    pub(crate) was_bound: bool,
    /// Every volume the watch showed it bound to.
    pub(crate) bound_to: Vec<String>,
}

/// A claim on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimState {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) phase: String,
    pub(crate) volume: Option<String>,
}

/// A volume on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VolumeState {
    pub(crate) name: String,
    pub(crate) phase: String,
    pub(crate) claim_uid: Option<String>,
    pub(crate) path: Option<PathBuf>,
}

/// What kind of wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harm {
    Lost,
    Duplicated,
    Orphaned,
    /// A fence token went back, or a leader worked after its successor.
    Fence,
    /// A fail-over that did not happen, or happened without work pending.
    Failover,
    /// A replica that did not end as it should.
    Replica,
    /// The judge did not see everything.
    Blind,
}

/// One thing that is wrong, and with what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) harm: Harm,
    pub(crate) subject: String,
    pub(crate) what: String,
}

/// The judge's word. All well means no findings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) claims: usize,
    /// Claims that were bound at some time.
    pub(crate) bound: usize,
    pub(crate) lost: usize,
    pub(crate) duplicated: usize,
    pub(crate) orphaned: usize,
    pub(crate) findings: Vec<Finding>,
}

impl Verdict {
    /// Adds what others found; they count like the judge's own.
    pub(crate) fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings.sort();
    }

    pub(crate) fn all_well(&self) -> bool {
        self.findings.is_empty()
    }
}

impl Harm {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Duplicated => "duplicated",
            Self::Orphaned => "orphaned",
            Self::Fence => "fence",
            Self::Failover => "fail-over",
            Self::Replica => "replica",
            Self::Blind => "blind",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.harm.word(), self.subject, self.what)
    }
}

/// Looks at everything and says what is wrong.
pub(crate) fn judge(evidence: &Evidence) -> Verdict {
    let mut bench = Bench::new(evidence);
    for written in &evidence.written {
        bench.births(written);
        if written.deleted {
            bench.must_be_gone(written);
        } else {
            bench.must_be_whole(written);
        }
    }
    bench.leftovers();
    bench.fences();
    bench.verdict()
}

/// The evidence, indexed, and what was found so far.
struct Bench<'a> {
    evidence: &'a Evidence,
    claims: HashMap<(&'a str, &'a str), &'a ClaimState>,
    volumes: HashMap<&'a str, &'a VolumeState>,
    volumes_of: HashMap<&'a str, Vec<&'a VolumeState>>,
    directories_of: HashMap<&'a str, Vec<&'a Directory>>,
    volume_births_of: HashMap<&'a str, Vec<&'a VolumeBirth>>,
    directory_births_of: HashMap<&'a str, Vec<&'a Directory>>,
    findings: Vec<Finding>,
}

impl<'a> Bench<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        let claims = evidence
            .claims
            .iter()
            .map(|claim| ((claim.namespace.as_str(), claim.name.as_str()), claim))
            .collect();
        Self {
            evidence,
            claims,
            volumes: evidence.volumes.iter().map(|volume| (volume.name.as_str(), volume)).collect(),
            volumes_of: grouped(&evidence.volumes, |volume| volume.claim_uid.as_deref()),
            directories_of: grouped(&evidence.directories, Directory::claim_uid),
            volume_births_of: grouped(&evidence.volume_births, |birth| birth.claim_uid.as_deref()),
            directory_births_of: grouped(&evidence.directory_births, Directory::claim_uid),
            findings: Vec::new(),
        }
    }

    fn find(&mut self, harm: Harm, subject: impl fmt::Display, what: String) {
        self.findings.push(Finding { harm, subject: subject.to_string(), what });
    }

    /// Whether it lives or not: one volume and one directory were ever made for it, and it was
    /// bound to that one.
    fn births(&mut self, claim: &Written) {
        let volumes = listed(self.volume_births_of.get(claim.uid.as_str()), |birth| {
            format!("{} ({})", birth.name, birth.uid)
        });
        if volumes.len() > 1 {
            self.find(
                Harm::Duplicated,
                claim,
                format!("{} volumes were created for it: {}", volumes.len(), volumes.join(", ")),
            );
        }
        let directories = listed(self.directory_births_of.get(claim.uid.as_str()), |made| {
            made.path.display().to_string()
        });
        if directories.len() > 1 {
            self.find(
                Harm::Duplicated,
                claim,
                format!(
                    "a directory was created for it {} times: {}",
                    directories.len(),
                    directories.join(", ")
                ),
            );
        }
        if claim.bound_to.len() > 1 {
            self.find(
                Harm::Duplicated,
                claim,
                format!("it was bound to more than one volume: {}", claim.bound_to.join(", ")),
            );
        }
        if claim.was_bound && (volumes.is_empty() || directories.is_empty()) {
            let what = format!(
                "it was bound, but {} volumes and {} directories were seen to be created for it",
                volumes.len(),
                directories.len()
            );
            self.find(Harm::Lost, claim, what);
        }
    }

    fn must_be_whole(&mut self, claim: &Written) {
        if let Err(what) = self.whole(claim) {
            self.find(Harm::Lost, claim, what);
        }
        let volumes = listed(self.volumes_of.get(claim.uid.as_str()), |volume| volume.name.clone());
        if volumes.len() > 1 {
            self.find(
                Harm::Duplicated,
                claim,
                format!("it has {} volumes: {}", volumes.len(), volumes.join(", ")),
            );
        }
        let directories = listed(self.directories_of.get(claim.uid.as_str()), |directory| {
            directory.path.display().to_string()
        });
        if directories.len() > 1 {
            self.find(
                Harm::Duplicated,
                claim,
                format!("it has {} directories: {}", directories.len(), directories.join(", ")),
            );
        }
    }

    /// Follows claim -> volume -> directory -> marker -> claim.
    fn whole(&self, claim: &Written) -> Result<(), String> {
        let state = self
            .claims
            .get(&(claim.namespace.as_str(), claim.name.as_str()))
            .ok_or("it is not on the server")?;
        if state.uid != claim.uid {
            return Err(format!("the server has another claim of this name (uid {})", state.uid));
        }
        if state.phase != "Bound" {
            return Err(format!("its phase is {}, not Bound", state.phase));
        }
        let name = state.volume.as_deref().ok_or("it is Bound without a volume name")?;
        let volume = self
            .volumes
            .get(name)
            .ok_or_else(|| format!("its volume {name} is not on the server"))?;
        if volume.claim_uid.as_deref() != Some(claim.uid.as_str()) {
            return Err(format!(
                "its volume {name} is for another claim (uid {})",
                volume.claim_uid.as_deref().unwrap_or("none")
            ));
        }
        if volume.phase != "Bound" {
            return Err(format!("its volume {name} is {}, not Bound", volume.phase));
        }
        let path =
            volume.path.as_ref().ok_or_else(|| format!("its volume {name} names no path"))?;
        let directory =
            self.evidence.directories.iter().find(|directory| directory.path == *path).ok_or_else(
                || format!("the directory of its volume {name} does not exist: {}", path.display()),
            )?;
        let marker =
            directory.marker.as_ref().map_err(|why| format!("{}: {why}", path.display()))?;
        agrees(marker, claim, name).map_err(|why| format!("the marker in {} {why}", path.display()))
    }

    fn must_be_gone(&mut self, claim: &Written) {
        if !claim.was_bound {
            self.find(
                Harm::Lost,
                claim,
                "it was deleted without ever having been bound".to_owned(),
            );
        }
        if self
            .claims
            .get(&(claim.namespace.as_str(), claim.name.as_str()))
            .is_some_and(|state| state.uid == claim.uid)
        {
            self.find(
                Harm::Orphaned,
                claim,
                "it was deleted, but is still on the server".to_owned(),
            );
        }
    }

    /// Every volume and directory belongs to a claim that lives; nothing else lies around.
    fn leftovers(&mut self) {
        let evidence = self.evidence;
        let state: HashMap<&str, bool> =
            evidence.written.iter().map(|claim| (claim.uid.as_str(), claim.deleted)).collect();
        let why = |uid: Option<&str>| match uid.map(|uid| (uid, state.get(uid))) {
            Some((_, Some(false))) => None,
            Some((uid, Some(true))) => {
                Some(format!("left behind: its claim (uid {uid}) was deleted"))
            }
            Some((uid, None)) => {
                Some(format!("belongs to no claim that was ever written (uid {uid})"))
            }
            None => Some("belongs to no claim".to_owned()),
        };
        for volume in &evidence.volumes {
            if let Some(why) = why(volume.claim_uid.as_deref()) {
                self.find(Harm::Orphaned, format_args!("volume {}", volume.name), why);
            }
        }
        for directory in &evidence.directories {
            if let Some(why) = why(directory.claim_uid()) {
                self.find(
                    Harm::Orphaned,
                    format_args!("directory {}", directory.path.display()),
                    why,
                );
            }
        }
        // Also what came and went unseen by the last look: nobody may make anything for a claim
        // that never was.
        let never_was = |uid: Option<&str>| uid.is_none_or(|uid| !state.contains_key(uid));
        for birth in
            evidence.volume_births.iter().filter(|birth| never_was(birth.claim_uid.as_deref()))
        {
            let what = "was created for no claim that was ever written".to_owned();
            self.find(Harm::Orphaned, format_args!("volume {}", birth.name), what);
        }
        for birth in &evidence.directory_births {
            if birth.marker.as_ref().is_ok_and(|marker| never_was(Some(&marker.claim_uid))) {
                let what = "was created for no claim that was ever written".to_owned();
                self.find(Harm::Orphaned, format_args!("directory {}", birth.path.display()), what);
            }
        }
        for stray in &evidence.strays {
            self.find(
                Harm::Orphaned,
                stray.display(),
                "is no volume's directory and should not be there".to_owned(),
            );
        }
    }

    /// In the order of creation, the fence tokens in the markers never go back.
    fn fences(&mut self) {
        let evidence = self.evidence;
        let mut highest: Option<(u64, &Marker)> = None;
        for birth in &evidence.directory_births {
            let subject = birth.path.display();
            let marker = match &birth.marker {
                Ok(marker) => marker,
                Err(why) => {
                    self.find(Harm::Fence, subject, format!("was created, but {why}"));
                    continue;
                }
            };
            let Ok(fence) = marker.fence.resource_version.parse::<u64>() else {
                self.find(
                    Harm::Fence,
                    subject,
                    format!("its fence token is no number: {:?}", marker.fence.resource_version),
                );
                continue;
            };
            match highest {
                Some((high, by)) if fence < high => {
                    let what = format!(
                        "made by {} with fence {fence}, after {} had made one with fence {high}",
                        marker.identity, by.identity
                    );
                    self.find(Harm::Fence, subject, what);
                }
                _ => highest = Some((fence, marker)),
            }
        }
        // What a directory says at the end is what it said at its birth, or the order above was
        // read from a tale.
        let born: HashMap<_, _> =
            evidence.directory_births.iter().map(|birth| (&birth.path, &birth.marker)).collect();
        for directory in &evidence.directories {
            if let (Ok(now), Some(Ok(then))) = (&directory.marker, born.get(&directory.path))
                && now != then
            {
                let what = format!(
                    "its marker was changed after its birth: made by {} with fence {}, it now names {} and fence {}",
                    then.identity,
                    then.fence.resource_version,
                    now.identity,
                    now.fence.resource_version
                );
                self.find(Harm::Fence, directory.path.display(), what);
            }
        }
        for gap in &evidence.gaps {
            self.find(Harm::Blind, "judge", gap.clone());
        }
    }

    fn verdict(self) -> Verdict {
        let subjects = |harm| {
            self.findings
                .iter()
                .filter(|f| f.harm == harm)
                .map(|f| f.subject.as_str())
                .collect::<BTreeSet<_>>()
                .len()
        };
        let mut verdict = Verdict {
            claims: self.evidence.written.len(),
            bound: self.evidence.written.iter().filter(|claim| claim.was_bound).count(),
            lost: subjects(Harm::Lost),
            duplicated: subjects(Harm::Duplicated),
            orphaned: subjects(Harm::Orphaned),
            findings: Vec::new(),
        };
        verdict.add(self.findings);
        verdict
    }
}

/// Whether a marker says what it should for this claim's volume.
fn agrees(marker: &Marker, claim: &Written, volume: &str) -> Result<(), String> {
    let pairs = [
        ("claim_uid", &marker.claim_uid, claim.uid.as_str()),
        ("claim_namespace", &marker.claim_namespace, claim.namespace.as_str()),
        ("claim_name", &marker.claim_name, claim.name.as_str()),
        ("volume", &marker.volume, volume),
    ];
    for (field, found, expected) in pairs {
        if found != expected {
            return Err(format!("says {field} {found:?}, not {expected:?}"));
        }
    }
    Ok(())
}

fn grouped<'a, T>(
    items: &'a [T],
    key: impl Fn(&'a T) -> Option<&'a str>,
) -> HashMap<&'a str, Vec<&'a T>> {
    let mut groups: HashMap<&str, Vec<&T>> = HashMap::new();
    for item in items {
        if let Some(key) = key(item) {
            groups.entry(key).or_default().push(item);
        }
    }
    groups
}

fn listed<T>(items: Option<&Vec<&T>>, say: impl Fn(&T) -> String) -> Vec<String> {
    items.into_iter().flatten().map(|item| say(item)).collect()
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claim {}/{} (uid {})", self.namespace, self.name, self.uid)
    }
}
