//! What a name, a label, an annotation key may look like: RFC 1123 and Kubernetes' qualified names.
//! Each function returns why a text is wrong, or nothing.

/// A DNS subdomain: most names.
pub(crate) fn wrong_subdomain(name: &str) -> Option<&'static str> {
    let fine = name.len() <= 253 && !name.is_empty() && name.split('.').all(is_label);
    (!fine).then_some(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
         start and end with an alphanumeric character, and have at most 253 of them",
    )
}

/// A DNS label: names of namespaces and services.
pub(crate) fn wrong_label(name: &str) -> Option<&'static str> {
    let fine = name.len() <= 63 && is_label(name);
    (!fine).then_some(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
         end with an alphanumeric character, and have at most 63 of them",
    )
}

fn is_label(part: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    !part.is_empty()
        && part.chars().all(|c| alphanumeric(c) || c == '-')
        && part.starts_with(alphanumeric)
        && part.ends_with(alphanumeric)
}

/// A name in a path, whatever the kind's own rule is.
pub(crate) fn wrong_path_segment(name: &str) -> Option<&'static str> {
    match name {
        "." | ".." => Some("may not be '.' or '..'"),
        _ if name.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}

/// `[prefix/]name`: keys of labels and annotations, finalizers.
pub(crate) fn wrong_qualified_name(name: &str) -> Option<&'static str> {
    let (prefix, name) = match name.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, name),
    };
    if prefix.is_some_and(|prefix| wrong_subdomain(prefix).is_some()) {
        return Some("the prefix before '/' must be a lowercase RFC 1123 subdomain");
    }
    (name.is_empty() || name.len() > 63 || !is_word(name)).then_some(
        "name part must consist of alphanumeric characters, '-', '_' or '.', must start and end with an \
         alphanumeric character, and have 1 to 63 of them",
    )
}

pub(crate) fn wrong_label_value(value: &str) -> Option<&'static str> {
    (!value.is_empty() && (value.len() > 63 || !is_word(value))).then_some(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
         start and end with an alphanumeric character, and have at most 63 of them",
    )
}

fn is_word(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_' | '.'))
        && text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
}

/// The key of an entry of a ConfigMap or a Secret.
pub(crate) fn wrong_data_key(key: &str) -> Option<&'static str> {
    let fine = !key.is_empty()
        && key.len() <= 253
        && !matches!(key, "." | "..")
        && !key.starts_with("..")
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    (!fine).then_some(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.', must not begin with '..', \
         and have 1 to 253 characters",
    )
}
