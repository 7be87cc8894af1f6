//! The reader behind [`Runtime::follow_tree`]. It merges the items of one reader for each followed session.
//!
//! Each reader runs in a task of its own. While a reader waits for its follower, it holds no read of the store, so
//! it delays no other reader.

mod taking_up;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use holdover_core::children::ChildNames;
use holdover_core::event::Event;
use holdover_core::ids::{PendingId, SessionKey};
use holdover_core::store::{EventCursor, EventPlace};

pub(super) use taking_up::KEPT;

use super::cursor::{OpenCall, OpenChild, TreeCursor};
use super::events::{TreeMember, TreeShown};
use super::feed::{Began, Feed, Read, Reader, Who};
use super::view::ChildPlace;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::runtime::tail::Until;
use crate::runtime::{Follow, Runtime, Shown};

/// The state of a call whose children have been created, as events name this state.
const WAITS: &str = "blocked_on_child";

pub(super) struct TreeTail {
    runtime: Runtime,
    root: SessionKey,
    follow: Follow,
    deltas: bool,
    cursor: TreeCursor,
    feeds: FuturesUnordered<BoxFuture<'static, (Feed, Read)>>,
    /// The sessions that are being read. As far as is known, the other sessions of the cursor have nothing more to
    /// show.
    reading: HashSet<Who>,
    /// Events that are held: each reports the end of a call whose children are not over yet.
    held: Vec<(Feed, Shown)>,
    /// Events that were held and are to be checked again. Each is then shown, or held again.
    ready: VecDeque<(Feed, Shown)>,
    /// For each call, a flag that tells the readers of its children whether the call has ended.
    settled: HashMap<PendingId, Arc<AtomicBool>>,
    /// Children for which no event is held: stopped children that no run holds, and children in the background.
    loose: HashSet<Who>,
    /// Children whose turns are over, but which have calls with children that are not over.
    finished: HashSet<Who>,
    /// True if an item was shown since all sessions were last read.
    has_shown: bool,
}

