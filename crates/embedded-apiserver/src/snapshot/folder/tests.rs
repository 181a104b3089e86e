//! What is kept of a kill at any step, names, and seals.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{LONGEST, is_sealed, name_of, read, sealed, write};
use crate::snapshot::{Saved, SnapshotError};

/// A snapshot of so many objects, which is also its revision.
fn objects(count: usize) -> Vec<Saved> {
    let saved = |number: usize| Saved {
        path: vec!["configmaps".to_owned(), "default".to_owned(), format!("m{number}")],
        object: json!({ "kind": "ConfigMap", "data": { "of": count.to_string() } }),
        unsaid: false,
    };
    (0..count).map(saved).collect()
}

/// How many objects the snapshot of a folder has: all of one snapshot, or the test fails.
fn found(folder: &Path) -> Result<usize, SnapshotError> {
    let found = read(folder)?;
    let count = found.objects.len();
    assert_eq!(found.revision, u64::try_from(count).ok());
    for object in &found.objects {
        assert_eq!(object.object["data"]["of"], count.to_string());
        assert!(object.as_saved, "{}", object.file.display());
    }
    Ok(count)
}

/// Writes a snapshot of `count` objects, and is killed before step `last`; whether it came to its
/// end before.
fn write_until(folder: &Path, count: usize, last: usize) -> bool {
    let mut steps = 0;
    let mut killed = false;
    let mut at = || {
        steps += 1;
        killed = steps > last;
        killed
    };
    let _written = write(folder, count as u64, objects(count), &mut at);
    !killed
}

#[test]
fn killed_at_any_step_a_save_leaves_the_old_snapshot_or_the_new_one() {
    let (mut old, mut new) = (0, 0);
    for first in 0.. {
        let above = tempfile::tempdir().expect("a folder");
        let folder = above.path().join("state");
        assert!(write_until(&folder, 2, usize::MAX));
        let ended = write_until(&folder, 3, first);
        match found(&folder).expect("a snapshot") {
            2 => old += 1,
            3 => new += 1,
            other => panic!("step {first}: {other} objects"),
        }
        // Whoever takes the folder away finds no half of what lies beside it.
        let less = tempfile::tempdir().expect("a folder");
        copy(above.path(), less.path());
        let _taken = fs::remove_dir_all(less.path().join("state"));
        let beside = found(&less.path().join("state")).unwrap_or(2);
        assert!(beside == 2 || beside == 3, "step {first}: {beside}");
        // The next save, too, at any step.
        for second in 0.. {
            let again = tempfile::tempdir().expect("a folder");
            copy(above.path(), again.path());
            let folder = again.path().join("state");
            let before = found(&folder).expect("the same snapshot");
            let ended = write_until(&folder, 4, second);
            let after = found(&folder).expect("a snapshot");
            assert!(
                after == before || after == 4,
                "steps {first} and {second}: {before}, then {after}"
            );
            assert!(write_until(&folder, 5, usize::MAX));
            assert_eq!(found(&folder).expect("the last one"), 5);
            assert_eq!(
                fs::read_dir(again.path()).expect("a folder").count(),
                1,
                "nothing is left beside it"
            );
            if ended {
                break;
            }
        }
        if ended {
            break;
        }
    }
    assert!(old >= 5 && new >= 2, "{old} old, {new} new");
}

#[cfg(unix)]
#[test]
fn a_link_to_the_folder_is_followed_though_the_folder_is_missing() {
    for last in 0.. {
        let above = tempfile::tempdir().expect("a folder");
        let (folder, link) = (above.path().join("below/state"), above.path().join("link"));
        fs::create_dir(above.path().join("below")).expect("a new folder");
        std::os::unix::fs::symlink("below/state", &link).expect("a link");
        assert!(write_until(&link, 2, usize::MAX));
        let ended = write_until(&link, 3, last);
        let count = found(&link).expect("a snapshot");
        assert!(count == 2 || count == 3, "step {last}: {count}");
        assert!(write_until(&link, 4, usize::MAX));
        assert_eq!((found(&link).expect("the link"), found(&folder).expect("the folder")), (4, 4));
        if ended {
            return;
        }
    }
}

#[test]
fn killed_at_any_step_a_first_save_leaves_nothing_or_a_snapshot() {
    for last in 0.. {
        let above = tempfile::tempdir().expect("a folder");
        let folder = above.path().join("state");
        let ended = write_until(&folder, 3, last);
        if let Ok(count) = found(&folder) {
            assert_eq!(count, 3, "step {last}");
        } else {
            assert!(!ended);
        }
        assert!(write_until(&folder, 4, usize::MAX));
        assert_eq!(found(&folder).expect("a snapshot"), 4);
        if ended {
            return;
        }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let (from, to) = (
            entry.as_ref().expect("an entry").path(),
            to.join(entry.expect("an entry").file_name()),
        );
        if from.is_dir() {
            fs::create_dir(&to).expect("a new folder");
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a copy");
        }
    }
}

#[test]
fn every_name_has_a_file_of_its_own_that_can_be_made_and_is_read() {
    let long = "a".repeat(253);
    let odd = ":".repeat(100);
    let other = format!("{odd}:");
    let names = [".hidden", "..", "%2Ehidden", "a", &long, &odd, &other, "\u{e4}"];
    let files: Vec<_> = names.iter().map(|name| name_of(name)).collect();
    for (name, file) in names.iter().zip(&files) {
        assert!(
            file.len() <= LONGEST && !file.starts_with('.') && !file.contains('/'),
            "{name}: {file}"
        );
        assert_eq!(files.iter().filter(|other| *other == file).count(), 1, "{name}: {file}");
    }
    assert_eq!(files[3], "a");
}

#[test]
fn a_seal_fits_no_other_text() {
    for text in ["", "a", "a\n", "a: b\n\n", "# as saved: x\n"] {
        let saved = sealed(text.to_owned());
        assert!(is_sealed(&saved), "{saved}");
        assert!(!is_sealed(&saved.replacen("# as", "c: d\n# as", 1)), "{saved}");
        assert!(!is_sealed(&format!("{saved}#\n")) && !is_sealed(text), "{saved}");
    }
}
