//! Statements and where they point to. Names are qualified here, when the store is opened: behind a pooler there
//! is no search path to rely on.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use holdover_core::store::StoreError;

use crate::call::Call;
use crate::options::PostgresOptions;
use crate::{read, write};

/// What stands before every name in the files of SQL.
const IN_FILES: &str = "holdover.";

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

    /// The SQL of a file, with its names in this schema.
    pub(crate) fn qualify(&self, sql: &str) -> String {
        sql.replace(IN_FILES, &format!("\"{}\".", self.0))
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The statement of every call, built once.
pub(crate) struct Statements {
    by_operation: HashMap<&'static str, Arc<str>>,
}

impl Statements {
    pub(crate) fn new(schema: &Schema) -> Self {
        let mut all = Self { by_operation: HashMap::new() };
        all.add::<write::CreateSession>(schema);
        all.add::<write::DeleteSession>(schema);
        all.add::<write::ClaimSession>(schema);
        all.add::<write::ClaimDueSessions>(schema);
        all.add::<write::CompareAndSet>(schema);
        all.add::<write::RenewLease>(schema);
        all.add::<write::StageResults>(schema);
        all.add::<write::SaveState>(schema);
        all.add::<write::AppendDeltas>(schema);
        all.add::<write::HandInterrupt>(schema);
        all.add::<write::Deliver>(schema);
        all.add::<write::RequestInterrupt>(schema);
        all.add::<write::ForkSession>(schema);
        all.add::<write::Purge>(schema);
        all.add::<read::LoadSession>(schema);
        all.add::<read::ListSessions>(schema);
        all.add::<read::ListPending>(schema);
        all.add::<read::ListRuns>(schema);
        all.add::<read::ListCheckpoints>(schema);
        all.add::<read::ReadMessages>(schema);
        all.add::<read::ReadInbox>(schema);
        all.add::<read::ReadEvents>(schema);
        all
    }

    fn add<C: Call>(&mut self, schema: &Schema) {
        let places: Vec<String> = (1..=C::PARAMETERS).map(|nth| format!("${nth}")).collect();
        let (operation, places) = (C::OPERATION, places.join(", "));
        let sql = format!("SELECT {} FROM \"{schema}\".{operation}({places}) AS a", C::COLUMNS);
        self.by_operation.insert(operation, sql.into());
    }

    pub(crate) fn of<C: Call>(&self) -> Option<Arc<str>> {
        self.by_operation.get(C::OPERATION).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_a_plain_name() {
        for good in ["holdover", "_", "a1_b", "user", &"a".repeat(63)] {
            assert!(Schema::new(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "A", "a-b", "a\"b", "a b", "ä", "pg_x", &"a".repeat(64)] {
            assert!(Schema::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_name_in_a_file_is_qualified() {
        let schema = Schema::new("other").expect("a name");
        for (name, sql) in crate::functions::ALL.iter().chain([&("0001", crate::migration::STEPS[0])]) {
            let qualified = schema.qualify(sql);
            assert!(!qualified.contains("holdover"), "{name} names the schema in another way");
            assert!(qualified.contains("\"other\"."), "{name}");
        }
    }
}
