//! The runs of a session: the worker, the purpose and the usage of each.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use futures::TryStreamExt;
use holdover_core::engine::{RunDetail, RunKind};
use holdover_core::event::Event;
use holdover_core::ids::{Epoch, SessionKey};
use holdover_core::machine::Usage;
use holdover_core::machine::history::Fold;
use holdover_core::store::{
    Checkpoint, CheckpointQuery, EventCursor, EventPlace, Page, PageRequest, RunRecord,
};

use super::{Follow, Runtime};
use crate::error::RuntimeError;

/// The number of checkpoints in one read.
const CHECKPOINTS: NonZeroU32 = NonZeroU32::new(16).expect("it is not 0");

/// The purpose of a run, and its usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunReport {
    /// The purpose for which the run was begun.
    pub kind: RunKind,
    /// The usage of the run, or `None` if the session's events do not show it.
    pub usage: Option<Usage>,
    /// True if the usage is complete. Otherwise the run is open or was lost, and the usage goes up to its last
    /// commit; later usage is not known.
    pub is_whole: bool,
}

/// The purpose and usage of a run, from the session's events. The default stands for a run that committed
/// nothing.
#[derive(Debug, Clone, Copy)]
struct Told {
    kind: Option<RunKind>,
    usage: Option<Usage>,
}

impl Default for Told {
    fn default() -> Self {
        Self { kind: None, usage: Some(Usage::default()) }
    }
}

impl Runtime {
    /// Lists one page of the runs of a session, in the order in which they began.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound).
    pub async fn runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, RuntimeError> {
        self.existing(key).await?;
        Ok(self.host.store().list_runs(key, page).await?)
    }

    /// Returns the purpose of each of these runs of a session; see [`run_reports`](Self::run_reports).
    ///
    /// Errors: the session's events cannot be [read](RuntimeError::Unreadable).
    pub async fn run_kinds(
        &self,
        key: &SessionKey,
        runs: &[RunRecord],
    ) -> Result<Vec<RunKind>, RuntimeError> {
        Ok(self.run_reports(key, runs).await?.into_iter().map(|report| report.kind).collect())
    }

    /// Returns the purpose and the usage of each of these runs of a session. The record of a run that has
    /// ended holds both. For a run that is open or was lost, the session's events are read, which hold what
    /// the run committed. For a run that committed nothing, the purpose is derived from the status that the
    /// run found.
    ///
    /// Errors: the session's events cannot be [read](RuntimeError::Unreadable).
    pub async fn run_reports(
        &self,
        key: &SessionKey,
        runs: &[RunRecord],
    ) -> Result<Vec<RunReport>, RuntimeError> {
        let recorded: Vec<Option<RunDetail>> = runs.iter().map(RunDetail::of).collect();
        let kind = |detail: &Option<RunDetail>| detail.as_ref().and_then(|detail| detail.kind);
        let untold = runs.iter().zip(&recorded).filter(|(_, detail)| kind(detail).is_none());
        let untold: BTreeSet<Epoch> = untold.map(|(run, _)| run.epoch).collect();
        let told = match (untold.first(), untold.last()) {
            (Some(first), Some(last)) => self.told_of_runs(key, *first, *last).await?,
            (_, _) => BTreeMap::new(),
        };
        let report = |(run, recorded): (&RunRecord, Option<RunDetail>)| {
            let told = told.get(&run.epoch).copied().unwrap_or_default();
            let kind = kind(&recorded).or(told.kind).unwrap_or(RunKind::by_status(run.found));
            match recorded {
                Some(detail) => RunReport { kind, usage: Some(detail.usage), is_whole: true },
                None => RunReport { kind, usage: told.usage, is_whole: false },
            }
        };
        Ok(runs.iter().zip(recorded).map(report).collect())
    }

    /// Reads the purpose and usage of the runs from `first` to `last` from the events. Starts at the newest
    /// checkpoint of an earlier run, and ends where a later run begins.
    async fn told_of_runs(
        &self,
        key: &SessionKey,
        first: Epoch,
        last: Epoch,
    ) -> Result<BTreeMap<Epoch, Told>, RuntimeError> {
        let (from, before) = self.before_run(key, first).await?;
        let mut events = self.stored_events(key, from, Follow::Available);
        let mut told: BTreeMap<Epoch, Told> = BTreeMap::new();
        // The usage of the session when the newest run began. `None` once the rows do not fit together.
        let (mut fold, mut newest) = (Some(before), None);
        while let Some(entry) = events.try_next().await? {
            let used = |fold: &Option<Fold>| fold.as_ref().map(|fold| fold.machine().usage);
            if let Event::RunStarted { run, kind, .. } = &entry.event {
                if *run > last {
                    break;
                }
                newest = Some((*run, used(&fold)));
                told.insert(*run, Told { kind: *kind, ..Told::default() });
            }
            if let Event::History { rows } = &entry.event {
                let fits = |fold: &mut Fold| rows.iter().all(|row| fold.take(row).is_ok());
                fold = fold.and_then(|mut fold| fits(&mut fold).then_some(fold));
                if let Some((run, before)) = newest {
                    let usage = used(&fold).zip(before).map(|(now, before)| now.since(&before));
                    told.entry(run).or_default().usage = usage;
                }
            }
        }
        Ok(told)
    }

    /// Returns the cursor and the machine of the newest checkpoint of an earlier run, or the beginning if there is
    /// none.
    async fn before_run(&self, key: &SessionKey, run: Epoch) -> Result<(EventCursor, Fold), RuntimeError> {
        let page = PageRequest::first(CHECKPOINTS);
        let mut query = CheckpointQuery { page, ..CheckpointQuery::all(key.clone()) };
        loop {
            let found = self.host.store().list_checkpoints(&query).await?;
            let earlier = found.items.iter().find(|made| made.epoch < run);
            if let Some(Checkpoint { incarnation, last_event, state, .. }) = earlier {
                let read = state.parse().map_err(|error| RuntimeError::unreadable(key, "checkpoint", error));
                let place = EventPlace { after: *last_event, within: None };
                return Ok((EventCursor::at(*incarnation, place), Fold::of(read?)));
            }
            match found.next {
                Some(next) => query.page.after = Some(next),
                None => return Ok((EventCursor::START, Fold::default())),
            }
        }
    }

    /// Counts the runs of the kind [`Resume`](RunKind::Resume), which began because a caller asked for the session
    /// to go on.
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
