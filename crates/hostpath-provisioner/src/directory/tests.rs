//! The directory steps on a real file system, with every crash and every obstacle that can be put
//! in the way.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tempfile::TempDir;

use super::*;
use crate::marker::Fence;
use crate::names::{MARKER_FILE, RESTORED_FILE, STAGING_FOLDER, TRASH_FOLDER};

fn owner() -> Owner {
    Owner { provisioner: "p".into(), storage_class: "c".into(), lease: "ns/l".into() }
}

fn marker(uid: &str) -> Marker {
    Marker {
        claim_uid: uid.into(),
        claim_namespace: "shop".into(),
        claim_name: "data".into(),
        volume: format!("pvc-{uid}"),
        identity: "me".into(),
        fence: Fence::default(),
    }
}

fn at(subdir: &[&str], uid: &str) -> Location {
    Location::new(subdir.iter().map(|part| (*part).to_owned()).collect(), uid).unwrap()
}

fn begun() -> (TempDir, Root, Term) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path()).unwrap();
    let term = Term::unfenced();
    root.begin_term(&owner(), &term).unwrap();
    (folder, root, term)
}

fn state_is_empty(root: &Root) -> bool {
    [STAGING_FOLDER, TRASH_FOLDER]
        .iter()
        .all(|folder| fs::read_dir(root.state_path(folder)).unwrap().next().is_none())
}

#[test]
fn a_directory_is_made_whole_with_its_mode_and_marker() {
    let (_folder, root, term) = begun();
    let location = at(&["a", "b"], "u-1");
    assert_eq!(root.ensure(&location, 0o2775, &marker("u-1"), &term).unwrap(), Ensured::Created);
    let path = location.below(root.path());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o2775);
    assert_eq!(Marker::parse(&fs::read(path.join(MARKER_FILE)).unwrap()), Ok(marker("u-1")));
    assert!(state_is_empty(&root));
}

#[test]
fn a_directory_of_the_same_claim_is_adopted_and_told_who_made_it() {
    let (_folder, root, term) = begun();
    let location = at(&[], "u-1");
    root.ensure(&location, 0o700, &marker("u-1"), &term).unwrap();
    let second = Marker { identity: "other".into(), ..marker("u-1") };
    assert_eq!(
        root.ensure(&location, 0o770, &second, &term).unwrap(),
        Ensured::Adopted(marker("u-1"))
    );
    assert_eq!(
        fs::metadata(location.below(root.path())).unwrap().permissions().mode() & 0o7777,
        0o770
    );
}

#[test]
fn an_adopted_directory_is_made_durable_under_its_name_too() {
    let (folder, root, term) = begun();
    root.ensure(&at(&[], "u-1"), 0o700, &marker("u-1"), &term).unwrap();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&steps);
    let probe: Probe = Box::new(move |step, moment| {
        if moment == Moment::After {
            noted.lock().push(step);
        }
        Ok(())
    });
    let second = Root::with_probe(folder.path(), probe).unwrap();
    second.ensure(&at(&[], "u-1"), 0o700, &marker("u-1"), &term).unwrap();
    assert_eq!(*steps.lock(), ["chmod", "sync-parent"]);
}

#[test]
fn foreign_things_in_the_way_are_refused_and_left_alone() {
    let (folder, root, term) = begun();
    let refused = |uid: &str| root.ensure(&at(&[], uid), 0o700, &marker(uid), &term).unwrap_err();
    fs::create_dir(folder.path().join("pvc-bare")).unwrap();
    assert_eq!(refused("bare").trouble(), Trouble::Foreign);
    fs::write(folder.path().join("pvc-file"), "x").unwrap();
    let error = refused("file");
    assert_eq!(error.trouble(), Trouble::InTheWay);
    assert!(
        error.to_string().contains("pvc-file") && error.to_string().contains("move it away"),
        "{error}"
    );
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), folder.path().join("pvc-link")).unwrap();
    assert_eq!(refused("link").trouble(), Trouble::InTheWay);
    symlink(folder.path().join("nowhere"), folder.path().join("pvc-dangling")).unwrap();
    assert_eq!(refused("dangling").trouble(), Trouble::InTheWay);
    fs::create_dir(folder.path().join("pvc-other")).unwrap();
    fs::write(folder.path().join("pvc-other").join(MARKER_FILE), marker("u-2").to_bytes()).unwrap();
    let error = refused("other");
    assert_eq!(error.trouble(), Trouble::Foreign);
    assert!(error.to_string().contains("u-2"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("pvc-file")).unwrap(), "x");
    assert!(fs::read_dir(elsewhere.path()).unwrap().next().is_none());
    assert!(state_is_empty(&root));
}

