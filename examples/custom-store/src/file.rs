//! The file: its tables, how it is opened, and how its errors are classified.

use std::fmt::Display;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use holdover_store::ids::SessionKey;
use holdover_store::{StoreError, StoreErrorKind};
use redb::{Builder, ConcurrencyMode, Database, ReadableTable, TableDefinition};

/// Tenant and session. They are part of every key, so no tenant reaches the rows of another.
pub(crate) type SessionAt = (&'static str, &'static str);
/// What stands under the key of each session.
pub(crate) const SLOTS: TableDefinition<SessionAt, &[u8]> = TableDefinition::new("slots");

/// Tenant, session, and the key of a row as bytes, which are in its order.
pub(crate) type RowAt = (&'static str, &'static str, &'static [u8]);
pub(crate) const ROWS: TableDefinition<RowAt, &[u8]> = TableDefinition::new("rows");

/// Which index, and one of its entries. Beside it lies the session that it is of.
pub(crate) type EntryAt = (u8, &'static [u8]);
pub(crate) const ENTRIES: TableDefinition<EntryAt, SessionAt> = TableDefinition::new("entries");

/// Two numbers: the [`FORMAT`] of the file, and how many writes have changed it.
pub(crate) const NUMBERS: TableDefinition<&str, u64> = TableDefinition::new("numbers");
pub(crate) const FORMAT: u64 = 4;

pub(crate) fn at(key: &SessionKey) -> (&str, &str) {
    (key.tenant.as_str(), key.id.as_str())
}

/// Where the rows of a session lie that have their keys in this range.
pub(crate) fn within<'a>(
    key: &'a SessionKey,
    rows: &'a Range<Vec<u8>>,
) -> Range<(&'a str, &'a str, &'a [u8])> {
    let (tenant, id) = at(key);
    (tenant, id, &rows.start)..(tenant, id, &rows.end)
}

/// Opens the file, and says which format it has. A new one gets its tables, if it may be made.
pub(crate) fn open(path: &Path, make: bool) -> Done<(Database, Option<u64>)> {
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter).set_cache_size(64 << 20);
    let database = if make { builder.create(path)? } else { builder.open(path)? };
    // A new file is durable when its folder is.
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

/// What is stored is not what was written.
pub(crate) fn corrupt(key: &SessionKey, what: impl Display, why: impl Display) -> redb::Error {
    redb::Error::Corrupted(format!("{key}: {what}: {why}"))
}

/// The error that the engine is told. Nothing was changed, unless it comes of a commit. The caller of [`Rows`] names the
/// operation and the session.
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
