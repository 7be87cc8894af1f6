//! Answers to pending calls: approvals and denials by people, and results from clients.

use holdover_core::gate::ArgumentPatterns;
use holdover_core::ids::{Incarnation, PendingId, SessionKey};
use holdover_core::message::{ClientAnswer, Decision};
use holdover_core::payload::Digest;
use holdover_core::store::PendingKind;

use super::Runtime;
use super::deliver::{Deliver, Delivered, What};
use super::keys::Same;
use super::pending::Bound;
use crate::error::RuntimeError;

/// An approval of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approval {
    /// The name of the person who approves, which is not empty. If a call needs several approvals, each name counts
    /// once.
    pub by: Option<String>,
    /// The reason.
    pub reason: Option<String>,
    /// Edited arguments for the call, as JSON text. They are checked again against the schema and the policy.
    pub arguments: Option<String>,
    /// True if later calls of this tool in this session are approved, too.
    pub always: bool,
    /// With `always`: the patterns that the arguments of later calls must match.
    pub only: ArgumentPatterns,
}

impl Approval {
    /// Creates an approval by this person, of the call as it was shown.
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

    /// Sets the reason, if there is one.
    #[must_use]
    pub fn reason(self, reason: Option<String>) -> Self {
        Self { reason, ..self }
    }

    /// Sets edited arguments for the call, if there are any.
    #[must_use]
    pub fn arguments(self, arguments: Option<String>) -> Self {
        Self { arguments, ..self }
    }

    /// Runs the call with these edited arguments (JSON text). They are checked again against the schema and
    /// the policy.
    #[must_use]
    pub fn editing(self, arguments: impl Into<String>) -> Self {
        Self { arguments: Some(arguments.into()), ..self }
    }

    /// Approves later calls of this tool in this session, too.
    #[must_use]
    pub fn always(self) -> Self {
        Self { always: true, ..self }
    }

    /// Approves later calls of this tool in this session, too, if their arguments match.
    #[must_use]
    pub fn always_where(self, only: ArgumentPatterns) -> Self {
        Self { always: true, only, ..self }
    }

    /// Returns the decision of a person who saw arguments with the digest `saw`.
    pub(super) fn decision(self, saw: Digest) -> Decision {
        let Self { by, reason, arguments, always, only } = self;
        Decision { arguments, always, only, reason, by, ..Decision::new(true, saw) }
    }
}

/// A denial of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// The name of the person who denies, which is not empty.
    pub by: Option<String>,
    /// The reason. The model gets it.
    pub reason: Option<String>,
    /// True if the other calls of the step are cancelled, too. Those that are out are asked to stop.
    pub aborts: bool,
}

impl Denial {
    /// Creates a denial by this person.
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

    /// Adds a reason. The model gets it.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// Sets the reason, if there is one. The model gets it.
    #[must_use]
    pub fn reason(self, reason: Option<String>) -> Self {
        Self { reason, ..self }
    }

    /// Also ends the batch: the other calls of the step are cancelled, whatever the agent's rule for denials. Calls that
    /// were sent are asked to stop, and have the agent's `stop_grace_ms` to return: a result that comes by then counts.
    /// Children are stopped. The model is told that the call was aborted.
    ///
    /// ```
    /// use holdover_runtime_local::Denial;
    ///
    /// let stop = Denial::by("ann").because("wrong customer").aborting(true);
    /// assert!(stop.aborts);
    /// ```
    #[must_use]
    pub fn aborting(self, aborts: bool) -> Self {
        Self { aborts, ..self }
    }
}

/// Converts a name into a decision: `runtime.approve(&session, id, "ann")`.
macro_rules! named {
    ($decision:ident) => {
        impl From<&str> for $decision {
            fn from(by: &str) -> Self {
                Self::by(by)
            }
        }

        impl From<String> for $decision {
            fn from(by: String) -> Self {
                Self::by(by)
            }
        }

        impl From<Option<String>> for $decision {
            fn from(by: Option<String>) -> Self {
                Self { by, ..Self::default() }
            }
        }
    };
}

named!(Approval);
named!(Denial);

