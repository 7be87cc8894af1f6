//! The implementation of the contract for [`RowStore`].

use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::facts::Facts;
use super::index::{PendingPlace, SessionPlace};
use super::ops::{self, list};
use super::read::{Found, Want};
use super::row::Kind;
use super::store::named;
use super::{RowStore, Rows};
use crate::ids::{CheckpointId, Fence, InboxSeq, SessionKey, TenantId};
use crate::payload::Digest;
use crate::rules::{Limits, PageRoom};
use crate::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteMode, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome,
    EventCursor, EventPage, ForkOutcome, INBOX_PAGE, InboxItem, InboxPage, Interrupt, InterruptCheck,
    InterruptOutcome, LeaseOutcome, MessagePage, MessageRange, NewFork, NewSession, PAGE_BYTES_MAX,
    PAGE_ROWS_MAX, Page, PageCursor, PageRequest, PendingCall, PendingQuery, PurgeReport, RetentionRule,
    RunRecord, Session, SessionQuery, SessionSummary, StageOutcome, Staging, StateStore, StatusCas,
    StoreError, StoreErrorKind, TOMBSTONE_STANDS, Watch, runs_digest,
};

/// The most keys whose old tombstones one deletion removes. A deletion adds only one tombstone, so tombstones do not
/// accumulate.
const CLEARED_BY_EACH: usize = 2;
/// The time after which one call of `purge` handles no further session. The next call continues there.
const PURGE_STEP_MAX: Duration = Duration::from_secs(5);
/// The most sessions that a list reads at once.
const LIST_ROWS_MAX: usize = PAGE_ROWS_MAX as usize + 1;

#[async_trait]
impl<R: Rows> StateStore for RowStore<R> {
    fn capabilities(&self) -> Capabilities {
        self.rows().capabilities()
    }

