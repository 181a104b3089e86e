//! How Go names the recorded types, and what it writes for members that are not set.

use serde_json::{Map, Value};

use crate::recorded::types::{Always, Field, Message, TYPES, Type};

/// The value that Go writes for a member that is not set.
pub(super) fn unset(always: Always) -> Value {
    match always {
        Always::Null => Value::Null,
        Always::Text => "".into(),
        Always::False => false.into(),
        Always::Zero => 0.into(),
        Always::ZeroQuantity => "0".into(),
        Always::Object(message) => {
            let always = TYPES.message(message).map(Message::always).unwrap_or_default();
            let members = always.iter().map(|(name, always)| (name.to_string(), unset(*always)));
            members.collect::<Map<_, _>>().into()
        }
    }
}

/// The type of a member, or of an item of a list or a map.
pub(super) fn go_type(field: &Field) -> String {
    match field.of {
        Type::Message(inner) => message_type(inner),
        _ => field.go.to_string(),
    }
}

/// The name of a type.
pub(super) fn message_type(message: usize) -> String {
    TYPES.message(message).map_or("", |message| &*message.go).to_owned()
}

/// The type of the list or the map itself: `of` is what stands before that of the items.
pub(super) fn whole_type(field: &Field, of: &str) -> String {
    field.whole.as_deref().map_or_else(|| format!("{of}{}", go_type(field)), str::to_owned)
}
