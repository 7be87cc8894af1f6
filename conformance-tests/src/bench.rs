//! The bench of a case: a fresh store, its peers, its clock, and the steps that many cases share.

mod reading;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use holdover_store::ids::{CheckpointId, Fence, InboxSeq, RunId, SessionKey, StateFormat, Version};
use holdover_store::time::Timestamp;
use holdover_store::{
    Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit, CommitOutcome, CreateOutcome, Delivery, DeltaBatch,
    DeltaOutcome, ForkOutcome, InboxItem, Interrupt, InterruptOutcome, NewFork, NewSession, Queues, Receipt,
    SessionStatus, StageOutcome, Staging, Start, StateStore,
};
use tokio::task::JoinSet;

use crate::barrier::FairBarrier;
use crate::case::Capability;
use crate::clock::ClockControl;
use crate::failure::{CaseResult, Failure, want};
use crate::fixture::{self, fresh_id, id, key, new_session, release_to};
use crate::proxy::Proxy;
use crate::raw_data::RecordedPlace;
use crate::record::{History, Recorded, recorded};
use crate::script::Powers;
use crate::settings::Settings;
use crate::snapshot::{PAGES_MAX, endless};
use crate::world::World;

/// The time for which a worker stalls under a virtual clock. The process measures it in real time.
const VIRTUAL_STALL: Duration = Duration::from_millis(300);

/// The minimum number of peers. With fewer there is no race.
const PEERS_MIN: usize = 2;

/// A handle on the store under test that records requests and answers.
pub(crate) type Handle = Recorded;

/// The tools of a case: a fresh store, its peers and its clock.
pub(crate) struct Bench {
    pub(crate) store: Handle,
    world: Box<dyn World>,
    clock: ClockControl,
    history: History,
    handles: AtomicU32,
    terms: Terms,
}

/// The terms on which a case runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) settings: Settings,
    /// The instant at which the time of the case is over.
    pub(crate) ends: Option<Instant>,
}

/// The choice of whether a case restarts the store in the middle. Some cases exist in both forms, one for each level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restart {
    Yes,
    No,
}

impl Bench {
    pub(crate) fn new(world: Box<dyn World>, clock: ClockControl, history: History, terms: Terms) -> Self {
        let store = recorded(world.store(), 0, history.clone());
        Self { store, world, clock, history, handles: AtomicU32::new(1), terms }
    }

    /// Returns the seed of the case's random choices.
    pub(crate) fn seed(&self) -> u64 {
        self.terms.settings.seed
    }

    /// Returns the settings, which say how much random work a case does.
    pub(crate) fn settings(&self) -> Settings {
        self.terms.settings
    }

    /// Returns the instant half-way between now and the end of the case's time. `None` if there is no time limit.
    pub(crate) fn half_time(&self) -> Option<Instant> {
        let now = Instant::now();
        self.terms.ends.map(|ends| now + ends.saturating_duration_since(now) / 2)
    }

    /// Clears the history, for a case that repeats its steps.
    pub(crate) fn forget_history(&self) {
        self.history.forget();
    }

    // Handles and time

    /// Opens another handle on the same data.
    pub(crate) async fn peer(&self) -> Handle {
        let number = self.handles.fetch_add(1, Ordering::Relaxed);
        recorded(self.world.peer().await, number, self.history.clone())
    }

    /// Opens another handle on the same data, through `proxy`. The case counts as not run if the harness has none.
    pub(crate) async fn peer_through(&self, proxy: &Proxy) -> CaseResult<Handle> {
        let Some(peer) = self.world.peer_through(proxy).await else {
            return Err(Failure::not_run("the harness has no peer that goes through a proxy"));
        };
        let number = self.handles.fetch_add(1, Ordering::Relaxed);
        Ok(recorded(peer, number, self.history.clone()))
    }

    /// Returns a command that starts a program which opens the same data, to be killed. `None` if the harness has none.
    pub(crate) fn child(&self) -> Option<std::process::Command> {
        self.world.child()
    }

    /// Returns an unopened place for data. The case counts as not run if the harness has none.
    pub(crate) async fn place(&self) -> CaseResult<RecordedPlace> {
        let place = self.world.place().await;
        let place =
            place.ok_or_else(|| Failure::not_run("the harness has no place that nobody has opened"))?;
        Ok(RecordedPlace::new(place, self.history.clone()))
    }

