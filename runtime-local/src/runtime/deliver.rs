//! Deliveries from outside: messages, signals, decisions, and answers of clients.

use holdover_core::background::ChildSignal;
use holdover_core::custom::StateChange;
use holdover_core::ids::{CallId, Incarnation, InvalidId, ItemKey, MessageSeq, PendingId, SessionKey};
use holdover_core::image::Images;
use holdover_core::mailbox::QueueChange;
use holdover_core::message::{
    CallSignal, ClientAnswer, Decision, Mentions, MessagePolicy, SETTLEMENT_BYTES_MAX, Said, Settlement,
    SignalBody,
};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::payload::Payload;
use holdover_core::store::{Delivery, InboxItem, ItemKind, PendingCall, Wake};
use serde::Serialize;

use super::Runtime;
use super::delivery::DeliveredItem;
use super::keys::{self, Once};
use super::mailbox::kind_of;
use crate::agent::Definition;
use crate::error::RuntimeError;

/// The maximum length, in bytes, of the edited arguments that a person may give a call. It is far more than a
/// built-in tool takes.
pub const EDIT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The result of a delivery that was not refused. The delivery is in the inbox and is consumed exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// The delivery was accepted.
    Accepted,
    /// An earlier delivery with the same content and key was accepted; nothing was changed.
    Duplicate,
}

/// A delivery for a session's inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Deliver {
    pub(super) once: Once,
    pub(super) incarnation: Option<Incarnation>,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    Message { said: Said, wake: Wake },
    Signal(SignalBody),
    QueueChange(QueueChange),
    StopCall(CallId),
    BeginChild(ChildSignal),
    Decision { pending: PendingId, decision: Decision },
    ClientAnswer { pending: PendingId, answer: ClientAnswer },
    Settlement { pending: PendingId, settlement: Settlement },
    Replay { pending: PendingId },
}

impl Deliver {
    fn of(what: What) -> Self {
        Self { once: Once::Never, incarnation: None, what }
    }

    /// Changes the content of a message.
    pub(super) fn saying(mut self, change: impl FnOnce(&mut Said)) -> Self {
        if let What::Message { said, .. } = &mut self.what {
            change(said);
        }
        self
    }

    /// Creates a message to the agent. It wakes the session.
    pub fn message(text: impl Into<String>) -> Self {
        Self::message_that(text, Wake::Now)
    }

    /// Creates a message to the agent. `wake` says whether and when it wakes the session.
    pub fn message_that(text: impl Into<String>, wake: Wake) -> Self {
        Self::of(What::Message { said: Said::new(text), wake })
    }

    /// Creates a message that replaces an earlier one. Everything from the earlier message on is hidden from the
    /// model, and a turn that runs is stopped. The modes and system prompts that came with the hidden messages no
    /// longer apply. Nothing is deleted.
    pub fn instead_of(message: MessageSeq, text: impl Into<String>) -> Self {
        let said = Said { edits: Some(message), ..Said::new(text) };
        Self::of(What::Message { said, wake: Wake::Now })
    }

    /// Creates a correction of the agent's course. `by` names its author, for example a reviewer or a monitor; the name
    /// is not authenticated. The model receives the text before its next call, marked as a correction that the user did
    /// not say, and the turn goes on. A session that rests begins a turn with it.
    ///
    /// The policy is [`Steer`](MessagePolicy::Steer), unless another one is set. A correction does not decide a call that
    /// waits for approval, and the agent's limit of corrections applies only to hooks.
    pub fn correction(by: impl Into<String>, text: impl Into<String>) -> Self {
        let (correction_by, policy) = (Some(by.into()), Some(MessagePolicy::Steer));
        let said = Said { correction_by, policy, ..Said::new(text) };
        Self::of(What::Message { said, wake: Wake::Now })
    }

    /// Sets the policy for the message while a turn runs or is parked. If none is set, the agent's policy applies.
    /// Has no effect on other deliveries, nor on a message that replaces an earlier one.
    #[must_use]
    pub fn under(self, policy: impl Into<Option<MessagePolicy>>) -> Self {
        self.saying(|said| said.policy = policy.into())
    }

