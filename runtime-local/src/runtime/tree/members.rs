//! The open members of a tree: children whose outcomes a call of their parent still waits for, children in the
//! background, and the sessions that took over from them.
//!
//! They are found from the root down. Their names follow from each pending call, so no list of them is stored.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use holdover_core::children::ChildNames;
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::machine::{Call, CallState};
use holdover_core::store::{Session, StoreErrorKind};

use crate::drive::{has_ended, successors};
use crate::error::RuntimeError;
use crate::runtime::{Runtime, machine_of};

/// The maximum number of sessions that are read at once.
pub(in crate::runtime) const AT_ONCE: usize = 32;

/// The open members of a tree below its root, parents before their children.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Members {
    /// The members that have not ended.
    pub(in crate::runtime) open: Vec<Session>,
    /// The members that work in the background, and all members below them.
    pub(in crate::runtime) in_background: HashSet<SessionId>,
    /// The members whose ends no call waits for.
    pub(in crate::runtime) unawaited: HashSet<SessionId>,
    /// True if a member has ended or vanished since the last read.
    pub(in crate::runtime) some_ended: bool,
    /// True if a member cannot be read here. Other processes may go on with it.
    pub(in crate::runtime) some_unreadable: bool,
}

/// A child that a call waits for, or that runs in the background.
#[derive(Debug, Clone)]
struct Child {
    key: SessionKey,
    names: ChildNames,
    /// True if all children of the call have been created.
    is_created: bool,
    /// True if the child runs in the background, so that it may work again after it has ended.
    in_background: bool,
    /// True if a call waits for the child's outcome or end.
    is_awaited: bool,
}

impl Child {
    /// Returns the child as a member below `above`. Everything below a background member is in the background, too.
    fn beneath(self, above: &Self) -> Self {
        Self {
            in_background: self.in_background || above.in_background,
            is_awaited: self.is_awaited && above.is_awaited,
            ..self
        }
    }
}

impl Runtime {
    /// Reads the open members of the tree below `root`. The ids of members that have ended or vanished are added to
    /// `ended`. Members with these ids are not read, unless they are in the background.
    pub(in crate::runtime) async fn members(
        &self,
        root: &Session,
        ended: &mut HashSet<SessionId>,
    ) -> Result<Members, RuntimeError> {
        let mut members = Members::default();
        let mut children = children_of(root);
        while !children.is_empty() {
            children.retain(|child| child.in_background || !ended.contains(&child.key.id));
            let store = self.host.store();
            let read = stream::iter(children).map(|child| async move {
                let read = store.load_session(&child.key).await;
                (child, read)
            });
            // Read all members before the next level: a read that is not polled would hold up the other reads of
            // the store.
            let read: Vec<_> = read.buffered(AT_ONCE).collect().await;
            let mut below = Vec::new();
            for (child, read) in read {
                let session = match read {
                    Ok(session) => session.filter(|session| session.incarnation == child.names.incarnation),
                    Err(error)
                        if matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::KeyMissing) =>
                    {
                        tracing::debug!(session = %child.key, %error, "a child cannot be read here");
                        members.some_unreadable = true;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                match session {
                    Some(session) if !has_ended(&session) => {
                        ended.remove(&child.key.id);
                        if child.in_background {
                            members.in_background.insert(child.key.id.clone());
                        }
                        if !child.is_awaited {
                            members.unawaited.insert(child.key.id.clone());
                        }
                        below.extend(children_of(&session).into_iter().map(|below| below.beneath(&child)));
                        below.extend(taken_over(&session).into_iter().map(|next| next.beneath(&child)));
                        members.open.push(session);
                    }
                    // The session that took over from the child goes on in its place.
                    Some(session) if !successors(&session).is_empty() => {
                        below.extend(taken_over(&session).into_iter().map(|next| next.beneath(&child)));
                    }
                    // The child is being created.
                    None if !child.is_created => {}
                    Some(_) | None => {
                        members.some_ended |= ended.insert(child.key.id);
                    }
                }
            }
            children = below;
        }
        Ok(members)
    }

    /// Returns the keys of the children that the calls of a session wait for, and of those in the background.
    pub(in crate::runtime) fn keys_of_children(session: &Session) -> Vec<SessionKey> {
        children_of(session).into_iter().map(|child| child.key).collect()
    }
}

/// Returns the sessions that took over from this session.
fn taken_over(session: &Session) -> Vec<Child> {
    let named = successors(session).into_iter().filter_map(|to| ChildNames::of(&to, 0).ok());
    let child = |names: ChildNames| {
        let key = SessionKey::new(session.key.tenant.clone(), names.id.clone());
        Child { key, names, is_created: true, in_background: false, is_awaited: true }
    };
    named.map(child).collect()
}

/// Returns the children that the calls of a session wait for, and those in the background. The list is empty if
/// this version cannot read the session.
fn children_of(session: &Session) -> Vec<Child> {
    let Ok(Some(machine)) = machine_of(session) else { return Vec::new() };
    let batch = machine.state.batch();
    let each = batch
        .into_iter()
        .flat_map(|batch| &batch.calls)
        .filter_map(|call| Some((call.state.children()?, &call.state)))
        // Children elsewhere are no sessions of this store.
        .filter(|(children, _)| children.remote.is_none());
    let named = each.flat_map(|(children, state)| {
        let begins = matches!(state, CallState::BlockedOnChild { background: Some(_), .. });
        let is_created = state.is_parked();
        // A name that cannot be built was never given to a session.
        let names =
            (0..children.count).filter_map(move |index| ChildNames::of(&children.pending, index).ok());
        names.map(move |names| (names, is_created, begins, !begins))
    });
    let child = |(names, is_created, in_background, is_awaited): (ChildNames, bool, bool, bool)| {
        let key = SessionKey::new(session.key.tenant.clone(), names.id.clone());
        Child { key, names, is_created, in_background, is_awaited }
    };
    let awaits = |call: &Call| matches!(call.state, CallState::AwaitingEnds { .. });
    let is_awaited = batch.is_some_and(|batch| batch.calls.iter().any(awaits));
    let in_background =
        machine.running_children().filter_map(|child| Some((child.names()?, true, true, is_awaited)));
    named.chain(in_background).map(child).collect()
}
