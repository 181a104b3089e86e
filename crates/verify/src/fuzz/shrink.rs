//! A sequence that disagrees, with everything left out that it does not need.

use serde_json::Value;

use crate::fuzz::call::{Body, Call, Request, What};
use crate::fuzz::play::{Disagreement, Pair};

/// Played sequences that one may cost.
const MOST: usize = 250;

/// The smallest sequence that still disagrees, and how.
pub(super) async fn smallest(
    pair: &Pair,
    calls: Vec<Call>,
    first: Disagreement,
) -> (Vec<Call>, Disagreement) {
    let mut search = Search { pair, calls, found: first, left: MOST };
    search.cut();
    search.drop_calls().await;
    search.simplify().await;
    search.drop_calls().await;
    (search.calls, search.found)
}

struct Search<'a> {
    pair: &'a Pair,
    calls: Vec<Call>,
    found: Disagreement,
    left: usize,
}

impl Search<'_> {
    /// What comes after the call that disagrees has no part in it, unless it is a watch, which is
    /// read at its end.
    fn cut(&mut self) {
        let is_watch =
            self.calls.get(self.found.at).is_some_and(|call| matches!(call.what, What::Watch(_)));
        if !is_watch {
            self.calls.truncate(self.found.at + 1);
        }
    }

    async fn attempt(&mut self, calls: Vec<Call>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        match self.pair.play(&calls).await.disagreement {
            // One of another sort would lead away from what was found.
            Some(found) if found.place() == self.found.place() => {
                (self.calls, self.found) = (calls, found);
                self.cut();
                true
            }
            _ => false,
        }
    }

    async fn drop_calls(&mut self) {
        let mut size = (self.calls.len() / 2).max(1);
        loop {
            let mut end = self.calls.len();
            while end > 0 {
                let begin = end.saturating_sub(size);
                let mut fewer = self.calls.clone();
                fewer.drain(begin..end.min(fewer.len()));
                if !fewer.is_empty() {
                    self.attempt(fewer).await;
                }
                end = begin.min(self.calls.len());
            }
            if size == 1 {
                return;
            }
            size /= 2;
        }
    }

    async fn simplify(&mut self) {
        let mut at = 0;
        while at < self.calls.len() {
            let mut step = 0;
            while let Some(simpler) = self.calls.get(at).and_then(|call| simpler(call, step)) {
                let mut calls = self.calls.clone();
                let same = calls[at] == simpler;
                calls[at] = simpler;
                if same || !self.attempt(calls).await {
                    step += 1;
                }
            }
            at += 1;
        }
    }
}

/// The call with one thing left out; nothing when there is no such thing left.
fn simpler(call: &Call, step: usize) -> Option<Call> {
    let (What::Send(request) | What::Watch(request)) = &call.what else { return None };
    let mut simple: Request = request.clone();
    let mut step = step;
    if step < simple.query.len() {
        // Whose objects are meant stays: others play at the same time.
        if simple.query[step].1.contains("{own}") {
            return Some(call.clone());
        }
        simple.query.remove(step);
    } else {
        step -= simple.query.len();
        let (Body::Json(body) | Body::Yaml(body)) = &mut simple.body else { return None };
        let mut places = Vec::new();
        leaves(body, String::new(), &mut places);
        let place = places.get(step)?.clone();
        remove(body, &place);
    }
    let what = match &call.what {
        What::Watch(_) => What::Watch(simple),
        _ => What::Send(simple),
    };
    Some(Call { id: call.id, what })
}

/// Members and elements, outer before inner.
fn leaves(value: &Value, at: String, out: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                (format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), value)
            })
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (format!("{at}/{index}"), value))
            .collect(),
        _ => Vec::new(),
    };
    // What an object is stays: without it the real server says something else, and that first.
    let named =
        |place: &str| !matches!(place, "/apiVersion" | "/kind" | "/metadata" | "/metadata/name");
    out.extend(children.iter().map(|(place, _)| place.clone()).filter(|place| named(place)));
    for (place, value) in children {
        leaves(value, place, out);
    }
}

fn remove(value: &mut Value, place: &str) {
    let Some((parent, last)) = place.rsplit_once('/') else { return };
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            drop(members.remove(&last.replace("~1", "/").replace("~0", "~")))
        }
        Some(Value::Array(items)) => {
            if let Ok(index) = last.parse::<usize>() {
                items.remove(index);
            }
        }
        _ => {}
    }
}
