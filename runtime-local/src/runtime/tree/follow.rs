//! The reader behind [`Runtime::follow_tree`]: one reader for each session that is followed, merged.
//!
//! Each reader runs in a task of its own. A task that waits for its follower holds no read of the store, so it
//! keeps its turn from nobody.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use holdover_core::children::ChildNames;
use holdover_core::event::Event;
use holdover_core::ids::{PendingId, SessionKey};
use holdover_core::store::{EventCursor, EventPlace};
use tokio::sync::mpsc::{self, Receiver};

use super::cursor::{FOLLOWED_MAX, OpenCall, OpenChild, TreeCursor};
use super::events::{TreeMember, TreeShown};
use super::view::ChildPlace;
use crate::error::RuntimeError;
use crate::guard::{Guarded, guarded};
use crate::runtime::tail::Tail;
use crate::runtime::{EventEntry, Follow, Runtime, Shown};

/// The number of items of a session that are read ahead of the follower.
const AHEAD: usize = 16;

/// The state of a call whose children have been created, as events name it.
const WAITS: &str = "blocked_on_child";

pub(super) struct TreeTail {
    runtime: Runtime,
    root: SessionKey,
    follow: Follow,
    deltas: bool,
    cursor: TreeCursor,
    feeds: FuturesUnordered<BoxFuture<'static, (Feed, Option<Read>)>>,
    /// The sessions that are read now. Others of the cursor have nothing more to show as far as is known.
    reading: HashSet<Who>,
    /// Events that tell of the end of calls whose children are not over yet.
    held: Vec<(Feed, Shown)>,
    /// Events that were held, and need not be any more.
    ready: VecDeque<(Feed, Shown)>,
    /// Calls that have ended, of which an event is held.
    settled: HashSet<PendingId>,
    /// Whether anything was shown since each session was last read to its end.
    has_shown: bool,
}

type Read = Result<Shown, RuntimeError>;

/// A session of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    Root,
    Child { pending: PendingId, index: u32 },
}

/// The items of one session.
struct Feed {
    who: Who,
    member: Arc<TreeMember>,
    /// How far the session is followed.
    follow: Follow,
    items: Receiver<Read>,
    _task: Guarded<()>,
}

impl TreeTail {
    /// Begins to read in tasks of the present tokio runtime.
    pub(super) fn new(
        runtime: Runtime,
        root: SessionKey,
        cursor: TreeCursor,
        follow: Follow,
        deltas: bool,
    ) -> Self {
        let mut tail = Self {
            runtime,
            root,
            follow,
            deltas,
            cursor,
            feeds: FuturesUnordered::new(),
            reading: HashSet::new(),
            held: Vec::new(),
            ready: VecDeque::new(),
            settled: HashSet::new(),
            has_shown: false,
        };
        tail.read_all();
        tail
    }

    pub(super) async fn next(&mut self) -> Result<Option<TreeShown>, RuntimeError> {
        loop {
            self.take_up();
            if let Some((feed, shown)) = self.ready.pop_front() {
                if let Some(shown) = self.show(feed, shown) {
                    return Ok(Some(shown));
                }
                continue;
            }
            match self.feeds.next().await {
                Some((feed, Some(Ok(shown)))) => {
                    if let Some(shown) = self.show(feed, shown) {
                        return Ok(Some(shown));
                    }
                }
                Some((feed, Some(Err(error)))) => self.failed(&feed, error)?,
                Some((feed, None)) => self.ended(&feed),
                None if self.follow == Follow::UntilParked && self.has_shown => self.read_all(),
                None => return Ok(None),
            }
        }
    }

    /// Shows an item, unless it tells of the end of a call whose children are not over. Then it is held.
    fn show(&mut self, feed: Feed, shown: Shown) -> Option<TreeShown> {
        if let Shown::Event(entry) = &shown {
            let ended = self.calls_ended_by(&feed, &entry.event);
            if !ended.is_empty() {
                self.held.push((feed, shown));
                ended.iter().for_each(|pending| self.settle(pending));
                return None;
            }
        }
        self.has_shown = true;
        let (_, place) = shown.cursor().parts();
        match &feed.who {
            Who::Root => self.cursor.root = shown.cursor(),
            Who::Child { pending, index } => self.cursor.move_child(pending, *index, place),
        }
        let mut is_last = false;
        if let Shown::Event(entry) = &shown {
            self.note(&feed, entry);
            is_last = feed.who != Who::Root && matches!(entry.event, Event::Done { .. });
        }
        let member = Arc::clone(&feed.member);
        if is_last {
            self.close(&feed.who);
        } else {
            self.listen(feed);
        }
        Some(TreeShown { cursor: self.cursor.clone(), member, shown })
    }

    /// The calls with children to follow of which this event tells that they have ended.
    fn calls_ended_by(&self, feed: &Feed, event: &Event) -> Vec<PendingId> {
        let parent = &feed.member.session;
        let ends = |call: &&OpenCall| {
            if let Event::Call { call: of, is, .. } = event {
                is != WAITS && call.is_of(parent, of)
            } else {
                matches!(event, Event::AgentEnd { .. } | Event::Done { .. }) && call.parent == *parent
            }
        };
        self.cursor.calls.iter().filter(ends).map(|call| call.pending.clone()).collect()
    }

