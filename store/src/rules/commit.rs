//! The rules for commits, and for the alarm that a release sets.

use serde::{Deserialize, Serialize};

use super::{LastCommit, SessionRow};
use crate::ids::{CallId, Fence, InboxSeq, PendingId};
use crate::time::Timestamp;
use crate::{
    Commit, CommitOutcome, NewMessage, Receipt, Release, SessionStatus, StagedResult, StreamId, Wake,
};

/// A summary of the items after `inbox_seen` that can wake the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// The number of items with `Wake::Count`.
    pub counted: u64,
    /// True if at least one item has `Wake::Now`.
    pub urgent: bool,
}

impl Unseen {
    /// Counts an item with this wake.
    pub fn add(&mut self, wake: Wake) {
        match wake {
            Wake::Now => self.urgent = true,
            Wake::Count => self.counted += 1,
            Wake::Quiet => {}
        }
    }

    /// Returns true if these items wake a suspended session with this `wake_on`.
    pub fn reaches(&self, wake_on: u32) -> bool {
        self.urgent || (wake_on > 0 && self.counted >= u64::from(wake_on))
    }

    /// Returns true if these items wake a session at rest.
    fn any(&self) -> bool {
        self.urgent || self.counted > 0
    }
}

/// The facts that a store reads, as of the same instant as the row, for a commit that [`SessionRow::admit`] did not
/// answer. They depend only on rows that the commit names, and on the items after its `inbox_seen`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitFacts {
    /// The staged results of the calls that the commit promotes or stages.
    pub staged: Vec<StagedResult>,
    /// The open pending calls that the commit closes, each with the place of its newest answer (0 if none). Also each id
    /// that the commit opens although the session has used it before, with place 0. A store whose write refuses a used
    /// id may leave these ids out.
    pub pending: Vec<(PendingId, InboxSeq)>,
    /// The items that the commit consumes, as far as they exist and are not consumed yet.
    pub consumable: Vec<InboxSeq>,
    /// The items after the commit's `inbox_seen` that neither it nor an earlier commit has consumed.
    pub unseen: Unseen,
}

impl SessionRow {
    /// Checks a commit on the row alone. Returns the answer for a repeat, an old fence or another version. If
    /// it returns none, read the [`CommitFacts`] and call [`SessionRow::apply`].
    pub fn admit(&self, fence: &Fence, commit: &Commit) -> Option<CommitOutcome> {
        let repeat = self.last_commit.as_ref().filter(|last| {
            last.operation == commit.operation && last.epoch == fence.epoch && self.epoch == fence.epoch
        });
        if let Some(last) = repeat.filter(|_| self.incarnation == fence.incarnation) {
            return Some(CommitOutcome::Committed(last.receipt));
        }
        if !self.admits(fence) {
            return Some(CommitOutcome::StaleFence { applied: self.was_applied(fence, commit) });
        }
        match commit.expected_version {
            Some(expected) if expected != self.version => {
                Some(CommitOutcome::VersionConflict { expected, actual: self.version })
            }
            Some(_) | None => None,
        }
    }

    /// Decides a commit that [`admit`](Self::admit) did not answer. If it returns `Ok`, the row has changed:
    /// write the row and everything that the commit names. If it returns `Err`, nothing has changed: return
    /// that outcome.
    pub fn apply(
        &mut self,
        commit: &Commit,
        facts: &CommitFacts,
        now: Timestamp,
    ) -> Result<Receipt, CommitOutcome> {
        let seen = self.check_facts(commit, facts)?;
        self.version = self.version.next();
        self.attempts = 0;
        self.updated_at = now;
        if let Some(state) = &commit.state {
            self.format = state.format;
        }
        self.last_message.0 += commit.messages.len() as u64;
        self.last_event.0 += commit.events.len() as u64;
        self.unread = self.unread.saturating_sub(commit.consumed.len() as u64);
        self.inbox_seen = seen;
        self.unseen = facts.unseen;
        if commit.interrupt_confirmed.is_some()
            && self.interrupt.as_ref().map(|waiting| &waiting.id) == commit.interrupt_confirmed.as_ref()
        {
            self.clear_interrupt();
        }
        if commit.run.is_some() {
            self.run_open = false;
        }
        if let Some(number) = commit.streamed {
            self.stream.end(StreamId { run: self.epoch, number });
        }
        match &commit.release {
            None => self.keep_lease(now),
            Some(Release::To { status, deadline, wake_on }) => {
                self.wake_on = *wake_on;
                self.release(*status, *deadline, now);
            }
            Some(Release::GiveBack { alarm }) => self.give_back(*alarm, now),
        }
        let receipt = self.receipt(now);
        self.last_commit =
            Some(LastCommit { operation: commit.operation.clone(), epoch: self.epoch, receipt });
        Ok(receipt)
    }

