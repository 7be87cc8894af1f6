//! The base URL of a server.

use crate::reference::shown;

/// Returns the base URL with a slash at the end of its path, or the reason why it is not valid. The URL may hold a
/// password or a token: errors show only the part that [`shown`] returns.
pub(super) fn checked(text: &str) -> Result<String, String> {
    let fail = |why: &str| Err(format!("base_url {:?} {why}", shown(text)));
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest else { return fail("does not begin with http:// or https://") };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return fail("holds a user name; name the key's variable instead");
    }
    if host.is_empty() || text.contains(char::is_whitespace) {
        return fail("is not a URL");
    }
    if text.contains('#') {
        return fail("has a fragment, which no request sends");
    }
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    };
    let slash = if path.ends_with('/') { "" } else { "/" };
    Ok(match query {
        Some(query) => format!("{path}{slash}?{query}"),
        None => format!("{path}{slash}"),
    })
}

/// Returns the checked base URL with `version` at the end of its path, unless the path already ends with a version:
/// `http://a/` and `http://a/v1/` are the same server.
pub(crate) fn with_version(base_url: &str, version: &str) -> String {
    let path = base_url.split_once('?').map_or(base_url, |(path, _)| path);
    let host = path.find("://").map_or(0, |at| at + 3);
    let last =
        path.get(host..).unwrap_or_default().trim_end_matches('/').rsplit_once('/').map(|(_, last)| last);
    let is_version = |part: &str| {
        part.strip_prefix('v').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    };
    if last.is_some_and(is_version) {
        base_url.to_owned()
    } else {
        endpoint(base_url, &format!("{version}/"))
    }
}

/// Returns the URL of `path` beneath a checked base URL. The query of the base URL stays at the end.
pub(super) fn endpoint(base_url: &str, path: &str) -> String {
    match base_url.split_once('?') {
        Some((base, query)) => format!("{base}{path}?{query}"),
        None => format!("{base_url}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_before_the_query() {
        for (base_url, expect) in [
            ("http://a/v1", "http://a/v1/messages"),
            ("https://a:8080/v1/", "https://a:8080/v1/messages"),
            ("http://a", "http://a/messages"),
            ("http://a/v1?zone=b", "http://a/v1/messages?zone=b"),
        ] {
            assert_eq!(endpoint(&checked(base_url).unwrap(), "messages"), expect);
        }
    }

    #[test]
    fn a_version_is_added_where_there_is_none() {
        for (base_url, expect) in [
            ("http://a", "http://a/v1/messages"),
            ("http://a/", "http://a/v1/messages"),
            ("http://a/v1", "http://a/v1/messages"),
            ("http://a/v1/", "http://a/v1/messages"),
            ("http://a/v2beta", "http://a/v2beta/messages"),
            ("http://v1", "http://v1/v1/messages"),
            ("http://a/anthropic", "http://a/anthropic/v1/messages"),
            ("http://a/v1/vertex", "http://a/v1/vertex/v1/messages"),
            ("http://a?zone=/v1", "http://a/v1/messages?zone=/v1"),
            ("http://a/v1?zone=b", "http://a/v1/messages?zone=b"),
        ] {
            let base_url = with_version(&checked(base_url).unwrap(), "v1");
            assert_eq!(endpoint(&base_url, "messages"), expect);
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused_and_its_secrets_are_not_shown() {
        for bad in [
            "",
            "a/v1",
            "ftp://a/",
            "http://",
            "http://a b/",
            "http://user:secret@a/",
            "user:secret@a/v1",
            "https:/user:secret@a/",
            "http://a b@secret",
            "a/v1?token=secret",
            "http://?token=secret",
            "a#secret",
            "http://a/#secret",
            "http://a/v1?zone=b#secret",
        ] {
            let why = checked(bad).unwrap_err();
            assert!(why.starts_with("base_url") && !why.contains("secret"), "{why}");
        }
    }
}
