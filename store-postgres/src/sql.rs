//! Statements and the tables that they name. Names are qualified here, because behind a pooler no search path
//! can be relied on.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use holdover_store::StoreError;
use holdover_store::payload::Payload;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments as _, Encode, Postgres, Type};

use crate::options::PostgresOptions;

/// The longest name that Postgres keeps, in bytes.
const NAME_BYTES_MAX: usize = 63;

/// A schema of the database, by a name that needs no care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema(String);

impl Default for Schema {
    fn default() -> Self {
        Self(PostgresOptions::SCHEMA.to_owned())
    }
}

impl Schema {
    pub(crate) fn new(name: &str) -> Result<Self, StoreError> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        let begins = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
        if begins && name.len() <= NAME_BYTES_MAX && name.bytes().all(plain) && !name.starts_with("pg_") {
            return Ok(Self(name.to_owned()));
        }
        let detail = format!("schema {name:?}: a name has a-z, 0-9 and _, at most {NAME_BYTES_MAX} of them");
        Err(StoreError::invalid("open", detail))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What every statement names: where the tables lie, how the clock is read, and where changes are told.
#[derive(Debug)]
pub(crate) struct Names {
    /// The schema, quoted, with its dot.
    pub(crate) schema: String,
    /// The store's clock in milliseconds. An expression that is evaluated anew wherever it stands.
    pub(crate) clock: String,
    /// Nowhere if none.
    pub(crate) channel: Option<Arc<str>>,
}

/// The server's clock. It goes on within a transaction.
const CLOCK: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

impl Names {
    pub(crate) fn new(options: &PostgresOptions, channel: Option<Arc<str>>) -> Self {
        let clock = options.clock.clone().unwrap_or_else(|| CLOCK.to_owned());
        Self { schema: format!("\"{}\".", options.schema), clock, channel }
    }
}

/// A statement that is being written, with the values that it binds. Its text depends on the shape of what is asked alone,
/// never on a value, so that each connection prepares it once.
pub(crate) struct Sql<'a> {
    pub(crate) names: &'a Names,
    text: String,
    values: Result<PgArguments, BoxDynError>,
    count: usize,
}

/// A value that is bound, as it stands in the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param(usize);

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

/// Adds formatted text to a statement.
macro_rules! push {
    ($sql:expr, $($text:tt)*) => {
        $sql.push(format_args!($($text)*))
    };
}
pub(crate) use push;

impl<'a> Sql<'a> {
    pub(crate) fn new(names: &'a Names) -> Self {
        Self { names, text: String::with_capacity(4096), values: Ok(PgArguments::default()), count: 0 }
    }

    pub(crate) fn push(&mut self, text: fmt::Arguments<'_>) {
        // A String takes whatever is written to it.
        let _ = self.text.write_fmt(text);
    }

    /// Binds a value.
    pub(crate) fn bind<'q, T: Encode<'q, Postgres> + Type<Postgres>>(&mut self, value: T) -> Param {
        if let Ok(values) = &mut self.values
            && let Err(error) = values.add(value)
        {
            self.values = Err(error);
        }
        self.count += 1;
        Param(self.count)
    }

    /// Binds the digests and the bytes of payloads, as two arrays.
    pub(crate) fn bind_payloads<'p>(
        &mut self,
        payloads: impl Iterator<Item = &'p Payload> + Clone,
    ) -> (Param, Param) {
        self.bind_some_payloads(payloads.map(Some))
    }

    /// The same, where some are none.
    pub(crate) fn bind_some_payloads<'p>(
        &mut self,
        payloads: impl Iterator<Item = Option<&'p Payload>> + Clone,
    ) -> (Param, Param) {
        let digests: Vec<_> =
            payloads.clone().map(|payload| payload.map(|payload| payload.digest().0.to_vec())).collect();
        let bytes: Vec<Option<&[u8]>> =
            payloads.map(|payload| payload.map(|payload| payload.bytes().as_ref())).collect();
        (self.bind(digests), self.bind(bytes))
    }

    /// Binds the digest and the bytes of a payload.
    pub(crate) fn bind_payload(&mut self, payload: &Payload) -> (Param, Param) {
        let digest = payload.digest();
        (self.bind(digest.0.as_slice()), self.bind(payload.bytes().as_ref()))
    }

    /// The text, and the values.
    pub(crate) fn finish(self) -> Result<(String, PgArguments), sqlx::Error> {
        Ok((self.text, self.values.map_err(sqlx::Error::Encode)?))
    }
}

/// A number as Postgres keeps it. Sequences, versions and epochs never come near the limit; what a caller names
/// beyond it lies past every end.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The SQL of a file, with its names in this schema.
pub(crate) fn qualify(schema: &Schema, sql: &str) -> String {
    sql.replace("holdover.", &format!("\"{schema}\"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_a_file_is_qualified() {
        let schema = Schema::new("other").expect("a name");
        for sql in crate::migration::STEPS {
            let qualified = qualify(&schema, sql);
            assert!(!qualified.contains("holdover"), "a step names the schema in another way");
            assert!(qualified.contains("\"other\"."));
        }
    }

    #[test]
    fn a_schema_has_a_plain_name() {
        for good in ["holdover", "_", "a1_b", "user", &"a".repeat(63)] {
            assert!(Schema::new(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "A", "a-b", "a\"b", "a b", "ä", "pg_x", &"a".repeat(64)] {
            assert!(Schema::new(bad).is_err(), "{bad}");
        }
    }
}
