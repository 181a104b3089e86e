//! Which stages a command line picks.

use super::{Group, Stage, Verdict, pick};

const ALL: &[Stage] = &[stage("fmt", &[]), stage("test", &[]), stage("demo", &["test"])];

const fn stage(name: &'static str, needs: &'static [&'static str]) -> Stage {
    Stage { name, asks: "?", group: Group::Static, needs, run: |_, _| Ok(Verdict::Passed) }
}

fn picked(names: &[&str]) -> Result<Vec<&'static str>, String> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let stages = pick(ALL, &names).map_err(|error| error.to_string())?;
    Ok(stages.iter().map(|stage| stage.name).collect())
}

#[test]
fn no_name_picks_all() {
    assert_eq!(picked(&[]), Ok(vec!["fmt", "test", "demo"]));
}

#[test]
fn names_pick_in_the_order_of_the_stages() {
    assert_eq!(picked(&["test", "fmt"]), Ok(vec!["fmt", "test"]));
}

#[test]
fn what_a_stage_needs_comes_along_before_it() {
    assert_eq!(picked(&["demo"]), Ok(vec!["test", "demo"]));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let error = picked(&["fmt", "tset"]).unwrap_err();
    assert_eq!(error, "there is no stage `tset`; the stages are: fmt test demo");
}

#[test]
fn goals_are_measured_only_when_they_are_named() {
    let all = [stage("fmt", &[]), Stage { group: Group::Gates, ..stage("gates", &["fmt"]) }];
    let picked =
        |names: &[String]| pick(&all, names).unwrap().iter().map(|stage| stage.name).collect::<Vec<_>>();
    assert_eq!(picked(&[]), ["fmt"]);
    assert_eq!(picked(&["gates".to_owned()]), ["fmt", "gates"]);
}
