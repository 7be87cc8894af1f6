//! Deliveries from outside: messages, signals, decisions, answers of clients.

use holdover_core::ids::{Incarnation, ItemKey, PendingId, SessionKey};
use holdover_core::message::{ClientAnswer, Decision, PendingBody, Said, SignalBody};
use holdover_core::payload::Payload;
use holdover_core::store::{Delivery, InboxItem, ItemKind, PendingCall, PendingKind, Wake};

use super::repeat::repeated;
use super::{PendingEntry, Runtime, draw_id};
use crate::agent::Definition;
use crate::error::RuntimeError;

/// The longest arguments that a person may let a call run with instead, in bytes: well beyond what a built-in
/// tool takes.
pub const EDIT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What became of a delivery.
pub type Delivered = Delivery;

/// Something for a session's inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Deliver {
    key: Option<ItemKey>,
    incarnation: Option<Incarnation>,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Message { text: String, wake: Wake },
    Signal(SignalBody),
    Decision { pending: PendingId, decision: Decision },
    ClientAnswer { pending: PendingId, answer: ClientAnswer },
}

impl Deliver {
    /// Something said to the agent; wakes the session.
    pub fn message(text: impl Into<String>) -> Self {
        Self::message_that(text, Wake::Now)
    }

    /// Something said to the agent that counts as `wake` says.
    pub fn message_that(text: impl Into<String>, wake: Wake) -> Self {
        Self { key: None, incarnation: None, what: What::Message { text: text.into(), wake } }
    }

    /// A word to the engine.
    pub fn signal(signal: SignalBody) -> Self {
        Self { key: None, incarnation: None, what: What::Signal(signal) }
    }

    /// A decision on a call that waits for one.
    pub fn decision(on: &PendingCall, decision: Decision) -> Self {
        let what = What::Decision { pending: on.id.clone(), decision };
        Self { key: None, incarnation: Some(on.incarnation), what }
    }

    /// The result of a call that a client runs.
    pub fn client_answer(to: &PendingCall, answer: ClientAnswer) -> Self {
        let what = What::ClientAnswer { pending: to.id.clone(), answer };
        Self { key: None, incarnation: Some(to.incarnation), what }
    }

    /// At most once under this key; without one, each call is a delivery of its own.
    #[must_use]
    pub fn once(self, key: ItemKey) -> Self {
        Self { key: Some(key), ..self }
    }

    fn into_item(self) -> Result<InboxItem, serde_json::Error> {
        let (kind, payload) = match self.what {
            What::Message { text, wake } => (ItemKind::Message { wake }, Payload::json(&Said { text })?),
            What::Signal(signal) => (ItemKind::Signal { wake: Wake::Now }, Payload::json(&signal)?),
            What::Decision { pending, decision } => {
                // A refusal alone ends the asking, however many approvals are needed.
                let settles = !decision.approve;
                (ItemKind::Answer { pending, settles }, Payload::json(&decision)?)
            }
            What::ClientAnswer { pending, answer } => {
                (ItemKind::Answer { pending, settles: false }, Payload::json(&answer)?)
            }
        };
        let key = self.key.unwrap_or_else(draw_id);
        Ok(InboxItem { key, kind, incarnation: self.incarnation, payload })
    }
}

/// A yes to a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approval {
    /// Who says so.
    pub by: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Arguments to run with instead, as JSON text; checked again by schema and policy.
    pub arguments: Option<String>,
    /// Whether later calls of this tool in this session need no approval any more.
    pub always: bool,
}

/// A no to a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Denial {
    /// Who says so.
    pub by: Option<String>,
    /// Why; the model is told.
    pub reason: Option<String>,
}

impl Runtime {
    /// Puts something into a session's inbox. Wakes the session if nobody runs it; a worker, or whoever
    /// waits for it, takes it up.
    ///
    /// An answer that the engine would have to refuse for its length alone is not delivered
    /// ([`RuntimeError::TooLong`]): delivered, it would use up the one answer of its call.
    pub async fn deliver(&self, key: &SessionKey, deliver: Deliver) -> Result<Delivered, RuntimeError> {
        self.refuse_too_long(key, &deliver.what).await?;
        let item = deliver.into_item().map_err(|error| RuntimeError::unreadable(key, "delivery", error))?;
        Ok(repeated(|| self.shared.store.deliver(key, item.clone())).await?)
    }

