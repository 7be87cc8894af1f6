//! The mailbox of a session: waiting messages, the policy for messages while a turn runs, and messages that
//! replace earlier ones.

use holdover_core::error::ErrorInfo;
use holdover_core::ids::{InboxSeq, InvalidId, ItemKey, MessageSeq, PendingId, SessionKey};
use holdover_core::mailbox::{self, QueueChange};
use holdover_core::message::{Mentions, Message, MessagePolicy};
use holdover_core::payload::Payload;
use holdover_core::store::{Delivery, INBOX_PAGE, InboxItem, ItemKind, Session, SessionStatus, Wake};
use holdover_core::time::Timestamp;
use serde::Serialize;

use super::delivery::{DeliveredItem, item_of};
use super::standing::{is_due, machine_of};
use super::{Deliver, Runtime, keys};
use crate::agent::Definition;
use crate::error::RuntimeError;
use crate::host::Try;

/// The maximum number of attempts on a session that changes meanwhile.
const TRIES_MAX: u32 = 8;

/// A message that no turn has taken yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueuedMessage {
    /// The place in the inbox. It identifies the message for withdrawing or replacing.
    pub item: InboxSeq,
    /// The key of the message.
    pub key: ItemKey,
    /// The time of the delivery.
    pub at: Timestamp,
    /// The text of the message.
    pub text: String,
    /// The policy for the message while a turn runs or is parked. If none is set, the agent's policy applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<MessagePolicy>,
    /// The instant before which no turn takes the message, if it is a message for later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The files that the message mentions.
    #[serde(skip_serializing_if = "Mentions::is_empty")]
    pub mentions: Mentions,
}

impl Deliver {
    /// Sends the message for later, as [`Execute::at`](super::Execute::at) does. A note becomes a message then. Has no
    /// effect on other deliveries.
    #[must_use]
    pub fn at(self, not_before: impl Into<Option<Timestamp>>) -> Self {
        self.saying(|said| said.not_before = not_before.into())
    }
}

/// Returns the kind of a message. A message that names an instant is one for later.
pub(super) fn kind_of(not_before: Option<Timestamp>, wake: Wake) -> Result<ItemKind, InvalidId> {
    match not_before {
        Some(_) => mailbox::later_kind(),
        None => Ok(ItemKind::Message { wake }),
    }
}

impl Runtime {
    /// Lists the messages of a session that no turn has taken yet, in order of arrival, with later changes applied.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound).
    pub async fn queued(&self, key: &SessionKey) -> Result<Vec<QueuedMessage>, RuntimeError> {
        self.existing(key).await?;
        let mut items = Vec::new();
        let mut after = Some(InboxSeq(0));
        while let Some(place) = after {
            let page = self.host.store().read_inbox(key, place, INBOX_PAGE).await?;
            items.extend(page.items);
            after = page.next;
        }
        let queued = mailbox::queued(items).into_iter().map(|(item, said)| QueuedMessage {
            item: item.seq,
            key: item.key,
            at: item.at,
            text: said.text,
            policy: said.policy,
            not_before: said.not_before,
            mentions: said.mentions,
        });
        Ok(queued.collect())
    }

    /// Withdraws a message that no turn has taken yet. If a run takes the message at the same time, the run
    /// wins: the message is in the transcript, and nothing else is changed.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or no such waiting
    /// [message](RuntimeError::NotQueued).
    pub async fn withdraw(&self, key: &SessionKey, item: InboxSeq) -> Result<(), RuntimeError> {
        self.change(key, item, QueueChange::Withdrawn { of: item }).await
    }

    /// Replaces the text of a message that no turn has taken yet. The files that the old text mentioned are dropped.
    /// A concurrent run wins as for [`withdraw`](Self::withdraw), and the errors are the same.
    pub async fn replace(
        &self,
        key: &SessionKey,
        item: InboxSeq,
        text: impl Into<String>,
    ) -> Result<(), RuntimeError> {
        self.replace_mentioning(key, item, text, Mentions::none()).await
    }

    /// Does the same as [`replace`](Self::replace), with a text that mentions these files.
    pub async fn replace_mentioning(
        &self,
        key: &SessionKey,
        item: InboxSeq,
        text: impl Into<String>,
        mentions: Mentions,
    ) -> Result<(), RuntimeError> {
        self.change(key, item, QueueChange::Replaced { of: item, text: text.into(), mentions }).await
    }

    async fn change(
        &self,
        key: &SessionKey,
        item: InboxSeq,
        change: QueueChange,
    ) -> Result<(), RuntimeError> {
        if !self.queued(key).await?.iter().any(|queued| queued.item == item) {
            return Err(RuntimeError::NotQueued { key: key.clone(), item });
        }
        self.deliver(key, Deliver::queue_change(change)).await.map(drop)
    }

    /// Returns the policy for a message in this session: `named`, or else the agent's.
    pub(super) fn policy_in(session: &Session, named: Option<MessagePolicy>) -> Option<MessagePolicy> {
        named.or_else(|| Definition::read(&session.definition).ok()?.spec.on_message)
    }

    /// Returns true if a message with the policy `named` is accepted only while this session rests.
    pub(super) fn rejects(session: &Session, named: Option<MessagePolicy>) -> bool {
        Self::policy_in(session, named) == Some(MessagePolicy::Reject)
    }

