//! Gates: how the file is read, what is judged short.

use super::{Gate, Goal, judge, read, select};

const FILE: &str = r#"
[[gate]]
crate = "a"
name = "fast"
goal = ">= 8"
aim = ">= 10"
unit = "times"
workload = "w"
why = "y"
look = "l"

[[gate]]
crate = "b"
name = "small"
goal = "<= 2.5"
unit = "bytes"
workload = "w"
why = "y"
look = "l"
"#;

fn gates(crates: &[&str]) -> Vec<Gate> {
    let crates: Vec<_> = crates.iter().map(|&name| name.to_owned()).collect();
    select(FILE, &crates).expect("gates").into_values().flatten().collect()
}

#[test]
fn gates_are_selected_by_crate() {
    let names =
        |crates: &[&str]| gates(crates).iter().map(|gate| gate.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&[]), ["fast", "small"]);
    assert_eq!(names(&["b"]), ["small"]);
    let unknown = select(FILE, &["c".to_owned()]).expect_err("unknown").to_string();
    assert_eq!(unknown, "c has no gates; there are some of a, b");
}

#[test]
fn a_gate_is_ok_at_its_bound_and_short_beyond_it_or_unmeasured() {
    let [fast, small] = &gates(&[])[..] else { panic!("two gates") };
    assert_eq!(
        judge(fast, Some(8.0)),
        ("gate a/fast measured=8.00 goal=>=8 ok (times)".to_owned(), true)
    );
    assert!(!judge(fast, Some(7.99)).1);
    assert!(judge(small, Some(2.5)).1);
    assert!(!judge(small, Some(2.51)).1);
    assert!(!judge(small, Some(f64::NAN)).1);
    let (line, met) = judge(small, None);
    let wanted =
        "gate b/small measured=nothing goal=<=2.5 short (bytes)\n  measured: w\n  look at: l";
    assert_eq!((line.as_str(), met), (wanted, false));
}

#[test]
fn a_goal_that_is_none_is_refused() {
    for wrong in ["8", "> 8", ">= eight", ">= inf", ""] {
        let text = FILE.replacen(">= 8", wrong, 1);
        let why = format!("{:#}", select(&text, &[]).expect_err(wrong));
        assert!(why.contains("it must be"), "{why}");
    }
    assert_eq!(Goal::try_from("<= 0.5".to_owned()), Ok(Goal { least: false, bound: 0.5 }));
}

#[test]
fn only_lines_of_measurements_are_read() {
    assert_eq!(read("measured fast 8.5000"), Some(("fast".to_owned(), 8.5)));
    for other in ["measured fast", "fast 8.5", "measured fast 8.5 more", "measured fast x"] {
        assert_eq!(read(other), None, "{other}");
    }
}

#[test]
fn the_file_of_the_workspace_can_be_read() {
    let text = include_str!("../../../gates.toml");
    let gates = select(text, &["embedded-apiserver".to_owned()]).expect("gates");
    assert!(gates["embedded-apiserver"].len() >= 8);
}
