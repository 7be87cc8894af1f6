//! The data of each session.

use std::collections::{BTreeMap, BTreeSet};

use holdover_store::ids::{CallId, EventSeq, InboxSeq, ItemKey, MessageSeq, PendingId, SessionKey};
use holdover_store::payload::{Digest, Payload};
use holdover_store::rules::{CommitFacts, PageRoom, PendingFacts, SessionRow, Unseen};
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, Claim, Commit, INBOX_PAGE, InboxItem, InboxPage, ItemKind, Labels, PendingCall, RunRecord,
    Session, SessionSummary, Staged, StagedResult, StoredDelta, StoredEvent, StoredItem, StoredMessage, Wake,
};

/// All sessions by key.
pub type Sessions = BTreeMap<SessionKey, Record>;

/// All data of one session: its row, on which writes are decided, and everything that belongs to it.
#[derive(Debug, Clone)]
pub struct Record {
    /// The row on which writes are decided.
    pub row: SessionRow,
    /// The labels of the session.
    pub labels: Labels,
    /// The definition, as given at creation.
    pub definition: Payload,
    /// The newest state; none before the first.
    pub state: Option<Payload>,
    /// The messages, in order, without gaps.
    pub messages: Vec<StoredMessage>,
    /// The events, in order, without gaps.
    pub events: Vec<StoredEvent>,
    /// The deltas of the stream that runs, in order, without gaps.
    pub deltas: Vec<StoredDelta>,
    /// The checkpoints, in the order in which they were made.
    pub checkpoints: Vec<Checkpoint>,
    /// The records of the runs, in the order in which they began.
    pub runs: Vec<RunRecord>,
    /// The staged results that no commit has promoted or dropped, by call.
    pub staged: BTreeMap<CallId, Payload>,
    /// The start marks that were staged since the newest state.
    pub starts: BTreeSet<CallId>,
    /// The open pending calls, in the order in which they were opened.
    pub pending: Vec<PendingCall>,
    /// The id of every pending call that was ever opened.
    pub opened: BTreeSet<PendingId>,
    /// The items that no commit has consumed, each with its wake.
    pub inbox: BTreeMap<InboxSeq, (StoredItem, Wake)>,
    /// The key of every item that was ever accepted, with the item's place and digest.
    pub keys: BTreeMap<ItemKey, (InboxSeq, Digest)>,
}

impl Record {
    /// Makes the record of a session that has only its row, labels and definition.
    pub fn new(row: SessionRow, labels: Labels, definition: Payload) -> Self {
        Self {
            row,
            labels,
            definition,
            state: None,
            messages: Vec::new(),
            events: Vec::new(),
            deltas: Vec::new(),
            checkpoints: Vec::new(),
            runs: Vec::new(),
            staged: BTreeMap::new(),
            starts: BTreeSet::new(),
            pending: Vec::new(),
            opened: BTreeSet::new(),
            inbox: BTreeMap::new(),
            keys: BTreeMap::new(),
        }
    }

    /// Returns the session as `load_session` returns it.
    pub fn session(&self) -> Session {
        let staged = Staged { results: self.staged_results(), starts: self.starts.iter().cloned().collect() };
        self.row.session(self.labels.clone(), self.definition.clone(), self.state.clone(), staged)
    }

    /// Returns the session as `list_sessions` returns it.
    pub fn summary(&self) -> SessionSummary {
        self.row.summary(self.labels.clone())
    }

    /// Returns the newest claim with current data. Returns none if the session was never claimed.
    pub fn claim(&self, now: Timestamp) -> Option<Claim> {
        let inbox = self.unread_after(InboxSeq(0), INBOX_PAGE).items;
        self.row.newest_claim(self.session(), self.pending.clone(), inbox, now)
    }

    /// Returns at most `limit` items after `after` that are not consumed.
    pub fn unread_after(&self, after: InboxSeq, limit: u32) -> InboxPage {
        let mut room = PageRoom::new(limit.min(INBOX_PAGE) as usize);
        let mut unread = self.inbox.range(after.next()..).map(|(_, (item, _))| item).peekable();
        let mut items = Vec::new();
        while let Some(item) = unread.next_if(|item| room.takes(item.payload.len())) {
            items.push(item.clone());
        }
        InboxPage::new(items, unread.peek().is_some())
    }

    /// Returns the facts that the rules need about the open pending call that `item` answers, if there is
    /// one.
    pub fn pending_facts(&self, item: &InboxItem) -> Option<PendingFacts> {
        match &item.kind {
            ItemKind::Answer { pending, .. } => {
                self.pending.iter().find(|open| open.id == *pending).map(PendingFacts::from)
            }
            ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. } => None,
        }
    }

    /// Returns the facts that the rules need for `commit`.
    pub fn commit_facts(&self, commit: &Commit) -> CommitFacts {
        let seen = commit.inbox_seen.unwrap_or(self.row.inbox_seen).max(self.row.inbox_seen);
        let mut unseen = Unseen::default();
        for (_, (_, wake)) in self.inbox.range(seen.next()..) {
            unseen.add(*wake);
        }
        let open = self.pending.iter().filter(|pending| commit.close.contains(&pending.id));
        let reopened = commit.open.iter().filter(|new| self.opened.contains(&new.id));
        CommitFacts {
            staged: self.staged_results(),
            pending: open
                .map(|pending| (pending.id.clone(), pending.last_answer))
                .chain(reopened.map(|new| (new.id.clone(), InboxSeq(0))))
                .collect(),
            consumable: commit.consumed.iter().copied().filter(|seq| self.inbox.contains_key(seq)).collect(),
            unseen,
        }
    }

    /// Appends messages and events after the present ones.
    pub fn append(&mut self, messages: Vec<Payload>, events: Vec<Payload>, now: Timestamp) {
        for payload in messages {
            let seq = MessageSeq(self.messages.len() as u64 + 1);
            self.messages.push(StoredMessage { seq, at: now, payload });
        }
        for payload in events {
            let seq = EventSeq(self.events.len() as u64 + 1);
            self.events.push(StoredEvent { seq, at: now, payload });
        }
    }

    /// Replaces the row. If no stream runs after that, removes the deltas.
    pub fn set_row(&mut self, row: SessionRow) {
        self.row = row;
        if !self.row.stream.open {
            self.deltas.clear();
        }
    }

    pub(crate) fn staged_results(&self) -> Vec<StagedResult> {
        let staged = self.staged.iter();
        staged.map(|(call, payload)| StagedResult { call: call.clone(), payload: payload.clone() }).collect()
    }
}
