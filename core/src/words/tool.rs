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

/// What a crash in the middle of a call means for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// No effect outside: run again.
    ReadOnly,
    /// Run again with the same idempotency key and the same bytes (INV-14).
    Idempotent,
    /// Never sent again: it ends in doubt and the model is told (INV-15). The default, because a model
    /// chooses the calls and most services are not idempotent.
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

/// Who runs the tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunsOn {
    /// This engine.
    #[default]
    Server,
    /// Whoever follows the session: the call is announced, the run exits, the answer is delivered.
    Client,
}

/// Everything core knows of a tool. Stored with the session's definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name by which a model asks for it.
    pub name: ToolName,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// What a crash in the middle of a call means.
    #[serde(default)]
    pub effect: EffectClass,
    /// Wins over the class on recovery: a dangerous call that was not started is cancelled, one that was
    /// started is in doubt.
    #[serde(default)]
    pub dangerous: bool,
    /// Who runs it.
    #[serde(default)]
    pub runs_on: RunsOn,
    /// How long one call may take, in milliseconds; for a client tool, how long its answer may take. None:
    /// the agent's limits say. [`Bound::Never`], written `"none"`: for ever, whatever the limits say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Bound>,
}

impl ToolSpec {
    /// Whether its schema asks for any argument.
    pub fn needs_input(&self) -> bool {
        self.parameters.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
    }
}

/// How a call uses a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Others may read beside it.
    Read,
    /// Nothing else touches it meanwhile.
    Write,
}

/// Which resources one call touches: by this, calls of one step run side by side or one after another
/// (requirements B23 to B26).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceProfile {
    /// Conflicts with every other call.
    #[default]
    Serial,
    /// Touches just these keys; an empty list conflicts with nothing but serial calls. A key that ends
    /// with `/` stands for the thing so named and all beneath it: `file:/src/` has `file:/src/a.rs` and
    /// `file:/src` in common with others, not `file:/srcs`.
    Keys(Vec<(String, Access)>),
}

impl ResourceProfile {
    /// One key.
    pub fn key(key: impl Into<String>, access: Access) -> Self {
        Self::Keys(vec![(key.into(), access)])
    }

    /// Whether two calls may not be out together: one of them serial, or one key in common (equal, or one
    /// beneath the other) with at least one write.
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

/// A tool may take so long to put away what a call left behind.
pub const CLEANUP_MAX: Duration = Duration::from_secs(5);

/// A tool. Each call goes through three phases: [`prepare`](Self::prepare), [`call`](Self::call),
/// [`cleanup`](Self::cleanup).
///
/// A call is cancelled by dropping its future. A tool whose future does work in the background must stop
/// that work when it is dropped, or say in its effect class what it may still do.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// What core knows of it. The same for as long as the tool lives.
    fn spec(&self) -> &ToolSpec;

    /// Which resources a call with these arguments touches. Called only with arguments that fit the
    /// schema.
    fn profile(&self, arguments: &Value) -> ResourceProfile;

    /// Why a person must approve a call with these arguments; none, by default: the policy alone decides. Called only
    /// with arguments that fit the schema, wherever the [gate](crate::words::gate) is asked: of the two the stricter counts. Must
    /// have no effect, and answer the same each time: it is asked again after an edit, a rewriting and a crash. A panic
    /// denies the call, and so does a reason where a client runs the tool.
    fn needs_approval(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// Makes ready what one call needs; has no effect that outlives [`cleanup`](Self::cleanup). Called before each
    /// send of the call, and part of the time that it may take. A panic, a time-out or a stop here says that the call
    /// did not act, and [`call`](Self::call) is not reached. Nothing by default.
    ///
    /// # Errors
    /// It cannot be made ready. [`ToolError::Failed`]: the model is told why, and that nothing was done. The others mean
    /// what they mean of a call: [`ToolError::NotRun`] may be tried again.
    async fn prepare(&self, _call: &ToolCall) -> Result<(), ToolError> {
        Ok(())
    }

    /// Puts away what [`prepare`](Self::prepare) and [`call`](Self::call) left behind, whatever became of them: also
    /// where they failed, panicked, took too long or were stopped. The result of the call waits for it, for
    /// [`CLEANUP_MAX`] at most, and stands whatever becomes of it. A run that dies cleans nothing up. Nothing by
    /// default.
    ///
    /// # Errors
    /// Something could not be put away: that is logged.
    async fn cleanup(&self, _call: &ToolCall) -> Result<(), ToolError> {
        Ok(())
    }

    /// Performs one call. Never called for a client tool.
    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError>;

    /// Says, after the future of `call` was dropped, whether the call acted. What is not known for sure is
    /// [`Stopped::Unknown`]: the call then ends in doubt.
    async fn stopped(&self, _call: &CallId) -> Stopped {
        Stopped::Unknown
    }
}

/// What a tool knows of a call that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stopped {
    /// It did not act, and will not.
    DidNotAct,
    /// It may have acted.
    Unknown,
}

