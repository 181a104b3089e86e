//! Converts YAML to JSON text, and JSON to YAML.

use std::fmt;
use std::thread;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Options};

use k8s_value::go_json;
use k8s_value::json_text::READABLE_DEPTH;

/// The parser is recursive and takes 26 KiB a level without optimization. That exceeds a
/// worker's stack.
const STACK: usize = 16 << 20;

/// Runs the recursive parser on a large enough stack.
fn deep<T: Send>(run: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let room = thread::Builder::new()
            .name("yaml".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, run);
        let ended = room.map_err(|error| format!("no thread to read it: {error}"))?.join();
        ended.unwrap_or_else(|_| Err("it cannot be read".to_owned()))
    })
}

/// Converts the first document. Keeps duplicate members. An empty document is `null`.
pub(crate) fn to_json(yaml: &[u8]) -> Result<Vec<u8>, String> {
    deep(|| {
        let mut reader = yaml;
        match serde_saphyr::read_with_options::<_, Json>(
            &mut reader,
            options(DuplicateKeyPolicy::PassThrough),
        )
        .next()
        {
            Some(Ok(Json(text))) => Ok(text),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(b"null".to_vec()),
        }
    })
}

/// Whether the error is the depth limit of this server. Upstream reads more levels.
pub(crate) fn is_too_deep(why: &str) -> bool {
    why.starts_with("budget breached: Depth") || why.starts_with("recursion limit exceeded")
}

/// The first duplicate member, and the line of the duplicate.
pub(crate) fn first_duplicate(yaml: &[u8]) -> Option<(String, u64)> {
    let text = std::str::from_utf8(yaml).ok()?;
    let found = deep(|| {
        let options = options(DuplicateKeyPolicy::Error);
        let read = serde_saphyr::from_str_with_options::<serde::de::IgnoredAny>(text, options);
        Ok(read.err().and_then(|error| {
            let line = error.location()?.line();
            match error.without_snippet() {
                serde_saphyr::Error::DuplicateMappingKey { key, .. } => {
                    Some((key.clone().unwrap_or_default(), line))
                }
                _ => None,
            }
        }))
    });
    found.ok().flatten()
}

/// Converts all documents that are not empty.
pub(crate) fn documents(yaml: &str) -> Result<Vec<Vec<u8>>, String> {
    let documents: Vec<Json> = deep(|| {
        serde_saphyr::from_multiple_with_options(yaml, options(DuplicateKeyPolicy::PassThrough))
            .map_err(|error| error.to_string())
    })?;
    Ok(documents.into_iter().map(|Json(text)| text).filter(|text| text != b"null").collect())
}

/// Converts a value to a YAML document. Members are sorted by name.
pub(crate) fn from_json(value: &Value) -> Result<String, String> {
    let options = serde_saphyr::ser_options! { compact_list_indent: true };
    deep(|| serde_saphyr::to_string_with_options(value, options).map_err(|error| error.to_string()))
}

fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: READABLE_DEPTH, max_nodes: 1_000_000 },
        duplicate_keys: duplicate_keys,
        with_snippet: false,
    }
}

/// JSON text that is written while YAML is parsed.
struct Json(Vec<u8>);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::new();
        Into(&mut text).deserialize(deserializer)?;
        Ok(Self(text))
    }
}

/// Appends a value to a text.
struct Into<'a>(&'a mut Vec<u8>);

impl Into<'_> {
    fn write(self, value: impl serde::Serialize) -> Result<(), serde_json::Error> {
        serde_json::to_writer(self.0, &value)
    }
}

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has too")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.write(()).map_err(E::custom)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.write(value).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.write(value).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.write(value).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        if !value.is_finite() {
            return Err(E::custom(format_args!("{value} is no number that JSON has")));
        }
        // Go writes and reads a whole float as an integer.
        self.write(go_json::stored_float(value)).map_err(E::custom)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.write(value).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let text = self.0;
        text.push(b'[');
        let first = text.len();
        loop {
            let end = text.len();
            if end > first {
                text.push(b',');
            }
            if items.next_element_seed(Into(text))?.is_none() {
                text.truncate(end);
                break;
            }
        }
        text.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let text = self.0;
        text.push(b'{');
        let mut first = true;
        while let Some(name) = members.next_key_seed(Name)? {
            if !std::mem::take(&mut first) {
                text.push(b',');
            }
            serde_json::to_writer(&mut *text, &name).map_err(A::Error::custom)?;
            text.push(b':');
            members.next_value_seed(Into(text))?;
        }
        text.push(b'}');
        Ok(())
    }
}

/// The name of a member. As in sigs.k8s.io/yaml, numbers and booleans become text.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Name {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<String, E> {
        Ok(value.to_owned())
    }
}

#[cfg(test)]
mod tests;