    /// Sets how the agent works from this message on: its mode and system prompt. Has no effect on other
    /// deliveries.
    #[must_use]
    pub fn briefed(self, briefing: Briefing) -> Self {
        self.saying(|said| said.briefing = briefing)
    }

    /// Sets the pictures of a message, and replaces any that were set before. Has no effect on other
    /// deliveries.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        self.saying(|said| said.images = images)
    }

    /// Sets the files that a message mentions, as the sender saw them, and replaces any that were set before. They are
    /// stored with the message and shown to hooks and in events, and the model is told their paths and sizes. Has no
    /// effect on other deliveries.
    #[must_use]
    pub fn mentioning(self, mentions: Mentions) -> Self {
        self.saying(|said| said.mentions = mentions)
    }

    /// Creates a command to the engine. A [mode](SignalBody::Mode) does not wake the session: it applies from the
    /// next step on.
    pub fn signal(signal: SignalBody) -> Self {
        Self::of(What::Signal(signal))
    }

    /// Creates a change of a message that waits in the inbox.
    pub(super) fn queue_change(change: QueueChange) -> Self {
        Self::of(What::QueueChange(change))
    }

    /// Creates a request to stop one call.
    pub(super) fn stop_call(call: CallId, life: Incarnation) -> Self {
        Self { incarnation: Some(life), ..Self::of(What::StopCall(call)) }
    }

    /// Creates a decision on a call that waits for one.
    pub fn decision(on: &PendingCall, decision: Decision) -> Self {
        let what = What::Decision { pending: on.id.clone(), decision };
        Self { incarnation: Some(on.incarnation), ..Self::of(what) }
    }

    /// Creates the result of a call that a client runs.
    pub fn client_answer(to: &PendingCall, answer: ClientAnswer) -> Self {
        let what = What::ClientAnswer { pending: to.id.clone(), answer };
        Self { incarnation: Some(to.incarnation), ..Self::of(what) }
    }

    /// Creates the settlement of a call that ended in doubt.
    pub fn settlement(of: &PendingCall, settlement: Settlement) -> Self {
        let what = What::Settlement { pending: of.id.clone(), settlement };
        Self { incarnation: Some(of.incarnation), ..Self::of(what) }
    }

    /// Delivers at most once under this key. Without a key, each call is a separate delivery.
    ///
    /// Messages, signals and answers have separate keys in each session. So the sender of a message may choose any
    /// key: it cannot use up the key of an answer.
    #[must_use]
    pub fn once(self, key: impl Into<Option<ItemKey>>) -> Self {
        Self { once: key.into().map_or(Once::Never, Once::Key), ..self }
    }

    /// Delivers at most once in the life of the session.
    pub(super) fn first(self) -> Self {
        Self { once: Once::First, ..self }
    }

    fn into_item(self, key: &SessionKey) -> Result<InboxItem, RuntimeError> {
        let unreadable = |error| RuntimeError::unreadable(key, "delivery", error);
        let once = &self.once;
        let (key, kind, payload) = match self.what {
            What::Message { said, wake } => {
                (keys::of_message(once)?, kind_of(said.not_before, wake)?, Payload::json(&said))
            }
            What::Signal(signal) => {
                let wake = match signal {
                    SignalBody::Retry | SignalBody::Resume | SignalBody::Compact => Wake::Now,
                    SignalBody::Mode { .. } => Wake::Quiet,
                };
                (keys::of_signal(once)?, ItemKind::Signal { wake }, Payload::json(&signal))
            }
            What::QueueChange(change) => {
                (keys::of_signal(once)?, ItemKind::Signal { wake: Wake::Now }, Payload::json(&change))
            }
            What::StopCall(call) => {
                let signal = CallSignal::StopCall { call };
                (keys::of_signal(once)?, ItemKind::Signal { wake: Wake::Now }, Payload::json(&signal))
            }
            What::BeginChild(signal) => {
                (keys::of_signal(once)?, ItemKind::Signal { wake: Wake::Now }, Payload::json(&signal))
            }
            What::Decision { pending, decision } => {
                // A single refusal settles the call, however many approvals are needed. An edit does, too,
                // because earlier approvals no longer count.
                let settles = !decision.approve || decision.arguments.is_some();
                (keys::of_answer(once)?, ItemKind::Answer { pending, settles }, Payload::json(&decision))
            }
            What::ClientAnswer { pending, answer } => {
                (keys::of_answer(once)?, ItemKind::Answer { pending, settles: false }, Payload::json(&answer))
            }
            What::Settlement { pending, settlement } => {
                let kind = ItemKind::Answer { pending, settles: true };
                (keys::of_answer(once)?, kind, Payload::json(&settlement))
            }
            What::Replay { pending } => {
                let kind = ItemKind::Answer { pending, settles: false };
                (keys::of_answer(once)?, kind, Payload::json(&SignalBody::Retry))
            }
        };
        Ok(InboxItem { key, kind, incarnation: self.incarnation, payload: payload.map_err(unreadable)? })
    }
}

