//! Tools made from functions with typed arguments.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use holdover_core::ids::ToolName;
use holdover_core::tool::{
    Bound, EffectClass, ResourceProfile, RunsOn, Tool, ToolCall, ToolError, ToolReturn, ToolSpec,
};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A tool made from an async function. The JSON Schema of the arguments is derived from their type.
///
/// By default, the tool is `at_most_once`, never runs in parallel with another call, and runs in this engine. Put
/// `#[serde(deny_unknown_fields)]` on the arguments, so that a call with an invented field fails and the model learns
/// why.
///
/// ```
/// use holdover_core::ids::ToolName;
/// use holdover_core::tool::{Access, EffectClass, ResourceProfile, Tool, ToolError, ToolOutput};
/// use holdover_tools::FunctionTool;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Stock {
///     /// The article's number.
///     article: u32,
/// }
///
/// async fn stock(asked: Stock) -> Result<ToolOutput, ToolError> {
///     match asked.article {
///         7 => Ok(ToolOutput::text("12 in stock")),
///         other => Err(ToolError::Failed(format!("no article {other}"))),
///     }
/// }
///
/// let name = ToolName::new("stock")?;
/// let tool = FunctionTool::new(name, "Tells how many of an article are in stock", |asked, _call| stock(asked))
///     .effect(EffectClass::ReadOnly)
///     .resources(|asked| ResourceProfile::key(format!("article:{}", asked.article), Access::Read));
///
/// assert_eq!(tool.spec().parameters["required"], serde_json::json!(["article"]));
/// # Ok::<(), holdover_core::ids::InvalidId>(())
/// ```
pub struct FunctionTool<A> {
    spec: ToolSpec,
    profile: Box<dyn Fn(&A) -> ResourceProfile + Send + Sync>,
    asks: Box<Asks<A>>,
    run: Box<Run<A>>,
    arguments: PhantomData<fn(A)>,
}

type Asks<A> = dyn Fn(&A) -> Option<String> + Send + Sync;
type Run<A> = dyn Fn(A, ToolCall) -> BoxFuture<'static, Result<ToolReturn, ToolError>> + Send + Sync;

impl<A: DeserializeOwned + JsonSchema + 'static> FunctionTool<A> {
    /// Creates a tool that runs `run` with the parsed arguments and the call. The call's own `arguments` are null.
    /// Arguments that do not fit the type fail the call with a one-line error.
    pub fn new<F, Fut, R>(name: ToolName, description: impl Into<String>, run: F) -> Self
    where
        F: Fn(A, ToolCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: Into<ToolReturn>,
    {
        Self {
            spec: ToolSpec {
                name,
                description: description.into(),
                parameters: parameters_of::<A>(),
                effect: EffectClass::default(),
                dangerous: false,
                runs_on: RunsOn::Server,
                timeout_ms: None,
            },
            profile: Box::new(|_| ResourceProfile::Serial),
            asks: Box::new(|_| None),
            run: Box::new(move |arguments, call| run(arguments, call).map(|end| end.map(Into::into)).boxed()),
            arguments: PhantomData,
        }
    }

    /// Creates a tool that runs `run` with `state`, the parsed arguments and the call. The state is, for example, a
    /// client, a pool or a folder. Each call gets a clone of it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use holdover_core::ids::ToolName;
    /// use holdover_core::tool::{ToolError, ToolOutput};
    /// use holdover_tools::FunctionTool;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Nothing {}
    ///
    /// let numbers = Arc::new(AtomicU32::new(1));
    /// let ticket = ToolName::new("draw_ticket")?;
    /// let tool = FunctionTool::with(numbers, ticket, "Draws a number", |numbers, _: Nothing, _| async move {
    ///     let number = numbers.fetch_add(1, Ordering::Relaxed);
    ///     Ok::<_, ToolError>(ToolOutput::text(number.to_string()))
    /// });
    /// # let _ = tool;
    /// # Ok::<(), holdover_core::ids::InvalidId>(())
    /// ```
    pub fn with<S, F, Fut, R>(state: S, name: ToolName, description: impl Into<String>, run: F) -> Self
    where
        S: Clone + Send + Sync + 'static,
        F: Fn(S, A, ToolCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: Into<ToolReturn>,
    {
        Self::new(name, description, move |arguments, call| run(state.clone(), arguments, call))
    }

    /// Creates a tool that a client of the session runs.
    pub fn on_client(name: ToolName, description: impl Into<String>) -> Self {
        let mut tool = Self::new(name, description, |_, _| async {
            Err::<ToolReturn, _>(ToolError::NotRun("this tool runs on the client".to_owned()))
        });
        tool.spec.runs_on = RunsOn::Client;
        tool
    }

    /// Sets the effect class, which decides what happens after a crash in the middle of a call.
    #[must_use]
    pub fn effect(mut self, effect: EffectClass) -> Self {
        self.spec.effect = effect;
        self
    }

    /// Marks the tool as dangerous. By default, a person must approve its calls, and recovery after a crash
    /// starts none of them.
    #[must_use]
    pub fn dangerous(mut self) -> Self {
        self.spec.dangerous = true;
        self
    }

    /// Requires a person's approval of calls for which `condition` returns a reason. The person sees the reason. The
    /// agent's gate is asked as well, and the stricter of the two answers counts: the gate may deny the call or require
    /// more approvals. A gate cannot lift the condition, not even in
    /// [`PermissionMode::Full`](holdover_core::gate::PermissionMode::Full). After an edit, the condition is checked
    /// with the new arguments.
    ///
    /// ```
    /// use holdover_core::ids::ToolName;
    /// use holdover_core::tool::{Tool, ToolError, ToolOutput};
    /// use holdover_tools::FunctionTool;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Payment {
    ///     euros: u32,
    /// }
    ///
    /// let pay = FunctionTool::new(ToolName::new("pay")?, "Pays", |payment: Payment, _| async move {
    ///     Ok::<_, ToolError>(ToolOutput::text(format!("paid {} euros", payment.euros)))
    /// });
    /// let pay = pay.ask_if(|payment| (payment.euros > 100).then(|| format!("{} euros are a lot", payment.euros)));
    ///
    /// assert_eq!(pay.needs_approval(&serde_json::json!({ "euros": 100 })), None);
    /// let asks = pay.needs_approval(&serde_json::json!({ "euros": 500 }));
    /// assert_eq!(asks.as_deref(), Some("500 euros are a lot"));
    /// # Ok::<(), holdover_core::ids::InvalidId>(())
    /// ```
    ///
    /// The condition must have no side effect and must return the same result each time. Approval is not possible for a
    /// tool that a client runs: calls for which the condition returns a reason are denied.
    #[must_use]
    pub fn ask_if<R: Into<String>>(
        mut self,
        condition: impl Fn(&A) -> Option<R> + Send + Sync + 'static,
    ) -> Self {
        self.asks = Box::new(move |arguments| condition(arguments).map(Into::into));
        self
    }

    /// Replaces the JSON Schema that is derived from the type of the arguments. Arguments that fit the schema must fit
    /// the type.
    #[must_use]
    pub(crate) fn parameters(mut self, schema: Value) -> Self {
        self.spec.parameters = schema;
        self
    }

    /// Sets the time limit of one call.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.spec.timeout_ms = Some(Bound::At(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)));
        self
    }

    /// Removes the time limit of calls, including the limit that the agent sets. A stop of the turn still stops a call.
    #[must_use]
    pub fn no_timeout(mut self) -> Self {
        self.spec.timeout_ms = Some(Bound::Never);
        self
    }

    /// Sets the function that returns the resources that a call touches, from its arguments. The resources decide which
    /// calls of one step run in parallel.
    #[must_use]
    pub fn resources(mut self, resources: impl Fn(&A) -> ResourceProfile + Send + Sync + 'static) -> Self {
        self.profile = Box::new(resources);
        self
    }
}

