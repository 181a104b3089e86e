//! Names, labels and keys: RFC 1123, RFC 1035 and Kubernetes' qualified names. Each function
//! returns why a text is wrong, in the words of the API server, and `None` if it is right.
//!
//! The rules are those of k8s.io/apimachinery/pkg/util/validation and pkg/api/validation.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// A DNS subdomain: names of most objects.
///
/// ```
/// assert_eq!(k8s_value::names::wrong_subdomain("shop.example"), None);
/// assert!(k8s_value::names::wrong_subdomain("Shop").is_some());
/// ```
#[doc(alias = "IsDNS1123Subdomain")]
pub fn wrong_subdomain(name: &str) -> Option<&'static str> {
    if name.len() > 253 {
        return Some("must be no more than 253 characters");
    }
    (!name.split('.').all(is_label)).then_some(SUBDOMAIN)
}

/// A DNS label: names of namespaces.
#[doc(alias = "IsDNS1123Label")]
pub fn wrong_label(name: &str) -> Option<&'static str> {
    match name {
        _ if name.len() > 63 => Some("must be no more than 63 characters"),
        _ if is_label(name) => None,
        _ if name.split('.').all(is_label) => Some("must not contain dots"),
        _ => Some(LABEL),
    }
}

/// A DNS label that begins with a letter: names of services, resources and versions.
#[doc(alias = "IsDNS1035Label")]
pub fn wrong_dns_1035_label(name: &str) -> Option<&'static str> {
    if name.len() > 63 {
        return Some("must be no more than 63 characters");
    }
    (!is_label(name) || name.starts_with(|c: char| c.is_ascii_digit())).then_some(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
         character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
         is '[a-z]([-a-z0-9]*[a-z0-9])?')",
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
#[doc(alias = "IsValidPathSegmentName")]
pub fn wrong_path_segment(name: &str) -> Option<&'static str> {
    match name {
        "." => Some("may not be '.'"),
        ".." => Some("may not be '..'"),
        _ if name.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}

/// All that is wrong with the beginning of a name in a path.
#[doc(alias = "IsValidPathSegmentPrefix")]
pub fn wrongs_of_path_prefix(name: &str) -> impl Iterator<Item = &'static str> + use<> {
    let slash = name.contains('/').then_some("may not contain '/'");
    let percent = name.contains('%').then_some("may not contain '%'");
    slash.into_iter().chain(percent)
}

const WORD: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PREFIX: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
    or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and \
    end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
    'example.com/MyName')";

/// `[prefix/]name`: keys of labels and annotations, finalizers. The first thing that is wrong with
/// it.
pub fn wrong_qualified_name(name: &str) -> Option<&'static str> {
    wrongs_of_qualified_name(name).next()
}

/// All that is wrong with a `[prefix/]name`.
#[doc(alias = "IsQualifiedName")]
pub fn wrongs_of_qualified_name(name: &str) -> impl Iterator<Item = &'static str> + use<> {
    let (prefix, name) = match name.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, name),
    };
    let wrong_prefix = match prefix {
        _ if name.contains('/') => Some(QUALIFIED),
        Some("") => Some("prefix part must be non-empty"),
        Some(prefix) => wrong_subdomain(prefix).map(|_| PREFIX),
        None => None,
    };
    let wrong_length = match name {
        _ if name.contains('/') => None,
        "" => Some("name part must be non-empty"),
        _ => (name.len() > 63).then_some("name part must be no more than 63 bytes"),
    };
    let wrong_word = (!name.contains('/') && !is_word(name)).then_some(WORD);
    [wrong_prefix, wrong_length, wrong_word].into_iter().flatten()
}

/// The value of a label.
#[doc(alias = "IsValidLabelValue")]
pub fn wrong_label_value(value: &str) -> Option<&'static str> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes");
    }
    (!value.is_empty() && !is_word(value)).then_some(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
         start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
         validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    )
}

fn is_word(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_' | '.'))
        && text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
}

/// The key of an entry of a ConfigMap or a Secret.
#[doc(alias = "IsConfigMapKey")]
pub fn wrong_data_key(key: &str) -> Option<&'static str> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match key {
        "." => Some("must not be '.'"),
        ".." => Some("must not be '..'"),
        _ if key.len() > 253 => Some("must be no more than 253 characters"),
        _ if key.is_empty() || !key.chars().all(word) => Some(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        ),
        _ if key.starts_with("..") => Some("must not start with '..'"),
        _ => None,
    }
}

/// A finalizer without a domain, except Kubernetes' own, which were there before the rule.
#[doc(alias = "ValidateFinalizerName")]
pub fn wrong_finalizer(name: &str) -> Option<&'static str> {
    (!name.contains('/') && !matches!(name, "orphan" | "foregroundDeletion" | "kubernetes"))
        .then_some("name is neither a standard finalizer name nor is it fully qualified")
}

/// Returns the base of a generated name as it is checked: more follows the dash at its end.
#[doc(alias = "maskTrailingDash")]
pub fn without_dash(base: &str) -> String {
    match base.strip_suffix('-') {
        Some(rest) if base.len() > 1 => format!("{rest}a"),
        _ => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_right_or_wrong() {
        let (label, long) = ("a".repeat(63), "a".repeat(64));
        let subdomain = [label.as_str(); 4].join(".");
        type Wrong = fn(&str) -> Option<&'static str>;
        let table: [(Wrong, &[&str], &[&str]); 7] = [
            (wrong_subdomain, &["a", "a-b.c", &subdomain[2..]], &["", "A", "a.", "-a", &subdomain]),
            (wrong_label, &["a", "0-b", &label], &["", "a.b", "a-", &long]),
            (wrong_dns_1035_label, &["a", "a-0", &label], &["", "0a", "a.b", &long]),
            (wrong_qualified_name, &["a", "A_b.c", "x.y/a"], &["", "/a", "a/", "a/b/c", "X/a"]),
            (wrong_label_value, &["", "a", "A_b.c", &label], &["-", "a/b", "é", &long]),
            (wrong_data_key, &["a", ".a", "A_b.c-"], &["", ".", "..", "..a", "a/b"]),
            (wrong_finalizer, &["a/b", "orphan", "kubernetes"], &["", "a"]),
        ];
        for (wrong, right_names, wrong_names) in table {
            for name in right_names {
                assert_eq!(wrong(name), None, "{name}");
            }
            for name in wrong_names {
                assert!(wrong(name).is_some(), "{name}");
            }
        }
        assert_eq!(without_dash("a-"), "aa");
        assert_eq!((without_dash("-"), without_dash("a")), ("-".to_owned(), "a".to_owned()));
    }
}