    /// Refuses a message for a session that is aborted, or whose turn runs, is parked, or is about to begin.
    pub(super) fn refuse_if_busy(&self, session: &Session) -> Result<(), RuntimeError> {
        let key = || session.key.clone();
        let due = is_due(session, self.now());
        match session.status {
            SessionStatus::Aborted => Err(RuntimeError::Aborted { key: key() }),
            SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Failed if !due => Ok(()),
            status @ (SessionStatus::Idle
            | SessionStatus::Interrupted
            | SessionStatus::Failed
            | SessionStatus::Active
            | SessionStatus::Suspended) => Err(RuntimeError::Busy { key: key(), status }),
        }
    }

    /// Delivers a message only if the session rests. The store decides atomically: the message is delivered
    /// with a claim, which is given back at once so that a worker takes it up.
    pub(super) async fn deliver_at_rest(
        &self,
        key: &SessionKey,
        item: &InboxItem,
        named: Option<ItemKey>,
    ) -> Result<DeliveredItem, RuntimeError> {
        for _ in 0..TRIES_MAX {
            let session = self.existing(key).await?;
            if let Err(refused) = self.refuse_if_busy(&session) {
                return self.duplicate_or(refused, &session, item, named).await;
            }
            match self.host.try_claim(key, vec![item.clone()], Some(session.version)).await {
                Ok(Try::Ours(claimed)) => {
                    let why = ErrorInfo::new("runtime.delivered", "claimed to deliver a message at rest");
                    self.host.give_back(&claimed, claimed.claim.now, &why).await;
                    return Ok(DeliveredItem::accepted(item_of(&claimed.claim, &item.key)));
                }
                Ok(Try::Duplicate(seq)) => return Ok(DeliveredItem::duplicate(seq)),
                Ok(Try::Changed) => {}
                Err(RuntimeError::Held { .. }) => {
                    let refused = RuntimeError::Busy { key: key.clone(), status: SessionStatus::Active };
                    return self.duplicate_or(refused, &session, item, named).await;
                }
                Err(RuntimeError::KeyConflict { key, item }) => {
                    return Err(keys::conflict(&key, named, item));
                }
                // The session was aborted since it was read.
                Err(refused @ RuntimeError::Aborted { .. }) => {
                    return self.duplicate_or(refused, &session, item, named).await;
                }
                Err(error) => return Err(error),
            }
        }
        Err(RuntimeError::Contended { key: key.clone(), tries: TRIES_MAX })
    }

    /// Returns a duplicate if this message was accepted before, whatever the session does now. Otherwise
    /// returns the error `refused`. Stores nothing.
    ///
    /// To find out, it first delivers an answer to a pending call that does not exist. The store never accepts such
    /// an answer, but its reply tells whether the key is known. Keys are never forgotten, so a message under a
    /// known key is not accepted again either.
    pub(super) async fn duplicate_or(
        &self,
        refused: RuntimeError,
        session: &Session,
        item: &InboxItem,
        named: Option<ItemKey>,
    ) -> Result<DeliveredItem, RuntimeError> {
        let (store, key) = (self.host.store(), &session.key);
        let again = InboxItem { incarnation: Some(session.incarnation), ..item.clone() };
        match self.probe_key(session, &item.key).await? {
            Delivery::Duplicate { .. } | Delivery::Conflict { .. } => {}
            Delivery::Accepted { .. }
            | Delivery::AlreadyAnswered
            | Delivery::NotPending
            | Delivery::Aborted
            | Delivery::NotFound => return Err(refused),
        }
        match self.host.repeated(|| store.deliver(key, again.clone())).await? {
            Delivery::Accepted { seq } | Delivery::Duplicate { seq } => Ok(DeliveredItem::duplicate(seq)),
            Delivery::Conflict { .. } => Err(keys::conflict(key, named, item.key.clone())),
            Delivery::AlreadyAnswered | Delivery::NotPending | Delivery::Aborted | Delivery::NotFound => {
                Err(refused)
            }
        }
    }

    /// Delivers an answer to a pending call that does not exist, under the key `item`. Stores nothing. The outcome is
    /// `Conflict` if the key is known.
    pub(super) async fn probe_key(
        &self,
        session: &Session,
        item: &ItemKey,
    ) -> Result<Delivery, RuntimeError> {
        let kind = ItemKind::Answer { pending: PendingId::new("nobody")?, settles: false };
        let (incarnation, payload) = (Some(session.incarnation), Payload::new("{}"));
        let probe = InboxItem { key: item.clone(), kind, incarnation, payload };
        Ok(self.host.repeated(|| self.host.store().deliver(&session.key, probe.clone())).await?)
    }

    /// Refuses to edit anything but a user message that the model is still shown.
    pub(super) async fn refuse_uneditable(
        &self,
        session: &Session,
        message: MessageSeq,
    ) -> Result<(), RuntimeError> {
        let key = &session.key;
        let refuse = |why| Err(RuntimeError::NotEditable { key: key.clone(), message, why });
        let before = MessageSeq(message.0.saturating_sub(1));
        let found = self.messages_after(key, before, 1).await?;
        let is_said = found
            .first()
            .is_some_and(|entry| entry.seq == message && matches!(entry.message, Message::User(_)));
        if !is_said {
            return refuse("only what was said to the agent can be edited");
        }
        let shown = machine_of(session)?.is_none_or(|machine| {
            let earlier = machine.turn.seen_before.is_some_and(|view| view.shows(message));
            earlier || machine.view.shows(message)
        });
        if !shown {
            return refuse("the model is shown it no more; fork the session from a checkpoint before it");
        }
        Ok(())
    }
}
