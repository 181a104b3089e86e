//! The trace of a run in one number: a hash over arrivals, ends and lines of watches, in order.
//! Pure.

use super::entry::Outcome;
use crate::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use std::time::Duration;

/// The hash so far. It must not depend on the machine, as those of the standard library may. A
/// client gains nothing by a collision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace(u64);

/// An odd number without pattern: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Default for Trace {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Trace {
    pub(super) const fn hash(self) -> u64 {
        // The last words have not been spread over all bits yet.
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(FACTOR);
        mixed ^ (mixed >> 29)
    }

    pub(super) const fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.word(u64::from_le_bytes(last));
        // So that zeros at the end count.
        self.word(bytes.len() as u64);
    }

    fn moment(&mut self, what: &str, seq: u64, elapsed: Duration) {
        self.bytes(what.as_bytes());
        self.word(seq);
        self.word(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn arrived(&mut self, seq: u64, elapsed: Duration, user: &str, content: u64) {
        self.moment("arrived", seq, elapsed);
        self.bytes(user.as_bytes());
        self.word(content);
    }

    pub(super) fn ended(
        &mut self,
        seq: u64,
        elapsed: Duration,
        outcome: Outcome,
        fault: Option<&str>,
        answer: u64,
    ) {
        self.moment("ended", seq, elapsed);
        self.word(match outcome {
            Outcome::Pending => 0,
            Outcome::Disconnected => 1,
            Outcome::Abandoned => 2,
            Outcome::Answered(status) => u64::from(status),
        });
        self.bytes(fault.unwrap_or_default().as_bytes());
        self.word(answer);
    }

    pub(super) fn chunk(&mut self, seq: u64, elapsed: Duration, content: u64) {
        self.moment("chunk", seq, elapsed);
        self.word(content);
    }

    fn headers(&mut self, headers: &HeaderMap, which: &[header::HeaderName]) {
        for name in which {
            for value in headers.get_all(name) {
                self.bytes(name.as_str().as_bytes());
                self.bytes(value.as_bytes());
            }
        }
    }
}

/// The hash of a request, without its user.
pub(crate) fn of_request(request: &Request<Bytes>) -> u64 {
    let mut trace = Trace::default();
    trace.bytes(request.method().as_str().as_bytes());
    trace.bytes(request.uri().path().as_bytes());
    trace.bytes(request.uri().query().unwrap_or_default().as_bytes());
    trace.headers(request.headers(), &[header::ACCEPT, header::CONTENT_TYPE]);
    // The impersonated user: names, groups, and extras by names of the client's own.
    let impersonated =
        request.headers().iter().filter(|(name, _)| name.as_str().starts_with("impersonate-"));
    for (name, value) in impersonated {
        trace.bytes(name.as_str().as_bytes());
        trace.bytes(value.as_bytes());
    }
    trace.bytes(request.body());
    trace.hash()
}

/// The hash of an answer, without its code.
pub(super) fn of_answer(response: &Response<Body>) -> u64 {
    let mut trace = Trace::default();
    trace
        .headers(response.headers(), &[header::CONTENT_TYPE, header::RETRY_AFTER, header::WARNING]);
    match response.body().bytes() {
        Some(bytes) => trace.bytes(bytes),
        None => trace.word(u64::from(response.body().is_stream())),
    }
    trace.hash()
}
