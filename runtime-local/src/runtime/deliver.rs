//! Deliveries from outside: messages, signals, decisions, answers of clients.

use holdover_core::gate::ArgumentPatterns;
use holdover_core::ids::{CallId, Incarnation, ItemKey, MessageSeq, PendingId, SessionKey};
use holdover_core::image::Images;
use holdover_core::mailbox::QueueChange;
use holdover_core::message::{CallSignal, ClientAnswer, Decision, MessagePolicy, Said, SignalBody};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::payload::{Digest, Payload};
use holdover_core::store::{Delivery, InboxItem, ItemKind, PendingCall, PendingKind, Wake};
use serde::Serialize;

use super::Runtime;
use super::keys::{self, Once, Same};
use super::pending::Bound;
use crate::agent::Definition;
use crate::error::RuntimeError;

/// The longest arguments, in bytes, that a person may give a call by editing: well beyond what a built-in
/// tool takes.
pub const EDIT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The result of a delivery that was not refused: it is in the inbox and will be consumed exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// Accepted by this delivery.
    Accepted,
    /// Accepted by an earlier delivery that said the same under the same key; nothing was changed.
    Duplicate,
}

/// A delivery for a session's inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Deliver {
    once: Once,
    incarnation: Option<Incarnation>,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Message { said: Said, wake: Wake },
    Signal(SignalBody),
    QueueChange(QueueChange),
    StopCall(CallId),
    Decision { pending: PendingId, decision: Decision },
    ClientAnswer { pending: PendingId, answer: ClientAnswer },
}

impl Deliver {
    /// A message to the agent. It wakes the session.
    pub fn message(text: impl Into<String>) -> Self {
        Self::message_that(text, Wake::Now)
    }

    /// A message to the agent that counts as `wake` says.
    pub fn message_that(text: impl Into<String>, wake: Wake) -> Self {
        Self { once: Once::Never, incarnation: None, what: What::Message { said: Said::new(text), wake } }
    }

    /// A message in place of an earlier one. Everything that was said from the earlier message on is hidden
    /// from the model, and a turn that runs is stopped. Modes and system prompts that came with those
    /// messages are taken back, too. Nothing stored is removed.
    pub fn instead_of(message: MessageSeq, text: impl Into<String>) -> Self {
        let said = Said { edits: Some(message), ..Said::new(text) };
        Self { once: Once::Never, incarnation: None, what: What::Message { said, wake: Wake::Now } }
    }

    /// Sets what happens to a message while a turn runs or is parked; if none, its agent's policy counts. Has
    /// no meaning for other deliveries, nor for a message in place of an earlier one.
    #[must_use]
    pub fn under(mut self, policy: impl Into<Option<MessagePolicy>>) -> Self {
        if let What::Message { said, .. } = &mut self.what {
            said.policy = policy.into();
        }
        self
    }

    /// Sets how the agent works from this message on. Has no meaning for other deliveries.
    #[must_use]
    pub fn briefed(mut self, briefing: Briefing) -> Self {
        if let What::Message { said, .. } = &mut self.what {
            said.briefing = briefing;
        }
        self
    }

    /// Adds pictures to a message. Has no meaning for other deliveries.
    #[must_use]
    pub fn showing(mut self, images: Images) -> Self {
        if let What::Message { said, .. } = &mut self.what {
            said.images = images;
        }
        self
    }

    /// A command to the engine. A [mode](SignalBody::Mode) wakes nobody: it counts from the next step on,
    /// whenever that comes.
    pub fn signal(signal: SignalBody) -> Self {
        Self { once: Once::Never, incarnation: None, what: What::Signal(signal) }
    }

    /// A word about a message that waits.
    pub(super) fn queue_change(change: QueueChange) -> Self {
        Self { once: Once::Never, incarnation: None, what: What::QueueChange(change) }
    }

    /// A word that stops one call.
    pub(super) fn stop_call(call: CallId, life: Incarnation) -> Self {
        Self { once: Once::Never, incarnation: Some(life), what: What::StopCall(call) }
    }

    /// A decision on a call that waits for one.
    pub fn decision(on: &PendingCall, decision: Decision) -> Self {
        let what = What::Decision { pending: on.id.clone(), decision };
        Self { once: Once::Never, incarnation: Some(on.incarnation), what }
    }