    /// Notes calls whose children are to be followed.
    fn note(&mut self, feed: &Feed, entry: &EventEntry) {
        let parent = &feed.member.session;
        if let Event::Asked { tool, pending, children, .. } = &entry.event
            && let Ok(tool) = tool.parse()
            && let (Some((life, _)), (own, _)) = (pending.parts(), entry.cursor.parts())
            // The events of a fork's source tell of children that the fork does not have.
            && own == Some(life)
            && *children > 0
        {
            self.cursor.calls.push(OpenCall {
                parent: parent.clone(),
                depth: feed.member.depth + 1,
                tool,
                pending: pending.clone(),
                count: *children,
                is_created: false,
                next: 0,
                open: Vec::new(),
            });
        }
        if let Event::Call { call: of, is, .. } = &entry.event
            && is == WAITS
            && let Some(call) = self.cursor.calls.iter_mut().find(|call| call.is_of(parent, of))
        {
            call.is_created = true;
            let pending = call.pending.clone();
            self.read_resting(&pending);
        }
    }

    /// Follows children that wait to be followed, as far as there is room.
    fn take_up(&mut self) {
        while self.cursor.followed() < FOLLOWED_MAX {
            let Some(call) = self.cursor.calls.iter_mut().find(|call| call.next < call.count) else { return };
            let (pending, index) = (call.pending.clone(), call.next);
            call.next += 1;
            call.open.push(OpenChild::new(index));
            self.read(Who::Child { pending, index });
        }
    }

    /// The call has ended, and so its children end: they are read to their ends.
    fn settle(&mut self, pending: &PendingId) {
        if self.settled.insert(pending.clone()) {
            self.read_resting(pending);
        }
    }

    /// Reads the children of a call that are followed and not read now.
    fn read_resting(&mut self, pending: &PendingId) {
        let open = self.cursor.call(pending).map(|call| call.open.clone()).unwrap_or_default();
        for OpenChild { index, .. } in open {
            self.read(Who::Child { pending: pending.clone(), index });
        }
    }

    fn read_all(&mut self) {
        self.has_shown = false;
        self.read(Who::Root);
        let calls: Vec<PendingId> = self.cursor.calls.iter().map(|call| call.pending.clone()).collect();
        calls.iter().for_each(|pending| self.read_resting(pending));
    }

    /// Reads a session on from its place, unless it is read already.
    fn read(&mut self, who: Who) {
        if self.reading.contains(&who) {
            return;
        }
        let Some((member, cursor)) = self.member(&who) else { return };
        let follow = self.follow_of(&who);
        self.reading.insert(who.clone());
        let key = SessionKey::new(self.root.tenant.clone(), member.session.clone());
        let mut tail = Tail::new(self.runtime.clone(), key, cursor, follow, self.deltas);
        let (send, items) = mpsc::channel(AHEAD);
        let task = guarded(async move {
            while let Some(read) = tail.next().await.transpose() {
                let failed = read.is_err();
                if send.send(read).await.is_err() || failed {
                    return;
                }
            }
        });
        self.listen(Feed { who, member: Arc::new(member), follow, items, _task: task });
    }

    fn member(&self, who: &Who) -> Option<(TreeMember, EventCursor)> {
        let Who::Child { pending, index } = who else {
            return Some((TreeMember::root(self.root.id.clone()), self.cursor.root));
        };
        let call = self.cursor.calls.iter().find(|call| call.pending == *pending)?;
        let child = call.open.iter().find(|child| child.index == *index)?;
        let names = ChildNames::of(pending, *index).ok()?;
        let place = ChildPlace { parent: call.parent.clone(), call: pending.parts()?.1, index: *index };
        let member = TreeMember {
            session: names.id,
            depth: call.depth,
            place: Some(place),
            tool: Some(call.tool.clone()),
        };
        let place = EventPlace { after: child.after, within: child.within };
        Some((member, EventCursor::at(names.incarnation, place)))
    }

    fn follow_of(&self, who: &Who) -> Follow {
        match (who, self.follow) {
            (Who::Root, follow) => follow,
            (Who::Child { pending, .. }, _) if self.settled.contains(pending) => Follow::UntilRest,
            (Who::Child { .. }, Follow::Forever | Follow::UntilRest) => Follow::UntilRest,
            (Who::Child { .. }, follow) => follow,
        }
    }

    fn listen(&self, mut feed: Feed) {
        self.feeds.push(Box::pin(async move {
            let read = feed.items.recv().await;
            (feed, read)
        }));
    }

    /// A session cannot be read. A child that is not there is over, unless it may still be created.
    fn failed(&mut self, feed: &Feed, error: RuntimeError) -> Result<(), RuntimeError> {
        let Who::Child { pending, .. } = &feed.who else { return Err(error) };
        let (RuntimeError::NotFound { .. } | RuntimeError::Gone { .. }) = error else { return Err(error) };
        self.reading.remove(&feed.who);
        let is_created = self.cursor.call(pending).is_none_or(|call| call.is_created);
        if is_created || self.settled.contains(pending) {
            self.close(&feed.who);
        }
        Ok(())
    }

    /// A session has nothing more to show for now.
    fn ended(&mut self, feed: &Feed) {
        self.reading.remove(&feed.who);
        let Who::Child { pending, .. } = &feed.who else { return };
        if feed.follow == Follow::UntilRest {
            self.close(&feed.who);
        } else if self.settled.contains(pending) {
            self.read(feed.who.clone());
        }
    }

    /// A child is over. So may be its call, and with it the reason for holding events.
    fn close(&mut self, who: &Who) {
        self.reading.remove(who);
        let Who::Child { pending, index } = who else { return };
        self.cursor.close_child(pending, *index);
        if self.cursor.call(pending).is_none() {
            self.settled.remove(pending);
            self.ready.extend(self.held.drain(..));
        }
    }
}
