//! The addresses to which outcomes may be sent.

use reqwest::Url;

/// The addresses to which outcomes may be sent, as URL prefixes. By default there are none, because the caller that
/// gives a task chooses the address, and could choose one that only this program can reach.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replies(Vec<Url>);

impl Replies {
    pub(crate) fn allow(&mut self, prefix: Url) {
        self.0.push(prefix);
    }

    /// Returns true if the address has the scheme, host and port of an allowed one, and its path begins with all
    /// segments of the allowed path. Both are compared as parsed, with `..` resolved. A path is refused if some server
    /// may resolve it to a place outside the allowed path.
    pub(crate) fn has(&self, url: &Url) -> bool {
        self.0.iter().any(|prefix| is_below(url, prefix))
    }
}

fn is_below(url: &Url, prefix: &Url) -> bool {
    let origin =
        |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
    if origin(url) != origin(prefix) {
        return false;
    }
    let folder = prefix.path().trim_end_matches('/');
    if folder.is_empty() {
        return true;
    }
    let rest = url.path().strip_prefix(folder);
    rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with('/')) && !climbs(rest))
}

/// Returns true if some server may resolve the path to a path outside its folder.
fn climbs(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    ["%2f", "%5c", "%25"].iter().any(|hidden| path.contains(hidden))
        || path.split('/').any(|segment| segment.starts_with("..") || segment.starts_with("%2e"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::http_url;

    fn allowed(prefix: &str, url: &str) -> bool {
        let mut replies = Replies::default();
        replies.allow(http_url(prefix).unwrap());
        http_url(url).is_ok_and(|url| replies.has(&url))
    }

    #[test]
    fn an_address_is_allowed_by_its_origin_and_whole_segments() {
        for (prefix, url) in [
            ("https://good.example", "https://good.example/outcomes/x"),
            ("https://good.example", "HTTPS://GOOD.example:443/outcomes/x"),
            ("https://good.example/", "https://good.example/a%2Fb"),
            ("https://good.example/hooks", "https://good.example/hooks/x"),
            ("https://good.example/hooks", "https://good.example/hooks"),
            ("https://good.example/hooks/", "https://good.example/hooks/x?y"),
            ("https://good.example/hooks", "https://good.example/other/../hooks/x"),
            ("http://[::1]:80", "http://[::1]/x"),
        ] {
            assert!(allowed(prefix, url), "{prefix} {url}");
        }
    }

    #[test]
    fn an_address_that_only_looks_alike_is_not_allowed() {
        for url in [
            "https://good.example.evil/hooks/x",
            "https://good.example@evil/hooks/x",
            "https://good@evil/hooks/x",
            "https://me@good.example/hooks/x",
            "https://evil/https://good.example/hooks/x",
            "https://evil#@good.example/hooks/x",
            "https://evil\\@good.example/hooks/x",
            "https://xgood.example/hooks/x",
            "https://good.example:444/hooks/x",
            "http://good.example/hooks/x",
            "ftp://good.example/hooks/x",
            "https://good.example./hooks/x",
            "https://good.example/",
            "https://good.example/hook",
            "https://good.example/hooks2/x",
            "https://good.example/Hooks/x",
            "https://good.example/hooks/../admin",
            "https://good.example/hooks/%2e%2e/admin",
            "https://good.example/hooks/.%2E/admin",
            "https://good.example/hooks\\..\\admin",
            "https://good.example/hooks/..%2fadmin",
            "https://good.example/hooks/..%5Cadmin",
            "https://good.example/hooks/%252e%252e/admin",
            "https://good.example/hooks/..;/admin",
            "https://good.example//hooks/x",
        ] {
            assert!(!allowed("https://good.example/hooks", url), "{url}");
        }
        assert!(!Replies::default().has(&http_url("https://good.example/").unwrap()));
    }
}
