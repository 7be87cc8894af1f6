//! Commits of a run.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::{Facts, names};
use super::super::read::Want;
use super::super::row::{Kind, Row, RowKey, picked};
use super::super::write::Op;
use crate::ids::{CallId, Fence, InboxSeq};
use crate::payload::Payload;
use crate::rules::{CommitFacts, SessionRow, Unseen};
use crate::time::Timestamp;
use crate::{Applied, Commit, CommitOutcome, NewMessage, RunEnded, StagedResult};

/// The number of low bits in a pending call's `order` that hold its position within one commit. The orders of
/// a commit that opens more calls than these bits can count would overlap with those of later commits.
const OPENED_MAX_BITS: u32 = 20;

/// The one atomic write by which a run makes progress.
pub(in super::super) struct CommitRun<'a> {
    pub(in super::super) fence: &'a Fence,
    pub(in super::super) commit: &'a Commit,
}

impl Ask for CommitRun<'_> {
    type Outcome = CommitOutcome;

    fn fence(&self) -> Option<&Fence> {
        Some(self.fence)
    }

    fn wants(&self) -> Vec<Want> {
        let (calls, closed) = (self.calls(), self.closed());
        let mut wants = Vec::new();
        if !calls.is_empty() {
            wants.push(Want::names(Kind::Staged, names(&calls)));
        }
        if !closed.is_empty() {
            wants.push(Want::names(Kind::Pending, names(&closed)));
        }
        if let (Some(first), Some(last)) =
            (self.commit.consumed.iter().min(), self.commit.consumed.iter().max())
        {
            wants.push(Want::numbers(Kind::Item, first.0, last.0).light());
        }
        if self.commit.run.is_some() {
            wants.push(Want::number(Kind::Run, self.fence.epoch.0));
        }
        wants
    }

    fn decide(&self, facts: &Facts) -> Decision<CommitOutcome> {
        let Some(before) = facts.row() else {
            return Decision::Answer(CommitOutcome::StaleFence { applied: Applied::Unknown });
        };
        if let Some(answer) = before.admit(self.fence, self.commit) {
            return Decision::Answer(answer);
        }
        let commit_facts = match self.facts(facts, before) {
            Ok(commit_facts) => commit_facts,
            Err(wants) => return Decision::Need(wants),
        };
        let mut after = before.clone();
        match after.apply(self.commit, &commit_facts, facts.now) {
            Ok(receipt) => {
                let draft = self.draft(facts, before, after, &commit_facts.staged);
                Decision::write(draft, CommitOutcome::Committed(receipt))
            }
            Err(refused) => self.refuse(facts, refused),
        }
    }
}