impl TreeTail {
    /// Starts the readers in tasks of the present tokio runtime.
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
            settled: HashMap::new(),
            loose: HashSet::new(),
            finished: HashSet::new(),
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
            if self.is_at_rest() {
                return Ok(None);
            }
            match self.feeds.next().await {
                Some((feed, Read::Shown(shown))) => {
                    if let Some(shown) = self.show(feed, shown) {
                        return Ok(Some(shown));
                    }
                }
                Some((feed, Read::Failed(error))) => self.failed(&feed, error)?,
                Some((feed, Read::Over { has_ended })) => self.over(&feed, has_ended),
                None if self.follow == Follow::UntilParked && self.has_shown => self.read_all(),
                None => return Ok(None),
            }
        }
    }

    /// Returns true if following ends at rest ([`Follow::UntilRest`]), no event is held, and only children for which no
    /// event is held are still being read.
    fn is_at_rest(&self) -> bool {
        self.follow == Follow::UntilRest
            && self.held.is_empty()
            && self.reading.iter().all(|who| self.loose.contains(who))
    }

    /// Shows an item. If it reports the end of a call whose children are not over, it is held instead.
    fn show(&mut self, feed: Feed, shown: Shown) -> Option<TreeShown> {
        if let Shown::Event(entry) = &shown {
            let is_last = matches!(entry.event, Event::AgentEnd { .. } | Event::Done { .. });
            let ended = self.calls_ended_by(&feed, &entry.event);
            ended.iter().for_each(|pending| self.settle(pending, is_last));
            if ended.iter().any(|pending| self.holds(pending)) {
                self.held.push((feed, shown));
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

    /// Returns the calls with followed children that end with this event.
    fn calls_ended_by(&self, feed: &Feed, event: &Event) -> Vec<PendingId> {
        let parent = feed.parent();
        let ends = |call: &&OpenCall| {
            if call.in_background {
                false
            } else if let Event::Call { call: of, is, .. } = event {
                is != WAITS && call.is_of(parent, of)
            } else {
                let is_last = matches!(event, Event::AgentEnd { .. } | Event::Done { .. });
                is_last && call.parent.as_ref() == parent
            }
        };
        self.cursor.calls.iter().filter(ends).map(|call| call.pending.clone()).collect()
    }

    /// Returns true if the end of a call is held, because its children have more to show.
    fn holds(&mut self, pending: &PendingId) -> bool {
        let loose = &self.loose;
        self.cursor.call(pending).is_some_and(|call| {
            let who = |child: &OpenChild| Who::Child { pending: pending.clone(), index: child.index };
            call.next < call.count || call.open.iter().any(|child| !loose.contains(&who(child)))
        })
    }

    /// Notes that a call has ended, and so its children end. If `is_last` is set, no child of the call is created
    /// any more.
    fn settle(&mut self, pending: &PendingId, is_last: bool) {
        let first = !self.settled_of(pending).swap(true, Ordering::Relaxed);
        let Some(call) = self.cursor.call(pending) else { return };
        let created_now = is_last && !call.is_created;
        call.is_created |= is_last;
        if created_now {
            let reading = &self.reading;
            self.loose.retain(|who| !who.is_of(pending) || reading.contains(who));
        }
        if first || created_now {
            self.read_resting(pending);
        }
    }

    fn settled_of(&mut self, pending: &PendingId) -> Arc<AtomicBool> {
        Arc::clone(self.settled.entry(pending.clone()).or_default())
    }

    /// Returns the present state of a child's call.
    fn stands(&mut self, pending: &PendingId) -> Began {
        let settled = self.settled_of(pending).load(Ordering::Relaxed);
        Began { settled, created: self.cursor.call(pending).is_none_or(|call| call.is_created) }
    }

    /// Reads the followed children of a call that are not being read.
    fn read_resting(&mut self, pending: &PendingId) {
        let Some(call) = self.cursor.call(pending) else { return };
        let (open, in_background) = (call.open.clone(), call.in_background);
        for OpenChild { index, .. } in open {
            let who = Who::Child { pending: pending.clone(), index };
            if in_background {
                self.loose.insert(who.clone());
            }
            self.read(who);
        }
    }

    fn read_all(&mut self) {
        self.has_shown = false;
        self.read(Who::Root);
        let calls: Vec<PendingId> = self.cursor.calls.iter().map(|call| call.pending.clone()).collect();
        calls.iter().for_each(|pending| self.read_resting(pending));
    }

    /// Continues to read a session, unless it is being read or has shown all of its items.
    fn read(&mut self, who: Who) {
        if self.reading.contains(&who) || self.finished.contains(&who) {
            return;
        }
        let Some((member, cursor)) = self.member(&who) else { return };
        let (until, began) = match &who {
            Who::Root => (Until::Follow(self.follow), Began::default()),
            Who::Child { pending, .. } => (self.until(&who, pending), self.stands(pending)),
        };
        self.reading.insert(who.clone());
        let key = SessionKey::new(self.root.tenant.clone(), member.session.clone());
        let repeats = self.follow != Follow::Available;
        let reader = Reader::begin(&self.runtime, key, cursor, until, self.deltas, repeats);
        self.listen(Feed { who, member: Arc::new(member), began, reader });
    }

    fn until(&mut self, who: &Who, pending: &PendingId) -> Until {
        let settled = self.settled_of(pending);
        match self.follow {
            Follow::Forever | Follow::UntilRest if self.loose.contains(who) => {
                Until::ChildEnds(Arc::default())
            }
            Follow::Forever | Follow::UntilRest => Until::ChildEnds(settled),
            Follow::UntilParked if !settled.load(Ordering::Relaxed) => Until::Follow(Follow::UntilParked),
            Follow::UntilParked | Follow::Available => Until::Follow(Follow::Available),
        }
    }

    fn member(&self, who: &Who) -> Option<(TreeMember, EventCursor)> {
        let Who::Child { pending, index } = who else {
            return Some((TreeMember::root(self.root.id.clone()), self.cursor.root));
        };
        let call = self.cursor.calls.iter().find(|call| call.pending == *pending)?;
        let child = call.open.iter().find(|child| child.index == *index)?;
        let names = ChildNames::of(pending, *index).ok()?;
        let parent = call.parent.clone().unwrap_or_else(|| self.root.id.clone());
        let place = ChildPlace { parent, call: pending.parts()?.1, index: *index };
        let member = TreeMember {
            session: names.id,
            depth: call.depth,
            place: Some(place),
            tool: Some(call.tool.clone()),
        };
        let place = EventPlace { after: child.after, within: child.within };
        Some((member, EventCursor::at(names.incarnation, place)))
    }

    fn listen(&self, feed: Feed) {
        self.feeds.push(Box::pin(feed.next()));
    }

    /// Handles a session that cannot be read. A child is then over, unless it is missing and may still be created.
    fn failed(&mut self, feed: &Feed, error: RuntimeError) -> Result<(), RuntimeError> {
        let Who::Child { pending, .. } = &feed.who else { return Err(error) };
        if error.kind() == RuntimeErrorKind::Unavailable {
            return Err(error);
        }
        self.reading.remove(&feed.who);
        let now = self.stands(pending);
        let is_missing = matches!(error, RuntimeError::NotFound { .. } | RuntimeError::Gone { .. });
        if is_missing && !now.created {
            if now.settled {
                self.loosen(&feed.who);
            }
        } else if is_missing && !feed.began.created {
            self.read(feed.who.clone());
        } else {
            tracing::debug!(session = %feed.member.session, %error, "a child is followed no more");
            self.abandon(&feed.who);
        }
        Ok(())
    }

    /// Handles a session that has nothing more to show for now.
    fn over(&mut self, feed: &Feed, has_ended: bool) {
        self.reading.remove(&feed.who);
        let Who::Child { pending, .. } = &feed.who else { return };
        let live = matches!(self.follow, Follow::Forever | Follow::UntilRest);
        if has_ended {
            self.close(&feed.who);
        } else if live || feed.began.settled {
            // No run brings the child to its end at the moment.
            self.loosen(&feed.who);
            if live {
                self.read(feed.who.clone());
            }
        } else if self.stands(pending).settled {
            self.read(feed.who.clone());
        }
    }

    /// Stops holding events for this child.
    fn loosen(&mut self, who: &Who) {
        self.loose.insert(who.clone());
        self.ready.extend(self.held.drain(..));
    }

    /// Closes a child, with everything that its calls still wait for.
    fn abandon(&mut self, who: &Who) {
        for pending in self.calls_of(who) {
            self.settle(&pending, true);
        }
        self.close(who);
    }

    /// Notes that a child has shown all of its items. If its call, and the session of that call, have nothing else
    /// left, they are closed, too.
    fn close(&mut self, who: &Who) {
        let mut closes = Some(who.clone());
        while let Some(Who::Child { pending, index }) = closes.take() {
            let who = Who::Child { pending: pending.clone(), index };
            self.reading.remove(&who);
            if !self.calls_of(&who).is_empty() {
                // Below the child, only children for which no event is held are left.
                self.finished.insert(who.clone());
                self.loosen(&who);
                return;
            }
            self.finished.remove(&who);
            self.loose.remove(&who);
            let parent = self.cursor.call(&pending).and_then(|call| call.parent.clone());
            self.cursor.close_child(&pending, index);
            if self.cursor.call(&pending).is_none() {
                self.settled.remove(&pending);
                closes = self.finished.iter().find(|who| who.id() == parent && parent.is_some()).cloned();
            }
        }
        self.ready.extend(self.held.drain(..));
    }

    /// Returns the calls of a child that have children to follow.
    fn calls_of(&self, who: &Who) -> Vec<PendingId> {
        let id = who.id();
        let own = self.cursor.calls.iter().filter(|call| id.is_some() && call.parent == id);
        own.map(|call| call.pending.clone()).collect()
    }
}
