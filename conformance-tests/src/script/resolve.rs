//! Turns an operation of a script into a request to a store.

use holdover_store::ids::{CheckpointId, Epoch, Fence, InboxSeq, RunId, StateFormat, Version};
use holdover_store::time::Timestamp;
use holdover_store::{
    CheckpointQuery, ClaimDue, ClaimOne, Commit, Deletion, DeltaBatch, EventCursor, InboxItem, Interrupt,
    InterruptKind, ItemKind, Labels, NewFork, NewMessage, NewPending, NewSession, NewState, OutcomeKind,
    PageRequest, PendingKind, PendingQuery, Queues, Release, Remove, Request, RetentionRule, RunEnd,
    SessionQuery, StagedResult, Staging, Start, StatusCas, TimeRange,
};
use std::num::NonZeroU32;

use super::play::{LEASE, Play, duration};
use super::{Begin, First, Item, Leave, Look, Meant, Named, Op, Part, Place, Run, Span, Text, When, Who};
use crate::fixture::{bytes, id};
use crate::model;

impl Play {
    /// Returns the request of the operation. Returns `None` if it makes no request, or none that this store supports.
    pub(super) fn resolve(&self, op: &Op) -> Option<Request> {
        Some(match op {
            Op::Pass(_) => return None,
            Op::Create { who, begin, items, life } => {
                Request::Create(self.create(*who, *begin, items, *life))
            }
            Op::Delete { who, version, forced } => {
                let expected_version = self.version(*who, *version);
                let deletion = if *forced { Deletion::FORCE } else { Deletion::UNLESS_ACTIVE };
                Request::Delete(who.key(), Deletion { expected_version, ..deletion })
            }
            Op::Claim { who, version, items } => {
                let expected_version = self.version(*who, *version);
                Request::Claim(who.key(), ClaimOne { expected_version, ..self.one(items) })
            }
            Op::ClaimWithAnswer(who) => {
                let answer = self.answer(*who, 0, Text::One, 1, false, Meant::ThisLife);
                Request::Claim(who.key(), ClaimOne { items: vec![answer], ..self.one(&[]) })
            }
            Op::ClaimDue { count, queue, format, tenant_of } => {
                // The order is known only where cases move the clock.
                if !self.powers.moves_time {
                    return None;
                }
                Request::ClaimDue(ClaimDue {
                    runs: (0..*count).map(|nth| id(&format!("{}-{nth}", self.name("run")))).collect(),
                    worker: id("worker"),
                    lease: LEASE,
                    queues: queue.map_or(Queues::All, |queue| Queues::Named(vec![queue_of(queue)])),
                    newest_format: StateFormat(*format),
                    tenant: tenant_of.map(|who| who.key().tenant),
                })
            }
            Op::Retry { who, version, to, items } => {
                let expected_version = self.version(*who, *version).unwrap_or(Version(1));
                let items = self.items(items, "item");
                Request::Move(who.key(), StatusCas { incarnation: None, expected_version, to: *to, items })
            }
            Op::Renew { who, run, span } => Request::Renew(self.fence(*who, *run), duration(*span)),
            Op::Stage { who, run, results, starts } => {
                let results = results.iter().map(|(call, text)| result(*call, *text)).collect();
                let starts = starts.iter().map(|call| id(&format!("call-{call}"))).collect();
                Request::Stage(self.fence(*who, *run), Staging { results, starts })
            }
            Op::Commit { who, run, version, parts, leave } => {
                let base = Commit {
                    expected_version: self.version(*who, *version),
                    release: self.release(*leave),
                    ..Commit::new(id(&self.name("commit")))
                };
                let commit = parts.iter().fold(base, |commit, part| self.with(*who, commit, *part));
                Request::Commit(self.fence(*who, *run), commit)
            }
            Op::Deltas { who, run, stream, first, count } => {
                Request::Stream(self.fence(*who, *run), self.deltas(*who, *stream, *first, *count))
            }
            Op::TakeInterrupt { who, run } => Request::TakeInterrupt(self.fence(*who, *run)),
            Op::Deliver { who, item, life, signal } => {
                let mut item = InboxItem { incarnation: self.life(*who, *life), ..self.item(item, "item") };
                if let (true, ItemKind::Message { wake }) = (*signal, &item.kind) {
                    item.kind = ItemKind::Signal { wake: *wake };
                }
                Request::Deliver(who.key(), item)
            }
            Op::Answer { who, key, text, pending, settles, life } => {
                Request::Deliver(who.key(), self.answer(*who, *key, *text, *pending, *settles, *life))
            }
            Op::Interrupt { who, abort } => Request::Interrupt(who.key(), self.interrupt(*abort)),
            Op::Fork { from, at, to, status, life } if self.powers.forks => {
                let fork = NewFork {
                    source: self.life(*from, *life).unwrap_or(self.incarnation(*from, 0)),
                    key: to.key(),
                    incarnation: self.incarnation(*to, 1),
                    operation: id(&self.name("fork")),
                    queue: queue_of(1),
                    labels: Labels::from_iter([("forked", "yes")]),
                    definition: bytes("forked"),
                    status: *status,
                    state: NewState { format: StateFormat(1), payload: bytes("fork") },
                    messages: vec![bytes("closes")],
                    events: vec![bytes("forked")],
                };
                Request::Fork(from.key(), self.checkpoint(*from, *at), fork)
            }
            Op::PurgeSessions { older_than, status, count } => {
                let limit = NonZeroU32::new(u32::from(*count)).unwrap_or(NonZeroU32::MIN);
                let status = status.iter().copied().collect();
                let rule = self.rule(*older_than, Remove::Sessions)?;
                Request::Purge(RetentionRule { status, limit, ..rule })
            }
            Op::PurgeCheckpoints { older_than, keep } => {
                let keep = NonZeroU32::new(u32::from(*keep)).unwrap_or(NonZeroU32::MIN);
                Request::Purge(self.rule(*older_than, Remove::Checkpoints { keep })?)
            }
            Op::Fork { .. } => return None,
            Op::Again(ago) => {
                let at = self.asked.len().checked_sub(usize::from(*ago).max(1))?;
                self.asked.get(at)?.clone()
            }
            Op::Look { who, at } => self.look(*who, *at),
        })
    }

