//! Builds tool calls from the pieces of a stream. Servers mark the pieces in different ways.

use std::collections::BTreeMap;

use holdover_core::model::{AnswerPart, ModelError, ModelEvent};
use serde_json::Value;

use super::chunk::CallDelta;
use super::signature::count;
use crate::wire::{Taken, is_json};

/// The calls of one answer, in the order in which they began.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The number of calls that were reported as started.
    told: usize,
    /// The number of calls that were reported as completely written.
    written: usize,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    tool: String,
    arguments: String,
    extra_content: Option<Value>,
    /// True if the arguments were complete JSON when the next call began.
    whole: bool,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes a piece of a call, and returns the number of bytes of arguments in it.
    pub(super) fn add(&mut self, delta: CallDelta, taken: &mut Taken) -> Result<usize, ModelError> {
        let id = delta.id.unwrap_or_default();
        let (name, arguments) = match delta.function {
            Some(function) => (function.name.unwrap_or_default(), function.arguments),
            None => (String::new(), None),
        };
        let piece = match arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            // Some servers send the arguments as parsed JSON.
            Some(parsed) => parsed.to_string(),
        };
        taken.arguments(&piece)?;
        let (bytes, extra_content) = (piece.len(), delta.extra_content);
        if let Some(extra) = &extra_content {
            count(extra, taken)?;
        }
        let known = match delta.index {
            Some(index) => self.calls.iter_mut().find(|call| call.index == Some(index)),
            None if !id.is_empty() => self.calls.iter_mut().find(|call| call.id == id),
            None if name.is_empty() => self.calls.last_mut(),
            None => None,
        };
        match known {
            Some(call) => {
                // Some servers repeat the name with every piece.
                if call.tool.is_empty() {
                    call.tool = name;
                }
                call.arguments.push_str(&piece);
                call.extra_content = extra_content.or(call.extra_content.take());
            }
            None => {
                taken.call()?;
                // Servers may continue a call after the next one has begun.
                if let Some(last) = self.calls.last_mut() {
                    last.whole = is_json(&last.arguments);
                }
                let (index, tool, arguments) = (delta.index, name, piece);
                self.calls.push(Call { index, id, tool, arguments, extra_content, whole: false });
            }
        }
        Ok(bytes)
    }

    /// Returns events for the calls that began since the last time, in order. A call without a name so far holds back
    /// the calls after it.
    pub(super) fn newly_started(&mut self) -> Vec<ModelEvent> {
        let named =
            self.calls.iter().enumerate().skip(self.told).take_while(|(_, call)| !call.tool.is_empty());
        let started: Vec<_> =
            named.map(|(index, call)| ModelEvent::CallStarted { index, tool: call.tool.clone() }).collect();
        self.told += started.len();
        started
    }

    /// Returns events for the calls that were completed since the last time, in order. A call that may continue holds
    /// back the calls after it. `ended` is true if the model has finished and was not cut off.
    pub(super) fn newly_written(&mut self, ended: bool) -> Vec<ModelEvent> {
        let whole =
            self.calls.iter().enumerate().skip(self.written).take_while(|(_, call)| ended || call.whole);
        let event = |(index, call): (usize, &Call)| {
            let (tool, arguments) = (call.tool.clone(), written(&call.arguments));
            ModelEvent::CallWritten { index, tool, arguments }
        };
        let written: Vec<_> = whole.map(event).collect();
        self.written += written.len();
        written
    }

    /// Takes the data that must come back with calls, by their positions.
    pub(super) fn take_extra_contents(&mut self) -> BTreeMap<usize, Value> {
        let calls = self.calls.iter_mut().enumerate();
        calls.filter_map(|(at, call)| Some((at, call.extra_content.take()?))).collect()
    }

    /// Returns all calls of a finished stream, in the order in which they began, including those that name no tool.
    /// `cut` is true if the answer reached its token limit, perhaps in the middle of the last call.
    pub(super) fn into_parts(self, cut: bool) -> Vec<AnswerPart> {
        let last = self.calls.len().saturating_sub(1);
        let part = |(at, call): (usize, Call)| {
            let may_be_cut = cut && at == last;
            let arguments = if may_be_cut { call.arguments } else { written(&call.arguments) };
            AnswerPart::Call { tool: call.tool, arguments }
        };
        self.calls.into_iter().enumerate().map(part).collect()
    }
}

