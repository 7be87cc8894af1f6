//! The names of the states and the inputs of a session's machine.

use serde::{Deserialize, Serialize};

use super::input::Input;

/// A state of a session's machine, without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateKind {
    /// No turn has begun yet.
    Idle,
    /// The surroundings of the turn are being provisioned.
    Provisioning,
    /// The model request is about to be made.
    Thinking,
    /// The model is writing its answer.
    Streaming,
    /// The calls of the step are being checked or run.
    Executing,
    /// Parked: the turn waits for answers or timers.
    Confirming,
    /// Parked: the turn waits only for the outcomes of children.
    Dispatching,
    /// The machine decides whether the turn continues or ends.
    Steering,
    /// Old messages are being summarised.
    Compacting,
    /// The machine waits before it asks the model again.
    BackingOff,
    /// The outcome of the turn is fixed. Others are informed of it, and the surroundings are freed.
    TearingDown,
    /// The session is at rest after a turn.
    Done,
}

impl StateKind {
    /// Every state.
    pub const ALL: [Self; 12] = [
        Self::Idle,
        Self::Provisioning,
        Self::Thinking,
        Self::Streaming,
        Self::Executing,
        Self::Confirming,
        Self::Dispatching,
        Self::Steering,
        Self::Compacting,
        Self::BackingOff,
        Self::TearingDown,
        Self::Done,
    ];

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Provisioning => "provisioning",
            Self::Thinking => "thinking",
            Self::Streaming => "streaming",
            Self::Executing => "executing",
            Self::Confirming => "confirming",
            Self::Dispatching => "dispatching",
            Self::Steering => "steering",
            Self::Compacting => "compacting",
            Self::BackingOff => "backing_off",
            Self::TearingDown => "tearing_down",
            Self::Done => "done",
        }
    }
}

/// An input of a session's machine, without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A turn begins.
    TurnRequested,
    /// The mode or the system prompt of the agent changes.
    Briefed,
    /// Everything after a message is taken back.
    Rewound,
    /// A run claimed the session in the middle of a turn.
    Claimed,
    /// The surroundings of the turn are ready, or the turn needs none.
    Provisioned,
    /// The model is about to be asked.
    ModelCalled,
    /// The model answered.
    ModelAnswered,
    /// Code that plans in place of a model decided.
    Planned,
    /// Code that plans decided otherwise than the transcript records.
    Diverged,
    /// The model call failed.
    ModelFailed,
    /// A model call was stopped before its end.
    ModelStopped,
    /// The model repeated the same calls too often.
    LoopFound,
    /// An input of a call.
    Call,
    /// Steering decided whether and how the turn continues.
    Steered,
    /// A summary of old messages or an extract is needed.
    CompactionRequested,
    /// Old messages were summarised.
    Compacted,
    /// The summary was not made.
    NotCompacted,
    /// The back-off ended.
    TimerRang,
    /// The run exits: the session must wait, or another run continues.
    Parked,
    /// A request or a message from outside stops the turn or the session.
    Interrupted,
    /// The turn ends early, before its step is over.
    CutShort,
    /// An error occurred that no retry can fix.
    Failed,
    /// The turn must report its outcome to the session or program that gave it a task.
    Owed,
    /// A background child began at a request from outside.
    ChildBegan,
    /// A background child received another task.
    ChildResumed,
    /// A turn of a background child ended, or a child answered a call that is being stopped.
    ChildEnded,
    /// The session could not be handed over, so the turn failed.
    NotHandedOver,
    /// Others were informed of the end of the turn.
    Told,
    /// The surroundings of the turn have been freed.
    TornDown,
    /// The session begins as a fork.
    Forked,
    /// The session received the goal of a handoff.
    HandedOff,
}

