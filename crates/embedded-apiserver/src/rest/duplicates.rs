//! Finds duplicate members in a JSON body, which the parser accepts silently. Pure.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::api::recorded::types::{TYPES, Type};
use crate::strategy::resource::ServedResource;

/// The largest number of warnings in one response.
const MOST: usize = 64;
/// The longest path in a warning, in bytes.
const MOST_BYTES: usize = 1024;

/// The warnings of sigs.k8s.io/json: the first duplicates, each once, in the order of the body.
pub(crate) fn find(body: &[u8], shape: Shape) -> Vec<String> {
    let mut walk = Walk { path: Vec::new(), found: Vec::new() };
    let mut json = serde_json::Deserializer::from_slice(body);
    // The body is known to be JSON.
    let _checked = Step { walk: &mut walk, shape }.deserialize(&mut json);
    walk.found
}

/// The Go type into which a part of the body is decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// An unknown type, as in custom objects.
    Any,
    One(Type),
    ListOf(Type),
    MapOf(Type),
}

impl Shape {
    /// The type of the objects of a kind.
    pub(crate) fn of(kind: &ServedResource) -> Self {
        let message = kind.message();
        message.map_or(Self::Any, |message| Self::One(Type::Message(message)))
    }

    fn member(self, name: &str) -> Self {
        match self {
            Self::One(Type::Message(message) | Type::SchemaOr(_, message)) => {
                match TYPES.message(message).and_then(|message| message.member(name)) {
                    None => Self::Any,
                    Some(field) if field.presence.is_list() => Self::ListOf(field.of),
                    Some(field) if field.presence.is_map() => Self::MapOf(field.of),
                    Some(field) => Self::One(field.of),
                }
            }
            Self::MapOf(value) => Self::One(value),
            _ => Self::Any,
        }
    }

    const fn item(self) -> Self {
        match self {
            Self::ListOf(item) => Self::One(item),
            Self::One(Type::SchemaOr(_, schema)) => Self::One(Type::Message(schema)),
            _ => Self::Any,
        }
    }

    /// Whether the type has its own JSON decoder, which finds no duplicates.
    const fn decodes_itself(self) -> bool {
        matches!(self, Self::One(Type::Json | Type::SchemaOr(..)))
    }
}

/// Parses the body, and tells whether an object has a duplicate member. The last one wins.
///
/// # Errors
///
/// The body is not JSON.
pub(crate) fn read(body: &[u8]) -> Result<(Value, bool), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let mut twice = false;
    let value = Reading { twice: &mut twice }.deserialize(&mut json)?;
    json.end()?;
    Ok((value, twice))
}

struct Reading<'a> {
    /// Set when a member is found a second time.
    twice: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element_seed(Reading { twice: &mut *self.twice })? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(Reading { twice: &mut *self.twice })?;
            *self.twice |= read.insert(name, value).is_some();
        }
        Ok(Value::Object(read))
    }
}

struct Walk {
    /// The current path: `.member` or `[index]` each.
    path: Vec<String>,
    found: Vec<String>,
}

impl Walk {
    fn say(&mut self) {
        let mut path = String::new();
        for part in &self.path {
            // A long part is cut now: a body may repeat it 100,000 times.
            let room = MOST_BYTES.saturating_sub(path.len());
            if part.len() > room {
                path.push_str(part.get(..part.floor_char_boundary(room)).unwrap_or_default());
                path.push_str("...");
                break;
            }
            path.push_str(part);
        }
        let path = path.strip_prefix('.').unwrap_or(&path);
        let why = format!("duplicate field {path:?}");
        if self.found.len() < MOST && !self.found.contains(&why) {
            self.found.push(why);
        }
    }
}

