//! The pending calls of a tree that a person or a client must answer. They are found and answered at the root.

use std::collections::HashSet;

use futures::{StreamExt, TryStreamExt, stream};
use holdover_core::ids::{PendingId, SessionId, SessionKey};
use holdover_core::machine::{Call, CallState};
use holdover_core::store::{
    Labels, PageRequest, PendingCall, PendingKind, PendingQuery, Session, SessionQuery, StoreErrorKind,
};

use super::members::AT_ONCE;
use crate::agent::SUB_AGENT_DEPTH_MAX;
use crate::error::RuntimeError;
use crate::runtime::{Runtime, machine_of};

impl Runtime {
    /// Lists the pending calls of a session, of its children that have not ended, and of their children, as they
    /// are stored. The soonest deadline comes first, and calls without a deadline come last. Calls of a child that
    /// other sessions answer are left out. The list is empty if there is no such session.
    pub async fn open_calls(&self, key: &SessionKey) -> Result<Vec<PendingCall>, RuntimeError> {
        let mut calls = self.own_calls(key).await?;
        let root = match self.session(key).await {
            Ok(root) => root,
            // The session's own pending calls are still listed.
            Err(RuntimeError::Store(error))
                if matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::KeyMissing) =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        let Some(root) = root.filter(|root| !Self::keys_of_children(root).is_empty()) else {
            return Ok(calls);
        };
        let members = self.members(&root, &mut HashSet::new()).await?.open.into_iter();
        let keys = members.filter(may_owe).map(|member| member.key);
        let read = stream::iter(keys).map(|key| async move { self.own_calls(&key).await });
        let below: Vec<_> = read.buffered(AT_ONCE).try_collect().await?;
        calls.extend(below.into_iter().flatten().filter(|call| call.kind != PendingKind::Child));
        calls.sort_by_key(|call| (call.deadline.is_none(), call.deadline, call.opened_at));
        Ok(calls)
    }

    /// Returns the pending calls of one session.
    pub(in crate::runtime) async fn own_calls(
        &self,
        key: &SessionKey,
    ) -> Result<Vec<PendingCall>, RuntimeError> {
        let mut query =
            PendingQuery { session: Some(key.id.clone()), ..PendingQuery::all(key.tenant.clone()) };
        let mut calls = Vec::new();
        loop {
            let page = self.host.store().list_pending(&query).await?;
            calls.extend(page.items);
            match page.next {
                Some(next) => query.page = PageRequest { after: Some(next), limit: None },
                None => return Ok(calls),
            }
        }
    }

    /// Returns the session of the tree at `root` that opened this pending call, which may be closed. If no other
    /// session of the tree opened it, returns `root`.
    pub(in crate::runtime) async fn asker(
        &self,
        root: &SessionKey,
        pending: &PendingId,
    ) -> Result<SessionKey, RuntimeError> {
        let Some((life, _)) = pending.parts() else { return Ok(root.clone()) };
        if self.existing(root).await?.incarnation == life {
            return Ok(root.clone());
        }
        let mut query = SessionQuery { life: Some(life), ..SessionQuery::all(root.tenant.clone()) };
        loop {
            let page = self.host.store().list_sessions(&query).await?;
            if let Some(found) = page.items.into_iter().next() {
                let below = self.lies_below(&found.key, root).await?;
                return Ok(if below { found.key } else { root.clone() });
            }
            match page.next {
                Some(next) => query.page.after = Some(next),
                None => return Ok(root.clone()),
            }
        }
    }

    /// Returns true if a session is below `root` in its tree. The labels name the parent. If the session is not at
    /// rest, an answer would have an effect, so its turn must name the same parent: only the turn is proof.
    async fn lies_below(&self, key: &SessionKey, root: &SessionKey) -> Result<bool, RuntimeError> {
        let mut key = key.clone();
        for _ in 0..SUB_AGENT_DEPTH_MAX {
            let Some(session) = self.host.store().load_session(&key).await? else { return Ok(false) };
            let parent = session.labels.0.get(Labels::PARENT).and_then(|id| SessionId::new(id).ok());
            let Some(parent) = parent.map(|id| SessionKey::new(root.tenant.clone(), id)) else {
                return Ok(false);
            };
            let replies = machine_of(&session)?.map(|machine| machine.turn.replies).unwrap_or_default();
            if !session.status.at_rest()
                && replies.iter().all(|reply| reply.to.parent().is_none_or(|named| named.session != parent))
            {
                return Ok(false);
            }
            if parent == *root {
                return Ok(true);
            }
            key = parent;
        }
        Ok(false)
    }
}

/// Returns true if a person or a client may owe an answer to a call of this session. True if this version cannot read
/// it.
fn may_owe(session: &Session) -> bool {
    let Ok(machine) = machine_of(session) else { return true };
    // A call in doubt can be settled while the turn goes on.
    let asks_in_doubt = machine.as_ref().is_some_and(|machine| machine.turn.asks_in_doubt);
    let batch = machine.as_ref().and_then(|machine| machine.state.batch());
    let waits = |call: &Call| {
        call.state.pending().is_some() && !matches!(call.state, CallState::BlockedOnChild { .. })
    };
    asks_in_doubt || batch.into_iter().flat_map(|batch| &batch.calls).any(waits)
}
