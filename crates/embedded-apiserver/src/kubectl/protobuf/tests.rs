//! Messages byte by byte. Tests in `verify` cover whole objects of Go clients.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use super::{MAGIC, MAX_DEPTH, enveloped, into_json};
use crate::api::media::PROTOBUF as MEDIA_TYPE;
use crate::api::recorded;
use crate::api::recorded::types::{TYPES, Type};
use crate::strategy::resource;

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2, u8::try_from(content.len()).expect("short")];
    bytes.extend_from_slice(content);
    bytes
}

fn number(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn envelope(version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let types = [field(1, version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &types), field(2, message)].concat()
}

#[test]
fn every_built_in_kind_and_every_recorded_line_is_in_the_table() {
    for kind in resource::built_in() {
        assert!(TYPES.kind(&kind.api_version(), kind.kind()).is_some(), "{kind:?}");
    }
    let lines = recorded::PROTOBUF
        .lines()
        .filter(|line| line.as_bytes().first().is_some_and(u8::is_ascii_digit));
    assert_eq!(TYPES.fields(), lines.count(), "no line was passed over");
}

#[test]
fn zero_values_count_as_sent_only_if_their_field_is_a_pointer() {
    let metadata = [field(1, b"a"), field(2, b""), number(7, 0)].concat();
    let message = [field(1, &metadata), number(4, 0), field(2, &field(1, b"key"))].concat();
    let object = enveloped(&envelope("v1", "ConfigMap", &message)).unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "immutable": false, "data": { "key": "" },
    });
    assert_eq!(object, expected);
}

#[test]
fn times_quantities_bytes_and_inline_members_have_their_own_json() {
    let time = [number(1, 1), vec![2 << 3, 0xe8, 0x07]].concat();
    let lease = field(2, &[field(4, &time), number(5, 0), field(6, b"")].concat());
    let object = enveloped(&envelope("coordination.k8s.io/v1", "Lease", &lease)).unwrap();
    assert_eq!(object["spec"]["renewTime"], "1970-01-01T00:00:01.000001Z");
    let capacity = field(1, &[field(1, b"storage"), field(2, &field(1, b"1Gi"))].concat());
    let source = field(2, &field(3, &field(1, b"/tmp/x")));
    let volume = field(2, &[capacity, source].concat());
    let object = enveloped(&envelope("v1", "PersistentVolume", &volume)).unwrap();
    assert_eq!(
        object["spec"],
        json!({ "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/tmp/x" } })
    );
    let secret = field(2, &[field(1, b"k"), field(2, b"\x00\x01")].concat());
    let object = enveloped(&envelope("v1", "Secret", &secret)).unwrap();
    assert_eq!(object["data"], json!({ "k": "AAE=" }));
}

#[test]
fn fields_of_later_versions_are_passed_over() {
    let message = [field(15, b"new"), number(14, 3), field(1, &field(1, b"a"))].concat();
    let object = enveloped(&envelope("v1", "ConfigMap", &message)).unwrap();
    assert_eq!(
        object,
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } })
    );
}

#[test]
fn what_is_no_message_of_a_known_kind_is_refused() {
    let whole = envelope("v1", "ConfigMap", &field(1, &field(1, b"a")));
    for length in 0..whole.len() {
        // Some prefixes are valid messages. None may panic.
        let _ = enveloped(&whole[..length]);
    }
    assert!(enveloped(b"{}").unwrap_err().0.contains("expected prefix"));
    assert!(enveloped(&whole[..whole.len() - 1]).unwrap_err().0.contains("EOF"));
    assert!(enveloped(&envelope("v2", "ConfigMap", b"")).unwrap_err().0.contains("\"ConfigMap\""));
    assert!(
        enveloped(&envelope("v1", "ConfigMap", &[0xff; 11])).unwrap_err().0.contains("overflow")
    );
    assert!(
        enveloped(&envelope("v1", "ConfigMap", &number(1, 1))).unwrap_err().0.contains("metadata")
    );
}

