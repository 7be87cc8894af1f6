//! The hooks of an agent. They are called in order. Each has its own time limit, and its own rule for a failure.
//!
//! The settings of a hook are read once, when the agent is built. From then on, its code runs only in tasks
//! of its own.

mod model;
mod moves;
mod tool;
mod turn;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::hook::{Hook, HookError, HookPoint, OnFailure};
use holdover_core::ids::ToolName;
use tokio::time::{Instant, timeout};

pub(crate) use moves::Watcher;

use crate::error::AgentError;
use crate::guard::guarded;

/// The hooks of an agent, in the order in which they are asked.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Arc<[Hooked]>);

/// A hook with its settings.
#[derive(Clone)]
pub(crate) struct Hooked {
    pub(crate) hook: Arc<dyn Hook>,
    pub(crate) name: String,
    priority: i32,
    timeout: Duration,
    points: BTreeSet<HookPoint>,
    closed: BTreeSet<HookPoint>,
    tools: BTreeSet<ToolName>,
}

/// The failure of a hook at a point where a failure stops what follows.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    /// The name of the hook and the kind of failure, in the engine's words.
    pub(crate) what: String,
    /// The hook's own error text.
    pub(crate) detail: Option<String>,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.detail {
            Some(detail) => write!(f, "{}: {detail}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl Hooks {
    /// Sorts the hooks of `agent`, which has these tools, by priority and name. Fails if two hooks have the same
    /// name, or if the time limit of a hook is zero.
    pub(crate) fn new(
        agent: &str,
        hooks: Vec<Arc<dyn Hook>>,
        tools: &[ToolName],
    ) -> Result<Self, AgentError> {
        let mut hooked: Vec<Hooked> = hooks.into_iter().map(|hook| Hooked::of(hook, tools)).collect();
        hooked.sort_by(|one, other| (one.priority, &one.name).cmp(&(other.priority, &other.name)));
        let mut names = BTreeSet::new();
        for hook in &hooked {
            if !names.insert(&hook.name) {
                let (agent, hook) = (agent.to_owned(), hook.name.clone());
                return Err(AgentError::DuplicateHook { agent, hook });
            }
            if hook.timeout.is_zero() {
                let field = format!("hook {}: timeout", hook.name);
                let why = "is zero".to_owned();
                return Err(AgentError::Bound { agent: agent.to_owned(), field, why });
            }
        }
        Ok(Self(hooked.into()))
    }

    /// Returns the points at which at least one hook is asked.
    pub(crate) fn points(&self) -> BTreeSet<HookPoint> {
        self.0.iter().flat_map(|hook| hook.points.iter().copied()).collect()
    }

    /// Returns the name of a hook whose failure would withhold results of this tool.
    pub(crate) fn withholds<'a>(&'a self, tool: &'a ToolName) -> Option<&'a str> {
        self.of_tool(HookPoint::AfterTool, tool)
            .find(|hook| hook.is_closed(HookPoint::AfterTool))
            .map(|hook| hook.name.as_str())
    }

    /// Returns true if the failure of a hook could refuse a whole answer of the model.
    pub(crate) fn withholds_answers(&self) -> bool {
        self.at(HookPoint::AfterModel).any(|hook| hook.is_closed(HookPoint::AfterModel))
    }

    fn at(&self, point: HookPoint) -> impl Iterator<Item = &Hooked> {
        self.0.iter().filter(move |hook| hook.points.contains(&point))
    }

    pub(crate) fn of_tool<'a>(
        &'a self,
        point: HookPoint,
        tool: &'a ToolName,
    ) -> impl Iterator<Item = &'a Hooked> {
        self.at(point).filter(|hook| hook.tools.contains(tool))
    }
}

impl Hooked {
    fn of(hook: Arc<dyn Hook>, tools: &[ToolName]) -> Self {
        let points: BTreeSet<HookPoint> = hook.points().iter().copied().collect();
        let is_closed = |point: &HookPoint| hook.on_failure(*point) == OnFailure::Closed;
        Self {
            name: hook.name().to_owned(),
            priority: hook.priority(),
            timeout: hook.timeout(),
            closed: points.iter().copied().filter(is_closed).collect(),
            tools: tools.iter().filter(|tool| hook.concerns(tool)).cloned().collect(),
            points,
            hook,
        }
    }

    fn is_closed(&self, point: HookPoint) -> bool {
        self.closed.contains(&point)
    }

    /// Calls the hook in a task of its own, within its time limit. Returns `None` if the hook failed and the
    /// failure is ignored at this point.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        point: HookPoint,
        asked: impl Future<Output = Result<T, HookError>> + Send + 'static,
    ) -> Result<Option<T>, Failed> {
        let began = Instant::now();
        let failed = |how: String, detail| Failed { what: format!("the hook {} {how}", self.name), detail };
        let silent = || failed(format!("was silent for {} ms", self.timeout.as_millis()), None);
        let failed = match timeout(self.timeout, guarded(asked)).await {
            // A hook that blocked its thread answers late, and a late answer does not count.
            Ok(_) if began.elapsed() > self.timeout => silent(),
            Ok(Ok(Ok(said))) => return Ok(Some(said)),
            Ok(Ok(Err(error))) => failed(String::from("failed"), Some(error.0)),
            Ok(Err(panicked)) => failed(String::from("panicked"), Some(panicked.0)),
            Err(_) => silent(),
        };
        self.let_pass(point, failed).map(|()| None)
    }

    /// Logs a failure. Returns it as an error only if a failure at this point stops what follows.
    pub(crate) fn let_pass(&self, point: HookPoint, failed: Failed) -> Result<(), Failed> {
        let closed = self.is_closed(point);
        tracing::warn!(point = point.as_str(), closed, %failed, "a hook failed");
        if closed { Err(failed) } else { Ok(()) }
    }
}
