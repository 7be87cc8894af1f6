//! The trait of tools, and its types.
//!
//! Requirements: B24, B25.

mod bound;

use std::fmt::{Display, Write as _};
use std::time::Duration;

use async_trait::async_trait;
pub use bound::Bound;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::custom::{CustomState, StateChange};
use crate::words::ids::{CallId, SessionKey, ToolName};
use crate::words::image::Images;

/// The consequence of a crash in the middle of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// The call has no effect outside and is run again.
    ReadOnly,
    /// The call is run again with the same idempotency key and the same bytes (INV-14).
    Idempotent,
    /// The call is never sent again: it ends in doubt and the model is told (INV-15). This is the default,
    /// because a model chooses the calls and most services are not idempotent.
    #[default]
    AtMostOnce,
}

impl EffectClass {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::AtMostOnce => "at_most_once",
        }
    }
}

/// The party that runs a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunsOn {
    /// This engine.
    #[default]
    Server,
    /// A client that follows the session: the call is announced, the run exits, and the answer is delivered.
    Client,
    /// Children: sessions that answer the call, once they have begun and ended.
    Child,
}

/// The description of a tool, as far as the core knows it. Stored with the session's definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name by which a model calls the tool.
    pub name: ToolName,
    /// The description of the tool, for the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// The consequence of a crash in the middle of a call.
    #[serde(default)]
    pub effect: EffectClass,
    /// Whether the tool is dangerous. This takes precedence over the effect class on recovery: a dangerous
    /// call that was not started is cancelled, and one that was started is in doubt.
    #[serde(default)]
    pub dangerous: bool,
    /// The party that runs the tool.
    #[serde(default)]
    pub runs_on: RunsOn,
    /// The time limit of one call, in milliseconds; for a client tool, that of its answer. None: the agent's
    /// limits apply. [`Bound::Never`], written `"none"`: for ever, whatever the limits say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Bound>,
}

impl ToolSpec {
    /// Whether the schema requires any argument.
    pub(crate) fn needs_input(&self) -> bool {
        self.parameters.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
    }
}

/// How a call uses a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Other calls may read the resource at the same time.
    Read,
    /// No other call may touch the resource at the same time.
    Write,
}

/// The resources that one call touches. They decide which calls of one step run side by side, and which one
/// after another (requirements B23 to B26).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceProfile {
    /// Conflicts with every other call.
    #[default]
    Serial,
    /// The call touches only these keys; an empty list conflicts only with serial calls. A key that ends with
    /// `/` stands for the thing of that name and everything beneath it: `file:/src/` overlaps with
    /// `file:/src/a.rs` and `file:/src`, but not with `file:/srcs`.
    Keys(Vec<(String, Access)>),
}

impl ResourceProfile {
    /// A profile with one key.
    pub fn key(key: impl Into<String>, access: Access) -> Self {
        Self::Keys(vec![(key.into(), access)])
    }

    /// Whether two calls must not be out together: one of them is serial, or they have a key in common
    /// (equal, or one beneath the other) and at least one writes it.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Serial, _) | (_, Self::Serial) => true,
            (Self::Keys(own), Self::Keys(others)) => own.iter().any(|(key, access)| {
                others.iter().any(|(other, how)| {
                    (covers(key, other) || covers(other, key))
                        && (*access == Access::Write || *how == Access::Write)
                })
            }),
        }
    }
}

/// Whether `key` is `other`, or ends with `/` and `other` lies beneath it.
fn covers(key: &str, other: &str) -> bool {
    match key.strip_suffix('/') {
        Some(stem) => other.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        None => key == other,
    }
}

/// The longest time that a tool may take to clean up after a call.
pub const CLEANUP_MAX: Duration = Duration::from_secs(5);