#[test]
fn a_subdir_that_is_a_link_is_not_followed() {
    let (folder, root, term) = begun();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), folder.path().join("shop")).unwrap();
    let location = at(&["shop"], "u-1");
    assert_eq!(
        root.ensure(&location, 0o700, &marker("u-1"), &term).unwrap_err().trouble(),
        Trouble::InTheWay
    );
    fs::create_dir(elsewhere.path().join("pvc-u-1")).unwrap();
    assert!(root.remove(&location, Authority::Volume, &term).is_err());
    assert!(elsewhere.path().join("pvc-u-1").is_dir());
    assert!(root.list().unwrap().found.is_empty());
}

#[test]
fn a_marker_that_is_a_link_or_a_pipe_is_neither_followed_nor_waited_for() {
    let (folder, root, term) = begun();
    let secret = folder.path().join("secret");
    fs::write(&secret, marker("u-1").to_bytes()).unwrap();
    fs::create_dir(folder.path().join("pvc-u-1")).unwrap();
    symlink(&secret, folder.path().join("pvc-u-1").join(MARKER_FILE)).unwrap();
    assert_eq!(
        root.ensure(&at(&[], "u-1"), 0o700, &marker("u-1"), &term).unwrap_err().trouble(),
        Trouble::Foreign
    );
    fs::create_dir(folder.path().join("pvc-u-2")).unwrap();
    let pipe = folder.path().join("pvc-u-2").join(MARKER_FILE);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
    assert_eq!(
        root.ensure(&at(&[], "u-2"), 0o700, &marker("u-2"), &term).unwrap_err().trouble(),
        Trouble::Foreign
    );
}

#[test]
fn removal_takes_the_content_and_the_empty_subdirs_and_no_more() {
    let (folder, root, term) = begun();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "x").unwrap();
    let (first, second) = (at(&["ns"], "u-1"), at(&["ns"], "u-2"));
    for (location, uid) in [(&first, "u-1"), (&second, "u-2")] {
        root.ensure(location, 0o700, &marker(uid), &term).unwrap();
    }
    fs::create_dir_all(first.below(root.path()).join("deep/er")).unwrap();
    symlink(outside.path(), first.below(root.path()).join("link")).unwrap();
    assert_eq!(root.remove(&first, Authority::Volume, &term).unwrap(), Removed::Removed);
    assert_eq!(root.remove(&first, Authority::Volume, &term).unwrap(), Removed::Absent);
    assert!(second.below(root.path()).is_dir());
    assert!(outside.path().join("kept").exists());
    assert_eq!(root.remove(&second, Authority::Marker, &term).unwrap(), Removed::Removed);
    assert!(!folder.path().join("ns").exists());
    assert!(state_is_empty(&root));
}

#[test]
fn a_tenant_that_deleted_the_marker_cannot_keep_the_directory() {
    let (_folder, root, term) = begun();
    let location = at(&[], "u-1");
    root.ensure(&location, 0o700, &marker("u-1"), &term).unwrap();
    fs::remove_file(location.below(root.path()).join(MARKER_FILE)).unwrap();
    assert_eq!(
        root.remove(&location, Authority::Marker, &term).unwrap_err().trouble(),
        Trouble::Foreign
    );
    assert_eq!(root.remove(&location, Authority::Volume, &term).unwrap(), Removed::Removed);
}

/// Nobody can write into a directory before it has a volume.
#[test]
fn a_directory_that_holds_data_is_removed_on_the_word_of_its_volume_alone() {
    let (_folder, root, term) = begun();
    let location = at(&[], "u-1");
    root.ensure(&location, 0o700, &marker("u-1"), &term).unwrap();
    assert!(!root.list().unwrap().found[0].holds_data);
    fs::write(location.below(root.path()).join(".hidden"), "x").unwrap();
    assert!(root.list().unwrap().found[0].holds_data);
    let refused = root.remove(&location, Authority::Marker, &term).unwrap_err();
    assert!(
        refused.trouble() == Trouble::Foreign && refused.to_string().contains("holds data"),
        "{refused}"
    );
    assert_eq!(root.remove(&location, Authority::Volume, &term).unwrap(), Removed::Removed);
}

