//! The `Accept` header, clause by clause, in upstream's order.

use http::{HeaderMap, header};

pub(super) const JSON: &str = "application/json";
pub(super) const YAML: &str = "application/yaml";

/// An accepted media type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Clause<'a> {
    main: &'a str,
    sub: &'a str,
    quality: f64,
    /// The kind, group and version to convert the object to (`as`, `g`, `v`).
    pub(super) becomes: Option<[&'a str; 3]>,
    stream: &'a str,
    /// `sv`, the version of the shared kinds.
    shared: &'a str,
}

/// The header's value. As in Go, the first of several.
pub(super) fn header(headers: &HeaderMap) -> &str {
    headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The clauses, most preferred first (`ParseAccept` of github.com/munnerz/goautoneg).
pub(super) fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(Clause::read).collect();
    // The comparison is not a total order, so the algorithm matters: Go sorts few clauses by
    // insertion.
    const FEW: usize = 12;
    if clauses.len() > FEW {
        clauses.sort_by(|a, b| {
            b.quality.total_cmp(&a.quality).then_with(|| a.is_open().cmp(&b.is_open()))
        });
        return clauses;
    }
    for end in 1..clauses.len() {
        for at in (1..=end).rev() {
            if !clauses[at].goes_before(&clauses[at - 1]) {
                break;
            }
            clauses.swap(at, at - 1);
        }
    }
    clauses
}

/// The types without parameters, as go-restful reads them.
pub(super) fn plain_types(header: &str) -> impl Iterator<Item = &str> {
    header.split(',').map(|clause| clause.split(';').next().unwrap_or_default().trim_matches(' '))
}

impl<'a> Clause<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(|part| part.trim_matches(' '));
        let (main, sub) = match parts.next()? {
            "*" => ("*", "*"),
            media => media.split_once('/')?,
        };
        let (main, sub) = (main.trim_matches(' '), sub.trim_matches(' '));
        if sub.is_empty() || sub.contains('/') {
            return None;
        }
        let mut clause = Self { main, sub, quality: 1.0, becomes: None, stream: "", shared: "" };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let (name, value) = (name.trim_matches(' '), value.trim_matches(' '));
            if value.is_empty() || value.contains('=') {
                continue;
            }
            match name {
                "q" => clause.quality = value.parse().unwrap_or(0.0),
                "as" => clause.becomes.get_or_insert_default()[0] = value,
                "g" => clause.becomes.get_or_insert_default()[1] = value,
                "v" => clause.becomes.get_or_insert_default()[2] = value,
                "stream" => clause.stream = value,
                "sv" => clause.shared = value,
                _ => {}
            }
        }
        Some(clause)
    }

    const fn is_open(&self) -> (bool, bool) {
        (matches!(self.main.as_bytes(), b"*"), matches!(self.sub.as_bytes(), b"*"))
    }

    fn goes_before(&self, other: &Self) -> bool {
        let ((main, sub), (other_main, other_sub)) = (self.is_open(), other.is_open());
        self.quality > other.quality || (!main && other_main) || (!sub && other_sub)
    }

    /// The media type of the response: JSON or YAML.
    pub(super) fn media(&self) -> Option<&'static str> {
        let media = match (self.main, self.sub) {
            ("*", "*") | ("application", "*" | "json") => JSON,
            ("application", "yaml") => YAML,
            _ => return None,
        };
        // YAML has no stream.
        let streams = self.stream.is_empty() || (self.stream == "watch" && media == JSON);
        let shares = matches!(self.shared, "" | "v1");
        (streams && shares).then_some(media)
    }
}

#[cfg(test)]
mod tests;
