//! The trait [`Rows`] on a file. All work is done on threads that may block: begun once, it runs to its end, whether or
//! not anybody still waits for the answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::rows::*;
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::*;
use redb::Database;

use crate::Options;
use crate::file::{Done, FORMAT, failed, open};
use crate::read::Snapshot;
use crate::write::{Tables, transact};

/// How often it is looked whether another handle has written.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The rows of sessions in one redb file.
pub(crate) struct RedbRows(Arc<Shared>);

struct Shared {
    database: Database,
    options: Options,
}

impl RedbRows {
    pub(crate) async fn open(path: PathBuf, options: Options) -> Result<Self, StoreError> {
        let make = options.make;
        let opened = blocking(move || open(&path, make).map_err(failed)).await;
        let (database, format) = opened.map_err(|error| StoreError { operation: "open", ..error })?;
        let kind = match format {
            Some(FORMAT) => return Ok(Self(Arc::new(Shared { database, options }))),
            Some(format) if format > FORMAT => StoreErrorKind::Newer,
            Some(_) => StoreErrorKind::Unsupported,
            None => StoreErrorKind::Unavailable,
        };
        Err(StoreError::new(kind, "open", format!("format: found {format:?}, expected {FORMAT}")))
    }

    /// Runs `job` on what the file holds at one instant, and on the clock, read after it.
    async fn look<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Snapshot, Timestamp) -> Done<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.0);
        let look = move || job(&Snapshot::of(&shared.database)?, shared.options.clock.now());
        blocking(|| look().map_err(failed)).await
    }

    /// Runs `job` in one write transaction.
    async fn change<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tables<'_>) -> Done<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.0);
        blocking(move || transact(&shared.database, &shared.options, job)).await
    }
}

async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let gone = || StoreError::new(StoreErrorKind::Backend, "", "no answer").retry(Retry::OutcomeUnknown);
    tokio::task::spawn_blocking(job).await.unwrap_or_else(|why| Err(gone().because(why)))
}

#[async_trait]
impl Rows for RedbRows {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            backend: "redb 4".to_owned(),
            commit_survives: CommitSurvives::PowerCut,
            shared_by: SharedBy::Machine,
            change_hints_across_processes: true,
            forks: true,
            retention: true,
            payload_bytes_max: self.0.options.payload_bytes_max,
            commit_bytes_max: self.0.options.commit_bytes_max,
            settings: Vec::new(),
        }
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.0.options.clock.now())
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        let (key, wants) = (key.clone(), wants.to_vec());
        self.look(move |file, now| file.find(&key, &wants, now)).await
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        let batch = writes.clone();
        let applied = self.change(move |tables| batch.iter().map(|write| tables.apply(write)).collect());
        match applied.await {
            Ok::<Vec<_>, _>(verdicts) => verdicts.into_iter().map(Ok).collect(),
            Err(error) if writes.len() == 1 => vec![Err(error)],
            // One has failed, and so none is applied: once more, each by itself.
            Err(_) => {
                let mut verdicts = Vec::new();
                for write in writes {
                    verdicts.extend(self.apply(vec![write]).await);
                }
                verdicts
            }
        }
    }

    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Vec<Result<Found, StoreError>>, StoreError> {
        let (query, wants) = (query.clone(), wants.to_vec());
        self.look(move |file, now| {
            let DueQuery { queues, newest_format, tenant, limit } = &query;
            let is_due = |row: &SessionRow| row.is_due(queues, *newest_format, tenant.as_ref(), now);
            let look = |place: SessionPlace| {
                let due = file.session(&place.key)?.filter(is_due);
                due.map(|row| file.find(&row.key, &wants, now)).transpose()
            };
            // What is due at this very instant, too.
            let due = time_range(None, now.after(Duration::from_millis(1)));
            let found = file.walk(Index::Due, &due, SessionPlace::of_entry, look)?;
            found.take(*limit).map(|found| found.map(Ok)).collect()
        })
        .await
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        let (query, after) = (query.clone(), after.cloned());
        self.look(move |file, _| {
            let look = |place: SessionPlace| {
                let Some(row) = file.session(&place.key)? else { return Ok(None) };
                let labels = match file.row(&place.key, &RowKey::one(Kind::Labels))? {
                    Some(Row::Labels(labels)) => labels,
                    Some(_) | None => Labels::default(),
                };
                Ok(Some((place, row.summary(labels))).filter(|(_, summary)| summary.listed(&query)))
            };
            let range = sessions_range(&query.tenant, after.as_ref());
            let newest = file.walk(Index::Sessions, &range, SessionPlace::of_entry, look)?.rev();
            Scanned::fill(newest, limit, usize::MAX, |_| 0)
        })
        .await
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        let (query, after) = (query.clone(), after.cloned());
        self.look(move |file, _| {
            let look = |place: PendingPlace| {
                let key = SessionKey::new(query.tenant.clone(), place.session.clone());
                if query.session.as_ref().is_some_and(|session| *session != key.id) {
                    return Ok(None);
                }
                let row = file.row(&key, &Row::pending(&place.id))?;
                let Some(Row::Pending { call, .. }) = row else { return Ok(None) };
                Ok(query.kind.is_none_or(|kind| kind == call.kind).then_some((place, call)))
            };
            let range = pending_range(&query.tenant, after.as_ref());
            let soonest = file.walk(Index::Pending, &range, PendingPlace::of_entry, look)?;
            Scanned::fill(soonest, limit, bytes, |call| call.body.len())
        })
        .await
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        let (rule, after) = (rule.clone(), after.cloned());
        self.look(move |file, _| {
            let look = |place: SessionPlace| {
                let row = file.session(&place.key)?.filter(|row| row.purgeable(&rule));
                Ok(row.map(|row| (place, row)))
            };
            let range = time_range(after.as_ref(), rule.unchanged_since);
            let oldest = file.walk(Index::Resting, &range, SessionPlace::of_entry, look)?;
            Scanned::fill(oldest, limit, usize::MAX, |_| 0)
        })
        .await
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.look(move |file, _| {
            let look = |place: SessionPlace| Ok(Some(place.key));
            let oldest = time_range(None, before);
            file.walk(Index::Dead, &oldest, SessionPlace::of_entry, look)?.take(limit).collect()
        })
        .await
    }

    async fn remove_unreadable(
        &self,
        key: &SessionKey,
        life: Option<Incarnation>,
    ) -> Result<bool, StoreError> {
        let key = key.clone();
        self.change(move |tables| tables.remove_unreadable(&key, life)).await
    }

    /// Looks again and again whether anything was written, by whichever process.
    async fn wait_for_change(&self, _watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        let changes = || self.look(|file, _| Ok(file.changes));
        let before = changes().await?;
        let news = async {
            while changes().await? == before {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Ok(())
        };
        tokio::time::timeout(at_most, news).await.unwrap_or(Ok(()))
    }
}