impl Runtime {
    /// Puts a delivery into a session's inbox. If no run holds the session and the delivery wakes it, a worker, or a
    /// caller that waits for the session, takes the delivery up.
    ///
    /// An answer that is longer than the engine accepts is not delivered ([`RuntimeError::TooLong`]), because
    /// it would use up the only answer of its call.
    ///
    /// A message with the policy [`Reject`](MessagePolicy::Reject) is accepted only while the session rests.
    /// A message that was accepted before under its key is a [`Duplicate`](Delivered::Duplicate), whatever
    /// the session does now. This also holds for a message that replaced an earlier one, although the earlier
    /// one is no longer shown, and for a message whose [mentioned](Deliver::mentioning) files have changed since.
    ///
    /// Errors: the session is [busy](RuntimeError::Busy), it kept [changing](RuntimeError::Contended), the
    /// earlier message cannot be [edited](RuntimeError::NotEditable), the key was used before for [something
    /// else](RuntimeError::KeyConflict), the session is [aborted](RuntimeError::Aborted), or there is [no
    /// such session](RuntimeError::NotFound). For an answer: the call [has all its
    /// answers](RuntimeError::AlreadyAnswered), or is [closed](RuntimeError::NotPending). For a correction or a
    /// settlement: the name of its author is [empty](RuntimeError::Id).
    pub async fn deliver(&self, key: &SessionKey, deliver: Deliver) -> Result<Delivered, RuntimeError> {
        self.deliver_item(key, deliver).await.map(|delivery| delivery.delivered)
    }

    /// Delivers as [`deliver`](Self::deliver) does, and also returns the number of the delivery in the inbox.
    /// [`taken`](Self::taken) finds the turn of a message by it.
    pub async fn deliver_item(
        &self,
        key: &SessionKey,
        deliver: Deliver,
    ) -> Result<DeliveredItem, RuntimeError> {
        let again = deliver.clone();
        match self.deliver_as_it_is(key, deliver).await {
            Err(refused @ (RuntimeError::KeyConflict { .. } | RuntimeError::NotFirst { .. })) => {
                self.repeat_or(refused, key, &again.into_item(key)?).await
            }
            delivered => delivered,
        }
    }

