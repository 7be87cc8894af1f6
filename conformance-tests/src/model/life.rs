//! One life of a session: the row with the facts that decisions need, and lists of everything else.

use std::collections::BTreeSet;

use holdover_store::ids::{CallId, EventSeq, Fence, InboxSeq, MessageSeq};
use holdover_store::payload::{Digest, Payload};
use holdover_store::rules::{CommitFacts, PendingFacts, SessionRow, Unseen};
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, Commit, CommitOutcome, Delivery, DeltaBatch, DeltaOutcome, InboxItem, ItemKind, Labels,
    NewMessage, NewPending, PendingCall, Receipt, RunEnded, RunRecord, StagedResult, StoredDelta,
    StoredEvent, StoredItem, StoredMessage, Wake,
};

/// One life of a session.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) row: SessionRow,
    pub(crate) labels: Labels,
    pub(crate) definition: Payload,
    pub(crate) state: Option<Payload>,
    pub(crate) messages: Vec<StoredMessage>,
    pub(crate) events: Vec<StoredEvent>,
    /// The deltas of the latest stream. They are shown while the stream runs.
    pub(crate) deltas: Vec<StoredDelta>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) runs: Vec<RunRecord>,
    pub(crate) staged: Vec<StagedResult>,
    pub(crate) starts: BTreeSet<CallId>,
    /// Every pending call that was ever opened.
    pub(crate) asked: Vec<Asked>,
    /// Every item that was ever accepted.
    pub(crate) items: Vec<Item>,
}

/// A pending call, open or closed.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) call: PendingCall,
    pub(crate) open: bool,
}

/// An accepted item, consumed or not.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) stored: StoredItem,
    pub(crate) unread: bool,
    digest: Digest,
    wake: Wake,
}

