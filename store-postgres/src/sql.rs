//! Statements, and the names in them. Table names are qualified with the schema, because behind a pooler no search
//! path is reliable.

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

/// A schema of the database. Its name needs no escaping.
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

/// Names that every statement uses: the schema, the clock, and the channel for change hints.
#[derive(Debug)]
pub(crate) struct Names {
    /// The quoted name of the schema, followed by a dot.
    pub(crate) schema: String,
    /// An expression for the store's clock in milliseconds, evaluated at each place where it occurs.
    pub(crate) clock: String,
    /// The channel for change hints. None if changes are not announced.
    pub(crate) channel: Option<Arc<str>>,
}

/// An expression for the server's clock, which also advances within a transaction.
const CLOCK: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

impl Names {
    pub(crate) fn new(options: &PostgresOptions, channel: Option<Arc<str>>) -> Self {
        let clock = options.clock.clone().unwrap_or_else(|| CLOCK.to_owned());
        Self { schema: format!("\"{}\".", options.schema), clock, channel }
    }
}

/// A statement under construction, with its bound values. The text does not contain a value, so each connection
/// prepares it once for all requests of the same shape.
pub(crate) struct Sql<'a> {
    pub(crate) names: &'a Names,
    text: String,
    values: Result<PgArguments, BoxDynError>,
    count: usize,
}

/// A bound value, in the form in which the text refers to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param(usize);

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

/// Parts of a text, separated by commas.
pub(crate) struct Commas<I>(pub(crate) I);

impl<I: Iterator<Item: fmt::Display> + Clone> fmt::Display for Commas<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.clone().enumerate().try_for_each(|(number, part)| {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{part}")
        })
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
        // Writing to a `String` cannot fail.
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

    /// Binds the digests and the bytes of payloads as two arrays, with nulls for missing payloads.
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

    /// Returns the text and the values.
    pub(crate) fn finish(self) -> Result<(String, PgArguments), sqlx::Error> {
        Ok((self.text, self.values.map_err(sqlx::Error::Encode)?))
    }
}

/// Converts a number to Postgres's integer type, capped at `i64::MAX`. Sequences, versions and epochs never come
/// near that limit. A larger number from a caller lies beyond every stored row.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Returns the SQL of a file, with its names qualified by this schema.
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
