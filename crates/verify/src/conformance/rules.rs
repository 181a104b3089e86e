//! Rules in CEL of custom kinds: which ones a definition may have.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::definitions::{DEFINITIONS, definition, of_spec};
use crate::conformance::{Case, Outcome, Target, case};

pub(super) fn cases() -> Vec<Case> {
    [refused_rules(), costs()].into_iter().flatten().collect()
}

/// A schema with a member of every type, and these rules.
pub(super) fn spec(rules: Value) -> Value {
    json!({
        "type": "object",
        "x-kubernetes-validations": rules,
        "properties": {
            "n": { "type": "integer", "maximum": 1000 },
            "f": { "type": "number" },
            "flag": { "type": "boolean", "default": true },
            "s": { "type": "string", "maxLength": 30 },
            "l": { "type": "array", "maxItems": 10, "items": { "type": "string", "maxLength": 10 } },
            "numbers": { "type": "array", "maxItems": 10, "items": { "type": "integer" } },
            "set": {
                "type": "array", "maxItems": 10, "x-kubernetes-list-type": "set",
                "items": { "type": "string", "maxLength": 10 },
            },
            "keyed": {
                "type": "array", "maxItems": 10, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {
                    "type": "object", "required": ["k"],
                    "properties": { "k": { "type": "string", "maxLength": 10 }, "v": { "type": "integer" } },
                },
            },
            "m": {
                "type": "object", "maxProperties": 10,
                "additionalProperties": { "type": "string", "maxLength": 10 },
            },
            "o": { "type": "object", "properties": { "x": { "type": "integer" } } },
            "either": { "x-kubernetes-int-or-string": true, "maxLength": 10 },
            "maybe": { "type": "string", "maxLength": 10, "nullable": true },
            "open": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "day": { "type": "string", "format": "date" },
            "time": { "type": "string", "format": "date-time" },
            "span": { "type": "string", "format": "duration" },
            "bytes": { "type": "string", "format": "byte", "maxLength": 20 },
            "a-b.c": { "type": "string", "maxLength": 10 },
            "namespace": { "type": "string", "maxLength": 10 },
            "an__odd_one": { "type": "string", "maxLength": 10 },
        },
    })
}

pub(super) fn causes(answer: &Answer) -> Result<Vec<String>, String> {
    let status = answer.refused(422, "Invalid")?;
    let cause = |cause: &Value| {
        format!("{} {}: {}", text(cause, "/reason"), text(cause, "/field"), text(cause, "/message"))
    };
    Ok(items(&status, "/details/causes").iter().map(cause).collect())
}

const RULE: &str = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]";

/// A definition with this rule is refused: at this member of the rule, for a reason that ends so.
async fn is_refused(t: &Target, rule: Value, reason: &str, member: &str, why: &str) -> Outcome {
    let said = rule.to_string();
    let answer = t.post(DEFINITIONS, &definition(t, of_spec(spec(json!([rule]))))).await?;
    let found = causes(&answer)?;
    let first = found.first().map_or("", String::as_str);
    let begins = first.starts_with(&format!("{reason} {RULE}.{member}: "));
    holds(
        &format!("{said} is refused for {why:?}, not for {first:?}"),
        begins && first.ends_with(why),
    )
}

/// A rule that cannot be read or checked; `why`: the first line of what is said, with the column.
async fn does_not_compile(t: &Target, rule: &str, column: usize, why: &str) -> Outcome {
    let dots = ".".repeat(column - 1);
    let why =
        format!("compilation failed: ERROR: <input>:1:{column}: {why}\n | {rule}\n | {dots}^");
    is_refused(t, json!({ "rule": rule }), "FieldValueInvalid", "rule", &why).await
}