    /// Returns an id that is unique in this script.
    fn name(&self, what: &str) -> String {
        format!("{what}-{}", self.asked.len())
    }

    fn there(&self, who: Who) -> Option<&model::Life> {
        self.model.life(&who.key())
    }

    fn create(&self, who: Who, begin: Begin, items: &[Item], life: Meant) -> NewSession {
        let items = self.items(items, "first");
        let incarnation = match life {
            Meant::AnyLife => None,
            Meant::ThisLife => Some(self.incarnation(who, 1)),
            Meant::EarlierLife => Some(self.incarnation(who, -1)),
        };
        let meant_for = |item: InboxItem| InboxItem { incarnation, ..item };
        NewSession {
            key: who.key(),
            incarnation: self.incarnation(who, 1),
            operation: id(&self.name("create")),
            queue: queue_of(1 + u8::from(who == Who::B)),
            labels: Labels::from_iter([("who", format!("{who:?}"))]),
            definition: bytes(&self.name("definition")),
            format: StateFormat(1),
            items: items.into_iter().map(meant_for).collect(),
            start: match begin {
                Begin::Resting => Start::WithItems,
                Begin::Due(when) => Start::At(self.instant(when).unwrap_or(Timestamp::EPOCH)),
                Begin::Held => Start::Claimed(self.one(&[])),
            },
        }
    }

    fn one(&self, items: &[Item]) -> ClaimOne {
        ClaimOne {
            run: id::<RunId>(&self.name("run")),
            worker: id("worker"),
            lease: LEASE,
            expected_version: None,
            items: self.items(items, "carried"),
        }
    }

    fn items(&self, items: &[Item], what: &str) -> Vec<InboxItem> {
        let named = |(nth, item)| self.item(item, &format!("{what}-{nth}"));
        items.iter().enumerate().map(named).collect()
    }

    fn item(&self, item: &Item, fresh: &str) -> InboxItem {
        let key = self.key(item.key, fresh);
        let kind = ItemKind::Message { wake: item.wake };
        InboxItem { key: id(&key), kind, incarnation: None, payload: text(item.text) }
    }

    fn key(&self, key: u8, fresh: &str) -> String {
        if key == 0 { self.name(fresh) } else { format!("key-{key}") }
    }

    fn answer(&self, who: Who, key: u8, said: Text, pending: u8, settles: bool, life: Meant) -> InboxItem {
        InboxItem {
            key: id(&self.key(key, "answer")),
            kind: ItemKind::Answer { pending: id(&format!("pending-{pending}")), settles },
            incarnation: self.life(who, life),
            payload: text(said),
        }
    }

