//! Hooks outside of this process: programs and HTTP servers. Each call is one JSON request and one JSON answer.
//!
//! [`OutsideHook`] knows the form of both. A [`Carrier`] only carries them, so that every way speaks the same format.

mod answer;
mod asked;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

pub(crate) use answer::Answer;
pub(crate) use asked::request;

use self::asked::{
    AfterModelAsked, AfterStepAsked, AfterToolAsked, AgentEndAsked, AgentStartAsked, BeforeModelAsked,
    BeforeSubAgentAsked, BeforeToolAsked, TransitionAsked, TransitionsMissedAsked,
};
use super::{
    AfterStep, AfterTool, BeforeModel, BeforeSubAgent, BeforeTool, HOOK_TIMEOUT, Hook, HookError, HookPoint,
    ModelAsked, Moved, MovesMissed, OnFailure, StepEnded, SubAgentAsked, ToolEnded, TurnBegins, TurnEnds,
};
use crate::words::gate::{ApprovalRule, GateQuestion, RuleAction};
use crate::words::ids::ToolName;
use crate::words::model::{ModelAnswer, ModelRequest};

/// The version of the format of requests and answers. Within one version, requests only ever get more fields.
pub const OUTSIDE_VERSION: u32 = 1;

/// The maximum length of an answer, in bytes. A longer answer is a failure. It has room for a result with pictures, and
/// for a long request to a model.
pub const OUTSIDE_ANSWER_BYTES_MAX: usize = 16 << 20;

/// The maximum length of a hook's name, in bytes.
pub const HOOK_NAME_BYTES_MAX: usize = 64;

/// The point in requests about missed transitions. It is not a [`HookPoint`]: hooks at [`HookPoint::Transition`]
/// receive these requests.
const TRANSITIONS_MISSED: &str = "transitions_missed";

/// The time by which the engine's limit is longer than the carrier's, so that the carrier can return an error of its
/// own. That error says more than that the time is over.
const MARGIN: Duration = Duration::from_secs(1);

/// Carries requests to code outside of this process, such as a program or a server, and returns the answers.
#[async_trait]
pub trait Carrier: Send + Sync + 'static {
    /// Carries one request, which is a JSON object, and returns the whole answer. The answer is empty if the code
    /// says nothing, and has at most [`OUTSIDE_ANSWER_BYTES_MAX`] bytes. The method must return before `limit` is over.
    /// It must not send a request again. It is cancelled by dropping its future, which must also stop the work that it
    /// started in this machine.
    ///
    /// # Errors
    /// Fails with the reason, in one line, if there is no whole answer in time or if the answer is too long.
    async fn carry(&self, request: String, limit: Duration) -> Result<Vec<u8>, HookError>;
}

/// The settings of a hook outside of this process.
///
/// ```
/// use std::time::Duration;
///
/// use holdover_core::hook::{HookPoint, HookSettings, OnFailure};
///
/// let settings = HookSettings::new("redact", [HookPoint::AfterTool])
///     .tools(["read_*"])
///     .timeout(Duration::from_secs(2))
///     .on_failure(OnFailure::Closed);
/// assert_eq!(settings.check(), Ok(()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookSettings {
    /// The name of the hook, which must be unique among the hooks of an agent: 1 to 64 letters, digits, `_` and `-`.
    pub name: String,
    /// The points at which the hook is called.
    pub points: Vec<HookPoint>,
    /// The patterns for the names of the tools about whose calls the hook is called. `*` stands for any number of
    /// characters. Empty means all tools.
    pub tools: Vec<String>,
    /// The priority. Hooks with smaller numbers are called first.
    pub priority: i32,
    /// The time limit of one call of the hook.
    pub timeout: Duration,
    /// The consequence of a failure, at the points where it is not the [default](HookPoint::on_failure).
    pub on_failure: BTreeMap<HookPoint, OnFailure>,
}

