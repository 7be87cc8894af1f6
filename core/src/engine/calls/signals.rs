//! Named signals that calls wait for.

use crate::engine::calls::CallsHandler;
use crate::words::history::{CallInput, Input};
use crate::words::message::ResultStatus;
use crate::words::signal::{NamedSignal, name_of};
use crate::words::tool::EffectClass;
use crate::words::usage::Usage;

impl CallsHandler<'_> {
    /// Gives the first call that can have one the oldest signal of the name that it waits for. Returns false if there is no
    /// such call. The signal is consumed by the commit that makes the result durable.
    pub(crate) fn take_signal(&mut self) -> bool {
        let Some(batch) = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        let mut waiting = batch.calls.iter().filter(|call| call.state.awaits().is_some()).peekable();
        if waiting.peek().is_none() {
            return false;
        }
        let items = self.cx.mind.inbox.items.iter().enumerate();
        let held: Vec<_> = items.filter_map(|(at, item)| Some((at, name_of(item)?))).collect();
        let taken = waiting.find_map(|call| {
            let found = held.iter().find(|(_, name)| call.state.awaits() == Some(name));
            found.map(|(at, _)| (call.clone(), *at))
        });
        let Some((call, at)) = taken else { return false };
        let item = self.cx.mind.inbox.items.remove(at);
        let body = NamedSignal::of(&item).map(|signal| signal.body).unwrap_or_default();
        self.cx.mind.draft.consumed.push(item.seq);
        self.keep_bounded(&call, ResultStatus::Done, body);
        let ok = self.cx.mind.is_done(&call.id);
        // The call came back before it waited, even if the body is no result.
        if !ok && call.effect != EffectClass::ReadOnly {
            self.cx.mind.amend(&call.id, |result| result.sent = Some(true));
        }
        let input = CallInput::Answered { ok, usage: Usage::default() };
        self.cx.feed(Input::Call { call: call.id, input });
        self.cx.mind.draft.decided = true;
        true
    }
}
