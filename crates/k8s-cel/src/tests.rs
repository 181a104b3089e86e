//! Expressions by themselves: depth, cost, words, and that nothing makes them panic.

use std::sync::Arc;

use crate::{
    Activation, Asked, AskedResource, Authorizer, Composition, Decision, Declared, Environment,
    EvalError, Expression, Type, Value,
};
use proptest::prelude::*;

/// `{n: integer, l: at most ten texts of at most ten characters}`.
fn declared() -> Arc<Declared> {
    let texts = Declared::list(Declared::plain(Type::String, 40, 2), Some(10));
    let members = [("n", Declared::plain(Type::Int, 0, 1)), ("l", texts)];
    Declared::object(members.map(|(name, of)| (name.to_owned(), of)).into(), 2)
}

fn read(source: &str) -> Result<Expression, String> {
    Expression::compile(source, &declared(), false).map_err(|error| error.to_string())
}

fn value(source: &str) -> Result<Value, EvalError> {
    read(source).unwrap().evaluate(&Value::Null, None).value
}

#[test]
fn nesting_has_an_end_and_overflows_no_stack() {
    let nested = |open: &str, close: &str, depth: usize| {
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    };
    for source in [
        nested("(", ")", 9_000),
        nested("[", "]", 9_000),
        nested("-(", ")", 9_000),
        nested("size(", ")", 9_000),
        format!("1{}", " + 1".repeat(9_000)),
        format!("self{}", ".a".repeat(9_000)),
        format!("self.l{}", "[0]".repeat(9_000)),
        format!("{}true", "true ? 1 : ".repeat(9_000)),
    ] {
        let what = Expression::unsupported(&source);
        let begins = source.get(..20).unwrap_or_default();
        assert_eq!(what.as_deref(), Some("nesting of more than 64 levels"), "{begins}");
    }
    for source in [
        nested("(", ")", 60),
        nested("[", "]", 60),
        nested("dyn(", ")", 60),
        format!("1{}", " + 1".repeat(60)),
    ] {
        drop(read(&source).unwrap().evaluate(&Value::Null, None));
    }
}

#[test]
fn what_takes_long_is_too_expensive_and_what_ends_early_is_not_paid_for() {
    let many = (0..20_000).map(Value::Int).collect();
    let list = crate::List::of(many);
    let declared = Declared::list(Declared::plain(Type::Int, 0, 1), None);
    let cost = |source: &str| {
        let expression = Expression::compile(source, &declared, false).unwrap();
        let evaluation = expression.evaluate(&list, None);
        evaluation.value.map(|_| evaluation.cost)
    };
    for source in [
        "self.all(x, (self + self).size() > 0)",
        "self.all(x, self.reverse().size() > 0)",
        "self.all(x, lists.range(1000).size() > 0)",
        "self.distinct().size() > 0",
        "sets.contains(self, self)",
        &format!("[[1]]{}.size() > 0", ".map(a, a + a)".repeat(55)),
        &format!("[1]{}.all(a, a == a)", ".map(a, [a, a])".repeat(45)),
        &format!("[1]{}.all(a, a in [a])", ".map(a, [a, a])".repeat(45)),
        &format!("[1]{}.flatten(50).size() > 0", ".map(a, [a, a])".repeat(45)),
        &format!("'%s'.format([[1]{}]) == ''", ".map(a, [a, a])".repeat(45)),
        &format!(
            "[1]{}.all(a, {{'a': a, 'b': a}} == {{'a': a, 'b': a}})",
            ".map(a, [a, a])".repeat(45)
        ),
        &format!("['a']{}.join('').size() > 0", ".map(a, a + a)".repeat(30)),
        "['aaaaaaaaaa'.replace('a', 'bbbbbbbbbb')].map(a, a.replace('b', a)).map(a, a.replace('b', a)).map(a, a.replace('b', a)).size() > 0",
    ] {
        assert_eq!(cost(source), Err(EvalError::TooExpensive), "{source}");
    }
    // One element of 20,000 is looked at, 20,000 times.
    assert!(cost("self.all(x, self.exists(y, y == 0))").unwrap() < 20_000 * 12);
}

#[test]
fn milliseconds_of_a_duration_are_all_of_it() {
    assert!(matches!(value("duration('1.5s').getMilliseconds()"), Ok(Value::Int(1500))));
}

#[test]
fn expressions_have_at_most_as_many_characters_as_there() {
    let text = |characters: usize| format!("'{}'.size() > 0", "\u{e4}".repeat(characters - 13));
    assert!(read(&text(100_000)).is_ok());
    let why = "expression code point size exceeds limit: size: 100001, limit 100000";
    assert!(read(&text(100_001)).unwrap_err().contains(why));
    let list = format!("[{}].size() > 0", vec!["1"; 5_000].join(","));
    assert!(read(&list).is_ok());
}