/// The fault of a setting of a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("hook {hook:?}: {setting}: {why}")]
#[non_exhaustive]
pub struct InvalidHook {
    /// The name of the hook.
    pub hook: String,
    /// The setting.
    pub setting: &'static str,
    /// The fault.
    pub why: String,
}

impl HookSettings {
    /// Returns the settings of a hook that is called at these points, about all tools.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = HookPoint>) -> Self {
        Self {
            name: name.into(),
            points: points.into_iter().collect(),
            tools: Vec::new(),
            priority: 0,
            timeout: HOOK_TIMEOUT,
            on_failure: BTreeMap::new(),
        }
    }

    /// Sets the patterns for the names of the tools about whose calls the hook is called.
    #[must_use]
    pub fn tools(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the priority.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the time limit of one call of the hook.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the consequence of a failure at all points of the hook.
    #[must_use]
    pub fn on_failure(mut self, consequence: OnFailure) -> Self {
        self.on_failure = self.points.iter().map(|point| (*point, consequence)).collect();
        self
    }

    /// Sets the consequence of a failure at one point.
    #[must_use]
    pub fn on_failure_at(mut self, point: HookPoint, consequence: OnFailure) -> Self {
        self.on_failure.insert(point, consequence);
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Fails with the first fault.
    pub fn check(&self) -> Result<(), InvalidHook> {
        let wrong =
            |setting, why: &str| Err(InvalidHook { hook: self.name.clone(), setting, why: why.to_owned() });
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if self.name.is_empty() || self.name.len() > HOOK_NAME_BYTES_MAX || !self.name.chars().all(fits) {
            return wrong("name", "expected 1 to 64 letters, digits, _ and -");
        }
        if self.points.is_empty() {
            return wrong("points", "is empty");
        }
        let points: BTreeSet<HookPoint> = self.points.iter().copied().collect();
        if points.len() < self.points.len() {
            return wrong("points", "a point is listed twice");
        }
        let about_tools = [HookPoint::BeforeTool, HookPoint::BeforeSubAgent, HookPoint::AfterTool];
        if !self.tools.is_empty() && !about_tools.iter().any(|point| points.contains(point)) {
            return wrong("tools", "none of its points is about a tool");
        }
        if self.timeout.is_zero() {
            return wrong("timeout_ms", "is zero");
        }
        if let Some(point) = self.on_failure.keys().find(|point| !points.contains(point)) {
            return wrong("on_failure", &format!("{} is none of its points", point.as_str()));
        }
        Ok(())
    }

    /// Returns true if the hook is called about calls of this tool.
    pub fn is_about(&self, tool: &str) -> bool {
        let fits = |pattern: &String| ApprovalRule::new(pattern, RuleAction::Allow).is_about(tool);
        self.tools.is_empty() || self.tools.iter().any(fits)
    }
}

/// A hook outside of this process. It is asked at its points with one JSON request, and its JSON answer is read
/// strictly: an unknown field, a wrong form, or an answer that is too long is a failure of the hook. An empty answer
/// changes nothing. The page on hooks in the documentation describes the format.
pub struct OutsideHook<C> {
    settings: HookSettings,
    carrier: C,
}

impl<C: Carrier> OutsideHook<C> {
    /// Creates a hook whose requests this carrier carries.
    ///
    /// # Errors
    /// Fails if a setting is not valid.
    pub fn new(settings: HookSettings, carrier: C) -> Result<Self, InvalidHook> {
        settings.check()?;
        Ok(Self { settings, carrier })
    }

    /// Carries a request about `point`. Returns `None` for an empty answer.
    async fn ask(&self, point: HookPoint, told: impl serde::Serialize) -> Result<Option<Answer>, HookError> {
        self.send(point.as_str(), told).await
    }

    /// Carries a request with this name of a point. Returns `None` for an empty answer.
    async fn send(
        &self,
        point: &'static str,
        told: impl serde::Serialize,
    ) -> Result<Option<Answer>, HookError> {
        let request = request(point, Some(&self.settings.name), told)?;
        Answer::read(&self.carrier.carry(request, self.settings.timeout).await?)
    }

    /// Carries a request about a point where nothing can be changed.
    async fn tell(&self, point: HookPoint, told: impl serde::Serialize) -> Result<(), HookError> {
        let answer = self.ask(point, told).await?;
        answer.map_or(Ok(()), Answer::nothing)
    }
}

impl<C> fmt::Debug for OutsideHook<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsideHook").field("settings", &self.settings).finish_non_exhaustive()
    }
}

