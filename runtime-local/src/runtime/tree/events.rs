//! Follows a tree: streams the events of a session and of the sessions below it.

use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use holdover_core::children::ChildNames;
use holdover_core::ids::{PendingId, SessionId, SessionKey, ToolName};
use holdover_core::store::{EventCursor, Session};
use serde::Serialize;

use super::cursor::{OpenCall, OpenChild, TreeCursor};
use super::follow::{KEPT, TreeTail};
use super::members::AT_ONCE;
use super::view::ChildPlace;
use crate::drive::has_ended;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::runtime::{Follow, Runtime, Shown, machine_of};

/// A followed session of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TreeMember {
    /// The session.
    pub session: SessionId,
    /// The number of sessions above it: 0 for the root.
    pub depth: u32,
    /// The call that the session answers, or that began it in the background. `None` for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<ChildPlace>,
    /// The tool of that call, which is the name of the sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
}

/// An item for a follower of a tree. Its JSON form is the session and the content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TreeShown {
    /// The cursor after this item.
    #[serde(skip)]
    pub cursor: TreeCursor,
    /// The session that the item belongs to.
    #[serde(flatten)]
    pub member: Arc<TreeMember>,
    /// The item.
    pub shown: Shown,
}

impl TreeShown {
    /// Creates the item of a session that is followed alone.
    pub fn of_root(session: &SessionId, shown: Shown) -> Self {
        Self { cursor: shown.cursor().into(), member: Arc::new(TreeMember::root(session.clone())), shown }
    }
}

impl TreeMember {
    pub(super) fn root(session: SessionId) -> Self {
        Self { session, depth: 0, place: None, tool: None }
    }
}

