//! Tests of flows by their authors: on a store in memory, in virtual time, with people and deaths as the test says.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::InvalidId;
use holdover_runtime_local::RuntimeError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::flow::{FlowBuilder, FlowError};
use crate::step::{Step, StepFn};
use people::{Deed, Rule};
pub use report::{Ended, Report, StepEnd};
use world::Death;

mod people;
mod report;
mod world;

/// The longest time for which a flow goes on in a test, unless the test [says otherwise](Test::within).
const WITHIN: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// A test of a flow. Each run has a store of its own in memory and a clock of its own: a flow that waits for two days ends
/// at once. Nothing is started besides, so a test needs no async runtime.
///
/// Functions of steps should not wait for anything real: while they do, the clock may run on.
///
/// ```
/// use std::time::Duration;
///
/// use holdover_core::tool::ToolError;
/// use holdover_flow::{Cx, Flow, FlowBuilder, Step, Stop};
/// use holdover_flow::test::Test;
///
/// const CHARGE: Step<u32, String> = Step::idempotent("charge");
/// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
///
/// fn order() -> FlowBuilder<u32, String> {
///     Flow::builder("order", |cx: Cx, order: u32| async move {
///         cx.approve("charge", &order).within(2 * DAY).await?;
///         Ok::<_, Stop>(cx.step(&CHARGE, &order).await?)
///     })
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fake = |order: u32| async move { Ok::<_, ToolError>(format!("paid {order}")) };
/// let test = Test::new(order).on(&CHARGE, fake).approve("charge", "ann").after(DAY);
/// let report = test.run(&7)?;
/// assert_eq!(report.value()?, "paid 7");
/// assert_eq!(report.sent("charge"), 1);
/// assert!(report.elapsed() >= DAY);
///
/// // The same, with a process that dies at each write, before and after it.
/// test.crash_at_every_write(&7, |report| assert_eq!(report.value().unwrap(), "paid 7"))?;
///
/// // Nobody decides.
/// let fake = |order: u32| async move { Ok::<_, ToolError>(order.to_string()) };
/// let late = Test::new(order).on(&CHARGE, fake).run(&7)?;
/// assert_eq!(late.failure().as_deref(), Some("charge timed out"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Test<I, O> {
    flow: Box<dyn Fn() -> FlowBuilder<I, O>>,
    changes: Vec<Box<Change<I, O>>>,
    rules: Vec<Rule>,
    within: Duration,
}

/// A change of the flow for a test.
type Change<I, O> = dyn Fn(FlowBuilder<I, O>) -> FlowBuilder<I, O>;

/// The reason why a test could not be carried out. It is no end of the flow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// The flow cannot be built.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The input of the flow, or the body of a signal, cannot be written as JSON, or the value cannot be read.
    #[error("{what}: {source}")]
    Json {
        /// The input, the signal or the value.
        what: String,
        /// The fault.
        source: serde_json::Error,
    },
    /// The name of a signal is invalid.
    #[error("signal {name:?}: {source}")]
    Signal {
        /// The name.
        name: String,
        /// The fault.
        source: InvalidId,
    },
    /// The runtime refused what the test told it to do, for example a decision of somebody who may not decide.
    #[error("{what}: {source}")]
    Refused {
        /// What the test told it.
        what: String,
        /// The refusal.
        source: Box<RuntimeError>,
    },
    /// The flow returned no value.
    #[error("the flow returned no value: {0}")]
    NoValue(String),
    /// The thread of the test could not be started, or it panicked.
    #[error("the world of the test: {0}")]
    World(String),
}

impl TestError {
    fn refused(what: &str, source: RuntimeError) -> Self {
        Self::Refused { what: what.to_owned(), source: Box::new(source) }
    }
}

