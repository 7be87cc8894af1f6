//! The end of a turn, as other sessions are told of it: its children are stopped, and whoever waits for its
//! outcome gets it. What is to be told is durable before anybody is told, and the surroundings are freed after it.

use crate::engine::action::{Action, ActionId, Outcome};
use crate::engine::children::ChildrenHandler;
use crate::machine::AgentState;
use crate::store::{MessageRange, SessionStatus};
use crate::words::history::Input;
use crate::words::mailbox;

impl ChildrenHandler<'_> {
    /// Takes the messages that an aborted session never reads and that ask for an outcome, which are answered too, and
    /// the requests for children.
    /// False: there are none.
    pub(crate) fn take_unread(&mut self) -> bool {
        let AgentState::TearingDown { ending, .. } = &self.cx.mind.machine.state else { return false };
        if ending.status() != SessionStatus::Aborted {
            return false;
        }
        if self.take_unbegun() {
            return true;
        }
        let waits = self.cx.mind.inbox.items.iter().enumerate().find_map(|(at, item)| {
            let reply = mailbox::said(item).reply.filter(|_| mailbox::is_message(item))?;
            Some((at, reply))
        });
        let Some((at, reply)) = waits else { return false };
        let item = self.cx.mind.inbox.items.remove(at);
        self.cx.mind.draft.consumed.push(item.seq);
        self.cx.feed(Input::Owed { reply });
        self.cx.mind.draft.decided = true;
        true
    }

    /// Tells other sessions of the end of the turn.
    pub(crate) fn tell(&mut self) {
        let AgentState::TearingDown { ending, left } = &self.cx.mind.machine.state else { return };
        let turn = &self.cx.mind.machine.turn;
        let said = MessageRange::new(turn.began.next(), self.cx.mind.transcript.last);
        let usage = self.cx.mind.machine.used_in_turn().unwrap_or(self.cx.mind.machine.usage);
        let outcome = Outcome { turn: turn.number, ending: ending.clone(), said, usage };
        let (children, replies) = (left.children.clone(), left.replies.clone());
        let successor = left.successor.clone();
        self.cx.mind.teardown_due = false;
        let id = self.cx.output.next_id();
        self.cx.out.others = Some(id);
        self.cx.output.push(Action::TellOthers {
            id,
            children,
            replies,
            successor,
            outcome: Box::new(outcome),
        });
    }

    /// Other sessions know of the end.
    pub(crate) fn on_told(&mut self, id: ActionId) {
        if self.cx.out.others.take_if(|others| *others == id).is_some()
            && matches!(self.cx.mind.machine.state, AgentState::TearingDown { .. })
        {
            self.cx.feed(Input::Told);
            self.cx.mind.draft.decided = true;
        }
    }
}
