//! What a walk calls a volume's directory, and what a stray.

use super::{Directory, Fence, KEEPER, MARKER, Marker, walk};
use std::fs;

fn marker(uid: &str) -> Marker {
    let fence = Fence { uid: "lease".into(), resource_version: "7".into(), transitions: 0 };
    Marker {
        claim_uid: uid.into(),
        claim_namespace: "ns".into(),
        claim_name: "c".into(),
        volume: format!("pvc-{uid}"),
        identity: "r".into(),
        fence,
    }
}

#[test]
fn volume_directories_are_found_and_everything_else_is_a_stray() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    for folder in ["pvc-1", "team-a/pvc-2", "team-a/.staging-x", "other"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at("team-a/pvc-2").join(MARKER), serde_json::to_vec(&marker("2")).unwrap()).unwrap();
    fs::write(at("team-b"), "in the way").unwrap();
    fs::write(at("team-a").join(KEEPER), "").unwrap();
    fs::write(at(KEEPER), "").unwrap();
    fs::write(at("team-a/pvc-3"), "a file with a directory's name").unwrap();

    let found = walk(root.path(), &["team-a".to_owned(), "team-b".to_owned()]).unwrap();
    let paths: Vec<_> = found.directories.iter().map(|d| d.path.clone()).collect();
    assert_eq!(paths, [at("pvc-1"), at("team-a/pvc-2")]);
    assert!(found.directories[0].marker.is_err());
    assert_eq!(found.directories[0].claim_uid(), Some("1"));
    assert_eq!(found.directories[1].marker, Ok(marker("2")));
    assert_eq!(
        found.strays,
        [at(KEEPER), at("other"), at("team-a/.staging-x"), at("team-a/pvc-3"), at("team-b")]
    );
}

#[test]
fn of_the_provisioners_own_folder_only_what_is_under_way_is_a_stray() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(".hostpath-provisioner").join(path);
    for folder in ["staging", "trash", "retained"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at("term.json"), "{}").unwrap();
    assert_eq!(walk(root.path(), &[]).unwrap(), Default::default());
    fs::create_dir(at("staging/pvc-1")).unwrap();
    fs::create_dir(at("trash/pvc-2")).unwrap();
    fs::write(at("retained/pvc-3"), "").unwrap();
    fs::write(at("other.json"), "{}").unwrap();
    let found = walk(root.path(), &[]).unwrap();
    assert_eq!(found.directories, []);
    assert_eq!(
        found.strays,
        [at("other.json"), at("retained/pvc-3"), at("staging/pvc-1"), at("trash/pvc-2")]
    );
}

#[test]
fn a_marker_decides_whose_a_directory_is() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("pvc-misnamed");
    fs::create_dir(&path).unwrap();
    fs::write(path.join(MARKER), serde_json::to_vec(&marker("5")).unwrap()).unwrap();
    assert_eq!(Directory::read(path.clone()).claim_uid(), Some("5"));
    fs::write(path.join(MARKER), "{").unwrap();
    let unreadable = Directory::read(path);
    assert!(unreadable.marker.as_ref().unwrap_err().contains("not as agreed"));
    assert_eq!(unreadable.claim_uid(), Some("misnamed"));
}
