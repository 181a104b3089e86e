//! The query of a request: options of lists, watches and writes, parsed as in apimachinery.

pub(crate) mod duration;

use std::borrow::Cow;
use std::time::Duration;

use crate::api::status::{FieldError, Status};

/// The pairs of a query, decoded.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// The decoded pairs of a query. Pairs that Go's `url.ParseQuery` cannot parse are dropped.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let sound = query.split('&').filter(|pair| !pair.contains(';') && !is_malformed(pair));
    sound.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()))
}

/// Whether Go refuses a path or a part of a query.
pub(crate) fn is_malformed(path: &str) -> bool {
    path.split('%').skip(1).any(|rest| {
        !rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// The error of a text that is not a 64-bit number.
pub(crate) fn no_number(text: &str) -> String {
    format!("{text:?} is no number of 64 bits")
}

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        Self(pairs(query).map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// The first value of an option.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of an option.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// As `Convert_Slice_string_To_bool`: all but `false` and `0` is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// As `Convert_Slice_string_To_int64`.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value
                .parse()
                .map(Some)
                .map_err(|_| Status::bad_request(format!("{name}: {}", no_number(value)))),
        }
    }

    /// `dryRun`: absent or `All`.
    pub(crate) fn dry_run(&self, options: &'static str) -> Result<bool, Status> {
        refuse(options, dry_run_cause(self.all("dryRun")).as_slice())?;
        Ok(self.get("dryRun").is_some())
    }

    /// Validates `fieldManager`.
    fn field_manager_cause(&self) -> Option<FieldError> {
        const MAX: usize = 128;
        let manager = self.text("fieldManager");
        if manager.len() > MAX {
            return Some(FieldError::too_long("fieldManager", MAX));
        }
        // `unicode.IsPrint` of Go: letters, marks, numbers, punctuation, symbols, and the ASCII
        // space.
        let odd = manager.chars().position(|c| c.is_control() || (c.is_whitespace() && c != ' '));
        let (at, odd) = odd.and_then(|at| Some((at, manager.chars().nth(at)?)))?;
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(odd));
        Some(FieldError::invalid("fieldManager", manager, &why))
    }

    /// Parses the options of a write: `dryRun` and `fieldValidation`. Reports all errors together,
    /// after those in `found`.
    pub(crate) fn write_options(
        &self,
        options: &'static str,
        mut found: Vec<FieldError>,
    ) -> Result<(bool, FieldValidation), Status> {
        found.extend(self.field_manager_cause());
        found.extend(dry_run_cause(self.all("dryRun")));
        let validation = self.validation();
        found.extend(validation.as_ref().err().cloned());
        refuse(options, &found)?;
        Ok((self.get("dryRun").is_some(), validation.unwrap_or(FieldValidation::Warn)))
    }

    /// Validates the `timeout` of a request, a Go duration. Its length is irrelevant here.
    pub(crate) fn check_timeout(&self) -> Result<(), Status> {
        match self.text("timeout") {
            "" => Ok(()),
            timeout if duration::is_duration(timeout) => Ok(()),
            timeout => Err(Status::bad_request(format!("timeout: {timeout:?} is no duration"))),
        }
    }

    pub(crate) fn field_validation(
        &self,
        options: &'static str,
    ) -> Result<FieldValidation, Status> {
        self.validation().map_err(|cause| Status::invalid_options(options, &cause))
    }

    fn validation(&self) -> Result<FieldValidation, FieldError> {
        match self.text("fieldValidation") {
            "" | "Warn" => Ok(FieldValidation::Warn),
            "Strict" => Ok(FieldValidation::Strict),
            "Ignore" => Ok(FieldValidation::Ignore),
            other => Err(FieldError::unsupported(
                "fieldValidation",
                other,
                &["", "Ignore", "Strict", "Warn"],
            )),
        }
    }
}

/// Validates `dryRun`: only `All` is allowed.
pub(crate) fn dry_run_cause<'a>(values: impl Iterator<Item = &'a str>) -> Option<FieldError> {
    let values: Vec<&str> = values.collect();
    if values.iter().all(|value| *value == "All") {
        return None;
    }
    // The error shows the whole list.
    Some(FieldError::unsupported_shown(
        "dryRun",
        &serde_json::Value::from(values).to_string(),
        &["All"],
    ))
}

/// The treatment of unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// `resourceVersionMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    Exact,
    NotOlderThan,
    /// Another word, which validation refuses.
    Unknown,
}