impl Runtime {
    /// Approves a call that waits for a person. If the call needs several approvals, this adds one of them, and
    /// each name counts once. A plain name is a valid [`Approval`]: `runtime.approve(&session, id, "ann")`.
    ///
    /// Errors, besides those of [`deliver`](Self::deliver): there is [no such pending call](RuntimeError::NotAsked),
    /// it waits for [another kind of answer](RuntimeError::OtherAnswer), [other people](RuntimeError::NotApprover)
    /// must decide, the name is [empty](RuntimeError::Id), or the approval is [unfit](RuntimeError::Unfit) and cannot
    /// be carried out.
    ///
    /// `pending` identifies the call as it was shown, with these exact arguments in the session's present
    /// incarnation. A later pending call has another id and is not approved. The call may belong to a child
    /// in the session's tree; the answer then goes to that child. A repeated approval returns
    /// [`Duplicate`](Delivered::Duplicate), even after the call has ended.
    pub async fn approve(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        approval: impl Into<Approval>,
    ) -> Result<Delivered, RuntimeError> {
        let approval = approval.into();
        self.decide(key, pending, |saw| approval.decision(saw)).await
    }

    /// Denies a call that waits for a person. `pending` has the same meaning as in [`approve`](Self::approve), and
    /// the errors are the same, except [`Unfit`](RuntimeError::Unfit).
    pub async fn deny(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        denial: impl Into<Denial>,
    ) -> Result<Delivered, RuntimeError> {
        let Denial { by, reason, aborts } = denial.into();
        let decide = |saw| Decision { aborts, reason, by, ..Decision::new(false, saw) };
        self.decide(key, pending, decide).await
    }

    /// Delivers the result of a call that a client runs. `pending` has the same meaning as in
    /// [`approve`](Self::approve).
    ///
    /// A parked state of a [procedure](holdover_core::procedure) takes the text of a
    /// [`ProcedureAnswer`](holdover_core::procedure::ProcedureAnswer).
    ///
    /// Errors, besides those of [`deliver`](Self::deliver): there is [no such pending call](RuntimeError::NotAsked),
    /// it waits for [another kind of answer](RuntimeError::OtherAnswer), or the answer is
    /// [unfit](RuntimeError::Unfit), because the parked state does not wait for it.
    pub async fn answer(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        answer: ClientAnswer,
    ) -> Result<Delivered, RuntimeError> {
        let Bound { key, life, asked, .. } = self.bound_to(key, pending, PendingKind::ClientTool).await?;
        let key = &key;
        self.refuse_unfit_input(asked.as_deref(), &answer).await?;
        let said =
            serde_json::to_vec(&answer).map_err(|error| RuntimeError::unreadable(key, "answer", error))?;
        let what = What::ClientAnswer { pending: pending.clone(), answer };
        self.say(key, pending, life, Same::Words(Digest::of(&said)), what).await
    }

    async fn decide(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        decide: impl FnOnce(Digest) -> Decision,
    ) -> Result<Delivered, RuntimeError> {
        let Bound { key, life, saw, asked } = self.bound_to(key, pending, PendingKind::Approval).await?;
        let key = &key;
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
            // The call is closed. This may be a repeat by one of several people who approved it.
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
        // The key does not include the digest of the arguments that were shown, because that digest is not known
        // once the call is closed.
        let words = Decision { saw: Digest::of(b""), ..decision.clone() };
        let said =
            serde_json::to_vec(&words).map_err(|error| RuntimeError::unreadable(key, "decision", error))?;
        let what = What::Decision { pending: pending.clone(), decision };
        self.say(key, pending, life, Same::Words(Digest::of(&said)), what).await
    }

    /// Delivers an answer, unless it was delivered before.
    pub(super) async fn say(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        life: Incarnation,
        same: Same,
        what: What,
    ) -> Result<Delivered, RuntimeError> {
        let mut refused = None;
        for once in same.answer(&**self.host.store(), &key.tenant, pending)? {
            let deliver = Deliver { once, incarnation: Some(life), what: what.clone() };
            match self.deliver(key, deliver).await {
                // The same answer to the same call. It differs only in a part that is not known any more.
                Err(RuntimeError::KeyConflict { .. }) => return Ok(Delivered::Duplicate),
                // The same answer may have been given before under an older form of the key.
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