fn alternatives_are_no_nesting(count: usize) {
    let source = vec!["self.n == 1"; count].join(" || ");
    assert_eq!(read(&source).unwrap().result(), &Type::Bool);
    assert!(matches!(value(&vec!["false"; count].join(" || ")), Ok(Value::Bool(false))));
    assert!(matches!(
        value(&format!("{} || true", vec!["false"; count].join(" || "))),
        Ok(Value::Bool(true))
    ));
}

#[test]
fn long_alternatives_are_no_nesting() {
    alternatives_are_no_nesting(1_000);
}

/// Played by the stage `properties`.
mod long {
    use super::{alternatives_are_no_nesting, read};

    #[test]
    fn longer_alternatives_are_no_nesting() {
        alternatives_are_no_nesting(5_000);
    }

    #[test]
    fn expressions_near_the_limit_are_read() {
        let list = |elements: usize| format!("[{}].size() > 0", vec!["1"; elements].join(","));
        assert!(read(&list(49_990)).is_ok());
        let why = "expression code point size exceeds limit: size: 100012, limit 100000";
        assert!(read(&list(50_000)).unwrap_err().contains(why));
        assert!(read(&vec!["self.n == 1"; 6_600].join(" && ")).is_ok());
    }
}

#[test]
fn what_takes_too_long_is_stopped() {
    let rule = "lists.range(1000).all(x, lists.range(1000).all(y, lists.range(1000).all(z, true)))";
    assert_eq!(value(rule).unwrap_err(), EvalError::TooExpensive);
    assert_eq!(value("lists.range(1000000000).size() == 1").unwrap_err(), EvalError::TooExpensive);
}

#[test]
fn a_problem_is_shown_with_its_line() {
    let why = read("self.n == 1\n  && self.m == 2").unwrap_err();
    assert_eq!(why, "ERROR: <input>:2:10: undefined field 'm'\n |   && self.m == 2\n | .........^");
}

#[test]
fn all_problems_are_said_in_the_order_of_the_source() {
    let why = read("self.b == 1 && a.all(x, x == y)").unwrap_err();
    let places: Vec<&str> = why.lines().filter(|line| line.starts_with("ERROR")).collect();
    assert_eq!(
        places,
        [
            "ERROR: <input>:1:5: undefined field 'b'",
            "ERROR: <input>:1:16: undeclared reference to 'a' (in container '')",
            "ERROR: <input>:1:30: undeclared reference to 'y' (in container '')",
        ]
    );
}

#[test]
fn what_is_missing_is_named() {
    for (source, name) in [
        ("isURL(self.l[0])", "isURL"),
        ("format.dns1123Label().validate('a').hasValue()", "validate"),
        ("self.l.map(x, url(x).getHost())", "getHost"),
        ("'%e'.format([1.0]) == ''", "format with %e"),
        ("self.l.sortBy(x, x) == []", "sortBy"),
    ] {
        assert_eq!(
            Expression::unsupported(source),
            Some(format!("the function {name}")),
            "{source}"
        );
    }
    for (source, what) in [
        ("[?optional.of(1)] == [1]", "optional elements of lists and maps"),
        ("{?'a': optional.of(1)} == {'a': 1}", "optional elements of lists and maps"),
        (".self.n == 1", "names that begin with a dot"),
    ] {
        assert_eq!(Expression::unsupported(source).as_deref(), Some(what), "{source}");
    }
    assert_eq!(Expression::unsupported("self.l.all(x, x == '') && nope()"), None);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(source in ".{0,60}") {
        drop(read(&source));
    }

    #[test]
    fn no_words_make_it_panic(words in prop::collection::vec(prop::sample::select(WORDS), 0..24)) {
        let source: String = words.concat();
        if let Ok(expression) = read(&source) {
            drop(expression.evaluate(&Value::Null, None));
            drop(expression.wrong_constant());
        }
    }
}

const WORDS: &[&str] = &[
    "self",
    ".l",
    ".n",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
    ":",
    " ? ",
    " + ",
    " - ",
    "-",
    "!",
    " == ",
    " in ",
    " && ",
    " || ",
    "1",
    "2u",
    "1.5",
    "'a'",
    "b'x'",
    "x",
    ".all(x, ",
    ".map(x, ",
    ".exists(x, ",
    ".filter(x, ",
    "has(",
    "size(",
    "duration('1h')",
    "timestamp('2024-01-01T00:00:00Z')",
    ".substring(",
    ".split(",
    ".format([",
    "])",
    "quantity('1')",
    "cidr('10.0.0.0/8')",
    ".masked()",
    "optional.of(",
    ".?n",
    "true",
    "null",
    " < ",
    " % ",
    " / ",
    " * ",
    "lists.range(",
    "9223372036854775807",
    ".lastIndexOf(",
    ".slice(",
    "string(",
    "int(",
];

