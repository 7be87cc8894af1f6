//! The disk space of a session: bytes stored against bytes of transcript.
//!
//! Requirements: U01.

use std::path::Path;
use std::sync::Arc;

use holdover::session::{MessageSeq, SessionKey};
use holdover::store::SqliteStore;
use holdover_core::store::{MessageRange, StateStoreExt};
use sqlx::{ConnectOptions, Connection, Row};

use crate::agent::{self, Answer};
use crate::watch::Watched;

/// The promised maximum of stored bytes divided by logical bytes, after 200 steps with results of 4 KB.
const STORED_OVER_LOGICAL_MAX: f64 = 1.6;
const STEPS: u64 = 200;

/// Returns the bytes of the transcript as stored: messages, calls and results.
async fn logical(store: &SqliteStore, key: &SessionKey) -> u64 {
    let all = [MessageRange::new(MessageSeq(1), MessageSeq(u64::MAX))];
    let messages = store.read_all_messages(key, &all).await.unwrap();
    messages.iter().map(|message| message.payload.len() as u64).sum()
}

/// Writes the log back into the file. Returns the size of the file in bytes, and a description of where the bytes lie.
async fn stored(folder: &Path) -> (u64, String) {
    let file = folder.join("holdover.db");
    let mut conn = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let truncated = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut conn).await.unwrap();
    assert_eq!(truncated.get::<i64, _>(0), 0, "nobody holds the log");
    let by_table = "SELECT name, count(*), sum(pgsize), sum(unused), sum(payload), sum(ncell) \
                    FROM dbstat GROUP BY name ORDER BY sum(pgsize) DESC";
    let rows = sqlx::query(by_table).fetch_all(&mut conn).await.unwrap();
    let lines = rows.iter().map(|row| {
        let [pages, bytes, unused, payload, cells] = [1, 2, 3, 4, 5].map(|at| row.get::<i64, _>(at));
        let name: String = row.get(0);
        format!("{name}: {pages} pages, {bytes} bytes, {unused} unused, {payload} payload, {cells} cells\n")
    });
    let lines = lines.collect();
    conn.close().await.unwrap();
    (std::fs::metadata(&file).unwrap().len(), lines)
}

async fn check(answers: agent::Answers) {
    let _alone = crate::ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let store = agent::open(folder.path()).await;
    // The model waits for each commit, so no two steps share one, as they could with a model faster than the disk.
    let watched = Watched::hearing(store.clone());
    let key = agent::run(Arc::new(watched.store()), agent::agent(answers, STEPS, watched.hooks(drop))).await;
    watched.check_what_time_brought(store.writer_counts().writes);
    let logical = logical(&store, &key).await;
    store.close().await;
    let (stored, tables) = stored(folder.path()).await;
    assert!(logical > STEPS * agent::RESULT_BYTES as u64, "{logical} bytes were said");
    let ratio = stored as f64 / logical as f64;
    assert!(ratio <= STORED_OVER_LOGICAL_MAX, "{stored} bytes for {logical}: {ratio:.3} ×\n{tables}");
}

/// Requirements: U01.
#[tokio::test]
async fn steps_with_an_effect_are_stored_in_little_more_than_what_was_said() {
    check(|_| Answer { asks: &["send"], words: 0 }).await;
}

#[tokio::test]
async fn steps_that_read_are_stored_in_little_more_than_what_was_said() {
    check(|_| Answer { asks: &["look"], words: 0 }).await;
}
