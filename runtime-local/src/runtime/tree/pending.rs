//! The calls of a tree that somebody outside owes an answer: people find them at the root, and answer them there.

use std::collections::HashSet;

use holdover_core::ids::{PendingId, SessionId, SessionKey};
use holdover_core::machine::CallState;
use holdover_core::store::{
    Labels, PageRequest, PendingCall, PendingKind, PendingQuery, Session, SessionQuery, StoreErrorKind,
};

use crate::agent::SUB_AGENT_DEPTH_MAX;
use crate::error::RuntimeError;
use crate::runtime::{Runtime, machine_of};

impl Runtime {
    /// Lists the pending calls of a session and of the children that it waits for, with theirs, as they are stored:
    /// soonest deadline first, those without one last. Of a child, those that other sessions answer are left out.
    /// None, if there is no such session.
    pub async fn open_calls(&self, key: &SessionKey) -> Result<Vec<PendingCall>, RuntimeError> {
        let mut calls = self.own_calls(key).await?;
        if calls.iter().all(|call| call.kind != PendingKind::Child) {
            return Ok(calls);
        }
        let root = match self.session(key).await {
            Ok(root) => root,
            // What it waits for is listed all the same.
            Err(RuntimeError::Store(error))
                if matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::KeyMissing) =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        let Some(root) = root else { return Ok(calls) };
        for member in self.members(&root, &mut HashSet::new()).await?.open {
            if may_owe(&member) {
                let own = self.own_calls(&member.key).await?;
                calls.extend(own.into_iter().filter(|call| call.kind != PendingKind::Child));
            }
        }
        calls.sort_by_key(|call| (call.deadline.is_none(), call.deadline, call.opened_at));
        Ok(calls)
    }

    /// The pending calls of one session.
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

    /// The session of the tree at `root` that asked under this id, open or closed: `root` itself, if no other did.
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
                let below = self.lies_below(found.labels, root).await?;
                return Ok(if below { found.key } else { root.clone() });
            }
            match page.next {
                Some(next) => query.page.after = Some(next),
                None => return Ok(root.clone()),
            }
        }
    }

    /// Whether the session with these labels is a child of `root`, or a child of its children.
    async fn lies_below(&self, mut labels: Labels, root: &SessionKey) -> Result<bool, RuntimeError> {
        for _ in 0..SUB_AGENT_DEPTH_MAX {
            let parent = labels.0.get(Labels::PARENT).and_then(|id| SessionId::new(id).ok());
            let Some(parent) = parent else { return Ok(false) };
            if parent == root.id {
                return Ok(true);
            }
            let parent = SessionKey::new(root.tenant.clone(), parent);
            let Some(session) = self.host.store().load_session(&parent).await? else { return Ok(false) };
            labels = session.labels;
        }
        Ok(false)
    }
}

/// Whether somebody outside may owe an answer to a call of this session. True if this version cannot read it.
fn may_owe(session: &Session) -> bool {
    let Ok(machine) = machine_of(session) else { return true };
    let batch = machine.as_ref().and_then(|machine| machine.state.batch());
    batch
        .into_iter()
        .flat_map(|batch| &batch.calls)
        .any(|call| call.state.pending().is_some() && !matches!(call.state, CallState::BlockedOnChild { .. }))
}
