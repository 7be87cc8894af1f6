//! SQLite: writes to its one writer, and bytes of its log.

use std::sync::Arc;

use holdover::store::{SqliteOptions, SqliteStore};

use crate::step::{ALLOCATED, ALLOCATIONS, Counts, HOPS, check};

#[test]
fn a_step_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let open = async || {
        let file = folder.path().join("w.db");
        // The log is not written back while it is counted.
        let store = SqliteStore::open(SqliteOptions::new(&file).wal_bytes_max(1 << 30)).await.unwrap();
        let log = folder.path().join("w.db-wal");
        let counts = store.clone();
        let look = async move || {
            let counts = counts.writer_counts();
            Counts::from([
                ("writes", counts.writes),
                ("synced groups", counts.groups - counts.provisional),
                ("bytes of log", std::fs::metadata(&log).unwrap().len()),
            ])
        };
        (Arc::new(store) as _, look)
    };
    let expected = [
        ("writes", 2.0),
        ("synced groups", 2.0),
        ("bytes of log", 35_500.0),
        (ALLOCATIONS, 355.0),
        (ALLOCATED, 79_000.0),
        (HOPS, 4.0),
    ];
    check(open, &expected);
}
