//! Every verb with every reason that it can be refused for: each must be seen by a case that passes
//! on both servers.

use crate::conformance::seen::Verb;

/// A reason, its code, and the verbs that meet it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Refusal {
    /// The HTTP status code.
    pub code: u16,
    /// The `reason` of the `Status`; empty where the real server gives none.
    pub reason: &'static str,
    /// The verbs.
    pub verbs: &'static [Verb],
}

use Verb::{
    Apply, Create, Delete, DeleteCollection, Get, JsonPatch, List, MergePatch, StrategicPatch,
    Update, Watch,
};

const BUT_GET: &[Verb] = Verb::ALL.split_at(1).1;
const WRITES: &[Verb] = Verb::ALL.split_at(3).1;
/// Writes but creates.
const OF_WHAT_IS_THERE: &[Verb] = Verb::ALL.split_at(4).1;

const fn refusal(code: u16, reason: &'static str, verbs: &'static [Verb]) -> Refusal {
    Refusal { code, reason, verbs }
}

/// What can happen. 429 and 503 come from a server's load, which no request brings about: they are
/// faults here.
pub const REFUSALS: [Refusal; 14] = [
    refusal(400, "BadRequest", &Verb::ALL),
    refusal(401, "Unauthorized", &Verb::ALL),
    refusal(403, "Forbidden", &Verb::ALL),
    refusal(404, "NotFound", &Verb::ALL),
    refusal(
        405,
        "MethodNotAllowed",
        &[
            Get,
            Create,
            Update,
            MergePatch,
            JsonPatch,
            StrategicPatch,
            Apply,
            Delete,
            DeleteCollection,
        ],
    ),
    refusal(406, "NotAcceptable", &Verb::ALL),
    refusal(409, "AlreadyExists", &[Create]),
    refusal(409, "Conflict", OF_WHAT_IS_THERE),
    // A watch says it in its stream.
    refusal(410, "Expired", &[List]),
    refusal(413, "RequestEntityTooLarge", WRITES),
    refusal(
        415,
        "UnsupportedMediaType",
        &[Create, Update, StrategicPatch, Delete, DeleteCollection],
    ),
    refusal(422, "Invalid", BUT_GET),
    refusal(500, "", &[Get, Watch, Create, Update, MergePatch, JsonPatch, StrategicPatch, Apply]),
    refusal(504, "Timeout", &[Get, List]),
];
