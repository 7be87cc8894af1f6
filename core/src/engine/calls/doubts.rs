//! Calls that ended in doubt. If the agent is set to ask about them, each opens a pending call that does not hold the turn
//! up. The answer to it, a settlement, is added to the transcript; the result of the call stays as it is (INV-17).

use crate::engine::calls::CallsHandler;
use crate::engine::context::telling::in_short;
use crate::engine::mind::Mind;
use crate::machine::Call;
use crate::store::{NewPending, PendingCall, PendingKind, SessionStatus, StoredItem};
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::ids::{CallId, PendingId, ToolName};
use crate::words::message::{
    Message, Notice, PendingBody, ResultStatus, SETTLEMENT_BYTES_MAX, Settlement, SettlementRecord,
    ToolResult,
};
use crate::words::payload::{Digest, Payload};

/// The most calls of a session that can wait to be settled. Beyond it, a call that ends in doubt opens no pending call.
pub const DOUBTS_OPEN_MAX: usize = 32;

/// The reason for asking, in events.
const WHY: &str = "the result of this call was lost";

/// The most characters of the arguments that the model is shown in a settlement.
const ARGUMENTS_CHARS_MAX: usize = 200;

/// A call that ended in doubt and is not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubt {
    call: CallId,
    body: Payload,
}

impl Doubt {
    /// Returns the id and the content of a pending call, if it asks what became of a call.
    pub(crate) fn of(pending: &PendingCall) -> Option<(PendingId, Self)> {
        let doubt = || Self { call: pending.call.clone(), body: pending.body.clone() };
        (pending.kind == PendingKind::InDoubt).then(|| (pending.id.clone(), doubt()))
    }
}

impl CallsHandler<'_> {
    /// Asks what became of a call whose result says that it ended in doubt. Called before the result is promoted, while
    /// the arguments are known.
    pub(crate) fn ask_in_doubt(&mut self, call: &Call, result: &ToolResult) {
        let machine = &self.cx.mind.machine;
        let aborted = machine.state.ending().is_some_and(|ending| ending.status() == SessionStatus::Aborted);
        let asks = machine.turn.asks_in_doubt && result.status == ResultStatus::InDoubt && !aborted;
        if !asks || self.cx.mind.unawaited.doubts.len() >= DOUBTS_OPEN_MAX {
            return;
        }
        // A call that was sent has the name of a tool.
        let Ok(tool) = call.tool.parse::<ToolName>() else { return };
        let Some(pending) = self.cx.gate().next_pending(call) else { return };
        let arguments = self.cx.mind.arguments_of(&call.id);
        let digest = Digest::of(arguments.as_bytes());
        let prompt = Some(format!("{WHY}. The model was told: {}", in_short(&result.content)));
        let body = PendingBody { tool, arguments, digest, prompt, panel: None };
        self.open_doubt(pending, call.id.clone(), &body);
    }

    fn open_doubt(&mut self, id: PendingId, call: CallId, asked: &PendingBody) {
        let body = match Payload::json(asked) {
            Ok(body) => body,
            Err(error) => return self.cx.give_up(ErrorInfo::new("engine.encode", error.to_string())),
        };
        let kind = PendingKind::InDoubt;
        self.cx.mind.emit(Event::Asked {
            call: call.clone(),
            tool: asked.tool.to_string(),
            kind: kind.clone(),
            pending: id.clone(),
            reason: Some(WHY.to_owned()),
            children: 0,
        });
        self.cx.mind.unawaited.doubts.insert(id.clone(), Doubt { call: call.clone(), body: body.clone() });
        self.cx.mind.draft.open.push(NewPending { id, call, kind, needed: 1, deadline: None, body });
    }

    /// Takes all settlements that have come: tells the model in a notice, and closes the pending calls. Used only where
    /// a message may be added to the transcript: at rest, and in steering.
    pub(crate) fn take_settlements(&mut self) {
        while let Some((at, pending)) = self.cx.mind.settled() {
            let item = self.cx.mind.inbox.items.remove(at);
            self.cx.mind.draft.consumed.push(item.seq);
            self.cx.mind.draft.decided = true;
            let Some(doubt) = self.cx.mind.unawaited.doubts.remove(&pending) else { continue };
            self.cx.mind.close(pending.clone());
            match read(&item) {
                Ok(settlement) => self.settled(pending, doubt, settlement, &item),
                Err(why) => self.ask_in_doubt_again(&pending, doubt, &why),
            }
        }
    }

    fn settled(&mut self, pending: PendingId, doubt: Doubt, settlement: Settlement, item: &StoredItem) {
        let Doubt { call, body } = doubt;
        let (tool, arguments) = match body.parse::<PendingBody>() {
            Ok(body) => (body.tool.to_string(), body.arguments),
            Err(_) => (String::new(), String::new()),
        };
        let text = told(&call, &tool, &arguments, &settlement);
        let (done, by) = (settlement.done, settlement.by.as_deref().map(in_short));
        let (of, asked) = (call.clone(), pending.clone());
        let record = SettlementRecord { call, pending, settlement, at: item.at };
        let settled = Some(Box::new(record));
        self.cx.append(Message::Notice(Notice { told: true, settled, ..Notice::new(text) }));
        self.cx.mind.emit(Event::CallSettled { call: of, tool, pending: asked, done, by });
    }

    /// Asks again under a new id, because the settlement cannot be used.
    fn ask_in_doubt_again(&mut self, pending: &PendingId, doubt: Doubt, why: &str) {
        let round = pending.round().unwrap_or_default().saturating_add(1);
        let next = PendingId::of(self.cx.run.fence.incarnation, &doubt.call, round);
        let (Ok(next), Ok(body)) = (next, doubt.body.parse::<PendingBody>()) else { return };
        let prompt = Some(format!("{WHY}, and the settlement cannot be used: {}", in_short(why)));
        self.open_doubt(next, doubt.call, &PendingBody { prompt, ..body });
    }

    /// Closes the pending calls of all calls in doubt, because the session is aborted and no run can take an answer any
    /// more.
    pub(crate) fn close_doubts(&mut self) {
        for pending in std::mem::take(&mut self.cx.mind.unawaited.doubts).into_keys() {
            self.cx.mind.close(pending);
        }
    }
}

