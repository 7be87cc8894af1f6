//! The file: its tables, opening it, and classifying its errors.

use std::fmt::Display;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use holdover_store::ids::SessionKey;
use holdover_store::{StoreError, StoreErrorKind};
use redb::{Builder, ConcurrencyMode, Database, ReadableTable, TableDefinition};

/// Tenant and session. They are part of the key of every slot and row, so a tenant cannot reach the rows of another
/// tenant.
pub(crate) type SessionAt = (&'static str, &'static str);
/// The slot of each session key.
pub(crate) const SLOTS: TableDefinition<SessionAt, &[u8]> = TableDefinition::new("slots");

/// Tenant, session, and the bytes of a row's key. The bytes sort in the order of the rows.
pub(crate) type RowAt = (&'static str, &'static str, &'static [u8]);
pub(crate) const ROWS: TableDefinition<RowAt, &[u8]> = TableDefinition::new("rows");

/// The number of an index, and one of its entries. The value is the session of the entry.
pub(crate) type EntryAt = (u8, &'static [u8]);
pub(crate) const ENTRIES: TableDefinition<EntryAt, SessionAt> = TableDefinition::new("entries");

/// Two numbers: the [`FORMAT`] of the file, and the number of transactions that have changed its sessions.
pub(crate) const NUMBERS: TableDefinition<&str, u64> = TableDefinition::new("numbers");
pub(crate) const FORMAT: u64 = 5;

pub(crate) fn at(key: &SessionKey) -> (&str, &str) {
    (key.tenant.as_str(), key.id.as_str())
}

/// Returns the range of table keys for the rows of a session whose keys are in `rows`.
pub(crate) fn within<'a>(
    key: &'a SessionKey,
    rows: &'a Range<Vec<u8>>,
) -> Range<(&'a str, &'a str, &'a [u8])> {
    let (tenant, id) = at(key);
    (tenant, id, &rows.start)..(tenant, id, &rows.end)
}

/// Opens the file, and returns its format, or `None` if it has no tables yet. If `make` is true, creates the file if
/// needed, and the tables of a new file.
pub(crate) fn open(path: &Path, make: bool) -> Done<(Database, Option<u64>)> {
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter).set_cache_size(64 << 20);
    let database = if make { builder.create(path)? } else { builder.open(path)? };
    // A new file is durable only after its folder is synced.
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::File::open(folder)?.sync_all()?;
    }
    let transaction = database.begin_write()?;
    let mut format = transaction.open_table(NUMBERS)?.get("format")?.map(|format| format.value());
    if format.is_none() && make {
        format = Some(FORMAT);
        transaction.open_table(NUMBERS)?.insert("format", FORMAT)?;
        transaction.open_table(SLOTS)?;
        transaction.open_table(ROWS)?;
        transaction.open_table(ENTRIES)?;
        transaction.commit()?;
    }
    Ok((database, format))
}

pub(crate) type Done<T> = Result<T, redb::Error>;

/// Returns the error for stored data that cannot be read.
pub(crate) fn corrupt(key: &SessionKey, what: impl Display, why: impl Display) -> redb::Error {
    redb::Error::Corrupted(format!("{key}: {what}: {why}"))
}

/// Converts an error of redb into an error of the store. Nothing was changed, unless the error comes from a commit. The
/// caller of [`Rows`] adds the operation and the session.
///
/// [`Rows`]: holdover_store::rows::Rows
pub(crate) fn failed(error: impl Into<redb::Error>) -> StoreError {
    let error = error.into();
    let kind = if let redb::Error::Corrupted(_) | redb::Error::TableTypeMismatch { .. } = error {
        StoreErrorKind::Corrupt
    } else if matches!(&error, redb::Error::Io(io) if io.kind() == ErrorKind::StorageFull) {
        StoreErrorKind::Full
    } else {
        StoreErrorKind::Unavailable
    };
    StoreError::new(kind, "", "").because(error)
}
