//! A tree of sessions, for display: each session, the call that it answers, its outcome and its usage.

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use holdover_core::children::{ChildNames, Children};
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::history::{CallInput, Input};
use holdover_core::ids::{CallId, PendingId, SessionId, SessionKey};
use holdover_core::machine::Usage;
use holdover_core::store::{EventCursor, Session};
use serde::Serialize;

use super::members::AT_ONCE;
use crate::drive::successors;
use crate::error::RuntimeError;
use crate::runtime::standing::used_by;
use crate::runtime::{Follow, Runtime, machine_of, outcome_of};

/// The call that a child answers, or that began it in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChildPlace {
    /// The session of the call.
    pub parent: SessionId,
    /// The call.
    pub call: CallId,
    /// The number of the child among the children of the call, from 0.
    pub index: u32,
}

/// A session of a tree.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TreeEntry {
    /// The session.
    pub session: Session,
    /// The number of sessions above it: 0 for the root.
    pub depth: u32,
    /// The call that the session answers, or that began it. `None` for the root.
    pub place: Option<ChildPlace>,
    /// True if that call still waits for the session, or if the session is a background child that runs. False for
    /// the root, and for a session from which another one took over. In all other cases in which it is false, the
    /// parent's usage includes the child's, unless the child was stopped before it had answered.
    pub waits: bool,
    /// The usage of the session up to its newest commit, including that of the children whose outcomes it has.
    pub usage: Usage,
    /// The ending of the session's last turn, or the reason why the session waits.
    pub outcome: Option<RunOutcome>,
}

/// A tree of sessions.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tree {
    /// The sessions: each before its children, and children in the order of their calls and tasks.
    pub entries: Vec<TreeEntry>,
    /// The usage of the tree up to the newest commits: that of the root, including the outcomes that it has, and
    /// that of the children that are still waited for. Each use counts once. Children that were stopped before they
    /// had answered are not included.
    pub usage: Usage,
    /// False if sessions were left out because there are more than were asked for. The usage is then that of the others.
    pub is_whole: bool,
}

/// Returns the usage of a child that its parent does not know yet: that of the child's present turn. The parent
/// already knows the earlier turns of a background child, unless another session handed itself over to the child.
fn uncounted(session: &Session) -> Result<Usage, RuntimeError> {
    let Some(machine) = machine_of(session)? else { return Ok(Usage::default()) };
    let mut used = match machine.used_in_turn() {
        Some(used) if machine.turn.open || session.unread == 0 => used,
        Some(_) => Usage::default(),
        None => machine.usage,
    };
    if let Some(reply) = machine.turn.replies.first() {
        used.add(reply.used_before);
    }
    Ok(used)
}

/// Returns the children that an input begins.
fn begun_by(input: Input) -> Option<Children> {
    if let Input::ChildBegan { child } = input {
        return Some(Children::here(child.pending, 1));
    }
    let Input::Call { input: CallInput::NeedsChildren { pending, count, remote, .. }, .. } = input else {
        return None;
    };
    Some(Children { pending, count, remote })
}

/// A child of a session, by its place.
struct Kin {
    pending: PendingId,
    index: u32,
    /// True if the outcome of the child has not come yet.
    waits: bool,
}

impl Kin {
    fn of(Children { pending, count, remote: _ }: Children, waits: bool) -> impl Iterator<Item = Self> {
        (0..count).map(move |index| Self { pending: pending.clone(), index, waits })
    }
}

