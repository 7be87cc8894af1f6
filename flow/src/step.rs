//! Steps: the durable calls of a flow, and the functions that run them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use holdover_core::ids::{CallId, InvalidId, SessionKey, ToolName};
use holdover_core::tool::{
    Bound, CallHandle, EffectClass, ResourceProfile, RunsOn, Stopped, Tool, ToolCall, ToolError, ToolOutput,
    ToolReturn, ToolSpec,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::flow::FlowError;
use crate::transaction::{CommitWith, Output, Returned, TxCx};

/// A step that flows can run: its name, its effect class, and the types of its argument and its value. A function is
/// bound to it when the flow is built.
///
/// ```
/// use holdover_flow::Step;
///
/// const CHARGE: Step<u64, String> = Step::idempotent("charge");
/// ```
pub struct Step<A, R> {
    pub(crate) name: &'static str,
    effect: EffectClass,
    pub(crate) in_transaction: bool,
    dangerous: bool,
    timeout_ms: Option<u64>,
    types: PhantomData<fn(A) -> R>,
}

impl<A, R> Clone for Step<A, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, R> Copy for Step<A, R> {}

impl<A, R> Step<A, R> {
    const fn new(name: &'static str, effect: EffectClass) -> Self {
        Self { name, effect, in_transaction: false, dangerous: false, timeout_ms: None, types: PhantomData }
    }

    /// Creates a step that changes nothing outside. After a crash it runs again.
    pub const fn read_only(name: &'static str) -> Self {
        Self::new(name, EffectClass::ReadOnly)
    }

    /// Creates a step that may be sent again under the same [idempotency key](StepCx::idempotency_key). After a crash it
    /// runs again, with the same key.
    pub const fn idempotent(name: &'static str) -> Self {
        Self::new(name, EffectClass::Idempotent)
    }

    /// Creates a step that is sent at most once. If the process dies while it is out, it is
    /// [in doubt](crate::StepError::InDoubt).
    pub const fn at_most_once(name: &'static str) -> Self {
        Self::new(name, EffectClass::AtMostOnce)
    }

    /// Creates a step that writes tables of the program in the database of the store, exactly once: its function
    /// [begins](TxCx::begin) a transaction, and the write that stores the value of the step commits it. After a crash,
    /// the step runs again, unless its value is stored. If the function fails or panics, if its time is over, or if the
    /// database would refuse the commit, the step fails, and nothing that it wrote in the transaction is left.
    ///
    /// SQLite and Postgres have such transactions. Other effects of the function are not part of the transaction, and
    /// may happen more than once.
    ///
    /// While the transaction is open, the run takes nothing else: other branches of the flow, answers and requests to stop
    /// wait. On SQLite, all other writers of the file wait, too. A transaction must therefore be short. The
    /// [timeout](Self::timeout) of the step includes the wait for the transaction. The store undoes a transaction that is
    /// open for longer than its own limit: on SQLite `operation_timeout`, on Postgres the time that a statement may take,
    /// if the transaction stays idle for so long.
    ///
    /// If it is not known if the transaction was committed, the run ends as if its process had died, and the next
    /// run finds out. The same holds if the store has undone the transaction after the function returned.
    pub const fn transactional(name: &'static str) -> Self {
        let step = Self::new(name, EffectClass::Idempotent);
        Self { in_transaction: true, ..step }
    }

    /// Marks the step as dangerous: by default a person must approve it, and after a crash it is not started.
    #[must_use]
    pub const fn dangerous(mut self) -> Self {
        self.dangerous = true;
        self
    }

    /// Sets the longest time that one attempt may take. Without it, the limit of the flow applies.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms =
            Some(timeout.as_secs().saturating_mul(1000).saturating_add(timeout.subsec_millis() as u64));
        self
    }

    /// Returns the name of the step.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn spec(&self) -> Result<ToolSpec, InvalidId> {
        Ok(ToolSpec {
            name: ToolName::new(self.name)?,
            description: format!("The step {} of a flow", self.name),
            parameters: Value::Object(serde_json::Map::new()),
            effect: self.effect,
            dangerous: self.dangerous,
            runs_on: RunsOn::Server,
            timeout_ms: self.timeout_ms.map(Bound::At),
        })
    }
}

/// The values of a program that its steps share, such as a pool of connections, by their types.
#[derive(Clone, Default)]
pub(crate) struct Resources(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Resources {
    pub(crate) fn add<T: Send + Sync + 'static>(&mut self, resource: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(resource));
    }

    fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>()).cloned().and_then(|resource| resource.downcast().ok())
    }
}

/// What a function gets that runs a step, beside its argument.
#[derive(Clone)]
pub struct StepCx {
    call: Arc<ToolCall>,
    resources: Arc<Resources>,
}

impl StepCx {
    /// Returns the session of the flow.
    pub fn session(&self) -> &SessionKey {
        &self.call.session
    }

    /// Returns the id of the call.
    pub fn id(&self) -> &CallId {
        &self.call.id
    }

    /// Returns the key under which a service can recognise this step: the same for every attempt, and never used for
    /// another step.
    pub fn idempotency_key(&self) -> &str {
        &self.call.idempotency_key
    }

    /// Returns the handle with which the function reports progress, and learns that it should stop.
    pub fn handle(&self) -> &CallHandle {
        &self.call.handle
    }

