//! The open members of a tree: the children whose outcomes a call of their parent still waits for.
//!
//! They are found from the root down, by the names that follow from each pending call. So nothing lists them, and
//! what has ended long ago costs nothing.

use std::collections::HashSet;

use futures::{StreamExt, TryStreamExt, stream};
use holdover_core::children::ChildNames;
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::store::Session;

use crate::drive::has_ended;
use crate::error::RuntimeError;
use crate::runtime::{Runtime, machine_of};

/// The number of sessions that are read at once.
pub(super) const AT_ONCE: usize = 32;

/// The open members of a tree below its root, parents before their children.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Members {
    /// The members that have not ended.
    pub(in crate::runtime) open: Vec<Session>,
    /// Whether a member has ended that had not when the tree was read before.
    pub(in crate::runtime) some_ended: bool,
}

impl Runtime {
    /// Reads the open members of the tree below `root`. Those that have ended are added to `ended`, and are not read
    /// again.
    pub(in crate::runtime) async fn members(
        &self,
        root: &Session,
        ended: &mut HashSet<SessionId>,
    ) -> Result<Members, RuntimeError> {
        let mut members = Members::default();
        let mut children = children_of(root).unwrap_or_default();
        while !children.is_empty() {
            children.retain(|(key, _)| !ended.contains(&key.id));
            let store = self.host.store();
            let read = stream::iter(children).map(|(key, names)| async move {
                Ok::<_, RuntimeError>((store.load_session(&key).await?, names))
            });
            let read: Vec<_> = read.buffered(AT_ONCE).try_collect().await?;
            let mut below = Vec::new();
            for (child, names) in read {
                // One that is not there is being created, or was deleted.
                let Some(child) = child.filter(|child| child.incarnation == names.incarnation) else {
                    continue;
                };
                if has_ended(&child) {
                    ended.insert(child.key.id.clone());
                    members.some_ended = true;
                    continue;
                }
                // Of one that this version cannot read, the children are not known here.
                below.extend(children_of(&child).unwrap_or_default());
                members.open.push(child);
            }
            children = below;
        }
        Ok(members)
    }
}

/// The names of the children that the calls of a session wait for.
fn children_of(session: &Session) -> Result<Vec<(SessionKey, ChildNames)>, RuntimeError> {
    let Some(machine) = machine_of(session)? else { return Ok(Vec::new()) };
    let each = machine.children().into_iter().flat_map(|children| {
        // Names that cannot be made were never given to a session.
        (0..children.count).filter_map(move |index| ChildNames::of(&children.pending, index).ok())
    });
    Ok(each.map(|names| (SessionKey::new(session.key.tenant.clone(), names.id.clone()), names)).collect())
}