    fn interrupt(&self, abort: bool) -> Interrupt {
        let kind = if abort { InterruptKind::Abort } else { InterruptKind::Soft };
        let (id, at) = (id(&self.name("stop")), Timestamp::EPOCH);
        Interrupt { id, kind, reason: "asked to".into(), at, incarnation: None }
    }

    fn fence(&self, who: Who, run: Run) -> Fence {
        let epoch = self.there(who).map_or(Epoch(1), |life| life.row.epoch);
        let (incarnation, epoch) = match run {
            Run::Newest => (self.incarnation(who, 0), epoch),
            Run::Older => (self.incarnation(who, 0), Epoch(epoch.0.saturating_sub(1))),
            Run::OtherLife => (self.incarnation(who, -1), epoch),
        };
        Fence { key: who.key(), incarnation, epoch }
    }

    fn life(&self, who: Who, life: Meant) -> Option<holdover_store::ids::Incarnation> {
        match life {
            Meant::AnyLife => None,
            Meant::ThisLife => Some(self.incarnation(who, 0)),
            Meant::EarlierLife => Some(self.incarnation(who, -1)),
        }
    }

    fn version(&self, who: Who, named: Named) -> Option<Version> {
        let right = self.there(who).map_or(Version(1), |life| life.row.version);
        match named {
            Named::NoVersion => None,
            Named::Right => Some(right),
            Named::Wrong => Some(Version(right.0.saturating_sub(1))),
        }
    }

    fn instant(&self, when: When) -> Option<Timestamp> {
        match when {
            When::Never => None,
            When::Before => Some(Timestamp::from_ms(self.model.now.as_ms() - 1)),
            When::Soon => Some(self.model.now.after(LEASE / 2)),
        }
    }

    fn release(&self, leave: Leave) -> Option<Release> {
        match leave {
            Leave::Stay => None,
            Leave::To { status, deadline, wake_on } => {
                Some(Release::To { status, deadline: self.instant(deadline), wake_on })
            }
            Leave::GiveBack(alarm) => Some(Release::GiveBack { alarm: self.instant(alarm) }),
        }
    }

    fn with(&self, who: Who, mut commit: Commit, part: Part) -> Commit {
        let life = self.there(who);
        match part {
            Part::State(said) | Part::Keep(said) => {
                commit.checkpoint |= matches!(part, Part::Keep(_));
                commit.state = Some(NewState { format: StateFormat(2), payload: text(said) });
            }
            Part::Checkpoint => commit.checkpoint = true,
            Part::Say(said) => commit.messages.push(NewMessage::Inline(text(said))),
            Part::Promote(call) => commit.messages.push(NewMessage::Promote(id(&format!("call-{call}")))),
            Part::StageNow(call, said) => commit.stage.push(result(call, said)),
            Part::Event(said) => commit.events.push(text(said)),
            Part::Streamed(number) => commit.streamed = Some(number),
            Part::Open { pending, needed, deadline } => {
                let deadline = self.instant(deadline);
                commit.open.push(new_pending(pending, needed, deadline));
            }
            Part::Close(pending) => commit.close.push(id(&format!("pending-{pending}"))),
            Part::Consume => {
                let left = |seq: &InboxSeq| !commit.consumed.contains(seq);
                let unread = life.map(model::Life::unread).unwrap_or_default();
                let oldest = unread.iter().map(|item| item.seq).find(left);
                let none = life.map_or(InboxSeq(1), |life| life.row.last_item.next());
                let seq = oldest.unwrap_or(none);
                commit.inbox_seen = commit.inbox_seen.max(Some(seq));
                commit.consumed.push(seq);
            }
            Part::Seen => commit.inbox_seen = life.map(|life| life.row.last_item),
            Part::ConfirmInterrupt => {
                let waits = life.and_then(|life| life.row.interrupt.as_ref());
                commit.interrupt_confirmed = Some(waits.map_or(id("none"), |waits| waits.id.clone()));
            }
            Part::End(nth) => {
                let outcome = OutcomeKind::ALL.get(usize::from(nth)).copied();
                let outcome = outcome.unwrap_or(OutcomeKind::Completed);
                commit.run = Some(RunEnd { outcome, detail: bytes("detail") });
            }
        }
        commit
    }