impl Runtime {
    /// Streams the events of a session and of the sessions below it, as they are committed, without gaps or repeats.
    /// Ends after the first error.
    ///
    /// The events of each session come in order. If a call waits for its children, their events come between
    /// [`Asked`](holdover_core::event::Event::Asked) and the event that ends the call. There are two exceptions:
    ///
    /// - The events of a background child come after [`Began`](holdover_core::event::Event::Began). No event waits
    ///   for them.
    /// - If a child was stopped and no run has ended it yet, its last events may come after the end of the call.
    ///
    /// At most 64 children are followed at once. The others are followed when an earlier child has ended. A child is
    /// followed until the end of the turn that answers the call; a background child, until the end of its first turn.
    /// Children that cannot be read here, children in other programs, and sessions that took over from a child are left
    /// out.
    ///
    /// If a read fails because the store is unavailable, it is repeated, except with [`Follow::Available`]. With
    /// [`Follow::UntilParked`], the stream ends when no run holds the root or any followed child.
    pub fn tree_events(
        &self,
        key: &SessionKey,
        after: TreeCursor,
        follow: Follow,
    ) -> BoxStream<'static, Result<TreeShown, RuntimeError>> {
        self.tree_tail(key, after, follow, false)
    }

    /// Streams the items of a session and those of its children: the events like
    /// [`tree_events`](Self::tree_events), and between them the deltas of each session, like
    /// [`follow`](Self::follow).
    pub fn follow_tree(
        &self,
        key: &SessionKey,
        after: TreeCursor,
        follow: Follow,
    ) -> BoxStream<'static, Result<TreeShown, RuntimeError>> {
        self.tree_tail(key, after, follow, true)
    }

    fn tree_tail(
        &self,
        key: &SessionKey,
        after: TreeCursor,
        follow: Follow,
        deltas: bool,
    ) -> BoxStream<'static, Result<TreeShown, RuntimeError>> {
        let new = (self.clone(), key.clone(), after);
        let tail = stream::once(async move {
            let (runtime, key, after) = new;
            TreeTail::new(runtime, key, after, follow, deltas)
        });
        let items = tail.map(|tail| {
            stream::try_unfold(tail, |mut tail| async move {
                Ok::<_, RuntimeError>(tail.next().await?.map(|shown| (shown, tail)))
            })
        });
        items.flatten().boxed()
    }

    /// Returns the place after the newest event of the session and of each of its children. Open children for which
    /// there is no room among the followed ones (64 at most, of which at most half in the background) are shown from
    /// their first event. Children that cannot be read here are left out.
    ///
    /// Errors: the store does not answer.
    pub async fn tree_cursor(&self, root: &Session) -> Result<TreeCursor, RuntimeError> {
        let mut cursor = TreeCursor::from(EventCursor::after(root.incarnation, root.last_event));
        let mut parents = vec![(root.clone(), 1)];
        while !parents.is_empty() {
            let mut below = Vec::new();
            for (parent, depth) in parents {
                for mut call in open_calls(&parent, depth) {
                    let kept = if call.in_background { KEPT } else { 0 };
                    let room = cursor.room(depth).saturating_sub(kept);
                    let children = self.open_children(&parent.key, &mut call, room).await?;
                    below.extend(children.into_iter().map(|child| (child, depth + 1)));
                    if !call.is_over() {
                        cursor.calls.push(call);
                    }
                }
            }
            parents = below;
        }
        Ok(cursor)
    }

    /// Adds the first `most` open children to a call, at their newest events, and returns their sessions.
    async fn open_children(
        &self,
        parent: &SessionKey,
        call: &mut OpenCall,
        most: usize,
    ) -> Result<Vec<Session>, RuntimeError> {
        let mut found = Vec::new();
        while call.open.len() < most && call.next < call.count {
            let room = u32::try_from((most - call.open.len()).min(AT_ONCE)).unwrap_or(u32::MAX);
            let indexes = call.next..call.count.min(call.next.saturating_add(room));
            call.next = indexes.end;
            let pending = &call.pending;
            let read = stream::iter(indexes).map(|index| async move {
                let Ok(names) = ChildNames::of(pending, index) else {
                    return Ok::<_, RuntimeError>((index, None));
                };
                let key = SessionKey::new(parent.tenant.clone(), names.id);
                let child = match self.session(&key).await {
                    Err(error) if error.kind() != RuntimeErrorKind::Unavailable => None,
                    read => read?,
                };
                Ok((index, child.filter(|child| child.incarnation == names.incarnation)))
            });
            // Read all children before anything else: a read that is not polled would hold up the other reads of
            // the store.
            let read: Vec<_> = read.buffered(AT_ONCE).try_collect().await?;
            for (index, child) in read {
                match child {
                    Some(child) if !has_ended(&child) => {
                        call.open.push(OpenChild { after: child.last_event, ..OpenChild::new(index) });
                        found.push(child);
                    }
                    // The child is being created.
                    None if !call.is_created => call.open.push(OpenChild::new(index)),
                    Some(_) | None => {}
                }
            }
        }
        Ok(found)
    }
}

/// Returns the calls of a session that wait for children, and those that began children in the background. No child
/// is followed yet. The list is empty if this version cannot read the session.
fn open_calls(session: &Session, depth: u32) -> Vec<OpenCall> {
    let Ok(Some(machine)) = machine_of(session) else { return Vec::new() };
    let calls = machine.state.batch().into_iter().flat_map(|batch| &batch.calls);
    let open = calls.filter_map(|call| {
        let children = call.state.children()?;
        Some(OpenCall {
            parent: (depth > 1).then(|| session.key.id.clone()),
            depth,
            tool: call.tool.parse().ok()?,
            pending: children.pending,
            count: children.count,
            is_created: call.state.is_parked(),
            in_background: false,
            next: 0,
            open: Vec::new(),
        })
    });
    let mut begun: Vec<&PendingId> = machine.running_children().map(|child| &child.pending).collect();
    begun.dedup();
    let last = |pending: &PendingId| {
        let together = machine.background.iter().filter(|child| child.pending == *pending);
        together.map(|child| child.index + 1).max().unwrap_or_default()
    };
    let agent_of = |pending: &PendingId| {
        machine.running_children().find(|child| child.pending == *pending).map(|child| child.agent.clone())
    };
    let in_background = begun.into_iter().filter_map(|pending| {
        Some(OpenCall {
            parent: (depth > 1).then(|| session.key.id.clone()),
            depth,
            tool: agent_of(pending)?,
            pending: pending.clone(),
            count: last(pending),
            is_created: true,
            in_background: true,
            next: 0,
            open: Vec::new(),
        })
    });
    open.chain(in_background).collect()
}
