//! The map stays true: the files and tests that the pages under `docs` name must exist.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

mod tests;

/// What a page names and the tree does not have.
pub(crate) fn missing(root: &Path, page: &Path) -> Result<Vec<String>> {
    let text =
        fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let shown = page.strip_prefix(root).unwrap_or(page).display();
    let places = text.split('`').skip(1).step_by(2).filter_map(Place::parse);
    let absent = places.filter(|place| !place.is_in(root));
    Ok(absent.map(|place| format!("{shown}: there is no `{}`", place.shown())).collect())
}

/// A code span that names a place from the root of the workspace: `folder/file.rs`, or
/// `folder/file.rs::function`.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    file: &'a str,
    function: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// `None` for a span that is something else: a command, a short name, an item.
    fn parse(span: &'a str) -> Option<Self> {
        let (file, function) = match span.split_once("::") {
            Some((file, function)) => (file, Some(function)),
            None => (span, None),
        };
        let from_root =
            ["crates/", "xtask/", "docs/"].iter().any(|folder| file.starts_with(folder));
        (from_root && !file.contains([' ', '*'])).then_some(Self { file, function })
    }

    fn is_in(&self, root: &Path) -> bool {
        let path = root.join(self.file);
        match self.function {
            None => path.exists(),
            Some(function) => fs::read_to_string(path).is_ok_and(|text| {
                text.contains(&format!("fn {function}("))
                    || text.contains(&format!("fn {function}<"))
            }),
        }
    }

    fn shown(&self) -> String {
        self.function
            .map_or_else(|| self.file.to_owned(), |function| format!("{}::{function}", self.file))
    }
}