#[async_trait]
impl<C: Carrier> Hook for OutsideHook<C> {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn points(&self) -> &[HookPoint] {
        &self.settings.points
    }

    fn priority(&self) -> i32 {
        self.settings.priority
    }

    fn timeout(&self) -> Duration {
        self.settings.timeout.saturating_add(MARGIN)
    }

    fn on_failure(&self, point: HookPoint) -> OnFailure {
        self.settings.on_failure.get(&point).copied().unwrap_or_else(|| point.on_failure())
    }

    fn concerns(&self, tool: &ToolName) -> bool {
        self.settings.is_about(tool.as_str())
    }

    async fn agent_start(&self, turn: &TurnBegins) -> Result<(), HookError> {
        self.tell(HookPoint::AgentStart, AgentStartAsked::of(turn)).await
    }

    async fn before_model(
        &self,
        asked: &ModelAsked,
        request: &ModelRequest,
    ) -> Result<BeforeModel, HookError> {
        let answer = self.ask(HookPoint::BeforeModel, BeforeModelAsked::of(asked, request)).await?;
        answer.map_or(Ok(BeforeModel::Ask), |answer| answer.before_model(request))
    }

    async fn after_model(&self, asked: &ModelAsked, answer: &ModelAnswer) -> Result<(), HookError> {
        self.tell(HookPoint::AfterModel, AfterModelAsked::of(asked, answer)).await
    }

    async fn before_tool(&self, call: &GateQuestion) -> Result<BeforeTool, HookError> {
        let answer = self.ask(HookPoint::BeforeTool, BeforeToolAsked::of(call)?).await?;
        answer.map_or(Ok(BeforeTool::Allow), Answer::before_tool)
    }

    async fn before_sub_agent(&self, asked: &SubAgentAsked) -> Result<BeforeSubAgent, HookError> {
        let answer = self.ask(HookPoint::BeforeSubAgent, BeforeSubAgentAsked::of(asked)).await?;
        answer.map_or(Ok(BeforeSubAgent::Allow), Answer::before_sub_agent)
    }

    async fn after_tool(&self, call: &ToolEnded) -> Result<AfterTool, HookError> {
        let answer = self.ask(HookPoint::AfterTool, AfterToolAsked::of(call)?).await?;
        answer.map_or(Ok(AfterTool::Keep), Answer::after_tool)
    }

    async fn after_step(&self, step: &StepEnded) -> Result<AfterStep, HookError> {
        let answer = self.ask(HookPoint::AfterStep, AfterStepAsked::of(step)).await?;
        answer.map_or(Ok(AfterStep::GoOn), Answer::after_step)
    }

    async fn transition(&self, moved: &Moved) -> Result<(), HookError> {
        self.tell(HookPoint::Transition, TransitionAsked::of(moved)).await
    }

    async fn transitions_missed(&self, missed: &MovesMissed) -> Result<(), HookError> {
        let answer = self.send(TRANSITIONS_MISSED, TransitionsMissedAsked::of(missed)).await?;
        answer.map_or(Ok(()), Answer::nothing)
    }

    async fn agent_end(&self, turn: &TurnEnds) -> Result<(), HookError> {
        self.tell(HookPoint::AgentEnd, AgentEndAsked::of(turn)).await
    }
}

#[cfg(test)]
mod tests;
