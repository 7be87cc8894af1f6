//! The state of a session that was set aside (requirement C03).

use super::Machine;
use crate::store::SessionStatus;

impl Machine {
    /// Returns true if a session with this state and this status was set aside, and nobody has gone on with it since: it
    /// has failed, but its turn is open or has not failed. Returns false if its last turn had failed before, because the
    /// state does not show the difference.
    pub fn is_set_aside(&self, status: SessionStatus) -> bool {
        let turn_failed = !self.turn.open && self.state.status_at_rest() == SessionStatus::Failed;
        status == SessionStatus::Failed && !turn_failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::AgentState;
    use crate::words::ending::Ending;
    use crate::words::error::ErrorInfo;
    use crate::words::usage::Usage;

    #[test]
    fn c03_a_session_was_set_aside_if_it_has_failed_and_its_turn_has_not() {
        let ending = Ending::error(ErrorInfo::new("model.refused", "no"));
        let rests = Machine::default();
        let mut runs = Machine::default();
        runs.turn.open = true;
        let failed =
            Machine { state: AgentState::Done { ending, usage: Usage::default() }, ..Machine::default() };
        assert!(rests.is_set_aside(SessionStatus::Failed) && runs.is_set_aside(SessionStatus::Failed));
        assert!(!failed.is_set_aside(SessionStatus::Failed), "its own turn has failed");
        for status in [SessionStatus::Idle, SessionStatus::Active, SessionStatus::Suspended] {
            assert!(!rests.is_set_aside(status) && !runs.is_set_aside(status), "{status:?}");
        }
    }
}
