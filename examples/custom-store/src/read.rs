//! Reads: one transaction that sees a snapshot of the file, unaffected by later writes.

use std::ops::Range;

use holdover_store::StoreError;
use holdover_store::ids::SessionKey;
use holdover_store::rows::*;
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable};

use crate::file::{
    Done, ENTRIES, EntryAt, NUMBERS, ROWS, RowAt, SLOTS, SessionAt, at, corrupt, failed, within,
};

pub(crate) struct Reader {
    slots: ReadOnlyTable<SessionAt, &'static [u8]>,
    rows: ReadOnlyTable<RowAt, &'static [u8]>,
    entries: ReadOnlyTable<EntryAt, SessionAt>,
    /// The number of earlier transactions that changed sessions in the file.
    pub(crate) changes: u64,
}

impl Reader {
    pub(crate) fn of(database: &Database) -> Done<Self> {
        let transaction = database.begin_read()?;
        let changes = transaction.open_table(NUMBERS)?.get("changes")?.map_or(0, |changes| changes.value());
        let (slots, rows) = (transaction.open_table(SLOTS)?, transaction.open_table(ROWS)?);
        Ok(Self { slots, rows, entries: transaction.open_table(ENTRIES)?, changes })
    }
}

/// The few reads that a store must implement. `find`, `due`, `sessions` and the other lists are built on them.
impl Snapshot for Reader {
    fn slot(&self, key: &SessionKey) -> Result<Option<Slot>, StoreError> {
        slot(&self.slots, key).map_err(failed)
    }

    fn rows<'a>(
        &'a self,
        key: &'a SessionKey,
        range: &Range<Vec<u8>>,
    ) -> Result<InOrder<'a, Row>, StoreError> {
        let rows = rows(&self.rows, key, range).map_err(failed)?;
        Ok(Box::new(rows.map(|row| row.map_err(failed))))
    }

    fn entries(&self, index: Index, range: &Range<Vec<u8>>) -> Result<InOrder<'_, Vec<u8>>, StoreError> {
        let range = (index as u8, range.start.as_slice())..(index as u8, range.end.as_slice());
        let entries = self.entries.range(range).map_err(failed)?;
        Ok(Box::new(entries.map(|entry| Ok(entry.map_err(failed)?.0.value().1.to_vec()))))
    }
}

// Writes need the next two functions, too, so the functions accept both kinds of table.

pub(crate) fn slot(
    slots: &impl ReadableTable<SessionAt, &'static [u8]>,
    key: &SessionKey,
) -> Done<Option<Slot>> {
    let slot = slots.get(at(key))?.map(|slot| decode_slot(key, slot.value())).transpose();
    slot.map_err(|why| corrupt(key, "slot", why))
}

pub(crate) fn rows<'a, T: ReadableTable<RowAt, &'static [u8]>>(
    rows: &'a T,
    key: &'a SessionKey,
    range: &Range<Vec<u8>>,
) -> Done<impl DoubleEndedIterator<Item = Done<Row>> + use<'a, T>> {
    Ok(rows.range(within(key, range))?.map(|found| {
        let (at, row) = found?;
        let at = decode_row_key(at.value().2).map_err(|why| corrupt(key, "row", why))?;
        decode_row(key, &at, row.value()).map_err(|why| corrupt(key, at, why))
    }))
}