/// One call, as a tool gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Which session.
    pub session: SessionKey,
    /// Which call.
    pub id: CallId,
    /// The same for every send of this call, and for no other call ever (INV-14).
    pub idempotency_key: String,
    /// The arguments; they fit the tool's schema.
    pub arguments: Value,
    /// How long the call may take. None: for ever.
    pub timeout: Option<Duration>,
    /// The [custom state](crate::words::custom) of the session, as its step began; the same for every send of this call.
    pub state: CustomState,
}

/// What a call came back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReturn {
    /// A result, at once.
    Output(ToolOutput),
    /// A result once `delay` has passed. The wait is durable: no task runs meanwhile.
    After {
        /// How long from now.
        delay: Duration,
        /// What the model is told then.
        output: ToolOutput,
    },
}

/// What the model is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text.
    pub content: String,
    /// Whether the turn should end after this step (`tool_stop`).
    pub stop: bool,
    /// What changes of the [custom state](crate::words::custom) of the session once the step is over, in this order. If it cannot
    /// be taken, nothing of it is, and the call is an error that says why.
    pub changes: Vec<StateChange>,
    /// What the model is shown beside the text. A result that is given later has none.
    pub images: Images,
}

impl ToolOutput {
    /// A text.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), stop: false, changes: Vec::new(), images: Images::none() }
    }

    /// The same, and the model is shown these pictures with it.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        Self { images, ..self }
    }

    /// The same, with a word in place of its pictures.
    pub(crate) fn told_later(mut self) -> Self {
        let many = std::mem::take(&mut self.images).iter().count();
        if many > 0 {
            // Writing to a String does not fail.
            let _ = write!(self.content, "\n[not shown: {many} pictures; what is given later has none]");
        }
        self
    }

    /// The same, and the value under `key` of the custom state is `value` from the next step on.
    #[must_use]
    pub fn set(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.change(StateChange::Set { key: key.into(), value: value.into() })
    }

    /// The same, and the list under `key` of the custom state ends with `value`; where there is no such key, it is a list
    /// of this alone.
    #[must_use]
    pub fn append(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.change(StateChange::Append { key: key.into(), value: value.into() })
    }

    /// The same, and `key` is no part of the custom state any more.
    #[must_use]
    pub fn delete(self, key: impl Into<String>) -> Self {
        self.change(StateChange::Delete { key: key.into() })
    }

    fn change(mut self, change: StateChange) -> Self {
        self.changes.push(change);
        self
    }

    /// A value, as JSON.
    ///
    /// # Errors
    /// It cannot be written so: a map whose keys are no strings, say. The tool has acted all the same.
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

/// A call that gave no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The tool ran and says why it could not do what was asked. The model is told; it is an observation.
    #[error("{0}")]
    Failed(String),
    /// The tool did not act: nothing was sent, nothing was changed.
    #[error("not run: {0}")]
    NotRun(String),
    /// The same, and it will pass: the call is sent again after `wait`, or as the agent says if there is none
    /// (requirement C52).
    #[error("not run yet: {detail}")]
    Transient {
        /// Why.
        detail: String,
        /// How long it is to be left alone; at most a day.
        wait: Option<Duration>,
    },
    /// It is not known whether it acted: connection lost, time-out, panic.
    #[error("lost sight of it: {0}")]
    Lost(String),
}

impl ToolError {
    /// It could not do what was asked, for this reason: the model is told.
    pub fn failed(why: impl Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// It did not act: nothing was sent, nothing was changed.
    pub fn not_run(why: impl Display) -> Self {
        Self::NotRun(why.to_string())
    }

    /// It did not act, and that will pass: the call is sent again after `wait`, or as the agent says if there is none.
    pub fn transient(why: impl Display, wait: Option<Duration>) -> Self {
        Self::Transient { detail: why.to_string(), wait }
    }

    /// Nobody knows whether it acted.
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