    fn digests(&self, _: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError> {
        Ok(vec![Digest::of(words)])
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        const OPERATION: &str = "create_session";
        Limits::of(self.bounds(), OPERATION).creation(&new).map_err(|error| error.on(&new.key))?;
        let (mut outcome, now) = self.ask(OPERATION, &new.key, &ops::create::Create(&new)).await?;
        if let CreateOutcome::Created { claim, .. } = &mut outcome {
            *claim = claim.take().filter(|claim| claim.lease_ends > now);
            claim.iter().for_each(|claim| self.grant(claim));
        }
        Ok(outcome)
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        const OPERATION: &str = "load_session";
        let wants = ops::session::shown();
        let facts = Facts::found(self.read(OPERATION, key, &wants).await?, &wants);
        let session = facts.row().map(|row| facts.session(row)).transpose();
        session.map_err(|error| named(error, OPERATION, key))
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        const OPERATION: &str = "list_sessions";
        let mut after: Option<SessionPlace> = list::after(&query.page, query.digest(), OPERATION)?;
        let mut room = PageRoom::new(query.page.rows() as usize);
        let mut shown: Vec<(SessionPlace, SessionSummary)> = Vec::new();
        loop {
            let limit = (room.rows() + 1).min(LIST_ROWS_MAX);
            let scanned = self.rows().sessions(query, after.as_ref(), limit).await;
            let scanned = scanned.map_err(|error| StoreError { operation: OPERATION, ..error })?;
            for summary in scanned.rows.into_iter().filter(|summary| summary.listed(query)) {
                if !room.takes(0) {
                    let last =
                        shown.last().map(|(place, _)| PageCursor::at(query.digest(), &place.to_bytes()));
                    let items = shown.into_iter().map(|(_, summary)| summary).collect();
                    return Ok(Page { items, next: last });
                }
                shown.push((SessionPlace::listed(&summary), summary));
            }
            match scanned.next {
                Some(next) => after = Some(next),
                None => {
                    let items = shown.into_iter().map(|(_, summary)| summary).collect();
                    return Ok(Page { items, next: None });
                }
            }
        }
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        const OPERATION: &str = "delete_session";
        let asked = self.ask(OPERATION, key, &ops::delete::Delete(deletion)).await;
        let (outcome, now) = match asked {
            // With `Force`, a session that cannot be read can still be removed, unless the deletion names a version,
            // which cannot be compared.
            Err(error)
                if error.kind == StoreErrorKind::Corrupt
                    && deletion.mode == DeleteMode::Force
                    && deletion.expected_version.is_none() =>
            {
                let removed = self.rows().remove_unreadable(key, deletion.incarnation).await;
                return match removed.map_err(|error| named(error, OPERATION, key))? {
                    true => Ok(DeleteOutcome::Deleted),
                    false => Err(error),
                };
            }
            asked => asked?,
        };
        if outcome == DeleteOutcome::Deleted {
            self.clear_dead(now, CLEARED_BY_EACH).await;
        }
        Ok(outcome)
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        const OPERATION: &str = "claim_session";
        Limits::of(self.bounds(), OPERATION).claim(&claim).map_err(|error| error.on(key))?;
        let (outcome, now) = self.ask(OPERATION, key, &ops::claim::ClaimSession(&claim)).await?;
        if let ClaimOutcome::Claimed(claim) = &outcome {
            if claim.lease_ends <= now {
                return Ok(ClaimOutcome::LeaseEnded);
            }
            self.grant(claim);
        }
        Ok(outcome)
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        Limits::of(self.bounds(), "claim_due").lease(claim.lease)?;
        if claim.runs.is_empty() {
            return Ok(Vec::new());
        }
        let mut claims = RowStore::claim_due(self, &claim).await?;
        if let Some(now) = self.rows().now() {
            claims.retain(|claim| claim.lease_ends > now);
        }
        Ok(claims)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        const OPERATION: &str = "compare_and_set_status";
        Limits::of(self.bounds(), OPERATION).items(&cas.items).map_err(|error| error.on(key))?;
        Ok(self.ask(OPERATION, key, &ops::status::CompareAndSet(&cas)).await?.0)
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        const OPERATION: &str = "renew_lease";
        Limits::of(self.bounds(), OPERATION).lease(lease).map_err(|error| error.on(&fence.key))?;
        Ok(self.ask(OPERATION, &fence.key, &ops::lease::Renew { fence, lease }).await?.0)
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        const OPERATION: &str = "stage_result";
        Limits::of(self.bounds(), OPERATION).staging(&staging).map_err(|error| error.on(&fence.key))?;
        let ask = ops::stage::Stage { fence, staging: &staging };
        Ok(self.ask(OPERATION, &fence.key, &ask).await?.0)
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        commit.check(self.bounds()).map_err(|error| error.on(&fence.key))?;
        let ask = ops::commit::CommitRun { fence, commit: &commit };
        Ok(self.ask("commit", &fence.key, &ask).await?.0)
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        batch.check(self.bounds()).map_err(|error| error.on(&fence.key))?;
        let ask = ops::delta::AppendDeltas { fence, batch: &batch };
        Ok(self.ask("append_deltas", &fence.key, &ask).await?.0)
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        Ok(self.ask("take_interrupt", &fence.key, &ops::interrupt::TakeInterrupt(fence)).await?.0)
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        const OPERATION: &str = "deliver";
        Limits::of(self.bounds(), OPERATION).delivery(&item).map_err(|error| error.on(key))?;
        Ok(self.ask(OPERATION, key, &ops::deliver::Deliver(&item)).await?.0)
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        const OPERATION: &str = "request_interrupt";
        Limits::of(self.bounds(), OPERATION).interrupt(&interrupt).map_err(|error| error.on(key))?;
        Ok(self.ask(OPERATION, key, &ops::interrupt::RequestInterrupt(&interrupt)).await?.0)
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        const OPERATION: &str = "read_messages";
        let found = self.read(OPERATION, key, &ops::log::message_wants(ranges)).await?;
        Ok(ops::log::message_page(ranges, there(found, OPERATION, key)?))
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        const OPERATION: &str = "read_inbox";
        let limit = Limits::rows(OPERATION, limit, INBOX_PAGE).map_err(|error| error.on(key))?;
        let found = self.read(OPERATION, key, &ops::log::inbox_wants(after, limit)).await?;
        Ok(ops::log::inbox_page(there(found, OPERATION, key)?, after, limit))
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        const OPERATION: &str = "read_events";
        let limit = Limits::rows(OPERATION, limit, PAGE_ROWS_MAX).map_err(|error| error.on(key))?;
        let (_, place) = after.parts();
        let mut delta = place.within.map_or(0, |(_, delta)| delta);
        loop {
            let found = self.read(OPERATION, key, &ops::log::event_wants(place.after, delta, limit)).await?;
            match ops::log::event_page(found, after, delta, limit) {
                Ok(page) => return Ok(page),
                Err(()) => delta = 0,
            }
        }
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        const OPERATION: &str = "list_runs";
        let digest = runs_digest(key);
        let after: Option<u64> = list::after(&page, digest, OPERATION).map_err(|error| error.on(key))?;
        let from = after.map_or(0, |after| after.saturating_add(1));
        let want = Want::numbers(Kind::Run, from, u64::MAX).at_most(page.rows() as usize + 1, PAGE_BYTES_MAX);
        let found = there(self.read(OPERATION, key, &[want]).await?, OPERATION, key)?;
        let detail =
            |run: &RunRecord| run.end.as_ref().and_then(|end| end.detail.as_ref()).map_or(0, |d| d.len());
        let last = found.slot.as_ref().and_then(|slot| slot.row.as_ref()).map_or(0, |row| row.epoch.0);
        let runs = ops::log::runs(found.rows.into_iter().flatten().collect());
        Ok(list::page(&page, digest, runs, detail, |run| run.epoch.0 < last))
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        const OPERATION: &str = "list_pending";
        let mut after: Option<PendingPlace> = list::after(&query.page, query.digest(), OPERATION)?;
        let mut room = PageRoom::new(query.page.rows() as usize);
        let mut shown: Vec<PendingCall> = Vec::new();
        let next = |shown: &[PendingCall]| {
            shown.last().map(|last| PageCursor::at(query.digest(), &PendingPlace::of(last).to_bytes()))
        };
        loop {
            let limit = room.rows() + 1;
            let scanned = self.pending_after(query, after.as_ref(), limit).await;
            let scanned = scanned.map_err(|error| StoreError { operation: OPERATION, ..error })?;
            for call in scanned.rows.into_iter().filter(|call| list::is_asked(call, query)) {
                if !room.takes(call.body.len()) {
                    return Ok(Page { next: next(&shown), items: shown });
                }
                shown.push(call);
            }
            match scanned.next {
                Some(next) => after = Some(next),
                None => return Ok(Page { items: shown, next: None }),
            }
        }
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        const OPERATION: &str = "list_checkpoints";
        let (key, digest) = (&query.key, query.digest());
        let after: Option<u64> =
            list::after(&query.page, digest, OPERATION).map_err(|error| error.on(key))?;
        let to = after.map_or(Some(u64::MAX), |after| after.checked_sub(1));
        let want = match (query.id, to) {
            (Some(id), Some(to)) if id.0 <= to => Want::number(Kind::Checkpoint, id.0),
            (Some(_), _) | (None, None) => Want::all(Kind::Checkpoint).at_most(0, 0),
            (None, Some(to)) => Want::newest(Kind::Checkpoint, to),
        };
        let rows = want.rows.min(query.page.rows() as usize + 1);
        let found = self.read(OPERATION, key, &[want.at_most(rows, PAGE_BYTES_MAX)]).await?;
        let found = there(found, OPERATION, key)?;
        let checkpoints = ops::log::checkpoints(found.rows.into_iter().flatten().collect());
        // Only another read can show whether there are older checkpoints.
        Ok(list::page(&query.page, digest, checkpoints, |one| one.state.len(), |_| query.id.is_none()))
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.rows().wait_for_change(watch, at_most).await
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        const OPERATION: &str = "fork_session";
        to.check(from).map_err(|error| error.on(from))?;
        Limits::of(self.bounds(), OPERATION).fork(&to).map_err(|error| error.on(from))?;
        let wants = [Want::number(Kind::Checkpoint, at.0)];
        loop {
            let facts = Facts::found(self.read(OPERATION, from, &wants).await?, &wants);
            let place = facts.slot.as_ref().map_or(0, |slot| slot.place);
            let source = match facts.row().filter(|row| row.is_source(from, &to)) {
                None => ops::fork::Source::None,
                Some(_) => match ops::log::checkpoint(&facts, at) {
                    Some(checkpoint) => ops::fork::Source::Found(place, Box::new(checkpoint)),
                    None => ops::fork::Source::NoCheckpoint,
                },
            };
            let ask = ops::fork::Fork { new: &to, from, at, source };
            // If the loop goes on, the source has lost its incarnation or the checkpoint for good. The next pass
            // finds that and ends the loop.
            if let (Some(outcome), _) = self.ask(OPERATION, &to.key, &ask).await? {
                return Ok(outcome);
            }
        }
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        const OPERATION: &str = "purge";
        let after: Option<SessionPlace> =
            rule.check()?.map(|bytes| list::place(&bytes, OPERATION)).transpose()?;
        let limit = rule.limit.get() as usize;
        let scanned = self.rows().resting(rule, after.as_ref(), limit).await;
        let scanned = scanned.map_err(|error| StoreError { operation: OPERATION, ..error })?;
        let next = scanned.next.map(|next| PageCursor::at(rule.digest(), &next.to_bytes()));
        let mut report = PurgeReport { next, ..PurgeReport::default() };
        let about = scanned.rows.into_iter().filter(|row| row.purgeable(rule));
        let (mut now, mut last, began) = (None, None, Instant::now());
        for row in about {
            if let Some(last) = last.filter(|_| began.elapsed() >= PURGE_STEP_MAX) {
                report.next = Some(PageCursor::at(rule.digest(), &SessionPlace::to_bytes(&last)));
                break;
            }
            last = Some(SessionPlace::changed(&row));
            let (purged, at) = match self.ask(OPERATION, &row.key, &ops::purge::PurgeOne(rule)).await {
                // The rule does not apply to an unreadable session: the session stays, and the walk continues.
                Err(error) if error.kind == StoreErrorKind::Corrupt => {
                    tracing::warn!(%error, "a purge leaves out a session that cannot be read");
                    continue;
                }
                asked => asked?,
            };
            report.sessions += purged.sessions;
            report.checkpoints += purged.checkpoints;
            now = Some(at);
        }
        if let Some(now) = now.or_else(|| self.rows().now()) {
            self.clear_dead(now, limit.max(CLEARED_BY_EACH)).await;
        }
        Ok(report)
    }
}

impl<R: Rows> RowStore<R> {
    /// Removes old tombstones under at most `most` keys. If some cannot be removed now, a later call retries.
    async fn clear_dead(&self, now: crate::time::Timestamp, most: usize) {
        let stands = i64::try_from(TOMBSTONE_STANDS.as_millis()).unwrap_or(i64::MAX);
        let before = crate::time::Timestamp::from_ms(now.as_ms().saturating_sub(stands));
        let forgotten = async {
            let dead = self.rows().dead(before, most).await?;
            for key in dead {
                self.ask("delete_session", &key, &ops::delete::Forget).await?;
            }
            Ok::<(), StoreError>(())
        };
        if let Err(error) = forgotten.await {
            tracing::warn!(%error, "what is left of deleted sessions could not be forgotten");
        }
    }
}

/// Returns `found`, or fails with `NotFound` if there is no session.
fn there(found: Found, operation: &'static str, key: &SessionKey) -> Result<Found, StoreError> {
    match found.slot.as_ref().and_then(|slot| slot.row.as_ref()) {
        Some(_) => Ok(found),
        None => Err(StoreError::new(StoreErrorKind::NotFound, operation, "there is no such session").on(key)),
    }
}
