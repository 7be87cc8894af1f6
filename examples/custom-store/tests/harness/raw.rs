//! The file as redb sees it, behind the store's back.
#![allow(dead_code, reason = "each program uses its part")]

use std::path::Path;

use holdover_store::ids::SessionKey;
use redb::{
    Builder, ConcurrencyMode, Database, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition,
};

/// What the store calls a row: tenant, session, part, number, name.
type RowKey = (&'static str, &'static str, u8, u64, &'static str);
type RowValue = (&'static [u8], Option<(&'static [u8; 32], &'static [u8])>);
const ROWS: TableDefinition<RowKey, RowValue> = TableDefinition::new("rows");
const INDEX: TableDefinition<(u8, &str, i64, &str, &str), ()> = TableDefinition::new("index");
const NUMBERS: TableDefinition<&str, u64> = TableDefinition::new("numbers");

/// The parts of a session that are damaged by name.
pub(crate) const ROW: u8 = 0;
pub(crate) const MESSAGE: u8 = 4;
pub(crate) const TOMBSTONE: u8 = 15;

pub(crate) struct Raw(Database);

impl Raw {
    pub(crate) fn open(file: &Path) -> Self {
        let mut builder = Builder::new();
        builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
        Self(builder.open(file).expect("the file opens"))
    }

    /// Changes head and payload of the first row of this part of a session.
    pub(crate) fn change(&self, key: &SessionKey, part: u8, change: impl Fn(&mut Vec<u8>, &mut Vec<u8>)) {
        let (tenant, id) = (key.tenant.as_str(), key.id.as_str());
        let write = self.0.begin_write().expect("a transaction");
        let mut rows = write.open_table(ROWS).expect("its rows");
        let mut of_part =
            rows.range((tenant, id, part, 0, "")..(tenant, id, part + 1, 0, "")).expect("a range");
        let (at, found) = of_part.next().expect("it is there to be changed").expect("it is read");
        let ((.., number, name), (head, payload)) = (at.value(), found.value());
        let (digest, bytes) = payload.map(|(digest, bytes)| (*digest, bytes.to_vec())).unzip();
        let (mut head, mut bytes, name) = (head.to_vec(), bytes.unwrap_or_default(), name.to_owned());
        drop((at, found, of_part));
        change(&mut head, &mut bytes);
        let payload = digest.as_ref().map(|digest| (digest, bytes.as_slice()));
        let key = (tenant, id, part, number, name.as_str());
        rows.insert(key, (head.as_slice(), payload)).expect("it is written");
        drop(rows);
        write.commit().expect("it is committed");
    }

    /// Sets the version of what lies there to one that is so much higher.
    pub(crate) fn raise_format(&self, by: i64) {
        let write = self.0.begin_write().expect("a transaction");
        let mut numbers = write.open_table(NUMBERS).expect("its numbers");
        let format = numbers.get("format").expect("it is read").expect("it is there").value();
        numbers.insert("format", format.checked_add_signed(by).expect("a version")).expect("it is written");
        drop(numbers);
        write.commit().expect("it is committed");
    }

    /// How many rows and entries there are.
    pub(crate) fn len(&self) -> (u64, u64) {
        let read = self.0.begin_read().expect("a transaction");
        let (rows, index) = (read.open_table(ROWS), read.open_table(INDEX));
        (rows.expect("its rows").len().expect("a length"), index.expect("its index").len().expect("a length"))
    }
}