/// A tool. Each call goes through three phases: [`prepare`](Self::prepare), [`call`](Self::call),
/// [`cleanup`](Self::cleanup).
///
/// A call is cancelled by dropping its future. A tool whose future does work in the background must stop
/// that work when it is dropped, or say in its effect class what it may still do.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// The spec of the tool. The same for as long as the tool lives.
    fn spec(&self) -> &ToolSpec;

    /// Returns the resources that a call with these arguments touches. Called only with arguments that fit
    /// the schema.
    fn profile(&self, arguments: &Value) -> ResourceProfile;

    /// Returns the reason why a person must approve a call with these arguments. None, the default: the
    /// policy alone decides. Called only with arguments that fit the schema, wherever the
    /// [gate](crate::words::gate) is asked; the stricter of the two counts. It must have no effect and give
    /// the same answer each time, because it is asked again after an edit, a rewriting and a crash. A panic
    /// denies the call. So does a reason if a client runs the tool.
    fn needs_approval(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// Prepares one call; has no effect that outlives [`cleanup`](Self::cleanup). Called before each send of
    /// the call, within the call's time limit. After a panic, a time-out or a stop here, the call did not
    /// act, and [`call`](Self::call) is not reached. Does nothing by default.
    ///
    /// # Errors
    /// The call cannot be prepared. [`ToolError::Failed`]: the model is told why, and that nothing was done.
    /// The other errors mean the same as for a call: [`ToolError::NotRun`] may be retried.
    async fn prepare(&self, _call: &ToolCall) -> Result<(), ToolError> {
        Ok(())
    }

    /// Cleans up after [`prepare`](Self::prepare) and [`call`](Self::call), whatever their result: also after
    /// a failure, a panic, a time-out or a stop. The result of the call waits for this, for [`CLEANUP_MAX`]
    /// at most, and stands whatever happens here. A run that dies cleans nothing up. Does nothing by default.
    ///
    /// # Errors
    /// Something could not be cleaned up; this is logged.
    async fn cleanup(&self, _call: &ToolCall) -> Result<(), ToolError> {
        Ok(())
    }

    /// Performs one call. Never called for a client tool.
    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError>;

    /// Tells, after the future of `call` was dropped, whether the call acted. If that is not certain, the
    /// answer is [`Stopped::Unknown`]: the call then ends in doubt.
    async fn stopped(&self, _call: &CallId) -> Stopped {
        Stopped::Unknown
    }
}

/// The tool's knowledge of a call that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stopped {
    /// The call did not act, and will not.
    DidNotAct,
    /// The call may have acted.
    Unknown,
}

/// One call, as a tool gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The session.
    pub session: SessionKey,
    /// The id of the call.
    pub id: CallId,
    /// The idempotency key: the same for every send of this call, and for no other call ever (INV-14).
    pub idempotency_key: String,
    /// The arguments; they fit the tool's schema.
    pub arguments: Value,
    /// How long the call may take. None: for ever.
    pub timeout: Option<Duration>,
    /// The [custom state](crate::words::custom) of the session at the start of the step; the same for every
    /// send of this call.
    pub state: CustomState,
}

/// The return value of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReturn {
    /// A result, at once.
    Output(ToolOutput),
    /// A result once `delay` has passed. The wait is durable: no task runs meanwhile.
    After {
        /// The delay from now.
        delay: Duration,
        /// The output, which the model is told then.
        output: ToolOutput,
    },
}

/// The output of a call, for the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text.
    pub content: String,
    /// Whether the turn should end after this step (`tool_stop`).
    pub stop: bool,
    /// The changes of the [custom state](crate::words::custom) of the session once the step is over, in this
    /// order. If they cannot be applied, none of them is, and the call is an error that says why.
    pub changes: Vec<StateChange>,
    /// The pictures that the model is shown beside the text. A result that is given later has none.
    pub images: Images,
}

impl ToolOutput {
    /// An output with this text.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), stop: false, changes: Vec::new(), images: Images::none() }
    }

    /// Sets the pictures that the model is shown beside the text, in place of any that were set before.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        Self { images, ..self }
    }

    /// Replaces the pictures by a text that says how many there were.
    pub(crate) fn told_later(mut self) -> Self {
        let many = std::mem::take(&mut self.images).iter().count();
        if many > 0 {
            // Writing to a String does not fail.
            let _ = write!(self.content, "\n[not shown: {many} pictures; what is given later has none]");
        }
        self
    }

    /// Sets the value under `key` of the custom state, from the next step on.
    #[must_use]
    pub fn set(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.change(StateChange::Set { key: key.into(), value: value.into() })
    }

    /// Appends `value` to the list under `key` of the custom state. If there is no such key, creates a list
    /// of this value alone.
    #[must_use]
    pub fn append(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.change(StateChange::Append { key: key.into(), value: value.into() })
    }

    /// Removes `key` from the custom state.
    #[must_use]
    pub fn delete(self, key: impl Into<String>) -> Self {
        self.change(StateChange::Delete { key: key.into() })
    }

    fn change(mut self, change: StateChange) -> Self {
        self.changes.push(change);
        self
    }

    /// An output with this value as JSON.
    ///
    /// # Errors
    /// The value cannot be written as JSON: for example, a map whose keys are not strings. The tool has acted
    /// all the same.
    pub fn json(value: &impl Serialize) -> Result<Self, ToolError> {
        let written = serde_json::to_string(value);
        written.map(Self::text).map_err(|error| ToolError::Failed(format!("its result is no JSON: {error}")))
    }
}

