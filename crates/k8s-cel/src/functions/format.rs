//! `'...'.format([...])` (cel-go's `ext/formatting.go`), but for `%e`.

use crate::eval_error::EvalError;
use crate::functions::convert::shown;
use crate::types::Type;
use crate::value::{Key, Value, Value as V};

/// Digits behind the point, if nothing is said.
const PRECISION: usize = 6;

/// The letters of the clauses of a text.
pub(crate) fn clauses(text: &str) -> Vec<char> {
    let mut letters = Vec::new();
    let mut chars = text.chars();
    while chars.any(|c| c == '%') {
        letters.extend(
            chars.find(|c| *c != '.' && !c.is_ascii_digit()).filter(|letter| *letter != '%'),
        );
    }
    letters
}

/// The name of a clause and the types that it takes, if it does not take this type.
pub(crate) const fn refuses(clause: char, of: &Type) -> Option<(&'static str, &'static str)> {
    let number = matches!(of, Type::Int | Type::Uint | Type::Dyn | Type::Error);
    match clause {
        'd' if !number => Some(("decimal", "integers")),
        'o' if !number => Some(("octal", "integers")),
        'f' if !matches!(of, Type::Double | Type::Dyn | Type::Error) => {
            Some(("fixed-point", "doubles"))
        }
        'x' | 'X' if !number && !matches!(of, Type::String | Type::Bytes) => {
            Some(("hex", "integers, byte buffers, and strings"))
        }
        _ => None,
    }
}

/// Fills values into a text.
pub(super) fn format(text: &str, args: &[Value]) -> Result<String, EvalError> {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    let mut args = args.iter().enumerate();
    let mut used = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let mut precision = PRECISION;
        if chars.peek() == Some(&'.') {
            chars.next();
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            precision =
                digits.parse().ok().filter(|precision| *precision <= 1000).ok_or_else(|| {
                    unreadable(
                        "error while parsing precision: could not find end of precision specifier",
                    )
                })?;
        }
        let clause = chars.next().ok_or_else(|| unreadable("unexpected end of string"))?;
        let Some((at, value)) = args.next() else {
            return Err(EvalError::said(format!("index {used} out of range")));
        };
        used = at + 1;
        out.push_str(&clause_of(clause, precision, value)?);
    }
    Ok(out)
}

fn unreadable(why: &str) -> EvalError {
    EvalError::said(format!("could not parse formatting clause: {why}"))
}

fn clause_of(clause: char, precision: usize, value: &Value) -> Result<String, EvalError> {
    let wrong = |what: &str, takes: &str| {
        let given = value.type_name();
        EvalError::said(format!(
            "error during formatting: {what} clause can only be used on {takes}, was given {given}"
        ))
    };
    Ok(match (clause, value) {
        ('s', value) => plain(value)?,
        ('d', V::Int(_) | V::Uint(_)) => shown(value),
        ('d', _) => return Err(wrong("decimal", "integers")),
        ('f', V::Double(number)) => grouped(&format!("{number:.precision$}")),
        ('f', _) => return Err(wrong("fixed-point", "doubles")),
        ('b', V::Int(number)) => signed(*number, |number| format!("{number:b}")),
        ('b', V::Uint(number)) => format!("{number:b}"),
        ('b', V::Bool(value)) => u8::from(*value).to_string(),
        ('b', _) => return Err(wrong("only integers and bools can be formatted as binary", "")),
        ('o', V::Int(number)) => signed(*number, |number| format!("{number:o}")),
        ('o', V::Uint(number)) => format!("{number:o}"),
        ('o', _) => return Err(wrong("octal", "integers")),
        ('x' | 'X', value) => {
            let hex = match value {
                V::Int(number) => signed(*number, |number| format!("{number:x}")),
                V::Uint(number) => format!("{number:x}"),
                V::Text(text) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
                V::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
                _ => return Err(wrong("hex", "integers, byte buffers, and strings")),
            };
            if clause == 'X' { hex.to_uppercase() } else { hex }
        }
        (other, _) => {
            return Err(unreadable(&format!("unrecognized formatting clause \"{other}\"")));
        }
    })
}

fn signed(number: i64, write: impl Fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", write(number.unsigned_abs()))
}

/// With commas between thousands, as Go writes numbers for en-US.
fn grouped(number: &str) -> String {
    let (sign, number) = match number.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", number),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{out}{point}{fraction}")
}

/// `%s`.
fn plain(value: &Value) -> Result<String, EvalError> {
    Ok(match value {
        V::List(list) => {
            let items = list.items.iter().map(inner).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", items.join(", "))
        }
        V::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.iter() {
                let key = match key {
                    Key::Text(key) => format!("{key:?}"),
                    key => shown(&key.value()),
                };
                entries.push(format!("{key}:{}", inner(value)?));
            }
            format!("{{{}}}", entries.join(", "))
        }
        V::Object(_) | V::Optional(_) | V::Quantity(_) | V::Ip(_) | V::Cidr(..) | V::Broken(_) => {
            let why = "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, \
                       maps, lists, types, durations, and timestamps, was given ";
            return Err(EvalError::said(format!("{why}{}", value.type_name())));
        }
        value => shown(value),
    })
}

/// A value inside of a list or a map.
fn inner(value: &Value) -> Result<String, EvalError> {
    Ok(match value {
        V::Text(text) => format!("{text:?}"),
        V::Bytes(_) => format!("b{:?}", shown(value)),
        V::Double(number) => format!("{number:.PRECISION$}"),
        V::Duration(_) => format!("duration({:?})", shown(value)),
        V::Timestamp(_) => format!("timestamp({:?})", shown(value)),
        value => plain(value)?,
    })
}
