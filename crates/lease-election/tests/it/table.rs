//! The table of violations on the crate's page: a row for each, and every test that it names is there.

use std::fs;
use std::path::Path;

#[test]
fn every_violation_has_a_row_and_every_row_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("README.md")).unwrap();
    for number in 1..=17 {
        let begin = format!("| V{number} | ");
        let row = page.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("there is no row V{number}"));
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let name = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        let (file, test) = name.and_then(|name| name.split_once("::")).expect("`file::test` ends the row");
        assert!(test.starts_with(&format!("v{number}_")), "V{number}: {test}");
        let source =
            fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("V{number}: {file}: {error}"));
        assert!(source.contains(&format!("fn {test}(")), "V{number}: {file} has no test {test}");
    }
    for number in 1..=7 {
        assert!(page.contains(&format!("| A{number} | ")), "there is no assumption A{number}");
    }
}
