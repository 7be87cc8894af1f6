//! The store's own parameters in a URL, beside those that Postgres knows.

use holdover_store::StoreError;

/// The parameters that Postgres and its clients know.
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

/// A URL, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The URL without what is ours.
    pub(crate) url: String,
    /// What `schema` says.
    pub(crate) schema: Option<String>,
}

impl Parts {
    /// Takes `url` apart.
    ///
    /// # Errors
    /// A parameter that nobody knows: what is misspelt must not be passed over. Its value is not repeated.
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
                // It may be a part of a password that holds a question mark.
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
