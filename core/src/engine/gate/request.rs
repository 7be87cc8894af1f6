//! Requests of the engine to somebody outside: a call that no model made opens a pending call, and leaves no result.

use serde::Serialize;

use crate::engine::context::Context;
use crate::engine::gate::GateHandler;
use crate::engine::gate::asking::Asking;
use crate::machine::{Batch, CallState, request};
use crate::time::Timestamp;
use crate::words::error::ErrorInfo;
use crate::words::history::EngineRequest;
use crate::words::ids::{CallId, PendingId};
use crate::words::message::{Message, Notice, Rewriting};

/// A request that is to be made.
pub(crate) struct Wanted<A> {
    /// The id of its call. It is unique in the session.
    pub(crate) call: String,
    pub(crate) arguments: A,
    /// The words for the person or the program that answers.
    pub(crate) why: String,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) for_procedure: bool,
}

impl GateHandler<'_> {
    /// Opens the pending call of a request. If it cannot be built, gives up and returns `None`.
    pub(crate) fn open_request(&mut self, wanted: Wanted<impl Serialize>) -> Option<EngineRequest> {
        let Wanted { call, arguments, why, deadline, for_procedure } = wanted;
        let named = CallId::new(call);
        let named =
            named.and_then(|call| Ok((PendingId::of(self.cx.run.fence.incarnation, &call, 1)?, call)));
        let (pending, call, arguments) = match (named, serde_json::to_string(&arguments)) {
            (Ok((pending, call)), Ok(arguments)) => (pending, call, arguments),
            (Err(error), _) => {
                self.cx.give_up(ErrorInfo::new("engine.pending_id", error.to_string()));
                return None;
            }
            (_, Err(error)) => {
                self.cx.give_up(ErrorInfo::new("engine.encode", error.to_string()));
                return None;
            }
        };
        let rewriting = Some(Rewriting { call: call.clone(), arguments: arguments.clone() });
        let notice = self.cx.append(Message::Notice(Notice { rewriting, ..Notice::new(why.clone()) }));
        self.cx.mind.step.edited.insert(call.clone(), arguments);
        let asking = Asking {
            pending: pending.clone(),
            deadline,
            why: Some(why.into()),
            panel: None,
            needed: 1,
            children: 0,
        };
        let request = EngineRequest { call, pending, deadline, notice, for_procedure };
        let batch = request::batch(self.cx.mind.machine.step, &request);
        batch.calls.iter().for_each(|call| self.open_pending(call, asking.clone()));
        Some(request)
    }
}

impl Context {
    /// Closes a request. It leaves no result, because the model did not ask for it.
    pub(crate) fn close_request(&mut self, batch: &Batch) {
        for call in &batch.calls {
            self.mind.step.ended.remove(&call.id);
            self.mind.step.edited.remove(&call.id);
            self.mind.step.rewritten.remove(&call.id);
            if batch.for_more && batch.stopping.is_none() && call.state != CallState::Done {
                self.tell_of_max();
            }
        }
        self.mind.draft.decided = true;
    }
}
