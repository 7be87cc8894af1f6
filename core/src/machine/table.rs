//! The machine as data: every move, and the facts by which the table is checked.
//!
//! [`validate`] runs at start-up and refuses a table that could strand a session.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::{InputKind, StateKind};

/// One row: in this state, this input leads to one of these states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The state before.
    pub from: StateKind,
    /// The input.
    pub on: InputKind,
    /// The possible next states. They include `from` itself if the machine may stay there.
    pub to: &'static [StateKind],
}

/// Returns the inputs that a session in this state takes, in the order of the table.
pub fn inputs_of(state: StateKind) -> Vec<InputKind> {
    ROWS.iter().filter(|row| row.from == state).map(|row| row.on).collect()
}

/// Returns true if a session in this state takes this input at all.
pub fn admits(state: StateKind, input: InputKind) -> bool {
    ROWS.iter().any(|row| row.from == state && row.on == input)
}

/// The nature of a state: at rest, working or parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// No turn is open.
    Rest,
    /// A run works on the turn.
    Working,
    /// No call runs, and the model is not asked; these inputs wake the session.
    Parked {
        /// The inputs that wake the session.
        woken_by: &'static [InputKind],
        /// The input that brings the awaited answer. `None` if nobody is asked.
        answered_by: Option<InputKind>,
    },
}

/// A bound on every cycle that passes through a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The state.
    pub state: StateKind,
    /// The reason why the cycle ends.
    pub by: &'static str,
}

use InputKind as I;
use StateKind as S;

const fn row(from: StateKind, on: InputKind, to: &'static [StateKind]) -> Row {
    Row { from, on, to }
}

const AFTER_CALL: &[StateKind] = &[S::Executing, S::Confirming, S::Dispatching, S::Steering, S::TearingDown];

/// Every move of the machine. A pair that is not listed is refused.
pub const ROWS: &[Row] = &[
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
    // A claim may cancel a dangerous call that held others back.
    row(S::Confirming, I::Claimed, &[S::Executing, S::Confirming]),
    row(S::Confirming, I::Parked, &[S::Confirming]),
    row(S::Confirming, I::Interrupted, &[S::TearingDown]),
    row(S::Confirming, I::CutShort, &[S::TearingDown]),
    row(S::Confirming, I::Forked, &[S::TearingDown]),
    row(S::Confirming, I::Failed, &[S::TearingDown]),
    row(S::Confirming, I::ChildBegan, &[S::Confirming]),
    row(S::Confirming, I::ChildEnded, &[S::Confirming]),
    row(S::Dispatching, I::Call, &[S::Executing, S::Dispatching, S::Steering]),
    row(S::Dispatching, I::Claimed, &[S::Executing, S::Dispatching]),
    row(S::Dispatching, I::Parked, &[S::Dispatching]),
    row(S::Dispatching, I::Interrupted, &[S::TearingDown]),
    row(S::Dispatching, I::CutShort, &[S::TearingDown]),
    row(S::Dispatching, I::Forked, &[S::TearingDown]),
    row(S::Dispatching, I::Failed, &[S::TearingDown]),
    row(S::Dispatching, I::ChildBegan, &[S::Dispatching]),
    row(S::Dispatching, I::ChildEnded, &[S::Dispatching]),
    // More steps are asked for, or the turn goes on, or it ends.
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
pub const NATURES: &[(StateKind, Nature)] = &[
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

/// A fault of a table that could strand a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A pair is listed twice.
    #[error("machine table: {} on {} is listed twice", .0.as_str(), .1.as_str())]
    Twice(StateKind, InputKind),
    /// A row leads to no state, or to a state that the table does not know.
    #[error("machine table: {} on {} has no known target", .0.as_str(), .1.as_str())]
    MissingTarget(StateKind, InputKind),
    /// No path from this state reaches rest without passing through an error.
    #[error("machine table: no way from {} to rest without an error", .0.as_str())]
    DeadEnd(StateKind),
    /// A working state in which a failure does not end the turn.
    #[error("machine table: {} has no failure edge", .0.as_str())]
    NoFailureEdge(StateKind),
    /// A parked state without a wake-up input, or with one that does not leave the state.
    #[error("machine table: nothing wakes {}", .0.as_str())]
    NoWakeUp(StateKind),
    /// A parked state whose answer leads to no other state.
    #[error("machine table: no way to answer {}", .0.as_str())]
    NoAnswer(StateKind),
    /// A cycle without a bound: its states, in the order of the cycle.
    #[error("machine table: nothing bounds the cycle through {}", .0.iter().map(|state| state.as_str()).collect::<Vec<_>>().join(", "))]
    UnboundedCycle(Vec<StateKind>),
}

/// All faults of a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct TableErrors(pub Vec<TableError>);

/// Checks the table of this version: targets exist; rest is reached without passing through an error; every working
/// state has a failure edge; every parked state names its wake-up inputs; every awaited answer has an input that
/// leads somewhere; and every cycle has a bound.
///
/// The check runs once per process. No run begins under a table that does not pass.
///
/// # Errors
/// Returns all faults of the table.
pub fn validate() -> Result<(), TableErrors> {
    static CHECKED: LazyLock<Result<(), TableErrors>> =
        LazyLock::new(|| Table { rows: ROWS, natures: NATURES, bounds: BOUNDS }.validate());
    CHECKED.clone()
}

/// A table, and the facts about its states.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    /// Every move.
    pub rows: &'a [Row],
    /// The nature of each state.
    pub natures: &'a [(StateKind, Nature)],
    /// The bounds of cycles.
    pub bounds: &'a [Bound],
}