    /// Returns `count` handles on the same data. If the harness allows fewer peers, some handles are the same.
    pub(crate) async fn peers(&self, count: usize) -> Vec<Handle> {
        let mut peers = Vec::new();
        for _ in 0..count.min(self.world.peers_max().max(PEERS_MIN)) {
            peers.push(self.peer().await);
        }
        peers.iter().cycle().take(count).cloned().collect()
    }

    /// Advances a virtual clock by one millisecond less than `by` and returns true. On a real clock, which would
    /// overshoot, does nothing and returns false.
    pub(crate) async fn advance_to_just_before(&self, by: Duration) -> bool {
        match &self.clock {
            ClockControl::Virtual(clock) => {
                clock.advance(by.saturating_sub(Duration::from_millis(1))).await;
                true
            }
            ClockControl::Real { .. } => false,
        }
    }

    /// Creates a bench with an empty store of the same kind, on the same clock.
    pub(crate) async fn another(&self) -> Self {
        Self::new(self.world.fresh().await, self.clock.clone(), self.history.clone(), self.terms)
    }

    /// Closes the data and opens it again.
    pub(crate) async fn reopen(self) -> Self {
        let Self { store, world, clock, history, terms, .. } = self;
        drop(store);
        Self::new(world.reopen().await, clock, history, terms)
    }

    /// Reopens the data, or keeps it open, as `restart` says.
    pub(crate) async fn after(self, restart: Restart) -> Self {
        match restart {
            Restart::Yes => self.reopen().await,
            Restart::No => self,
        }
    }

    /// Returns the maximum size of a payload. The case is moot if that is more than cases make.
    pub(crate) fn payload_bytes_max(&self) -> CaseResult<usize> {
        const MADE: usize = 256 << 20;
        within_reach(self.store.capabilities().payload_bytes_max, MADE, "a payload may have")
    }

    /// Returns the maximum size of one write. The case is moot if that is more than cases make.
    pub(crate) fn commit_bytes_max(&self) -> CaseResult<usize> {
        const MADE: usize = 1 << 30;
        within_reach(self.store.capabilities().commit_bytes_max, MADE, "one write may bring")
    }

    /// Returns one byte more than the maximum size of a payload.
    pub(crate) fn too_large(&self) -> CaseResult<usize> {
        Ok(self.payload_bytes_max()? + 1)
    }

    /// Returns the duration of the leases that cases ask for. Cases also use it as their unit of time.
    pub(crate) fn lease(&self) -> Duration {
        self.clock.lease()
    }

    /// Lets the duration `by` pass on the store's clock.
    pub(crate) async fn advance(&self, by: Duration) {
        self.clock.advance(by).await;
    }

    /// Returns the duration of a stall, and of the stalled worker's lease. A virtual clock makes it short in real time.
    pub(crate) fn stall(&self) -> Duration {
        match &self.clock {
            ClockControl::Virtual(_) => VIRTUAL_STALL,
            ClockControl::Real { lease } => *lease,
        }
    }

    /// Lets `by` pass on the store's clock and on the clock of this process, because a store may measure by either.
    pub(crate) async fn stand_still(&self, by: Duration) {
        self.clock.advance(by).await;
        if self.moves_time() {
            tokio::time::sleep(by).await;
        }
    }

    /// Returns true if the clock stands still until a case advances it.
    pub(crate) fn moves_time(&self) -> bool {
        match &self.clock {
            ClockControl::Virtual(_) => true,
            ClockControl::Real { .. } => false,
        }
    }

    /// Returns true if the store under test is a layer around another store.
    pub(crate) fn in_layer(&self) -> bool {
        self.world.in_layer()
    }

    /// Returns what scripts may ask of the store and expect from it.
    pub(crate) fn powers(&self) -> Powers {
        let due_order = self.world.claims(Capability::DueOrder);
        Powers::of(&self.store.capabilities(), self.moves_time(), due_order)
    }

    /// Returns the time of the store's clock.
    pub(crate) async fn now(&self) -> CaseResult<Timestamp> {
        match &self.clock {
            ClockControl::Virtual(clock) => Ok(clock.now().await),
            ClockControl::Real { .. } => self.probe_clock().await,
        }
    }

