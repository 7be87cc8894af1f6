//! Tool calls, put together from the frames of a stream.
//!
//! Read from the frames themselves: the library drops calls without an index, repeats calls when indexes
//! have gaps, and loses the text of the arguments by parsing them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use holdover_core::model::AnswerPart;
use serde::Deserialize;
use serde_json::Value;

use crate::wire::bounds::{ARGUMENTS_BYTES_MAX, CALLS_MAX};

/// Watches the frames of one stream.
#[derive(Default)]
pub(super) struct CallFrames(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    any_frame: bool,
    calls: Vec<Call>,
    told: usize,
    bytes: usize,
    problem: Option<String>,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    tool: String,
    arguments: String,
}

/// What is read of a frame; all else is the library's.
#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
}

#[derive(Deserialize)]
struct Delta {
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<Value>,
}

impl CallFrames {
    /// Whether anything came at all.
    pub(super) fn any_frame(&self) -> bool {
        self.lock().any_frame
    }

    /// The tools of the calls that began since the last time, with their place in the answer.
    pub(super) fn newly_started(&self) -> Vec<(usize, String)> {
        let mut seen = self.lock();
        let from = seen.told;
        // In order: a call whose name has not come yet holds back those after it.
        let named = seen.calls[from..].iter().take_while(|call| !call.tool.is_empty()).count();
        seen.told += named;
        seen.calls[from..from + named]
            .iter()
            .enumerate()
            .map(|(at, call)| (from + at, call.tool.clone()))
            .collect()
    }

    /// All calls of a stream that ended, in the order they began; or why they cannot be read. `cut`: whether
    /// the answer ended at its cap on tokens, maybe in the middle of the last call.
    pub(super) fn take(&self, cut: bool) -> Result<Vec<AnswerPart>, String> {
        let mut seen = self.lock();
        if let Some(problem) = seen.problem.take() {
            return Err(problem);
        }
        if seen.calls.iter().any(|call| call.tool.is_empty()) {
            return Err("a tool call names no tool".to_owned());
        }
        let calls = std::mem::take(&mut seen.calls);
        let last = calls.len().saturating_sub(1);
        Ok(calls
            .into_iter()
            .enumerate()
            .map(|(at, call)| AnswerPart::Call {
                tool: call.tool,
                // Some servers write nothing for a tool without arguments.
                arguments: if call.arguments.trim().is_empty() && !(cut && at == last) {
                    "{}".to_owned()
                } else {
                    call.arguments
                },
            })
            .collect())
    }

    /// A panic in another thread leaves nothing half done that matters here.
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for CallFrames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.lock();
        // A comment comes as a frame without data.
        seen.any_frame |= !frame.data.is_empty();
        if !frame.data.contains("\"tool_calls\"") || seen.problem.is_some() {
            return;
        }
        match serde_json::from_str::<Frame>(frame.data) {
            Ok(frame) => {
                let delta = frame.choices.into_iter().next().and_then(|choice| choice.delta);
                for call in delta.and_then(|delta| delta.tool_calls).unwrap_or_default() {
                    seen.add(call);
                }
            }
            Err(error) => seen.problem = Some(format!("a tool call cannot be read: {error}")),
        }
    }
}

impl Seen {
    fn add(&mut self, delta: CallDelta) {
        let id = delta.id.unwrap_or_default();
        let (name, arguments) = match delta.function {
            Some(function) => (function.name.unwrap_or_default(), function.arguments),
            None => (String::new(), None),
        };
        let known = match delta.index {
            Some(index) => self.calls.iter().position(|call| call.index == Some(index)),
            None if !id.is_empty() => self.calls.iter().position(|call| call.id == id),
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        let at = match known {
            Some(at) => at,
            None if self.calls.len() == CALLS_MAX => {
                self.problem = Some(format!("more than {CALLS_MAX} tool calls in one answer"));
                return;
            }
            None => {
                self.calls.push(Call { index: delta.index, id, ..Call::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        // Some servers repeat the name with every piece.
        if call.tool.is_empty() {
            call.tool = name;
        }
        let piece = match arguments {
            None | Some(Value::Null) => return,
            Some(Value::String(text)) => text,
            // Some servers send them parsed.
            Some(parsed) => parsed.to_string(),
        };
        self.bytes += piece.len();
        if self.bytes > ARGUMENTS_BYTES_MAX {
            self.problem =
                Some(format!("tool calls with more than {ARGUMENTS_BYTES_MAX} bytes of arguments"));
            return;
        }
        call.arguments.push_str(&piece);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(deltas: &[Value]) -> Result<Vec<(String, String)>, String> {
        let frames = CallFrames::default();
        for delta in deltas {
            frames.lock().add(serde_json::from_value(delta.clone()).unwrap());
        }
        frames.take(false).map(|parts| {
            parts
                .into_iter()
                .map(|part| match part {
                    AnswerPart::Call { tool, arguments } => (tool, arguments),
                    AnswerPart::Text(_) | AnswerPart::Reasoning { .. } => panic!("a call"),
                })
                .collect()
        })
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
        // As OpenAI does, interleaved; the text stays as it was written.
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
        // No index: by id, by name, or the last one.
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
        // Whole calls without ids.
        let whole = json!({ "id": "", "function": { "name": "read", "arguments": { "a": 1 } } });
        check(&[whole.clone(), whole], &[("read", "{\"a\":1}"), ("read", "{\"a\":1}")]);
        // A name with every piece; no arguments at all.
        let again = json!({ "index": 0, "function": { "name": "read" } });
        check(&[again.clone(), again], &[("read", "{}")]);
    }

    #[test]
    fn what_cannot_be_a_call_is_refused() {
        let nameless = json!({ "index": 0, "function": { "arguments": "{}" } });
        assert_eq!(calls(&[nameless]), Err("a tool call names no tool".to_owned()));
        let many: Vec<_> =
            (0..=CALLS_MAX).map(|index| json!({ "index": index, "function": { "name": "a" } })).collect();
        assert!(calls(&many).unwrap_err().contains("more than 128"));
    }
}
