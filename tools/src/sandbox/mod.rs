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
/// A session has at most one sandbox, whichever process asks for it. Its first use boots it. It lives until
/// it is freed, or until it was unused for too long, even if the process that booted it was killed.
#[async_trait]
pub trait SandboxProvider: Send + Sync + 'static {
    /// The walls between the sandboxes and the machine.
    fn walls(&self) -> &Walls;

    /// Describes the sandboxes and their walls to a person, in one line.
    fn describe(&self) -> String;

    /// Returns the sandbox of `session`, booted if there is none. It is in use, and nobody frees it, until
    /// the returned value is dropped.
    ///
    /// # Errors
    /// The sandbox could not be booted; what was made of it is removed, or the error says that it stays.
    /// [`SandboxError::Busy`]: somebody else is booting or freeing it, and did not finish within a bounded
    /// time.
    async fn enter(&self, session: &SessionKey) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// Frees the sandbox of `session`: no process in it is left, nor anything that was written there, unless
    /// the provider keeps the files. Waits a bounded time for those who use it. Also frees a sandbox that is
    /// half booted or half freed. Does nothing if there is none.
    ///
    /// # Errors
    /// The sandbox is in use, or a part of it could not be killed or removed. Freeing may be tried again;
    /// otherwise the sandbox is freed like any unused one.
    async fn free(&self, session: &SessionKey) -> Result<(), SandboxError>;
}

/// A sandbox that is in use.
#[async_trait]
pub trait Sandbox: Send + Sync + 'static {
    /// Whether this use booted the sandbox. If so it is empty, whatever was done in an earlier one.
    fn is_new(&self) -> bool;

    /// The folder on this machine in which commands start and find what they wrote.
    fn workspace(&self) -> &Path;

    /// Runs a program in the sandbox, with all that the program starts. They are killed when the program
    /// ends, when its time is over, and when this future is dropped. Without walls, some may survive until
    /// the sandbox is freed.
    ///
    /// # Errors
    /// [`ToolError::Failed`]: the folder is not one in the workspace, or the program could not be started.
    /// [`ToolError::NotRun`]: the workspace cannot be opened. [`ToolError::Lost`]: the program was started,
    /// but its end was not seen.
    async fn run(&self, job: Job) -> Result<Ran, ToolError>;
}

/// A program to run in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The program, by a name or path that is valid in the sandbox.
    pub program: String,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The folder in which the program starts, relative to the workspace. Empty: the workspace.
    pub folder: String,
    /// The time limit.
    pub limit: Duration,
}

impl Job {
    /// A line for the shell `sh`, which starts in the workspace and may take two minutes.
    pub fn shell(line: impl Into<String>) -> Self {
        Self {
            program: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), line.into()],
            folder: String::new(),
            limit: Duration::from_secs(120),
        }
    }
}

/// The end of a program, and what it printed. Of a long stream, only the beginning and the end are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The way it ended.
    pub exit: Exit,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
}

/// The way a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// It was killed when its time was over.
    TimeOver,
}