fn refused_rules() -> Vec<Case> {
    vec![
        case(
            "a_rule_is_an_expression",
            "A rule that ends too early is refused with its place.",
            async |t| {
                let why = "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', \
                       'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
                does_not_compile(t, "self.n <", 9, why).await
            },
        ),
        case(
            "signs_of_no_meaning_are_refused",
            "A sign that CEL does not know is refused.",
            async |t| {
                does_not_compile(
                    t,
                    "self.n == 1;",
                    12,
                    "Syntax error: token recognition error at: ';'",
                )
                .await
            },
        ),
        case(
            "a_rule_knows_the_members",
            "A rule with a member that the schema does not name is refused, of preserved ones too.",
            async |t| {
                does_not_compile(t, "self.nope == 1", 5, "undefined field 'nope'").await?;
                does_not_compile(t, "has(self.open.x)", 4, "undefined field 'x'").await
            },
        ),
        case(
            "types_must_fit",
            "A rule that compares values of two types is refused with both.",
            async |t| {
                let why = "found no matching overload for '_==_' applied to '(int, string)'";
                does_not_compile(t, "self.n == 'a'", 8, why).await?;
                let why = "found no matching overload for 'size' applied to 'int.()'";
                does_not_compile(t, "self.n.size() == 1", 12, why).await?;
                let why = "found no matching overload for '_!=_' applied to '(string, null)'";
                does_not_compile(t, "self.maybe != null", 12, why).await
            },
        ),
        case("both_sides_of_an_and_are_bools", "What `&&` joins must be bools.", async |t| {
            does_not_compile(t, "self.flag && self.n", 18, "expected type 'bool' but found 'int'")
                .await
        }),
        case("only_lists_and_maps_are_walked", "`all` of an object is refused.", async |t| {
            let why = "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)";
            does_not_compile(t, "self.n.all(k, true)", 5, why).await
        }),
        case(
            "what_is_not_declared_is_refused",
            "Unknown functions and variables are refused by name.",
            async |t| {
                does_not_compile(
                    t,
                    "nope(self.n)",
                    5,
                    "undeclared reference to 'nope' (in container '')",
                )
                .await?;
                does_not_compile(
                    t,
                    "self.n == m",
                    11,
                    "undeclared reference to 'm' (in container '')",
                )
                .await
            },
        ),
        case("a_rule_is_a_bool", "A rule whose value is no bool is refused.", async |t| {
            let rule = json!({ "rule": "self.n" });
            let why = "cel expression must evaluate to a bool";
            is_refused(t, rule, "FieldValueInvalid", "rule", why).await
        }),
        case(
            "a_message_expression_is_a_text",
            "A messageExpression of a number is refused.",
            async |t| {
                let rule = json!({ "rule": "true", "messageExpression": "self.n" });
                let why = "messageExpression must evaluate to a string";
                is_refused(t, rule, "FieldValueInvalid", "messageExpression", why).await
            },
        ),
        case(
            "a_message_expression_is_checked",
            "A messageExpression that does not compile is refused.",
            async |t| {
                let rule = json!({ "rule": "true", "messageExpression": "self.nope" });
                let why = "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n \
                       | ....^";
                is_refused(t, rule, "FieldValueInvalid", "messageExpression", why).await
            },
        ),
        case(
            "written_out_values_are_checked",
            "Patterns and durations that are none are refused.",
            async |t| {
                does_not_compile(t, "self.s.matches('(')", 16, "invalid matches argument").await?;
                does_not_compile(t, "duration('x') == self.span", 10, "invalid duration argument")
                    .await?;
                does_not_compile(t, "timestamp('x') == self.time", 11, "invalid timestamp argument")
                    .await
            },
        ),
        case(
            "lists_are_of_one_type",
            "A list that is written out has elements of one type.",
            async |t| {
                does_not_compile(
                    t,
                    "self.n in [1, 'a']",
                    15,
                    "expected type 'int' but found 'string'",
                )
                .await
            },
        ),
        case(
            "a_format_takes_its_types",
            "A clause of a format that does not take its value is refused.",
            async |t| {
                let why = "error during formatting: decimal clause can only be used on integers, was given string";
                does_not_compile(t, "'%d'.format([self.s]) == ''", 18, why).await
            },
        ),
        case(
            "a_conversion_is_tried",
            "A number that is written as a text and is none is refused.",
            async |t| {
                let why =
                    "program instantiation failed: type conversion error from 'string' to 'int'";
                is_refused(t, json!({ "rule": "int('x') == 1" }), "FieldValueInvalid", "rule", why)
                    .await
            },
        ),
        case(
            "optional_old_self_wants_old_self",
            "optionalOldSelf of a rule that does not read oldSelf is refused.",
            async |t| {
                let rule = json!({ "rule": "self.n > 0", "optionalOldSelf": true });
                let why = "Invalid value: true: may not be set if oldSelf is not used in rule";
                is_refused(t, rule, "FieldValueInvalid", "optionalOldSelf", why).await
            },
        ),
        case(
            "elements_without_keys_have_no_past",
            "A rule of the elements of an atomic list may not read oldSelf; of a list of type map it may.",
            async |t| {
                let rules = json!([{ "rule": "self == oldSelf" }]);
                let mut object = spec(json!([]));
                object["properties"]["l"]["items"]["x-kubernetes-validations"] = rules.clone();
                let answer = t.post(DEFINITIONS, &definition(t, of_spec(object))).await?;
                let at = "spec.validation.openAPIV3Schema.properties[spec].properties[l]";
                let cause = format!(
                    "FieldValueInvalid {at}.items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": \
                     oldSelf cannot be used on the uncorrelatable portion of the schema within {at}"
                );
                same("the causes", causes(&answer)?, vec![cause])?;
                let mut object = spec(json!([]));
                object["properties"]["keyed"]["items"]["x-kubernetes-validations"] = rules;
                t.post(&format!("{DEFINITIONS}?dryRun=All"), &definition(t, of_spec(object)))
                    .await?
                    .is(201)
                    .map(drop)
            },
        ),
        case(
            "rules_wait_for_the_schema",
            "While the schema of a place is wrong its rules are not looked at.",
            async |t| {
                let mut object = spec(json!([{ "rule": "self.nope == 1" }]));
                object["properties"]["l"]["uniqueItems"] = true.into();
                let answer = t.post(DEFINITIONS, &definition(t, of_spec(object))).await?;
                let found = causes(&answer)?;
                holds(
                    "only the schema is wrong",
                    found.len() == 1 && found[0].contains("uniqueItems"),
                )
            },
        ),
    ]
}

