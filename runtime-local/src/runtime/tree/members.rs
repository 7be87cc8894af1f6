//! The open members of a tree: the children whose outcomes a call of their parent still waits for, and those that run
//! in the background.
//!
//! They are found from the root down, by the names that follow from each pending call, so no list of them is kept.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use holdover_core::children::ChildNames;
use holdover_core::ids::{PendingId, SessionId, SessionKey};
use holdover_core::store::{Session, StoreErrorKind};

use crate::drive::{handed_to, has_ended};
use crate::error::RuntimeError;
use crate::runtime::{Runtime, machine_of};

/// The number of sessions that are read at once.
pub(in crate::runtime) const AT_ONCE: usize = 32;

/// The open members of a tree below its root, parents before their children.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Members {
    /// The members that have not ended.
    pub(in crate::runtime) open: Vec<Session>,
    /// Whether a member has ended or vanished since the last read.
    pub(in crate::runtime) some_ended: bool,
    /// Whether a member cannot be read here. Others may go on with it.
    pub(in crate::runtime) some_unreadable: bool,
}

/// A child that a call waits for, or that runs in the background.
#[derive(Debug, Clone)]
struct Child {
    key: SessionKey,
    names: ChildNames,
    /// Whether all children of the call have been created.
    is_created: bool,
    /// Whether it runs in the background: then it may work again after it has ended.
    in_background: bool,
}

impl Runtime {
    /// Reads the open members of the tree below `root`. The ids of those that have ended or vanished are added to
    /// `ended`; members with these ids are not read, unless they are in the background.
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
            // All of them before the next level: a read that is not polled keeps its turn from others.
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
                        below.extend(children_of(&session));
                        members.open.push(session);
                    }
                    // Whoever took it over goes on in its place.
                    Some(session) if let Some(to) = handed_to(&session) => {
                        below.extend(successor(&session, &to));
                    }
                    // It is being created.
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

    /// The keys of the children that the calls of a session wait for, and of those in the background.
    pub(in crate::runtime) fn keys_of_children(session: &Session) -> Vec<SessionKey> {
        children_of(session).into_iter().map(|child| child.key).collect()
    }
}

/// The session that took over from this one.
fn successor(session: &Session, to: &PendingId) -> Option<Child> {
    let names = ChildNames::of(to, 0).ok()?;
    let key = SessionKey::new(session.key.tenant.clone(), names.id.clone());
    Some(Child { key, names, is_created: true, in_background: false })
}

/// The children that the calls of a session wait for, and those in the background. None if this version cannot read
/// the session.
fn children_of(session: &Session) -> Vec<Child> {
    let Ok(Some(machine)) = machine_of(session) else { return Vec::new() };
    let batch = machine.state.batch();
    let each = batch
        .into_iter()
        .flat_map(|batch| &batch.calls)
        .filter_map(|call| Some((call.state.children()?, call.state.is_parked())));
    let named = each.flat_map(|(children, is_created)| {
        // Names that cannot be made were never given to a session.
        let names =
            (0..children.count).filter_map(move |index| ChildNames::of(&children.pending, index).ok());
        names.map(move |names| (names, is_created, false))
    });
    let child = |(names, is_created, in_background): (ChildNames, bool, bool)| {
        let key = SessionKey::new(session.key.tenant.clone(), names.id.clone());
        Child { key, names, is_created, in_background }
    };
    let in_background = machine.running_children().filter_map(|child| Some((child.names()?, true, true)));
    named.chain(in_background).map(child).collect()
}
