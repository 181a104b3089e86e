//! What the annotations contain: members by their names in the annotation and in autoscaling/v2, in
//! the order of Go's structs.

use crate::strategy::builtin::go_struct::Field;
use crate::strategy::builtin::go_struct::Shape::{
    List, Number, OmitEmpty, OmitEmptyList, OmitEmptyStruct, Plain, Pointer, Quantity, Struct, Text,
};

const REFERENCE: &[Field] =
    &[("kind", "kind", Text), ("name", "name", Text), ("apiVersion", "apiVersion", OmitEmpty)];
const SELECTOR: &[Field] = &[
    ("matchLabels", "matchLabels", OmitEmpty),
    (
        "matchExpressions",
        "matchExpressions",
        OmitEmptyList(&[
            ("key", "key", Text),
            ("operator", "operator", Text),
            ("values", "values", OmitEmpty),
        ]),
    ),
];

#[doc(alias = "MetricSpec")]
pub(super) const METRIC: &[Field] = &[
    ("type", "type", Text),
    (
        "object",
        "object",
        OmitEmptyStruct(&[
            ("target", "describedObject", Struct(REFERENCE)),
            ("metricName", "metric.name", Text),
            ("targetValue", "target.value", Quantity),
            ("selector", "metric.selector", OmitEmptyStruct(SELECTOR)),
            ("averageValue", "target.averageValue", OmitEmpty),
        ]),
    ),
    (
        "pods",
        "pods",
        OmitEmptyStruct(&[
            ("metricName", "metric.name", Text),
            ("targetAverageValue", "target.averageValue", Quantity),
            ("selector", "metric.selector", OmitEmptyStruct(SELECTOR)),
        ]),
    ),
    (
        "resource",
        "resource",
        OmitEmptyStruct(&[
            ("name", "name", Text),
            ("targetAverageUtilization", "target.averageUtilization", OmitEmpty),
            ("targetAverageValue", "target.averageValue", OmitEmpty),
        ]),
    ),
    (
        "containerResource",
        "containerResource",
        OmitEmptyStruct(&[
            ("name", "name", Text),
            ("targetAverageUtilization", "target.averageUtilization", OmitEmpty),
            ("targetAverageValue", "target.averageValue", OmitEmpty),
            ("container", "container", Text),
        ]),
    ),
    (
        "external",
        "external",
        OmitEmptyStruct(&[
            ("metricName", "metric.name", Text),
            ("metricSelector", "metric.selector", OmitEmptyStruct(SELECTOR)),
            ("targetValue", "target.value", OmitEmpty),
            ("targetAverageValue", "target.averageValue", OmitEmpty),
        ]),
    ),
];

#[doc(alias = "MetricStatus")]
pub(super) const CURRENT_METRIC: &[Field] = &[
    ("type", "type", Text),
    (
        "object",
        "object",
        OmitEmptyStruct(&[
            ("target", "describedObject", Struct(REFERENCE)),
            ("metricName", "metric.name", Text),
            ("currentValue", "current.value", Quantity),
            ("selector", "metric.selector", OmitEmptyStruct(SELECTOR)),
            ("averageValue", "current.averageValue", OmitEmpty),
        ]),
    ),
    (
        "pods",
        "pods",
        OmitEmptyStruct(&[
            ("metricName", "metric.name", Text),
            ("currentAverageValue", "current.averageValue", Quantity),
            ("selector", "metric.selector", OmitEmptyStruct(SELECTOR)),
        ]),
    ),
    (
        "resource",
        "resource",
        OmitEmptyStruct(&[
            ("name", "name", Text),
            ("currentAverageUtilization", "current.averageUtilization", OmitEmpty),
            ("currentAverageValue", "current.averageValue", Quantity),
        ]),
    ),
    (
        "containerResource",
        "containerResource",
        OmitEmptyStruct(&[
            ("name", "name", Text),
            ("currentAverageUtilization", "current.averageUtilization", OmitEmpty),
            ("currentAverageValue", "current.averageValue", Quantity),
            ("container", "container", Text),
        ]),
    ),
    (
        "external",
        "external",
        OmitEmptyStruct(&[
            ("metricName", "metric.name", Text),
            ("metricSelector", "metric.selector", OmitEmptyStruct(SELECTOR)),
            ("currentValue", "current.value", Quantity),
            ("currentAverageValue", "current.averageValue", OmitEmpty),
        ]),
    ),
];

#[doc(alias = "HorizontalPodAutoscalerCondition")]
pub(super) const CONDITION: &[Field] = &[
    ("type", "type", Text),
    ("status", "status", Text),
    ("lastTransitionTime", "lastTransitionTime", Plain),
    ("reason", "reason", OmitEmpty),
    ("message", "message", OmitEmpty),
];

const RULES: &[Field] = &[
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds", Plain),
    ("SelectPolicy", "selectPolicy", Plain),
    (
        "Policies",
        "policies",
        List(&[
            ("Type", "type", Text),
            ("Value", "value", Number),
            ("PeriodSeconds", "periodSeconds", Number),
        ]),
    ),
    ("Tolerance", "tolerance", Plain),
];

/// The struct of upstream's internal version, which has no names for JSON.
#[doc(alias = "HorizontalPodAutoscalerBehavior")]
pub(super) const BEHAVIOR: &[Field] =
    &[("ScaleUp", "scaleUp", Pointer(RULES)), ("ScaleDown", "scaleDown", Pointer(RULES))];
