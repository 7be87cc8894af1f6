//! The rows of sessions, in tables.

mod due;
mod kinds;
mod look;
mod ops;
mod put;
mod read;
mod remove;
mod scan;
mod session;
mod sessions;
mod write;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::rows::{
    Due, DueQuery, Found, PendingPlace, Rows, Scanned, SessionPlace, Verdict, Want, Write,
};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    Capabilities, PendingCall, PendingQuery, RetentionRule, SessionQuery, SessionSummary, StoreError, Watch,
};

use crate::call::Call;
use crate::open::Opened;

/// The most attempts to remove an unreadable session that others write at the same time.
const REMOVALS_MAX: usize = 100;

/// Rows in one schema of a database.
pub(crate) struct PgRows(pub(crate) Opened);

impl PgRows {
    fn heard(&self, now: Timestamp) {
        self.0.heard.hear(now);
    }

    /// Returns the call that [`Rows::read`] makes.
    pub(crate) fn reads(key: &SessionKey, wants: &[Want]) -> impl Call<Outcome = Found> + use<> {
        read::ReadOne { key: key.clone(), wants: wants.to_vec() }
    }

    /// Returns the call that [`Rows::apply`] makes for each write.
    pub(crate) fn applies(write: &Arc<Write>) -> impl Call<Outcome = Verdict> + use<> {
        write::Apply::new(Arc::clone(write))
    }

    /// Notes a committed write, and announces the change if its statement has not.
    pub(crate) async fn was_applied(&self, write: &Write, now: Timestamp) {
        self.heard(now);
        self.told(write, now).await;
    }

    async fn told(&self, write: &Write, now: Timestamp) {
        let urgent = write.change(write.from).is_some_and(|change| change.is_urgent());
        if let Some(change) = write.change(now).filter(|_| !urgent) {
            self.0.hints.tell(change).await;
        }
    }
}

#[async_trait]
impl Rows for PgRows {
    fn capabilities(&self) -> Capabilities {
        self.0.caller.server.capabilities()
    }

    fn now(&self) -> Option<Timestamp> {
        self.0.heard.now()
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.0.caller.options.operation_timeout)
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        let found = self.0.caller.call(Self::reads(key, wants)).await?;
        self.heard(found.now);
        Ok(found)
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        // Each write is a statement on a connection of its own. All are started before the first is awaited.
        let calls: Vec<_> = writes.iter().map(|write| self.0.caller.start(Self::applies(write))).collect();
        let mut verdicts = Vec::with_capacity(calls.len());
        for (call, write) in calls.into_iter().zip(&writes) {
            let verdict = call.ended().await;
            match &verdict {
                Ok(Verdict::Applied { now, .. }) => self.was_applied(write, *now).await,
                Ok(Verdict::Taken { now, .. }) => self.heard(*now),
                Ok(Verdict::Lost | Verdict::NoSource) | Err(_) => {}
            }
            verdicts.push(verdict);
        }
        verdicts
    }

    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        self.find_due(query, wants).await
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        self.0.caller.call(sessions::Sessions { query: query.clone(), after: after.cloned(), limit }).await
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        self.0.caller.call(scan::Pending { query: query.clone(), after: after.cloned(), limit, bytes }).await
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        self.0.caller.call(scan::Resting { rule: rule.clone(), after: after.cloned(), limit }).await
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.0.caller.call(scan::Dead { before, limit }).await
    }

    async fn remove_unreadable(
        &self,
        key: &SessionKey,
        life: Option<Incarnation>,
    ) -> Result<bool, StoreError> {
        for _ in 0..REMOVALS_MAX {
            let told = self.0.caller.call(remove::Told { key: key.clone(), life }).await?;
            let Some(told) = told else { return Ok(false) };
            let removal = write::Apply::removal(Arc::new(told.write(key)));
            if let Verdict::Applied { .. } = self.0.caller.call(removal).await? {
                return Ok(true);
            }
        }
        let detail = "others wrote the session again and again";
        Err(StoreError::new(holdover_store::StoreErrorKind::Unavailable, "remove_unreadable", detail))
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.0.hints.wait(&watch, at_most).await;
        Ok(())
    }
}