    fn check_facts(&self, commit: &Commit, facts: &CommitFacts) -> Result<InboxSeq, CommitOutcome> {
        // A run cannot have seen an item that does not exist yet. Later items must count.
        let seen = commit.inbox_seen.unwrap_or_default().min(self.last_item).max(self.inbox_seen);
        let mut staged: Vec<&StagedResult> = facts.staged.iter().collect();
        for result in &commit.stage {
            match staged.iter().find(|staged| staged.call == result.call) {
                Some(first) if first.payload != result.payload => {
                    return Err(CommitOutcome::StageConflict { call: result.call.clone() });
                }
                Some(_) => {}
                None => staged.push(result),
            }
        }
        let mut promoted: Vec<&CallId> = Vec::new();
        for message in &commit.messages {
            if let NewMessage::Promote(call) = message {
                if promoted.contains(&call) || !staged.iter().any(|staged| staged.call == *call) {
                    return Err(CommitOutcome::NotStaged { call: call.clone() });
                }
                promoted.push(call);
            }
        }
        for id in &commit.close {
            match facts.pending.iter().find(|(open, _)| open == id) {
                None => return Err(CommitOutcome::PendingConflict { pending: id.clone() }),
                Some((_, answer)) if *answer > seen => {
                    return Err(CommitOutcome::AnswerWaiting { pending: id.clone() });
                }
                Some(_) => {}
            }
        }
        let open = |id: &PendingId| facts.pending.iter().any(|(open, _)| open == id);
        let mut opened: Vec<&PendingId> = Vec::new();
        for new in &commit.open {
            if open(&new.id) || opened.contains(&&new.id) {
                return Err(CommitOutcome::PendingConflict { pending: new.id.clone() });
            }
            opened.push(&new.id);
        }
        let mut consumed: Vec<InboxSeq> = Vec::new();
        for seq in &commit.consumed {
            if *seq > seen || consumed.contains(seq) || !facts.consumable.contains(seq) {
                return Err(CommitOutcome::NotInInbox { seq: *seq });
            }
            consumed.push(*seq);
        }
        Ok(seen)
    }

    /// Releases the session, and sets the alarm so that no wake-up is lost.
    fn release(&mut self, status: SessionStatus, deadline: Option<Timestamp>, now: Timestamp) {
        self.lease = None;
        self.stream.open = false;
        self.status = status;
        if status.at_rest() && !self.abort_waits() {
            self.clear_interrupt();
        }
        if status == SessionStatus::Aborted {
            self.clear_interrupt();
            self.alarm = None;
            return;
        }
        self.alarm = if self.wanted_at_once() { Some(now) } else { deadline };
    }

    fn give_back(&mut self, alarm: Option<Timestamp>, now: Timestamp) {
        self.lease = None;
        self.stream.open = false;
        self.status = self.found;
        self.alarm = match self.found {
            SessionStatus::Active => Some(alarm.unwrap_or(now)),
            SessionStatus::Idle
            | SessionStatus::Suspended
            | SessionStatus::Interrupted
            | SessionStatus::Failed
            | SessionStatus::Aborted => {
                if self.wanted_at_once() {
                    Some(now)
                } else {
                    alarm
                }
            }
        };
    }

    fn wanted_at_once(&self) -> bool {
        let by_items =
            if self.status.at_rest() { self.unseen.any() } else { self.unseen.reaches(self.wake_on) };
        by_items || self.interrupt.is_some()
    }

    fn clear_interrupt(&mut self) {
        if let Some(interrupt) = self.interrupt.take() {
            self.last_interrupt = Some(interrupt.id);
        }
        self.interrupt_handed_to = None;
    }
}
