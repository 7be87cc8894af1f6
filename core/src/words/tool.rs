//! The trait that tools implement, and its types.
//!
//! Requirements: A50, B24, B25, B33.

mod bound;
mod handle;
mod returned;
mod transaction;

use std::fmt::Display;
use std::time::Duration;

use async_trait::async_trait;
pub use bound::Bound;
pub use handle::{CallHandle, CallLink, Progress, StopRequest};
pub use returned::{ToolOutput, ToolReturn};
use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use transaction::{CallTransaction, TransactionLink};

use crate::store::{Retry, StoreError};
use crate::words::custom::CustomState;
use crate::words::ids::{CallId, SessionKey, ToolName};

/// The effect class of a tool. It decides what happens to a call that was running when its run died, or whose
/// outcome was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// The call has no outside effect and is run again.
    ReadOnly,
    /// The call is sent again with the same idempotency key and the same bytes (INV-14).
    Idempotent,
    /// The call is not sent again: it ends in doubt, and the model sees that (INV-15). This is the default, because
    /// a model chooses the calls and most services are not idempotent.
    #[default]
    AtMostOnce,
}

impl EffectClass {
    /// Returns the wire name.
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
    /// The engine itself.
    #[default]
    Server,
    /// A client that follows the session: the call is announced, the run exits, and the answer is delivered.
    Client,
    /// Other sessions or programs: children answer the call, or a successor takes over. Also the tool that waits
    /// for background children.
    Child,
}

/// The description of a tool for the core. Stored with the session's definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name by which a model calls the tool.
    pub name: ToolName,
    /// The description of the tool, for the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// The effect class, which decides what happens to a call after a crash.
    #[serde(default)]
    pub effect: EffectClass,
    /// True if the tool is dangerous. On recovery this takes precedence over the effect class: a call that was not
    /// started is cancelled unless it is parked, and a call that was started ends in doubt. A call of a dangerous tool
    /// is never sent again.
    #[serde(default)]
    pub dangerous: bool,
    /// The party that runs the tool.
    #[serde(default)]
    pub runs_on: RunsOn,
    /// The time limit of one call, in milliseconds; for a client tool or a sub-agent, the time limit of the
    /// answers. `None` means the agent's limit. [`Bound::Never`], written `"none"`, means no limit at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Bound>,
}

impl ToolSpec {
    /// Returns true if the schema requires an argument.
    pub(crate) fn needs_input(&self) -> bool {
        self.parameters.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
    }
}

/// A tool whose call could not be run or gave no result, so that its fallback was called in its place.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NotRunTool {
    /// The name of the tool.
    pub tool: String,
    /// The reason why the call gave no result, cut after 1000 characters.
    pub why: String,
}

/// The way in which a call uses a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Other calls may read the resource at the same time.
    Read,
    /// No other call may touch the resource at the same time.
    Write,
}

/// The resources that a call uses. They decide which calls of a step run in parallel and which run one after
/// another (requirements B23 to B26).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceProfile {
    /// The call conflicts with every other call.
    #[default]
    Serial,
    /// The call uses only these keys. An empty list conflicts only with serial calls. A key that ends with
    /// `/` covers that name and everything beneath it: `file:/src/` overlaps with `file:/src/a.rs` and
    /// `file:/src`, but not with `file:/srcs`.
    Keys(Vec<(String, Access)>),
}

impl ResourceProfile {
    /// Returns a profile with one key.
    pub fn key(key: impl Into<String>, access: Access) -> Self {
        Self::Keys(vec![(key.into(), access)])
    }

    /// Returns true if two calls must not run in parallel: one of them is serial, or two of their keys
    /// overlap (equal, or one beneath the other) and at least one of the two is written.
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

/// Returns true if `key` equals `other`, or if `key` ends with `/` and `other` lies beneath it.
fn covers(key: &str, other: &str) -> bool {
    match key.strip_suffix('/') {
        Some(stem) => other.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        None => key == other,
    }
}

/// The maximum time that a tool may take to clean up after a call.
pub const CLEANUP_MAX: Duration = Duration::from_secs(5);

/// A tool that a model can call. Each call has three phases: [`prepare`](Self::prepare),
/// [`call`](Self::call), [`cleanup`](Self::cleanup).
///
/// A call that should stop is asked first: its [handle](ToolCall::handle) says so, with the reason. If the call has not
/// returned when the agent's `stop_grace_ms` is over, or takes longer than its time limit, its future is dropped. A tool
/// that starts background work must stop this work then, or choose an effect class that allows for it.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Returns the spec of the tool. It must not change.
    fn spec(&self) -> &ToolSpec;

    /// Returns the resources that a call uses. Called only with arguments that fit the schema.
    fn profile(&self, arguments: &Value) -> ResourceProfile;

