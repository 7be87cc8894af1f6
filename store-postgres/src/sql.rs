//! Statements and where they point to. Names are qualified here, when the store is opened: behind a pooler there
//! is no search path to rely on.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use holdover_store::StoreError;

use crate::call::Call;
use crate::functions::Functions;
use crate::options::PostgresOptions;
use crate::{read, write};

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

/// The statement of every call, built once.
pub(crate) struct Statements {
    by_operation: HashMap<&'static str, Arc<str>>,
}

impl Statements {
    pub(crate) fn new(schema: &Schema, functions: &Functions) -> Self {
        let mut all = Self { by_operation: HashMap::new() };
        let place = (schema, functions);
        all.add::<write::CreateSession>(place);
        all.add::<write::DeleteSession>(place);
        all.add::<write::ClaimSession>(place);
        all.add::<write::ClaimDueSessions>(place);
        all.add::<write::CompareAndSet>(place);
        all.add::<write::RenewLease>(place);
        all.add::<write::StageResults>(place);
        all.add::<write::SaveState>(place);
        all.add::<write::AppendDeltas>(place);
        all.add::<write::HandInterrupt>(place);
        all.add::<write::Deliver>(place);
        all.add::<write::RequestInterrupt>(place);
        all.add::<write::ForkSession>(place);
        all.add::<write::Purge>(place);
        all.add::<read::LoadSession>(place);
        all.add::<read::ListSessions>(place);
        all.add::<read::ListPending>(place);
        all.add::<read::ListRuns>(place);
        all.add::<read::ListCheckpoints>(place);
        all.add::<read::ReadMessages>(place);
        all.add::<read::ReadInbox>(place);
        all.add::<read::ReadEvents>(place);
        all
    }

    fn add<C: Call>(&mut self, (schema, functions): (&Schema, &Functions)) {
        let values: Vec<String> = (1..=C::PARAMETERS).map(|nth| format!("${nth}")).collect();
        let (function, values) = (functions.name(C::OPERATION), values.join(", "));
        let sql = format!("SELECT {} FROM \"{schema}\".{function}({values}) AS a", C::COLUMNS);
        self.by_operation.insert(C::OPERATION, sql.into());
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
}
