//! Which code spans are places, and whether they are there.

use std::path::Path;

use super::Place;

fn is_there(span: &str) -> Option<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Place::parse(span).map(|place| place.is_in(&root))
}

#[test]
fn files_folders_and_functions_are_found() {
    assert_eq!(is_there("xtask/src/map.rs"), Some(true));
    assert_eq!(is_there("docs/decisions"), Some(true));
    assert_eq!(is_there("xtask/src/map.rs::missing"), Some(true));
}

#[test]
fn what_is_gone_is_noticed() {
    assert_eq!(is_there("xtask/src/atlas.rs"), Some(false));
    assert_eq!(is_there("xtask/src/map.rs::miss"), Some(false));
    assert_eq!(is_there("xtask/src/atlas.rs::missing"), Some(false));
}

#[test]
fn other_code_is_no_place() {
    for span in ["cargo xtask ci", "state.rs", "crates/*", "Outcome::Retry", ""] {
        assert_eq!(is_there(span), None, "{span}");
    }
}
