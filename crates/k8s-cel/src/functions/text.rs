//! Functions of texts (cel-go's `ext/strings.go`, and `find` of Kubernetes). Places in texts count
//! characters.

use std::sync::Arc;

use crate::eval_error::EvalError;
use crate::functions::format;
use crate::pattern::Pattern;
use crate::value::{Called, List, Value, Value as V};

pub(super) fn call(function: &str, args: &[Value]) -> Option<Called> {
    let yes = |is: bool| Ok(V::Bool(is));
    Some(match (function, args) {
        ("_+_", [V::Text(a), V::Text(b)]) => Ok(V::text(format!("{a}{b}"))),
        ("_+_", [V::Bytes(a), V::Bytes(b)]) => Ok(V::Bytes([&**a, &**b].concat().into())),
        ("contains", [V::Text(a), V::Text(b)]) => yes(a.contains(&**b)),
        ("startsWith", [V::Text(a), V::Text(b)]) => yes(a.starts_with(&**b)),
        ("endsWith", [V::Text(a), V::Text(b)]) => yes(a.ends_with(&**b)),
        ("matches", [V::Text(text), V::Text(pattern)]) => Pattern::new(pattern)
            .find_all(text, 1)
            .map(|found| V::Bool(!found.is_empty()))
            .map_err(EvalError::said),
        ("find", [V::Text(text), V::Text(pattern)]) => found(text, pattern, 1)
            .map(|found| V::text(found.into_iter().next().unwrap_or_default())),
        ("findAll", [V::Text(text), V::Text(pattern)]) => {
            found(text, pattern, usize::MAX).map(text_list)
        }
        ("findAll", [V::Text(text), V::Text(pattern), V::Int(most)]) => {
            found(text, pattern, usize::try_from(*most).unwrap_or(usize::MAX)).map(text_list)
        }
        ("charAt", [V::Text(text), V::Int(at)]) => char_at(text, *at),
        ("indexOf", [V::Text(text), V::Text(part)]) => index_of(text, part, 0),
        ("indexOf", [V::Text(text), V::Text(part), V::Int(from)]) => index_of(text, part, *from),
        ("lastIndexOf", [V::Text(text), V::Text(part)]) => {
            let length = text.chars().count();
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            match &**part {
                "" => Ok(V::Int(length)),
                part if text.len() < part.len() => Ok(V::Int(-1)),
                part => last_index_of(text, part, length - 1),
            }
        }
        ("lastIndexOf", [V::Text(text), V::Text(part), V::Int(from)]) => {
            last_index_of(text, part, *from)
        }
        ("lowerAscii", [V::Text(text)]) => Ok(V::text(text.to_ascii_lowercase())),
        ("upperAscii", [V::Text(text)]) => Ok(V::text(text.to_ascii_uppercase())),
        ("trim", [V::Text(text)]) => Ok(V::text(text.trim())),
        ("replace", [V::Text(text), V::Text(old), V::Text(new)]) => {
            Ok(V::text(text.replace(&**old, new)))
        }
        ("replace", [V::Text(text), V::Text(old), V::Text(new), V::Int(most)]) => {
            Ok(V::text(match usize::try_from(*most) {
                Ok(most) => text.replacen(&**old, new, most),
                Err(_) => text.replace(&**old, new),
            }))
        }
        ("split", [V::Text(text), V::Text(by)]) => Ok(split(text, by, -1)),
        ("split", [V::Text(text), V::Text(by), V::Int(most)]) => Ok(split(text, by, *most)),
        ("substring", [V::Text(text), V::Int(from)]) => {
            let length = text.chars().count();
            match usize::try_from(*from) {
                Ok(from) if from <= length => {
                    Ok(V::text(text.chars().skip(from).collect::<String>()))
                }
                _ => Err(out_of_range(*from)),
            }
        }
        ("substring", [V::Text(text), V::Int(from), V::Int(to)]) => substring(text, *from, *to),
        ("strings.quote", [V::Text(text)]) => Ok(V::text(quoted(text))),
        ("format", [V::Text(text), V::List(list)]) => {
            format::format(text, &list.items).map(V::text)
        }
        _ => return None,
    })
}

fn out_of_range(at: i64) -> EvalError {
    EvalError::said(format!("index out of range: {at}"))
}

fn found(text: &str, pattern: &str, most: usize) -> Result<Vec<String>, EvalError> {
    if let Some(why) = Pattern::problem(pattern) {
        return Err(EvalError::said(format!("Illegal regex: {why}")));
    }
    Pattern::new(pattern).find_all(text, most).map_err(EvalError::said)
}

fn char_at(text: &str, at: i64) -> Called {
    let place = usize::try_from(at).map_err(|_| out_of_range(at))?;
    match text.chars().nth(place) {
        Some(c) => Ok(V::text(c.to_string())),
        None if place == text.chars().count() => Ok(V::text("")),
        None => Err(out_of_range(at)),
    }
}

fn index_of(text: &str, part: &str, from: i64) -> Called {
    if part.is_empty() {
        return Ok(V::Int(from));
    }
    let skipped = usize::try_from(from).map_err(|_| out_of_range(from))?;
    let Some((start, _)) = text.char_indices().nth(skipped) else { return Ok(V::Int(-1)) };
    let rest = text.get(start..).unwrap_or_default();
    let place = rest.find(part).and_then(|at| rest.get(..at)).map(|before| before.chars().count());
    Ok(V::Int(
        place.map_or(-1, |place| from.saturating_add(i64::try_from(place).unwrap_or(i64::MAX))),
    ))
}

fn last_index_of(text: &str, part: &str, from: i64) -> Called {
    if part.is_empty() {
        return Ok(V::Int(from));
    }
    let from = usize::try_from(from).map_err(|_| out_of_range(from))?;
    let Some((start, _)) = text.char_indices().nth(from) else { return Ok(V::Int(-1)) };
    let end = start.saturating_add(part.len()).min(text.len());
    let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    let place = text.get(..end).and_then(|text| text.rfind(part)).and_then(|at| text.get(..at));
    Ok(V::Int(place.map_or(-1, |before| i64::try_from(before.chars().count()).unwrap_or(i64::MAX))))
}

fn split(text: &str, by: &str, most: i64) -> Value {
    let parts: Vec<&str> = match (usize::try_from(most), by) {
        (Ok(0), _) => Vec::new(),
        (_, "") => {
            let mut parts: Vec<&str> = text.split("").filter(|part| !part.is_empty()).collect();
            if let Ok(most) = usize::try_from(most)
                && parts.len() > most
            {
                let kept: usize = parts.iter().take(most - 1).map(|part| part.len()).sum();
                parts.truncate(most - 1);
                parts.extend(text.get(kept..));
            }
            parts
        }
        (Ok(most), by) => text.splitn(most, by).collect(),
        (Err(_), by) => text.split(by).collect(),
    };
    text_list(parts)
}

fn substring(text: &str, from: i64, to: i64) -> Called {
    if from > to {
        return Err(EvalError::said(format!("invalid substring range. start: {from}, end: {to}")));
    }
    let length = text.chars().count();
    let inside = |at: i64| {
        usize::try_from(at).ok().filter(|at| *at <= length).ok_or_else(|| out_of_range(at))
    };
    let (start, end) = (inside(from)?, inside(to)?);
    Ok(V::text(text.chars().skip(start).take(end - start).collect::<String>()))
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn text_list(all: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Value {
    List::of(all.into_iter().map(Value::text).collect())
}