/// A pod of a volume that the server has forgotten can write at any moment.
#[test]
fn data_that_is_written_while_an_orphan_is_removed_stays() {
    let (folder, root, term) = begun();
    let location = at(&[], "u-1");
    root.ensure(&location, 0o700, &marker("u-1"), &term).unwrap();
    let written = location.below(root.path()).join("precious");
    let probe: Probe = Box::new(move |step, moment| {
        if step == "condemn" && moment == Moment::Before {
            fs::write(&written, "x")
        } else {
            Ok(())
        }
    });
    let second = Root::with_probe(folder.path(), probe).unwrap();
    let refused = second.remove(&location, Authority::Marker, &term).unwrap_err();
    assert!(
        refused.trouble() == Trouble::Foreign && refused.to_string().contains("by hand"),
        "{refused}"
    );
    let cleared = root.clear_leftovers(&term).unwrap();
    assert_eq!((cleared.removed, cleared.stuck.len()), (0, 1));
    assert!(root.state_path(TRASH_FOLDER).join("orphan-u-1").join("precious").exists());
}

#[test]
fn a_directory_whose_marker_names_another_claim_is_never_removed() {
    let (_folder, root, term) = begun();
    let location = at(&[], "u-1");
    root.ensure(&location, 0o700, &marker("u-1"), &term).unwrap();
    fs::write(location.below(root.path()).join(MARKER_FILE), marker("u-2").to_bytes()).unwrap();
    for authority in [Authority::Marker, Authority::Volume] {
        assert_eq!(
            root.remove(&location, authority, &term).unwrap_err().trouble(),
            Trouble::Foreign
        );
    }
    assert!(location.below(root.path()).is_dir());
}

#[test]
fn no_effect_after_the_term_is_over_or_a_later_one_has_begun() {
    let (_folder, root, _) = begun();
    let alive = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&alive);
    let fence = Fence { uid: "l".into(), resource_version: "1".into(), transitions: 0 };
    let old = Term::new(fence.clone(), move || seen.load(Ordering::SeqCst));
    root.begin_term(&owner(), &old).unwrap();
    let kept = at(&[], "u-1");
    root.ensure(&kept, 0o700, &marker("u-1"), &old).unwrap();
    let new = Term::new(Fence { resource_version: "2".into(), transitions: 1, ..fence }, || true);
    root.begin_term(&owner(), &new).unwrap();
    for _ in 0..2 {
        let made = root.ensure(&at(&[], "u-2"), 0o700, &marker("u-2"), &old).unwrap_err();
        assert_eq!(made.trouble(), Trouble::Superseded);
        assert_eq!(
            root.remove(&kept, Authority::Volume, &old).unwrap_err().trouble(),
            Trouble::Superseded
        );
        assert_eq!(
            root.set_retained(&kept, true, &old).unwrap_err().trouble(),
            Trouble::Superseded
        );
        alive.store(false, Ordering::SeqCst);
    }
    assert_eq!(root.begin_term(&owner(), &old).unwrap_err().trouble(), Trouble::Superseded);
    assert_eq!(root.read_term().unwrap().unwrap().fence, *new.fence());
    assert_eq!(root.list().unwrap().found.len(), 1);
}

#[test]
fn a_root_of_another_provisioner_is_refused_with_a_remedy() {
    let (_folder, root, term) = begun();
    let other = Owner { lease: "other/lease".into(), ..owner() };
    let error = root.check_owner(&other).unwrap_err();
    assert!(
        error.to_string().contains("ns/l")
            && error.to_string().contains("give this one a root of its own"),
        "{error}"
    );
    assert!(root.begin_term(&other, &term).is_err());
    assert!(root.check_owner(&owner()).is_ok());
}

