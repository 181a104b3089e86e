//! What was recorded of the built-in kinds (`cargo xtask record-openapi`): committed compressed,
//! inflated when first asked for.

pub(crate) mod types;

use std::sync::LazyLock;

/// The fields of their Go types, which are those of their protobuf messages, too; the form is told
/// in `recorded/types.rs`.
pub(crate) static PROTOBUF: LazyLock<String> =
    LazyLock::new(|| inflate(include_bytes!("../../data/protobuf.txt.z")));

/// Their OpenAPI schemas, descriptions left out: one JSON object, by name.
pub(crate) static SCHEMAS: LazyLock<String> =
    LazyLock::new(|| inflate(include_bytes!("../../data/schemas.json.z")));

/// Committed data: that it can be read is tested, so a file that cannot is an empty one here.
fn inflate(compressed: &[u8]) -> String {
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(compressed).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
