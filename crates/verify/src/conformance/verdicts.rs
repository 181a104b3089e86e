//! Rules in CEL of custom kinds: when they are looked at, what they see, what is said of what
//! breaks them.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::definitions::{DEFINITIONS, definition, in_force, of_spec, served, things};
use crate::conformance::rules::{causes, spec};
use crate::conformance::{Case, Outcome, Target, case};

pub(super) fn cases() -> Vec<Case> {
    [verdicts(), updates(), values()].into_iter().flatten().collect()
}

fn thing(t: &Target, name: &str, spec: Value) -> Value {
    let mut thing = definition(t, json!({}));
    let group = thing["spec"]["group"].take();
    json!({
        "apiVersion": format!("{}/v1", group.as_str().unwrap_or_default()), "kind": "Thing",
        "metadata": { "name": name }, "spec": spec,
    })
}

/// Creates an object that is refused for these causes, `reason field: message`.
async fn breaks(t: &Target, of: Value, expected: &[&str]) -> Outcome {
    let answer = t.post(&things(t, ""), &thing(t, "a", of)).await?;
    same(
        "the causes",
        causes(&answer)?,
        expected.iter().map(|cause| (*cause).to_owned()).collect::<Vec<_>>(),
    )
}

async fn keeps(t: &Target, of: Value) -> Outcome {
    t.post(&things(t, "?dryRun=All"), &thing(t, "a", of)).await?.is(201).map(drop)
}

/// Every one of these expressions is true of the object.
pub(super) async fn are_true(t: &Target, of: Value, expressions: &[&str]) -> Outcome {
    let rules: Vec<Value> = expressions.iter().map(|rule| json!({ "rule": rule })).collect();
    served(t, of_spec(spec(json!(rules)))).await?;
    keeps(t, of).await
}

