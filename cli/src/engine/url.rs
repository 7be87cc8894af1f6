//! The URL of an engine.

use std::fmt;

use crate::exit::Failure;

/// The environment variable that names the engine.
pub(crate) const VARIABLE: &str = "HOLDOVER_ENGINE";

/// The environment variable with the API key or token of the engine.
const TOKEN: &str = "HOLDOVER_ENGINE_TOKEN";

/// The URL of an engine. It holds no secret: a name or a password in it is refused.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct EngineUrl(String);

/// The kind of the engine that a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A namespace of a Temporal server.
    Temporal,
    /// A Restate server.
    Restate,
}

impl EngineUrl {
    /// Returns the URL as written. For connecting only.
    pub(super) fn secret(&self) -> &str {
        &self.0
    }

    /// Returns the kind of engine that the URL names.
    pub(super) fn kind(&self) -> Result<Kind, Failure> {
        match self.0.split_once("://").map(|(scheme, _)| scheme) {
            Some("temporal" | "temporals") => Ok(Kind::Temporal),
            Some("restate" | "restates") => Ok(Kind::Restate),
            Some(_) | None => Err(self.wrong(&"write temporal://HOST:PORT/NAMESPACE or restate://HOST:PORT")),
        }
    }

    /// Returns the failure for a URL that is not valid.
    pub(super) fn wrong(&self, why: &dyn fmt::Display) -> Failure {
        Failure::wrong_use(format!("engine {self}: {why}"))
    }

    /// Returns the API key or token of the engine, if the environment has one.
    pub(super) fn token() -> Option<String> {
        std::env::var(TOKEN).ok().filter(|token| !token.is_empty())
    }
}

impl From<String> for EngineUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

/// Writes the URL without its parameters, and without a name and a password.
impl fmt::Display for EngineUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.0.split_once('?').map_or(self.0.as_str(), |(place, _)| place);
        match (place.split_once("://"), place.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => write!(f, "{scheme}://***@{host}"),
            (None, Some((_, host))) => write!(f, "***@{host}"),
            (_, None) => f.write_str(place),
        }
    }
}

impl fmt::Debug for EngineUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_a_url_is_shown() {
        for (url, shown) in [
            ("temporal://h:7233/n", "temporal://h:7233/n"),
            ("restate://h:1?admin=http://a:b@c", "restate://h:1"),
            ("temporal://u:secret@h/n", "temporal://***@h/n"),
            ("u:secret@h", "***@h"),
        ] {
            let url = EngineUrl::from(url.to_owned());
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.to_owned(), shown.to_owned()));
        }
    }

    #[test]
    fn an_unknown_scheme_is_a_wrong_use() {
        let line = EngineUrl::from("cadence://h".to_owned()).kind().unwrap_err().line;
        assert_eq!(line, "engine cadence://h: write temporal://HOST:PORT/NAMESPACE or restate://HOST:PORT");
    }
}
