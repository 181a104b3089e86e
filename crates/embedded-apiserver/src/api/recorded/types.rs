//! The Go types of the built-in kinds: the JSON name, protobuf number and type of each field.
//! Parsed from the recorded table; `xtask/control-plane/record-protobuf` describes its format.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::api::recorded;

/// The recursive schema type of a definition.
const SCHEMA: &str = "apiextensions/v1.JSONSchemaProps";

/// All types of the built-in kinds.
pub(crate) static TYPES: LazyLock<Types> = LazyLock::new(|| Types::parse(&recorded::PROTOBUF));

#[derive(Debug, Default)]
pub(crate) struct Types {
    kinds: HashMap<Box<str>, HashMap<Box<str>, usize>>,
    messages: Vec<Message>,
}

/// A Go struct: a message in protobuf, an object in JSON.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// Its JSON members, including those of embedded structs.
    members: HashMap<Box<str>, Field>,
    /// The members that JSON always contains, by name.
    always: Vec<(Box<str>, Always)>,
    /// The defaults of the type's schema.
    defaults: Vec<(Box<str>, Value)>,
    /// Its objects are stored as JSON, which distinguishes an empty list from an absent one.
    pub(crate) is_stored_as_json: bool,
    /// Its fields by number. Embedded structs are one field.
    fields: HashMap<u64, Field>,
}

/// The value that Go writes for an unset member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Always {
    Null,
    Text,
    False,
    Zero,
    ZeroQuantity,
    Object(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// The JSON name; `-` for an embedded struct.
    pub(crate) name: Box<str>,
    pub(crate) presence: Presence,
    /// The type of the field, of the list's items, or of the map's values.
    pub(crate) of: Type,
}

/// How Go's type represents an absent field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Present on the wire only if it is set.
    Pointer,
    /// As `Pointer`. An unset one is null in JSON.
    NullPointer,
    /// Always on the wire and in JSON.
    Value,
    /// Always on the wire. In JSON unless it is zero; structs are never zero.
    OmitEmpty,
    /// As `OmitEmpty`, but structs may be zero.
    OmitZero,
    /// An empty list is absent in JSON.
    List,
    /// An empty list is null in JSON.
    NullList,
    Map,
    NullMap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    String,
    Bytes,
    Bool,
    Int32,
    Int64,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Float64,
    /// `RawExtension`, `FieldsV1`, and `JSON` of a definition's schema.
    Json,
    /// A schema, or a simpler value: in protobuf, a message around either.
    SchemaOr(Simpler, usize),
    /// A list of texts with its own type: in protobuf, a message around it.
    Strings,
    Message(usize),
}

/// The simpler value in the place of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Simpler {
    /// `JSONSchemaPropsOrBool`
    Bool,
    /// `JSONSchemaPropsOrArray`: a list of schemas.
    Schemas,
    /// `JSONSchemaPropsOrStringArray`
    Strings,
}

impl Presence {
    pub(crate) const fn is_list(self) -> bool {
        matches!(self, Self::List | Self::NullList)
    }

    pub(crate) const fn is_map(self) -> bool {
        matches!(self, Self::Map | Self::NullMap)
    }
}

impl Message {
    pub(crate) fn member(&self, name: &str) -> Option<&Field> {
        self.members.get(name)
    }

    pub(crate) fn always(&self) -> &[(Box<str>, Always)] {
        &self.always
    }

    pub(crate) fn defaults(&self) -> &[(Box<str>, Value)] {
        &self.defaults
    }
}

