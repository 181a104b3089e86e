//! Members: a JSON object as Go's `encoding/json` reads it into a struct.

use std::fmt;

use k8s_openapi::serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// The members of a JSON object in the order of the text: Go reads a repeated name twice.
pub(super) struct Members(Vec<(String, Value)>);

impl Members {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            /// `null` changes nothing in Go.
            fn visit_unit<E>(self) -> Result<Members, E> {
                Ok(Members(Vec::new()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_any(InOrder)
    }
}

/// Compares names as Go does in JSON: without case, and two letters beyond ASCII fold to `s` and
/// `k`.
pub(super) fn is_in_any_case(found: &str, wanted: &str) -> bool {
    let fold = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    found.chars().map(fold).eq(wanted.chars().map(fold))
}
