//! What is owed: the open pending calls, of one session or of all.

use holdover_core::ids::SessionKey;
use holdover_core::message::PendingBody;
use holdover_core::store::{Page, PageRequest, PendingCall, PendingQuery};

use super::Runtime;
use crate::error::RuntimeError;

/// An open pending call, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingEntry {
    /// As it is stored.
    pub call: PendingCall,
    /// What is shown to whoever owes the answer.
    pub body: PendingBody,
}

impl Runtime {
    /// The calls of a session that somebody owes an answer.
    pub async fn pending(&self, key: &SessionKey) -> Result<Vec<PendingCall>, RuntimeError> {
        let mut query =
            PendingQuery { session: Some(key.id.clone()), ..PendingQuery::all(key.tenant.clone()) };
        let mut open = Vec::new();
        loop {
            let Page { items, next } = self.shared.store.list_pending(&query).await?;
            open.extend(items);
            match next {
                Some(next) => query.page = PageRequest { after: Some(next), limit: None },
                None => return Ok(open),
            }
        }
    }

    /// A page of the calls that somebody owes an answer, across sessions: soonest deadline first, those
    /// without one last.
    pub async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingEntry>, RuntimeError> {
        let Page { items, next } = self.shared.store.list_pending(query).await?;
        let items = items.into_iter().map(PendingEntry::read).collect::<Result<_, RuntimeError>>()?;
        Ok(Page { items, next })
    }

    /// The open pending call of a session with this call id or pending id. None if nobody owes it an answer
    /// (any more); [`RuntimeError::NotFound`] if there is no such session.
    pub async fn pending_call(
        &self,
        key: &SessionKey,
        which: &str,
    ) -> Result<Option<PendingEntry>, RuntimeError> {
        let named = |pending: &PendingCall| pending.id.as_str() == which || pending.call.as_str() == which;
        match self.pending(key).await?.into_iter().find(named) {
            Some(call) => PendingEntry::read(call).map(Some),
            None => self.existing(key).await.map(|_| None),
        }
    }
}

impl PendingEntry {
    fn read(call: PendingCall) -> Result<Self, RuntimeError> {
        let unreadable =
            |error| RuntimeError::unreadable(&call.key, format!("pending call {}", call.id), error);
        let body = call.body.parse::<PendingBody>().map_err(unreadable)?;
        Ok(Self { call, body })
    }
}
