//! The rows of sessions, in tables.

mod due;
mod given;
mod groups;
mod kinds;
mod look;
mod many;
mod ops;
mod put;
mod read;
mod remove;
mod scan;
mod session;
mod sessions;
mod values;
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

use self::groups::Groups;
use self::write::Apply;
use crate::call::{self, Call};
use crate::open::Opened;

/// The most attempts to remove an unreadable session that others write at the same time.
const REMOVALS_MAX: usize = 100;

/// Rows in one schema of a database.
pub(crate) struct PgRows {
    pub(crate) opened: Opened,
    groups: Groups,
}

impl PgRows {
    pub(crate) fn new(opened: Opened) -> Self {
        let groups = Groups::new(opened.caller.clone());
        Self { opened, groups }
    }

    fn heard(&self, now: Timestamp) {
        self.opened.heard.hear(now);
    }

    /// Returns the call that [`Rows::read`] makes.
    pub(crate) fn reads(key: &SessionKey, wants: &[Want]) -> impl Call<Outcome = Found> + use<> {
        read::ReadOne { key: key.clone(), wants: wants.to_vec() }
    }

    /// Starts to apply a write.
    fn start(&self, write: &Arc<Write>) -> Applying {
        if many::can_share(write) {
            Applying::Shared(self.groups.start(Arc::clone(write)))
        } else {
            Applying::Alone(self.opened.caller.start(Apply::new(Arc::clone(write))))
        }
    }

    /// Returns the call that applies one write.
    pub(crate) fn applies(write: &Arc<Write>) -> impl Call<Outcome = Verdict> + use<> {
        Apply::new(Arc::clone(write))
    }

    /// Notes a committed write, and announces the change if its statement has not.
    pub(crate) async fn was_applied(&self, write: &Write, now: Timestamp) {
        self.heard(now);
        self.told(write, now).await;
    }

    async fn told(&self, write: &Write, now: Timestamp) {
        let urgent = write.change(write.from).is_some_and(|change| change.is_urgent());
        if let Some(change) = write.change(now).filter(|_| !urgent) {
            self.opened.hints.tell(change).await;
        }
    }
}

/// A write that is being applied, in a statement with others or alone. It goes on, also if nobody waits for its verdict.
enum Applying {
    Shared(groups::Started),
    Alone(call::Started<Apply>),
}

impl Applying {
    async fn verdict(self) -> Result<Verdict, StoreError> {
        match self {
            Self::Shared(started) => started.ended().await,
            Self::Alone(started) => started.ended().await,
        }
    }
}

#[async_trait]
impl Rows for PgRows {
    fn capabilities(&self) -> Capabilities {
        self.opened.caller.server.capabilities()
    }

    fn now(&self) -> Option<Timestamp> {
        self.opened.heard.now()
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.opened.caller.options.operation_timeout)
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        let found = self.opened.caller.call(Self::reads(key, wants)).await?;
        self.heard(found.now);
        Ok(found)
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        // All are started before the first is awaited.
        let made: Vec<_> = writes.iter().map(|write| self.start(write)).collect();
        let mut verdicts = Vec::with_capacity(made.len());
        for (made, write) in made.into_iter().zip(&writes) {
            let verdict = made.verdict().await;
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
        self.opened
            .caller
            .call(sessions::Sessions { query: query.clone(), after: after.cloned(), limit })
            .await
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        self.opened
            .caller
            .call(scan::Pending { query: query.clone(), after: after.cloned(), limit, bytes })
            .await
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        self.opened.caller.call(scan::Resting { rule: rule.clone(), after: after.cloned(), limit }).await
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.opened.caller.call(scan::Dead { before, limit }).await
    }

    async fn remove_unreadable(
        &self,
        key: &SessionKey,
        life: Option<Incarnation>,
    ) -> Result<bool, StoreError> {
        for _ in 0..REMOVALS_MAX {
            let told = self.opened.caller.call(remove::Told { key: key.clone(), life }).await?;
            let Some(told) = told else { return Ok(false) };
            let removal = Apply::removal(Arc::new(told.write(key)));
            if let Verdict::Applied { .. } = self.opened.caller.call(removal).await? {
                return Ok(true);
            }
        }
        let detail = "others wrote the session again and again";
        Err(StoreError::new(holdover_store::StoreErrorKind::Unavailable, "remove_unreadable", detail))
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.opened.hints.wait(&watch, at_most).await;
        Ok(())
    }
}
