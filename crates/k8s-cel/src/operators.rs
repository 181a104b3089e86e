//! The operators between two operands.

/// Their signs, precedences and names.
const BINARY: [(&str, u8, &str); 14] = [
    ("||", 1, "_||_"),
    ("&&", 2, "_&&_"),
    ("==", 3, "_==_"),
    ("!=", 3, "_!=_"),
    ("<", 3, "_<_"),
    ("<=", 3, "_<=_"),
    (">", 3, "_>_"),
    (">=", 3, "_>=_"),
    ("in", 3, "@in"),
    ("+", 4, "_+_"),
    ("-", 4, "_-_"),
    ("*", 5, "_*_"),
    ("/", 5, "_/_"),
    ("%", 5, "_%_"),
];

/// The precedence and the name of an operator. A greater precedence binds tighter.
pub(super) fn binary(sign: &str) -> Option<(u8, &'static str)> {
    BINARY.iter().find(|(known, ..)| *known == sign).map(|(_, level, name)| (*level, *name))
}