    /// Reads the time from the claim of a new session, which is then deleted.
    async fn probe_clock(&self) -> CaseResult<Timestamp> {
        let key = SessionKey::new(id("clock-probe"), fresh_id("probe"));
        let new = NewSession { key: key.clone(), ..new_session("probe") };
        let claim = self.create_claimed(new).await?;
        self.store.delete_session(&key, holdover_store::Deletion::FORCE).await?;
        Ok(claim.now)
    }

    // Steps that must succeed.

    /// Creates a resting session.
    pub(crate) async fn create(&self, name: &str) -> CaseResult<SessionKey> {
        let new = new_session(name);
        let key = new.key.clone();
        want!(self.store.create_session(new).await?, CreateOutcome::Created { .. });
        Ok(key)
    }

    /// Creates a session and claims it in the same write.
    pub(crate) async fn create_claimed(&self, new: NewSession) -> CaseResult<Claim> {
        let new = NewSession { start: Start::Claimed(self.claim_one()), ..new };
        let created = self.store.create_session(new).await?;
        Ok(want!(created, CreateOutcome::Created { claim: Some(claim), .. } => *claim))
    }

    /// Creates a session and claims it.
    pub(crate) async fn running(&self, name: &str) -> CaseResult<Claim> {
        let key = self.create(name).await?;
        self.claim(&key).await
    }

    /// Creates a session that a run has released with `status`, or that a run still holds if `status` is active.
    pub(crate) async fn left_as(&self, name: &str, status: SessionStatus) -> CaseResult<SessionKey> {
        let claim = self.running(name).await?;
        if status != SessionStatus::Active {
            self.commit(&claim.fence, Commit { release: Some(release_to(status)), ..fixture::commit() })
                .await?;
        }
        Ok(claim.fence.key)
    }

    /// Makes the request of a claim, with a run id of its own.
    pub(crate) fn claim_one(&self) -> ClaimOne {
        ClaimOne {
            run: fresh_id("run"),
            worker: id("worker"),
            lease: self.lease(),
            expected_version: None,
            items: Vec::new(),
        }
    }

    /// Claims a session, which must succeed.
    pub(crate) async fn claim(&self, key: &SessionKey) -> CaseResult<Claim> {
        let outcome = self.store.claim_session(key, self.claim_one()).await?;
        Ok(want!(outcome, ClaimOutcome::Claimed(claim) => *claim))
    }

    /// Lets the lease of the session's owner end, and takes the session over.
    pub(crate) async fn take_over(&self, key: &SessionKey) -> CaseResult<Claim> {
        self.advance(self.lease()).await;
        self.claim(key).await
    }

    /// Makes the request of a claim of at most `count` due sessions of any queue.
    pub(crate) fn due(&self, count: usize) -> ClaimDue {
        ClaimDue {
            runs: (0..count).map(|_| fresh_id::<RunId>("run")).collect(),
            worker: id("worker"),
            lease: self.lease(),
            queues: Queues::All,
            newest_format: StateFormat(u32::MAX),
            tenant: None,
        }
    }

    /// Claims at most `count` due sessions of any queue.
    pub(crate) async fn claim_due(&self, count: usize) -> CaseResult<Vec<Claim>> {
        Ok(self.store.claim_due(self.due(count)).await?)
    }

    /// Claims all due sessions as `like` asks. One call may return only some of them, so it is repeated until none is
    /// left.
    pub(crate) async fn all_due(&self, like: &ClaimDue) -> CaseResult<Vec<Claim>> {
        let mut all = Vec::new();
        for _ in 0..PAGES_MAX {
            let runs = self.due(like.runs.len()).runs;
            let claims = self.store.claim_due(ClaimDue { runs, ..like.clone() }).await?;
            if claims.is_empty() {
                return Ok(all);
            }
            all.extend(claims);
        }
        Err(endless())
    }

    /// Claims all due sessions and returns their names.
    pub(crate) async fn due_names(&self) -> CaseResult<Vec<String>> {
        let claims = self.all_due(&self.due(100)).await?;
        Ok(claims.iter().map(|claim| claim.fence.key.id.to_string()).collect())
    }

