//! Answers of hooks outside of this process, read strictly.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::super::{AfterStep, AfterTool, BeforeModel, BeforeSubAgent, BeforeTool, HookError};
use super::OUTSIDE_ANSWER_BYTES_MAX;
use super::asked::ResultForm;
use crate::words::message::Message;
use crate::words::model::{ModelRequest, ModelTool};
use crate::words::tool::ToolOutput;

/// The number of characters of a text of the answer that an error shows.
const SHOWN_CHARS_MAX: usize = 60;

/// An answer: an object with distinct keys. A key is removed when it is read, so the keys that remain at the end are
/// unknown.
pub(crate) struct Answer(BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Answer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Answer, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if fields.contains_key(&key) {
                        return Err(A::Error::custom(format!("{} is given twice", shown(&key))));
                    }
                    fields.insert(key, value);
                }
                Ok(Answer(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// The request to a model that replaces another one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRequest {
    system: String,
    messages: Vec<Message>,
    tools: Vec<ModelTool>,
    max_output_tokens: u32,
}

impl Answer {
    /// Reads an answer. Returns `None` if there is only white space. Fails if the answer is too long, or is no object
    /// with distinct keys.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Self>, HookError> {
        if bytes.len() > OUTSIDE_ANSWER_BYTES_MAX {
            return fault(format!("is longer than {OUTSIDE_ANSWER_BYTES_MAX} bytes"));
        }
        if bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(bytes).map(Some).or_else(|error| fault(one_line(&error.to_string())))
    }

    /// Reads the answer about a point where nothing can be changed.
    pub(super) fn nothing(mut self) -> Result<(), HookError> {
        match self.verdict()?.as_str() {
            "ok" => self.is(()),
            other => unknown(other, &["ok"]),
        }
    }

    pub(super) fn before_model(mut self, asked: &ModelRequest) -> Result<BeforeModel, HookError> {
        let verdict = match self.verdict()?.as_str() {
            "ask" => BeforeModel::Ask,
            "ask_with" => {
                let NewRequest { system, messages, tools, max_output_tokens } = self.take("request")?;
                BeforeModel::AskWith(Box::new(ModelRequest {
                    system: system.into(),
                    messages: messages.into_iter().map(Arc::new).collect(),
                    tools: tools.into(),
                    max_output_tokens,
                    ..asked.clone()
                }))
            }
            "hold" => BeforeModel::Hold {
                wait: Duration::from_millis(self.take("wait_ms")?),
                reason: self.take("reason")?,
            },
            "deny" => BeforeModel::Deny { reason: self.take("reason")? },
            other => return unknown(other, &["ask", "ask_with", "hold", "deny"]),
        };
        self.is(verdict)
    }

    pub(super) fn before_tool(mut self) -> Result<BeforeTool, HookError> {
        let verdict = match self.verdict()?.as_str() {
            "allow" => BeforeTool::Allow,
            "deny" => BeforeTool::Deny { reason: self.take("reason")? },
            "hold" => BeforeTool::Hold { prompt: self.find("prompt")? },
            "rewrite" => {
                let arguments: Box<RawValue> = self.take("arguments")?;
                BeforeTool::Rewrite { arguments: arguments.get().to_owned() }
            }
            "answer" => BeforeTool::Answer(self.result()?),
            "fail" => BeforeTool::Fail { reason: self.take("reason")? },
            other => return unknown(other, &["allow", "deny", "hold", "rewrite", "answer", "fail"]),
        };
        self.is(verdict)
    }

    pub(super) fn before_sub_agent(mut self) -> Result<BeforeSubAgent, HookError> {
        let verdict = match self.verdict()?.as_str() {
            "allow" => BeforeSubAgent::Allow,
            "deny" => BeforeSubAgent::Deny { reason: self.take("reason")? },
            "rewrite" => BeforeSubAgent::Rewrite { tasks: self.take("tasks")? },
            other => return unknown(other, &["allow", "deny", "rewrite"]),
        };
        self.is(verdict)
    }

    pub(super) fn after_tool(mut self) -> Result<AfterTool, HookError> {
        let verdict = match self.verdict()?.as_str() {
            "keep" => AfterTool::Keep,
            "rewrite" => AfterTool::Rewrite(self.result()?),
            "reject" => AfterTool::Reject { reason: self.take("reason")? },
            other => return unknown(other, &["keep", "rewrite", "reject"]),
        };
        self.is(verdict)
    }

    pub(super) fn after_step(mut self) -> Result<AfterStep, HookError> {
        let verdict = match self.verdict()?.as_str() {
            "go_on" => AfterStep::GoOn,
            "stop" => AfterStep::Stop { why: self.take("reason")? },
            "correct" => AfterStep::Correct { text: self.take("text")? },
            "over_budget" => AfterStep::OverBudget { why: self.take("reason")? },
            other => return unknown(other, &["go_on", "stop", "correct", "over_budget"]),
        };
        self.is(verdict)
    }

    /// Reads an answer that is only a text.
    pub(crate) fn text(mut self) -> Result<String, HookError> {
        let text = self.take("text")?;
        self.is(text)
    }

    fn verdict(&mut self) -> Result<String, HookError> {
        self.take("verdict")
    }

    fn result(&mut self) -> Result<ToolOutput, HookError> {
        let result: ResultForm = self.take("result")?;
        result.output().or_else(|why| fault(format!("result: {why}")))
    }

    /// Reads the value of a key that must be given.
    fn take<T: DeserializeOwned>(&mut self, key: &str) -> Result<T, HookError> {
        self.find(key)?.map_or_else(|| fault(format!("{key} is missing")), Ok)
    }

    /// Reads the value of a key, if it is given.
    fn find<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, HookError> {
        let Some(value) = self.0.remove(key) else { return Ok(None) };
        let read = serde_json::from_str(value.get());
        read.map(Some).or_else(|error| fault(format!("{key}: {}", one_line(&error.to_string()))))
    }

    /// Returns `verdict` if every key was read.
    fn is<T>(self, verdict: T) -> Result<T, HookError> {
        match self.0.keys().next() {
            Some(key) => fault(format!("{} is no field of this verdict", shown(key))),
            None => Ok(verdict),
        }
    }
}

fn fault<T>(why: impl fmt::Display) -> Result<T, HookError> {
    Err(HookError(format!("its answer: {why}")))
}

fn unknown<T>(verdict: &str, known: &[&str]) -> Result<T, HookError> {
    fault(format!("verdict: {} is none of {}", shown(verdict), known.join(", ")))
}

/// Returns the beginning of a text, in quotes and on one line.
fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(SHOWN_CHARS_MAX).collect::<String>())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
