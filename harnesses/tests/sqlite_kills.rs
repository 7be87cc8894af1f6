//! Tests that a store fails the cases that kill it if it acknowledges commits before it writes them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{Settings, Status, all, run, serve_child};
use holdover_harnesses::SqliteHarness;
use holdover_store::ids::{Fence, InboxSeq, MessageSeq, Version};
use holdover_store::time::Timestamp;
use holdover_store::*;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tokio::sync::mpsc;

/// The environment variable that passes the file to the child process.
const FILE: &str = "HOLDOVER_CHILD_FILE";

/// A layer that acknowledges a commit first and writes it afterwards.
struct Eager {
    later: mpsc::UnboundedSender<(Fence, Commit)>,
}

fn eager(store: SqliteStore) -> Layered<SqliteStore, Eager> {
    let store = Arc::new(store);
    let (later, mut commits) = mpsc::unbounded_channel::<(Fence, Commit)>();
    let writer = Arc::clone(&store);
    tokio::spawn(async move {
        while let Some((fence, commit)) = commits.recv().await {
            let _ = writer.commit(&fence, commit).await;
        }
    });
    Layered::new(store, Eager { later })
}

#[async_trait]
impl Layer for Eager {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let Request::Commit(fence, commit) = request else { return request.perform(&store).await };
        let (version, now) = (Version(0), Timestamp::EPOCH);
        let receipt = Receipt {
            version,
            last_message: MessageSeq(0),
            last_item: InboxSeq(0),
            unread: 0,
            interrupt: false,
            now,
            lease_ends: now,
        };
        self.later.send((fence, commit)).expect("the writer runs");
        Ok(CommitOutcome::Committed(receipt).into())
    }
}

fn this_program(file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "child", "--nocapture"]).env(FILE, file);
    command
}

/// The entry point of the child process. Without the variable that [`FILE`] names, this test does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    if let Some(file) = std::env::var_os(FILE) {
        let store = SqliteStore::open(SqliteOptions::new(Path::new(&file))).await.expect("it opens");
        serve_child(eager(store)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_program_to_kill_nothing_is_said() {
    let case = all().find(|case| case.id == "crash.sigkill_acked_is_durable").expect("the case");
    let report = run(case, SqliteHarness::in_folder(std::env::temp_dir()), Settings::default()).await;
    let reason = Some("the harness starts no child process");
    assert_eq!((report.status, report.skipped.as_deref()), (Status::Skipped, reason));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_acknowledged_before_it_is_written_is_missed() {
    for id in ["crash.sigkill_acked_is_durable", "crash.sigkill_never_partial_commit"] {
        let case = all().find(|case| case.id == id).expect("the case");
        let harness = SqliteHarness::in_folder(std::env::temp_dir()).child_program(this_program);
        let report = run(case, harness, Settings::default()).await;
        assert_eq!(report.status, Status::Failed, "{report:#?}");
        let found = report.failure.expect("a failure").found;
        assert!(found.contains("commits that were acknowledged"), "{found}");
    }
}