    /// Returns the reason why a person must approve a call with these arguments. `None`, the default, means that
    /// the policy alone decides. Called whenever the [gate](crate::words::gate) is asked or predicts; the stricter
    /// of the two answers counts. The arguments always fit the schema. The method must have no effect and always
    /// give the same answer, because it is called again after an edit, a rewrite and a crash. A panic denies the
    /// call. For a client tool, a reason also denies the call.
    fn needs_approval(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// Prepares one call. It must have no effect that outlives [`cleanup`](Self::cleanup). Called before each
    /// send of the call, within the call's time limit. If it panics, times out or is stopped, the call did
    /// not act, and [`call`](Self::call) is not run. The default does nothing.
    ///
    /// # Errors
    /// For [`ToolError::Failed`], the model sees the reason, and that nothing was done. Other errors mean the
    /// same as for `call`: for example, [`ToolError::NotRun`] may be retried.
    async fn prepare(&self, _call: &ToolCall) -> Result<(), ToolError> {
        Ok(())
    }

    /// Cleans up after [`prepare`](Self::prepare) and [`call`](Self::call), even after a failure, a panic, a
    /// time-out or a stop. The result of the call waits for the cleanup for at most [`CLEANUP_MAX`], and the
    /// cleanup cannot change it. Not called if the run dies. The default does nothing.
    ///
    /// # Errors
    /// An error is logged and has no other effect.
    async fn cleanup(&self, _call: &ToolCall) -> Result<(), ToolError> {
        Ok(())
    }

    /// Runs one call. Never used for tools that a client or children run. May report progress through the call's handle,
    /// and may heed its request to stop.
    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError>;

    /// Returns what the tool knows about a call whose future was dropped. A tool that is not sure returns
    /// [`Stopped::Unknown`], and the call ends in doubt. This is the default.
    async fn stopped(&self, _call: &CallId) -> Stopped {
        Stopped::Unknown
    }
}

/// The knowledge of a tool about a call that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stopped {
    /// The call did not act and will not act.
    DidNotAct,
    /// The call may have acted.
    Unknown,
}

/// One call, as the tool receives it. Two calls are equal if everything except their handles is equal.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The session that the call belongs to.
    pub session: SessionKey,
    /// The id of the call.
    pub id: CallId,
    /// The idempotency key. It is the same for every send of this call and never used for another call
    /// (INV-14).
    pub idempotency_key: String,
    /// The arguments of the call. They fit the tool's schema.
    pub arguments: Value,
    /// The time limit of the call. `None` means no limit.
    pub timeout: Option<Duration>,
    /// The [custom state](crate::words::custom) of the session at the start of the step. It is the same for
    /// every send of this call.
    pub state: CustomState,
    /// The handle with which the tool reports progress and learns that the call should stop.
    pub handle: CallHandle,
}

/// The error of a call that returned no output. A call of a dangerous tool is never sent again, whatever its error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The tool ran but could not do the task. The model sees this text.
    #[error("{0}")]
    Failed(String),
    /// The tool did not act: nothing was sent or changed. The call is sent again, as often as the agent's rules
    /// allow.
    #[error("not run: {0}")]
    NotRun(String),
    /// The tool did not act, for a temporary reason. The call is sent again, as often as the agent's rules allow,
    /// after `wait`, or after the delay in the rules if `wait` is `None` (requirement C52).
    #[error("not run yet: {detail}")]
    Transient {
        /// The reason why the tool did not act.
        detail: String,
        /// The wait before the next try, at most one day.
        wait: Option<Duration>,
    },
    /// It is not known if the tool acted: the connection was lost, or the call timed out or panicked. The call is
    /// sent again only if its [effect class](EffectClass) allows it.
    #[error("lost sight of it: {0}")]
    Lost(String),
}

impl ToolError {
    /// Returns the error of a tool that could not do the task, for this reason. The model sees the reason.
    pub fn failed(why: impl Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// Returns the error of a tool that did not act: nothing was sent or changed.
    pub fn not_run(why: impl Display) -> Self {
        Self::NotRun(why.to_string())
    }

    /// Returns a temporary error of a tool that did not act. The call is sent again after `wait`, or after
    /// the delay in the agent's rules if `wait` is `None`.
    pub fn transient(why: impl Display, wait: Option<Duration>) -> Self {
        Self::Transient { detail: why.to_string(), wait }
    }

    /// Returns the error of a call that may have acted.
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

/// The error of a store in which a tool writes. If the store says that nothing was changed and that the same may succeed
/// later, the call is sent again.
impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        match error.retry {
            Retry::Never => Self::failed(error),
            Retry::Later => Self::transient(error, None),
            Retry::OutcomeUnknown => Self::lost(error),
        }
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

    /// Requirements: B24, B25.
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
