//! The permissions of a database's files, and what removed data leaves in them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

mod support;

use std::fs::{Permissions, metadata, read_dir, set_permissions};
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;

use holdover_store::ids::StateFormat;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::*;
use support::*;

/// Returns the folder's files with their permissions, sorted by name.
fn rights(folder: &Folder) -> Vec<(String, u32)> {
    let files = read_dir(folder.path()).unwrap().map(|file| file.unwrap());
    let mut rights: Vec<_> = files
        .map(|file| {
            let mode = metadata(file.path()).unwrap().permissions().mode();
            (file.file_name().into_string().unwrap(), mode & 0o777)
        })
        .collect();
    rights.sort();
    rights
}

#[tokio::test]
async fn a_new_database_and_its_log_are_its_owners_alone() {
    let folder = Folder::new();
    let store = folder.store().await;
    claimed(&store, "s").await;
    let own = |name: &str| (name.to_owned(), 0o600);
    assert_eq!(rights(&folder), ["holdover.db", "holdover.db-shm", "holdover.db-wal"].map(own));
}

#[tokio::test]
async fn who_gave_a_file_to_others_finds_it_given() {
    let folder = Folder::new();
    folder.store().await.close().await;
    set_permissions(folder.file(), Permissions::from_mode(0o660)).unwrap();
    let store = folder.store().await;
    claimed(&store, "s").await;
    let given = |name: &str| (name.to_owned(), 0o660);
    assert_eq!(rights(&folder), ["holdover.db", "holdover.db-shm", "holdover.db-wal"].map(given));
}

/// Returns a commit with a secret in a short message, a long message, an event and a state.
fn secrets(n: usize) -> Commit {
    let long = format!("{}-secret-{n}-", "x".repeat(9_000));
    Commit {
        messages: vec![
            NewMessage::Inline(Payload::new(format!("-secret-{n}-"))),
            NewMessage::Inline(Payload::new(long)),
        ],
        events: vec![Payload::new(format!("-secret-{n}-"))],
        state: Some(NewState { format: StateFormat(1), payload: Payload::new(format!("-secret-{n}-")) }),
        checkpoint: true,
        ..commit(&format!("c{n}"))
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_session_that_was_deleted() {
    let folder = Folder::new();
    let store = folder.store().await;
    let (gone, stays) = (claimed(&store, "gone").await, claimed(&store, "stays").await);
    for n in 0..30 {
        receipt(store.commit(&gone.fence, secrets(n)).await.unwrap());
        receipt(store.commit(&stays.fence, saying(&format!("c{n}"), "kept words")).await.unwrap());
    }
    assert!(times(&folder, "-secret-") > 100 && times(&folder, "kept words") >= 30, "they are there");
    let deleted = store.delete_session(&gone.fence.key, Deletion::FORCE).await.unwrap();
    assert_eq!(deleted, DeleteOutcome::Deleted);
    assert!(is_erased(&store, &folder, "-secret-").await);
    assert!(times(&folder, "kept words") >= 30);
}

#[tokio::test]
async fn nothing_is_left_of_checkpoints_that_were_purged() {
    let folder = Folder::new();
    let store = folder.store().await;
    let claim = claimed(&store, "s").await;
    for n in 0..10 {
        let only_state = Commit { messages: vec![], events: vec![], ..secrets(n) };
        receipt(store.commit(&claim.fence, only_state).await.unwrap());
    }
    receipt(
        store
            .commit(&claim.fence, Commit { release: to(SessionStatus::Idle), ..commit("rests") })
            .await
            .unwrap(),
    );
    assert!(times(&folder, "-secret-3-") > 0, "it is there");
    let rule = RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Checkpoints { keep: NonZeroU32::MIN },
        limit: NonZeroU32::new(10).unwrap(),
        after: None,
    };
    assert_eq!(store.purge(&rule).await.unwrap().checkpoints, 9);
    for n in 0..9 {
        assert!(is_erased(&store, &folder, &format!("-secret-{n}-")).await, "{n}");
    }
    assert!(times(&folder, "-secret-9-") > 0, "the state as it is");
}
