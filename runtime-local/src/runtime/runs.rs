//! The runs of a session: who worked on it, and for what.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use holdover_core::event::Event;
use holdover_core::ids::{Epoch, SessionKey};
use holdover_core::step::RunKind;
use holdover_core::store::{EventCursor, Page, PageRequest, RunRecord};

use super::{Follow, Runtime};
use crate::error::RuntimeError;

impl Runtime {
    /// A page of the runs of a session, in the order they began.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound).
    pub async fn runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, RuntimeError> {
        self.existing(key).await?;
        Ok(self.shared.store.list_runs(key, page).await?)
    }

    /// What each of these runs of a session was begun for. One that is open, or was lost, has no word of it in its
    /// record; then the events are read, in which it said so with its first commit. One that committed nothing took
    /// nothing in hand: it was begun for what the status says that it found.
    ///
    /// Errors: the session's events cannot be [read](RuntimeError::Unreadable).
    pub async fn run_kinds(
        &self,
        key: &SessionKey,
        runs: &[RunRecord],
    ) -> Result<Vec<RunKind>, RuntimeError> {
        let recorded: Vec<Option<RunKind>> = runs.iter().map(RunKind::of).collect();
        let told = match recorded.contains(&None) {
            true => self.told_kinds(key).await?,
            false => BTreeMap::new(),
        };
        let kind = |(run, recorded): (&RunRecord, Option<RunKind>)| {
            recorded.or(told.get(&run.epoch).copied()).unwrap_or(RunKind::by_status(run.found))
        };
        Ok(runs.iter().zip(recorded).map(kind).collect())
    }

    async fn told_kinds(&self, key: &SessionKey) -> Result<BTreeMap<Epoch, RunKind>, RuntimeError> {
        let mut events = self.events(key, EventCursor::START, Follow::Available);
        let mut told = BTreeMap::new();
        while let Some(entry) = events.try_next().await? {
            if let Event::RunStarted { run, kind: Some(kind), .. } = entry.event {
                told.insert(run, kind);
            }
        }
        Ok(told)
    }

    /// How often somebody asked for this session to go on, and it did: its runs of the kind
    /// [`Resume`](RunKind::Resume).
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or its events cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn resumes(&self, key: &SessionKey) -> Result<usize, RuntimeError> {
        let (mut runs, mut page) = (Vec::new(), PageRequest::default());
        loop {
            let found = self.runs(key, page).await?;
            runs.extend(found.items);
            match found.next {
                Some(next) => page = PageRequest { after: Some(next), limit: None },
                None => break,
            }
        }
        let kinds = self.run_kinds(key, &runs).await?;
        Ok(kinds.into_iter().filter(|kind| *kind == RunKind::Resume).count())
    }
}
