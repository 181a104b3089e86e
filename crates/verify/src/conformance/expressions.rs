//! Rules in CEL of custom kinds: functions and operators.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::definitions::{DEFINITIONS, definition, of_spec};
use crate::conformance::verdicts::are_true;
use crate::conformance::{Case, Outcome, Target, case};

/// What is first said of a rule that cannot be: the place and the words.
async fn are_refused(t: &Target, rules: &[(&str, &str)]) -> Outcome {
    for (rule, why) in rules {
        let spec = json!({
            "type": "object",
            "properties": { "a": { "type": "string" }, "true": { "type": "string" }, "in": { "type": "string" } },
            "x-kubernetes-validations": [{ "rule": rule }],
        });
        let status =
            t.post(&format!("{DEFINITIONS}?dryRun=All"), &definition(t, of_spec(spec))).await?;
        let status = status.refused(422, "Invalid")?;
        let message = text(&status, "/details/causes/0/message");
        let said = message.split("ERROR: <input>:").nth(1).unwrap_or(message).lines().next();
        same(rule, said, Some(*why))?;
    }
    Ok(())
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "texts_have_functions",
            "Texts are searched, cut, replaced and counted by characters.",
            async |t| {
                let rules = [
                    "self.s.startsWith('hällo') && self.s.endsWith('World') && self.s.contains('-W')",
                    "self.s.size() == 11 && size(self.s) == 11",
                    "self.s.substring(1, 3) == 'äl' && self.s.substring(6) == 'World'",
                    "self.s.indexOf('l') == 2 && self.s.lastIndexOf('l') == 9 && self.s.indexOf('x') == -1",
                    "self.s.indexOf('l', 3) == 3 && self.s.lastIndexOf('l', 5) == 3",
                    "self.s.charAt(1) == 'ä' && self.s.charAt(11) == ''",
                    "self.s.upperAscii() == 'HäLLO-WORLD'",
                    "self.s.replace('l', 'L') == 'häLLo-WorLd' && self.s.replace('l', 'L', 1) == 'häLlo-World'",
                    "self.s.split('-') == ['hällo', 'World'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
                    "' a '.trim() == 'a' && self.l.join('+') == 'a+b' && self.l.join() == 'ab'",
                    "self.s.matches('^h.*d$') && !self.s.matches('^W')",
                    "self.s.find('[A-Z][a-z]+') == 'World'",
                    "self.s.findAll('[a-z]+') == ['h', 'llo', 'orld'] && self.s.findAll('[a-z]+', 1) == ['h']",
                    "strings.quote('a\\nb') == '\"a\\\\nb\"'",
                    "'a' < 'b' && self.s > 'h'",
                    "self.s + '!' == 'hällo-World!'",
                ];
                are_true(t, json!({ "s": "hällo-World", "l": ["a", "b"] }), &rules).await
            },
        ),
        case(
            "texts_are_written_in_ways",
            "Strings may be raw, in three quotes, and have escapes.",
            async |t| {
                let rules = [
                    r"'\u00e9'.size() == 1 && '\x41' == 'A' && '\101' == 'A'",
                    r"r'\d' == '\\d'",
                    "'''a'b''' == 'a\\'b'",
                    "\"a\" == 'a' && b'\\xff' != b'a'",
                    "self.n == 1 // a comment",
                ];
                are_true(t, json!({ "n": 1 }), &rules).await
            },
        ),
        case(
            "literals_out_of_range_are_refused",
            "Numbers that do not fit, and escapes that are none, are refused where they stand.",
            async |t| {
                let rules = [
                    ("1e999 > 1.0", "1:1: invalid double literal"),
                    ("1.0 < -1e999", "1:7: invalid double literal"),
                    ("9223372036854775808 > 1", "1:1: invalid int literal"),
                    ("0x1ffffffffffffffff > 1", "1:1: invalid int literal"),
                    ("99999999999999999999u > 1u", "1:1: invalid uint literal"),
                    (r"b'\u0041' == b'a'", "1:1: unable to unescape string"),
                    (r"'\ud800' == 'a'", "1:1: invalid unicode code point"),
                ];
                are_refused(t, &rules).await
            },
        ),
        case(
            "words_of_the_grammar_name_no_members",
            "`true`, `false`, `null` and `in` are not read as names of members.",
            async |t| {
                let rules = [
                    (
                        "self.true == 'a'",
                        "1:6: Syntax error: mismatched input 'true' expecting IDENTIFIER",
                    ),
                    (
                        "self.a.null == 'a'",
                        "1:8: Syntax error: mismatched input 'null' expecting IDENTIFIER",
                    ),
                    ("self.in == 'a'", "1:6: Syntax error: no viable alternative at input '.in'"),
                    ("self.", "1:6: Syntax error: no viable alternative at input '.'"),
                ];
                are_refused(t, &rules).await
            },
        ),
        case(
            "what_is_not_closed_is_told",
            "What an expression ends without is said: a bracket, a comma, the second half of a sign.",
            async |t| {
                let rules = [
                    ("(1", "1:3: Syntax error: missing ')' at '<EOF>'"),
                    ("size(self.a", "1:12: Syntax error: missing ')' at '<EOF>'"),
                    ("self.a[0", "1:9: Syntax error: missing ']' at '<EOF>'"),
                    ("[1", "1:3: Syntax error: mismatched input '<EOF>' expecting {']', ','}"),
                    ("{'a':1", "1:7: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"),
                    ("self.a = 'a'", "1:8: Syntax error: token recognition error at: '= '"),
                    ("self.a | 'a'", "1:8: Syntax error: token recognition error at: '| '"),
                ];
                are_refused(t, &rules).await
            },
        ),
        case(
            "times_are_written_in_capitals",
            "A timestamp is written in full, has its T and its Z in capitals, and a year from 1 on.",
            async |t| {
                are_true(
                    t,
                    json!({}),
                    &["timestamp('0001-01-01T00:00:00Z') < timestamp('2026-01-01T00:00:00.5+01:00')"],
                )
                .await?;
                let wrong = [
                    "2020-01-01t00:00:00Z",
                    "2020-01-01T00:00:00z",
                    "0000-12-31T00:00:00Z",
                    "2020-01-01 00:00:00Z",
                    "2020-01-01T00:00Z",
                    "2020-01-01T00Z",
                    "2020-01-01T00:00:00+01",
                    "2020-01-01T00:00:60Z",
                    "2020-01-01T00:00:00.Z",
                ];
                for time in wrong {
                    let rule = format!("timestamp('{time}') < timestamp('2026-01-01T00:00:00Z')");
                    are_refused(t, &[(&rule, "1:11: invalid timestamp argument")]).await?;
                }
                Ok(())
            },
        ),
        case(
            "values_are_formatted",
            "`format` knows %s, %d, %f, %x, %b, %o, and lists.",
            async |t| {
                let rules = [
                    "'%s %d %.2f %x'.format([self.s, self.n, self.f, 255]) == 'a 5 1,234.50 ff'",
                    "'%s %s'.format([self.l, true]) == '[\"a\", \"b\"] true'",
                    "'%b %o %X %%'.format([5, 8, 'a']) == '101 10 61 %'",
                    "'%s'.format([self.f]) == '1234.5' && '%s'.format([duration('1m')]) == '60s'",
                ];
                are_true(t, json!({ "s": "a", "n": 5, "f": 1234.5, "l": ["a", "b"] }), &rules).await
            },
        ),
        case(
            "lists_are_walked",
            "`all`, `exists`, `exists_one`, `filter` and `map` walk lists and the keys of maps.",
            async |t| {
                let rules = [
                    "self.l.all(x, x.size() == 1) && !self.l.all(x, x == 'a')",
                    "self.l.exists(x, x == 'b')",
                    "self.l.exists_one(x, x == 'b')",
                    "self.l.filter(x, x != 'b') == ['a', 'c']",
                    "self.l.map(x, x + '!') == ['a!', 'b!', 'c!']",
                    "self.l.map(x, x != 'a', x) == ['b', 'c']",
                    "self.m.all(k, self.m[k].startsWith('v')) && self.m.exists(k, k == 'k1')",
                    "self.l.all(i, x, i < 3 && x != '') && self.m.all(k, v, k != v)",
                    "[].all(x, x == 1)",
                    "self.l.all(x, self.l.exists(y, x == y))",
                ];
                are_true(
                    t,
                    json!({ "l": ["a", "b", "c"], "m": { "k1": "v1", "k2": "v2" } }),
                    &rules,
                )
                .await
            },
        ),
        case("lists_have_functions", "Lists are sorted, cut, summed, searched.", async |t| {
            let rules = [
                "self.numbers.sum() == 6 && self.numbers.min() == 1 && self.numbers.max() == 3",
                "!self.numbers.isSorted() && self.numbers.sort() == [1, 2, 3] && self.numbers.sort().isSorted()",
                "self.numbers.indexOf(1) == 1 && self.numbers.lastIndexOf(9) == -1",
                "self.numbers.slice(0, 2) == [3, 1] && self.numbers.reverse() == [2, 1, 3]",
                "[1, 1, 2].distinct() == [1, 2] && [[1], [2, 3]].flatten() == [1, 2, 3]",
                "lists.range(3) == [0, 1, 2] && self.numbers.first().value() == 3 && self.numbers.last().value() == 2",
                "1 in self.numbers && !(4 in self.numbers) && self.numbers[0] == 3",
                "self.numbers + [4] == [3, 1, 2, 4]",
                "sets.contains(self.numbers, [1]) && sets.intersects([1, 9], self.numbers)",
                "sets.equivalent(self.numbers, [1, 2, 3, 3])",
            ];
            are_true(t, json!({ "numbers": [3, 1, 2] }), &rules).await
        }),
        case(
            "maps_are_looked_into",
            "Values of maps are found by key, as members too.",
            async |t| {
                let rules = [
                    "self.m['k'] == 'v' && self.m.k == 'v' && 'k' in self.m && !('x' in self.m)",
                    "size(self.m) == 2",
                    "has(self.m.k) && !has(self.m.x)",
                    "self.m == {'l': 'w', 'k': 'v'}",
                    "{'a': 1}.a == 1",
                ];
                are_true(t, json!({ "m": { "k": "v", "l": "w" } }), &rules).await
            },
        ),
        case("optional_values", "`.?` and `[?]` find what may not be there.", async |t| {
            let rules = [
                "self.?s.orValue('x') == 'x' && !self.?s.hasValue()",
                "self.?n.value() == 5",
                "self.m[?'zz'].orValue('q') == 'q' && self.m[?'k'].value() == 'v'",
                "self.?o.?x.orValue(7) == 7",
                "optional.of(1).hasValue() && optional.none().orValue(1) == 1",
                "self.?s.or(optional.of('y')).value() == 'y'",
                "!optional.ofNonZeroValue(0).hasValue()",
            ];
            are_true(t, json!({ "n": 5, "m": { "k": "v" } }), &rules).await
        }),
        case("quantities_are_compared", "Quantities are read, compared and added.", async |t| {
            let rules = [
                "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('500m').isLessThan(quantity('1'))",
                "quantity('500m').add(quantity('1')).compareTo(quantity('1500m')) == 0",
                "isQuantity('1Ki') && !isQuantity('1x')",
                "sign(quantity('-1')) == -1 && quantity('1k').asInteger() == 1000 && !quantity('0.5').isInteger()",
                "quantity('10').sub(5) == quantity('5') && quantity('1500m').asApproximateFloat() == 1.5",
            ];
            are_true(t, json!({}), &rules).await
        }),
        case("addresses_are_read", "Addresses and networks are read and compared.", async |t| {
            let rules = [
                "isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0.300') && !isIP('::ffff:1.2.3.4')",
                "ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && ip('8.8.8.8').isGlobalUnicast()",
                "ip.isCanonical('127.0.0.1') && !ip.isCanonical('0:0::1')",
                "string(ip('0:0::1')) == '::1'",
                "cidr('10.0.0.0/8').containsIP('10.1.1.1') && !cidr('10.0.0.0/8').containsIP(ip('11.1.1.1'))",
                "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
                "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.1/33') && cidr('::/64').prefixLength() == 64",
                "cidr('10.0.0.1/8').ip() == ip('10.0.0.1')",
            ];
            are_true(t, json!({}), &rules).await
        }),
    ]
}
