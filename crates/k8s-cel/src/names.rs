//! Names of members as expressions write them (k8s.io/apiserver/pkg/cel/escaping.go).

/// Words that cel-go's lexer reads as something else: no identifier at all.
const KEYWORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Words that are kept for later (`reservedIds` of cel-go): no name of a variable, but behind a dot
/// as good as any.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a word cannot be the name of a variable.
///
/// ```
/// assert!(k8s_cel::is_reserved("namespace"));
/// assert!(!k8s_cel::is_reserved("object"));
/// ```
#[doc(alias = "celReservedSymbols")]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || KEYWORDS.contains(&name)
}

/// The member after a dot, by its escaped name or by a reserved word.
pub(super) fn member<T>(name: &str, get: impl Fn(&str) -> Option<T>) -> Option<T> {
    get(name).or_else(|| RESERVED.contains(&name).then(|| get(&format!("__{name}__"))).flatten())
}

/// Returns a member's name as expressions write it. `None` if they cannot name it.
///
/// ```
/// assert_eq!(k8s_cel::escaped("a.b-c").as_deref(), Some("a__dot__b__dash__c"));
/// assert_eq!(k8s_cel::escaped("if").as_deref(), Some("__if__"));
/// assert_eq!(k8s_cel::escaped("0a"), None);
/// ```
#[doc(alias = "Escape")]
pub fn escaped(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) || KEYWORDS.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')) {
        return None;
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}
