//! Children: flows and agents that a flow runs in sessions of their own.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use holdover_core::agent::CHILDREN_MAX;
use holdover_core::children::{ChildOutcome, Tasks};
use holdover_core::tool::Bound;
use holdover_runtime_local::{AgentBuilder, SubAgent};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Call, Kind, value_of_child};
use crate::cx::Cx;
use crate::error::StepError;

/// A flow that another flow runs as its child: its name there, and the types of its input and its value. A flow is
/// [bound](crate::FlowBuilder::child) to it when the parent is built.
///
/// A child is a session of its own, with its own transcript. While children work, nothing of the parent runs. Once an hour, a
/// run of the parent looks whether they still exist. Children end with their parent: a stop, an abort or a time limit reaches
/// them.
///
/// ```
/// use holdover_flow::Child;
///
/// const SHIP: Child<u32, String> = Child::new("ship");
/// ```
pub struct Child<I, O> {
    pub(crate) name: &'static str,
    timeout: Option<Duration>,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> Child<I, O> {
    /// Creates a child with this name, which must be a name of a tool.
    pub const fn new(name: &'static str) -> Self {
        Self { name, timeout: None, types: PhantomData }
    }

    /// Sets the time after which a call stops its children and fails. Without it, the call waits for ever.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns the name of the child.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the child as a sub-agent.
    pub(crate) fn sub_agent(&self, agent: AgentBuilder) -> SubAgent {
        SubAgent::of(self.name, format!("The flow {}", self.name), agent)
            .fan_out_max(CHILDREN_MAX)
            .timeout(self.timeout.map_or(Bound::Never, Bound::of))
    }
}

/// Children that work side by side. Await it to wait for all of them: the value has an entry for each child, in the order of
/// the inputs. All values together must fit into one result (`Limits::result_bytes_max`, 1 MiB). If they do not, the children
/// with the largest values count as failed.
#[must_use = "children begin when this is awaited"]
pub struct Each<O> {
    cx: Cx,
    name: String,
    tasks: Result<Tasks, serde_json::Error>,
    are_texts: bool,
    rings: Option<Call<()>>,
    values: PhantomData<fn() -> O>,
}

impl<O> Each<O> {
    /// Returns children that answer with texts.
    pub(crate) fn texts(cx: &Cx, name: &str, tasks: Vec<String>) -> Self {
        Self::of(cx, name, Ok(tasks), true)
    }

    /// Returns children that answer with values, as JSON.
    pub(crate) fn values<I: Serialize>(cx: &Cx, name: &str, inputs: &[I]) -> Self {
        Self::of(cx, name, inputs.iter().map(serde_json::to_string).collect(), false)
    }

    fn of(cx: &Cx, name: &str, tasks: Result<Vec<String>, serde_json::Error>, are_texts: bool) -> Self {
        let tasks = tasks.map(|tasks| Tasks { tasks, ..Tasks::default() });
        Self { cx: cx.clone(), name: name.to_owned(), tasks, are_texts, rings: None, values: PhantomData }
    }

    /// Limits the time of all of them together. Then the children are stopped, and the call ends with
    /// [`StepError::TimedOut`]. The time begins now, and is durable.
    pub fn within(self, time: Duration) -> Self {
        let rings = self.cx.sleep(time);
        Self { rings: Some(rings), ..self }
    }

    /// Waits for the outcomes of all children.
    async fn outcomes(&mut self, fail_fast: bool) -> Result<Vec<ChildOutcome>, StepError> {
        let call = match &self.tasks {
            Ok(tasks) if tasks.tasks.is_empty() => return Ok(Vec::new()),
            Ok(tasks) => {
                let tasks = Tasks { fail_fast, ..tasks.clone() };
                Call::new(&self.cx, &self.name, &tasks, Kind::Children)
            }
            Err(error) => Call::broken(&self.cx, &self.name, error),
        };
        match self.rings.take() {
            Some(rings) => call.until(rings).await,
            None => call.await,
        }
    }
}

impl<O: DeserializeOwned + Send + 'static> Each<O> {
    /// Waits for all values, and fails with the first child that fails. The others are then stopped.
    ///
    /// # Errors
    /// A child failed, named by its number from 1, or the children could not be begun.
    pub async fn all_or_error(mut self) -> Result<Vec<O>, StepError> {
        let outcomes = self.outcomes(true).await?;
        // Children that were stopped because another one failed come after the reason.
        let failed = outcomes.iter().find(|outcome| !outcome.ok && outcome.session.is_some());
        if let Some(failed) = failed.or_else(|| outcomes.iter().find(|outcome| !outcome.ok)) {
            return value_of_child(&self.numbered(failed.index), self.are_texts, failed.clone());
        }
        outcomes.into_iter().map(|outcome| self.value(outcome)).collect()
    }

    fn value(&self, outcome: ChildOutcome) -> Result<O, StepError> {
        value_of_child(&self.numbered(outcome.index), self.are_texts, outcome)
    }

    fn numbered(&self, index: u32) -> String {
        format!("{}[{}]", self.name, u64::from(index) + 1)
    }
}

impl<O: DeserializeOwned + Send + 'static> IntoFuture for Each<O> {
    type Output = Result<Vec<Result<O, StepError>>, StepError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            let outcomes = self.outcomes(false).await?;
            Ok(outcomes.into_iter().map(|outcome| self.value(outcome)).collect())
        })
    }
}