#[test]
fn listing_finds_ours_at_any_depth_and_says_what_is_retained() {
    let (folder, root, term) = begun();
    for (subdir, uid) in [(&[][..], "u-1"), (&["a"][..], "u-2"), (&["a", "b"][..], "u-3")] {
        root.ensure(&at(subdir, uid), 0o700, &marker(uid), &term).unwrap();
    }
    fs::create_dir_all(folder.path().join("a/c/not-ours")).unwrap();
    fs::write(folder.path().join("pvc-file"), "").unwrap();
    fs::create_dir(folder.path().join("pvc-bare")).unwrap();
    root.set_retained(&at(&["a"], "u-2"), true, &term).unwrap();
    let listed = root.list().unwrap().found;
    let names: BTreeSet<String> = listed.iter().map(|found| found.location.to_string()).collect();
    assert_eq!(
        names,
        ["a/b/pvc-u-3", "a/pvc-u-2", "pvc-bare", "pvc-u-1"].map(str::to_owned).into()
    );
    for found in listed {
        assert_eq!(found.retained, found.location.claim_uid() == "u-2");
        assert_eq!(found.marker.is_none(), found.location.claim_uid() == "bare");
    }
    root.set_retained(&at(&["a"], "u-2"), false, &term).unwrap();
    assert!(root.list().unwrap().found.iter().all(|found| !found.retained));
}

/// A root whose process dies at the given step: everything after it fails, whatever is tried.
fn dying(path: &Path, at_step: usize) -> (Root, Arc<AtomicUsize>) {
    let steps = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&steps);
    let probe: Probe = Box::new(move |name, _| {
        if count.fetch_add(1, Ordering::SeqCst) >= at_step {
            return Err(io::Error::other(format!("died at {name}")));
        }
        Ok(())
    });
    (Root::with_probe(path, probe).unwrap(), steps)
}

/// Runs `work` dying at each step in turn, and lets `after` look at what a second process makes of
/// it. Returns how many steps there were.
fn die_everywhere(
    prepare: impl Fn(&Root, &Term),
    work: impl Fn(&Root, &Term) -> bool,
    after: impl Fn(&Root, &Term, usize),
) -> usize {
    for step in 0.. {
        let (folder, root, term) = begun();
        prepare(&root, &term);
        let (mortal, _) = dying(folder.path(), step);
        let finished = work(&mortal, &term);
        assert!(root.clear_leftovers(&term).unwrap().stuck.is_empty());
        assert!(state_is_empty(&root), "step {step}");
        after(&root, &term, step);
        if finished {
            return step;
        }
    }
    unreachable!("the loop ends by its own")
}

#[test]
fn making_that_dies_at_any_step_leaves_all_or_nothing_and_is_finished_by_the_next() {
    let location = at(&["ns"], "u-1");
    let steps = die_everywhere(
        |_, _| {},
        |root, term| root.ensure(&location, 0o750, &marker("u-1"), term).is_ok(),
        |root, term, step| {
            let path = location.below(root.path());
            if path.exists() {
                assert_eq!(
                    Marker::parse(&fs::read(path.join(MARKER_FILE)).unwrap()),
                    Ok(marker("u-1")),
                    "step {step}"
                );
            }
            root.ensure(&location, 0o750, &marker("u-1"), term).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
        },
    );
    assert!(steps >= 14, "{steps}");
}

#[test]
fn removal_that_dies_at_any_step_is_finished_by_the_next() {
    let location = at(&["ns"], "u-1");
    let steps = die_everywhere(
        |root, term| {
            root.ensure(&location, 0o750, &marker("u-1"), term).unwrap();
            fs::write(location.below(root.path()).join("data"), "x").unwrap();
        },
        |root, term| root.remove(&location, Authority::Volume, term).is_ok(),
        |root, term, step| {
            let path = location.below(root.path());
            assert!(
                !path.exists() || path.join("data").exists(),
                "half removed in place at step {step}"
            );
            root.remove(&location, Authority::Volume, term).unwrap();
            assert!(!path.exists(), "step {step}");
        },
    );
    assert!(steps >= 8, "{steps}");
}

#[test]
fn removal_finishes_what_the_trash_still_holds() {
    let (folder, root, term) = begun();
    let location = at(&[], "u-1");
    root.ensure(&location, 0o750, &marker("u-1"), &term).unwrap();
    // Looking in the trash is two probes; the third and fourth are the move.
    let (mortal, _) = dying(folder.path(), 4);
    assert!(mortal.remove(&location, Authority::Volume, &term).is_err());
    assert!(!location.below(root.path()).exists());
    assert!(!state_is_empty(&root));
    assert_eq!(root.remove(&location, Authority::Volume, &term).unwrap(), Removed::Removed);
    assert!(state_is_empty(&root));
}

