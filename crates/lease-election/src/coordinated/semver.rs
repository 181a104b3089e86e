//! SemVer: semantic versions (semver.org 2.0.0), as the API server reads and orders them.

use std::cmp::Ordering;

/// A version without its build metadata, which does not count in the order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SemVer {
    numbers: [u64; 3],
    /// Empty for a release.
    pre_release: Vec<Part>,
}

/// A part of a pre-release. Numbers come before words.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    Number(u64),
    Word(String),
}

impl SemVer {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, Some(build)),
            None => (text, None),
        };
        if build.is_some_and(|build| !build.split('.').all(is_word)) {
            return None;
        }
        let (numbers, pre_release) = match text.split_once('-') {
            Some((numbers, pre_release)) => {
                (numbers, pre_release.split('.').map(part).collect::<Option<Vec<Part>>>()?)
            }
            None => (text, Vec::new()),
        };
        let mut parts = numbers.split('.').map(number);
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(Self { numbers, pre_release })
    }

    /// The server takes 0.0.0 for no version at all.
    pub(super) fn is_zero(&self) -> bool {
        self.numbers == [0; 3] && self.pre_release.is_empty()
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok()).flatten()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn part(text: &str) -> Option<Part> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Part::Number);
    }
    is_word(text).then(|| Part::Word(text.to_owned()))
}

impl Ord for SemVer {
    fn cmp(&self, other: &Self) -> Ordering {
        let of_rank = |version: &Self| version.pre_release.is_empty();
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| of_rank(self).cmp(&of_rank(other)))
            .then_with(|| self.pre_release.cmp(&other.pre_release))
    }
}

impl PartialOrd for SemVer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
