//! The tools of a sandbox, and its provisioner.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{SessionKey, TurnNumber};
use holdover_core::provision::Provisioner;
use holdover_core::tool::{
    Access, EffectClass, ResourceProfile, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
use serde_json::Value;
use tokio::time::Instant;

use super::{Job, Sandbox, SandboxError, SandboxProvider};
use crate::command::{self, RunCommand};
use crate::{Root, built_in};

/// The names of the built-in tools that work in a sandbox.
pub const SANDBOX_TOOLS: [&str; 6] =
    ["list_files", "read_file", "search_files", "write_file", "edit_file", "run_command"];

/// The text added to the description of each of these tools.
const TOLD: &str = " All of this is in a sandbox of this conversation: its folder is empty at first, and is freed when the \
                    turn ends or when nothing was done in it for a while.";
/// The note in the result of a call for which the sandbox was booted.
const NEW: &str = "[the sandbox is new: nothing is in it]";

/// The sandboxes of an agent: the tools that work in them, and the provisioner that frees them.
///
/// ```no_run
/// use std::sync::Arc;
/// use holdover_tools::{LocalSandboxes, SandboxOptions, Sandboxes};
///
/// let sandboxes = Sandboxes::new(LocalSandboxes::open(&SandboxOptions::default())?);
/// println!("{}", sandboxes.describe()); // sandbox: bubblewrap, no network
/// # let _: (Arc<dyn holdover_core::provision::Provisioner>, Vec<_>) =
/// (sandboxes.provisioner(), sandboxes.tools()) // for Agent::builder(…).provisioner(…).tools(…)
/// # ; Ok::<(), holdover_tools::SandboxError>(())
/// ```
///
/// The first call of one of the tools boots the sandbox. The end of the turn frees it, however the turn ends. The
/// start of a turn also frees it, in case a dead run left it behind.
#[derive(Clone)]
pub struct Sandboxes(Arc<dyn SandboxProvider>);

impl Sandboxes {
    /// Creates the sandboxes of `provider`.
    pub fn new(provider: impl SandboxProvider) -> Self {
        Self(Arc::new(provider))
    }

    /// Returns a one-line description of the sandboxes and their walls, for people.
    pub fn describe(&self) -> String {
        self.0.describe()
    }

    /// Returns the tool `name`, or `None` if no tool of this name works in a sandbox.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let name = SANDBOX_TOOLS.into_iter().find(|own| *own == name)?;
        // Only the spec is taken from this tool. Calls work in the folder of their session.
        let root = Root::open("/").ok()?;
        let mut spec = built_in(name, &root)?.spec().clone();
        spec.description.push_str(TOLD);
        Some(Arc::new(Inside { name, spec, provider: Arc::clone(&self.0) }))
    }

    /// Returns all tools that work in a sandbox.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        SANDBOX_TOOLS.iter().filter_map(|name| self.tool(name)).collect()
    }

    /// Returns the provisioner that frees the sandboxes. Give it to the agent that has the tools.
    pub fn provisioner(&self) -> Arc<dyn Provisioner> {
        Arc::new(self.clone())
    }

    /// Returns the sandbox of `session`, and boots it if there is none. A program uses it to put files there during a
    /// turn, or to take them out before the turn ends: the start and the end of a turn free the sandbox.
    ///
    /// # Errors
    /// Those of [`SandboxProvider::enter`].
    pub async fn enter(&self, session: &SessionKey) -> Result<Arc<dyn Sandbox>, SandboxError> {
        self.0.enter(session).await
    }
}

#[async_trait]
impl Provisioner for Sandboxes {
    /// Frees the sandbox that a dead run left behind, if any. Boots nothing.
    async fn provision(&self, session: &SessionKey, _turn: TurnNumber) -> Result<(), ErrorInfo> {
        Ok(self.0.free(session).await?)
    }

    fn describe(&self) -> Option<String> {
        Some(self.0.describe())
    }

    async fn tear_down(&self, session: &SessionKey, _turn: TurnNumber) -> Result<(), ErrorInfo> {
        Ok(self.0.free(session).await?)
    }
}

/// A built-in tool that works in the sandbox of the calling session.
struct Inside {
    name: &'static str,
    spec: ToolSpec,
    provider: Arc<dyn SandboxProvider>,
}

#[async_trait]
impl Tool for Inside {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Lets reads run in parallel. A write never runs in parallel with another call in the sandbox.
    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        let access = match self.spec.effect {
            EffectClass::ReadOnly => Access::Read,
            EffectClass::Idempotent | EffectClass::AtMostOnce => Access::Write,
        };
        ResourceProfile::key("sandbox:/", access)
    }

    async fn call(&self, mut call: ToolCall) -> Result<ToolReturn, ToolError> {
        let asked = Instant::now();
        let sandbox = self.provider.enter(&call.session).await?;
        call.timeout = call.timeout.map(|timeout| timeout.saturating_sub(asked.elapsed()));
        let result = if self.name == "run_command" {
            run_command(&*sandbox, call).await.map(Into::into)
        } else {
            on_files(self.name, &*sandbox, call).await
        };
        if sandbox.is_new() { said_so(result) } else { result }
    }
}

async fn run_command(sandbox: &dyn Sandbox, mut call: ToolCall) -> Result<ToolOutput, ToolError> {
    let asked: RunCommand = serde_json::from_value(call.arguments.take())
        .map_err(|error| ToolError::Failed(format!("arguments of run_command: {error}")))?;
    let limit = asked.limit(call.timeout);
    let (program, args) = asked.line()?;
    let ran = sandbox.run(Job { program, args, folder: asked.folder, limit, call: call.handle }).await?;
    command::told(ran.exit, &ran.stdout, &ran.stderr, limit)
}

async fn on_files(name: &str, sandbox: &dyn Sandbox, call: ToolCall) -> Result<ToolReturn, ToolError> {
    let gone = |why: String| ToolError::NotRun(why);
    let root = Root::open(sandbox.workspace()).map_err(|error| gone(error.to_string()))?;
    let tool = built_in(name, &root).ok_or_else(|| gone(format!("there is no tool {name}")))?;
    tool.call(call).await
}

/// Adds [`NEW`] to the result: the model may still rely on files of an earlier sandbox.
fn said_so(result: Result<ToolReturn, ToolError>) -> Result<ToolReturn, ToolError> {
    let with = |text: String| format!("{NEW}\n{text}");
    match result {
        Ok(returned) => Ok(returned.map(|output| ToolOutput { content: with(output.content), ..output })),
        Err(ToolError::Failed(line)) => Err(ToolError::Failed(format!("{line} {NEW}"))),
        Err(error @ (ToolError::NotRun(_) | ToolError::Transient { .. } | ToolError::Lost(_))) => Err(error),
    }
}
