//! The URL of a store, and its display form without the password.

use std::fmt;
use std::path::Path;

use serde::{Serialize, Serializer};

use crate::exit::Failure;
use crate::left_out::Part;

/// The default store.
pub(crate) const DEFAULT_STORE: &str = "sqlite:holdover.db";

/// The environment variable that names the store.
pub(crate) const VARIABLE: &str = "HOLDOVER_STORE";

/// The text in place of a password.
const MASK: &str = "***";

/// The parameters of a URL that hold a password.
const SECRETS: [&str; 2] = ["password", "pass"];

/// Returns the forms of `--store` that this build supports.
pub(crate) fn forms() -> String {
    let (postgres, redis) = (Part::Postgres.is_built(), Part::Redis.is_built());
    let forms = match (postgres, redis) {
        (false, false) => "sqlite:PATH",
        (true, false) => "sqlite:PATH or postgres://…",
        (false, true) => "sqlite:PATH, redis://… or redis+cluster://…",
        (true, true) => "sqlite:PATH, postgres://…, redis://… or redis+cluster://…",
    };
    let with_tls = if redis { ", with TLS rediss://… or rediss+cluster://…" } else { "" };
    format!("{forms}{with_tls}")
}

/// The URL of a store. Its display, debug and JSON forms have no password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoreUrl(String);

/// The kind of the store that a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// The file at this path.
    Sqlite(&'a Path),
    /// A schema of a Postgres database.
    Postgres,
    /// A namespace of one Redis server.
    Redis,
    /// A namespace of a Redis Cluster.
    RedisCluster,
}

impl StoreUrl {
    /// Returns the URL as written, including the password. For connecting only.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    /// Returns true if the URL is the default one.
    pub(crate) fn is_default(&self) -> bool {
        self.0 == DEFAULT_STORE
    }

    /// Returns true if the URL holds a password.
    pub(crate) fn holds_password(&self) -> bool {
        masked(&self.0) != self.0
    }

    /// Returns the kind of store that the URL names.
    pub(crate) fn kind(&self) -> Result<Kind<'_>, Failure> {
        let wrong = |why: &str| Err(Failure::wrong_use(format!("store {self}: {why}")));
        let write = || format!("write {}", forms());
        let Some((scheme, rest)) = self.0.split_once(':') else { return wrong(&write()) };
        match (scheme, rest.starts_with("//")) {
            ("sqlite", _) => match rest.trim_start_matches("//") {
                "" => wrong("names no file"),
                _ => Ok(Kind::Sqlite(Path::new(rest.strip_prefix("//").unwrap_or(rest)))),
            },
            ("postgres" | "postgresql", true) => Ok(Kind::Postgres),
            ("redis" | "rediss", true) => Ok(Kind::Redis),
            ("redis+cluster" | "rediss+cluster", true) => Ok(Kind::RedisCluster),
            ("postgres" | "postgresql" | "redis" | "rediss" | "redis+cluster" | "rediss+cluster", false) => {
                wrong(&write())
            }
            (other, _) => wrong(&format!("unknown kind {other:?}; {}", write())),
        }
    }
}

impl From<String> for StoreUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for StoreUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns `url` without its password. `url` need not be valid; in doubtful cases, more is masked.
fn masked(url: &str) -> String {
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    let begin = url.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = url.split_at(begin);
    // An unescaped password may contain characters that end it, so the last `@` counts.
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (user, place),
        None => return format!("{scheme}{}", without_secrets(rest)),
    };
    let place = without_secrets(place);
    match user.split_once(':') {
        Some((name, _)) => format!("{scheme}{name}:{MASK}@{place}"),
        None => format!("{scheme}{user}@{place}"),
    }
}

/// Returns `place` with its parameters, with passwords masked.
fn without_secrets(place: &str) -> String {
    let Some((place, query)) = place.split_once('?') else { return place.to_owned() };
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if SECRETS.contains(&name) => format!("{name}={MASK}"),
        Some(_) | None => pair.to_owned(),
    });
    format!("{place}?{}", shown.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://u:secret@h:1/d?schema=s", "postgres://u:***@h:1/d?schema=s"),
            ("postgres://u@h/d?user=u&password=secret", "postgres://u@h/d?user=u&password=***"),
            ("postgres://u:se@cr/et?@h/d", "postgres://u:***@h/d"),
            ("postgres//u:secret@h/d", "postgres//u:***@h/d"),
            ("redis://:secret@h:1/2", "redis://:***@h:1/2"),
            ("redis+cluster://u:secret@a:1,b:2", "redis+cluster://u:***@a:1,b:2"),
            ("mysql:u:secret@h", "mysql:***@h"),
            ("redis://h:1?namespace=n", "redis://h:1?namespace=n"),
            ("sqlite:a:b@c.db", "sqlite:a:b@c.db"),
        ] {
            let url = StoreUrl::from(url.to_owned());
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.to_owned(), shown.to_owned()));
            assert_eq!(serde_json::to_value(&url).unwrap(), shown);
            assert_eq!(url.holds_password(), shown.contains(MASK));
        }
    }

    #[test]
    fn a_url_names_a_store_that_is_known() {
        let kind = |url: &str| StoreUrl::from(url.to_owned()).kind().map(|kind| format!("{kind:?}")).ok();
        assert_eq!(kind("sqlite:a.db").as_deref(), Some("Sqlite(\"a.db\")"));
        assert_eq!(kind("sqlite:///a.db").as_deref(), Some("Sqlite(\"/a.db\")"));
        for url in ["postgres://h/d", "postgresql://h/d"] {
            assert_eq!(kind(url).as_deref(), Some("Postgres"));
        }
        for url in ["redis://h", "rediss://h"] {
            assert_eq!(kind(url).as_deref(), Some("Redis"));
        }
        for url in ["redis+cluster://h:1", "rediss+cluster://h:1"] {
            assert_eq!(kind(url).as_deref(), Some("RedisCluster"));
        }
        for bad in ["", "a.db", "sqlite:", "sqlite://", "mysql://h/d", "postgres:h/d", "redis:h", "rediss:h"]
        {
            assert_eq!(kind(bad), None, "{bad}");
        }
    }
}
