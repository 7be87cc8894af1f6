//! The formats of the state bytes: the versions that can go on with a session.

use super::call::Call;
use super::state::AgentState;
use super::turn::Machine;
use crate::words::ids::StateFormat;
use crate::words::signal::SignalName;
use crate::words::tool::RunsOn;

/// The newest format of the state bytes. Used by sessions whose calls are planned by code: an older version would ask a
/// model.
pub const STATE_FORMAT: StateFormat = StateFormat(6);

/// The format of the state bytes while a message for later or a named signal is held, or a call waits for a
/// signal: an older version would set no alarm for the message, and does not know the wait.
pub const STATE_FORMAT_LATER: StateFormat = StateFormat(5);

/// The format of the state bytes of a session that follows a procedure: an older version would forget the state of the
/// procedure and withhold no tools.
pub const STATE_FORMAT_LED: StateFormat = StateFormat(4);

/// The format of the state bytes while calls that ended in doubt can be settled by hand, or a dead letter is open: an older
/// version would drop the settlements, and would not close the letter.
pub const STATE_FORMAT_ASKING: StateFormat = StateFormat(3);

/// The format of the state bytes of a session that has children, owes an outcome to another session, or is handed over.
pub const STATE_FORMAT_LINKED: StateFormat = StateFormat(2);

/// The format of the state bytes of a session that is linked to no other session. Older versions can read it.
pub const STATE_FORMAT_ALONE: StateFormat = StateFormat(1);

impl Machine {
    /// Returns the oldest format of the state bytes that can hold this machine.
    pub fn format(&self) -> StateFormat {
        let waits = |call: &Call| call.runs_on == RunsOn::Child;
        let has_children = self.state.batch().is_some_and(|batch| batch.calls.iter().any(waits));
        let tells = matches!(&self.state, AgentState::TearingDown { left, .. } if !left.is_told());
        let in_background = !self.background.is_empty();
        let hands_over = self.turn.handing_over.is_some() || !self.successors.is_empty();
        if self.turn.plan.is_some() {
            STATE_FORMAT
        } else if self.awaits_signal() {
            STATE_FORMAT_LATER
        } else if self.procedure.is_some() {
            STATE_FORMAT_LED
        } else if has_children || tells || in_background || hands_over || !self.turn.replies.is_empty() {
            STATE_FORMAT_LINKED
        } else {
            STATE_FORMAT_ALONE
        }
    }

    /// Returns true if a call waits for a named signal.
    pub fn awaits_signal(&self) -> bool {
        self.awaited_signals().next().is_some()
    }

    /// Returns the names of the signals that calls wait for, in call order. A name that several calls wait for is there
    /// once for each. Nothing waits in a step that is being stopped.
    pub fn awaited_signals(&self) -> impl Iterator<Item = &SignalName> {
        let batch = self.state.batch().filter(|batch| batch.stopping.is_none());
        batch.into_iter().flat_map(|batch| batch.calls.iter().filter_map(|call| call.state.awaits()))
    }
}