    /// Lets a call run that waits for a person. `which` is its call id or its pending id.
    pub async fn approve(
        &self,
        key: &SessionKey,
        which: &str,
        approval: Approval,
    ) -> Result<Delivered, RuntimeError> {
        let decide = |body: &PendingBody| Decision {
            approve: true,
            saw: body.digest,
            arguments: approval.arguments,
            always: approval.always,
            reason: approval.reason,
            by: approval.by,
        };
        self.decide(key, which, decide).await
    }

    /// Refuses a call that waits for a person. `which` is its call id or its pending id.
    pub async fn deny(
        &self,
        key: &SessionKey,
        which: &str,
        denial: Denial,
    ) -> Result<Delivered, RuntimeError> {
        let decide = |body: &PendingBody| Decision {
            approve: false,
            saw: body.digest,
            arguments: None,
            always: false,
            reason: denial.reason,
            by: denial.by,
        };
        self.decide(key, which, decide).await
    }

    /// Hands in the result of a call that a client runs. `which` is its call id or its pending id.
    pub async fn answer(
        &self,
        key: &SessionKey,
        which: &str,
        answer: ClientAnswer,
    ) -> Result<Delivered, RuntimeError> {
        match self.open_call(key, which, PendingKind::ClientTool).await? {
            Ok(pending) => self.deliver(key, Deliver::client_answer(&pending.call, answer)).await,
            Err(answer) => Ok(answer),
        }
    }

    async fn refuse_too_long(&self, key: &SessionKey, what: &What) -> Result<(), RuntimeError> {
        let (pending, part, bytes, bytes_max) = match what {
            What::Message { .. } | What::Signal(_) => return Ok(()),
            What::Decision { pending, decision } => {
                let bytes = decision.arguments.as_ref().map_or(0, String::len);
                (pending, "arguments", bytes, EDIT_BYTES_MAX)
            }
            What::ClientAnswer { pending, answer } => {
                (pending, "result", answer.content.len(), self.result_bytes_max(key).await?)
            }
        };
        if bytes <= bytes_max {
            return Ok(());
        }
        Err(RuntimeError::TooLong {
            key: key.clone(),
            pending: pending.clone(),
            what: part,
            bytes,
            bytes_max,
        })
    }

    /// The longest result that the agent of the session takes, as it was stored with it. What nobody can tell
    /// here, core judges later.
    async fn result_bytes_max(&self, key: &SessionKey) -> Result<usize, RuntimeError> {
        let session = self.session(key).await?;
        let definition = session.and_then(|session| Definition::read(&session.definition).ok());
        Ok(definition.map_or(usize::MAX, |definition| definition.spec.limits.result_bytes_max))
    }

    async fn decide(
        &self,
        key: &SessionKey,
        which: &str,
        decide: impl FnOnce(&PendingBody) -> Decision,
    ) -> Result<Delivered, RuntimeError> {
        match self.open_call(key, which, PendingKind::Approval).await? {
            Ok(PendingEntry { call, body }) => {
                self.deliver(key, Deliver::decision(&call, decide(&body))).await
            }
            Err(answer) => Ok(answer),
        }
    }

    /// The open pending call with this call id or pending id, or why there is none.
    async fn open_call(
        &self,
        key: &SessionKey,
        which: &str,
        asked: PendingKind,
    ) -> Result<Result<PendingEntry, Delivered>, RuntimeError> {
        match self.pending_call(key, which).await {
            Ok(Some(entry)) if entry.call.kind != asked => Err(RuntimeError::OtherAnswer {
                key: key.clone(),
                call: which.to_owned(),
                found: entry.call.kind,
                asked,
            }),
            Ok(Some(entry)) => Ok(Ok(entry)),
            Ok(None) => Ok(Err(Delivery::NotPending)),
            Err(RuntimeError::NotFound { .. }) => Ok(Err(Delivery::NotFound)),
            Err(error) => Err(error),
        }
    }
}
