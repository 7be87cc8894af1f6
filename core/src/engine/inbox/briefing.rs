//! Briefings: changes of mode and system prompt by messages and signals.

use crate::engine::inbox::InboxHandler;
use crate::store::{ItemKind, StoredItem};
use crate::words::event::Event;
use crate::words::history::Input;
use crate::words::ids::{InboxSeq, MessageSeq};
use crate::words::message::SignalBody;
use crate::words::mode::{Briefing, Mode};

impl InboxHandler<'_> {
    /// Applies the briefing of the message at `at`.
    pub(crate) fn take_briefing(&mut self, briefing: Briefing, at: MessageSeq) {
        let Briefing { mode, system_prompt } = briefing;
        let prompt = system_prompt.map(|prompt| if prompt.is_empty() { MessageSeq(0) } else { at });
        self.brief(mode, prompt, at);
    }

    /// Applies the modes that were set before the item `before`, in order. A mode that is set after a message takes
    /// precedence over the message.
    pub(crate) fn take_modes_before(&mut self, before: InboxSeq) {
        let set: Vec<(InboxSeq, Mode)> = self.cx.mind.inbox.items.iter().filter_map(mode_set_by).collect();
        for (seq, mode) in set.into_iter().filter(|(seq, _)| *seq < before) {
            self.cx.mind.inbox.items.retain(|item| item.seq != seq);
            self.cx.mind.draft.consumed.push(seq);
            self.brief(Some(mode), None, MessageSeq(0));
        }
    }

    /// Reports the mode and the prompt that apply again because a briefing was taken back.
    pub(crate) fn note_unbriefed(&mut self, before: (Mode, MessageSeq)) {
        let now = (self.cx.mode(), self.cx.mind.machine.prompt);
        let mode = (now.0 != before.0).then_some(now.0);
        let prompt = (now.1 != before.1).then_some(now.1);
        if mode.is_some() || prompt.is_some() {
            self.cx.mind.emit(Event::Briefed { mode, prompt });
        }
    }

    fn brief(&mut self, mode: Option<Mode>, prompt: Option<MessageSeq>, said: MessageSeq) {
        if (mode.is_some() || prompt.is_some()) && self.cx.feed(Input::Briefed { mode, prompt, said }) {
            self.cx.mind.emit(Event::Briefed { mode, prompt });
            self.cx.mind.draft.decided = true;
        }
    }
}

/// Returns the mode that an item sets, if it is a mode signal.
fn mode_set_by(item: &StoredItem) -> Option<(InboxSeq, Mode)> {
    if !matches!(item.kind, ItemKind::Signal { .. }) {
        return None;
    }
    match item.payload.parse() {
        Ok(SignalBody::Mode { mode }) => Some((item.seq, mode)),
        Ok(SignalBody::Retry | SignalBody::Resume | SignalBody::Compact) | Err(_) => None,
    }
}