/// Options of a list or a watch.
#[derive(Debug)]
pub(crate) struct ListOptions {
    pub(crate) labels: String,
    pub(crate) fields: String,
    /// As sent: empty, `0`, or a revision.
    pub(crate) version: String,
    pub(crate) version_match: Option<Match>,
    /// The match as sent.
    match_text: String,
    /// `None`: no limit.
    pub(crate) limit: Option<usize>,
    pub(crate) continuation: String,
    pub(crate) bookmarks: bool,
    pub(crate) initial_events: Option<bool>,
    /// `None`: the server's default.
    pub(crate) timeout: Option<Duration>,
}

impl ListOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Status> {
        let match_text = query.text("resourceVersionMatch").to_owned();
        let version_match = match match_text.as_str() {
            "" => None,
            "Exact" => Some(Match::Exact),
            "NotOlderThan" => Some(Match::NotOlderThan),
            _ => Some(Match::Unknown),
        };
        let seconds = query.number("timeoutSeconds")?.filter(|seconds| *seconds != 0);
        Ok(Self {
            labels: query.text("labelSelector").to_owned(),
            fields: query.text("fieldSelector").to_owned(),
            version: query.text("resourceVersion").to_owned(),
            version_match,
            match_text,
            limit: query
                .number("limit")?
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|l| *l > 0),
            continuation: query.text("continue").to_owned(),
            bookmarks: query.flag("allowWatchBookmarks"),
            // As strconv.ParseBool. A syntax error is false.
            initial_events: query
                .get("sendInitialEvents")
                .map(|value| matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True")),
            // A negative timeout is over at once.
            timeout: seconds
                .map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0))),
        })
    }

    /// Validates the options of a list (`ValidateListOptions` of
    /// k8s.io/apimachinery/pkg/apis/meta/internalversion/validation).
    pub(crate) fn check_list(&self) -> Result<(), Status> {
        let mut causes = Vec::new();
        if let Some(version_match) = self.version_match {
            if self.version.is_empty() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                causes.push(FieldError::forbidden(MATCH, why));
            }
            if !self.continuation.is_empty() {
                causes.push(FieldError::forbidden(MATCH, MATCH_AND_CONTINUE));
            }
            if version_match == Match::Unknown {
                let supported = ["Exact", "NotOlderThan", ""];
                causes.push(FieldError::unsupported(MATCH, &self.match_text, &supported));
            }
            if version_match == Match::Exact && self.version == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                causes.push(FieldError::forbidden(MATCH, why));
            }
        }
        if self.initial_events.is_some() {
            let why = "sendInitialEvents is forbidden for list";
            causes.push(FieldError::forbidden("sendInitialEvents", why));
        }
        refuse("ListOptions", &causes)
    }

    /// Sets the default of `sendInitialEvents`: a watch from no version, or from any, begins with
    /// initial events (`SetListOptionsDefaults` of
    /// k8s.io/apimachinery/pkg/apis/meta/internalversion).
    pub(crate) fn default_watch(&mut self) {
        let unsaid = self.initial_events.is_none() && self.version_match.is_none();
        if unsaid && matches!(self.version.as_str(), "" | "0") {
            self.initial_events = Some(true);
            self.version_match = Some(Match::NotOlderThan);
        }
    }

    /// Validates the options of a watch.
    pub(crate) fn check_watch(&self) -> Result<(), Status> {
        let mut causes = Vec::new();
        let not_older = self.version_match == Some(Match::NotOlderThan);
        if self.initial_events.is_some() && !not_older {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            causes.push(FieldError::forbidden(MATCH, why));
        }
        if self.version_match.is_some() {
            if self.initial_events.is_none() {
                let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                causes.push(FieldError::forbidden(MATCH, why));
            }
            if !not_older {
                causes.push(FieldError::unsupported(MATCH, &self.match_text, &["NotOlderThan"]));
            }
            if !self.continuation.is_empty() {
                causes.push(FieldError::forbidden(MATCH, MATCH_AND_CONTINUE));
            }
        }
        refuse("ListOptions", &causes)
    }
}

const MATCH: &str = "resourceVersionMatch";
const MATCH_AND_CONTINUE: &str = "resourceVersionMatch is forbidden when continue is provided";

/// Returns all errors of the options as one.
pub(crate) fn refuse(options: &str, causes: &[FieldError]) -> Result<(), Status> {
    if causes.is_empty() { Ok(()) } else { Err(Status::contradictory_options(options, causes)) }
}
