//! The trait [`Rows`] on a file. All work is done on threads that may block. Started work runs to its end, even if the
//! caller no longer waits for the answer.

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
use crate::read::Reader;
use crate::write::{Writer, write};

/// The interval between two checks for changes of the file.
const LOOK_EVERY: Duration = Duration::from_millis(20);

type Answer<T> = Result<T, StoreError>;

/// The rows of sessions in one redb file.
pub(crate) struct RedbRows(Arc<Shared>);

struct Shared {
    database: Database,
    options: Options,
}

impl RedbRows {
    pub(crate) async fn open(path: PathBuf, options: Options) -> Answer<Self> {
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

    /// Runs `job` with a snapshot of the file, and with the time, read after the snapshot was taken.
    async fn look<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Reader, Timestamp) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let shared = Arc::clone(&self.0);
        blocking(move || {
            let reader = Reader::of(&shared.database).map_err(failed)?;
            job(&reader, shared.options.clock.now())
        })
        .await
    }

    /// Runs `job` in one write transaction, and commits its changes. If `job` fails, nothing is changed.
    async fn change<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Writer<'_>) -> Done<T> + Send + 'static,
    ) -> Answer<T> {
        let shared = Arc::clone(&self.0);
        blocking(move || {
            let (answer, changed) = write(&shared.database, &*shared.options.clock, job).map_err(failed)?;
            if let Some(transaction) = changed {
                // If the commit itself fails, the changes may have reached the disk completely or not at all.
                transaction.commit().map_err(|error| failed(error).retry(Retry::OutcomeUnknown))?;
            }
            Ok(answer)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(job: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
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
            settings: vec![("durability".to_owned(), "immediate".to_owned())],
        }
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.0.options.clock.now())
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Answer<Found> {
        let (key, wants) = (key.clone(), wants.to_vec());
        self.look(move |file, now| file.find(&key, &wants, now)).await
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Answer<Verdict>> {
        let batch = writes.clone();
        let applied = self.change(move |file| batch.iter().map(|write| file.apply(write)).collect());
        match applied.await {
            Ok::<Vec<_>, _>(verdicts) => verdicts.into_iter().map(Ok).collect(),
            Err(error) if writes.len() == 1 => vec![Err(error)],
            // A write or the commit failed. Each write is tried again by itself. If the commit was applied after all,
            // the tokens have changed, so nothing is applied twice.
            Err(_) => {
                let mut verdicts = Vec::new();
                for write in writes {
                    verdicts.extend(self.apply(vec![write]).await);
                }
                verdicts
            }
        }
    }

    async fn due(&self, query: &DueQuery, wants: &[Want]) -> Answer<Due<Answer<Found>>> {
        let (query, wants) = (query.clone(), wants.to_vec());
        self.look(move |file, now| file.due(&query, &wants, now)).await
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Answer<Scanned<SessionSummary, SessionPlace>> {
        let (query, after) = (query.clone(), after.cloned());
        self.look(move |file, _| file.sessions(&query, after.as_ref(), limit)).await
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Answer<Scanned<PendingCall, PendingPlace>> {
        let (query, after) = (query.clone(), after.cloned());
        self.look(move |file, _| file.pending(&query, after.as_ref(), limit, bytes)).await
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Answer<Scanned<SessionRow, SessionPlace>> {
        let (rule, after) = (rule.clone(), after.cloned());
        self.look(move |file, _| file.resting(&rule, after.as_ref(), limit)).await
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Answer<Vec<SessionKey>> {
        self.look(move |file, _| file.dead(before, limit)).await
    }

    async fn remove_unreadable(&self, key: &SessionKey, life: Option<Incarnation>) -> Answer<bool> {
        let key = key.clone();
        self.change(move |file| file.remove_unreadable(&key, life)).await
    }

    /// Polls the file until some process has written to it, or until `at_most` has passed.
    async fn wait_for_change(&self, _watch: Watch, at_most: Duration) -> Answer<()> {
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
