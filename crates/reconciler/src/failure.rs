//! `Failure`: a reconcile that did not succeed, and whether to try again.

use std::fmt;
use std::time::Duration;

use kube::core::Status;

/// The longest wait that an answer of the API server can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Any error that may cross threads.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A reconcile that failed. `?` makes it from any error, and the key is retried with back-off.
///
/// An error of the API server, also inside another error, decides the next step:
///
/// | answer | key |
/// | --- | --- |
/// | 409: the object has changed | is retried with back-off; a conflict, no error and no warning |
/// | 403 because the namespace terminates | is parked |
/// | any other with `retryAfterSeconds` | is retried after that time, at most after 60 s |
/// | any other | is retried with back-off; the text of a 403 names the rule to grant |
///
/// The log has a warning at the failures 1, 2, 4, 8 and so on of a key in a row, the others at
/// `debug`.
///
/// ```
/// use std::time::Duration;
/// use reconciler::{Action, Failure};
///
/// fn step(text: &str) -> Result<Action, Failure> {
///     let seconds: u64 = text.parse()?; // tried again, later and later
///     if seconds > 3600 {
///         return Err(Failure::terminal("more than an hour")); // given up until it changes
///     }
///     Ok(Action::requeue(Duration::from_secs(seconds)))
/// }
/// assert!(step("7200").unwrap_err().is_terminal());
/// ```
#[doc(alias = "TerminalError")]
pub struct Failure {
    error: BoxError,
    then: Then,
}

/// The next step after a failed reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Retry after the limiter's delay.
    Retry,
    /// Retry after this delay instead of the limiter's.
    RetryAfter(Duration),
    /// A conflict: retry after the limiter's delay.
    Conflict,
    /// Park until a source names the key again.
    GiveUp,
}

impl Then {
    fn of_status(status: &Status) -> Self {
        let details = status.details.as_ref();
        let seconds = details.map_or(0, |details| details.retry_after_seconds);
        let wait = Duration::from_secs(seconds.into()).min(LONGEST_WAIT);
        let mut causes = details.into_iter().flat_map(|details| &details.causes);
        match status.code {
            409 => Self::Conflict,
            403 if causes.any(|cause| cause.reason == "NamespaceTerminating") => Self::GiveUp,
            _ if !wait.is_zero() => Self::RetryAfter(wait),
            _ => Self::Retry,
        }
    }
}

/// The error and its sources.
fn chain<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// The answer of the API server that is this error, if it is one.
fn answer<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Status> {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) => Some(status),
        _ => error.downcast_ref(),
    }
}

/// The remedy, where the answer of the API server shows it.
fn remedy(status: &Status) -> Option<String> {
    match status.code {
        // The path of a kind that the server does not serve.
        404 if status.message.starts_with("404 page not found") => {
            Some("the server does not have this kind: install its definition".to_owned())
        }
        // `User "u" cannot create resource "secrets" in API group "" in the namespace "n"`
        403 => {
            let (verb, said) = status.message.split_once(" cannot ")?.1.split_once(' ')?;
            let mut quoted = said.strip_prefix("resource ")?.split('"').skip(1).step_by(2);
            let (resource, group) = (quoted.next()?, quoted.next()?);
            Some(format!(
                "grant verbs: [{verb}], resources: [{resource}], apiGroups: [\"{group}\"]"
            ))
        }
        _ => None,
    }
}

impl Failure {
    /// Creates a failure that a retry cannot cure. The key is parked until a source names it again,
    /// and its count of failures is cleared.
    pub fn terminal(error: impl Into<BoxError>) -> Self {
        Self { error: error.into(), then: Then::GiveUp }
    }

    /// Creates a failure that is retried after this delay instead of the limiter's. It counts as a
    /// failure.
    pub fn retry_after(error: impl Into<BoxError>, after: Duration) -> Self {
        Self { error: error.into(), then: Then::RetryAfter(after) }
    }

    /// Creates a failure that is retried with back-off, regardless of the error.
    pub fn retry(error: impl Into<BoxError>) -> Self {
        Self { error: error.into(), then: Then::Retry }
    }

    /// Returns whether the key is parked until it changes.
    pub fn is_terminal(&self) -> bool {
        self.then == Then::GiveUp
    }

    /// Returns the error.
    pub fn error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.error
    }

    /// Returns the answer of the API server, if the error is one or has one inside.
    pub fn status(&self) -> Option<&Status> {
        chain(&*self.error).find_map(answer)
    }

    /// Returns the failure as a [`std::error::Error`], for code that needs one. `?` makes the
    /// failure from it again, also if it is inside another error.
    pub fn into_error(self) -> FailureError {
        FailureError(self)
    }

    pub(crate) fn then(&self) -> Then {
        self.then
    }
}

// `Failure` does not implement `Error`: this conversion would overlap with the identity, as in
// anyhow.
impl<E: Into<BoxError>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let then = chain(&*error).find_map(|error| match error.downcast_ref() {
            Some(FailureError(failure)) => Some(failure.then),
            None => answer(error).map(Then::of_status),
        });
        Self { then: then.unwrap_or(Then::Retry), error }
    }
}

/// A [`Failure`] as a [`std::error::Error`]. Made by [`Failure::into_error`].
pub struct FailureError(Failure);

impl std::error::Error for FailureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0.error)
    }
}