fn verdicts() -> Vec<Case> {
    vec![
        case(
            "a_broken_rule_is_said",
            "An object that breaks a rule is refused with the rule.",
            async |t| {
                served(t, of_spec(spec(json!([{ "rule": "self.n > 5" }])))).await?;
                keeps(t, json!({ "n": 6 })).await?;
                breaks(
                    t,
                    json!({ "n": 5 }),
                    &["FieldValueInvalid spec: Invalid value: failed rule: self.n > 5"],
                )
                .await
            },
        ),
        case(
            "all_broken_rules_are_said",
            "Each rule that is broken is a cause, in their order.",
            async |t| {
                let rules = json!([{ "rule": "self.n > 5" }, { "rule": "self.n > 0" }, { "rule": "self.n > 4", "message": "more" }]);
                served(t, of_spec(spec(rules))).await?;
                let causes = [
                    "FieldValueInvalid spec: Invalid value: failed rule: self.n > 5",
                    "FieldValueInvalid spec: Invalid value: more",
                ];
                breaks(t, json!({ "n": 3 }), &causes).await
            },
        ),
        case(
            "a_message_may_be_an_expression",
            "What is said of a broken rule is what its messageExpression makes; if that fails, its message.",
            async |t| {
                let rules = json!([
                    { "rule": "self.n > 5", "messageExpression": "'%d is no more than %s'.format([self.n, 'five'])" },
                    { "rule": "self.n > 5", "messageExpression": "self.s", "message": "instead" },
                    { "rule": "self.n > 5", "messageExpression": "'two\\nlines'", "message": "one line" },
                    { "rule": "self.n > 5", "messageExpression": "' '" },
                ]);
                served(t, of_spec(spec(rules))).await?;
                let causes = [
                    "FieldValueInvalid spec: Invalid value: 1 is no more than five",
                    "FieldValueInvalid spec: Invalid value: instead",
                    "FieldValueInvalid spec: Invalid value: one line",
                    "FieldValueInvalid spec: Invalid value: failed rule: self.n > 5",
                ];
                breaks(t, json!({ "n": 1 }), &causes).await
            },
        ),
        case("a_rule_may_have_a_reason", "The reason of a rule is that of the cause.", async |t| {
            let rules = json!([
                { "rule": "self.n > 5", "reason": "FieldValueForbidden", "message": "no" },
                { "rule": "self.n > 5", "reason": "FieldValueRequired", "message": "no" },
                { "rule": "self.n > 5", "reason": "FieldValueDuplicate", "message": "no" },
            ]);
            served(t, of_spec(spec(rules))).await?;
            let causes = [
                "FieldValueForbidden spec: Forbidden: no",
                "FieldValueRequired spec: Required value: no",
                "FieldValueDuplicate spec: Duplicate value",
            ];
            breaks(t, json!({ "n": 1 }), &causes).await
        }),
        case(
            "a_rule_may_name_a_field",
            "The fieldPath of a rule is added to the place it is at.",
            async |t| {
                let rules = json!([
                    { "rule": "self.n > 5", "message": "no", "fieldPath": ".o.x" },
                    { "rule": "self.n > 5", "message": "no", "fieldPath": ".m['a b']" },
                ]);
                served(t, of_spec(spec(rules))).await?;
                let causes = [
                    "FieldValueInvalid spec.o.x: Invalid value: no",
                    "FieldValueInvalid spec.m[a b]: Invalid value: no",
                ];
                breaks(t, json!({ "n": 1 }), &causes).await
            },
        ),
        case(
            "rules_of_plain_values_show_them",
            "A rule of a number, of a text, of an element, of a value of a map: its place and its value are said.",
            async |t| {
                let mut object = spec(json!([]));
                object["properties"]["n"]["x-kubernetes-validations"] =
                    json!([{ "rule": "self > 5" }]);
                object["properties"]["l"]["items"]["x-kubernetes-validations"] =
                    json!([{ "rule": "self != 'b'" }]);
                served(t, of_spec(object)).await?;
                breaks(
                    t,
                    json!({ "n": 5 }),
                    &["FieldValueInvalid spec.n: Invalid value: 5: failed rule: self > 5"],
                )
                .await?;
                let cause =
                    "FieldValueInvalid spec.l[1]: Invalid value: \"b\": failed rule: self != 'b'";
                breaks(t, json!({ "l": ["a", "b"] }), &[cause]).await
            },
        ),
        case(
            "rules_of_values_of_maps",
            "A rule of the values of a map has the key in its place.",
            async |t| {
                let mut object = spec(json!([]));
                object["properties"]["m"]["additionalProperties"]["x-kubernetes-validations"] =
                    json!([{ "rule": "self.startsWith('v')" }]);
                served(t, of_spec(object)).await?;
                let cause = "FieldValueInvalid spec.m[k]: Invalid value: \"w\": failed rule: self.startsWith('v')";
                breaks(t, json!({ "m": { "k": "w", "l": "v" } }), &[cause]).await
            },
        ),
        case(
            "a_missing_member_fails",
            "A rule that reads what is not there fails, and says so.",
            async |t| {
                served(t, of_spec(spec(json!([{ "rule": "self.s == 'a'" }])))).await?;
                let cause = "FieldValueInvalid spec: Invalid value: \"object\": no such key: s evaluating rule: self.s == 'a'";
                breaks(t, json!({}), &[cause]).await
            },
        ),
        case(
            "rules_fail_in_words",
            "What goes wrong while a rule is evaluated is a cause.",
            async |t| {
                let rules = json!([
                    { "rule": "self.l[3] == 'a'" }, { "rule": "10 / self.n == 1" }, { "rule": "self.m['x'] == 'a'" },
                    { "rule": "self.n + 9223372036854775807 - 9223372036854775807 + 9223372036854775807 + 1 > 0" },
                    { "rule": "self.either > 'a'" }, { "rule": "self.s.substring(0, 9) == ''", "message": "said" },
                ]);
                served(t, of_spec(spec(rules))).await?;
                let of_object = "FieldValueInvalid spec: Invalid value: \"object\": ";
                let overload = "'no such overload': call arguments did not match a supported operator, function or macro \
                            signature for rule: self.either > 'a'";
                let long = "integer overflow evaluating rule: self.n + 9223372036854775807 - 9223372036854775807 + \
                        9223372036854775807 + 1 > 0";
                let expected = [
                    "index out of bounds: 3 evaluating rule: self.l[3] == 'a'",
                    "division by zero evaluating rule: 10 / self.n == 1",
                    "no such key: x evaluating rule: self.m['x'] == 'a'",
                    long,
                    overload,
                    "index out of range: 9 evaluating rule: said",
                ]
                .map(|why| format!("{of_object}{why}"));
                let of = json!({ "n": 0, "l": [], "m": {}, "either": 7, "s": "abc" });
                breaks(t, of, &expected.each_ref().map(String::as_str)).await
            },
        ),
        case(
            "a_failure_does_not_count_if_the_other_side_decides",
            "`||` and `&&` absorb the failure of a side.",
            async |t| {
                let rules = [
                    "self.s == 'a' || true",
                    "true || self.s == 'a'",
                    "!(self.s == 'a' && false)",
                    "self.l.exists(x, x == self.s || x == 'b')",
                    "has(self.s) ? self.s == 'a' : true",
                ];
                are_true(t, json!({ "l": ["a", "b"] }), &rules).await
            },
        ),
        case(
            "rules_come_after_types",
            "While types, required members or lengths are wrong the rules are not looked at, and that is said.",
            async |t| {
                served(t, of_spec(spec(json!([{ "rule": "self.n > 5" }])))).await?;
                let causes =
                    causes(&t.post(&things(t, ""), &thing(t, "a", json!({ "n": "x" }))).await?)?;
                let last = "FieldValueInvalid <nil>: Invalid value: null: some validation rules were not checked because \
                            the object was invalid; correct the existing errors to complete validation";
                same("the last cause", causes.last().map(String::as_str), Some(last))?;
                same("causes", causes.len(), 2)
            },
        ),
        case(
            "bounds_do_not_keep_rules_away",
            "A number above its maximum and a broken rule are both said.",
            async |t| {
                served(t, of_spec(spec(json!([{ "rule": "self.n < 5" }])))).await?;
                let causes = [
                    "FieldValueInvalid spec.n: Invalid value: 2000: spec.n in body should be less than or equal to 1000",
                    "FieldValueInvalid spec: Invalid value: failed rule: self.n < 5",
                ];
                breaks(t, json!({ "n": 2000 }), &causes).await
            },
        ),
        case(
            "rules_of_the_root_see_names",
            "A rule of the whole object sees its kind and its name, and no labels.",
            async |t| {
                let rules =
                    json!([{ "rule": "self.kind == 'Thing' && self.metadata.name != 'a'" }]);
                let object = json!({ "type": "object", "x-kubernetes-validations": rules, "properties": { "spec": spec(json!([])) } });
                served(t, object).await?;
                let cause = "FieldValueInvalid <nil>: Invalid value: failed rule: self.kind == 'Thing' && self.metadata.name != 'a'";
                breaks(t, json!({}), &[cause]).await?;
                t.post(&things(t, ""), &thing(t, "b", json!({}))).await?.is(201)?;
                let rules = json!([{ "rule": "has(self.metadata.labels)" }]);
                let mut other =
                    definition(t, json!({ "type": "object", "x-kubernetes-validations": rules }));
                other["metadata"]["name"] =
                    format!("others.{}", text(&other, "/spec/group")).into();
                other["spec"]["names"] = json!({ "plural": "others", "kind": "Other" });
                let found = causes_of(t, &other).await?;
                holds(
                    "labels are not seen",
                    found.first().is_some_and(|cause| cause.contains("undefined field 'labels'")),
                )
            },
        ),
    ]
}