    /// Returns the resource of this type that the flow was built [with](crate::FlowBuilder::with).
    ///
    /// # Errors
    /// The flow was built without one. The step did not act.
    pub fn get<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, ToolError> {
        let missing = || ToolError::failed(format!("the flow has no {}", std::any::type_name::<T>()));
        self.resources.get().ok_or_else(missing)
    }
}

/// A function that runs a step: `async fn(A) -> Result<R, E>`, or `async fn(StepCx, A) -> Result<R, E>`. A function of a
/// [transactional](Step::transactional) step is an `async fn(TxCx, A) -> Result<CommitWith<R>, E>`. The error is a
/// [`ToolError`], or anything that becomes one.
pub trait StepFn<A, R, M>: Send + Sync + 'static {
    /// True if the function returns its transaction with its value.
    const IN_TRANSACTION: bool = false;

    /// Runs the step.
    fn run(&self, cx: StepCx, argument: A) -> BoxFuture<'static, Result<Returned<R>, ToolError>>;
}

/// Marks functions that get only the argument.
pub struct Plain;
/// Marks functions that also get the context.
pub struct WithCx;
/// Marks functions of transactional steps.
pub struct WithTx;

impl<F, Fut, A, R, E> StepFn<A, R, (Plain, E)> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    E: Into<ToolError>,
{
    fn run(&self, _cx: StepCx, argument: A) -> BoxFuture<'static, Result<Returned<R>, ToolError>> {
        self(argument).map(|end| end.map(Returned::of).map_err(Into::into)).boxed()
    }
}

impl<F, Fut, A, R, E> StepFn<A, R, (WithCx, E)> for F
where
    F: Fn(StepCx, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    E: Into<ToolError>,
{
    fn run(&self, cx: StepCx, argument: A) -> BoxFuture<'static, Result<Returned<R>, ToolError>> {
        self(cx, argument).map(|end| end.map(Returned::of).map_err(Into::into)).boxed()
    }
}

impl<F, Fut, A, R, E> StepFn<A, R, (WithTx, E)> for F
where
    F: Fn(TxCx, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<CommitWith<R>, E>> + Send + 'static,
    E: Into<ToolError>,
{
    const IN_TRANSACTION: bool = true;

    fn run(&self, cx: StepCx, argument: A) -> BoxFuture<'static, Result<Returned<R>, ToolError>> {
        self(TxCx::new(cx), argument).map(|end| end.map(Into::into).map_err(Into::into)).boxed()
    }
}

/// Runs a step with its argument and returns the value, both as JSON.
type Run = dyn Fn(StepCx, Value) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

/// A step with its function, before the flow has all its resources.
pub(crate) struct BoundStep {
    pub(crate) spec: ToolSpec,
    in_transaction: bool,
    run: Box<Run>,
}

impl BoundStep {
    pub(crate) fn new<A, R, M, F: StepFn<A, R, M>>(step: &Step<A, R>, function: F) -> Result<Self, FlowError>
    where
        A: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
    {
        let name = step.name;
        if step.in_transaction != F::IN_TRANSACTION {
            return Err(FlowError::Transaction { step: name.to_owned(), transactional: step.in_transaction });
        }
        let spec = step.spec().map_err(|source| FlowError::StepName { step: name.to_owned(), source })?;
        let run = move |cx: StepCx, argument: Value| match A::deserialize(argument) {
            Ok(argument) => {
                let call = cx.id().clone();
                let end = function.run(cx, argument);
                let output = end.map(move |end| end.and_then(|returned| returned.into_output(&call)));
                output.and_then(Output::leave).boxed()
            }
            Err(error) => {
                let why = ToolError::failed(format!("the argument of {name}: {error}"));
                futures::future::ready(Err(why)).boxed()
            }
        };
        Ok(Self { spec, in_transaction: F::IN_TRANSACTION, run: Box::new(run) })
    }

    pub(crate) fn into_tool(self, resources: Arc<Resources>) -> StepTool {
        StepTool { spec: self.spec, in_transaction: self.in_transaction, run: self.run, resources }
    }
}

/// A step as a tool.
pub(crate) struct StepTool {
    spec: ToolSpec,
    in_transaction: bool,
    run: Box<Run>,
    resources: Arc<Resources>,
}

#[async_trait]
impl Tool for StepTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, mut call: ToolCall) -> Result<ToolReturn, ToolError> {
        let argument = call.arguments.take();
        let cx = StepCx { call: Arc::new(call), resources: Arc::clone(&self.resources) };
        let run = async { (self.run)(cx, argument).await };
        if !self.in_transaction {
            return run.await.map(Into::into);
        }
        // Nothing of a transactional step is left unless it returns a value.
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(Ok(output)) => Ok(output.into()),
            Ok(Err(ToolError::Lost(why))) => Err(ToolError::NotRun(why)),
            Ok(Err(error @ (ToolError::Failed(_) | ToolError::NotRun(_) | ToolError::Transient { .. }))) => {
                Err(error)
            }
            Err(panic) => Err(ToolError::failed(format!("it panicked: {}", words(&*panic)))),
        }
    }

    async fn stopped(&self, _call: &CallId) -> Stopped {
        if self.in_transaction { Stopped::DidNotAct } else { Stopped::Unknown }
    }
}

/// Returns the message of a panic.
fn words(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "no message",
    }
}