impl CommitRun<'_> {
    fn promoted(&self) -> impl Iterator<Item = &CallId> {
        self.commit.messages.iter().filter_map(|message| match message {
            NewMessage::Promote(call) => Some(call),
            NewMessage::Inline(_) => None,
        })
    }

    /// Returns the keys of the staged results that the decision needs.
    fn calls(&self) -> Vec<RowKey> {
        self.promoted().chain(self.commit.stage.iter().map(|result| &result.call)).map(Row::staged).collect()
    }

    /// Answers with the refusal. If it is not known whether the ids of the calls to open were used before, asks for
    /// those rows first, because a used id may lead to another refusal.
    fn refuse(&self, facts: &Facts, refused: CommitOutcome) -> Decision<CommitOutcome> {
        let opened: Vec<_> = self.commit.open.iter().map(|new| Row::opened(&new.id)).collect();
        if opened.iter().all(|key| facts.knows(key)) {
            return Decision::Answer(refused);
        }
        let mut wants = self.wants();
        wants.push(Want::names(Kind::Opened, names(&opened)));
        Decision::Need(wants)
    }

    fn closed(&self) -> Vec<RowKey> {
        self.commit.close.iter().map(Row::pending).collect()
    }

    /// Returns the facts for the rules, or the wants for rows that must be read first.
    fn facts(&self, facts: &Facts, row: &SessionRow) -> Result<CommitFacts, Vec<Want>> {
        let commit = self.commit;
        let (calls, closed) = (self.calls(), self.closed());
        let consumed = |seq: &InboxSeq| Row::item(*seq);
        let keys = calls.iter().chain(&closed).cloned().chain(commit.consumed.iter().map(consumed));
        let mut missing = keys.filter(|key| !facts.knows(key)).peekable();
        let unseen = self.unseen(facts, row);
        let run = commit.run.is_none() || !row.run_open || facts.knows(&Row::run(row.epoch));
        if missing.peek().is_some() || unseen.is_none() || !run {
            let mut wants = self.wants();
            if unseen.is_none() {
                wants.push(Want::numbers(Kind::Item, self.seen(row).0 + 1, row.last_item.0).light());
            }
            return Err(wants);
        }
        let staged = |key| picked!(facts.get(key), Some(Row::Staged(result)) => result.clone());
        let answered = |key| picked!(facts.get(key), Some(Row::Pending { call, .. }) => (call.id.clone(), call.last_answer));
        let mut pending: Vec<_> = closed.iter().filter_map(answered).collect();
        // Normally only the write itself finds out whether an id was used before.
        let reopened = commit.open.iter().filter(|new| facts.get(&Row::opened(&new.id)).is_some());
        pending.extend(reopened.map(|new| (new.id.clone(), InboxSeq(0))));
        let there = |seq: &InboxSeq| facts.get(&Row::item(*seq)).is_some();
        Ok(CommitFacts {
            staged: calls.iter().filter_map(staged).collect(),
            pending,
            consumable: commit.consumed.iter().copied().filter(there).collect(),
            unseen: unseen.unwrap_or_default(),
        })
    }

    fn seen(&self, row: &SessionRow) -> InboxSeq {
        self.commit.inbox_seen.unwrap_or_default().min(row.last_item).max(row.inbox_seen)
    }

    /// Returns the counts of the items after the commit's `inbox_seen`, none of which the commit may consume.
    /// Returns none if the items must be read first.
    fn unseen(&self, facts: &Facts, row: &SessionRow) -> Option<Unseen> {
        let seen = self.seen(row);
        if seen == row.inbox_seen {
            return Some(row.unseen);
        }
        if seen == row.last_item {
            return Some(Unseen::default());
        }
        if !facts.knows_range(Kind::Item, seen.0 + 1, row.last_item.0) {
            return None;
        }
        let mut unseen = Unseen::default();
        for item in facts.of(Kind::Item) {
            if let Row::Item { item, wake, .. } = item
                && item.seq > seen
            {
                unseen.add(*wake);
            }
        }
        Some(unseen)
    }

    fn draft(&self, facts: &Facts, before: &SessionRow, after: SessionRow, staged: &[StagedResult]) -> Draft {
        let (commit, now) = (self.commit, facts.now);
        let mut draft = Draft::default();
        if let Some(state) = &commit.state {
            draft.put(Row::State(state.payload.clone()));
            if commit.checkpoint {
                draft.put(Row::Checkpoint(after.checkpoint(state.payload.clone(), now)));
            }
            draft.ops.push(Op::Clear(Kind::Start));
        }
        self.write_messages(&mut draft, facts, before, staged, now);
        draft.append_events(after.last_event, &commit.events, now);
        draft.ops.extend(self.closed().into_iter().map(Op::Delete));
        for (nth, new) in (0..).zip(&commit.open) {
            let order = (after.version.0 << OPENED_MAX_BITS) + nth;
            draft.insert(Row::Opened(new.id.clone()));
            draft.put(Row::Pending { order, call: after.opened(new.clone(), now) });
        }
        draft.ops.extend(commit.consumed.iter().map(|seq| Op::Delete(Row::item(*seq))));
        // The first end of a run is kept.
        if let (Some(end), true, Some(mut run)) = (&commit.run, before.run_open, facts.run(before.epoch)) {
            let detail = Some(end.detail.clone());
            run.end.get_or_insert(RunEnded { at: now, outcome: end.outcome, detail });
            draft.put(Row::Run(run));
        }
        let ops = draft.ops;
        let mut draft = Draft::of(Some(before), after);
        draft.ops.extend(ops);
        draft
    }

    /// Returns true if it is known that this commit promotes all staged results.
    fn promotes_all(&self, facts: &Facts) -> bool {
        let promoted: Vec<RowKey> = self.promoted().map(Row::staged).collect();
        facts.knows_range(Kind::Staged, 0, u64::MAX)
            && facts.of(Kind::Staged).all(|row| promoted.contains(&row.key()))
    }

    /// Appends the messages, including promoted results. Stages the new results that are not promoted, and
    /// removes the promoted ones.
    fn write_messages(
        &self,
        draft: &mut Draft,
        facts: &Facts,
        before: &SessionRow,
        staged: &[StagedResult],
        now: Timestamp,
    ) {
        let result = |call: &CallId| -> Option<&Payload> {
            let all = staged.iter().chain(&self.commit.stage);
            all.into_iter().find(|staged| staged.call == *call).map(|staged| &staged.payload)
        };
        let payloads = self.commit.messages.iter().filter_map(|message| match message {
            NewMessage::Inline(payload) => Some(payload),
            NewMessage::Promote(call) => result(call),
        });
        draft.append_messages(before.last_message, payloads, now);
        let is_promoted = |call: &CallId| self.promoted().any(|promoted| promoted == call);
        if self.commit.ends_staging() && !self.promotes_all(facts) {
            draft.ops.push(Op::Clear(Kind::Staged));
            return;
        }
        let mut fresh: Vec<&CallId> = Vec::new();
        for one in &self.commit.stage {
            let there = staged.iter().any(|first| first.call == one.call) || fresh.contains(&&one.call);
            if !there && !is_promoted(&one.call) && !self.commit.ends_staging() {
                fresh.push(&one.call);
                draft.put(Row::Staged(one.clone()));
            }
        }
        for promoted in self.promoted() {
            if staged.iter().any(|there| there.call == *promoted) {
                draft.ops.push(Op::Delete(Row::staged(promoted)));
            }
        }
    }
}