impl Table<'_> {
    /// Checks the table; see [`validate`].
    pub fn validate(&self) -> Result<(), TableErrors> {
        let problems = self.problems();
        if problems.is_empty() { Ok(()) } else { Err(TableErrors(problems)) }
    }

    /// Returns all faults of the table: row by row, then state by state.
    fn problems(&self) -> Vec<TableError> {
        let mut found = Vec::new();
        let mut pairs = BTreeSet::new();
        for row in self.rows {
            if !pairs.insert((row.from, row.on)) {
                found.push(TableError::Twice(row.from, row.on));
            }
            if row.to.is_empty() || row.to.iter().any(|to| self.nature(*to).is_none()) {
                found.push(TableError::MissingTarget(row.from, row.on));
            }
        }
        for (state, nature) in self.natures {
            if !self.reaches_rest(*state) {
                found.push(TableError::DeadEnd(*state));
            }
            let leaves = |on: &InputKind| self.targets(*state, *on).iter().any(|to| to != state);
            match nature {
                Nature::Rest => {}
                Nature::Working if *state == S::TearingDown || self.fails(*state) => {}
                Nature::Working => found.push(TableError::NoFailureEdge(*state)),
                Nature::Parked { woken_by, answered_by } => {
                    if woken_by.is_empty() || !woken_by.iter().all(leaves) {
                        found.push(TableError::NoWakeUp(*state));
                    }
                    if answered_by.as_ref().is_some_and(|on| !leaves(on)) {
                        found.push(TableError::NoAnswer(*state));
                    }
                }
            }
        }
        found.extend(self.unbounded().map(TableError::UnboundedCycle));
        found
    }

    /// Returns the states to which `on` may lead from `from`; empty if it is refused.
    pub fn targets(&self, from: StateKind, on: InputKind) -> &[StateKind] {
        self.rows.iter().find(|row| row.from == from && row.on == on).map_or(&[], |row| row.to)
    }

    fn nature(&self, state: StateKind) -> Option<&Nature> {
        self.natures.iter().find(|(of, _)| *of == state).map(|(_, nature)| nature)
    }

    /// Returns true if a failure in this state may end the turn, and leads only to teardown or to rest. A failure
    /// during teardown does not change its course.
    fn fails(&self, state: StateKind) -> bool {
        let ends = |to: &StateKind| *to == S::TearingDown || self.nature(*to) == Some(&Nature::Rest);
        let targets = self.targets(state, I::Failed);
        targets.contains(&S::TearingDown) && targets.iter().all(ends)
    }

    fn reaches_rest(&self, from: StateKind) -> bool {
        let good = |row: &&Row| {
            !matches!(row.on, I::Failed | I::ModelFailed | I::Interrupted | I::CutShort | I::Forked)
        };
        let mut reached = BTreeSet::from([from]);
        loop {
            if reached.iter().any(|state| self.nature(*state) == Some(&Nature::Rest)) {
                return true;
            }
            let more: BTreeSet<StateKind> = self
                .rows
                .iter()
                .filter(|row| reached.contains(&row.from))
                .filter(good)
                .flat_map(|row| row.to.iter().copied())
                .filter(|to| !reached.contains(to))
                .collect();
            if more.is_empty() {
                return false;
            }
            reached.extend(more);
        }
    }

    /// Returns a cycle of moves to other states that passes through no bounded state and no state of rest, if there is
    /// one.
    fn unbounded(&self) -> Option<Vec<StateKind>> {
        let free = |state: StateKind| {
            self.nature(state) != Some(&Nature::Rest) && !self.bounds.iter().any(|bound| bound.state == state)
        };
        let mut left: BTreeSet<StateKind> =
            self.natures.iter().map(|(state, _)| *state).filter(|state| free(*state)).collect();
        let onward = |state: StateKind, left: &BTreeSet<StateKind>| {
            let rows = self.rows.iter().filter(|row| row.from == state);
            rows.flat_map(|row| row.to).copied().find(|to| *to != state && left.contains(to))
        };
        // Remove the states that lead to no state that is left, until none remain. The rest lie on a cycle or lead
        // to one.
        while let Some(end) = left.iter().copied().find(|state| onward(*state, &left).is_none()) {
            left.remove(&end);
        }
        // Every state that is left leads to another one, so a walk through them returns to a state that it has
        // seen.
        let mut path = Vec::new();
        let mut at = left.first().copied()?;
        loop {
            if let Some(begins) = path.iter().position(|state| *state == at) {
                return Some(path.split_off(begins));
            }
            path.push(at);
            at = onward(at, &left)?;
        }
    }
}
