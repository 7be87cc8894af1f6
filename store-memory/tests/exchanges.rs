//! The number of exchanges with a backend that each operation costs. A handle checks the rows that it holds
//! before it trusts them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::rows::*;
use holdover_store::rules::SessionRow;
use holdover_store::time::{Clock, Timestamp};
use holdover_store::*;
use holdover_store_memory::{Limits, MemoryRows};
use uuid::Uuid;

/// A backend that counts reads and writes, and can lose writes.
struct Counted {
    rows: MemoryRows,
    reads: AtomicU64,
    applies: AtomicU64,
    /// If set, the next write is applied, but its answer is lost.
    deaf: AtomicBool,
    /// The longest time that an operation may wait.
    patience: Option<Duration>,
    /// The fate of all writes.
    writes: Mutex<Fate>,
    /// The newest write.
    last: Mutex<Option<Arc<Write>>>,
}

/// The fate of a write.
#[derive(Clone, Copy)]
enum Fate {
    Applied,
    /// Each attempt loses a race, and takes this long.
    Lost(Duration),
    /// The write never gets an answer.
    Silent,
}

#[derive(Clone, Copy)]
struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000)
    }
}

fn counted() -> RowStore<Counted> {
    RowStore::new(rows())
}

fn rows() -> Counted {
    Counted {
        rows: MemoryRows::new(StillClock, Limits::default()),
        reads: AtomicU64::default(),
        applies: AtomicU64::default(),
        deaf: AtomicBool::default(),
        patience: None,
        writes: Mutex::new(Fate::Applied),
        last: Mutex::default(),
    }
}

#[async_trait]
impl Rows for Counted {
    fn capabilities(&self) -> Capabilities {
        self.rows.capabilities()
    }
    fn now(&self) -> Option<Timestamp> {
        self.rows.now()
    }
    fn patience(&self) -> Option<Duration> {
        self.patience
    }
    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        // Other operations may come in between, as they may with a remote store.
        tokio::task::yield_now().await;
        self.rows.read(key, wants).await
    }
    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        self.applies.fetch_add(1, Ordering::SeqCst);
        *self.last.lock().unwrap() = writes.last().cloned();
        tokio::task::yield_now().await;
        let fate = *self.writes.lock().unwrap();
        match fate {
            Fate::Applied => {}
            Fate::Lost(after) => {
                tokio::time::sleep(after).await;
                return writes.iter().map(|_| Ok(Verdict::Lost)).collect();
            }
            Fate::Silent => return std::future::pending().await,
        }
        let verdicts = self.rows.apply(writes).await;
        if self.deaf.swap(false, Ordering::SeqCst) {
            let lost = StoreError::new(StoreErrorKind::Unavailable, "", "the answer was lost");
            return vec![Err(lost.retry(Retry::OutcomeUnknown))];
        }
        verdicts
    }
    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.rows.due(query, wants).await
    }
    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        self.rows.sessions(query, after, limit).await
    }
    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        self.rows.pending(query, after, limit, bytes).await
    }
    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        self.rows.resting(rule, after, limit).await
    }
    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.rows.dead(before, limit).await
    }
    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.rows.wait_for_change(watch, at_most).await
    }
}

/// Returns the numbers of reads and applies since the last call.
fn asked(store: &RowStore<Counted>) -> (u64, u64) {
    let rows = store.rows();
    (rows.reads.swap(0, Ordering::SeqCst), rows.applies.swap(0, Ordering::SeqCst))
}

const LEASE: Duration = Duration::from_secs(10);

fn key() -> SessionKey {
    SessionKey::new("acme".parse().unwrap(), "s".parse().unwrap())
}

fn claim_one(run: &str) -> ClaimOne {
    ClaimOne {
        run: RunId::new(run).unwrap(),
        worker: WorkerId::new("worker").unwrap(),
        lease: LEASE,
        expected_version: None,
        items: vec![],
    }
}

fn item(key: &str, kind: ItemKind, incarnation: Option<Incarnation>) -> InboxItem {
    InboxItem { key: ItemKey::new(key).unwrap(), kind, incarnation, payload: Payload::new(key.to_owned()) }
}

fn message(key: &str) -> InboxItem {
    item(key, ItemKind::Message { wake: Wake::Now }, None)
}

fn commit(operation: &str) -> Commit {
    Commit::new(OperationId::new(operation).unwrap())
}

