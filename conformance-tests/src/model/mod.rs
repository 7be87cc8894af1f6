//! The contract as a model: plain lists for each session. Where possible, rows are marked instead of removed.
//!
//! The model decides with the rules of `holdover_store` and stores everything in the simplest way, so that it can be
//! read as the contract itself. Cases compare a store with it, operation by operation.

mod life;
mod own;
mod read;

use std::collections::BTreeMap;

use holdover_store::ids::{CheckpointId, Fence, Incarnation, OperationId, SessionKey};
use holdover_store::rules::{self, SessionRow};
use holdover_store::time::Timestamp;
use holdover_store::{
    Applied, Checkpoint, Commit, CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch,
    DeltaOutcome, ForkOutcome, InboxItem, Interrupt, InterruptCheck, InterruptOutcome, NewFork, NewSession,
    PurgeReport, Remove, RetentionRule, StageOutcome, Staging, Start, Tombstone,
};

pub(crate) use life::Life;

/// The data of the model: all sessions, the tombstones, and the time.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) lives: BTreeMap<SessionKey, Life>,
    /// The tombstone of every deleted life. None expires, because a script is short.
    tombstones: Vec<Tombstone>,
    pub(crate) now: Timestamp,
}

impl Model {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { lives: BTreeMap::new(), tombstones: Vec::new(), now }
    }

    pub(crate) fn life(&self, key: &SessionKey) -> Option<&Life> {
        self.lives.get(key)
    }

    /// Applies a change to a copy of the session, and keeps the copy only if the change succeeds. Fails with `none` if
    /// the session does not exist.
    fn change<T, R>(
        &mut self,
        key: &SessionKey,
        none: R,
        change: impl FnOnce(&mut Life, Timestamp) -> Result<T, R>,
    ) -> Result<T, R> {
        let Some(mut life) = self.lives.get(key).cloned() else { return Err(none) };
        let done = change(&mut life, self.now)?;
        self.lives.insert(key.clone(), life);
        Ok(done)
    }

    pub(crate) fn create(&mut self, new: &NewSession) -> CreateOutcome {
        let now = self.now;
        let first = SessionRow::create(new, now).version;
        if self.was_deleted(&new.key, new.incarnation, &new.operation) {
            return CreateOutcome::Deleted;
        }
        if let Some(there) = self.lives.get(&new.key) {
            if there.row.created_by != new.operation {
                let SessionRow { incarnation, status, version, .. } = there.row;
                return CreateOutcome::AlreadyExists { incarnation, status, version };
            }
            return match &new.start {
                Start::WithItems | Start::At(_) => CreateOutcome::Created { version: first, claim: None },
                Start::Claimed(one) => {
                    let alive = there.row.repeated_claim(&one.run, now) == Some(true);
                    let claim = alive.then(|| Box::new(there.claim(now)));
                    CreateOutcome::Created { version: first.next(), claim }
                }
            };
        }
        let mut life = Life::new(SessionRow::create(new, now), &new.labels, &new.definition);
        let carried = match &new.start {
            Start::Claimed(one) => one.items.as_slice(),
            Start::WithItems | Start::At(_) => &[],
        };
        let items: Vec<&InboxItem> = new.items.iter().chain(carried).collect();
        if let Err((index, _)) = life.accept_all(&items, now) {
            return CreateOutcome::ItemConflict { index };
        }
        life.row.set_start(&new.start);
        let claim = match &new.start {
            Start::Claimed(one) => {
                life.begin_run(&one.run, &one.worker, one.lease, now);
                Some(Box::new(life.claim(now)))
            }
            Start::WithItems | Start::At(_) => None,
        };
        let version = life.row.version;
        self.lives.insert(new.key.clone(), life);
        CreateOutcome::Created { version, claim }
    }

    pub(crate) fn delete(&mut self, key: &SessionKey, deletion: Deletion) -> DeleteOutcome {
        let Some(life) = self.lives.get(key) else { return DeleteOutcome::NotFound };
        match life.row.delete(deletion, self.now) {
            Err(refused) => refused,
            Ok(tombstone) => {
                self.lives.remove(key);
                self.tombstones.push(tombstone);
                DeleteOutcome::Deleted
            }
        }
    }

    /// Returns true if this life of the session was deleted.
    pub(crate) fn is_dead(&self, key: &SessionKey, life: Incarnation) -> bool {
        self.tombstones.iter().any(|tombstone| tombstone.key == *key && tombstone.incarnation == life)
    }

    fn was_deleted(&self, key: &SessionKey, life: Incarnation, operation: &OperationId) -> bool {
        let mut of_key = self.tombstones.iter().filter(|tombstone| tombstone.key == *key);
        let named = of_key.any(|tombstone| tombstone.names(life, operation));
        rules::was_deleted(operation, self.lives.get(key).map(|life| &life.row), named)
    }

    pub(crate) fn stage(&mut self, fence: &Fence, staging: &Staging) -> StageOutcome {
        let staged = self.change(&fence.key, StageOutcome::StaleFence, |life, now| {
            if !life.row.admits(fence) {
                return Err(StageOutcome::StaleFence);
            }
            let call = |call: &holdover_store::ids::CallId| StageOutcome::Conflict { call: call.clone() };
            staging
                .results
                .iter()
                .try_for_each(|result| life.stage(result).map_err(|()| call(&result.call)))?;
            life.starts.extend(staging.starts.iter().cloned());
            Ok(life.row.receipt(now))
        });
        staged.map_or_else(|refused| refused, StageOutcome::Staged)
    }

    pub(crate) fn commit(&mut self, fence: &Fence, commit: &Commit) -> CommitOutcome {
        let gone = CommitOutcome::StaleFence { applied: Applied::Unknown };
        let committed = self.change(&fence.key, gone, |life, now| match life.row.admit(fence, commit) {
            Some(answer) => Err(answer),
            None => life.commit(commit, now),
        });
        committed.map_or_else(|refused| refused, CommitOutcome::Committed)
    }

    pub(crate) fn append_deltas(&mut self, fence: &Fence, batch: &DeltaBatch) -> DeltaOutcome {
        let appended = self.change(&fence.key, DeltaOutcome::StaleFence, |life, now| {
            life.append_deltas(fence, batch)?;
            Ok(life.row.receipt(now))
        });
        appended.map_or_else(|refused| refused, DeltaOutcome::Appended)
    }

    pub(crate) fn take_interrupt(&mut self, fence: &Fence) -> InterruptCheck {
        let life = self.lives.get_mut(&fence.key);
        life.map_or(InterruptCheck::StaleFence, |life| life.row.hand_interrupt(fence))
    }

    pub(crate) fn deliver(&mut self, key: &SessionKey, item: &InboxItem) -> Delivery {
        let accepted = self.change(key, Delivery::NotFound, |life, now| {
            life.accept_all(&[item], now).map_err(|(_, refusal)| refusal)?;
            Ok(life.row.last_item)
        });
        accepted.map_or_else(|refusal| refusal, |seq| Delivery::Accepted { seq })
    }

    pub(crate) fn interrupt(&mut self, key: &SessionKey, interrupt: &Interrupt) -> InterruptOutcome {
        let now = self.now;
        let life = self.lives.get_mut(key);
        life.map_or(InterruptOutcome::NotFound, |life| life.row.request_interrupt(interrupt.clone(), now))
    }

    pub(crate) fn fork(&mut self, from: &SessionKey, at: CheckpointId, new: &NewFork) -> ForkOutcome {
        match self.read_for_fork(from, at, new) {
            Ok(fork) => self.make_fork(fork, at, new),
            Err(refused) => refused,
        }
    }

    /// Returns the fork as the source would give it now. Fails if the source or the checkpoint is missing, if a session
    /// with the fork's key exists, or if the fork was deleted.
    pub(crate) fn read_for_fork(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        new: &NewFork,
    ) -> Result<Life, ForkOutcome> {
        self.forked_before(at, new)?;
        let source = self.lives.get(from).filter(|source| source.row.is_source(from, new));
        let source = source.ok_or(ForkOutcome::NoSource)?;
        let place = source.checkpoints.iter().find(|checkpoint| checkpoint.id == at);
        let place = place.ok_or(ForkOutcome::NoCheckpoint)?;
        let mut fork = Life::new(SessionRow::fork(place, new, self.now), &new.labels, &new.definition);
        fork.messages = source.messages.iter().filter(|it| it.seq <= place.last_message).cloned().collect();
        fork.events = source.events.iter().filter(|it| it.seq <= place.last_event).cloned().collect();
        let copied = source.checkpoints.iter().filter(|checkpoint| checkpoint.id <= at).cloned();
        fork.checkpoints = copied.map(|it| Checkpoint { incarnation: new.incarnation, ..it }).collect();
        fork.append(new.messages.clone(), new.events.clone(), self.now);
        fork.state = Some(new.state.payload.clone());
        fork.checkpoints.push(fork.row.checkpoint(new.state.payload.clone(), self.now));
        Ok(fork)
    }

    /// Inserts the fork, unless by now a session with its key exists or the fork was deleted.
    pub(crate) fn make_fork(&mut self, fork: Life, at: CheckpointId, new: &NewFork) -> ForkOutcome {
        if let Err(refused) = self.forked_before(at, new) {
            return refused;
        }
        let version = fork.row.version;
        self.lives.insert(new.key.clone(), fork);
        ForkOutcome::Forked { version }
    }

    fn forked_before(&self, at: CheckpointId, new: &NewFork) -> Result<(), ForkOutcome> {
        if self.was_deleted(&new.key, new.incarnation, &new.operation) {
            return Err(ForkOutcome::Deleted);
        }
        self.lives.get(&new.key).map_or(Ok(()), |there| Err(there.row.forked_before(new, at)))
    }

    /// Walks the rule over all sessions.
    pub(crate) fn purge(&mut self, rule: &RetentionRule) -> PurgeReport {
        let keys: Vec<SessionKey> = self.lives.keys().cloned().collect();
        keys.iter().fold(PurgeReport::default(), |mut report, key| {
            let removed = self.purge_one(rule, key);
            report.sessions += removed.sessions;
            report.checkpoints += removed.checkpoints;
            report
        })
    }

    /// Applies the rule to one session.
    pub(crate) fn purge_one(&mut self, rule: &RetentionRule, key: &SessionKey) -> PurgeReport {
        let nothing = PurgeReport::default();
        let Some(life) = self.lives.get_mut(key).filter(|life| life.row.purgeable(rule)) else {
            return nothing;
        };
        match rule.remove {
            Remove::Sessions if life.open().iter().any(|open| open.kind.keeps_session()) => nothing,
            Remove::Sessions => {
                self.tombstones.push(life.row.tombstone(self.now));
                self.lives.remove(key);
                PurgeReport { sessions: 1, ..nothing }
            }
            Remove::Checkpoints { keep } => {
                let surplus = life.checkpoints.len().saturating_sub(keep.get() as usize);
                life.checkpoints.drain(..surplus);
                PurgeReport { checkpoints: surplus as u64, ..nothing }
            }
        }
    }
}