impl Life {
    pub(crate) fn new(row: SessionRow, labels: &Labels, definition: &Payload) -> Self {
        Self {
            row,
            labels: labels.clone(),
            definition: definition.clone(),
            state: None,
            messages: Vec::new(),
            events: Vec::new(),
            deltas: Vec::new(),
            checkpoints: Vec::new(),
            runs: Vec::new(),
            staged: Vec::new(),
            starts: BTreeSet::new(),
            asked: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Accepts items until one is refused. The error holds the index of the refused item and the reason.
    pub(super) fn accept_all(
        &mut self,
        items: &[&InboxItem],
        now: Timestamp,
    ) -> Result<(), (usize, Delivery)> {
        for (index, item) in items.iter().enumerate() {
            self.accept(item, now).map_err(|refusal| (index, refusal))?;
        }
        Ok(())
    }

    fn accept(&mut self, item: &InboxItem, now: Timestamp) -> Result<(), Delivery> {
        let known = self.items.iter().find(|earlier| earlier.stored.key == item.key);
        let known = known.map(|earlier| (earlier.stored.seq, earlier.digest));
        let mut answers = self.asked.iter_mut().find(|asked| match &item.kind {
            ItemKind::Answer { pending, .. } => asked.open && asked.call.id == *pending,
            ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. } => false,
        });
        let pending = answers.as_ref().map(|asked| PendingFacts::from(&asked.call));
        let arrival = self.row.accept(item, known, pending, now)?;
        if let (Some(asked), Some(answered)) = (&mut answers, arrival.answered) {
            asked.call.answered = answered;
            asked.call.last_answer = arrival.seq;
        }
        let InboxItem { key, kind, payload, .. } = item.clone();
        let stored = StoredItem { seq: arrival.seq, key, kind, payload, at: now };
        self.items.push(Item { stored, unread: true, digest: item.digest(), wake: arrival.wake });
        Ok(())
    }

    /// Keeps the first result of a call. Fails if the call already has a different result.
    pub(super) fn stage(&mut self, result: &StagedResult) -> Result<(), ()> {
        match self.staged.iter().find(|staged| staged.call == result.call) {
            Some(first) if first.payload != result.payload => Err(()),
            Some(_) => Ok(()),
            None => {
                self.staged.push(result.clone());
                Ok(())
            }
        }
    }

    /// Applies a commit that the row has admitted. Fails with the outcome if one of its parts is refused.
    pub(super) fn commit(&mut self, commit: &Commit, now: Timestamp) -> Result<Receipt, CommitOutcome> {
        let facts = self.facts(commit);
        let receipt = self.row.apply(commit, &facts, now)?;
        if let Some(state) = &commit.state {
            self.state = Some(state.payload.clone());
            self.starts.clear();
            if commit.checkpoint {
                self.checkpoints.push(self.row.checkpoint(state.payload.clone(), now));
            }
        }
        for result in &commit.stage {
            // A conflict is impossible here: the first result stays.
            let _ = self.stage(result);
        }
        let messages = commit.messages.iter().filter_map(|message| self.promoted(message)).collect();
        let is_promoted = |call: &CallId| commit.messages.contains(&NewMessage::Promote(call.clone()));
        self.staged.retain(|staged| !commit.ends_staging() && !is_promoted(&staged.call));
        self.append(messages, commit.events.clone(), now);
        for asked in &mut self.asked {
            asked.open &= !commit.close.contains(&asked.call.id);
        }
        for new in &commit.open {
            self.ask(new, now);
        }
        for item in &mut self.items {
            item.unread &= !commit.consumed.contains(&item.stored.seq);
        }
        if let (Some(end), Some(run)) = (&commit.run, self.runs.last_mut()) {
            let detail = Some(end.detail.clone());
            run.end.get_or_insert(RunEnded { at: now, outcome: end.outcome, detail });
        }
        Ok(receipt)
    }

    fn facts(&self, commit: &Commit) -> CommitFacts {
        let seen = commit.inbox_seen.unwrap_or_default().max(self.row.inbox_seen);
        let unread = || self.items.iter().filter(|item| item.unread);
        let mut unseen = Unseen::default();
        unread().filter(|item| item.stored.seq > seen).for_each(|item| unseen.add(item.wake));
        let names = |asked: &&Asked| {
            let id = &asked.call.id;
            asked.open && commit.close.contains(id) || commit.open.iter().any(|new| new.id == *id)
        };
        CommitFacts {
            staged: self.staged.clone(),
            pending: self.asked.iter().filter(names).map(fact).collect(),
            consumable: unread().map(|item| item.stored.seq).collect(),
            unseen,
        }
    }

    fn promoted(&self, message: &NewMessage) -> Option<Payload> {
        match message {
            NewMessage::Inline(payload) => Some(payload.clone()),
            NewMessage::Promote(call) => {
                self.staged.iter().find(|staged| staged.call == *call).map(|staged| staged.payload.clone())
            }
        }
    }

    pub(super) fn append(&mut self, messages: Vec<Payload>, events: Vec<Payload>, now: Timestamp) {
        for payload in messages {
            let seq = MessageSeq(self.messages.len() as u64 + 1);
            self.messages.push(StoredMessage { seq, at: now, payload });
        }
        for payload in events {
            let seq = EventSeq(self.events.len() as u64 + 1);
            self.events.push(StoredEvent { seq, at: now, payload });
        }
    }

    fn ask(&mut self, new: &NewPending, now: Timestamp) {
        let NewPending { id, call, kind, needed, deadline, body } = new.clone();
        let call = PendingCall {
            key: self.row.key.clone(),
            incarnation: self.row.incarnation,
            id,
            call,
            kind,
            needed,
            answered: 0,
            last_answer: InboxSeq(0),
            deadline,
            body,
            opened_at: now,
        };
        self.asked.push(Asked { call, open: true });
    }

    pub(super) fn append_deltas(&mut self, fence: &Fence, batch: &DeltaBatch) -> Result<(), DeltaOutcome> {
        let streamed = self.row.stream(fence, batch)?;
        if streamed.replaces {
            self.deltas.clear();
        }
        let new = (batch.first..).zip(batch.deltas.clone()).skip(streamed.skip);
        self.deltas.extend(new.map(|(place, payload)| StoredDelta { place, payload }));
        Ok(())
    }
}

fn fact(asked: &Asked) -> (holdover_store::ids::PendingId, InboxSeq) {
    (asked.call.id.clone(), if asked.open { asked.call.last_answer } else { InboxSeq(0) })
}
