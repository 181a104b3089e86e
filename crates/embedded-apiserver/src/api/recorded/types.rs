//! The Go types of the built-in kinds: what each field is called in JSON and in protobuf, and of
//! which type it is. Read from the recorded table, whose form `crates/verify/go/record-protobuf`
//! describes.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::api::recorded;

/// The schema of a version of a custom kind, which may hold others.
const SCHEMA: &str = "apiextensions/v1.JSONSchemaProps";

/// All types of the built-in kinds.
pub(crate) static TYPES: LazyLock<Types> = LazyLock::new(|| Types::parse(&recorded::PROTOBUF));

#[derive(Debug, Default)]
pub(crate) struct Types {
    kinds: HashMap<Box<str>, HashMap<Box<str>, usize>>,
    messages: Vec<Message>,
}

/// A Go struct, which is a message in protobuf and an object in JSON.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// Its members in JSON, those of embedded structs among them.
    members: HashMap<Box<str>, Field>,
    /// What is in JSON even when nobody sends it, by name.
    always: Vec<(Box<str>, Always)>,
    /// What the server fills in by the type's schema.
    defaults: Vec<(Box<str>, Value)>,
    /// Its objects are stored as JSON, which tells an empty list from none.
    pub(crate) keeps_empty_lists: bool,
    /// Its fields by number, embedded structs as such.
    fields: HashMap<u64, Field>,
}

/// What Go writes for a member that nobody has set.
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
    /// In JSON; `-` if the message's members belong to the object itself.
    pub(crate) name: Box<str>,
    pub(crate) presence: Presence,
    /// Of the field, or of the list's items, or of the map's values.
    pub(crate) of: Type,
}

/// What Go's type says about absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// What is on the wire was set.
    Pointer,
    /// As that; null in JSON when it was not.
    NullPointer,
    /// Always on the wire, always in JSON.
    Value,
    /// Always on the wire, in JSON unless it is zero; structs are never zero.
    OmitEmpty,
    /// As that, of structs too.
    OmitZero,
    /// An empty one is not in JSON.
    List,
    /// An empty one is null.
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
    /// A schema, which is a message of this number, or something simpler: in protobuf, a message
    /// around either.
    SchemaOr(Simpler, usize),
    /// A list of texts with a name of its own: in protobuf, a message around it.
    Strings,
    Message(usize),
}

/// What may stand in a schema where another one may stand.
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
                    let keeps_empty_lists = name.starts_with("apiextensions/");
                    types.messages.push(Message { keeps_empty_lists, ..Message::default() });
                }
                // The names in Go follow.
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

    /// Finds each message's members in JSON.
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

    /// The message of a kind: of `v1` or `apps/v1`, and its name.
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
    /// What is in JSON when nobody has set it.
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
    /// What its values are in JSON.
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
