//! Decodes an object without its `metadata.managedFields`, which are skipped in the JSON.
//!
//! As a tree of values they take ten times the memory of their JSON, and longer to decode than the
//! rest of many an object. Keys are compared at two levels; all else is the inner deserializer's.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

/// Decodes an object and skips its managed fields.
pub(super) fn skipped<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    object: D,
) -> Result<T, D::Error> {
    T::deserialize(Skipping { inner: object, level: Level::Object, is_found: false })
}

/// The map that is read.
#[derive(Clone, Copy)]
enum Level {
    Object,
    Metadata,
}

/// A deserializer, visitor, map or seed of serde, wrapped.
struct Skipping<T> {
    inner: T,
    level: Level,
    /// Of a map: the last key is that of the level.
    is_found: bool,
}

impl<T> Skipping<T> {
    fn at<U>(&self, inner: U) -> Skipping<U> {
        Skipping { inner, level: self.level, is_found: false }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Skipping<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.at(visitor);
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.at(visitor);
        self.inner.deserialize_option(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.at(visitor);
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// An object, or none: nothing else is one.
impl<'de, V: Visitor<'de>> Visitor<'de> for Skipping<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let map = self.at(map);
        self.inner.visit_map(map)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.at(value);
        self.inner.visit_some(value)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.at(value);
        self.inner.visit_newtype_struct(value)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }
}

/// Text of the input, copied only if it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Skipping<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(Text(key)) = self.inner.next_key()? else { return Ok(None) };
        self.is_found = key
            == match self.level {
                Level::Object => "metadata",
                Level::Metadata => "managedFields",
            };
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        if !self.is_found {
            return self.inner.next_value_seed(seed);
        }
        match self.level {
            Level::Object => {
                let level = Level::Metadata;
                self.inner.next_value_seed(Skipping { inner: seed, level, is_found: false })
            }
            Level::Metadata => {
                self.inner.next_value::<IgnoredAny>()?;
                seed.deserialize(().into_deserializer())
            }
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Skipping<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        let value = self.at(value);
        self.inner.deserialize(value)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{DynamicObject, Object, ObjectMeta, PartialObjectMeta, Resource};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    const MANAGED: &str = r#"[{"manager":"m","fieldsV1":{"f:data":{"f:a":{}}}}]"#;

    fn text(managed: &str) -> String {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","managedFields":{managed},"labels":
            {{"managedFields":"kept"}},"uid":"\u0031"}},"data":{{"managedFields":"kept","metadata":"\n"}}}}"#
        )
    }

    /// As without them, and without them.
    fn agrees<K: Resource + DeserializeOwned + serde::Serialize>(text: &str) {
        let mut whole: K = serde_json::from_str(text).unwrap();
        let left: K = skipped(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert!(left.meta().managed_fields.is_none());
        whole.meta_mut().managed_fields = None;
        let value = |object: &K| serde_json::to_value(object).unwrap();
        assert_eq!(value(&left), value(&whole));
        assert_eq!(left.meta().labels.iter().flatten().count(), 1, "labels stay");
        // serde reads buffered content where a type is flattened or tagged.
        let tree: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value(&skipped(&tree).unwrap()), value(&whole));
    }

    #[test]
    fn only_the_managed_fields_of_the_metadata_are_left_out() {
        for managed in [MANAGED, "null", "[]"] {
            agrees::<ConfigMap>(&text(managed));
            agrees::<DynamicObject>(&text(managed));
            agrees::<PartialObjectMeta<ConfigMap>>(&text(managed));
            agrees::<Object<Value, Value>>(&text(managed).replace("\"data\"", "\"spec\""));
        }
    }

    #[test]
    fn managed_fields_of_another_form_fail_no_object_and_other_faults_are_those_of_the_kind() {
        assert!(serde_json::from_str::<ConfigMap>(&text("7")).is_err());
        agrees_on_name(&text("7"));
        for broken in [json!([]), json!("a"), json!({"metadata": 7}), json!({"data": 7})] {
            let error = skipped::<ConfigMap, _>(&broken).unwrap_err().to_string();
            let of_kind = serde_json::from_value::<ConfigMap>(broken).unwrap_err().to_string();
            assert_eq!(error, of_kind);
        }
        let none = json!({"metadata": null});
        assert_eq!(skipped::<ConfigMap, _>(&none).unwrap().metadata, ObjectMeta::default());
    }

    fn agrees_on_name(text: &str) {
        let map: ConfigMap = skipped(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert_eq!(map.metadata.name.as_deref(), Some("a"));
    }
}