    fn deltas(&self, who: Who, stream: u32, first: First, count: u8) -> DeltaBatch {
        let running = self.there(who).map(|life| life.row.stream);
        let continued = running.filter(|running| running.id.number == stream && running.open);
        let last = continued.map_or(0, |running| running.last);
        let first = match first {
            First::Next => last + 1,
            First::Start => 1,
            First::Gap => last + 2,
        };
        let deltas =
            (first..).take(usize::from(count)).map(|place| bytes(&format!("delta {place}"))).collect();
        DeltaBatch { stream, first, deltas }
    }

    fn checkpoint(&self, of: Who, at: Place) -> CheckpointId {
        let all = self.there(of).map(|life| life.checkpoints.as_slice()).unwrap_or_default();
        let found = match at {
            Place::NewestCheckpoint => all.last(),
            Place::OldestCheckpoint => all.first(),
            Place::NoCheckpoint => None,
        };
        found.map_or(CheckpointId(1_000), |checkpoint| checkpoint.id)
    }

    /// Returns a retention rule. Returns `None` if the store cannot purge, or if the age of sessions is not known
    /// because cases cannot move the clock.
    fn rule(&self, older_than: Span, remove: Remove) -> Option<RetentionRule> {
        let ago = i64::try_from(duration(older_than).as_millis()).unwrap_or_default();
        let rule = RetentionRule {
            tenant: None,
            status: Vec::new(),
            unchanged_since: Timestamp::from_ms(self.model.now.as_ms() - ago + 1),
            remove,
            limit: NonZeroU32::MAX,
            after: None,
        };
        (self.powers.retention && self.powers.moves_time).then_some(rule)
    }

    fn look(&self, who: Who, at: Look) -> Request {
        let key = who.key();
        match at {
            Look::Session => Request::Load(key),
            Look::Sessions => Request::ListSessions(self.sessions(who)),
            Look::PendingCalls => Request::ListPending(PendingQuery::all(key.tenant)),
            Look::Messages { from, to } => Request::ReadMessages(key, vec![crate::fixture::range(from, to)]),
            Look::Inbox { after, limit } => Request::ReadInbox(key, InboxSeq(after), limit),
            Look::Events { of, limit } => {
                let cursor = match of {
                    Meant::AnyLife => EventCursor::START,
                    Meant::ThisLife => self.there(who).map_or(EventCursor::START, model::Life::cursor),
                    Meant::EarlierLife => EventCursor::after(self.incarnation(who, -1), Default::default()),
                };
                Request::ReadEvents(key, cursor, limit)
            }
            Look::Runs => Request::ListRuns(key, PageRequest::default()),
            Look::Checkpoints => Request::ListCheckpoints(CheckpointQuery::all(key)),
        }
    }
}

impl Play {
    /// Returns a query for all sessions of a tenant, or for those created or changed before or after this session. The
    /// choice follows from the number of earlier requests instead of a random draw, so other draws do not depend on it.
    fn sessions(&self, who: Who) -> SessionQuery {
        let all = SessionQuery::all(who.key().tenant);
        let Some(life) = self.there(who).filter(|_| self.powers.moves_time) else { return all };
        let (born, last) = (life.row.created_at, life.row.updated_at);
        match self.asked.len() % 5 {
            1 => SessionQuery { created: TimeRange::since(born), ..all },
            2 => SessionQuery { created: TimeRange::before(born), ..all },
            3 => SessionQuery { changed: TimeRange::since(last), ..all },
            4 => SessionQuery { changed: TimeRange::before(last), ..all },
            _ => all,
        }
    }
}

fn queue_of(number: u8) -> holdover_store::ids::QueueLabel {
    id(&format!("queue-{number}"))
}

fn text(text: Text) -> holdover_store::payload::Payload {
    bytes(match text {
        Text::One => "one",
        Text::Other => "another",
    })
}

fn result(call: u8, said: Text) -> StagedResult {
    StagedResult { call: id(&format!("call-{call}")), payload: text(said) }
}

fn new_pending(pending: u8, needed: u32, deadline: Option<Timestamp>) -> NewPending {
    NewPending {
        id: id(&format!("pending-{pending}")),
        call: id(&format!("call-{pending}")),
        kind: PendingKind::Approval,
        needed,
        deadline,
        body: bytes("asked"),
    }
}
