//! Which field of which message is what in JSON: read from the recorded table, whose form
//! `crates/verify/go/record-protobuf` describes.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::protobuf::wire::{Malformed, Payload};
use crate::recorded;

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(&recorded::PROTOBUF));

/// All messages of the built-in kinds.
#[derive(Debug, Default)]
pub(super) struct Table {
    kinds: HashMap<(Box<str>, Box<str>), usize>,
    messages: Vec<HashMap<u64, Field>>,
}

#[derive(Debug)]
pub(super) struct Field {
    /// In JSON; `-` if the message's members belong to the object itself.
    pub(super) name: Box<str>,
    pub(super) presence: Presence,
    /// Of the field, or of the list's items, or of the map's values.
    pub(super) of: Type,
}

/// What Go's type says about absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// What is on the wire was set.
    Pointer,
    /// Always on the wire, always in JSON.
    Value,
    /// Always on the wire, in JSON unless it is zero.
    OmitEmpty,
    List,
    Map,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    String,
    Bytes,
    Bool,
    Integer,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// `RawExtension` and `FieldsV1`.
    Json,
    Message(usize),
}

impl Type {
    /// What is on the wire for a value of zero.
    pub(super) fn zero(self) -> Payload<'static> {
        match self {
            Self::Bool | Self::Integer => Payload::Varint(0),
            _ => Payload::Bytes(&[]),
        }
    }
}

impl Field {
    pub(super) fn mismatch(&self) -> Malformed {
        Malformed(format!("proto: wrong wireType or value for field {}", self.name))
    }
}

impl Table {
    fn parse(text: &str) -> Self {
        let mut indices: HashMap<&str, usize> = HashMap::new();
        let names = text.lines().filter_map(|line| line.strip_prefix("message "));
        for (index, name) in names.enumerate() {
            indices.insert(name, index);
        }
        let mut table = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["kind", kind, message] => {
                    let Some((version, kind)) = kind.rsplit_once('/') else { continue };
                    if let Some(index) = indices.get(message) {
                        table.kinds.insert((version.into(), kind.into()), *index);
                    }
                }
                ["message", _] => table.messages.push(HashMap::new()),
                [number, name, presence, of] => {
                    let (Ok(number), Some(presence), Some(of), Some(message)) = (
                        number.parse(),
                        presence_of(presence),
                        type_of(of, &indices),
                        table.messages.last_mut(),
                    ) else {
                        continue;
                    };
                    message.insert(number, Field { name: name.into(), presence, of });
                }
                _ => {}
            }
        }
        table
    }

    pub(super) fn kind(&self, version: &str, kind: &str) -> Option<usize> {
        self.kinds.get(&(version.into(), kind.into())).copied()
    }

    pub(super) fn field(&self, message: usize, number: u64) -> Option<&Field> {
        self.messages.get(message)?.get(&number)
    }

    #[cfg(test)]
    pub(super) fn fields(&self) -> usize {
        self.messages.iter().map(HashMap::len).sum()
    }
}

fn presence_of(word: &str) -> Option<Presence> {
    Some(match word {
        "pointer" => Presence::Pointer,
        "value" => Presence::Value,
        "omitempty" => Presence::OmitEmpty,
        "list" => Presence::List,
        "map" => Presence::Map,
        _ => return None,
    })
}

fn type_of(word: &str, messages: &HashMap<&str, usize>) -> Option<Type> {
    Some(match word {
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "bool" => Type::Bool,
        "integer" => Type::Integer,
        "Time" => Type::Time,
        "MicroTime" => Type::MicroTime,
        "Quantity" => Type::Quantity,
        "IntOrString" => Type::IntOrString,
        "RawExtension" | "FieldsV1" => Type::Json,
        message => Type::Message(*messages.get(message)?),
    })
}
