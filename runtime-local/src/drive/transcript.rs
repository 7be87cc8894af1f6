//! What the model sees of the transcript: read once a run, then kept.

use std::sync::{Arc, Mutex, PoisonError};

use holdover_core::ids::SessionKey;
use holdover_core::message::Message;
use holdover_core::step::ModelCall;
use holdover_core::store::{MessageRange, StateStore, StateStoreExt, StoreError};

use crate::clock::Lease;
use crate::error::RuntimeError;
use crate::runtime::{GivenUp, until_answered};

/// The messages of the view that was read last.
#[derive(Debug, Clone, Default)]
pub(super) struct Transcript {
    read: Arc<Mutex<Option<View>>>,
}

#[derive(Debug, Clone)]
struct View {
    ranges: Vec<MessageRange>,
    messages: Arc<[Arc<Message>]>,
}

/// Why the transcript could not be read.
pub(super) enum Unread {
    /// The lease ended while the store did not answer.
    LeaseEnded,
    /// It is not what was written, or the store refuses it.
    Broken(Box<RuntimeError>),
}

impl Transcript {
    /// What the model is to see: the view, then what was added, without decisions and notices.
    pub(super) async fn of(
        &self,
        call: &ModelCall,
        store: &Arc<dyn StateStore>,
        key: &SessionKey,
        lease: &Lease,
    ) -> Result<Vec<Arc<Message>>, Unread> {
        let view = match self.known(&call.view) {
            Some(messages) => messages,
            None => {
                let messages = read(&call.view, store, key, lease).await?;
                let view = View { ranges: call.view.clone(), messages: Arc::clone(&messages) };
                *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(view);
                messages
            }
        };
        let added = call.added.iter().map(|(_, message)| message);
        Ok(view.iter().chain(added).filter(|message| is_for_model(message)).cloned().collect())
    }

    fn known(&self, ranges: &[MessageRange]) -> Option<Arc<[Arc<Message>]>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.as_ref().filter(|view| view.ranges == ranges).map(|view| Arc::clone(&view.messages))
    }
}

async fn read(
    ranges: &[MessageRange],
    store: &Arc<dyn StateStore>,
    key: &SessionKey,
    lease: &Lease,
) -> Result<Arc<[Arc<Message>]>, Unread> {
    if ranges.is_empty() {
        return Ok(Arc::from([]));
    }
    let stored = match until_answered(lease, || store.read_all_messages(key, ranges)).await {
        Ok((stored, _)) => stored,
        Err(GivenUp::LeaseEnded) => return Err(Unread::LeaseEnded),
        Err(GivenUp::Final(error)) => return Err(Unread::from(error)),
    };
    let parsed = stored.into_iter().map(|stored| {
        stored.payload.parse().map(Arc::new).map_err(|error| {
            let broken = RuntimeError::unreadable(key, format!("message {}", stored.seq), error);
            Unread::Broken(Box::new(broken))
        })
    });
    parsed.collect()
}

impl From<StoreError> for Unread {
    fn from(error: StoreError) -> Self {
        Self::Broken(Box::new(RuntimeError::Store(error)))
    }
}

fn is_for_model(message: &Message) -> bool {
    match message {
        Message::User(_) | Message::Assistant(_) | Message::Tool(_) => true,
        Message::Decision(_) | Message::Notice(_) => false,
    }
}