#[test]
fn a_message_in_parts_is_their_sum_and_of_anything_else_the_last_one_counts() {
    let parts = [
        field(1, &[field(1, b"a"), field(3, b"one")].concat()),
        field(1, &[field(1, b"b"), field(11, &[field(1, b"k"), field(2, b"v")].concat())].concat()),
    ];
    let object = enveloped(&envelope("v1", "ConfigMap", &parts.concat())).unwrap();
    assert_eq!(
        object["metadata"],
        json!({ "name": "b", "namespace": "one", "labels": { "k": "v" } })
    );
    let emptied = field(1, &[field(1, b"a"), field(1, b"")].concat());
    let object = enveloped(&envelope("v1", "ConfigMap", &emptied)).unwrap();
    assert_eq!(object.get("metadata"), None);
    let volume =
        [field(2, &field(2, &field(3, &field(1, b"/x")))), field(2, &field(5, b"Retain"))].concat();
    let object = enveloped(&envelope("v1", "PersistentVolume", &volume)).unwrap();
    assert_eq!(
        object["spec"],
        json!({ "hostPath": { "path": "/x" }, "persistentVolumeReclaimPolicy": "Retain" })
    );
}

#[test]
fn a_field_number_that_cannot_be_and_a_length_beyond_the_end_are_refused() {
    let refused = |message: &[u8]| enveloped(&envelope("v1", "ConfigMap", message)).unwrap_err().0;
    assert!(refused(&number(0, 1)).contains("illegal tag"));
    assert!(refused(&[0x80, 0x80, 0x80, 0x80, 0x10, 0]).contains("illegal tag"), "2 to the 29");
    assert!(
        enveloped(&envelope("v1", "ConfigMap", &[0xf8, 0xff, 0xff, 0xff, 0x0f, 0])).is_ok(),
        "one less"
    );
    let mut endless = vec![1 << 3 | 2];
    endless.extend([0xff; 9]);
    for last in [0, 1] {
        endless.truncate(10);
        endless.push(last);
        assert!(refused(&endless).contains("EOF"));
    }
    assert!(refused(&[1 << 3 | 2, 5, 1]).contains("EOF"));
    assert!(refused(&[1 << 3]).contains("EOF"));
}

