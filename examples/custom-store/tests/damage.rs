//! Tests that a session with any damaged part is named in errors, does not block other sessions, and can be removed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

#[path = "harness/raw.rs"]
mod raw;

use std::sync::Arc;
use std::time::Duration;

use custom_store::{Options, RedbStore};
use holdover_conformance_tests::VirtualClock;
use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::rows::Kind;
use holdover_store::time::Timestamp;
use holdover_store::*;
use raw::{Part, Raw};
use tempfile::TempDir;

const LEASE: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

struct Site {
    folder: TempDir,
    clock: VirtualClock,
    store: RedbStore,
}

impl Site {
    async fn new() -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), VirtualClock::new());
        let store = Self::open(&folder, &clock).await;
        Self { folder, clock, store }
    }

    async fn open(folder: &TempDir, clock: &VirtualClock) -> RedbStore {
        let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
        RedbStore::open(folder.path().join("sessions.redb"), options).await.unwrap()
    }

    fn raw(&self) -> Raw {
        Raw::open(&self.folder.path().join("sessions.redb"))
    }

    /// Makes this part of the session unreadable.
    fn damage(&self, key: &SessionKey, part: Part) {
        self.raw().change(key, part, |bytes| bytes.insert(0, 0xff));
    }

    async fn create(&self, key: &SessionKey, nth: u32) -> CreateOutcome {
        self.store.create_session(new_session(key, nth)).await.unwrap()
    }

    /// Creates a session with data in every part that a claim reads. A run holds it.
    async fn rich(&self, key: &SessionKey, nth: u32) {
        let claim = ClaimOne {
            run: RunId::new("run").unwrap(),
            worker: WorkerId::new("worker").unwrap(),
            lease: LEASE,
            expected_version: None,
            items: vec![message()],
        };
        let new = NewSession { start: Start::Claimed(claim), ..new_session(key, nth) };
        let created = self.store.create_session(new).await.unwrap();
        let CreateOutcome::Created { claim: Some(claim), .. } = created else { panic!("{created:?}") };
        let call = CallId::new("call").unwrap();
        let open = NewPending {
            id: PendingId::new("pending").unwrap(),
            call: call.clone(),
            kind: PendingKind::Approval,
            needed: 1,
            deadline: None,
            body: Payload::new("body"),
        };
        let commit = Commit {
            state: Some(NewState { format: StateFormat(1), payload: Payload::new("state") }),
            stage: vec![StagedResult { call, payload: Payload::new("result") }],
            open: vec![open],
            ..Commit::new(OperationId::new("commit").unwrap())
        };
        let saved = self.store.commit(&claim.fence, commit).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    }

    async fn listed(&self) -> Vec<SessionKey> {
        let page = self.store.list_sessions(&SessionQuery::all(key("").tenant)).await.unwrap();
        page.items.into_iter().map(|session| session.key).collect()
    }

    async fn owed(&self) -> Vec<SessionKey> {
        let page = self.store.list_pending(&PendingQuery::all(key("").tenant)).await.unwrap();
        page.items.into_iter().map(|pending| pending.key).collect()
    }

    async fn due(&self) -> Vec<SessionKey> {
        let claim = ClaimDue {
            runs: ["r1", "r2"].map(|run| RunId::new(run).unwrap()).into(),
            worker: WorkerId::new("worker").unwrap(),
            lease: LEASE,
            queues: Queues::All,
            newest_format: StateFormat(1),
            tenant: None,
        };
        let due = self.store.claim_due(claim).await.unwrap();
        due.into_iter().map(|claim| claim.fence.key).collect()
    }

    async fn delete(&self, key: &SessionKey, deletion: Deletion) -> Result<DeleteOutcome, StoreErrorKind> {
        self.store.delete_session(key, deletion).await.map_err(|error| {
            assert_eq!(error.key.as_deref(), Some(key), "{error}");
            error.kind
        })
    }
}

fn key(id: &str) -> SessionKey {
    SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new(format!("s{id}")).unwrap())
}

fn life(nth: u32) -> Incarnation {
    serde_json::from_value(format!("00000000-0000-0000-0000-{nth:012}").into()).unwrap()
}

fn message() -> InboxItem {
    InboxItem {
        key: ItemKey::new("item").unwrap(),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::new("item"),
    }
}

/// Returns a new session at rest, with the `nth` incarnation.
fn new_session(key: &SessionKey, nth: u32) -> NewSession {
    NewSession {
        key: key.clone(),
        incarnation: life(nth),
        operation: OperationId::new(format!("create-{nth}")).unwrap(),
        queue: QueueLabel::new("queue").unwrap(),
        labels: [("agent", "a")].into_iter().collect(),
        definition: Payload::new("definition"),
        format: StateFormat(1),
        items: vec![],
        start: Start::WithItems,
    }
}

