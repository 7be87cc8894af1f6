//! Tells other sessions of the end of a turn: stops the children, creates the session that takes over, and sends the
//! outcome to the sessions that wait for it. The messages to send are durable before the first is sent. The
//! surroundings of the session are freed afterwards.

use crate::engine::action::{Action, ActionId, Outcome};
use crate::engine::children::ChildrenHandler;
use crate::machine::AgentState;
use crate::store::{MessageRange, SessionStatus};
use crate::words::history::Input;
use crate::words::mailbox;

impl ChildrenHandler<'_> {
    /// Takes one item that an aborted session never carries out: a request for a child, or a message that asks for an
    /// outcome, which is answered too. Returns false if there is none.
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

    /// Asks the runtime to tell other sessions of the end of the turn.
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

    /// Takes the reply that other sessions know of the end of the turn.
    pub(crate) fn on_told(&mut self, id: ActionId) {
        if self.cx.out.others.take_if(|others| *others == id).is_some()
            && matches!(self.cx.mind.machine.state, AgentState::TearingDown { .. })
        {
            self.cx.feed(Input::Told);
            self.cx.mind.draft.decided = true;
        }
    }
}