async fn causes_of(t: &Target, definition: &Value) -> Result<Vec<String>, String> {
    causes(&t.post(&format!("{DEFINITIONS}?dryRun=All"), definition).await?)
}

fn updates() -> Vec<Case> {
    vec![
        case(
            "a_transition_rule_begins_with_the_second_write",
            "A rule with oldSelf is not looked at on create, and on every update of what was there before.",
            async |t| {
                served(
                    t,
                    of_spec(spec(
                        json!([{ "rule": "self.s == oldSelf.s", "message": "s is immutable" }]),
                    )),
                )
                .await?;
                t.make(&things(t, ""), thing(t, "a", json!({ "s": "a" }))).await?;
                t.merge(&things(t, "/a"), json!({ "spec": { "n": 1 } })).await?.is(200)?;
                let answer = t.merge(&things(t, "/a"), json!({ "spec": { "s": "b" } })).await?;
                let cause = "FieldValueInvalid spec: Invalid value: s is immutable".to_owned();
                same("the causes", causes(&answer)?, vec![cause])
            },
        ),
        case(
            "a_member_that_appears_has_no_past",
            "A transition rule of a member is not looked at while it was not there before.",
            async |t| {
                let mut object = spec(json!([]));
                object["properties"]["s"]["x-kubernetes-validations"] =
                    json!([{ "rule": "self == oldSelf" }]);
                served(t, of_spec(object)).await?;
                t.make(&things(t, ""), thing(t, "a", json!({}))).await?;
                t.merge(&things(t, "/a"), json!({ "spec": { "s": "a" } })).await?.is(200)?;
                let answer = t.merge(&things(t, "/a"), json!({ "spec": { "s": "b" } })).await?;
                let cause =
                    "FieldValueInvalid spec.s: Invalid value: \"b\": failed rule: self == oldSelf"
                        .to_owned();
                same("the causes", causes(&answer)?, vec![cause])?;
                t.merge(&things(t, "/a"), json!({ "spec": { "s": null } })).await?.is(200).map(drop)
            },
        ),
        case(
            "an_optional_past_is_asked_for",
            "With optionalOldSelf a rule is looked at on create too, and oldSelf may have no value.",
            async |t| {
                let rule = json!({ "rule": "oldSelf.hasValue() ? self.n >= oldSelf.value().n : self.n == 1", "optionalOldSelf": true, "message": "up" });
                served(t, of_spec(spec(json!([rule])))).await?;
                breaks(t, json!({ "n": 2 }), &["FieldValueInvalid spec: Invalid value: up"])
                    .await?;
                t.make(&things(t, ""), thing(t, "a", json!({ "n": 1 }))).await?;
                t.merge(&things(t, "/a"), json!({ "spec": { "n": 3 } })).await?.is(200)?;
                t.merge(&things(t, "/a"), json!({ "spec": { "n": 2 } }))
                    .await?
                    .refused(422, "Invalid")
                    .map(drop)
            },
        ),
        case(
            "keyed_elements_are_followed",
            "A transition rule of the elements of a list of type map compares those of one key, wherever they are.",
            async |t| {
                let mut object = spec(json!([]));
                object["properties"]["keyed"]["items"]["x-kubernetes-validations"] =
                    json!([{ "rule": "self.v >= oldSelf.v", "message": "v grows" }]);
                served(t, of_spec(object)).await?;
                let list = json!([{ "k": "a", "v": 1 }, { "k": "b", "v": 5 }]);
                t.make(&things(t, ""), thing(t, "a", json!({ "keyed": list }))).await?;
                let list =
                    json!([{ "k": "b", "v": 5 }, { "k": "c", "v": 0 }, { "k": "a", "v": 2 }]);
                t.merge(&things(t, "/a"), json!({ "spec": { "keyed": list } })).await?.is(200)?;
                let list = json!([{ "k": "a", "v": 2 }, { "k": "b", "v": 4 }]);
                let answer =
                    t.merge(&things(t, "/a"), json!({ "spec": { "keyed": list } })).await?;
                let cause = "FieldValueInvalid spec.keyed[1]: Invalid value: v grows".to_owned();
                same("the causes", causes(&answer)?, vec![cause])
            },
        ),
        case(
            "what_was_broken_may_stay",
            "An update that does not touch what breaks a rule is accepted with a warning; one that does is refused.",
            async |t| {
                served(t, of_spec(spec(json!([])))).await?;
                t.make(&things(t, ""), thing(t, "a", json!({ "n": 1, "o": { "x": 1 } }))).await?;
                let mut object = spec(json!([]));
                object["properties"]["o"]["x-kubernetes-validations"] =
                    json!([{ "rule": "self.x > 5" }]);
                let schema = json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": of_spec(object) }]);
                let name =
                    format!("{DEFINITIONS}/{}", text(&definition(t, json!({})), "/metadata/name"));
                t.patch(&name, crate::conformance::JSON_PATCH, &schema).await?.is(200)?;
                in_force(t, &thing(t, "b", json!({ "o": { "x": 1 } }))).await?;
                let answer = t.merge(&things(t, "/a"), json!({ "spec": { "n": 2 } })).await?;
                answer.is(200)?;
                let warning = "299 - \"spec.o: Invalid value: failed rule: self.x > 5\"".to_owned();
                same("warnings", answer.warnings(), vec![warning])?;
                let answer =
                    t.merge(&things(t, "/a"), json!({ "spec": { "o": { "x": 2 } } })).await?;
                let cause =
                    "FieldValueInvalid spec.o: Invalid value: failed rule: self.x > 5".to_owned();
                same("the causes", causes(&answer)?, vec![cause])
            },
        ),
        case(
            "applies_are_looked_at",
            "What a server-side apply makes is looked at as any write.",
            async |t| {
                served(t, of_spec(spec(json!([{ "rule": "self.n > 5" }])))).await?;
                let path = things(t, "/a?fieldManager=m");
                let answer = t
                    .patch(&path, crate::conformance::APPLY, &thing(t, "a", json!({ "n": 1 })))
                    .await?;
                let cause =
                    "FieldValueInvalid spec: Invalid value: failed rule: self.n > 5".to_owned();
                same("the causes", causes(&answer)?, vec![cause])
            },
        ),
        case(
            "a_write_of_the_status_looks_at_all_rules",
            "Rules of the status are looked at when the status is written; what they say of the spec then too.",
            async |t| {
                let mut object = definition(
                    t,
                    json!({
                        "type": "object",
                        "properties": {
                            "spec": spec(json!([])),
                            "status": { "type": "object", "properties": { "n": { "type": "integer" } }, "x-kubernetes-validations": [{ "rule": "self.n > 5" }] },
                        },
                        "x-kubernetes-validations": [{ "rule": "!has(self.status) || self.status.n >= self.spec.n", "message": "less" }],
                    }),
                );
                object["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
                t.make(DEFINITIONS, object).await?;
                t.until(&things(t, ""), "served", |code, _| code == 200).await?;
                t.make(&things(t, ""), thing(t, "a", json!({ "n": 7 }))).await?;
                let answer =
                    t.merge(&things(t, "/a/status"), json!({ "status": { "n": 1 } })).await?;
                let expected = vec![
                    "FieldValueInvalid <nil>: Invalid value: less".to_owned(),
                    "FieldValueInvalid status: Invalid value: failed rule: self.n > 5".to_owned(),
                ];
                same("the causes", causes(&answer)?, expected)?;
                t.merge(&things(t, "/a/status"), json!({ "status": { "n": 8 } }))
                    .await?
                    .is(200)
                    .map(drop)
            },
        ),
    ]
}

fn values() -> Vec<Case> {
    vec![
        case("rules_see_defaults", "Rules see what defaults have filled in.", async |t| {
            are_true(t, json!({ "n": 1 }), &["has(self.flag) && self.flag"]).await
        }),
        case(
            "a_null_is_absent",
            "A member that may be null and is, is not there for rules.",
            async |t| are_true(t, json!({ "maybe": null }), &["!has(self.maybe)"]).await,
        ),
        case(
            "names_are_escaped",
            "Members whose names are no identifiers, or words of CEL, are written with underscores.",
            async |t| {
                let rules = [
                    "self.a__dash__b__dot__c == 'x'",
                    "self.__namespace__ == 'y'",
                    "self.an__underscores__odd_one == 'z'",
                ];
                are_true(t, json!({ "a-b.c": "x", "namespace": "y", "an__odd_one": "z" }), &rules)
                    .await
            },
        ),
        case(
            "sets_have_no_order",
            "Lists of type set are equal in any order, and grow together once.",
            async |t| {
                let rules = [
                    "self.set == ['b', 'a']",
                    "self.set + ['c', 'a'] == ['c', 'b', 'a']",
                    "self.l != ['b', 'a']",
                ];
                are_true(t, json!({ "set": ["a", "b"], "l": ["a", "b"] }), &rules).await
            },
        ),
        case(
            "keyed_lists_have_no_order",
            "Lists of type map are equal in any order of their keys.",
            async |t| {
                served(
                    t,
                    of_spec(spec(
                        json!([{ "rule": "self.keyed == oldSelf.keyed", "message": "immutable" }]),
                    )),
                )
                .await?;
                t.make(
                    &things(t, ""),
                    thing(t, "a", json!({ "keyed": [{ "k": "a", "v": 1 }, { "k": "b" }] })),
                )
                .await?;
                let turned = json!([{ "k": "b" }, { "k": "a", "v": 1 }]);
                t.merge(&things(t, "/a"), json!({ "spec": { "keyed": turned } })).await?.is(200)?;
                let other = json!([{ "k": "b" }, { "k": "a", "v": 2 }]);
                t.merge(&things(t, "/a"), json!({ "spec": { "keyed": other } }))
                    .await?
                    .refused(422, "Invalid")
                    .map(drop)
            },
        ),
        case(
            "formats_have_types",
            "Dates are points in time, durations spans, bytes bytes.",
            async |t| {
                let rules = [
                    "self.time + self.span == timestamp('2024-05-06T08:38:09Z')",
                    "self.time.getFullYear() == 2024",
                    "self.day.getDayOfMonth() == 5 && self.day.getDate() == 6 && self.day.getDayOfWeek() == 1",
                    "self.span == duration('90m') && self.span.getMinutes() == 90",
                    "self.time > self.day",
                    "self.bytes == b'hi' && string(self.bytes) == 'hi' && size(self.bytes) == 2",
                    "self.time.getHours('+02:00') == 9",
                    "string(self.span) == '5400s'",
                    "self.time - timestamp('2024-05-06T07:08:08.5Z') == duration('500ms')",
                ];
                let of = json!({ "day": "2024-05-06", "time": "2024-05-06T07:08:09Z", "span": "1h30m", "bytes": "aGk=" });
                are_true(t, of, &rules).await
            },
        ),
        case(
            "an_int_or_string_is_either",
            "An int-or-string is what it is, and compared without its type.",
            async |t| {
                let rules = [
                    "type(self.either) == int && self.either > 5",
                    "self.either != '7'",
                    "self.either + 1 == 8",
                ];
                are_true(t, json!({ "either": 7 }), &rules).await
            },
        ),
        case(
            "numbers_are_of_three_types",
            "Numbers are compared over types, and converted when told to.",
            async |t| {
                let rules = [
                    "self.f == 2.5 && self.f > 2 && self.n < 5.5",
                    "double(self.n) == 5.0 && int(self.f) == 2",
                    "uint(self.n) == 5u",
                    "dyn(self.n) == 5.0",
                    "-self.n == -5 && self.n % 2 == 1 && 7 / 2 == 3",
                    "string(self.f) == '2.5' && string(self.n) == '5'",
                    "0x10 == 16 && 1e3 == 1000.0",
                ];
                are_true(t, json!({ "n": 5, "f": 2.5 }), &rules).await
            },
        ),
        case(
            "unknown_members_are_compared",
            "Preserved members that no rule can name are compared.",
            async |t| {
                served(t, of_spec(spec(json!([{ "rule": "self.open == oldSelf.open" }])))).await?;
                t.make(&things(t, ""), thing(t, "a", json!({ "open": { "x": 1 } }))).await?;
                t.merge(&things(t, "/a"), json!({ "spec": { "n": 1 } })).await?.is(200)?;
                let other = json!({ "spec": { "open": { "x": 2 } } });
                t.merge(&things(t, "/a"), other).await?.refused(422, "Invalid").map(drop)
            },
        ),
    ]
}
