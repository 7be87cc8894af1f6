//! The machine of one tool call.
//!
//! Three answers differ: the call *moved*, it was *already there* (redelivery is everyday life), the input
//! is *not allowed*. An end never changes (INV-17).

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, MessageSeq, PendingId};
use crate::payload::Digest;
use crate::time::Timestamp;
use crate::tool::{EffectClass, ResourceProfile, RunsOn};

/// A call of the step that is being executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which call.
    pub id: CallId,
    /// Which tool, as the model named it.
    pub tool: String,
    /// What a crash in the middle of it means. Kept here so that a session can be ended without its agent.
    pub effect: EffectClass,
    /// Whether it is never started again on its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangerous: bool,
    /// Who runs it.
    #[serde(default)]
    pub runs_on: RunsOn,
    /// The message that holds the arguments: the model's, or the decision that edited them.
    pub arguments: MessageSeq,
    /// What it touches; serial until the gate has looked at it.
    #[serde(default)]
    pub profile: ResourceProfile,
    /// How often an answer was asked for. Part of the pending id, so each asking has its own.
    #[serde(default)]
    pub round: u32,
    /// The digest of the arguments that a person approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Digest>,
    /// Whether a run that died may have sent it, and it is to be sent again. Stopped before that, it is in
    /// doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sent_before: bool,
    /// Where it stands.
    pub state: CallState,
}

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CallState {
    /// Not looked at.
    Queued,
    /// The gate is being asked.
    Gating,
    /// Parked: a person owes a decision.
    BlockedOnUser {
        /// The asking.
        pending: PendingId,
        /// When it expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Parked: a client owes the result.
    BlockedOnClient {
        /// The asking.
        pending: PendingId,
        /// When it expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Parked: a durable timer runs.
    Waiting {
        /// When it rings.
        until: Timestamp,
        /// What the model is told then.
        output: String,
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// Allowed, not started.
    Approved,
    /// Its start mark is on its way to the store; it is not sent before that is acknowledged.
    Preparing,
    /// Out.
    Executing,
    /// Out, and told to stop; it may still say what became of it.
    CleaningUp,
    /// End: it did what it was asked for.
    Done,
    /// End: it could not, was refused by the policy, or was not answered in time.
    Error,
    /// End: a person refused it.
    RejectedByUser,
    /// End: it was stopped before it acted.
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
    /// End: it was out when it was lost sight of; it may have acted.
    InDoubt,
}

/// Why a call was cancelled. These wire names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CancelReason {
    /// The turn was stopped.
    #[serde(rename = "user:cancelled")]
    UserCancelled,
    /// The engine gave the turn up.
    #[serde(rename = "system:disposed")]
    SystemDisposed,
    /// It is dangerous and its run died before it started.
    #[serde(rename = "system:safety")]
    SystemSafety,
}

impl CancelReason {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserCancelled => "user:cancelled",
            Self::SystemDisposed => "system:disposed",
            Self::SystemSafety => "system:safety",
        }
    }
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CallInput {
    /// The gate is asked.
    Asked,
    /// The gate let it through.
    Allowed {
        /// What it touches.
        profile: ResourceProfile,
    },
    /// It ends without running: denied, invalid, unknown tool.
    Refused,
    /// The gate wants a person's decision.
    NeedsUser {
        /// The asking.
        pending: PendingId,
        /// When it expires.
        deadline: Option<Timestamp>,
        /// What it touches.
        profile: ResourceProfile,
        /// The message that holds the arguments that are shown.
        arguments: MessageSeq,
    },
    /// An answer came that decides nothing; it is asked for again.
    Reopened {
        /// The new asking.
        pending: PendingId,
    },
    /// A client must run it.
    NeedsClient {
        /// The asking.
        pending: PendingId,
        /// When it expires.
        deadline: Option<Timestamp>,
        /// What it touches.
        profile: ResourceProfile,
    },
    /// A person approved it; the gate is asked again.
    Approved {
        /// The message that holds the arguments that were approved.
        arguments: MessageSeq,
        /// Their digest.
        digest: Digest,
    },
    /// A person refused it.
    Rejected,
    /// The client answered.
    Answered {
        /// Whether it could do it.
        ok: bool,
    },
    /// Nobody answered in time.
    Expired,
    /// Its start mark travels.
    Marked,
    /// It is out.
    Sent,
    /// It came back.
    Returned {
        /// Whether it did what it was asked for.
        ok: bool,
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// It came back and its result is due later.
    Deferred {
        /// When.
        until: Timestamp,
        /// What the model is told then.
        output: String,
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// Its timer rang.
    Rang,
    /// It is told to stop.
    StopAsked,
    /// It did not act and will not.
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
    /// It was lost sight of.
    Lost,
    /// The run that had it out died, and it may be sent again.
    Again,
}

/// What became of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The call is in another state now.
    Moved(CallState),
    /// The call was there already.
    AlreadyThere,
    /// There is no such move.
    NotAllowed,
}

impl CallState {
    /// What follows from `input`. Performs nothing.
    pub fn step(&self, input: &CallInput) -> Step {
        use CallInput as I;
        use CallState as S;
        let to = Step::Moved;
        match (self, input) {
            (S::Queued, I::Asked) => to(S::Gating),
            (S::Gating, I::Asked) => Step::AlreadyThere,

            (S::Gating, I::Allowed { .. }) => to(S::Approved),
            (S::Gating, I::NeedsUser { pending, deadline, .. }) => {
                to(S::BlockedOnUser { pending: pending.clone(), deadline: *deadline })
            }
            (S::Gating, I::NeedsClient { pending, deadline, .. }) => {
                to(S::BlockedOnClient { pending: pending.clone(), deadline: *deadline })
            }
            (S::Queued | S::Gating, I::Refused) => to(S::Error),

            (S::BlockedOnUser { deadline, .. }, I::Reopened { pending }) => {
                to(S::BlockedOnUser { pending: pending.clone(), deadline: *deadline })
            }
            (S::BlockedOnClient { deadline, .. }, I::Reopened { pending }) => {
                to(S::BlockedOnClient { pending: pending.clone(), deadline: *deadline })
            }
            (S::BlockedOnUser { .. }, I::Approved { .. }) => to(S::Queued),
            (S::BlockedOnUser { .. }, I::Rejected) => to(S::RejectedByUser),
            (S::BlockedOnClient { .. }, I::Answered { ok }) => to(ended(*ok)),
            (S::BlockedOnUser { .. } | S::BlockedOnClient { .. }, I::Expired) => to(S::Error),

            (S::Approved, I::Marked) => to(S::Preparing),
            (S::Preparing, I::Marked) => Step::AlreadyThere,
            (S::Approved | S::Preparing, I::Sent) => to(S::Executing),
            (S::Executing, I::Sent) => Step::AlreadyThere,

            (S::Preparing | S::Executing | S::CleaningUp, I::Returned { ok, .. }) => to(ended(*ok)),
            (S::Executing | S::CleaningUp, I::Deferred { until, output, stop }) => {
                to(S::Waiting { until: *until, output: output.clone(), stop: *stop })
            }
            (S::Waiting { .. }, I::Rang) => to(S::Done),

            (S::Executing, I::StopAsked) => to(S::CleaningUp),
            (S::CleaningUp, I::StopAsked) => Step::AlreadyThere,
            (
                S::Queued
                | S::Gating
                | S::BlockedOnUser { .. }
                | S::BlockedOnClient { .. }
                | S::Waiting { .. }
                | S::Approved
                | S::Preparing
                | S::Executing
                | S::CleaningUp,
                I::Cancelled { reason },
            ) => to(S::Cancelled { reason: *reason }),
            (S::Preparing | S::Executing | S::CleaningUp, I::Lost) => to(S::InDoubt),

            (S::Preparing | S::Executing | S::CleaningUp, I::Again) => to(S::Approved),
            (S::Gating, I::Again) => to(S::Queued),
            (S::Queued | S::Approved, I::Again) => Step::AlreadyThere,

            (
                S::Done | S::Error | S::RejectedByUser | S::Cancelled { .. } | S::InDoubt,
                I::Returned { .. }
                | I::Answered { .. }
                | I::Expired
                | I::Rang
                | I::Cancelled { .. }
                | I::Lost
                | I::StopAsked
                | I::Refused
                | I::Rejected,
            ) => Step::AlreadyThere,

            (
                S::Queued
                | S::Gating
                | S::BlockedOnUser { .. }
                | S::BlockedOnClient { .. }
                | S::Waiting { .. }
                | S::Approved
                | S::Preparing
                | S::Executing
                | S::CleaningUp
                | S::Done
                | S::Error
                | S::RejectedByUser
                | S::Cancelled { .. }
                | S::InDoubt,
                _,
            ) => Step::NotAllowed,
        }
    }

    /// The wire name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Gating => "gating",
            Self::BlockedOnUser { .. } => "blocked_on_user",
            Self::BlockedOnClient { .. } => "blocked_on_client",
            Self::Waiting { .. } => "waiting",
            Self::Approved => "approved",
            Self::Preparing => "preparing",
            Self::Executing => "executing",
            Self::CleaningUp => "cleaning_up",
            Self::Done => "done",
            Self::Error => "error",
            Self::RejectedByUser => "rejected_by_user",
            Self::Cancelled { .. } => "cancelled",
            Self::InDoubt => "in_doubt",
        }
    }

    /// Every wire name.
    pub const NAMES: [&'static str; 14] = [
        "queued",
        "gating",
        "blocked_on_user",
        "blocked_on_client",
        "waiting",
        "approved",
        "preparing",
        "executing",
        "cleaning_up",
        "done",
        "error",
        "rejected_by_user",
        "cancelled",
        "in_doubt",
    ];

    /// Whether it is over.
    pub fn is_end(&self) -> bool {
        match self {
            Self::Done | Self::Error | Self::RejectedByUser | Self::Cancelled { .. } | Self::InDoubt => true,
            Self::Queued
            | Self::Gating
            | Self::BlockedOnUser { .. }
            | Self::BlockedOnClient { .. }
            | Self::Waiting { .. }
            | Self::Approved
            | Self::Preparing
            | Self::Executing
            | Self::CleaningUp => false,
        }
    }

    /// Whether somebody outside, or a timer, owes it something.
    pub fn is_parked(&self) -> bool {
        matches!(self, Self::BlockedOnUser { .. } | Self::BlockedOnClient { .. } | Self::Waiting { .. })
    }

    /// Whether its start mark is written or on its way: it is out, or about to be.
    pub fn is_out(&self) -> bool {
        matches!(self, Self::Preparing | Self::Executing | Self::CleaningUp)
    }

    /// The asking that is open, if an answer is owed.
    pub fn pending(&self) -> Option<&PendingId> {
        match self {
            Self::BlockedOnUser { pending, .. } | Self::BlockedOnClient { pending, .. } => Some(pending),
            Self::Queued
            | Self::Gating
            | Self::Waiting { .. }
            | Self::Approved
            | Self::Preparing
            | Self::Executing
            | Self::CleaningUp
            | Self::Done
            | Self::Error
            | Self::RejectedByUser
            | Self::Cancelled { .. }
            | Self::InDoubt => None,
        }
    }

    /// When time alone moves it.
    pub fn wakes_at(&self) -> Option<Timestamp> {
        match self {
            Self::BlockedOnUser { deadline, .. } | Self::BlockedOnClient { deadline, .. } => *deadline,
            Self::Waiting { until, .. } => Some(*until),
            Self::Queued
            | Self::Gating
            | Self::Approved
            | Self::Preparing
            | Self::Executing
            | Self::CleaningUp
            | Self::Done
            | Self::Error
            | Self::RejectedByUser
            | Self::Cancelled { .. }
            | Self::InDoubt => None,
        }
    }
}

