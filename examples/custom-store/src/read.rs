//! Reading: slots, rows and entries of indexes, as the file holds them at one instant.

use std::ops::Range;
use std::sync::Arc;

use holdover_store::ids::SessionKey;
use holdover_store::rows::*;
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable};

use crate::file::{Done, ENTRIES, EntryAt, NUMBERS, ROWS, RowAt, SLOTS, SessionAt, at, corrupt, within};

/// One read transaction: whatever is written meanwhile, it sees the file as it was.
pub(crate) struct Snapshot {
    slots: ReadOnlyTable<SessionAt, &'static [u8]>,
    rows: ReadOnlyTable<RowAt, &'static [u8]>,
    entries: ReadOnlyTable<EntryAt, SessionAt>,
    /// How many writes came before.
    pub(crate) changes: u64,
}

impl Snapshot {
    pub(crate) fn of(database: &Database) -> Done<Self> {
        let transaction = database.begin_read()?;
        let changes = transaction.open_table(NUMBERS)?.get("changes")?.map_or(0, |changes| changes.value());
        let (slots, rows) = (transaction.open_table(SLOTS)?, transaction.open_table(ROWS)?);
        Ok(Self { slots, rows, entries: transaction.open_table(ENTRIES)?, changes })
    }

    /// What stands under a key, with the rows that are wanted.
    pub(crate) fn find(&self, key: &SessionKey, wants: &[Want], now: Timestamp) -> Done<Found> {
        let rows = read_wants(wants, |want| self.wanted(key, want))?;
        Ok(Found { now, slot: slot(&self.slots, key)?.map(Arc::new), rows })
    }

    pub(crate) fn session(&self, key: &SessionKey) -> Done<Option<SessionRow>> {
        Ok(slot(&self.slots, key)?.and_then(|slot| slot.row))
    }

    pub(crate) fn row(&self, key: &SessionKey, row: &RowKey) -> Done<Option<Row>> {
        rows(&self.rows, key, &key_range(row))?.next().transpose()
    }

    /// The rows that are wanted, in the order that is wanted.
    fn wanted<'a>(
        &'a self,
        key: &'a SessionKey,
        want: &'a Want,
    ) -> Done<Box<dyn Iterator<Item = Done<Row>> + 'a>> {
        let rows = |range| rows(&self.rows, key, &range);
        let named = |name: &String| self.row(key, &RowKey::name(want.kind, name)).transpose();
        Ok(match &want.which {
            Which::All => Box::new(rows(kind_range(want.kind))?),
            Which::Numbers(from, to) => Box::new(rows(number_range(want.kind, *from, *to))?),
            Which::Descending(from, to) => Box::new(rows(number_range(want.kind, *from, *to))?.rev()),
            Which::Names(names) => Box::new(names.iter().filter_map(named)),
        })
    }

    /// Walks along an index: what `look` finds at the places in this range. What cannot be read is passed over, and the
    /// log says so: it holds up no other session.
    pub(crate) fn walk<'a, P, T: 'a>(
        &'a self,
        index: Index,
        range: &Range<Vec<u8>>,
        place: fn(Index, &[u8]) -> Option<P>,
        look: impl Fn(P) -> Done<Option<T>> + 'a,
    ) -> Done<impl DoubleEndedIterator<Item = Done<T>>> {
        let range = (index as u8, range.start.as_slice())..(index as u8, range.end.as_slice());
        Ok(self.entries.range(range)?.filter_map(move |entry| {
            let place = entry.map(|(entry, _)| place(index, entry.value().1)).transpose()?;
            let found = place.map_err(redb::Error::from).and_then(&look);
            if let Err(error @ redb::Error::Corrupted(_)) = found {
                tracing::error!(%error, "a session that cannot be read is passed over");
                return None;
            }
            found.transpose()
        }))
    }
}

// Both are also needed in the midst of a write, so they take both kinds of table.

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
