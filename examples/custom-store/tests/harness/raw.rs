//! Direct access to the redb file, without the store.
#![allow(dead_code, reason = "each program uses its part")]

use std::path::Path;

use holdover_store::ids::SessionKey;
use holdover_store::rows::{Kind, kind_range};
use redb::{
    Builder, ConcurrencyMode, Database, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition,
};

const SLOTS: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("slots");
const ROWS: TableDefinition<(&str, &str, &[u8]), &[u8]> = TableDefinition::new("rows");
const ENTRIES: TableDefinition<(u8, &[u8]), (&str, &str)> = TableDefinition::new("entries");
const NUMBERS: TableDefinition<&str, u64> = TableDefinition::new("numbers");

/// The damaged part of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Slot,
    Row(Kind),
}

pub(crate) struct Raw(Database);

impl Raw {
    pub(crate) fn open(file: &Path) -> Self {
        let mut builder = Builder::new();
        builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
        Self(builder.open(file).expect("the file opens"))
    }

    /// Changes the bytes of a session's slot, or of its first row of a kind.
    pub(crate) fn change(&self, key: &SessionKey, part: Part, change: impl Fn(&mut Vec<u8>)) {
        let (tenant, id) = (key.tenant.as_str(), key.id.as_str());
        let write = self.0.begin_write().expect("a transaction");
        match part {
            Part::Slot => {
                let mut slots = write.open_table(SLOTS).expect("its slots");
                let slot = slots.get((tenant, id)).expect("it is read").expect("it is there to be changed");
                let mut bytes = slot.value().to_vec();
                drop(slot);
                change(&mut bytes);
                slots.insert((tenant, id), bytes.as_slice()).expect("it is written");
            }
            Part::Row(kind) => {
                let mut rows = write.open_table(ROWS).expect("its rows");
                let range = kind_range(kind);
                let of_kind = (tenant, id, range.start.as_slice())..(tenant, id, range.end.as_slice());
                let mut of_kind = rows.range(of_kind).expect("a range");
                let (at, row) = of_kind.next().expect("it is there to be changed").expect("it is read");
                let (at_bytes, mut bytes) = (at.value().2.to_vec(), row.value().to_vec());
                drop((at, row, of_kind));
                change(&mut bytes);
                rows.insert((tenant, id, at_bytes.as_slice()), bytes.as_slice()).expect("it is written");
            }
        }
        write.commit().expect("it is committed");
    }

    /// Raises the format number in the file by `by`, which may be negative.
    pub(crate) fn raise_format(&self, by: i64) {
        let write = self.0.begin_write().expect("a transaction");
        let mut numbers = write.open_table(NUMBERS).expect("its numbers");
        let format = numbers.get("format").expect("it is read").expect("it is there").value();
        numbers.insert("format", format.checked_add_signed(by).expect("a version")).expect("it is written");
        drop(numbers);
        write.commit().expect("it is committed");
    }

    /// Returns the numbers of slots, rows and index entries.
    pub(crate) fn len(&self) -> [u64; 3] {
        let read = self.0.begin_read().expect("a transaction");
        let slots = read.open_table(SLOTS).expect("its slots").len();
        let rows = read.open_table(ROWS).expect("its rows").len();
        let entries = read.open_table(ENTRIES).expect("its entries").len();
        [slots, rows, entries].map(|len| len.expect("a length"))
    }
}