    /// The result of a call that a client runs.
    pub fn client_answer(to: &PendingCall, answer: ClientAnswer) -> Self {
        let what = What::ClientAnswer { pending: to.id.clone(), answer };
        Self { once: Once::Never, incarnation: Some(to.incarnation), what }
    }

    /// Delivers at most once under this key. Without one, each call is a separate delivery.
    ///
    /// Messages, signals and answers have separate keys in each session. So a key may come from the sender of
    /// a message: it cannot use up the key of an answer.
    #[must_use]
    pub fn once(self, key: impl Into<Option<ItemKey>>) -> Self {
        Self { once: key.into().map_or(Once::Never, Once::Key), ..self }
    }

    /// At most once in the life of the session.
    pub(super) fn first(self) -> Self {
        Self { once: Once::First, ..self }
    }

    fn into_item(self, key: &SessionKey) -> Result<InboxItem, RuntimeError> {
        let unreadable = |error| RuntimeError::unreadable(key, "delivery", error);
        let once = &self.once;
        let (key, kind, payload) = match self.what {
            What::Message { said, wake } => {
                (keys::of_message(once)?, ItemKind::Message { wake }, Payload::json(&said))
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
            What::Decision { pending, decision } => {
                // A refusal alone ends the asking, however many approvals are needed, and so does an edit: what was
                // approved so far is void.
                let settles = !decision.approve || decision.arguments.is_some();
                (keys::of_answer(once)?, ItemKind::Answer { pending, settles }, Payload::json(&decision))
            }
            What::ClientAnswer { pending, answer } => {
                (keys::of_answer(once)?, ItemKind::Answer { pending, settles: false }, Payload::json(&answer))
            }
        };
        Ok(InboxItem { key, kind, incarnation: self.incarnation, payload: payload.map_err(unreadable)? })
    }
}

/// An approval of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approval {
    /// The person who approves; not empty. Where a call needs several approvals, this name tells people
    /// apart.
    pub by: Option<String>,
    /// The reason.
    pub reason: Option<String>,
    /// Arguments to run with instead, as JSON text. Schema and policy check them again.
    pub arguments: Option<String>,
    /// Whether later calls of this tool in this session need no approval any more.
    pub always: bool,
    /// With `always`: only calls whose arguments match these patterns.
    pub only: ArgumentPatterns,
}

impl Approval {
    /// A yes of this person, to the call as it was shown.
    ///
    /// ```
    /// use holdover_runtime_local::Approval;
    ///
    /// let yes = Approval::by("ann").because("she called us");
    /// let less = Approval::by("ann").because("half of it came back").editing(r#"{"cents":600}"#);
    /// let all = Approval::by("ann").always();
    /// # let _ = (yes, less, all);
    /// ```
    pub fn by(name: impl Into<String>) -> Self {
        Self { by: Some(name.into()), ..Self::default() }
    }

    /// Adds a reason.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// Runs the call with these arguments instead, as JSON text. Schema and policy check them again.
    #[must_use]
    pub fn editing(self, arguments: impl Into<String>) -> Self {
        Self { arguments: Some(arguments.into()), ..self }
    }

    /// Approves later calls of this tool in this session, too.
    #[must_use]
    pub fn always(self) -> Self {
        Self { always: true, ..self }
    }

    /// Approves later calls of this tool in this session, too, where their arguments match.
    #[must_use]
    pub fn always_where(self, only: ArgumentPatterns) -> Self {
        Self { always: true, only, ..self }
    }

    /// This approval by whoever saw what has this digest.
    pub(super) fn decision(self, saw: Digest) -> Decision {
        let Self { by, reason, arguments, always, only } = self;
        Decision { approve: true, saw, arguments, always, only, reason, by }
    }
}

/// A denial of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Denial {
    /// The person who denies; not empty.
    pub by: Option<String>,
    /// The reason; the model is told.
    pub reason: Option<String>,
}

impl Denial {
    /// A no of this person.
    ///
    /// ```
    /// use holdover_runtime_local::Denial;
    ///
    /// let no = Denial::by("ann").because("it was refunded last week");
    /// assert_eq!(no.by.as_deref(), Some("ann"));
    /// ```
    pub fn by(name: impl Into<String>) -> Self {
        Self { by: Some(name.into()), ..Self::default() }
    }

    /// Adds a reason; the model is told.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }
}