impl<I, O> Test<I, O>
where
    I: Serialize + DeserializeOwned + Send + 'static,
    O: Serialize + DeserializeOwned + Send + 'static,
{
    /// Creates a test of a flow. `flow` makes it anew for each run, with new resources.
    pub fn new(flow: impl Fn() -> FlowBuilder<I, O> + 'static) -> Self {
        Self { flow: Box::new(flow), changes: Vec::new(), rules: Vec::new(), within: WITHIN }
    }

    /// Binds a function to a step, in place of the one that the flow has. A transactional step may get a function without a
    /// transaction, because the store of the test has none.
    pub fn on<A, R, M: 'static, F>(self, step: &Step<A, R>, function: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
        F: StepFn<A, R, M> + Clone,
    {
        let mut step = *step;
        step.in_transaction = F::IN_TRANSACTION;
        self.change(move |flow| flow.on(&step, function.clone()))
    }

    /// Changes the flow otherwise: gives it tools, resources, a gate, or other flows as children.
    pub fn change(mut self, change: impl Fn(FlowBuilder<I, O>) -> FlowBuilder<I, O> + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    /// Lets a person approve each request of this name: an approval of the flow, or a step or tool that needs one.
    pub fn approve(self, what: impl Into<String>, by: impl Into<String>) -> Self {
        self.rule(Deed::Approve { what: what.into(), by: by.into() })
    }

    /// Lets a person refuse each request of this name, with a reason.
    pub fn refuse(self, what: impl Into<String>, by: impl Into<String>, reason: impl Into<String>) -> Self {
        self.rule(Deed::Refuse { what: what.into(), by: by.into(), reason: reason.into() })
    }

    /// Answers each question with this text.
    pub fn answer(self, question: impl Into<String>, text: impl Into<String>) -> Self {
        self.rule(Deed::Answer { question: question.into(), text: text.into() })
    }

    /// Sends the flow a signal.
    ///
    /// # Errors
    /// The name is no name of a signal, or the body cannot be written as JSON.
    pub fn signal(self, name: &str, body: &impl Serialize) -> Result<Self, TestError> {
        let signal = holdover_runtime_local::Signal::new(name)
            .map_err(|source| TestError::Signal { name: name.to_owned(), source })?
            .with(body)
            .map_err(|source| TestError::Json { what: format!("signal {name:?}"), source })?;
        Ok(self.rule(Deed::Signal(signal)))
    }

    /// Tells the flow to stop.
    pub fn stop(self, reason: impl Into<String>) -> Self {
        self.rule(Deed::Stop(reason.into()))
    }

    /// Ends the flow at once: nothing is undone.
    pub fn abort(self, reason: impl Into<String>) -> Self {
        self.rule(Deed::Abort(reason.into()))
    }

    /// Lets the last thing that was added happen later: an answer after the question was asked, everything else after the flow
    /// began. Without it, it happens at once.
    pub fn after(mut self, time: Duration) -> Self {
        if let Some(rule) = self.rules.last_mut() {
            rule.after = time;
        }
        self
    }

    /// Sets the longest time for which the flow goes on. The default is 400 days. Then it counts as [waiting](Ended::Waits).
    pub fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    fn rule(mut self, deed: Deed) -> Self {
        self.rules.push(Rule { deed, after: Duration::ZERO });
        self
    }

    /// Runs the flow with this input until it has ended, or until nothing that the test says lets it go on.
    ///
    /// # Errors
    /// The flow cannot be built, or the runtime refused what the test told it to do. That a flow fails is no error.
    pub fn run(&self, input: &I) -> Result<Report<O>, TestError> {
        self.run_with(input, None)
    }

    /// Runs the flow again and again. In the first run its process dies at its first write to the store, in the second one at
    /// its second write, and so on, until a run has no such write; then all of them again with deaths right after the
    /// writes. Another process goes on each time. `check` looks at each report.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn crash_at_every_write(
        &self,
        input: &I,
        mut check: impl FnMut(&Report<O>),
    ) -> Result<(), TestError> {
        for after in [false, true] {
            for at in 1.. {
                let report = self.run_with(input, Some(Death { at, after }))?;
                check(&report);
                if report.died().is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn run_with(&self, input: &I, death: Option<Death>) -> Result<Report<O>, TestError> {
        let flow = self.changes.iter().fold((self.flow)(), |flow, change| change(flow)).build()?;
        let input = serde_json::to_string(input)
            .map_err(|source| TestError::Json { what: "the input".to_owned(), source })?;
        let agent = Arc::clone(flow.agent());
        let world = world::World { agent, input, rules: self.rules.clone(), within: self.within, death };
        world.play().map(Report::new)
    }
}