impl Call {
    /// How it ends if it is not sent any more.
    pub fn ended_unsent(&self, reason: CancelReason) -> CallState {
        match self.effect {
            EffectClass::Idempotent | EffectClass::AtMostOnce if self.sent_before => CallState::InDoubt,
            EffectClass::ReadOnly | EffectClass::Idempotent | EffectClass::AtMostOnce => {
                CallState::Cancelled { reason }
            }
        }
    }

    /// Applies an input that is allowed; says whether the call moved.
    pub fn apply(&mut self, input: &CallInput) -> Result<bool, NotAllowed> {
        match self.state.step(input) {
            Step::AlreadyThere => Ok(false),
            Step::NotAllowed => Err(NotAllowed { call: self.id.clone(), state: self.state.name() }),
            Step::Moved(state) => {
                self.note(input);
                self.state = state;
                Ok(true)
            }
        }
    }

    fn note(&mut self, input: &CallInput) {
        match input {
            CallInput::Allowed { profile } => self.profile = profile.clone(),
            CallInput::NeedsUser { profile, arguments, .. } => {
                self.profile = profile.clone();
                self.arguments = *arguments;
                self.round += 1;
                self.approved = None;
            }
            CallInput::NeedsClient { profile, .. } => {
                self.profile = profile.clone();
                self.round += 1;
            }
            CallInput::Reopened { .. } => self.round += 1,
            CallInput::Approved { arguments, digest } => {
                self.arguments = *arguments;
                self.approved = Some(*digest);
            }
            // A call that never runs holds nobody back.
            CallInput::Refused => self.profile = ResourceProfile::Keys(Vec::new()),
            CallInput::Asked
            | CallInput::Rejected
            | CallInput::Answered { .. }
            | CallInput::Expired
            | CallInput::Marked
            | CallInput::Sent
            | CallInput::Returned { .. }
            | CallInput::Deferred { .. }
            | CallInput::Rang
            | CallInput::StopAsked
            | CallInput::Cancelled { .. }
            | CallInput::Lost
            | CallInput::Again => {}
        }
    }
}

/// An input that a call does not take where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("call {call} is {state} and does not take this")]
pub struct NotAllowed {
    /// Which call.
    pub call: CallId,
    /// Where it stands.
    pub state: &'static str,
}

fn ended(ok: bool) -> CallState {
    if ok { CallState::Done } else { CallState::Error }
}