#[tokio::test]
async fn whatever_is_damaged_holds_up_no_other_session_and_can_be_removed() {
    let kinds =
        [Kind::Labels, Kind::Definition, Kind::State, Kind::Run, Kind::Item, Kind::Staged, Kind::Pending];
    for part in [Part::Slot].into_iter().chain(kinds.map(Part::Row)) {
        let name = format!("{part:?}");
        let site = Site::new().await;
        let (bad, good) = (key("bad"), key("good"));
        site.rich(&good, 1).await;
        let before = site.raw().len();
        site.rich(&bad, 2).await;
        site.damage(&bad, part);

        assert!(site.listed().await.contains(&good), "{name}: a list of sessions");
        let is_shown = !matches!(part, Part::Slot | Part::Row(Kind::Labels));
        assert_eq!(site.listed().await.contains(&bad), is_shown, "{name}: what a list shows");
        assert!(site.owed().await.contains(&good), "{name}: a list of pending calls");
        // The leases of both runs end.
        site.clock.advance(2 * LEASE);
        assert_eq!(site.due().await, std::slice::from_ref(&good), "{name}: what is due");
        assert!(site.due().await.is_empty(), "{name}: what else is due");

        assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted), "{name}");
        // The run that took over the good session adds a row. A readable slot still names the deleted life.
        let left = u64::from(part != Part::Slot);
        let [slots, rows, entries] = before;
        assert_eq!(site.raw().len(), [slots + left, rows + 1, entries + left], "{name}: what is left");
        let again = site.create(&bad, 3).await;
        assert!(matches!(again, CreateOutcome::Created { .. }), "{name}: {again:?}");
        assert_eq!(site.listed().await.iter().filter(|key| **key == bad).count(), 1, "{name}: once");
    }
}

#[tokio::test]
async fn retention_passes_over_what_it_cannot_read() {
    let site = Site::new().await;
    site.create(&key("bad"), 1).await;
    site.create(&key("good"), 2).await;
    site.damage(&key("bad"), Part::Slot);
    let rule = RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Sessions,
        limit: 10.try_into().unwrap(),
        after: None,
    };
    let report = site.store.purge(&rule).await.unwrap();
    assert_eq!(report, PurgeReport { sessions: 1, ..PurgeReport::default() });
    assert!(site.store.load_session(&key("good")).await.unwrap().is_none());
}

#[tokio::test]
async fn the_life_that_is_meant_is_removed_and_known_as_deleted_while_its_names_can_be_read() {
    let site = Site::new().await;
    let bad = key("bad");
    site.create(&bad, 1).await;
    site.raw().change(&bad, Part::Slot, |bytes| replace(bytes, r#""status":"idle""#, r#""status":"?""#));
    assert_eq!(site.delete(&bad, Deletion::UNLESS_ACTIVE).await, Err(StoreErrorKind::Corrupt));
    assert_eq!(site.delete(&bad, Deletion::FORCE.of(life(2))).await, Err(StoreErrorKind::Corrupt));
    assert_eq!(site.delete(&bad, Deletion::FORCE.of(life(1))).await, Ok(DeleteOutcome::Deleted));
    assert_eq!(site.create(&bad, 1).await, CreateOutcome::Deleted, "a late duplicate");

    site.create(&bad, 2).await;
    site.damage(&bad, Part::Slot);
    assert_eq!(site.delete(&bad, Deletion::FORCE.of(life(2))).await, Err(StoreErrorKind::Corrupt));
    assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted));
    assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::NotFound));
}

#[tokio::test]
async fn the_row_of_another_session_is_not_believed() {
    let site = Site::new().await;
    let bad = key("bad");
    site.create(&bad, 1).await;
    site.raw().change(&bad, Part::Slot, |bytes| replace(bytes, "sbad", "sgood"));
    let error = site.store.load_session(&bad).await.unwrap_err();
    assert_eq!((error.kind, error.key.as_deref()), (StoreErrorKind::Corrupt, Some(&bad)), "{error}");
    assert!(site.listed().await.is_empty());
}

#[tokio::test]
async fn a_key_whose_earlier_lives_cannot_be_read_holds_up_no_deletion_and_can_be_freed() {
    let site = Site::new().await;
    let (bad, other) = (key("bad"), key("other"));
    site.create(&bad, 1).await;
    assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted));
    site.damage(&bad, Part::Slot);
    // Another handle has no cached data of the session.
    let peer = Site::open(&site.folder, &site.clock).await;
    let refused = peer.create_session(new_session(&bad, 2)).await.unwrap_err();
    assert_eq!((refused.kind, refused.key.as_deref()), (StoreErrorKind::Corrupt, Some(&bad)));

    site.clock.advance(DAY + LEASE);
    site.create(&other, 3).await;
    assert_eq!(site.delete(&other, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted));
    assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted));
    let created = site.create(&bad, 4).await;
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
}

fn replace(bytes: &mut Vec<u8>, from: &str, to: &str) {
    *bytes = String::from_utf8(std::mem::take(bytes)).unwrap().replace(from, to).into();
}