/// A definition whose only version has this schema.
fn defined(schema: &[u8]) -> Result<Value, String> {
    let long = |number: u8, content: &[u8]| {
        let length = u16::try_from(content.len()).expect("short");
        let low = u8::try_from(length & 0x7f).expect("seven bits") | 0x80;
        [&[number << 3 | 2, low, u8::try_from(length >> 7).expect("seven bits")][..], content]
            .concat()
    };
    let spec = long(2, &long(7, &long(4, &long(1, schema))));
    let mut envelope = [MAGIC.to_vec(), field(1, &[])].concat();
    let types =
        [field(1, b"apiextensions.k8s.io/v1"), field(2, b"CustomResourceDefinition")].concat();
    envelope.splice(4.., field(1, &types));
    envelope.extend(long(2, &spec));
    let mut object = enveloped(&envelope).map_err(|why| why.0)?;
    Ok(object["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take())
}

#[test]
fn a_schema_or_something_simpler_is_read_as_which_it_is() {
    let member = |name: &[u8], schema: &[u8]| {
        [&[0xea, 1][..], &field(0, &[field(1, name), field(2, schema)].concat())[1..]].concat()
    };
    let text = field(5, b"string");
    let limit = [&[9 << 3 | 1][..], &1.5_f64.to_le_bytes()].concat();
    let of = |tag: [u8; 2], content: &[u8]| [&tag[..], &field(0, content)[1..]].concat();
    let (items, additional, dependencies) = ([0xc2, 1], [0xf2, 1], [0x82, 2]);
    let schema = [
        member(b"a", &[limit, field(8, &field(1, b"[1]"))].concat()),
        member(b"b", &of(items, &field(1, &text))),
        member(b"c", &of(items, &[field(2, &text), field(2, &[])].concat())),
        member(b"d", &of(additional, &number(1, 1))),
        member(b"e", &of(additional, &[number(1, 1), field(2, &text)].concat())),
        member(b"f", &of(dependencies, &[field(1, b"x"), field(2, &field(2, b"y"))].concat())),
    ];
    let string = json!({ "type": "string" });
    let expected = json!({ "properties": {
        "a": { "maximum": 1.5, "default": [1] }, "b": { "items": string }, "c": { "items": [string, {}] },
        "d": { "additionalProperties": true }, "e": { "additionalProperties": string },
        "f": { "dependencies": { "x": ["y"] } },
    } });
    assert_eq!(defined(&schema.concat()), Ok(expected));
    assert!(
        defined(&member(b"a", &of(additional, &field(1, b"x"))))
            .unwrap_err()
            .contains("additionalProp")
    );
}

#[test]
fn schemas_in_schemas_are_read_so_deep_and_no_deeper() {
    let nested = |depth: usize| {
        let mut schema = Vec::new();
        for _ in 0..depth {
            let length = schema.len();
            let low = u8::try_from(length & 0x7f).expect("seven bits") | 0x80;
            let high = u8::try_from(length >> 7).expect("seven bits");
            schema.splice(..0, [0xe2, 1, low, high]);
        }
        defined(&schema)
    };
    assert!(nested(100).is_ok());
    assert_eq!(nested(2000).unwrap_err(), "the messages are nested too deeply");
}

/// A field of any number around content of any length.
fn long_field(number: u64, content: &[u8]) -> Vec<u8> {
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(u8::try_from(value & 0x7f).expect("seven bits") | 0x80);
            value >>= 7;
        }
        bytes.push(u8::try_from(value).expect("seven bits"));
        bytes
    };
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// The number of the member of a message, and the message that it is of.
fn member(message: usize, name: &str) -> (u64, usize) {
    let mut fields = (1..100).filter_map(|number| Some((number, TYPES.field(message, number)?)));
    let (number, field) = fields.find(|(_, field)| *field.name == *name).expect("such a member");
    let Type::Message(of) = field.of else { panic!("{name} is no message") };
    (number, of)
}

/// A definition whose schema nests `not` this deep.
fn deep(levels: usize) -> Request<Bytes> {
    let (version, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let mut message = TYPES.kind(version, kind).expect("built in");
    let mut outer = Vec::new();
    for name in ["spec", "versions", "schema", "openAPIV3Schema"] {
        let (number, of) = member(message, name);
        outer.push(number);
        message = of;
    }
    let (not, _) = member(message, "not");
    let schema = (0..levels).fold(Vec::new(), |inner, _| long_field(not, &inner));
    let whole = outer.into_iter().rev().fold(schema, |inner, number| long_field(number, &inner));
    let types = [long_field(1, version.as_bytes()), long_field(2, kind.as_bytes())].concat();
    let body = [MAGIC.to_vec(), long_field(1, &types), long_field(2, &whole)].concat();
    let request = Request::builder().header("content-type", MEDIA_TYPE).body(Bytes::from(body));
    request.expect("a request")
}

#[test]
fn what_is_nested_too_deeply_is_not_implemented_and_says_so() {
    let kinds: Vec<_> = resource::built_in().collect();
    let kind =
        kinds.iter().find(|kind| kind.plural() == "customresourcedefinitions").expect("built in");
    // The definition, its spec, version, validation and schema are five levels.
    let read = into_json(deep(MAX_DEPTH - 5), kind).expect("as deep as may be");
    let text = String::from_utf8(read.body().to_vec()).expect("UTF-8");
    assert_eq!(text.matches("\"not\"").count(), MAX_DEPTH - 5);
    for levels in [MAX_DEPTH - 4, 10_000] {
        let refused = into_json(deep(levels), kind).expect_err("too deep");
        assert_eq!(refused.code(), 501, "{}", refused.message());
        assert!(
            refused.message().contains("nested deeper than 120 levels"),
            "{}",
            refused.message()
        );
    }
}