async fn claimed(store: &RowStore<Counted>) -> Claim {
    let new = NewSession {
        key: key(),
        incarnation: Incarnation(Uuid::from_u128(1)),
        operation: OperationId::new("create").unwrap(),
        queue: QueueLabel::new("queue").unwrap(),
        labels: Labels::default(),
        definition: Payload::new("definition"),
        format: StateFormat(1),
        items: vec![message("first")],
        start: Start::Claimed(claim_one("run-1")),
    };
    let CreateOutcome::Created { claim: Some(claim), .. } = store.create_session(new).await.unwrap() else {
        panic!("not claimed")
    };
    *claim
}

fn committed(outcome: &CommitOutcome) -> bool {
    matches!(outcome, CommitOutcome::Committed(_))
}

#[tokio::test]
async fn every_write_of_a_run_is_one_exchange() {
    let store = counted();
    let claim = claimed(&store).await;
    assert_eq!(asked(&store), (0, 1), "a creation with a claim");
    let call = |name: &str| CallId::new(name).unwrap();
    let payload = |text: &str| Payload::new(text.to_owned());
    let result = |name: &str| StagedResult { call: call(name), payload: payload(name) };
    let pending = NewPending {
        id: PendingId::new("p").unwrap(),
        call: call("asked"),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: None,
        body: payload("body"),
    };

    let begins = Commit {
        state: Some(NewState { format: StateFormat(1), payload: payload("state") }),
        messages: vec![NewMessage::Inline(payload("hello"))],
        events: vec![payload("one"), payload("two")],
        consumed: vec![InboxSeq(1)],
        inbox_seen: Some(InboxSeq(1)),
        open: vec![pending],
        checkpoint: true,
        ..commit("c1")
    };
    assert!(committed(&store.commit(&claim.fence, begins).await.unwrap()));
    assert_eq!(asked(&store), (0, 1), "a commit that consumes, opens, appends");

    let staging = Staging { results: vec![result("a")], starts: vec![call("b")] };
    store.stage_result(&claim.fence, staging).await.unwrap();
    assert_eq!(asked(&store), (0, 1), "a staging");

    let deltas = DeltaBatch { stream: 1, first: 1, deltas: vec![payload("word")] };
    store.append_deltas(&claim.fence, deltas).await.unwrap();
    store.renew_lease(&claim.fence, LEASE).await.unwrap();
    assert_eq!(asked(&store), (0, 2), "deltas, a renewal");

    let answer = ItemKind::Answer { pending: PendingId::new("p").unwrap(), settles: false };
    let answer = item("answer", answer, Some(claim.fence.incarnation));
    let delivered = store.deliver(&key(), answer).await.unwrap();
    assert!(delivered.is_in(), "{delivered:?}");
    assert_eq!(asked(&store), (0, 1), "an answer through the handle that holds the session");

    let ends = Commit {
        messages: vec![NewMessage::Promote(call("a")), NewMessage::Inline(payload("b"))],
        close: vec![PendingId::new("p").unwrap()],
        consumed: vec![InboxSeq(2)],
        inbox_seen: Some(InboxSeq(2)),
        run: Some(RunEnd { outcome: OutcomeKind::Completed, detail: payload("done") }),
        release: Some(Release::To { status: SessionStatus::Idle, deadline: None, wake_on: 0 }),
        ..commit("c2")
    };
    assert!(committed(&store.commit(&claim.fence, ends).await.unwrap()));
    assert_eq!(asked(&store), (0, 1), "a commit that promotes, closes, consumes, ends its run and releases");
}

#[tokio::test]
async fn what_is_not_held_is_read_once() {
    let store = counted();
    let claim = claimed(&store).await;
    let other = store.peer();
    asked(&store);
    assert!(other.deliver(&key(), message("second")).await.unwrap().is_in());
    assert_eq!(asked(&store), (1, 1), "from outside: the session is read, then written");
    assert!(other.deliver(&key(), message("second")).await.unwrap().is_in());
    assert_eq!(asked(&store), (0, 1), "a repeat is found out by its key, which the refused write brings");
    // The first handle holds rows that the other has changed: it loses one write, then reads.
    assert!(committed(&store.commit(&claim.fence, commit("c1")).await.unwrap()));
    assert_eq!(asked(&store), (1, 2));
    assert_eq!(other.claim_session(&key(), claim_one("run-2")).await.unwrap(), held(&claim, Version(3)));
    assert_eq!(asked(&store), (1, 0), "a claim that is refused");
}

#[tokio::test]
async fn what_is_answered_without_a_write_was_read_for_it() {
    let store = counted();
    let claim = claimed(&store).await;
    assert!(committed(&store.commit(&claim.fence, commit("c1")).await.unwrap()));
    let stop = Interrupt {
        id: InterruptId::new("stop").unwrap(),
        kind: InterruptKind::Soft,
        reason: "enough".into(),
        at: StillClock.now(),
        incarnation: None,
    };
    assert_eq!(store.peer().request_interrupt(&key(), stop).await.unwrap(), InterruptOutcome::Requested);
    // This handle holds the session as its own commit left it, without the interrupt.
    let check = store.take_interrupt(&claim.fence).await.unwrap();
    assert!(matches!(check, InterruptCheck::Waiting(_)), "{check:?}");
}

