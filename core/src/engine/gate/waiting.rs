//! The wait of a parked state of the procedure: a pending call that takes one of the inputs of the state as its answer.

use std::time::Duration;

use crate::engine::context::Context;
use crate::engine::gate::GateHandler;
use crate::engine::gate::asking::Why;
use crate::engine::gate::request::Wanted;
use crate::engine::mind::Mind;
use crate::machine::Call;
use crate::machine::procedure::{self, PROCEDURE_WAIT, notice, resolve};
use crate::words::error::ErrorInfo;
use crate::words::history::{CallInput, EngineRequest, Input};
use crate::words::message::{ClientAnswer, Message, Notice};
use crate::words::procedure::{InputName, ProcedureAnswer, ProcedureWait, Source};

impl GateHandler<'_> {
    /// Opens the pending call with which the parked state waits. If it cannot be built, gives up and returns `None`.
    pub(crate) fn wait_for_input(&mut self) -> Option<EngineRequest> {
        let agent = self.cx.run.agent.clone()?;
        let stands = self.cx.mind.machine.procedure.clone()?;
        let (procedure, state) = agent.stands(Some(&stands))?;
        let awaited: Vec<InputName> = procedure.awaited(state).cloned().collect();
        let why = match awaited.as_slice() {
            [] => format!("the procedure waits in the state {stands} for its deadline"),
            awaited => {
                let names = procedure::named(awaited.iter().map(InputName::as_str));
                format!("the procedure waits in the state {stands}; answer with one of: {names}")
            }
        };
        self.open_request(Wanted {
            // The place of the notice is unique in the session, also after a rewind.
            call: format!("wait-{}", self.cx.mind.transcript.last.next()),
            arguments: ProcedureWait::new(stands, awaited),
            why,
            deadline: state.after_ms.map(|after| self.cx.run.now.after(Duration::from_millis(after))),
            for_procedure: true,
        })
    }

    /// Takes an answer to the wait. An answer that is not valid is asked for again.
    pub(crate) fn on_procedure_answer(&mut self, call: &Call, answer: ClientAnswer) {
        let most =
            self.cx.run.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.answer_bytes_max(false));
        match self.cx.mind.input_in(call, &answer, most) {
            Ok(ProcedureAnswer { input, words }) => self.lead_on(call, &input, words.as_deref()),
            Err(why) => self.reopen(call, Why::with("the answer is not valid", &why)),
        }
    }

    /// Takes the input that the deadline of the parked state brings.
    pub(crate) fn on_deadline_of_wait(&mut self, call: &Call) {
        let agent = self.cx.run.agent.clone();
        let stands = self.cx.mind.machine.procedure.clone();
        let at = agent.as_ref().and_then(|agent| agent.stands(stands.as_ref()));
        let by_deadline = |source: &Source| *source == Source::Deadline;
        let input = at.and_then(|(procedure, state)| procedure.from(state, by_deadline).next().cloned());
        match input {
            Some(input) => self.lead_on(call, &input, None),
            None => self.fail_wait("the state has no row for its deadline"),
        }
    }

    fn lead_on(&mut self, call: &Call, input: &InputName, words: Option<&str>) {
        let agent = self.cx.run.agent.clone();
        let stands = self.cx.mind.machine.procedure.clone();
        let Some(to) = agent.as_ref().and_then(|agent| resolve(agent, stands.as_ref(), input)) else {
            if let Some(words) = words {
                let text = format!("[procedure, not said by the user] The answer {input} says: {words}");
                self.cx.append(Message::Notice(Notice { told: true, ..Notice::new(text) }));
            }
            return self.fail_wait(&format!("the state has no row for {input}"));
        };
        let told = notice(agent.as_deref(), std::slice::from_ref(&to), words);
        self.cx.feed(Input::Call { call: call.id.clone(), input: CallInput::Leads { to: Box::new(to) } });
        self.cx.append(Message::Notice(told));
    }

    /// Ends the turn, because the procedure has changed since the wait began.
    fn fail_wait(&mut self, why: &str) {
        self.cx.feed(Input::Failed { error: self.cx.procedure_error(why) });
    }
}

impl Context {
    /// Returns the error of a turn that cannot go on in the state of the procedure.
    pub(crate) fn procedure_error(&self, why: &str) -> ErrorInfo {
        let stands = self.mind.machine.procedure.as_ref();
        let state = stands.map_or_else(|| "none".to_owned(), ToString::to_string);
        ErrorInfo::new("procedure.changed", format!("state {state}: {why}"))
    }

    /// Returns true if the agent has a procedure that does not know the state of the session.
    pub(crate) fn is_off_procedure(&self) -> bool {
        let (agent, stands) = (self.run.agent.as_ref(), self.mind.machine.procedure.as_ref());
        let follows = agent.is_some_and(|agent| agent.procedure.is_some()) && stands.is_some();
        follows && agent.and_then(|agent| agent.stands(stands)).is_none()
    }
}

impl Mind {
    /// Returns true if this call is the wait of the procedure.
    pub(crate) fn is_procedure_wait(&self, call: &Call) -> bool {
        call.tool == PROCEDURE_WAIT && self.machine.state.batch().is_some_and(|batch| batch.for_procedure)
    }

    /// Returns the input in an answer to the wait, or the reason why the answer is not valid.
    fn input_in(&self, call: &Call, answer: &ClientAnswer, most: usize) -> Result<ProcedureAnswer, String> {
        if answer.is_error {
            return Err("an error is no input of the procedure".to_owned());
        }
        if !answer.changes.is_empty() || !answer.images.is_empty() {
            return Err("it takes no changes of the custom state and no images".to_owned());
        }
        if answer.content.len() > most {
            return Err(format!("it has {} bytes, at most {most} are allowed", answer.content.len()));
        }
        let wait: ProcedureWait =
            serde_json::from_str(&self.arguments_of(&call.id)).map_err(|error| error.to_string())?;
        ProcedureAnswer::read(&answer.content, &wait)
    }
}