impl Runtime {
    /// Returns a session with the children that its calls wait for, those that run in the background, and their
    /// children. A child that handed itself over is followed by the session that took over. With `with_ended`, the
    /// children of earlier calls are included, unless they were deleted. The whole history of each session is then
    /// read. Children in other programs are not included.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or one of them cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn tree(&self, key: &SessionKey, with_ended: bool) -> Result<Tree, RuntimeError> {
        self.tree_within(key, with_ended, usize::MAX).await
    }

    /// Returns the first `limit` sessions of a tree, at least the root, as [`tree`](Self::tree) does. Reads no others.
    ///
    /// Errors: those of [`tree`](Self::tree).
    pub async fn tree_within(
        &self,
        key: &SessionKey,
        with_ended: bool,
        limit: usize,
    ) -> Result<Tree, RuntimeError> {
        let mut tree = Tree { entries: Vec::new(), usage: Usage::default(), is_whole: true };
        let root = self.existing(key).await?;
        self.grow(&mut tree, root, 0, None, with_ended, limit).await?;
        Ok(tree)
    }

    fn grow<'a>(
        &'a self,
        tree: &'a mut Tree,
        session: Session,
        depth: u32,
        place: Option<(ChildPlace, bool)>,
        with_ended: bool,
        limit: usize,
    ) -> BoxFuture<'a, Result<(), RuntimeError>> {
        async move {
            let usage = used_by(&session)?;
            match &place {
                None => tree.usage.add(usage),
                Some((_, true)) => tree.usage.add(uncounted(&session)?),
                Some((_, false)) => {}
            }
            let children = self.kin_of(&session, with_ended).await?;
            let (key, outcome) = (session.key.clone(), outcome_of(&session, self.now())?);
            let waits = place.as_ref().is_some_and(|(_, waits)| *waits);
            let place = place.map(|(place, _)| place);
            tree.entries.push(TreeEntry { session, depth, place, waits, usage, outcome });
            let names = children.into_iter().filter_map(|Kin { pending, index, waits }| {
                let place = ChildPlace { parent: key.id.clone(), call: pending.parts()?.1, index };
                Some(((place, waits), ChildNames::of(&pending, index).ok()?))
            });
            let mut names: Vec<_> = names.collect();
            let room = limit.saturating_sub(tree.entries.len());
            tree.is_whole &= names.len() <= room;
            names.truncate(room);
            let read = stream::iter(names)
                .map(|(place, names)| {
                    let key = SessionKey::new(key.tenant.clone(), names.id);
                    async move {
                        let child = self.host.store().load_session(&key).await?;
                        let child = child.filter(|child| child.incarnation == names.incarnation);
                        Ok::<_, RuntimeError>(child.map(|child| (place, child)))
                    }
                })
                .buffered(AT_ONCE);
            // Read all children before the next level: a read that is not polled would hold up the other reads of
            // the store.
            let read: Vec<_> = read.try_collect().await?;
            for ((place, waits), child) in read.into_iter().flatten() {
                let mut next = Some(child);
                while let Some(child) = next.take() {
                    if tree.entries.len() >= limit {
                        tree.is_whole = false;
                        return Ok(());
                    }
                    // The session that took over includes the usage of this child.
                    next = self.successor(&child).await?;
                    let place = (place.clone(), waits && next.is_none());
                    self.grow(tree, child, depth + 1, Some(place), with_ended, limit).await?;
                }
            }
            Ok(())
        }
        .boxed()
    }

    /// Returns the session that took over from this session, if there is one and it still exists.
    pub(in crate::runtime) async fn successor(
        &self,
        session: &Session,
    ) -> Result<Option<Session>, RuntimeError> {
        let Some(to) = successors(session).pop() else { return Ok(None) };
        let Ok(names) = ChildNames::of(&to, 0) else { return Ok(None) };
        let found = self.session(&SessionKey::new(session.key.tenant.clone(), names.id)).await?;
        Ok(found.filter(|found| found.incarnation == names.incarnation))
    }

    /// Returns the children of a session.
    async fn kin_of(&self, session: &Session, with_ended: bool) -> Result<Vec<Kin>, RuntimeError> {
        let machine = machine_of(session)?.unwrap_or_default();
        let open: Vec<Kin> =
            machine.children().into_iter().flat_map(|children| Kin::of(children, true)).collect();
        let in_background = machine.running_children().map(|child| Kin {
            pending: child.pending.clone(),
            index: child.index,
            waits: true,
        });
        let open: Vec<Kin> = open.into_iter().chain(in_background).collect();
        if !with_ended {
            return Ok(open);
        }
        let mut all = Vec::new();
        let mut events = self.events(&session.key, EventCursor::START, Follow::Available);
        while let Some(entry) = events.try_next().await? {
            let Event::History { rows } = entry.event else { continue };
            for row in rows {
                let Some(children) = begun_by(row.input) else { continue };
                // A fork has the history of its source, but not the children.
                if children.pending.parts().is_none_or(|(life, _)| life != session.incarnation) {
                    continue;
                }
                all.extend(Kin::of(children, false).map(|kin| {
                    let waits =
                        open.iter().any(|open| open.pending == kin.pending && open.index == kin.index);
                    Kin { waits, ..kin }
                }));
            }
        }
        Ok(all)
    }
}