#[derive(Debug)]
struct Gets(&'static str);

impl Authorizer for Gets {
    fn authorize(&self, account: Option<(&str, &str)>, asked: &Asked<'_>) -> Decision {
        let allowed = match asked {
            Asked::Path { verb, .. } => *verb == "get",
            Asked::Resource { of, verb } => *verb == "get" && of.resource == self.0,
        };
        let reason = account.map(|(namespace, name)| format!("{namespace}/{name}"));
        Decision { allowed, reason: reason.unwrap_or_default(), error: String::new() }
    }
}

/// Evaluates an expression about `object`, `authorizer` and `variables.big`.
fn evaluated(source: &str) -> Result<Value, String> {
    let mut environment = Environment::default()
        .variable("object", Type::Dyn)
        .variable("authorizer", Type::AUTHORIZER)
        .variable("authorizer.requestResource", Type::RESOURCE_CHECK)
        .composed();
    let mut variables = Composition::default();
    variables.add("big", "object.size > 5", &mut environment).unwrap();
    variables.add("not", "!variables.big", &mut environment).unwrap();
    variables.add("missing", "object.other", &mut environment).unwrap();
    assert!(variables.add("wrong", "nothing", &mut environment).is_err());
    let authorizer: Arc<dyn Authorizer> = Arc::new(Gets("pods"));
    let asked = AskedResource { resource: "pods".to_owned(), ..AskedResource::default() };
    let object = serde_json::json!({ "size": 7, "none": null, "list": [1, 2.5], "if": "x" });
    let activation = Activation::default()
        .set("object", Value::of_json(&object))
        .set("authorizer", Value::authorizer(&authorizer))
        .set("authorizer.requestResource", Value::request_resource(&authorizer, asked))
        .composed(&variables);
    let compiled = Expression::compile_in(source, &environment).map_err(|why| why.to_string())?;
    activation.evaluate(&compiled).value.map_err(|why| why.to_string())
}

#[test]
fn values_without_a_schema_are_maps() {
    for source in [
        "object.size == 7",
        "has(object.size) && !has(object.other) && has(object.none)",
        "object.none == null && object.list[1] == 2.5 && object.if == 'x'",
        "object.?other.orValue(3) == 3 && object['size'] == 7",
    ] {
        assert!(matches!(evaluated(source), Ok(Value::Bool(true))), "{source}");
    }
    assert_eq!(evaluated("object.other").unwrap_err(), "no such key: other");
}

#[test]
fn variables_are_composed_of_those_before() {
    assert!(matches!(evaluated("variables.big && !variables.not"), Ok(Value::Bool(true))));
    assert!(matches!(evaluated("has(variables.big)"), Ok(Value::Bool(true))));
    assert_eq!(
        evaluated("variables.missing").unwrap_err(),
        "composited variable \"missing\" fails to evaluate: no such key: other"
    );
    assert!(evaluated("variables.wrong").unwrap_err().contains("\"wrong\" fails to compile"));
    assert!(evaluated("variables.none").unwrap_err().contains("undefined field 'none'"));
}

#[test]
fn variables_are_evaluated_and_paid_once() {
    let mut environment = Environment::default().composed();
    let mut variables = Composition::default();
    variables.add("long", "lists.range(1000).all(x, x >= 0)", &mut environment).unwrap();
    let source = "variables.long && variables.long";
    let expression = Expression::compile_in(source, &environment).unwrap();
    let activation = Activation::default().composed(&variables);
    let costs = [(); 2].map(|()| activation.evaluate(&expression).cost);
    assert!(costs[0] > 5_000 && costs[1] == 4, "{costs:?}");
}

#[test]
fn an_authorizer_is_asked() {
    for source in [
        "authorizer.group('').resource('pods').namespace('a').name('b').check('get').allowed()",
        "!authorizer.group('').resource('secrets').subresource('x').check('get').allowed()",
        "authorizer.path('/healthz').check('get').allowed()",
        "authorizer.serviceAccount('ns', 'me').path('/').check('put').reason() == 'ns/me'",
        "authorizer.requestResource.check('get').allowed()",
        "!authorizer.requestResource.fieldSelector('a=b').check('list').errored()",
        "authorizer.requestResource.check('get').error() == ''",
    ] {
        assert!(matches!(evaluated(source), Ok(Value::Bool(true))), "{source}");
    }
    for (source, why) in [
        ("authorizer.path(' ')", "path must not be empty"),
        ("authorizer.group('').resource('')", "resource must not be empty"),
        ("authorizer.serviceAccount('a b', 'x')", "Invalid service account namespace"),
        ("authorizer.serviceAccount('a', 'x y')", "Invalid service account name"),
    ] {
        assert_eq!(evaluated(source).unwrap_err(), why, "{source}");
    }
    let thrice = ["authorizer.path('/').check('get').allowed()"; 3].join(" && ");
    let why = "operation cancelled: actual cost limit exceeded";
    assert_eq!(evaluated(&thrice).unwrap_err(), why);
}
