//! The rows of sessions, in the server's keys.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::future::join_all;
use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::rows::{
    Due, DueQuery, Found, PendingPlace, Rows, Scanned, SessionPlace, Slot, Token, Verdict, Want, Write,
};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    Capabilities, DeleteOutcome, Deletion, PendingCall, PendingQuery, RetentionRule, SessionQuery,
    SessionSummary, StoreError, Watch,
};

use crate::apply::{self, Outcome, Plan};
use crate::error::{Call, Fault};
use crate::grants::{self, Fits};
use crate::read;
use crate::row::{NO_TOKEN, token_text};
use crate::store::Shared;

/// The rows of one handle.
pub(crate) struct RedisRows(pub(crate) Arc<Shared>);

impl fmt::Debug for RedisRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisRows").finish_non_exhaustive()
    }
}

/// Converts a fault of a read. The operation stays empty, because the caller names it.
fn reading(fault: Fault) -> StoreError {
    fault.of(Call::Read, "", None)
}

fn writing(fault: Fault) -> StoreError {
    fault.of(Call::Write, "", None)
}

impl Shared {
    /// Reads the slot under a key, and rows of that session.
    pub(crate) async fn read_rows(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, Fault> {
        let args = read::args(self.args(), wants)?;
        let sent = Instant::now();
        let mut reply = self.on(&self.scripts.read, key, args).await?;
        let found = read::found(key, wants, &mut reply)?;
        self.clocks.heard(self.clock_of(self.keys.partition_of(key)), sent, found.now);
        Ok(found)
    }

    /// Reads a session. If the read serves a write of a run, fails if the session contradicts what is known of the
    /// run.
    async fn read_for_run(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, Fault> {
        let found = self.read_rows(key, wants).await?;
        if let Some(fence) = grants::fence().filter(|fence| fence.key == *key)
            && let Fits::Missing(went_back) = self.grants.compare(&fence, &found)?
        {
            // A version before tokens may have deleted the session.
            let [grave, _] = self.keys.graves(key, &fence.incarnation.to_string(), "");
            let args = self.args().size(1).text(grave);
            if self.on(&self.scripts.graves, key, args).await?.bytes()?.is_empty() {
                return Err(went_back);
            }
        }
        Ok(found)
    }

    /// Gives the row of a version before tokens its first token.
    pub(crate) async fn adopt(&self, key: &SessionKey) -> Result<(), Fault> {
        let args = self.args().text(token_text(Token::random()));
        self.on(&self.scripts.adopt, key, args).await.map(drop)
    }

    /// Runs the commands of a plan, if the row is in the expected state.
    pub(crate) async fn run_plan(
        &self,
        key: &SessionKey,
        plan: &Plan,
    ) -> Result<(Timestamp, Outcome), Fault> {
        self.run_plan_on(self.keys.partition_of(key), &self.keys.row(key), plan).await
    }

    /// Runs the commands of a plan on the row with this key.
    pub(crate) async fn run_plan_on(
        &self,
        partition: u16,
        row: &str,
        plan: &Plan,
    ) -> Result<(Timestamp, Outcome), Fault> {
        let script = if plan.removes { &self.scripts.remove } else { &self.scripts.apply };
        let sent = Instant::now();
        let mut reply = self.run(script, partition, Some(row), &plan.args(self.args())).await?;
        let (now, outcome) = plan.outcome(&mut reply)?;
        self.clocks.heard(self.clock_of(partition), sent, now);
        Ok((now, outcome))
    }

    async fn apply_one(&self, write: &Write) -> Result<Verdict, Fault> {
        if write.row_before().is_some() && write.expect() == Some(NO_TOKEN) {
            self.adopt(&write.key).await?;
            return Ok(Verdict::Lost);
        }
        let draft = match &write.copy {
            None => None,
            Some(prefix) => match self.draft(write, prefix).await? {
                Ok(life) => Some(life),
                Err(verdict) => return Ok(verdict),
            },
        };
        let plan = Plan::of(&self.keys, write, draft)?;
        let (now, outcome) = self.run_plan(&write.key, &plan).await?;
        match (&outcome, write.row_after()) {
            (Outcome::Buried { is_operation, at }, Some(row)) => {
                self.keep_buried(write, row, *is_operation, *at, now).await?;
            }
            (Outcome::Applied(_) | Outcome::Incomplete, _) if draft.is_some() => {
                self.drafts.forget(&write.key)
            }
            (_, _) => {}
        }
        Ok(outcome.verdict(now, plan.place))
    }

    /// Writes a tombstone of a session that a version before tokens deleted, so that later reads find it.
    async fn keep_buried(
        &self,
        write: &Write,
        row: &SessionRow,
        is_operation: bool,
        at: Timestamp,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let mut lives = write.before.as_ref().map_or_else(Vec::new, |slot| slot.lives.clone());
        lives.push(apply::buried(write, row, is_operation, at));
        let kept = Write {
            after: Some(Arc::new(Slot { token: Token::random(), place: 0, row: None, lives })),
            ops: Vec::new(),
            copy: None,
            from: now,
            until: Timestamp::from_ms(i64::MAX),
            ..write.clone()
        };
        let plan = Plan::of(&self.keys, &kept, None)?;
        self.run_plan(&write.key, &plan).await?;
        Ok(())
    }
}

#[async_trait]
impl Rows for RedisRows {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn now(&self) -> Option<Timestamp> {
        self.0.clocks.now()
    }

    fn patience(&self) -> Option<Duration> {
        Some(2 * self.0.wire.timeout())
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        self.0.read_for_run(key, wants).await.map_err(reading)
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        let applied = join_all(writes.iter().map(|write| self.0.apply_one(write))).await;
        applied.into_iter().map(|verdict| verdict.map_err(writing)).collect()
    }

    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        self.0.due(query, wants).await.map_err(reading)
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        self.0.sessions(query, after, limit).await.map_err(reading)
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        self.0.pending(query, after, limit, bytes).await.map_err(reading)
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        self.0.resting(rule, after, limit).await.map_err(reading)
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.0.dead(before, limit).await.map_err(reading)
    }

    async fn remove_unreadable(
        &self,
        key: &SessionKey,
        life: Option<Incarnation>,
    ) -> Result<bool, StoreError> {
        let deletion = Deletion { incarnation: life, ..Deletion::FORCE };
        let outcome = self.0.delete_torn(key, deletion).await.map_err(writing)?;
        Ok(outcome == DeleteOutcome::Deleted)
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        match &self.0.hints {
            Some(hints) => hints.wait(&watch, at_most).await,
            None => tokio::time::sleep(at_most).await,
        }
        Ok(())
    }
}