#[test]
fn makers_and_removers_of_one_subdir_do_not_disturb_each_other() {
    let (_folder, root, term) = begun();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (root, term) = (&root, &term);
            scope.spawn(move || {
                for round in 0..40 {
                    let uid = format!("w{worker}-{round}");
                    let location = at(&["ns", "deep"], &uid);
                    root.ensure(&location, 0o700, &marker(&uid), term).unwrap();
                    assert_eq!(
                        root.remove(&location, Authority::Volume, term).unwrap(),
                        Removed::Removed
                    );
                }
            });
        }
    });
    assert!(root.list().unwrap().found.is_empty());
    assert!(state_is_empty(&root));
}

#[test]
fn a_sweep_leaves_alone_what_is_being_made_at_that_moment() {
    let (folder, root, term) = begun();
    let sweeper = root.clone();
    let swept = Arc::new(AtomicUsize::new(usize::MAX));
    let seen = Arc::clone(&swept);
    // The probe runs while the entry is half made; both roots share the process' list of such
    // entries.
    let slot: Arc<Mutex<Option<Root>>> = Arc::default();
    let inner = Arc::clone(&slot);
    let probe: Probe = Box::new(move |name, moment| {
        if name == "mark" && moment == Moment::After {
            let making = inner
                .lock()
                .clone()
                .map(|root| root.clear_leftovers(&Term::unfenced()).unwrap().removed);
            seen.store(making.unwrap_or(usize::MAX), Ordering::SeqCst);
        }
        Ok(())
    });
    let maker = Root::with_probe(folder.path(), probe).unwrap();
    *slot.lock() = Some(maker.clone());
    maker.ensure(&at(&[], "u-1"), 0o700, &marker("u-1"), &term).unwrap();
    assert_eq!(swept.load(Ordering::SeqCst), 0);
    assert_eq!(sweeper.list().unwrap().found.len(), 1);
    *slot.lock() = None;
}

fn fenced(version: &str, transitions: i32) -> Term {
    Term::new(Fence { uid: "l".into(), resource_version: version.into(), transitions }, || true)
}

#[test]
fn a_term_older_than_the_one_on_record_removes_nothing_until_it_is_confirmed() {
    let (_folder, root, _) = begun();
    let (kept, other) = (at(&[], "u-1"), at(&[], "u-2"));
    root.begin_term(&owner(), &fenced("90", 7)).unwrap();
    root.ensure(&kept, 0o700, &marker("u-1"), &fenced("90", 7)).unwrap();
    let trash = root.state_path(TRASH_FOLDER).join("gone-u-9");
    fs::create_dir(&trash).unwrap();
    let old = fenced("40", 3);
    root.begin_term(&owner(), &old).unwrap();
    for _ in 0..2 {
        for authority in [Authority::Volume, Authority::Marker] {
            let error = root.remove(&kept, authority, &old).unwrap_err();
            assert_eq!(error.trouble(), Trouble::Paused);
            assert!(error.to_string().ends_with(RESTORED_FILE), "{error}");
            assert_eq!(
                root.inspect(&kept, authority, &old).unwrap_err().trouble(),
                Trouble::Paused
            );
        }
        assert_eq!(root.clear_leftovers(&old).unwrap().removed, 0);
        // What is made is lost to nobody; and what was said once stands, whoever begins the same
        // term again.
        root.ensure(&other, 0o700, &marker("u-2"), &old).unwrap();
        root.begin_term(&owner(), &old).unwrap();
    }
    // Nor does a later term end it.
    let later = fenced("50", 4);
    root.begin_term(&owner(), &later).unwrap();
    assert_eq!(
        root.remove(&kept, Authority::Volume, &later).unwrap_err().trouble(),
        Trouble::Paused
    );
    assert!(kept.below(root.path()).is_dir() && trash.is_dir());
    fs::remove_file(root.state_path(RESTORED_FILE)).unwrap();
    assert_eq!(root.remove(&kept, Authority::Volume, &later).unwrap(), Removed::Removed);
    assert_eq!(root.clear_leftovers(&later).unwrap().removed, 1);
    root.begin_term(&owner(), &fenced("60", 5)).unwrap();
    assert_eq!(root.paused().unwrap(), None);
}

