//! The schema, version by version. The version is in the file's header and changes in the same transaction as
//! the schema, so a crash at any statement leaves the old schema or the new one (INV-40).

use holdover_store::{StoreError, StoreErrorKind};
use rusqlite::Connection;

use crate::columns::Columns;
use crate::error::Fault;

/// The number that marks a file as Holdover's: "Hold" in ASCII.
const APPLICATION_ID: i64 = 0x486f_6c64;

/// The migrations in order. The first leads from an empty file to version 1, each other one to the next version.
const STEPS: [Step; 9] = [
    Step { schema: include_str!("../schema/0001.sql"), mark: "PRAGMA user_version = 1" },
    Step { schema: include_str!("../schema/0002.sql"), mark: "PRAGMA user_version = 2" },
    Step { schema: include_str!("../schema/0003.sql"), mark: "PRAGMA user_version = 3" },
    Step { schema: include_str!("../schema/0004.sql"), mark: "PRAGMA user_version = 4" },
    Step { schema: include_str!("../schema/0005.sql"), mark: "PRAGMA user_version = 5" },
    Step { schema: include_str!("../schema/0006.sql"), mark: "PRAGMA user_version = 6" },
    Step { schema: include_str!("../schema/0007.sql"), mark: "PRAGMA user_version = 7" },
    Step { schema: include_str!("../schema/0008.sql"), mark: "PRAGMA user_version = 8" },
    Step { schema: include_str!("../schema/0009.sql"), mark: "PRAGMA user_version = 9" },
];

/// The newest schema version. Opening a file migrates it to this version, unless the file is opened only for
/// inspection.
pub(crate) const NEWEST: usize = STEPS.len();

const MARK_AS_OURS: &str = "PRAGMA application_id = 1215261796";

/// Reads the marks of the file and the number of its tables. It is one statement, so that it sees one instant:
/// between two statements, another process could migrate an empty file.
const READ_MARKS: &str = "SELECT (SELECT application_id FROM pragma_application_id), \
     (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)";

const READ_VERSION: &str = "PRAGMA user_version";

struct Step {
    schema: &'static str,
    mark: &'static str,
}

/// The state of a file's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schema {
    /// An empty file.
    Empty,
    /// A file of this store, at a version that this program knows.
    Known(usize),
}

impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => write!(f, "is empty"),
            Self::Known(version) => write!(f, "has schema {version}, the newest is {NEWEST}"),
        }
    }
}

/// Returns the state of the file's schema. Fails if the file is no database, belongs to another program, or is
/// newer than this program.
pub(crate) fn inspect(conn: &Connection, file: &str) -> Result<Schema, StoreError> {
    let marks = conn.query_row(READ_MARKS, [], |row| {
        let mut columns = Columns::of(row);
        Ok((|| Ok((columns.int()?, columns.int()?, columns.int()?)))())
    });
    let marks = marks.map_err(Fault::from).and_then(|marks| marks);
    let (application, version, tables) = marks.map_err(|fault: Fault| {
        let mut error = fault.of("open", None);
        error.detail = if error.kind == StoreErrorKind::Corrupt {
            format!("{file}: is not a sound SQLite database")
        } else {
            file.to_owned()
        };
        error
    })?;
    let newest = STEPS.len();
    match (application, usize::try_from(version)) {
        (0, Ok(0)) if tables == 0 => Ok(Schema::Empty),
        (APPLICATION_ID, Ok(version)) if (1..=newest).contains(&version) => Ok(Schema::Known(version)),
        (APPLICATION_ID, Ok(version)) if version > newest => {
            let detail = format!("{file}: has schema {version}, this program knows up to {newest}");
            Err(StoreError::new(StoreErrorKind::Newer, "open", detail))
        }
        _ => {
            let detail = format!("{file}: is an SQLite database of something else");
            Err(StoreError::new(StoreErrorKind::Corrupt, "open", detail))
        }
    }
}

/// Fails if a newer version has raised the schema since the file was opened. Called within each transaction, so that
/// the transaction sees the schema that was checked.
pub(crate) fn check(conn: &Connection) -> Result<(), Fault> {
    let version = conn.prepare_cached(READ_VERSION)?.query_row([], |row| row.get::<_, i64>(0))?;
    match usize::try_from(version) {
        Ok(version) if version <= NEWEST => Ok(()),
        Ok(_) | Err(_) => Err(Fault::Newer(version)),
    }
}

/// Returns true if the schema needs no migration.
pub(crate) fn is_newest(schema: Schema) -> bool {
    schema == Schema::Known(STEPS.len())
}

/// Brings the file to the newest version, in one write transaction. Inspects the file again within that transaction,
/// so that only one of several processes migrates.
pub(crate) fn migrate(conn: &Connection, file: &str) -> Result<(), StoreError> {
    let open = |error: rusqlite::Error| {
        let mut error = Fault::from(error).of("open", None);
        error.detail = format!("{file}: the schema could not be brought up to date");
        error
    };
    conn.execute_batch("BEGIN IMMEDIATE").map_err(open)?;
    let done = match inspect(conn, file)? {
        Schema::Empty => 0,
        Schema::Known(version) => version,
    };
    for step in STEPS.iter().skip(done) {
        conn.execute_batch(step.schema).map_err(open)?;
        conn.execute_batch(step.mark).map_err(open)?;
    }
    conn.execute_batch(MARK_AS_OURS).map_err(open)?;
    conn.execute_batch("COMMIT").map_err(open)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_agree_with_the_steps() {
        assert_eq!(MARK_AS_OURS, format!("PRAGMA application_id = {APPLICATION_ID}"));
        for (at, step) in STEPS.iter().enumerate() {
            assert_eq!(step.mark, format!("PRAGMA user_version = {}", at + 1));
        }
    }
}
