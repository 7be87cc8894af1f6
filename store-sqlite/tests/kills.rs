//! A store that acknowledges commits before they are written must fail the cases that kill.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{Status, all, run, serve_child};
use holdover_core::ids::{CheckpointId, Fence, InboxSeq, MessageSeq, SessionKey, Version};
use holdover_core::store::*;
use holdover_core::time::Timestamp;
use holdover_store_sqlite::conformance::SqliteHarness;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tokio::sync::mpsc;

/// The variable that names the file to this program as a child.
const FILE: &str = "HOLDOVER_CHILD_FILE";

/// Acknowledges a commit, and writes it afterwards.
struct Eager {
    store: Arc<SqliteStore>,
    later: mpsc::UnboundedSender<(Fence, Commit)>,
}

impl Eager {
    fn new(store: SqliteStore) -> Self {
        let store = Arc::new(store);
        let (later, mut commits) = mpsc::unbounded_channel::<(Fence, Commit)>();
        let writer = Arc::clone(&store);
        tokio::spawn(async move {
            while let Some((fence, commit)) = commits.recv().await {
                let _ = writer.save_state_and_promote_staging(&fence, commit).await;
            }
        });
        Self { store, later }
    }
}

fn this_program(file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "child", "--nocapture"]).env(FILE, file);
    command
}

/// No test, unless this program was started to be killed.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    if let Some(file) = std::env::var_os(FILE) {
        let store = SqliteStore::open(SqliteOptions::new(Path::new(&file))).await.expect("it opens");
        serve_child(Eager::new(store)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_program_to_kill_nothing_is_said() {
    let case = all().find(|case| case.id == "crash.sigkill_acked_is_durable").expect("the case");
    let report = run(case, SqliteHarness::in_folder(std::env::temp_dir()), 0).await;
    let reason = Some("the harness starts no child process");
    assert_eq!((report.status, report.skipped.as_deref()), (Status::Skipped, reason));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_acknowledged_before_it_is_written_is_missed() {
    let case = all().find(|case| case.id == "crash.sigkill_acked_is_durable").expect("the case");
    let harness = SqliteHarness::in_folder(std::env::temp_dir()).child_program(this_program);
    let report = run(case, harness, 0).await;
    assert_eq!(report.status, Status::Failed, "{report:#?}");
    let found = report.failure.expect("a failure").found;
    assert!(found.contains("commits that were acknowledged"), "{found}");
}

#[async_trait]
impl StateStore for Eager {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.store.create_session(new).await
    }
    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.store.load_session(key).await
    }
    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        self.store.list_sessions(query).await
    }
    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        self.store.delete_session(key, deletion).await
    }
    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.store.claim_session(key, claim).await
    }
    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        self.store.claim_due(claim).await
    }
    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.store.compare_and_set_status(key, cas).await
    }
    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        self.store.renew_lease(fence, lease).await
    }
    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.store.stage_result(fence, staging).await
    }
    async fn save_state_and_promote_staging(
        &self,
        fence: &Fence,
        commit: Commit,
    ) -> Result<CommitOutcome, StoreError> {
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
        self.later.send((fence.clone(), commit)).expect("the writer runs");
        Ok(CommitOutcome::Committed(receipt))
    }
    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        self.store.append_deltas(fence, batch).await
    }
    async fn check_interrupt_flag(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        self.store.check_interrupt_flag(fence).await
    }
    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.store.deliver(key, item).await
    }
    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.store.request_interrupt(key, interrupt).await
    }
    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        self.store.read_messages(key, ranges).await
    }
    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        self.store.read_inbox(key, after, limit).await
    }
    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        self.store.read_events(key, after, limit).await
    }
    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        self.store.list_runs(key, page).await
    }
    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        self.store.list_pending(query).await
    }
    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        self.store.list_checkpoints(query).await
    }
    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.store.wait_for_change(watch, at_most).await
    }
    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        self.store.fork_session(from, at, to).await
    }
    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        self.store.purge(rule).await
    }
}