fn held(claim: &Claim, version: Version) -> ClaimOutcome {
    ClaimOutcome::Held {
        worker: WorkerId::new("worker").unwrap(),
        epoch: claim.fence.epoch,
        version,
        lease_ends: claim.lease_ends,
    }
}

#[tokio::test]
async fn writers_of_one_handle_take_turns_and_lose_no_race() {
    let store = counted();
    claimed(&store).await;
    asked(&store);
    let deliver = |n: u32| {
        let store = store.clone();
        async move { store.deliver(&key(), message(&format!("m{n}"))).await.unwrap() }
    };
    let delivered = futures::future::join_all((0..1000).map(deliver)).await;
    assert!(delivered.iter().all(Delivery::is_in));
    assert_eq!(asked(&store), (0, 1000), "each write once");
}

#[tokio::test]
async fn of_64_deciders_one_is_accepted_in_a_counted_number_of_exchanges() {
    let store = counted();
    let claim = claimed(&store).await;
    let id = PendingId::new("p").unwrap();
    let pending = NewPending {
        id: id.clone(),
        call: CallId::new("call").unwrap(),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: None,
        body: Payload::new("body"),
    };
    let opens = Commit { open: vec![pending], ..commit("c1") };
    assert!(committed(&store.commit(&claim.fence, opens).await.unwrap()));
    asked(&store);
    let decide = |n: u32| {
        let (store, kind) = (store.clone(), ItemKind::Answer { pending: id.clone(), settles: false });
        let answer = item(&format!("a{n}"), kind, Some(claim.fence.incarnation));
        async move { store.deliver(&key(), answer).await.unwrap() }
    };
    let decided = futures::future::join_all((0..64).map(decide)).await;
    assert_eq!(decided.iter().filter(|one| one.is_in()).count(), 1);
    assert_eq!(decided.iter().filter(|one| **one == Delivery::AlreadyAnswered).count(), 63);
    // Before an answer is refused, the item under its key is read, because a repeat would get another result.
    let (reads, applies) = asked(&store);
    assert_eq!(applies, 1);
    assert!(reads <= 2 * 63, "{reads} reads");
}

#[tokio::test]
async fn after_a_lost_answer_nothing_is_held() {
    let store = counted();
    let claim = claimed(&store).await;
    let said = || Commit { messages: vec![NewMessage::Inline(Payload::new("once"))], ..commit("c1") };
    store.rows().deaf.store(true, Ordering::SeqCst);
    let error = store.commit(&claim.fence, said()).await.unwrap_err();
    assert_eq!(error.retry, Retry::OutcomeUnknown, "{error}");
    asked(&store);
    assert!(committed(&store.commit(&claim.fence, said()).await.unwrap()), "the repeat");
    assert_eq!(asked(&store), (1, 0), "it was read that it is there");
    assert_eq!(store.load_session(&key()).await.unwrap().unwrap().last_message, MessageSeq(1));
}

#[tokio::test]
async fn an_answer_is_not_applied_once_its_deadline_has_come() {
    let store = counted();
    let claim = claimed(&store).await;
    let (id, soon) = (PendingId::new("p").unwrap(), StillClock.now().after(Duration::from_millis(20)));
    let pending = NewPending {
        id: id.clone(),
        call: CallId::new("call").unwrap(),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: Some(soon),
        body: Payload::new("body"),
    };
    let opens = Commit { open: vec![pending], ..commit("c1") };
    assert!(committed(&store.commit(&claim.fence, opens).await.unwrap()));
    let answer = ItemKind::Answer { pending: id, settles: false };
    let answer = item("answer", answer, Some(claim.fence.incarnation));
    assert!(store.deliver(&key(), answer).await.unwrap().is_in());
    assert_eq!(store.rows().last.lock().unwrap().take().unwrap().until, soon);
    // A write without a deadline also expires, because an old decision may no longer be right.
    assert!(store.deliver(&key(), message("second")).await.unwrap().is_in());
    let write = store.rows().last.lock().unwrap().take().unwrap();
    assert_eq!(write.until, StillClock.now().after(Duration::from_secs(1)));
}

