//! The store on top of rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::ask::{Ask, Decision, Draft};
use super::facts::Facts;
use super::granted::Granted;
use super::held::{Held, Turn};
use super::index::PendingPlace;
use super::ops::list;
use super::patience::Patience;
use super::read::{Found, Scanned, Want};
use super::row::Kind;
use super::write::{Verdict, Write};
use super::{DueQuery, Rows, ops};
use crate::ids::{SessionKey, StateFormat, TenantId};
use crate::time::Timestamp;
use crate::{
    Capabilities, Claim, ClaimDue, PAGE_BYTES_MAX, PendingCall, PendingQuery, Queues, Retry, StoreError,
    StoreErrorKind,
};

/// The longest time between a decision and its application. After that time the operation is decided again.
const DECISION_STANDS: Duration = Duration::from_secs(1);
/// The most times that a write is decided again after lost races.
const RACES_MAX: usize = 1_000;
/// The most sets of queues and formats for which the tenant of the last turn is remembered.
const TURNS_MAX: usize = 64;
/// The most times that one `claim_due` searches. It searches again if other writes took all sessions that it found.
const LOOKS_MAX: usize = 16;

/// A [`StateStore`](crate::StateStore) on top of [`Rows`]. Clones are cheap and share the rows that they
/// hold.
///
/// The store applies the rules to the data in the backend. It holds the rows of the sessions that it wrote
/// last, so that a commit usually takes one exchange with the backend. Held rows may be out of date, so the
/// backend compares the token, and a call that writes nothing answers only from rows that it has read itself.
pub struct RowStore<R> {
    rows: Arc<R>,
    held: Arc<Held>,
    granted: Arc<Granted>,
    turns: Arc<Mutex<Turns>>,
    bounds: Arc<OnceLock<Capabilities>>,
}

/// The tenant that had the last turn, for each set of served queues and newest format.
type Turns = HashMap<(Queues, StateFormat), TenantId>;

impl<R> Clone for RowStore<R> {
    fn clone(&self) -> Self {
        Self {
            rows: Arc::clone(&self.rows),
            held: Arc::clone(&self.held),
            granted: Arc::clone(&self.granted),
            turns: Arc::clone(&self.turns),
            bounds: Arc::clone(&self.bounds),
        }
    }
}

