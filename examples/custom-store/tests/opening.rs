//! Tests that opening with `make: false` fails if there is no store, and creates none.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use custom_store::{Options, RedbStore};
use holdover_store::StoreErrorKind;
use redb::{Database, ReadableDatabase};

#[tokio::test]
async fn where_no_store_was_made_none_is_made_unless_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.redb");
    let as_it_is = Options { make: false, ..Options::default() };
    let refused = RedbStore::open(&file, as_it_is.clone()).await.err().unwrap();
    assert_eq!(refused.kind, StoreErrorKind::Unavailable, "{refused}");
    assert!(!file.exists());

    // This is a file whose creator was killed before it made the tables.
    drop(Database::create(&file).unwrap());
    let refused = RedbStore::open(&file, as_it_is.clone()).await.err().unwrap();
    assert_eq!(refused.kind, StoreErrorKind::Unavailable, "{refused}");
    let tables = Database::open(&file).unwrap().begin_read().unwrap().list_tables().unwrap().count();
    assert_eq!(tables, 0);

    drop(RedbStore::open(&file, Options::default()).await.unwrap());
    RedbStore::open(&file, as_it_is).await.unwrap();
}
