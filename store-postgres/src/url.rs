//! The store's own parameters in a URL, besides those that Postgres knows.

use holdover_store::StoreError;

/// The parameters that Postgres or the driver knows.
const KNOWN: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// The parts of a URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The URL without the store's own parameters.
    pub(crate) url: String,
    /// The value of the parameter `schema`.
    pub(crate) schema: Option<String>,
}

impl Parts {
    /// Splits `url` into its parts.
    ///
    /// # Errors
    /// Fails for an unknown parameter, so that a misspelt one is not ignored. The error does not repeat the value.
    pub(crate) fn of(url: &str) -> Result<Self, StoreError> {
        let Some((before, query)) = url.split_once('?') else {
            return Ok(Self { url: url.to_owned(), schema: None });
        };
        let (mut schema, mut kept) = (None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name {
                "schema" => schema = Some(value.to_owned()),
                name if KNOWN.contains(&name) || name.starts_with("options[") => kept.push(pair),
                // This may be part of a password that contains a question mark.
                _ if !pair.contains('=') || query.contains('@') => {
                    return Err(StoreError::invalid("open", "the Postgres URL has an unknown parameter"));
                }
                name => {
                    let detail = format!("the Postgres URL has an unknown parameter {name:?}");
                    return Err(StoreError::invalid("open", detail));
                }
            }
        }
        let url = if kept.is_empty() { before.to_owned() } else { format!("{before}?{}", kept.join("&")) };
        Ok(Self { url, schema })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_taken_out_and_what_nobody_knows_is_refused() {
        let parts = |url: &str| Parts::of(url).map(|parts| (parts.url, parts.schema)).ok();
        let plain = "postgres://u:p@h/d";
        assert_eq!(parts(plain), Some((plain.into(), None)));
        assert_eq!(parts("postgres://h/d?schema=a"), Some(("postgres://h/d".into(), Some("a".into()))));
        let both = "postgres://h/d?sslmode=require&schema=a&options=-c%20x%3Dy";
        let left = "postgres://h/d?sslmode=require&options=-c%20x%3Dy";
        assert_eq!(parts(both), Some((left.into(), Some("a".into()))));
        let misspelt = "postgres://h/d?shema=secret";
        assert!(Parts::of(misspelt).expect_err("unknown").to_string().contains("shema"));
        for bad in [misspelt, "postgres://h/d?secret", "postgres://u:p?secret=x@h/d"] {
            let error = Parts::of(bad).expect_err("unknown").to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