impl InputKind {
    /// Every input.
    pub const ALL: [Self; 31] = [
        Self::TurnRequested,
        Self::Briefed,
        Self::Rewound,
        Self::Claimed,
        Self::Provisioned,
        Self::ModelCalled,
        Self::ModelAnswered,
        Self::Planned,
        Self::Diverged,
        Self::ModelFailed,
        Self::ModelStopped,
        Self::LoopFound,
        Self::Call,
        Self::Steered,
        Self::CompactionRequested,
        Self::Compacted,
        Self::NotCompacted,
        Self::TimerRang,
        Self::Parked,
        Self::Interrupted,
        Self::CutShort,
        Self::Failed,
        Self::Owed,
        Self::ChildBegan,
        Self::ChildResumed,
        Self::ChildEnded,
        Self::NotHandedOver,
        Self::Told,
        Self::TornDown,
        Self::Forked,
        Self::HandedOff,
    ];

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnRequested => "turn_requested",
            Self::Briefed => "briefed",
            Self::Rewound => "rewound",
            Self::Claimed => "claimed",
            Self::Provisioned => "provisioned",
            Self::ModelCalled => "model_called",
            Self::ModelAnswered => "model_answered",
            Self::Planned => "planned",
            Self::Diverged => "diverged",
            Self::ModelFailed => "model_failed",
            Self::ModelStopped => "model_stopped",
            Self::LoopFound => "loop_found",
            Self::Call => "call",
            Self::Steered => "steered",
            Self::CompactionRequested => "compaction_requested",
            Self::Compacted => "compacted",
            Self::NotCompacted => "not_compacted",
            Self::TimerRang => "timer_rang",
            Self::Parked => "parked",
            Self::Interrupted => "interrupted",
            Self::CutShort => "cut_short",
            Self::Failed => "failed",
            Self::Owed => "owed",
            Self::ChildBegan => "child_began",
            Self::ChildResumed => "child_resumed",
            Self::ChildEnded => "child_ended",
            Self::NotHandedOver => "not_handed_over",
            Self::Told => "told",
            Self::TornDown => "torn_down",
            Self::Forked => "forked",
            Self::HandedOff => "handed_off",
        }
    }
}

impl Input {
    /// Returns the kind of this input.
    pub fn kind(&self) -> InputKind {
        match self {
            Self::TurnRequested { .. } => InputKind::TurnRequested,
            Self::Briefed { .. } => InputKind::Briefed,
            Self::Rewound { .. } => InputKind::Rewound,
            Self::Claimed { .. } => InputKind::Claimed,
            Self::Provisioned => InputKind::Provisioned,
            Self::ModelCalled { .. } => InputKind::ModelCalled,
            Self::ModelAnswered { .. } => InputKind::ModelAnswered,
            Self::Planned { .. } => InputKind::Planned,
            Self::Diverged { .. } => InputKind::Diverged,
            Self::ModelFailed { .. } => InputKind::ModelFailed,
            Self::ModelStopped { .. } => InputKind::ModelStopped,
            Self::LoopFound { .. } => InputKind::LoopFound,
            Self::Call { .. } => InputKind::Call,
            Self::Steered { .. } => InputKind::Steered,
            Self::CompactionRequested => InputKind::CompactionRequested,
            Self::Compacted { .. } => InputKind::Compacted,
            Self::NotCompacted { .. } => InputKind::NotCompacted,
            Self::TimerRang => InputKind::TimerRang,
            Self::Parked => InputKind::Parked,
            Self::Interrupted { .. } => InputKind::Interrupted,
            Self::CutShort { .. } => InputKind::CutShort,
            Self::Failed { .. } => InputKind::Failed,
            Self::Owed { .. } => InputKind::Owed,
            Self::ChildBegan { .. } => InputKind::ChildBegan,
            Self::ChildResumed { .. } => InputKind::ChildResumed,
            Self::ChildEnded { .. } => InputKind::ChildEnded,
            Self::NotHandedOver { .. } => InputKind::NotHandedOver,
            Self::Told => InputKind::Told,
            Self::TornDown => InputKind::TornDown,
            Self::Forked => InputKind::Forked,
            Self::HandedOff { .. } => InputKind::HandedOff,
        }
    }
}