impl Types {
    fn parse(text: &str) -> Self {
        let mut indices: HashMap<&str, usize> = HashMap::new();
        let names = text.lines().filter_map(|line| line.strip_prefix("message "));
        for (index, name) in names.enumerate() {
            indices.insert(name, index);
        }
        let mut types = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["kind", kind, message] => {
                    let Some((version, kind)) = kind.rsplit_once('/') else { continue };
                    if let Some(index) = indices.get(message) {
                        types.kinds.entry(version.into()).or_default().insert(kind.into(), *index);
                    }
                }
                ["default", message, member, default] => {
                    let message =
                        indices.get(message).and_then(|index| types.messages.get_mut(*index));
                    if let (Some(message), Ok(default)) = (message, serde_json::from_str(default)) {
                        message.defaults.push((member.into(), default));
                    }
                }
                ["message", name] => {
                    let is_stored_as_json = name.starts_with("apiextensions/");
                    types.messages.push(Message { is_stored_as_json, ..Message::default() });
                }
                // The Go names follow.
                [number, name, presence, of, ..] => {
                    let (Ok(number), Some(presence), Some(of), Some(message)) = (
                        number.parse(),
                        presence_of(presence),
                        type_of(of, &indices),
                        types.messages.last_mut(),
                    ) else {
                        continue;
                    };
                    message.fields.insert(number, Field { name: name.into(), presence, of });
                }
                _ => {}
            }
        }
        types.embed();
        types
    }

    /// Computes the JSON members of each message.
    fn embed(&mut self) {
        for index in 0..self.messages.len() {
            let (mut members, mut always) = (HashMap::new(), Vec::new());
            self.collect(index, &mut members);
            for field in members.values() {
                if let Some(value) = field.always() {
                    always.push((field.name.clone(), value));
                }
            }
            always.sort_by(|a, b| a.0.cmp(&b.0));
            if let Some(message) = self.messages.get_mut(index) {
                message.members = members;
                message.always = always;
            }
        }
    }

    fn collect(&self, index: usize, members: &mut HashMap<Box<str>, Field>) {
        let Some(message) = self.messages.get(index) else { return };
        for field in message.fields.values() {
            match field.of {
                Type::Message(inner) if &*field.name == "-" => {
                    self.collect(inner, members);
                }
                _ => drop(members.insert(field.name.clone(), field.clone())),
            }
        }
    }

    /// The message of a kind, by `v1` or `apps/v1`, and its name.
    pub(crate) fn kind(&self, version: &str, kind: &str) -> Option<usize> {
        self.kinds.get(version)?.get(kind).copied()
    }

    pub(crate) fn message(&self, index: usize) -> Option<&Message> {
        self.messages.get(index)
    }

    pub(crate) fn field(&self, message: usize, number: u64) -> Option<&Field> {
        self.messages.get(message)?.fields.get(&number)
    }

    #[cfg(test)]
    pub(crate) fn fields(&self) -> usize {
        self.messages.iter().map(|message| message.fields.len()).sum()
    }
}

impl Field {
    /// The JSON value of the unset field.
    fn always(&self) -> Option<Always> {
        match (self.presence, self.of) {
            (Presence::NullPointer | Presence::NullList | Presence::NullMap, _) => {
                Some(Always::Null)
            }
            (Presence::Value | Presence::OmitEmpty, Type::Message(message)) => {
                Some(Always::Object(message))
            }
            (Presence::Value | Presence::OmitEmpty, Type::Time | Type::MicroTime) => {
                Some(Always::Null)
            }
            (Presence::Value, Type::Json | Type::Bytes | Type::Strings) => Some(Always::Null),
            (Presence::Value, Type::String) => Some(Always::Text),
            (Presence::Value, Type::Bool) => Some(Always::False),
            (Presence::Value, Type::Int32 | Type::Int64) => Some(Always::Zero),
            (Presence::Value | Presence::OmitEmpty, Type::IntOrString) => Some(Always::Zero),
            (Presence::Value | Presence::OmitEmpty, Type::Quantity) => Some(Always::ZeroQuantity),
            _ => None,
        }
    }
}

impl Type {
    /// The JSON type of its values.
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Self::String | Self::Time | Self::MicroTime => "string",
            Self::Bytes => "base64 string",
            Self::Bool => "bool",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
            Self::IntOrString => "int32 or string",
            Self::Strings => "array",
            Self::Quantity => "quantity",
            Self::Json | Self::SchemaOr(..) => "JSON",
            Self::Message(_) => "object",
        }
    }
}

fn presence_of(word: &str) -> Option<Presence> {
    Some(match word {
        "pointer" => Presence::Pointer,
        "nullpointer" => Presence::NullPointer,
        "value" => Presence::Value,
        "omitempty" => Presence::OmitEmpty,
        "omitzero" => Presence::OmitZero,
        "list" => Presence::List,
        "nulllist" => Presence::NullList,
        "map" => Presence::Map,
        "nullmap" => Presence::NullMap,
        _ => return None,
    })
}

fn type_of(word: &str, messages: &HashMap<&str, usize>) -> Option<Type> {
    Some(match word {
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "bool" => Type::Bool,
        "int32" => Type::Int32,
        "int64" => Type::Int64,
        "Time" => Type::Time,
        "MicroTime" => Type::MicroTime,
        "Quantity" => Type::Quantity,
        "IntOrString" => Type::IntOrString,
        "Strings" => Type::Strings,
        "RawExtension" | "FieldsV1" | "JSON" => Type::Json,
        "float64" => Type::Float64,
        "SchemaOrBool" => Type::SchemaOr(Simpler::Bool, *messages.get(SCHEMA)?),
        "SchemaOrSchemas" => Type::SchemaOr(Simpler::Schemas, *messages.get(SCHEMA)?),
        "SchemaOrStrings" => Type::SchemaOr(Simpler::Strings, *messages.get(SCHEMA)?),
        message => Type::Message(*messages.get(message)?),
    })
}