#[tokio::test]
async fn a_claim_of_what_is_due_waits_for_no_other_write() {
    let store = counted();
    let claim = claimed(&store).await;
    let due = || {
        store.claim_due(ClaimDue {
            runs: vec![RunId::new("run-2").unwrap()],
            worker: WorkerId::new("other").unwrap(),
            queues: Queues::All,
            newest_format: StateFormat(1),
            tenant: None,
            lease: LEASE,
        })
    };
    let release = Release::To { status: SessionStatus::Suspended, deadline: None, wake_on: 0 };
    let ends = RunEnd { outcome: OutcomeKind::SuspendedClientTool, detail: Payload::new("waits") };
    let parks = Commit { run: Some(ends), release: Some(release), ..commit("c1") };
    assert!(committed(&store.commit(&claim.fence, parks).await.unwrap()));
    assert!(!store.rows().last.lock().unwrap().take().unwrap().skip_held);
    assert!(store.peer().deliver(&key(), message("second")).await.unwrap().is_in());
    assert_eq!(due().await.unwrap().len(), 1);
    assert!(store.rows().last.lock().unwrap().take().unwrap().skip_held);
}

const PATIENCE: Duration = Duration::from_millis(500);

/// Creates a session that a run has claimed, in a store whose operations wait at most `PATIENCE`.
async fn impatient() -> (RowStore<Counted>, Claim) {
    let store = RowStore::new(Counted { patience: Some(PATIENCE), ..rows() });
    let claim = claimed(&store).await;
    (store, claim)
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_loses_every_race_ends_in_time_and_has_changed_nothing() {
    let (store, claim) = impatient().await;
    *store.rows().writes.lock().unwrap() = Fate::Lost(PATIENCE / 5);
    asked(&store);
    let error = store.commit(&claim.fence, commit("c1")).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    assert_eq!(error.key.as_deref(), Some(&key()), "{error}");
    let (_, applies) = asked(&store);
    assert_eq!(applies, 5, "each takes a fifth of the time");
}

#[tokio::test(start_paused = true)]
async fn who_waits_behind_a_write_that_is_never_answered_waits_no_longer_than_that() {
    let (store, claim) = impatient().await;
    *store.rows().writes.lock().unwrap() = Fate::Silent;
    let began = tokio::time::Instant::now();
    let write = |n: u32| {
        let (store, fence) = (store.clone(), claim.fence.clone());
        async move { store.commit(&fence, commit(&format!("c{n}"))).await.unwrap_err() }
    };
    let errors = futures::future::join_all((0..10).map(write)).await;
    assert!(began.elapsed() <= PATIENCE * 6 / 5, "{:?}", began.elapsed());
    assert!(errors.iter().all(|error| error.kind == StoreErrorKind::Unavailable), "{errors:?}");
    let unknown = errors.iter().filter(|error| error.retry == Retry::OutcomeUnknown).count();
    let later = errors.iter().filter(|error| error.retry == Retry::Later).count();
    assert_eq!((unknown, later), (1, 9), "one was sent: {errors:?}");
    // The silent write does not block later operations.
    *store.rows().writes.lock().unwrap() = Fate::Applied;
    assert!(committed(&store.commit(&claim.fence, commit("c1")).await.unwrap()));
}

/// Writers whose handles forget their rows at random moments reach the same result as writers that hold them.
#[tokio::test]
async fn what_is_held_may_be_dropped_at_any_moment() {
    for seed in 0..50 {
        let store = counted();
        let claim = claimed(&store).await;
        let handle = Arc::new(Mutex::new(store.clone()));
        let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        let now = || {
            let mut handle = handle.lock().unwrap();
            if random.lock().unwrap().bool() {
                *handle = handle.peer();
            }
            handle.clone()
        };
        let deliver = |n: u32| {
            let store = now();
            async move { store.deliver(&key(), message(&format!("m{n}"))).await.unwrap() }
        };
        let commit = |n: u32| {
            let (store, fence) = (now(), claim.fence.clone());
            let said = vec![NewMessage::Inline(Payload::new(n.to_string()))];
            let commit = Commit { messages: said, ..commit(&format!("c{n}")) };
            async move { store.commit(&fence, commit).await.unwrap() }
        };
        let (delivered, committed_all) = tokio::join!(
            futures::future::join_all((0..20).map(deliver)),
            futures::future::join_all((0..20).map(commit)),
        );
        assert!(delivered.iter().all(Delivery::is_in), "seed {seed}: {delivered:?}");
        assert!(committed_all.iter().all(committed), "seed {seed}: {committed_all:?}");
        let session = store.load_session(&key()).await.unwrap().unwrap();
        assert_eq!((session.last_message, session.unread), (MessageSeq(20), 21), "seed {seed}");
        let all = [MessageRange::new(MessageSeq(1), MessageSeq(u64::MAX))];
        assert_eq!(store.read_all_messages(&key(), &all).await.unwrap().len(), 20, "seed {seed}");
    }
}