    async fn deliver_as_it_is(
        &self,
        key: &SessionKey,
        deliver: Deliver,
    ) -> Result<DeliveredItem, RuntimeError> {
        self.refuse_too_long(key, &deliver.what).await?;
        if let What::Message { said: Said { correction_by: Some(by), .. }, .. } = &deliver.what
            && by.trim().is_empty()
        {
            return Err(InvalidId::Empty { kind: "by: the name of who corrects" }.into());
        }
        if let What::Settlement { settlement, .. } = &deliver.what
            && settlement.by.as_deref().is_some_and(|by| by.trim().is_empty())
        {
            return Err(InvalidId::Empty { kind: "by: the name of who settles" }.into());
        }
        let (named, may_be_known) = (deliver.once.named(), deliver.once != Once::Never);
        let (rests_only, edits) = match &deliver.what {
            What::Message { said: Said { edits: Some(message), .. }, .. } => (false, Some(*message)),
            What::Message { said, .. } => {
                let session = self.existing(key).await?;
                (said.not_before.is_none() && Self::rejects(&session, said.policy), None)
            }
            What::Signal(_)
            | What::QueueChange(_)
            | What::StopCall(_)
            | What::BeginChild(_)
            | What::Decision { .. }
            | What::ClientAnswer { .. }
            | What::Settlement { .. }
            | What::Replay { .. } => (false, None),
        };
        let item = deliver.into_item(key)?;
        if let Some(message) = edits {
            let session = self.existing(key).await?;
            match self.refuse_uneditable(&session, message).await {
                // An earlier delivery of this message may be the reason why the replaced message is no longer
                // shown.
                Err(refused @ RuntimeError::NotEditable { .. }) if may_be_known => {
                    return self.duplicate_or(refused, &session, &item, named).await;
                }
                editable => editable?,
            }
        }
        if rests_only {
            return self.deliver_at_rest(key, &item, named).await;
        }
        match self.host.repeated(|| self.host.store().deliver(key, item.clone())).await? {
            Delivery::Accepted { seq } => Ok(DeliveredItem::accepted(seq)),
            Delivery::Duplicate { seq } => Ok(DeliveredItem::duplicate(seq)),
            Delivery::Conflict { .. } => Err(keys::conflict(key, named, item.key)),
            Delivery::Aborted => Err(RuntimeError::Aborted { key: key.clone() }),
            Delivery::NotFound => Err(RuntimeError::NotFound { key: key.clone() }),
            refused @ (Delivery::AlreadyAnswered | Delivery::NotPending) => match item.kind {
                ItemKind::Answer { pending, .. } if refused == Delivery::NotPending => {
                    tracing::warn!(session = %key, %pending, "an answer that nobody waits for is ignored");
                    Err(RuntimeError::NotPending { key: key.clone(), pending })
                }
                ItemKind::Answer { pending, .. } => {
                    Err(RuntimeError::AlreadyAnswered { key: key.clone(), pending })
                }
                ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. } => {
                    Err(RuntimeError::NotFound { key: key.clone() })
                }
            },
        }
    }

    /// Sets the mode of a session from its next step on, whether it rests, waits or runs. It does not wake
    /// the session.
    pub async fn set_mode(&self, key: &SessionKey, mode: Mode) -> Result<Delivered, RuntimeError> {
        self.deliver(key, Deliver::signal(SignalBody::Mode { mode })).await
    }

    async fn refuse_too_long(&self, key: &SessionKey, what: &What) -> Result<(), RuntimeError> {
        let (pending, part, bytes, bytes_max) = match what {
            What::Message { .. }
            | What::Signal(_)
            | What::QueueChange(_)
            | What::StopCall(_)
            | What::BeginChild(_)
            | What::Replay { .. } => return Ok(()),
            What::Decision { pending, decision } => {
                let bytes = decision.arguments.as_ref().map_or(0, String::len);
                (pending, "arguments", bytes, EDIT_BYTES_MAX)
            }
            What::ClientAnswer { pending, answer } => {
                let what = if answer.is_error { "error" } else { "result" };
                let (most, changes_most) = self.answer_bytes_max(key, answer.is_error).await?;
                let changes = bytes_of(&answer.changes);
                match answer.content.len() <= most && changes > changes_most {
                    true => (pending, "changes", changes, changes_most),
                    false => (pending, what, answer.content.len(), most),
                }
            }
            What::Settlement { pending, settlement } => {
                (pending, "settlement", settlement.bytes(), SETTLEMENT_BYTES_MAX)
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

    /// Returns the maximum lengths, in bytes, of a client's answer and of its changes to the custom state. They come
    /// from the agent's definition that is stored with the session. If the definition cannot be read here, no answer
    /// is refused here, and core checks the lengths later.
    async fn answer_bytes_max(
        &self,
        key: &SessionKey,
        is_error: bool,
    ) -> Result<(usize, usize), RuntimeError> {
        let session = self.session(key).await?;
        let definition = session.and_then(|session| Definition::read(&session.definition).ok());
        Ok(definition.map_or((usize::MAX, usize::MAX), |Definition { spec, .. }| {
            (spec.limits.answer_bytes_max(is_error), spec.state.bytes_max)
        }))
    }
}

/// Returns the length of changes to the custom state, in bytes of JSON. Without changes, the length is 0.
fn bytes_of(changes: &[StateChange]) -> usize {
    match changes {
        [] => 0,
        changes => serde_json::to_vec(changes).map_or(usize::MAX, |bytes| bytes.len()),
    }
}
