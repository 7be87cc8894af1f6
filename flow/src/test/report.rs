//! The report of a run: how the flow ended, and what it did.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::time::Duration;

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{CallId, SessionKey};
use holdover_core::message::{CallRequest, Message, ResultStatus};
use holdover_core::store::OutcomeKind;
use holdover_runtime_local::{MessageEntry, PendingEntry};
use serde::de::DeserializeOwned;

use super::TestError;
use super::world::Death;
use crate::approval::Asked;
use crate::built_in::{APPROVE, ASK};

/// What was seen of a run.
pub(super) struct Seen {
    pub(super) outcome: Option<RunOutcome>,
    pub(super) entries: Vec<MessageEntry>,
    pub(super) waits: Vec<PendingEntry>,
    pub(super) sent: BTreeMap<String, Vec<(SessionKey, CallId)>>,
    pub(super) elapsed: Duration,
    pub(super) died: Option<Death>,
}

/// The end of a flow in a test.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// It returned this value, as JSON text.
    Returned(String),
    /// It failed with this reason.
    Failed(String),
    /// It was told to stop, and has stopped.
    Stopped,
    /// It was aborted.
    Aborted,
    /// It waits for these requests, or for a signal if there are none, and nothing that the test says lets it go on.
    Waits(Vec<String>),
}

/// A call of a flow that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepEnd {
    /// The name of the step or tool.
    pub step: String,
    /// The argument, as JSON text.
    pub argument: String,
    /// The status of the result.
    pub status: ResultStatus,
    /// The value as JSON text, or the reason why there is none.
    pub result: String,
}

/// The report of one run of a [`Test`](super::Test).
pub struct Report<O> {
    seen: Seen,
    value: PhantomData<fn() -> O>,
}

impl<O> Report<O> {
    pub(super) fn new(seen: Seen) -> Self {
        Self { seen, value: PhantomData }
    }

    /// Returns how the flow ended.
    pub fn ended(&self) -> Ended {
        let Some(RunOutcome::Ended(ending)) = &self.seen.outcome else {
            return Ended::Waits(self.seen.waits.iter().map(name_of).collect());
        };
        let kind = RunOutcome::Ended(ending.clone()).kind();
        match (kind, &ending.error) {
            (OutcomeKind::Interrupted, _) => Ended::Stopped,
            (OutcomeKind::Aborted, _) => Ended::Aborted,
            (_, Some(error)) if error.code == "flow.failed" => Ended::Failed(error.detail.clone()),
            (_, Some(error)) => Ended::Failed(format!("{}: {}", error.code, error.detail)),
            (_, None) => Ended::Returned(self.last_text()),
        }
    }

    /// Returns the reason with which the flow failed, if it did.
    pub fn failure(&self) -> Option<String> {
        match self.ended() {
            Ended::Failed(why) => Some(why),
            Ended::Returned(_) | Ended::Stopped | Ended::Aborted | Ended::Waits(_) => None,
        }
    }

    /// Returns the calls that have ended, in the order in which they did.
    pub fn steps(&self) -> Vec<StepEnd> {
        let mut asked: BTreeMap<&CallId, &CallRequest> = BTreeMap::new();
        let mut ends = Vec::new();
        for entry in &self.seen.entries {
            match &entry.message {
                Message::Assistant(said) => asked.extend(said.calls().map(|call| (&call.id, call))),
                Message::Tool(result) => ends.push(StepEnd {
                    step: result.tool.to_string(),
                    argument: asked.get(&result.call).map(|call| call.arguments.clone()).unwrap_or_default(),
                    status: result.status,
                    result: result.content.clone(),
                }),
                Message::User(_) | Message::Notice(_) | Message::Decision(_) | Message::Summary(_) => {}
            }
        }
        ends
    }

    /// Returns how often the function of a step or tool was called, with repeats after a death, also by children.
    pub fn sent(&self, step: &str) -> usize {
        self.seen.sent.get(step).map_or(0, Vec::len)
    }

    /// Returns the number of different calls of a step or tool that were sent. Each has an idempotency key of its own.
    pub fn calls(&self, step: &str) -> usize {
        let sent = self.seen.sent.get(step);
        sent.map_or(0, |sent| sent.iter().collect::<BTreeSet<_>>().len())
    }

    /// Returns the time that passed in the world of the test. After a death, it includes the time until another process takes
    /// over, which is half a minute.
    pub fn elapsed(&self) -> Duration {
        self.seen.elapsed
    }

    /// Returns the number of the write at which the process died, from 1, and whether the write was applied.
    pub fn died(&self) -> Option<(usize, bool)> {
        self.seen.died.map(|death| (death.at, death.after))
    }

    fn last_text(&self) -> String {
        let said = self.seen.entries.iter().rev().find_map(|entry| match &entry.message {
            Message::Assistant(said) if said.plan.is_none() => Some(said.text()),
            Message::Assistant(_)
            | Message::User(_)
            | Message::Tool(_)
            | Message::Notice(_)
            | Message::Decision(_)
            | Message::Summary(_) => None,
        });
        said.unwrap_or_default()
    }
}

impl<O: DeserializeOwned> Report<O> {
    /// Returns the value of the flow.
    ///
    /// # Errors
    /// [`NoValue`](TestError::NoValue) says how the flow ended instead, or the value does not have this type.
    pub fn value(&self) -> Result<O, TestError> {
        match self.ended() {
            Ended::Returned(text) => serde_json::from_str(&text)
                .map_err(|source| TestError::Json { what: "the value".to_owned(), source }),
            other @ (Ended::Failed(_) | Ended::Stopped | Ended::Aborted | Ended::Waits(_)) => {
                let death = self.died().map(|(at, after)| {
                    let when = if after { "after" } else { "before" };
                    format!(", when its process died {when} its write number {at}")
                });
                Err(TestError::NoValue(format!("{other:?}{}", death.unwrap_or_default())))
            }
        }
    }
}

impl<O> std::fmt::Debug for Report<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Report");
        shown.field("ended", &self.ended()).field("died", &self.died());
        shown.field("elapsed", &self.elapsed()).field("steps", &self.steps()).finish()
    }
}

/// Returns the name by which a test decides on a request: what is to be approved, the question, or the tool.
pub(super) fn name_of(entry: &PendingEntry) -> String {
    let (tool, arguments) = (entry.body.tool.as_str(), entry.body.arguments.as_str());
    let named = match tool {
        APPROVE => serde_json::from_str(arguments).ok().map(|asked: Asked| asked.approve),
        ASK => question(arguments),
        _ => None,
    };
    named.unwrap_or_else(|| tool.to_owned())
}

/// Returns the question that a flow asks.
fn question(arguments: &str) -> Option<String> {
    let asked: serde_json::Value = serde_json::from_str(arguments).ok()?;
    Some(asked.get("question")?.as_str()?.to_owned())
}