/// A definition whose spec is of these members is refused: its one rule costs so many times too
/// much.
async fn costs_too_much(t: &Target, members: Value, rule: &str, factor: &str) -> Outcome {
    let object = json!({
        "type": "object", "properties": members, "x-kubernetes-validations": [{ "rule": rule }],
    });
    let answer =
        t.post(&format!("{DEFINITIONS}?dryRun=All"), &definition(t, of_spec(object))).await?;
    let found = causes(&answer)?;
    let begin = format!(
        "FieldValueForbidden {RULE}.rule: Forbidden: estimated rule cost exceeds budget by factor of {factor} ("
    );
    let first = found.first().map_or("", String::as_str);
    holds(&format!("{rule} costs {factor} too much, not {first:?}"), first.starts_with(&begin))
}

fn texts(items: u64, length: u64) -> Value {
    json!({ "l": { "type": "array", "maxItems": items, "items": { "type": "string", "maxLength": length } } })
}

fn costs() -> Vec<Case> {
    vec![
        case(
            "rules_without_bounds_cost_too_much",
            "A rule that walks a list of texts without bounds is refused, and so is the whole schema.",
            async |t| {
                let object = json!({
                    "type": "object",
                    "properties": { "l": { "type": "array", "items": { "type": "string" } } },
                    "x-kubernetes-validations": [{ "rule": "self.l.all(x, x.contains('a'))" }],
                });
                let answer = t.post(DEFINITIONS, &definition(t, of_spec(object))).await?;
                let much = "exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, \
                            maxProperties, and maxLength where arrays, maps, and strings are declared)";
                let total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
                let one = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                let expected = vec![
                    format!(
                        "FieldValueForbidden {RULE}.rule: Forbidden: estimated rule cost {much}"
                    ),
                    format!("FieldValueForbidden {RULE}.rule: Forbidden: {one}"),
                    format!(
                        "FieldValueForbidden spec.validation.openAPIV3Schema: Forbidden: {total} {much}"
                    ),
                ];
                same("the causes", causes(&answer)?, expected)
            },
        ),
        case(
            "walks_in_walks_multiply",
            "A walk inside of a walk costs their product.",
            async |t| {
                let rule = "self.l.all(x, self.l.all(y, x == y))";
                costs_too_much(t, texts(1000, 40), rule, "2.1x").await?;
                let rule = "self.l.all(x, self.l.exists(y, self.l.exists_one(z, x + y == z)))";
                costs_too_much(t, texts(100, 10), rule, "1.7x").await
            },
        ),
        case("what_is_made_of_lists_costs", "Lists that a rule makes are paid for.", async |t| {
            let rule = "self.l.filter(x, x != '').map(x, x + 'a').all(x, self.l.exists(y, x == y))";
            costs_too_much(t, texts(1500, 10), rule, "1.355103x").await?;
            costs_too_much(t, texts(3000, 10), "self.l.distinct().size() == self.l.size()", "1.8x")
                .await?;
            costs_too_much(
                t,
                texts(3000, 10),
                "sets.contains(self.l, self.l) && self.l.sort() == self.l",
                "2.8x",
            )
            .await
        }),
        case(
            "patterns_cost_by_their_length",
            "A pattern costs its length by that of the text.",
            async |t| {
                let rule = "self.l.all(x, x.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))";
                costs_too_much(t, texts(1000, 10_000), rule, "3.2x").await?;
                let rule = "self.l.all(x, x.split(',').all(y, y.startsWith('abc')))";
                costs_too_much(t, texts(100, 10_000), rule, "2.1x").await?;
                let rule = "self.l.join(',').contains('a') || self.l.all(x, x.replace('a', 'bb').lowerAscii() == x)";
                costs_too_much(t, texts(1000, 100_000), rule, "28.0x").await
            },
        ),
        case(
            "rules_of_elements_cost_for_each",
            "A rule of elements costs as often as there may be some.",
            async |t| {
                let mut members = texts(1000, 1_000_000);
                members["l"]["items"]["x-kubernetes-validations"] =
                    json!([{ "rule": "self.contains('abc')" }]);
                let object = json!({ "type": "object", "properties": members });
                let answer = t
                    .post(&format!("{DEFINITIONS}?dryRun=All"), &definition(t, of_spec(object)))
                    .await?;
                let found = causes(&answer)?;
                let first = found.first().map_or("", String::as_str);
                holds(
                    &format!("not {first:?}"),
                    first.contains("exceeds budget by factor of 40.0x "),
                )
            },
        ),
        case("bounds_make_rules_cheap", "The same walks are fine with bounds.", async |t| {
            let members = texts(10, 10);
            let rules = json!([{ "rule": "self.l.all(x, self.l.exists_one(y, x == y))" }]);
            let object = json!({ "type": "object", "properties": members, "x-kubernetes-validations": rules });
            t.post(&format!("{DEFINITIONS}?dryRun=All"), &definition(t, of_spec(object)))
                .await?
                .is(201)
                .map(drop)
        }),
    ]
}
