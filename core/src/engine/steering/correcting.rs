//! Corrections: the model receives them before it is asked again, and the turn goes on (requirements B14, B21). Those
//! of hooks are limited in each turn. Those from outside are messages, which steer the turn.

use crate::engine::reply::Correction;
use crate::engine::steering::SteeringHandler;
use crate::words::message::{Message, Notice, UserMessage, corrected};

impl SteeringHandler<'_> {
    /// Returns the corrections that count: all that have a text. If the turn has reached its limit of corrections,
    /// none counts, and a notice reports each one that is dropped.
    pub(crate) fn corrections_that_count(&mut self, corrections: Vec<Correction>) -> Vec<Correction> {
        let most = self.cx.run.agent.as_ref().map_or(0, |agent| agent.limits.corrections_max);
        let before = self.cx.mind.machine.turn.corrections;
        let mut counts = corrections;
        counts.retain(|correction| !correction.text.trim().is_empty());
        if before < most || counts.is_empty() {
            return counts;
        }
        for dropped in counts {
            let text = format!(
                "not corrected by the hook {}: this turn was corrected {before} times already",
                dropped.by
            );
            self.cx.append(Message::Notice(Notice::new(text)));
        }
        Vec::new()
    }

    /// Adds the corrections of hooks to the transcript, marked as corrections.
    pub(crate) fn correct(&mut self, corrections: &[Correction]) {
        for Correction { by, text } in corrections {
            self.cx.append(Message::User(UserMessage::by_engine(corrected(by, text))));
        }
    }
}
