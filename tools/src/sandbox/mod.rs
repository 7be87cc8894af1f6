//! Sandboxes: a separate folder for each session's turn, and commands that run in it, behind walls where the
//! machine has them.

mod enclosure;
mod error;
mod hold;
mod leftovers;
mod local;
mod mounts;
mod options;
mod place;
mod spawner;
mod sweep;
mod tools;
mod walls;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_core::tool::ToolError;

pub use error::SandboxError;
pub use local::LocalSandboxes;
pub use options::{SandboxOptions, WallsPolicy};
pub use tools::{SANDBOX_TOOLS, Sandboxes};
pub use walls::Walls;

/// Gives each session its sandbox, and frees it.
///
/// A session has at most one, whichever process asks. It is booted when something is first done in it, and lives until it is
/// freed, or has been left alone for too long: what nobody frees is gone by then, also when its process was killed.
#[async_trait]
pub trait SandboxProvider: Send + Sync + 'static {
    /// What stands between its sandboxes and the machine.
    fn walls(&self) -> &Walls;

    /// How its sandboxes are described to a person: in one line, with their walls.
    fn describe(&self) -> String;

    /// The sandbox of `session`, booted if there is none. It is in use until what is returned is dropped: nobody frees it
    /// meanwhile.
    ///
    /// # Errors
    /// It could not be booted: then nothing of it is left. Or it is being freed, or in use by a process that should have
    /// none of it any more, and was not to be had in time: [`SandboxError::Busy`].
    async fn enter(&self, session: &SessionKey) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// Frees the sandbox of `session`: no process in it is left, nor anything that was written there. Waits for those that
    /// are in it, for a bounded time. One that is half booted or half freed is freed, too; where there is none, nothing
    /// happens.
    ///
    /// # Errors
    /// It is in use, or something of it could not be removed. It may be asked again, and is freed as one that is left
    /// alone.
    async fn free(&self, session: &SessionKey) -> Result<(), SandboxError>;
}

/// A sandbox that is in use.
#[async_trait]
pub trait Sandbox: Send + Sync + 'static {
    /// Whether it was booted for this use: nothing is in it, whatever was done in an earlier one.
    fn is_new(&self) -> bool;

    /// The folder on this machine that its commands begin in and see what they wrote.
    fn workspace(&self) -> &Path;

    /// Runs a program in it, with all that the program starts. They are killed when it ends, when its time is over, and
    /// when this future is dropped.
    ///
    /// # Errors
    /// [`ToolError::Failed`]: it could not be started.
    async fn run(&self, job: Job) -> Result<Ran, ToolError>;
}

/// What is run in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The program, as it is found in the sandbox.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it begins, relative to the workspace. Empty: there.
    pub folder: String,
    /// How long it may take.
    pub limit: Duration,
}

impl Job {
    /// A line for the shell `sh`, begun in the workspace, for up to two minutes.
    pub fn shell(line: impl Into<String>) -> Self {
        Self {
            program: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), line.into()],
            folder: String::new(),
            limit: Duration::from_secs(120),
        }
    }
}

/// How a program ended, and what it printed: of each stream, the beginning and the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Its time was over, and it was killed.
    TimeOver,
}