impl fmt::Debug for FailureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for FailureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure").field("error", &self.error).field("then", &self.then).finish()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Chain(&*self.error).to_string();
        f.write_str(&shown)?;
        match self.status().and_then(remedy).filter(|remedy| !shown.contains(remedy)) {
            Some(remedy) => write!(f, ": {remedy}"),
            None => Ok(()),
        }
    }
}

/// Prints an error with its sources, each once: many errors already print their source. Of an
/// answer of the API server it prints the message and the code.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn std::error::Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = String::new();
        for error in chain(self.0) {
            let status = answer(error);
            let text = match status {
                Some(status) => format!("{} ({} {})", status.message, status.code, status.reason),
                None => error.to_string(),
            };
            if !shown.contains(&text) {
                shown.push_str(if shown.is_empty() { "" } else { ": " });
                shown.push_str(&text);
            }
            if status.is_some() {
                break; // Its source is the same once more.
            }
        }
        f.write_str(&shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, details: serde_json::Value) -> kube::Error {
        let status = serde_json::json!({
            "status": "Failure", "message": "no", "reason": "X", "code": code, "details": details,
        });
        kube::Error::Api(serde_json::from_value(status).expect("it is a status"))
    }

    #[test]
    fn an_answer_of_the_server_says_what_comes_next() {
        let terminating = serde_json::json!({"causes": [
            {"reason": "NamespaceTerminating", "message": "m", "field": "metadata.namespace"}
        ]});
        let after = serde_json::json!({"retryAfterSeconds": 30});
        let century = serde_json::json!({"retryAfterSeconds": u32::MAX});
        let table = [
            (answer(409, serde_json::Value::Null), Then::Conflict),
            (answer(429, after.clone()), Then::RetryAfter(Duration::from_secs(30))),
            (answer(503, after.clone()), Then::RetryAfter(Duration::from_secs(30))),
            (answer(500, after), Then::RetryAfter(Duration::from_secs(30))),
            (answer(429, century), Then::RetryAfter(Duration::from_secs(60))),
            (answer(429, serde_json::Value::Null), Then::Retry),
            (answer(403, terminating), Then::GiveUp),
            (answer(403, serde_json::Value::Null), Then::Retry),
            (answer(404, serde_json::Value::Null), Then::Retry),
        ];
        for (error, then) in table {
            let shown = error.to_string();
            assert_eq!(Failure::from(error).then(), then, "{shown}");
        }
    }

    #[derive(Debug)]
    struct Outer(BoxError);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("outer")
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&*self.0)
        }
    }

    #[test]
    fn it_is_read_inside_other_errors_too_unless_the_reconciler_says_otherwise() {
        let conflict = || Outer(answer(409, serde_json::Value::Null).into());
        assert_eq!(Failure::from(conflict()).then(), Then::Conflict);
        assert!(Failure::terminal(conflict()).is_terminal());
        assert_eq!(Failure::retry(conflict()).then(), Then::Retry);
        // An error that can be cloned keeps the answer, not the client's error.
        let kube::Error::Api(status) = answer(409, serde_json::Value::Null) else { panic!() };
        assert_eq!(Failure::from(Outer((*status).into())).then(), Then::Conflict);
    }

    #[test]
    fn a_failure_keeps_its_class_through_other_code() {
        let (minute, terminal) = (Duration::from_secs(60), || Failure::terminal("no such image"));
        let later = Failure::retry_after("busy", minute).into_error();
        assert_eq!(Failure::from(later).then(), Then::RetryAfter(minute));
        let failure = Failure::from(Outer(terminal().into_error().into()));
        assert!(failure.is_terminal());
        assert_eq!(failure.to_string(), "outer: no such image");
        let conflict = answer(409, serde_json::Value::Null);
        let retried = Failure::from(Failure::retry(conflict).into_error());
        assert_eq!(retried.then(), Then::Retry);
        assert_eq!(retried.status().map(|status| status.code), Some(409));
    }

    #[test]
    fn a_refusal_names_its_remedy() {
        let said = |code: u16, message: &str| {
            let status = serde_json::json!({"code": code, "message": message, "reason": "X"});
            let status = serde_json::from_value(status).expect("it is a status");
            Failure::from(kube::Error::Api(status)).to_string()
        };
        let user = r#"User "system:serviceaccount:a:b""#;
        let rbac = |resource: &str, group: &str| {
            format!(
                r#"{user} cannot patch resource "{resource}" in API group "{group}" in the namespace "n""#
            )
        };
        let message = rbac("foos/status", "example.com");
        assert_eq!(
            said(403, &message),
            format!(
                r#"{message} (403 X): grant verbs: [patch], resources: [foos/status], apiGroups: ["example.com"]"#
            )
        );
        let message = rbac("secrets", "");
        let whole = said(403, &message);
        assert!(whole.ends_with(r#"resources: [secrets], apiGroups: [""]"#));
        let status = serde_json::json!({"code": 403, "message": message, "reason": "X"});
        let status: Status = serde_json::from_value(status).expect("it is a status");
        let said_before = Outer(status.into());
        assert_eq!(Failure::from(said_before).to_string(), format!("outer: {whole}"));
        assert_eq!(said(403, "quota exceeded"), "quota exceeded (403 X)");
        let kind = said(404, "404 page not found\n");
        assert!(kind.ends_with("the server does not have this kind: install its definition"));
        assert_eq!(said(404, "foos \"a\" not found"), "foos \"a\" not found (404 X)");
    }
}
