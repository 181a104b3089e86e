//! Computed cells and ages, in upstream's format.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::strategy::age;
use crate::strategy::resource;
use crate::strategy::resource::ServedResource;

fn cells(plural: &str, object: &Value) -> Vec<Value> {
    let kinds: Vec<_> = resource::built_in().collect();
    let custom = ServedResource::new(Kind::namespaced("example.com", "v1", "Widget", "widgets"));
    let kind = kinds.iter().find(|kind| kind.plural() == plural).unwrap_or(&custom);
    let now = Timestamp::from_second(1000).unwrap();
    kind.strategy().columns().iter().map(|column| column.cell(object, now)).collect()
}

#[test]
fn ages_have_two_units_at_most() {
    let (minute, hour, day) = (60, 3600, 86_400);
    for (seconds, shown) in [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * minute, "2m"),
        (9 * minute + 59, "9m59s"),
        (10 * minute + 59, "10m"),
        (3 * hour - 1, "179m"),
        (3 * hour, "3h"),
        (7 * hour + 59 * minute, "7h59m"),
        (47 * hour, "47h"),
        (2 * day, "2d"),
        (7 * day + 23 * hour, "7d23h"),
        (8 * day + hour, "8d"),
        (2 * 365 * day, "2y"),
        (2 * 365 * day + day, "2y1d"),
        (9 * 365 * day, "9y"),
        (i64::MAX, "292471208677y"),
    ] {
        assert_eq!(age::human(seconds), shown, "{seconds}");
    }
}

#[test]
fn a_claim_shows_its_capacity_only_when_it_has_a_volume() {
    let mut claim = json!({
        "metadata": { "name": "c", "creationTimestamp": "1970-01-01T00:16:30Z" },
        "spec": { "storageClassName": "fast", "volumeMode": "Filesystem" },
        "status": { "phase": "Pending", "accessModes": ["ReadOnlyMany", "ReadWriteOnce"], "capacity": { "storage": "1Gi" } },
    });
    let cells = cells("persistentvolumeclaims", &claim);
    assert_eq!(
        cells,
        json!(["c", "Pending", "", "", "", "fast", "<unset>", "10s", "Filesystem"])
            .as_array()
            .unwrap()[..]
    );
    claim["spec"]["volumeName"] = "v".into();
    claim["metadata"]["deletionTimestamp"] = "1970-01-01T00:16:40Z".into();
    let cells = self::cells("persistentvolumeclaims", &claim);
    assert_eq!(
        cells[..5],
        json!(["c", "Terminating", "v", "1Gi", "RWO,ROX"]).as_array().unwrap()[..]
    );
}

#[test]
fn lists_within_an_object_become_one_cell() {
    let service = json!({ "metadata": { "name": "s" }, "spec": {
        "type": "NodePort", "clusterIP": "10.0.0.1", "selector": { "a": "1", "b": "2" },
        "ports": [{ "port": 80, "protocol": "TCP", "nodePort": 30080 }, { "port": 53, "protocol": "UDP" }],
    } });
    let expected = json!([
        "s",
        "NodePort",
        "10.0.0.1",
        "<none>",
        "80:30080/TCP,53/UDP",
        "<unknown>",
        "a=1,b=2"
    ]);
    assert_eq!(cells("services", &service), expected.as_array().unwrap()[..]);
    let addresses: Vec<Value> = (1..=2).map(|n| json!({ "ip": format!("10.0.0.{n}") })).collect();
    let endpoints = json!({ "subsets": [{ "addresses": addresses, "ports": [{ "port": 80 }, { "port": 81 }] }] });
    assert_eq!(
        cells("endpoints", &endpoints)[1],
        "10.0.0.1:80,10.0.0.1:81,10.0.0.2:80 + 1 more..."
    );
    let map = json!({ "data": { "a": "", "b": "" }, "binaryData": { "c": "" } });
    assert_eq!(cells("configmaps", &map)[1], 3);
}

#[test]
fn objects_of_the_wrong_shape_have_cells_too() {
    let odd = json!({ "metadata": "x", "spec": [], "status": { "containerStatuses": {} }, "subsets": [1] });
    for kind in resource::built_in() {
        assert_eq!(cells(kind.plural(), &odd).len(), kind.strategy().columns().len());
    }
    assert_eq!(cells("widgets", &json!({})).len(), 2);
}