#[test]
fn a_revision_below_one_that_was_seen_pauses_too_and_once() {
    let (_folder, root, term) = begun();
    for revision in [5, 90, 90, 91] {
        root.compare_revision(revision, &term).unwrap();
        assert_eq!(root.paused().unwrap(), None);
    }
    // Terms come and go; what was seen stays.
    root.begin_term(&owner(), &term).unwrap();
    root.compare_revision(40, &term).unwrap();
    let why = root.paused().unwrap().unwrap();
    assert!(
        why.contains("revision 40") && why.contains("91") && why.contains(RESTORED_FILE),
        "{why}"
    );
    fs::remove_file(root.state_path(RESTORED_FILE)).unwrap();
    root.compare_revision(41, &term).unwrap();
    assert_eq!(root.paused().unwrap(), None);
    // Another cluster counts from elsewhere.
    root.begin_term(&owner(), &fenced("3", 0)).unwrap();
    root.compare_revision(4, &fenced("3", 0)).unwrap();
    assert_eq!(root.paused().unwrap(), None);
}

/// A death between the pause and the record of the older term leaves the pause.
#[test]
fn a_beginning_that_dies_at_any_step_does_not_forget_that_it_is_older() {
    for step in 0.. {
        let (folder, root, _) = begun();
        root.begin_term(&owner(), &fenced("90", 7)).unwrap();
        let (mortal, _) = dying(folder.path(), step);
        let finished = mortal.begin_term(&owner(), &fenced("40", 3)).is_ok();
        root.begin_term(&owner(), &fenced("41", 4)).unwrap();
        assert!(root.paused().unwrap().is_some(), "step {step}");
        if finished {
            assert!(step >= 6, "{step}");
            return;
        }
    }
}

#[test]
fn a_record_of_an_earlier_version_is_read() {
    let (_folder, root, term) = begun();
    let old = serde_json::json!({"owner": owner(), "fence": Fence::default()});
    fs::write(root.state_path(TERM_FILE), old.to_string()).unwrap();
    root.compare_revision(7, &term).unwrap();
    assert_eq!(root.read_term().unwrap().unwrap().seen, 7);
}

#[test]
fn removals_are_paused_whatever_stands_in_the_file() {
    let (_folder, root, _term) = begun();
    for text in [&b"\xff\xfe"[..], b"", b"{}", b"{\"why\": 1}"] {
        fs::write(root.state_path(RESTORED_FILE), text).unwrap();
        let why = root.paused().unwrap().unwrap();
        assert!(why.contains("not readable") && why.contains("restored.json"), "{why}");
    }
}

/// A folder that changes while it is removed, and one that holds everything a folder can hold.
#[test]
fn a_tree_of_every_kind_of_entry_is_removed() {
    let (_folder, root, term) = begun();
    let location = at(&[], "u-1");
    root.ensure(&location, 0o700, &marker("u-1"), &term).unwrap();
    let path = location.below(root.path());
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "x").unwrap();
    fs::create_dir_all(path.join("a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p")).unwrap();
    symlink(outside.path(), path.join("a/b/link")).unwrap();
    symlink("nowhere", path.join("a/dangling")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, path.join("a/pipe"), Mode::from_raw_mode(0o600)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
    fs::write(path.join(std::ffi::OsStr::from_bytes(b"not utf-8 \xff")), "x").unwrap();
    for index in 0..2000 {
        fs::write(path.join(format!("a/file-{index}")), "").unwrap();
    }
    assert_eq!(root.remove(&location, Authority::Volume, &term).unwrap(), Removed::Removed);
    assert!(!path.exists() && state_is_empty(&root) && outside.path().join("kept").exists());
}

/// A pod may make folders of any depth: their removal takes neither stack nor descriptors.
#[test]
fn a_tree_of_many_levels_is_removed() {
    let (_folder, root, term) = begun();
    let location = at(&[], "u-1");
    root.ensure(&location, 0o700, &marker("u-1"), &term).unwrap();
    let path = location.below(root.path());
    // What is moved up meets these.
    fs::create_dir_all(path.join("deep-1/full")).unwrap();
    fs::write(path.join("deep-2"), "x").unwrap();
    fs::create_dir(path.join("deep-3")).unwrap();
    let mut folder = walk::open_folder(rustix::fs::CWD, path.to_str().unwrap()).unwrap();
    for level in 0..5_000 {
        rustix::fs::mkdirat(&folder, "d", Mode::from_raw_mode(0o700)).unwrap();
        if level % 100 == 0 {
            rustix::fs::mkfifoat(&folder, "pipe", Mode::from_raw_mode(0o600)).unwrap();
        }
        folder = walk::open_folder(&folder, "d").unwrap();
    }
    drop(folder);
    assert_eq!(root.remove(&location, Authority::Volume, &term).unwrap(), Removed::Removed);
    assert!(!path.exists() && state_is_empty(&root));
}