/// Returns the arguments of a call that was completely written. Some servers write nothing for a call without
/// arguments, so an empty text becomes an empty object.
fn written(arguments: &str) -> String {
    let none = arguments.trim().is_empty();
    if none { "{}".to_owned() } else { arguments.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(deltas: &[Value]) -> Result<Vec<(String, String)>, String> {
        let (mut calls, mut taken) = (Calls::default(), Taken::default());
        for delta in deltas {
            let delta = serde_json::from_value(delta.clone()).unwrap();
            calls.add(delta, &mut taken).map_err(|error| error.detail)?;
        }
        let parts = calls.into_parts(false);
        let call = |part| match part {
            AnswerPart::Call { tool, arguments } => (tool, arguments),
            AnswerPart::Text(_) | AnswerPart::Reasoning { .. } => panic!("a call"),
        };
        Ok(parts.into_iter().map(call).collect())
    }

    fn check(deltas: &[Value], expect: &[(&str, &str)]) {
        let expect: Vec<_> =
            expect.iter().map(|(tool, arguments)| ((*tool).to_owned(), (*arguments).to_owned())).collect();
        assert_eq!(calls(deltas), Ok(expect));
    }

    #[test]
    fn pieces_are_put_together_however_a_server_marks_them() {
        let start = |index: Value, id: &str, name: &str| json!({ "index": index, "id": id, "function": { "name": name, "arguments": "" } });
        let more = |index: Value, text: &str| json!({ "index": index, "function": { "arguments": text } });
        // OpenAI's form, interleaved. The text of the arguments is unchanged.
        check(
            &[
                start(json!(0), "a", "read"),
                start(json!(1), "b", "list"),
                more(json!(0), "{\"b\": 1,"),
                more(json!(1), "{}"),
                more(json!(0), "  \"a\":1e400}"),
            ],
            &[("read", "{\"b\": 1,  \"a\":1e400}"), ("list", "{}")],
        );
        // Indexes that begin at 1, or have gaps, add no calls.
        check(&[start(json!(1), "a", "read"), more(json!(1), "{}")], &[("read", "{}")]);
        // Without an index, a piece belongs to the call with its id, or to the last call.
        check(
            &[
                start(Value::Null, "a", "read"),
                more(Value::Null, "{"),
                more(Value::Null, "}"),
                start(Value::Null, "b", "read"),
                more(Value::Null, "[]"),
            ],
            &[("read", "{}"), ("read", "[]")],
        );
        // Complete calls without ids.
        let whole = json!({ "id": "", "function": { "name": "read", "arguments": { "a": 1 } } });
        check(&[whole.clone(), whole], &[("read", "{\"a\":1}"), ("read", "{\"a\":1}")]);
        // The name is repeated with every piece; there are no arguments.
        let again = json!({ "index": 0, "function": { "name": "read" } });
        check(&[again.clone(), again], &[("read", "{}")]);
    }

    #[test]
    fn c35_a_call_without_a_name_is_a_call() {
        let nameless = json!({ "index": 0, "function": { "arguments": "{}" } });
        check(&[nameless], &[("", "{}")]);
    }

    #[test]
    fn what_cannot_be_a_call_is_refused() {
        let many: Vec<_> =
            (0..129).map(|index| json!({ "index": index, "function": { "name": "a" } })).collect();
        assert!(calls(&many).unwrap_err().contains("more than 128"));
    }
}
