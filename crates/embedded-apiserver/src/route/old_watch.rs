//! The paths that watches had before `watch=true`: the real server still serves them, and so does
//! this one, as the watches that they stand for.

use http::Uri;

use crate::query;

/// `/api/v1/watch/pods` as `/api/v1/pods?watch=true`; with a name at the end, a watch of that name
/// alone. Nothing for any other path.
pub(crate) fn modern(uri: &Uri) -> Option<Uri> {
    let path = uri.path().trim_start_matches('/');
    // Nearly none: asked of every request.
    let mut segments = path.split('/');
    let before = if segments.next() == Some("api") { 1 } else { 2 };
    if segments.nth(before) != Some("watch") {
        return None;
    }
    let segments: Vec<&str> = path.split('/').collect();
    let (root, group, rest) = match *segments {
        ["api", version, "watch", ref rest @ ..] => (format!("/api/{version}"), "", rest),
        ["apis", group, version, "watch", ref rest @ ..] => {
            (format!("/apis/{group}/{version}"), group, rest)
        }
        _ => return None,
    };
    let (collection, name) = match *rest {
        ["namespaces", name] if group.is_empty() => ("namespaces".to_owned(), Some(name)),
        ["namespaces", namespace, plural] => (format!("namespaces/{namespace}/{plural}"), None),
        ["namespaces", namespace, plural, name] => {
            (format!("namespaces/{namespace}/{plural}"), Some(name))
        }
        [plural, name] => (plural.to_owned(), Some(name)),
        [plural] if !plural.is_empty() => (plural.to_owned(), None),
        _ => return None,
    };
    let mut new = form_urlencoded::Serializer::new(String::new());
    for (key, value) in query::pairs(uri.query().unwrap_or_default()) {
        if key != "watch" && !(key == "fieldSelector" && name.is_some()) {
            new.append_pair(&key, &value);
        }
    }
    new.append_pair("watch", "true");
    if let Some(name) = name {
        let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
        new.append_pair("fieldSelector", &format!("metadata.name={name}"));
    }
    format!("{root}/{collection}?{}", new.finish()).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::modern;

    #[test]
    fn old_paths_stand_for_watches() {
        for (old, new) in [
            ("/api/v1/watch/pods", Some("/api/v1/pods?watch=true")),
            (
                "/api/v1/watch/namespaces/a/pods?watch=false&limit=1",
                Some("/api/v1/namespaces/a/pods?limit=1&watch=true"),
            ),
            (
                "/api/v1/watch/namespaces/a",
                Some("/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Da"),
            ),
            (
                "/apis/x.y/v1/watch/as/b",
                Some("/apis/x.y/v1/as?watch=true&fieldSelector=metadata.name%3Db"),
            ),
            ("/apis/x.y/v1/watch/namespaces/n/as", Some("/apis/x.y/v1/namespaces/n/as?watch=true")),
            ("/api/v1/watch", None),
            ("/api/v1/pods/watch", None),
            ("/version", None),
        ] {
            assert_eq!(
                modern(&old.parse().unwrap()).map(|uri| uri.to_string()).as_deref(),
                new,
                "{old}"
            );
        }
    }
}