impl From<ToolOutput> for ToolReturn {
    fn from(output: ToolOutput) -> Self {
        Self::Output(output)
    }
}

/// The error of a call that gave no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The tool ran and says why it could not do what was asked. The model is told this text.
    #[error("{0}")]
    Failed(String),
    /// The tool did not act: nothing was sent, nothing was changed.
    #[error("not run: {0}")]
    NotRun(String),
    /// The tool did not act, for a temporary reason. The call is sent again after `wait`, or as the agent's
    /// rules say if there is none (requirement C52).
    #[error("not run yet: {detail}")]
    Transient {
        /// The reason.
        detail: String,
        /// The wait before the next try; at most a day.
        wait: Option<Duration>,
    },
    /// Nobody knows whether the tool acted: the connection was lost, or the call timed out or panicked.
    #[error("lost sight of it: {0}")]
    Lost(String),
}

impl ToolError {
    /// An error of a tool that could not do what was asked, for this reason. The model is told.
    pub fn failed(why: impl Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// An error of a tool that did not act: nothing was sent, nothing was changed.
    pub fn not_run(why: impl Display) -> Self {
        Self::NotRun(why.to_string())
    }

    /// A temporary error of a tool that did not act. The call is sent again after `wait`, or as the agent's
    /// rules say if there is none.
    pub fn transient(why: impl Display, wait: Option<Duration>) -> Self {
        Self::Transient { detail: why.to_string(), wait }
    }

    /// An error of a call that may or may not have acted.
    ///
    /// ```
    /// use holdover_core::tool::ToolError;
    ///
    /// let sent = Err(std::io::Error::other("connection reset"));
    /// let sent: Result<(), ToolError> = sent.map_err(ToolError::lost);
    /// assert_eq!(sent, Err(ToolError::Lost("connection reset".to_owned())));
    /// ```
    pub fn lost(why: impl Display) -> Self {
        Self::Lost(why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_told_as_json_and_one_that_cannot_be_is_a_failure_of_the_tool() {
        assert_eq!(ToolOutput::json(&[1, 2]), Ok(ToolOutput::text("[1,2]")));
        let by_place = std::collections::BTreeMap::from([((1, 2), "x")]);
        let refused = ToolOutput::json(&by_place);
        assert!(
            matches!(&refused, Err(ToolError::Failed(why)) if why.starts_with("its result is no JSON: ")),
            "{refused:?}"
        );
    }

    fn keys(list: &[(&str, Access)]) -> ResourceProfile {
        ResourceProfile::Keys(list.iter().map(|(key, access)| ((*key).to_owned(), *access)).collect())
    }

    #[track_caller]
    fn check(one: &ResourceProfile, other: &ResourceProfile, conflict: bool) {
        assert_eq!(one.conflicts_with(other), conflict, "{one:?} {other:?}");
        assert_eq!(other.conflicts_with(one), conflict, "{other:?} {one:?}");
    }

    #[test]
    fn calls_conflict_when_serial_or_when_one_writes_what_the_other_touches() {
        use Access::{Read, Write};
        check(&ResourceProfile::Serial, &keys(&[]), true);
        check(&keys(&[]), &keys(&[("a", Write)]), false);
        check(&keys(&[("a", Read)]), &keys(&[("a", Read)]), false);
        check(&keys(&[("a", Read)]), &keys(&[("a", Write)]), true);
        check(&keys(&[("a", Write)]), &keys(&[("b", Write)]), false);
        check(&keys(&[("b", Read), ("a", Write)]), &keys(&[("c", Read), ("a", Write)]), true);
    }

    #[test]
    fn a_key_that_ends_with_a_slash_covers_all_beneath_it_and_nothing_beside_it() {
        use Access::{Read, Write};
        for (tree, other, covered) in [
            ("file:/", "file:/a.txt", true),
            ("file:/", "file:/src/a.rs", true),
            ("file:/src/", "file:/src/a.rs", true),
            ("file:/src/", "file:/src/deep/", true),
            ("file:/src/", "file:/src/", true),
            ("file:/src/", "file:/src", true),
            ("file:/src/", "file:/srcs", false),
            ("file:/src/", "file:/tests/", false),
            ("file:/src/", "file:/", true),
            ("file:/src", "file:/src/a.rs", false),
        ] {
            check(&keys(&[(tree, Read)]), &keys(&[(other, Write)]), covered);
            check(&keys(&[(tree, Read)]), &keys(&[(other, Read)]), false);
        }
    }
}