    /// Makes a commit, which must be applied.
    pub(crate) async fn commit(&self, fence: &Fence, commit: Commit) -> CaseResult<Receipt> {
        let outcome = self.store.commit(fence, commit).await?;
        Ok(want!(outcome, CommitOutcome::Committed(receipt) => receipt))
    }

    /// Makes a commit and returns its outcome, whatever it is.
    pub(crate) async fn try_commit(&self, fence: &Fence, commit: Commit) -> CaseResult<CommitOutcome> {
        Ok(self.store.commit(fence, commit).await?)
    }

    /// Releases the session with `status`.
    pub(crate) async fn release(&self, fence: &Fence, status: SessionStatus) -> CaseResult<Receipt> {
        self.commit(fence, Commit { release: Some(release_to(status)), ..fixture::commit() }).await
    }

    /// Stages results, which must be accepted.
    pub(crate) async fn stage(&self, fence: &Fence, staging: Staging) -> CaseResult<Receipt> {
        Ok(want!(self.store.stage_result(fence, staging).await?, StageOutcome::Staged(receipt) => receipt))
    }

    /// Appends deltas, which must be accepted.
    pub(crate) async fn append(&self, fence: &Fence, batch: DeltaBatch) -> CaseResult<Receipt> {
        Ok(want!(self.try_append(fence, batch).await?, DeltaOutcome::Appended(receipt) => receipt))
    }

    /// Appends deltas and returns the outcome, whatever it is.
    pub(crate) async fn try_append(&self, fence: &Fence, batch: DeltaBatch) -> CaseResult<DeltaOutcome> {
        Ok(self.store.append_deltas(fence, batch).await?)
    }

    /// Makes a fork, which must succeed, and returns its version.
    pub(crate) async fn fork(&self, from: &SessionKey, at: Version, to: NewFork) -> CaseResult<Version> {
        let outcome = self.store.fork_session(from, CheckpointId(at.0), to).await?;
        Ok(want!(outcome, ForkOutcome::Forked { version } => version))
    }

    /// Delivers an item, which must be accepted, and returns its place in the inbox.
    pub(crate) async fn deliver(&self, key: &SessionKey, item: InboxItem) -> CaseResult<InboxSeq> {
        Ok(want!(self.store.deliver(key, item).await?, Delivery::Accepted { seq } => seq))
    }

    /// Interrupts a session. The request must be accepted.
    pub(crate) async fn interrupt(&self, key: &SessionKey, interrupt: Interrupt) -> CaseResult {
        want!(self.store.request_interrupt(key, interrupt).await?, InterruptOutcome::Requested);
        Ok(())
    }
}

/// Returns the limit if cases can exceed it. If it is larger than cases can make, the case is moot.
fn within_reach(limit: usize, made: usize, what: &str) -> CaseResult<usize> {
    if limit > made {
        return Err(Failure::moot(&format!("{what} {limit} bytes, and no case makes more than {made}")));
    }
    Ok(limit)
}

/// Runs one task per handle. All are released once they have arrived at a barrier, and the last one has a head start.
/// Returns their answers in the order of the handles. The first failure ends the race and drops the other tasks, since
/// one of them may wait for work of the failed task.
pub(crate) async fn race<T, F>(handles: Vec<Handle>, task: F) -> CaseResult<Vec<T>>
where
    T: Send + 'static,
    F: Fn(usize, Handle) -> BoxFuture<'static, CaseResult<T>>,
{
    let barrier = Arc::new(FairBarrier::new(handles.len()));
    let mut running = JoinSet::new();
    for (index, handle) in handles.into_iter().enumerate() {
        let (barrier, work) = (Arc::clone(&barrier), task(index, handle));
        running.spawn(async move {
            barrier.wait().await;
            work.await.map(|answer| (index, answer))
        });
    }
    let mut answers = Vec::with_capacity(running.len());
    while let Some(ended) = running.join_next().await {
        answers.push(ended.map_err(|panicked| {
            Failure::panicked(format!("expected an answer\n    found    {panicked}"))
        })??);
    }
    answers.sort_by_key(|(index, _)| *index);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// Returns the key of a session that no case creates.
pub(crate) fn nobody() -> SessionKey {
    key("nobody")
}