impl Runtime {
    /// Puts a delivery into a session's inbox. Wakes the session if nobody runs it; a worker, or a caller
    /// that waits for it, takes the delivery up.
    ///
    /// An answer that the engine would refuse for its length alone is not delivered
    /// ([`RuntimeError::TooLong`]), because it would use up the one answer of its call.
    ///
    /// A message under the policy [`Reject`](MessagePolicy::Reject) is accepted only while the session rests.
    /// A message that was accepted before under its key is a [`Duplicate`](Delivered::Duplicate) whatever the
    /// session does. This also holds for a message that edited an earlier one which is no longer shown.
    ///
    /// Errors: the session is [busy](RuntimeError::Busy), the earlier message cannot be
    /// [edited](RuntimeError::NotEditable), the key was used before for
    /// [something else](RuntimeError::KeyConflict), the session is [aborted](RuntimeError::Aborted) or
    /// [not there](RuntimeError::NotFound); for an answer, others were
    /// [faster](RuntimeError::AlreadyAnswered), or it is [not waited for](RuntimeError::NotPending).
    pub async fn deliver(&self, key: &SessionKey, deliver: Deliver) -> Result<Delivered, RuntimeError> {
        self.refuse_too_long(key, &deliver.what).await?;
        let (named, may_be_known) = (deliver.once.named(), deliver.once != Once::Never);
        let (rests_only, edits) = match &deliver.what {
            What::Message { said: Said { edits: Some(message), .. }, .. } => (false, Some(*message)),
            What::Message { said, .. } => {
                let session = self.existing(key).await?;
                (Self::policy_in(&session, said.policy) == Some(MessagePolicy::Reject), None)
            }
            What::Signal(_)
            | What::QueueChange(_)
            | What::StopCall(_)
            | What::Decision { .. }
            | What::ClientAnswer { .. } => (false, None),
        };
        let item = deliver.into_item(key)?;
        if let Some(message) = edits {
            let session = self.existing(key).await?;
            match self.refuse_uneditable(&session, message).await {
                // Perhaps it is its own doing that the earlier message is shown no more.
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
            Delivery::Accepted { .. } => Ok(Delivered::Accepted),
            Delivery::Duplicate { .. } => Ok(Delivered::Duplicate),
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

    /// Sets the mode of a session from its next step on, whether it rests, waits or runs. It wakes nobody.
    pub async fn set_mode(&self, key: &SessionKey, mode: Mode) -> Result<Delivered, RuntimeError> {
        self.deliver(key, Deliver::signal(SignalBody::Mode { mode })).await
    }

    /// Approves a call that waits for a person, or adds one of several approvals that it needs; each name
    /// counts once.
    ///
    /// Errors, besides those of [`deliver`](Self::deliver): [others](RuntimeError::NotApprover) must decide;
    /// or the approval certainly could not be carried out as [given](RuntimeError::Unfit).
    ///
    /// `pending` names the call as it was shown, with these bytes in this life of the session. Anything else
    /// that waits there now has another id, and is not approved. A caller that repeats an approval gets
    /// [`Duplicate`](Delivered::Duplicate), also when the call is long over.
    pub async fn approve(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        approval: Approval,
    ) -> Result<Delivered, RuntimeError> {
        self.decide(key, pending, |saw| approval.decision(saw)).await
    }

    /// Denies a call that waits for a person; `pending` as in [`approve`](Self::approve).
    pub async fn deny(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        denial: Denial,
    ) -> Result<Delivered, RuntimeError> {
        let Denial { by, reason } = denial;
        let decide = |saw| Decision {
            approve: false,
            saw,
            arguments: None,
            always: false,
            only: ArgumentPatterns::default(),
            reason,
            by,
        };
        self.decide(key, pending, decide).await
    }

    /// Delivers the result of a call that a client runs; `pending` as in [`approve`](Self::approve).
    pub async fn answer(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        answer: ClientAnswer,
    ) -> Result<Delivered, RuntimeError> {
        let Bound { life, .. } = self.bound_to(key, pending, PendingKind::ClientTool).await?;
        let said =
            serde_json::to_vec(&answer).map_err(|error| RuntimeError::unreadable(key, "answer", error))?;
        let what = What::ClientAnswer { pending: pending.clone(), answer };
        self.say(key, pending, life, Same::Words(Digest::of(&said)), what).await
    }

    async fn refuse_too_long(&self, key: &SessionKey, what: &What) -> Result<(), RuntimeError> {
        let (pending, part, bytes, bytes_max) = match what {
            What::Message { .. } | What::Signal(_) | What::QueueChange(_) | What::StopCall(_) => {
                return Ok(());
            }
            What::Decision { pending, decision } => {
                let bytes = decision.arguments.as_ref().map_or(0, String::len);
                (pending, "arguments", bytes, EDIT_BYTES_MAX)
            }
            What::ClientAnswer { pending, answer } => {
                let what = if answer.is_error { "error" } else { "result" };
                let most = self.answer_bytes_max(key, answer.is_error).await?;
                (pending, what, answer.content.len(), most)
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

    /// The longest answer of a client that the agent of the session takes, as it was stored with it. What nobody
    /// can tell here, core judges later.
    async fn answer_bytes_max(&self, key: &SessionKey, is_error: bool) -> Result<usize, RuntimeError> {
        let session = self.session(key).await?;
        let definition = session.and_then(|session| Definition::read(&session.definition).ok());
        Ok(definition.map_or(usize::MAX, |definition| definition.spec.limits.answer_bytes_max(is_error)))
    }

    async fn decide(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        decide: impl FnOnce(Digest) -> Decision,
    ) -> Result<Delivered, RuntimeError> {
        let Bound { life, saw, asked } = self.bound_to(key, pending, PendingKind::Approval).await?;
        let decision = decide(saw);
        self.refuse_unfit(asked.as_deref(), &decision).await?;
        let plain = decision.approve && decision.arguments.is_none();
        let voter = decision.by.clone().filter(|_| plain);
        let panel = asked.as_ref().and_then(|asked| asked.body.panel.as_deref());
        if let Some(panel) = panel {
            if let Some(voter) = voter.filter(|_| !panel.terms.is_anyone()) {
                if panel.has_vote_of(&voter) {
                    return Ok(Delivered::Duplicate);
                }
                let what = What::Decision { pending: pending.clone(), decision };
                return self.say(key, pending, life, Same::Voter(voter), what).await;
            }
            return self.decide_by_words(key, pending, life, decision).await;
        }
        let again = voter.map(|by| (Same::Voter(by), decision.clone()));
        match (self.decide_by_words(key, pending, life, decision).await, again) {
            // The asking is over. Whoever was one of several says it again, perhaps.
            (
                Err(over @ (RuntimeError::NotPending { .. } | RuntimeError::AlreadyAnswered { .. })),
                Some(again),
            ) => {
                let (same, decision) = again;
                let what = What::Decision { pending: pending.clone(), decision };
                self.say(key, pending, life, same, what).await.map_err(|_| over)
            }
            (delivered, _) => delivered,
        }
    }

    async fn decide_by_words(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        life: Incarnation,
        decision: Decision,
    ) -> Result<Delivered, RuntimeError> {
        // The words alone: what was seen is not known any more once the asking is over.
        let words = Decision { saw: Digest::of(b""), ..decision.clone() };
        let said =
            serde_json::to_vec(&words).map_err(|error| RuntimeError::unreadable(key, "decision", error))?;
        let what = What::Decision { pending: pending.clone(), decision };
        self.say(key, pending, life, Same::Words(Digest::of(&said)), what).await
    }

    /// Delivers an answer, unless it was delivered before.
    async fn say(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        life: Incarnation,
        same: Same,
        what: What,
    ) -> Result<Delivered, RuntimeError> {
        let mut refused = None;
        for once in same.answer(&*self.host.store(), &key.tenant, pending)? {
            let deliver = Deliver { once, incarnation: Some(life), what: what.clone() };
            match self.deliver(key, deliver).await {
                // The same words under the same asking: they differ only in what is not known any more.
                Err(RuntimeError::KeyConflict { .. }) => return Ok(Delivered::Duplicate),
                // Unless it was said before, under a key of an older form.
                Err(over @ (RuntimeError::NotPending { .. } | RuntimeError::AlreadyAnswered { .. })) => {
                    refused.get_or_insert(over);
                }
                delivered => return delivered,
            }
        }
        Err(refused
            .unwrap_or_else(|| RuntimeError::NotPending { key: key.clone(), pending: pending.clone() }))
    }
}
