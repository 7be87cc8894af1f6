//! URLs of other programs.

use std::fmt;

use reqwest::Url;

/// The error for settings of the client that are not valid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpElsewhereError {
    /// A URL in the settings cannot be used.
    #[error("{setting}: {why}")]
    Url {
        /// The name of the setting.
        setting: &'static str,
        /// The reason why the URL cannot be used.
        why: String,
    },
}

/// Parses an `http://` or `https://` URL without user and password. The error does not show the URL.
pub(crate) fn http_url(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("it is no address: {error}"))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err("it does not begin with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a user or a password".to_owned());
    }
    Ok(url)
}

/// Parses a URL from the settings to which paths are appended. It must have no query and no fragment.
pub(crate) fn base_url(setting: &'static str, text: &str) -> Result<Url, HttpElsewhereError> {
    let refuse = |why| HttpElsewhereError::Url { setting, why };
    let url = http_url(text).map_err(refuse)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it has a query or a fragment".to_owned()));
    }
    Ok(url)
}

/// Returns true if the URL names this machine. [`LOCALHOST`] counts, because the client resolves it without a resolver.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == LOCALHOST || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The name by which a machine calls itself.
pub(crate) const LOCALHOST: &str = "localhost";

/// The part of a URL that holds no secret: scheme, host and port.
pub(crate) struct Origin<'a>(pub(crate) &'a Url);

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.origin().ascii_serialization())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for (url, is) in [
            ("http://127.0.0.1:80/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:8080/", true),
            ("http://localhost:3000/", true),
            ("http://LOCALHOST/", true),
            // Another notation for 127.0.0.1.
            ("http://2130706433/", true),
            ("http://localhost.example/", false),
            ("http://127.0.0.1.example/", false),
            ("http://[::ffff:10.0.0.1]/", false),
            ("http://10.0.0.1/", false),
            ("http://0.0.0.0/", false),
        ] {
            assert_eq!(is_loopback(&http_url(url).unwrap()), is, "{url}");
        }
    }
}
