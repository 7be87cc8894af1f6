//! Hooks that rewrite the arguments of a call, or answer it.

use crate::engine::gate::GateHandler;
use crate::engine::reply::Ruling;
use crate::machine::Call;
use crate::words::history::{CallInput, Input};
use crate::words::message::{Message, Notice, Rewriting};
use crate::words::tool::ToolOutput;

impl GateHandler<'_> {
    /// Adds the arguments of a hook to the transcript, so that they are durable before the call is sent. They
    /// replace those of `call`. Then applies the ruling on the call with these arguments.
    pub(crate) fn rewrite(&mut self, call: &Call, arguments: String, by: &str, ruling: Ruling) {
        let text = format!("the hook {by} rewrote the arguments of {} ({})", call.id, call.tool);
        let rewriting = Some(Rewriting { call: call.id.clone(), arguments: arguments.clone() });
        let seq = self.cx.append(Message::Notice(Notice { rewriting, ..Notice::new(text) }));
        self.cx.mind.step.edited.insert(call.id.clone(), arguments);
        self.cx.mind.step.rewritten.insert(call.id.clone());
        self.cx.feed(Input::Call { call: call.id.clone(), input: CallInput::Rewritten { arguments: seq } });
        if let Some(call) = self.cx.mind.call(&call.id) {
            self.on_ruling(&call, ruling);
        }
    }

    pub(crate) fn synthesise(&mut self, call: &Call, output: ToolOutput) -> CallInput {
        self.cx.calls().keep_output(call, output.content, output.changes);
        self.cx.mind.show(&call.id, output.images);
        match self.cx.mind.is_done(&call.id) {
            true => CallInput::Synthesised { stop: output.stop },
            false => CallInput::Refused,
        }
    }
}
