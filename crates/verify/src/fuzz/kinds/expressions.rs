//! Expressions of admission policies and webhooks: most of them are wrong.

use fastrand::Rng;

/// Expressions that read a variable, or a literal.
const ATOMS: [&str; 26] = [
    "object",
    "object.spec.a",
    "oldObject.metadata.labels",
    "request.operation",
    "request.namespace",
    "request.object",
    "request.userInfo.groups",
    "request.userInfo.extra",
    "request.kind",
    "request.dryRun",
    "params.a",
    "variables.a",
    "variables.b",
    "namespaceObject.metadata.labels",
    "namespaceObject.metadata.creationTimestamp",
    "namespaceObject.spec.finalizers",
    "authorizer",
    "authorizer.path('/')",
    "authorizer.requestResource",
    "authorizer.group('').resource('pods')",
    "true",
    "null",
    "1",
    "'a'",
    "[1, 2]",
    "{'a': 1}",
];

/// Expressions around others, which take the places of `@`.
const AROUND: [&str; 32] = [
    "@ == @",
    "@ != @",
    "@ && @",
    "@ || @",
    "!(@)",
    "-(@)",
    "@ + @",
    "@ - @",
    "@ < @",
    "@ in @",
    "@ ? @ : @",
    "@[@]",
    "@.a",
    "@.?a.orValue(@)",
    "has(@.a)",
    "size(@)",
    "@.size()",
    "@.all(x, x == @)",
    "@.exists(x, has(x.a))",
    "@.map(x, x + @)",
    "@.filter(x, @)",
    "(@)",
    "[@, @]",
    "{@: @}",
    "string(@)",
    "int(@)",
    "type(@)",
    "dyn(@)",
    "@.startsWith(@)",
    "@.check('get').allowed()",
    "@.subresource('status').name(@)",
    "@.serviceAccount(@, 'a').group('')",
];

/// Draws an expression that nests at most so deep.
pub(super) fn expression(rng: &mut Rng, depth: u32) -> String {
    let draw = |rng: &mut Rng, all: &[&'static str]| rng.choice(all).copied().unwrap_or("true");
    if depth == 0 || rng.u8(..4) == 0 {
        return draw(rng, &ATOMS).to_owned();
    }
    let mut drawn = String::new();
    for c in draw(rng, &AROUND).chars() {
        match c {
            '@' => drawn.push_str(&expression(rng, depth - 1)),
            other => drawn.push(other),
        }
    }
    drawn
}
