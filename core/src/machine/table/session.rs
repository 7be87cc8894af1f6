//! The table of a session's machine: every move, and the facts by which it is checked.

use std::sync::LazyLock;

use super::{Bound, Failure, Nature, Row, Table, TableErrors};
use crate::machine::{InputKind, StateKind};

use InputKind as I;
use StateKind as S;

const fn row(from: StateKind, on: InputKind, to: &'static [StateKind]) -> Row<'static> {
    Row { from, on, to }
}

const AFTER_CALL: &[StateKind] = &[S::Executing, S::Confirming, S::Dispatching, S::Steering, S::TearingDown];

/// Every move of the machine. A pair that is not listed is refused.
pub const ROWS: &[Row<'static>] = &[
    row(S::Idle, I::TurnRequested, &[S::Provisioning]),
    row(S::Idle, I::Briefed, &[S::Idle]),
    row(S::Idle, I::Interrupted, &[S::Idle, S::TearingDown]),
    row(S::Idle, I::CompactionRequested, &[S::Idle]),
    row(S::Idle, I::Forked, &[S::Idle]),
    row(S::Idle, I::ChildBegan, &[S::Idle]),
    row(S::Provisioning, I::Provisioned, &[S::Thinking, S::Steering]),
    row(S::Provisioning, I::Owed, &[S::Provisioning]),
    row(S::Provisioning, I::Briefed, &[S::Provisioning]),
    row(S::Provisioning, I::Claimed, &[S::Provisioning]),
    row(S::Provisioning, I::Parked, &[S::Provisioning]),
    row(S::Provisioning, I::Interrupted, &[S::TearingDown]),
    row(S::Provisioning, I::Forked, &[S::TearingDown]),
    row(S::Provisioning, I::Failed, &[S::TearingDown]),
    row(S::Provisioning, I::ChildBegan, &[S::Provisioning]),
    row(S::Provisioning, I::ChildEnded, &[S::Provisioning]),
    row(S::Thinking, I::ModelCalled, &[S::Streaming]),
    row(S::Thinking, I::CompactionRequested, &[S::Compacting]),
    row(S::Thinking, I::LoopFound, &[S::TearingDown]),
    row(S::Thinking, I::Planned, &[S::Executing, S::TearingDown]),
    row(S::Thinking, I::Diverged, &[S::Thinking]),
    row(S::Thinking, I::Claimed, &[S::Thinking]),
    row(S::Thinking, I::Parked, &[S::Thinking]),
    row(S::Thinking, I::Interrupted, &[S::TearingDown]),
    row(S::Thinking, I::CutShort, &[S::TearingDown]),
    row(S::Thinking, I::Forked, &[S::TearingDown]),
    row(S::Thinking, I::Failed, &[S::TearingDown]),
    row(S::Thinking, I::ChildBegan, &[S::Thinking]),
    row(S::Streaming, I::ModelAnswered, &[S::Executing, S::Steering]),
    row(S::Streaming, I::ModelFailed, &[S::Thinking, S::BackingOff, S::Compacting, S::TearingDown]),
    row(S::Streaming, I::Claimed, &[S::Thinking]),
    row(S::Streaming, I::Interrupted, &[S::TearingDown]),
    row(S::Streaming, I::CutShort, &[S::TearingDown]),
    row(S::Streaming, I::Forked, &[S::TearingDown]),
    row(S::Streaming, I::Failed, &[S::TearingDown]),
    row(S::Streaming, I::ChildBegan, &[S::Streaming]),
    row(S::Executing, I::Call, AFTER_CALL),
    row(S::Executing, I::Planned, &[S::Executing, S::TearingDown]),
    row(S::Executing, I::Diverged, &[S::Executing]),
    row(S::Executing, I::Claimed, AFTER_CALL),
    row(S::Executing, I::Parked, &[S::Executing]),
    row(S::Executing, I::Interrupted, &[S::Executing, S::TearingDown]),
    row(S::Executing, I::CutShort, &[S::Executing, S::TearingDown]),
    row(S::Executing, I::Forked, &[S::TearingDown]),
    row(S::Executing, I::Failed, &[S::TearingDown]),
    row(S::Executing, I::ChildBegan, &[S::Executing]),
    row(S::Executing, I::ChildResumed, &[S::Executing]),
    row(S::Executing, I::ChildEnded, &[S::Executing]),
    row(S::Confirming, I::Call, AFTER_CALL),
    row(S::Confirming, I::Planned, &[S::Executing, S::Confirming, S::TearingDown]),
    row(S::Confirming, I::Diverged, &[S::Confirming]),
    // A claim may cancel a dangerous call that held others back.
    row(S::Confirming, I::Claimed, &[S::Executing, S::Confirming]),
    row(S::Confirming, I::Parked, &[S::Confirming]),
    row(S::Confirming, I::Interrupted, &[S::Confirming, S::TearingDown]),
    row(S::Confirming, I::CutShort, &[S::TearingDown]),
    row(S::Confirming, I::Forked, &[S::TearingDown]),
    row(S::Confirming, I::Failed, &[S::TearingDown]),
    row(S::Confirming, I::ChildBegan, &[S::Confirming]),
    row(S::Confirming, I::ChildEnded, &[S::Confirming]),
    row(S::Dispatching, I::Call, &[S::Executing, S::Dispatching, S::Steering]),
    row(S::Dispatching, I::Planned, &[S::Executing, S::Dispatching, S::TearingDown]),
    row(S::Dispatching, I::Diverged, &[S::Dispatching]),
    row(S::Dispatching, I::Claimed, &[S::Executing, S::Dispatching]),
    row(S::Dispatching, I::Parked, &[S::Dispatching]),
    row(S::Dispatching, I::Interrupted, &[S::Dispatching, S::TearingDown]),
    row(S::Dispatching, I::CutShort, &[S::TearingDown]),
    row(S::Dispatching, I::Forked, &[S::TearingDown]),
    row(S::Dispatching, I::Failed, &[S::TearingDown]),
    row(S::Dispatching, I::ChildBegan, &[S::Dispatching]),
    row(S::Dispatching, I::ChildEnded, &[S::Dispatching]),
    // More steps are requested, the procedure waits, the turn goes on, or it ends.
    row(S::Steering, I::Steered, &[S::Confirming, S::Thinking, S::TearingDown]),
    row(S::Steering, I::Owed, &[S::Steering]),
    row(S::Steering, I::Briefed, &[S::Steering]),
    row(S::Steering, I::Claimed, &[S::Steering]),
    row(S::Steering, I::Parked, &[S::Steering]),
    row(S::Steering, I::Interrupted, &[S::TearingDown]),
    row(S::Steering, I::CutShort, &[S::TearingDown]),
    row(S::Steering, I::Forked, &[S::TearingDown]),
    row(S::Steering, I::Failed, &[S::TearingDown]),
    row(S::Steering, I::ChildBegan, &[S::Steering]),
    row(S::Steering, I::ChildEnded, &[S::Steering]),
    row(S::Compacting, I::Compacted, &[S::Thinking, S::TearingDown, S::Done]),
    row(S::Compacting, I::NotCompacted, &[S::Thinking, S::BackingOff, S::TearingDown, S::Done]),
    row(S::Compacting, I::CompactionRequested, &[S::Compacting]),
    row(S::Compacting, I::Claimed, &[S::Compacting]),
    row(S::Compacting, I::Parked, &[S::Compacting]),
    row(S::Compacting, I::Interrupted, &[S::TearingDown, S::Done]),
    row(S::Compacting, I::CutShort, &[S::TearingDown, S::Done]),
    row(S::Compacting, I::Forked, &[S::TearingDown, S::Done]),
    row(S::Compacting, I::Failed, &[S::TearingDown, S::Done]),
    row(S::Compacting, I::ChildBegan, &[S::Compacting]),
    row(S::BackingOff, I::TimerRang, &[S::Thinking]),
    row(S::BackingOff, I::Claimed, &[S::BackingOff]),
    row(S::BackingOff, I::Parked, &[S::BackingOff]),
    row(S::BackingOff, I::Interrupted, &[S::TearingDown]),
    row(S::BackingOff, I::CutShort, &[S::TearingDown]),
    row(S::BackingOff, I::Forked, &[S::TearingDown]),
    row(S::BackingOff, I::Failed, &[S::TearingDown]),
    row(S::BackingOff, I::ChildBegan, &[S::BackingOff]),
    row(S::TearingDown, I::Owed, &[S::TearingDown]),
    row(S::TearingDown, I::Told, &[S::TearingDown]),
    row(S::TearingDown, I::NotHandedOver, &[S::TearingDown]),
    row(S::TearingDown, I::ModelStopped, &[S::TearingDown]),
    row(S::TearingDown, I::TornDown, &[S::Done]),
    row(S::TearingDown, I::Claimed, &[S::TearingDown]),
    row(S::TearingDown, I::Parked, &[S::TearingDown]),
    row(S::TearingDown, I::Interrupted, &[S::TearingDown]),
    row(S::TearingDown, I::Forked, &[S::TearingDown]),
    row(S::TearingDown, I::Failed, &[S::TearingDown]),
    row(S::TearingDown, I::ChildBegan, &[S::TearingDown]),
    row(S::Done, I::TurnRequested, &[S::Provisioning]),
    row(S::Done, I::Briefed, &[S::Done]),
    row(S::Done, I::Rewound, &[S::Done]),
    row(S::Done, I::CompactionRequested, &[S::Compacting]),
    row(S::Done, I::Interrupted, &[S::Done, S::TearingDown]),
    row(S::Done, I::Forked, &[S::Done]),
    row(S::Done, I::HandedOff, &[S::Done]),
    row(S::Done, I::ModelStopped, &[S::Done]),
    row(S::Done, I::TornDown, &[S::Done]),
    row(S::Done, I::ChildBegan, &[S::Done]),
];

/// The nature of each state.
pub const NATURES: &[(StateKind, Nature<'static>)] = &[
    (S::Idle, Nature::Rest),
    (S::Provisioning, Nature::Working),
    (S::Thinking, Nature::Working),
    (S::Streaming, Nature::Working),
    (S::Executing, Nature::Working),
    (S::Confirming, Nature::Parked { woken_by: &[I::Call, I::Interrupted], answered_by: Some(I::Call) }),
    (S::Dispatching, Nature::Parked { woken_by: &[I::Call, I::Interrupted], answered_by: Some(I::Call) }),
    (S::Steering, Nature::Working),
    (S::Compacting, Nature::Working),
    (S::BackingOff, Nature::Parked { woken_by: &[I::TimerRang, I::Interrupted], answered_by: None }),
    (S::TearingDown, Nature::Working),
    (S::Done, Nature::Rest),
];

/// The bounds of all cycles. Every cycle of moves to other states passes through one of these states or through a
/// state of rest.
pub const BOUNDS: &[Bound] = &[
    Bound { state: S::Steering, by: "limits.max_steps" },
    Bound {
        state: S::BackingOff,
        by: "the waits of the agent's retries, at most retries::RETRIES_MAX; a circuit is looked at again until turn.held_until",
    },
    Bound {
        state: S::Compacting,
        by: "turn.compacted: once a step by the threshold; turn.refused: at most compaction::REFUSALS_MAX a step where the provider refuses it, each with at most compaction::SUMMARY_TRIES model calls; of a handoff each of the agent's models, until one has made the extract",
    },
    Bound {
        state: S::Confirming,
        by: "the deadline of each pending call, the waits of the agent's retries: each call parks a bounded number of times",
    },
    Bound { state: S::Dispatching, by: "each call waits for its children once" },
    Bound {
        state: S::Streaming,
        by: "the agent's models, each once a step; Claim.attempts: the fifth takeover in a row ends the turn",
    },
];

/// The table of this version.
pub const SESSION: Table<'static> = Table {
    first: S::Idle,
    rows: ROWS,
    natures: NATURES,
    bounds: BOUNDS,
    paced: &[],
    failure: Some(Failure {
        on: I::Failed,
        to: S::TearingDown,
        beside: &[I::ModelFailed, I::Interrupted, I::CutShort, I::Forked],
    }),
};

/// Checks the table of this version; see [`Table::validate`].
///
/// The check runs once per process. No run begins under a table that does not pass.
///
/// # Errors
/// Returns all faults of the table.
pub fn validate() -> Result<(), TableErrors> {
    static CHECKED: LazyLock<Result<(), TableErrors>> = LazyLock::new(|| SESSION.validate());
    CHECKED.clone()
}

/// Returns the inputs that a session in this state takes, in the order of the table.
pub fn inputs_of(state: StateKind) -> Vec<InputKind> {
    SESSION.inputs_of(state)
}

/// Returns true if a session in this state takes this input at all.
pub fn admits(state: StateKind, input: InputKind) -> bool {
    !SESSION.targets(state, input).is_empty()
}
