//! Recorded data about the built-in kinds (`cargo xtask record-openapi`). Committed compressed,
//! inflated at first use.

pub(crate) mod types;

use std::sync::LazyLock;

/// The fields of their Go types and protobuf messages. `recorded/types.rs` describes the format.
pub(crate) static PROTOBUF: LazyLock<String> =
    LazyLock::new(|| inflate(include_bytes!("../../data/protobuf.txt.z")));

/// Their OpenAPI schemas without descriptions: one JSON object, by name.
pub(crate) static SCHEMAS: LazyLock<String> =
    LazyLock::new(|| inflate(include_bytes!("../../data/schemas.json.z")));

/// A test covers that the committed data are valid.
fn inflate(compressed: &[u8]) -> String {
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(compressed).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