struct Step<'a> {
    walk: &'a mut Walk,
    shape: Shape,
}

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if self.shape.decodes_itself() {
            return json.deserialize_ignored_any(IgnoredAny).map(drop);
        }
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for at in 0_usize.. {
            self.walk.path.push(format!("[{at}]"));
            if items
                .next_element_seed(Step { walk: &mut *self.walk, shape: self.shape.item() })?
                .is_none()
            {
                break;
            }
            self.walk.path.pop();
        }
        self.walk.path.pop();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(member) = members.next_key::<String>()? {
            if self.walk.found.len() >= MOST {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let shape = self.shape.member(&member);
            self.walk.path.push(format!(".{member}"));
            if !seen.insert(member) {
                self.walk.say();
            }
            members.next_value_seed(Step { walk: &mut *self.walk, shape })?;
            self.walk.path.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, find, read};
    use crate::api::recorded::types::{TYPES, Type};

    #[test]
    fn what_a_type_decodes_by_itself_is_not_looked_into() {
        let message = TYPES.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
        let shape = Shape::One(Type::Message(message));
        for (schema, found) in [
            (r#"{"type":"a","type":"b"}"#, vec!["type"]),
            (r#"{"items":{"type":"a","type":"b"}}"#, vec![]),
            (r#"{"items":{"type":"a"},"items":{"title":"t"}}"#, vec!["items"]),
            (r#"{"items":[{"not":{"type":"a"},"not":{"title":"b"}}]}"#, vec![]),
            (r#"{"default":{"a":{"b":1},"a":{"c":1}}}"#, vec![]),
            (r#"{"default":{"a":1},"default":{"b":1}}"#, vec!["default"]),
            (r#"{"properties":{"a":{"type":"a"}},"properties":{"b":{}}}"#, vec!["properties"]),
            (r#"{"properties":{"a":{"type":"a"},"a":{"title":"b"}}}"#, vec!["properties.a"]),
        ] {
            let body = format!(
                r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
            );
            let said = found.iter().map(|path| {
                format!("duplicate field \"spec.versions[0].schema.openAPIV3Schema.{path}\"")
            });
            assert_eq!(find(body.as_bytes(), shape), said.collect::<Vec<_>>(), "{schema}");
        }
    }

    #[test]
    fn what_is_read_is_what_the_parser_makes_of_it_and_is_told_apart_from_what_has_a_member_twice()
    {
        for (body, is_twice) in [
            (
                r#"{"a":{"b":[1,-2,2.5,1e3,18446744073709551615]},"b":{"a":null,"b":true},"c":"\u00e4\n"}"#,
                false,
            ),
            (r#"[{"a":1},{"a":1}]"#, false),
            (r#"{"a":{"a":1,"b":2,"a":3}}"#, true),
            (r#"{"a":{"b":1},"a":{"c":[{}]}}"#, true),
            (r#" [{"a":1,"a":1}] "#, true),
        ] {
            let parsed: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(read(body.as_bytes()).unwrap(), (parsed, is_twice), "{body}");
            assert_eq!(!find(body.as_bytes(), Shape::Any).is_empty(), is_twice, "{body}");
        }
        for body in
            ["", "{", "{}{}", "[1,]", "{\"a\":1e999}", "{\"a\":\"\u{1}\"}", &"[".repeat(200)]
        {
            let why = serde_json::from_str::<serde_json::Value>(body).unwrap_err();
            assert_eq!(read(body.as_bytes()).unwrap_err().to_string(), why.to_string(), "{body}");
        }
    }

    #[test]
    fn each_member_that_comes_twice_is_said_once_with_its_path() {
        let body = br#"{"a":1,"b":[{"x":1},{"x":{"y":1,"y":2.5,"y":null}}],"c":{"a":1},"a":true,"d":{"b":"","b":[]},"d":0}"#;
        let said = ["b[1].x.y", "a", "d.b", "d"].map(|path| format!("duplicate field \"{path}\""));
        assert_eq!(find(body, Shape::Any), said);
        assert!(find(br#"{"a":{"b":1},"b":{"a":1},"c":[[],{},[{}]]}"#, Shape::Any).is_empty());
    }

    #[test]
    fn of_many_the_first_are_said_and_no_path_is_long() {
        let twice =
            (0..1000).map(|at| format!("\"k{at}\":0,\"k{at}\":0")).collect::<Vec<_>>().join(",");
        let found = find(format!("{{\"{}\":{{{twice}}}}}", "x".repeat(500)).as_bytes(), Shape::Any);
        assert_eq!(found.len(), 64);
        let found = find(
            format!("{{\"{}\":{{{twice}}}}}", "\u{e4}".repeat(500_000)).as_bytes(),
            Shape::Any,
        );
        assert_eq!(found.len(), 1, "cut, they are the same");
        assert!(found[0].len() < 1100);
    }

    #[test]
    fn what_is_said_takes_no_time_that_grows_with_the_length_of_a_name() {
        // Copying each path whole would take 70 GB.
        let twice = vec!["\"a\":0"; 100_000].join(",");
        let body = format!("{{\"{}\":{{{twice}}}}}", "k".repeat(700_000));
        assert_eq!(find(body.as_bytes(), Shape::Any).len(), 1);
    }
}
