//! Which stages a command line picks.

use super::{Area, Stage, Tier, pick};

const ALL: &[Stage] = &[
    stage("test", Tier::Change),
    stage("loom", Tier::Full(&[Area::Queues])),
    stage("programs", Tier::Full(&[Area::Server, Area::E2e])),
    stage("gates", Tier::Named),
];

const fn stage(name: &'static str, tier: Tier) -> Stage {
    tier.stage(name, "?", 1, |_, _| Ok(()))
}

fn picked(names: &[&str], full: bool) -> Result<Vec<&'static str>, String> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let stages = pick(ALL, &names, full).map_err(|error| error.to_string())?;
    Ok(stages.iter().map(|stage| stage.name).collect())
}

#[test]
fn no_name_picks_what_every_change_must_hold() {
    assert_eq!(picked(&[], false), Ok(vec!["test"]));
}

#[test]
fn full_picks_everything_but_what_must_be_named() {
    assert_eq!(picked(&[], true), Ok(vec!["test", "loom", "programs"]));
}

#[test]
fn an_area_picks_its_stages_and_not_those_of_every_change() {
    assert_eq!(picked(&["e2e"], true), Ok(vec!["programs"]));
    assert_eq!(picked(&["queues", "server"], true), Ok(vec!["loom", "programs"]));
}

#[test]
fn names_pick_in_the_order_of_the_stages() {
    assert_eq!(picked(&["gates", "test"], false), Ok(vec!["test", "gates"]));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let stage = picked(&["tset"], false).unwrap_err();
    assert_eq!(stage, "there is no stage `tset`; the stages are: test loom programs gates");
    let area = picked(&["loom"], true).unwrap_err();
    assert_eq!(area, "there is no area `loom`; the areas are: queues election server e2e release");
    assert_eq!(picked(&["e2e"], false).unwrap_err(), "`e2e` is an area: cargo xtask ci --full e2e");
}