#[async_trait]
impl<A: DeserializeOwned + Send + 'static> Tool for FunctionTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, arguments: &Value) -> ResourceProfile {
        match A::deserialize(arguments) {
            Ok(arguments) => (self.profile)(&arguments),
            Err(_) => ResourceProfile::Serial,
        }
    }

    /// Returns `None` for arguments that do not fit the type: the call fails, so no approval is needed.
    fn needs_approval(&self, arguments: &Value) -> Option<String> {
        A::deserialize(arguments).ok().and_then(|arguments| (self.asks)(&arguments))
    }

    async fn call(&self, mut call: ToolCall) -> Result<ToolReturn, ToolError> {
        let arguments = A::deserialize(call.arguments.take())
            .map_err(|error| ToolError::Failed(format!("arguments of {}: {error}", self.spec.name)))?;
        (self.run)(arguments, call).await
    }
}

impl<A> fmt::Debug for FunctionTool<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// Returns the schema of `A` in the form that model providers accept: one object, no references, no title.
fn parameters_of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<A>());
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        // Some providers refuse an object schema without this field.
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use holdover_core::tool::{Access, ToolOutput};

    use super::*;
    use crate::testing::call;

    #[derive(serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Greeting {
        /// Whom.
        name: String,
        #[serde(default)]
        loud: bool,
    }

    fn greet() -> FunctionTool<Greeting> {
        FunctionTool::new(ToolName::new("greet").unwrap(), "Greets", |asked: Greeting, _| async move {
            Ok(ToolOutput::text(if asked.loud { asked.name.to_uppercase() } else { asked.name }))
        })
    }

    #[test]
    fn the_schema_comes_from_the_type() {
        assert_eq!(
            greet().spec().parameters,
            json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "Whom." },
                    "loud": { "type": "boolean", "default": false },
                },
                "required": ["name"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn a_tool_is_careful_unless_it_says_more() {
        let tool = greet();
        assert_eq!(tool.spec().effect, EffectClass::AtMostOnce);
        assert_eq!(Tool::profile(&tool, &json!({ "name": "a" })), ResourceProfile::Serial);
        let tool = tool.resources(|asked| ResourceProfile::key(asked.name.clone(), Access::Read));
        assert_eq!(Tool::profile(&tool, &json!({ "name": "a" })), ResourceProfile::key("a", Access::Read));
        assert_eq!(Tool::profile(&tool, &json!({ "nam": "a" })), ResourceProfile::Serial);
    }

    #[tokio::test]
    async fn arguments_that_do_not_fit_fail_with_one_line() {
        let tool = greet();
        let ToolReturn::Output(output) =
            tool.call(call(json!({ "name": "ada", "loud": true }))).await.unwrap()
        else {
            panic!("an output at once")
        };
        assert_eq!(output.content, "ADA");
        for bad in [json!({}), json!({ "name": 1 }), json!({ "name": "a", "shout": true }), json!(null)] {
            let ToolError::Failed(line) = tool.call(call(bad)).await.unwrap_err() else { panic!("failed") };
            assert!(line.starts_with("arguments of greet: ") && !line.contains('\n'), "{line}");
        }
    }
}
