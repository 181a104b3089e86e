//! The table of defects: a row for each, and every test that it names is there.

use crate::{page, root};
use std::fs;

#[test]
fn every_defect_has_a_row_and_every_row_a_test_that_exists() {
    let page = page();
    for number in 1..=25 {
        let begin = format!("| D{number} | ");
        let row = page.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("there is no row D{number}"));
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let name = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        let (file, test) =
            name.and_then(|name| name.split_once("::")).expect("`file::test` ends the row");
        let source = fs::read_to_string(root().join("crates").join(file));
        let source = source.unwrap_or_else(|error| panic!("D{number}: {file}: {error}"));
        assert!(source.contains(&format!("fn {test}(")), "D{number}: {file} has no test {test}");
    }
}