impl<R: std::fmt::Debug> std::fmt::Debug for RowStore<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStore").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<R: Rows> RowStore<R> {
    /// Makes a store on top of these rows.
    pub fn new(rows: R) -> Self {
        Self::sharing(Arc::new(rows))
    }

    /// Returns another handle on the same rows. It shares no held rows with this handle, like a handle in
    /// another process.
    #[must_use]
    pub fn peer(&self) -> Self {
        Self::sharing(self.shared())
    }

    fn sharing(rows: Arc<R>) -> Self {
        Self {
            rows,
            held: Arc::default(),
            granted: Arc::default(),
            turns: Arc::default(),
            bounds: Arc::default(),
        }
    }

    /// Returns a store on top of `rows`, which must give access to the same sessions. It holds no rows yet, and shares
    /// the remembered grants of this handle.
    pub(super) fn on<S: Rows>(&self, rows: S) -> RowStore<S> {
        RowStore { granted: Arc::clone(&self.granted), ..RowStore::new(rows) }
    }

    /// Remembers the run to which a fence was granted.
    pub(super) fn grant(&self, claim: &Claim) {
        self.granted.remember(claim);
    }

    /// Returns the capabilities as the backend first told them, for the sake of its bounds, which do not change.
    pub(super) fn bounds(&self) -> &Capabilities {
        self.bounds.get_or_init(|| self.rows.capabilities())
    }

    /// Returns the rows of the backend.
    pub fn rows(&self) -> &R {
        &self.rows
    }

    pub(super) fn shared(&self) -> Arc<R> {
        Arc::clone(&self.rows)
    }

    /// Reads a session for `operation`.
    pub(super) async fn read(
        &self,
        operation: &'static str,
        key: &SessionKey,
        wants: &[Want],
    ) -> Result<Found, StoreError> {
        self.rows.read(key, wants).await.map_err(|error| named(error, operation, key))
    }

    /// Reads open pending calls after a place. If the query names a session, reads only the calls of that
    /// session.
    pub(super) async fn pending_after(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        if let Some(session) = &query.session {
            let key = SessionKey::new(query.tenant.clone(), session.clone());
            match self.rows.read(&key, &[Want::all(Kind::Pending)]).await {
                // The list below skips the unreadable call.
                Err(error) if error.kind == StoreErrorKind::Corrupt => {}
                found => {
                    let rows = list::pending(found?, |place| after.is_none_or(|after| place > after));
                    return Ok(Scanned { rows, next: None });
                }
            }
        }
        self.rows.pending(query, after, limit, PAGE_BYTES_MAX).await
    }

    /// Performs `ask`: reads, decides and applies, and starts again after a lost race. Also returns the store's clock
    /// at the end, as [`by_now`](Self::by_now) gives it.
    pub(super) async fn ask<A: Ask>(
        &self,
        operation: &'static str,
        key: &SessionKey,
        ask: &A,
    ) -> Result<(A::Outcome, Timestamp), StoreError> {
        let patience = Patience::of(self.rows.patience());
        let turn = patience.turn(self.held.turn(key)).await;
        let mut turn = turn.map_err(|error| named(error, operation, key))?;
        let mut known = self.first_guess(&mut turn, ask);
        let mut wants = ask.wants();
        for _ in 0..RACES_MAX {
            // The backend may answer late, and a lease may end in the meantime.
            let asked = Instant::now();
            let mut facts = match known.take() {
                Some(facts) => facts,
                None => {
                    let found = patience.exchange(self.read(operation, key, &wants)).await;
                    // A read changes nothing.
                    let found = found.map_err(|error| named(error.retry(Retry::Later), operation, key))?;
                    Facts::found(found?, &wants)
                }
            };
            // A run that has lost its epoch to another run has a stale fence.
            let lost =
                ask.fence().zip(facts.row()).is_some_and(|(fence, row)| self.granted.to_another(fence, row));
            let decision =
                if lost { ask.decide(&Facts::supposed_absent(facts.now)) } else { ask.decide(&facts) };
            let (draft, outcome) = match decision {
                Decision::Answer(outcome) if facts.fresh => {
                    let now = self.by_now(facts.now, asked);
                    turn.hold(facts);
                    return Ok((outcome, now));
                }
                Decision::Fail(error) if facts.fresh => return Err(named(error, operation, key)),
                Decision::Answer(_) | Decision::Fail(_) => continue,
                Decision::Need(more) => {
                    wants.extend(more.into_iter().filter(|want| !wants.contains(want)).collect::<Vec<_>>());
                    continue;
                }
                Decision::Write(draft, outcome) => (draft, outcome),
            };
            let write = write_of(*draft, key, &facts, &patience);
            let sent = Instant::now();
            match self.apply(operation, &write, &patience).await? {
                Verdict::Applied { now, place } => {
                    turn.hold(facts.after(&write, place));
                    return Ok((outcome, self.by_now(now, sent)));
                }
                Verdict::Taken { now, row } => {
                    (facts.now, facts.fresh) = (now, true);
                    facts.learn(row);
                    known = Some(facts);
                }
                Verdict::NoSource => match ask.no_source() {
                    Some(outcome) => return Ok((outcome, facts.now)),
                    None => return Err(named(unexpected("no source"), operation, key)),
                },
                Verdict::Lost => {}
            }
        }
        let detail = format!("others wrote the session {RACES_MAX} times in between");
        Err(named(StoreError::new(StoreErrorKind::Unavailable, operation, detail), operation, key))
    }

    /// Returns the held facts of the session, or the facts that `ask` assumes. Returns none if the facts must
    /// be read.
    fn first_guess<A: Ask>(&self, turn: &mut Turn, ask: &A) -> Option<Facts> {
        let held = turn.take();
        let now = self.rows.now()?;
        match held {
            Some(_) if ask.reads_first() => None,
            Some(facts) => Some(facts.held(now)),
            None if ask.supposes_absent() => Some(Facts::supposed_absent(now)),
            None => None,
        }
    }

    /// Returns the store's clock now, if this process knows it. Otherwise returns an upper bound: `then` plus
    /// the time since `since`. The clock showed `then` at some time after `since`.
    fn by_now(&self, then: Timestamp, since: Instant) -> Timestamp {
        self.rows.now().unwrap_or_else(|| then.after(since.elapsed()))
    }

    async fn apply(
        &self,
        operation: &'static str,
        write: &Arc<Write>,
        patience: &Patience,
    ) -> Result<Verdict, StoreError> {
        let applied = self.rows.apply(vec![Arc::clone(write)]);
        // An operation on a whole session has no time limit, because it takes longer for a longer session.
        let applied = if write.is_long() { Ok(applied.await) } else { patience.exchange(applied).await };
        let none = || Err(unexpected("no answer").retry(Retry::OutcomeUnknown));
        let verdict = applied.and_then(|verdicts| verdicts.into_iter().next().unwrap_or_else(none));
        verdict.map_err(|error| named(error, operation, &write.key))
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the tenant that had the last turn, if it changed.
    fn remember_turn(&self, served: (Queues, StateFormat), query: &DueQuery, last: Option<TenantId>) {
        let Some(last) = last.filter(|last| Some(last) != query.after.as_ref()) else { return };
        let mut turns = self.turns();
        if turns.len() >= TURNS_MAX && !turns.contains_key(&served) {
            turns.clear();
        }
        turns.insert(served, last);
    }

    /// Claims due sessions, each for one of the runs. Searches again if other writes took all sessions that were
    /// found.
    pub(super) async fn claim_due(&self, want: &ClaimDue) -> Result<Vec<Claim>, StoreError> {
        let patience = Patience::of(self.rows.patience());
        for _ in 0..LOOKS_MAX {
            let (claims, lost) = self.try_claim_due(want, &patience).await?;
            if !claims.is_empty() || lost == 0 || patience.is_over() {
                return Ok(claims);
            }
        }
        Ok(Vec::new())
    }

    /// Makes one attempt to claim due sessions. Returns the claims, and the number of sessions that were lost
    /// to other writes.
    async fn try_claim_due(
        &self,
        want: &ClaimDue,
        patience: &Patience,
    ) -> Result<(Vec<Claim>, usize), StoreError> {
        const OPERATION: &str = "claim_due";
        let of_operation = |error: StoreError| StoreError { operation: OPERATION, ..error };
        let wants = ops::session::surroundings();
        let served = (want.queues.clone(), want.newest_format);
        let query = DueQuery {
            queues: want.queues.clone(),
            newest_format: want.newest_format,
            tenant: want.tenant.clone(),
            after: self.turns().get(&served).cloned(),
            limit: want.runs.len(),
        };
        let due = patience.exchange(self.rows.due(&query, &wants)).await;
        let due = due.map_err(|error| of_operation(error.retry(Retry::Later)))?.map_err(of_operation)?;
        self.remember_turn(served, &query, due.after);
        let mut runs = want.runs.iter();
        let (mut decided, mut writes) = (Vec::new(), Vec::new());
        for found in due.found {
            let facts = match found {
                Ok(found) => Facts::found(found, &wants),
                Err(error) => {
                    tracing::error!(%error, "a due session cannot be read");
                    continue;
                }
            };
            let Some(key) = facts.row().map(|row| row.key.clone()) else { continue };
            let Some(run) = runs.next() else { break };
            match ops::due::claim(&facts, run, want) {
                Some(Decision::Write(mut draft, claim)) => {
                    draft.skip_held = true;
                    let write = write_of(*draft, &key, &facts, patience);
                    writes.push(Arc::clone(&write));
                    decided.push((facts, write, claim));
                }
                Some(Decision::Fail(error)) => {
                    tracing::error!(%error, session = %key, "a due session cannot be read");
                }
                Some(Decision::Answer(_) | Decision::Need(_)) | None => {}
            }
        }
        if writes.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let (mut claims, mut lost) = (Vec::new(), 0);
        let mut failed = None;
        let sent = Instant::now();
        let verdicts = patience.exchange(self.rows.apply(writes)).await.map_err(of_operation)?;
        for ((facts, write, claim), verdict) in decided.into_iter().zip(verdicts) {
            match verdict {
                Ok(Verdict::Applied { now, place }) => {
                    if claim.lease_ends > self.by_now(now, sent) {
                        self.grant(&claim);
                        claims.push(claim);
                    }
                    if let Some(mut turn) = self.held.free_turn(&write.key) {
                        turn.hold(facts.after(&write, place));
                    }
                }
                Ok(Verdict::Lost | Verdict::Taken { .. } | Verdict::NoSource) => lost += 1,
                Err(error) => failed = Some(named(error, OPERATION, &write.key)),
            }
        }
        match failed {
            // The caller gets the claims that succeeded. If a failed claim was applied nevertheless, its
            // lease ends by itself.
            Some(error) if claims.is_empty() => Err(error),
            Some(_) | None => Ok((claims, lost)),
        }
    }
}

/// Returns the write of `draft`, which was decided on `facts`, with the time that is left for it. A write of
/// a whole session has no such limit.
fn write_of(draft: Draft, key: &SessionKey, facts: &Facts, patience: &Patience) -> Arc<Write> {
    let mut write = draft.into_write(key, facts, facts.now.after(DECISION_STANDS));
    write.within = patience.rest().filter(|_| !write.is_long());
    Arc::new(write)
}

/// Sets the operation of an error and, if it has no key, the key.
pub(super) fn named(error: StoreError, operation: &'static str, key: &SessionKey) -> StoreError {
    StoreError { operation, key: Some(error.key.unwrap_or_else(|| Box::new(key.clone()))), ..error }
}

fn unexpected(what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Backend, "", format!("the backend answered {what}"))
}