impl Mind {
    /// Returns the place in the inbox of the first settlement, and the pending call that it answers.
    fn settled(&self) -> Option<(usize, PendingId)> {
        let settled = |item| Some(self.unawaited.settled_by(item)?.clone());
        self.inbox.items.iter().enumerate().find_map(|(at, item)| Some((at, settled(item)?)))
    }
}

fn read(item: &StoredItem) -> Result<Settlement, String> {
    let settlement: Settlement = item.payload.parse().map_err(|error| error.to_string())?;
    match settlement.bytes() {
        bytes if bytes > SETTLEMENT_BYTES_MAX => {
            Err(format!("it has {bytes} bytes, at most {SETTLEMENT_BYTES_MAX} are allowed"))
        }
        _ => Ok(settlement),
    }
}

/// Returns the text of a settlement for the model. It names the call, because the model may not see it any more.
fn told(call: &CallId, tool: &str, arguments: &str, settlement: &Settlement) -> String {
    let by = settlement.by.as_deref().unwrap_or("somebody");
    let by = by.split_whitespace().collect::<Vec<_>>().join(" ");
    let arguments: String = arguments.chars().take(ARGUMENTS_CHARS_MAX).collect();
    let why = settlement.reason.as_ref().map(|why| format!(" Reason: {why}")).unwrap_or_default();
    let what = format!("call {call} of {tool} {arguments}, which ended in doubt");
    match (settlement.done, settlement.result.as_str()) {
        (false, _) => format!("[{what}, is settled by {by}, not by the user: it was not done.{why}]"),
        (true, "") => format!("[{what}, is settled by {by}, not by the user: it was done.{why}]"),
        (true, result) => {
            format!(
                "[{what}, is settled by {by}, not by the user: it was done.{why} Its result follows.]\n{result}"
            )
        }
    }
}
