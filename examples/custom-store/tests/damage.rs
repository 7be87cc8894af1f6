//! A session that cannot be read is named, holds up no other, and can be removed, whatever of it was damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

#[path = "harness/raw.rs"]
mod raw;

use std::sync::Arc;
use std::time::Duration;

use custom_store::{Options, RedbStore};
use holdover_conformance_tests::VirtualClock;
use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::*;
use raw::{ROW, Raw, TOMBSTONE};
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
        let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
        let store = RedbStore::open(folder.path().join("sessions.redb"), options).await.unwrap();
        Self { folder, clock, store }
    }

    fn raw(&self) -> Raw {
        Raw::open(&self.folder.path().join("sessions.redb"))
    }

    /// No row of this part has a head that is text, nor a payload with its digest.
    fn damage(&self, key: &SessionKey, part: u8) {
        self.raw().change(key, part, |head, payload| {
            head.insert(0, 0xff);
            if let Some(byte) = payload.first_mut() {
                *byte ^= 1;
            }
        });
    }

    async fn create(&self, key: &SessionKey, nth: u32) -> CreateOutcome {
        self.store.create_session(new_session(key, nth)).await.unwrap()
    }

    /// A session with something in every part that a claim reads, held by a run.
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

/// The `nth` life that is begun, at rest.
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
    const LABELS: u8 = 1;
    let parts = [
        ("row", ROW),
        ("labels", LABELS),
        ("definition", 2),
        ("state", 3),
        ("run", 8),
        ("item", 9),
        ("staged", 11),
        ("pending", 13),
    ];
    for (name, part) in parts {
        let site = Site::new().await;
        let (bad, good) = (key("bad"), key("good"));
        site.rich(&good, 1).await;
        let before = site.raw().len();
        site.rich(&bad, 2).await;
        site.damage(&bad, part);

        assert!(site.listed().await.contains(&good), "{name}: a list of sessions");
        assert_eq!(site.listed().await.contains(&bad), part > LABELS, "{name}: what a list shows");
        assert!(site.owed().await.contains(&good), "{name}: a list of pending calls");
        // Both runs are lost.
        site.clock.advance(2 * LEASE);
        assert_eq!(site.due().await, std::slice::from_ref(&good), "{name}: what is due");
        assert!(site.due().await.is_empty(), "{name}: what else is due");

        assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted), "{name}");
        let (rows, entries) = site.raw().len();
        // The run that took over the good one is a row more. A row with names leaves a tombstone.
        let stone = u64::from(part != ROW);
        assert_eq!((rows, entries), (before.0 + 1 + stone, before.1 + stone), "{name}: what is left");
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
    site.damage(&key("bad"), ROW);
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
    site.raw().change(&bad, ROW, |head, _| {
        *head =
            String::from_utf8(head.clone()).unwrap().replace(r#""status":"idle""#, r#""status":"?""#).into();
    });
    assert_eq!(site.delete(&bad, Deletion::UNLESS_ACTIVE).await, Err(StoreErrorKind::Corrupt));
    assert_eq!(site.delete(&bad, Deletion::FORCE.of(life(2))).await, Ok(DeleteOutcome::NotFound));
    assert_eq!(site.delete(&bad, Deletion::FORCE.of(life(1))).await, Ok(DeleteOutcome::Deleted));
    assert_eq!(site.create(&bad, 1).await, CreateOutcome::Deleted, "a late duplicate");

    site.create(&bad, 2).await;
    site.damage(&bad, ROW);
    assert_eq!(site.delete(&bad, Deletion::FORCE.of(life(2))).await, Err(StoreErrorKind::Corrupt));
    assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted));
    assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::NotFound));
}

#[tokio::test]
async fn the_row_of_another_session_is_not_believed() {
    let site = Site::new().await;
    let bad = key("bad");
    site.create(&bad, 1).await;
    site.raw().change(&bad, ROW, |head, _| {
        *head = String::from_utf8(head.clone()).unwrap().replace("sbad", "sgood").into();
    });
    let error = site.store.load_session(&bad).await.unwrap_err();
    assert_eq!((error.kind, error.key.as_deref()), (StoreErrorKind::Corrupt, Some(&bad)), "{error}");
    assert!(site.listed().await.is_empty());
}

#[tokio::test]
async fn a_tombstone_that_cannot_be_read_holds_up_no_deletion_and_goes_when_it_is_old() {
    let site = Site::new().await;
    let (bad, other) = (key("bad"), key("other"));
    site.create(&bad, 1).await;
    assert_eq!(site.delete(&bad, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted));
    site.damage(&bad, TOMBSTONE);
    let refused = site.store.create_session(new_session(&bad, 2)).await.unwrap_err();
    assert_eq!((refused.kind, refused.key.as_deref()), (StoreErrorKind::Corrupt, Some(&bad)));

    site.clock.advance(DAY + LEASE);
    site.create(&other, 3).await;
    assert_eq!(site.delete(&other, Deletion::FORCE).await, Ok(DeleteOutcome::Deleted));
    let created = site.create(&bad, 4).await;
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
}
