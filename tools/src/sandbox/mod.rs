//! Sandboxes: a separate folder for each session's turn, and commands that run in it, behind walls if the machine
//! supports them.

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
use holdover_core::ending::CancelReason;
use holdover_core::ids::SessionKey;
use holdover_core::tool::{CallHandle, ToolError};

pub use error::SandboxError;
pub use local::LocalSandboxes;
pub use options::{SandboxOptions, WallsPolicy};
pub use tools::{SANDBOX_TOOLS, Sandboxes};
pub use walls::Walls;

/// A provider that gives each session its sandbox, and frees it.
///
/// A session has at most one sandbox, shared by all processes. The first use boots it. It lives until it is freed, or
/// until it was unused for too long, even if the process that booted it was killed.
#[async_trait]
pub trait SandboxProvider: Send + Sync + 'static {
    /// Returns the walls between the sandboxes and the machine.
    fn walls(&self) -> &Walls;

    /// Returns a one-line description of the sandboxes and their walls, for people.
    fn describe(&self) -> String;

    /// Returns the sandbox of `session`, and boots it if there is none. The sandbox is in use, and is not freed, until
    /// the returned value is dropped.
    ///
    /// # Errors
    /// The sandbox could not be booted; the parts already created are removed, or the error says that they stay.
    /// [`SandboxError::Busy`]: another process is booting or freeing the sandbox, and did not finish within a bounded
    /// time.
    async fn enter(&self, session: &SessionKey) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// Frees the sandbox of `session`: kills all its processes, and removes its files unless the provider keeps them.
    /// Waits a bounded time until the sandbox is no longer in use. Also frees a sandbox that is half booted or half
    /// freed. Does nothing if there is none.
    ///
    /// # Errors
    /// The sandbox is in use, or a part of it could not be killed or removed. Freeing may be retried; otherwise, the
    /// sandbox is freed like any unused one.
    async fn free(&self, session: &SessionKey) -> Result<(), SandboxError>;
}

/// A sandbox that is in use.
#[async_trait]
pub trait Sandbox: Send + Sync + 'static {
    /// Returns true if this use booted the sandbox. A new sandbox is empty; files of an earlier one are gone.
    fn is_new(&self) -> bool;

    /// Returns the folder on this machine in which commands start and in which their files appear.
    fn workspace(&self) -> &Path;

    /// Runs a program in the sandbox. The program and all processes that it starts are killed when the program ends,
    /// when its time is over, or when this future is dropped. Without walls, some processes may survive until the
    /// sandbox is freed.
    ///
    /// # Errors
    /// [`ToolError::Failed`]: the folder is not in the workspace, or the program could not be started.
    /// [`ToolError::NotRun`]: the workspace cannot be opened. [`ToolError::Lost`]: the program was started, but its end
    /// was not seen.
    async fn run(&self, job: Job) -> Result<Ran, ToolError>;
}

/// A program to run in a sandbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The name or path of the program, as valid in the sandbox.
    pub program: String,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The folder in which the program starts, relative to the workspace. If empty, the workspace itself.
    pub folder: String,
    /// The time after which the program is killed.
    pub limit: Duration,
    /// The handle of the call that runs the program. The output is reported to it, and the program is ended when the call
    /// should stop.
    pub call: CallHandle,
}

impl Job {
    /// Returns a job for the shell `sh`, which starts in the workspace and has a limit of two minutes.
    pub fn shell(line: impl Into<String>) -> Self {
        Self {
            program: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), line.into()],
            folder: String::new(),
            limit: Duration::from_secs(120),
            call: CallHandle::default(),
        }
    }
}

/// The end of a program, and its output. For a long stream, only the beginning and the end are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The way the program ended.
    pub exit: Exit,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
}

/// The way a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The program ended with this code.
    Code(i32),
    /// The program was ended by this signal.
    Signal(i32),
    /// The program was killed because its time was over.
    TimeOver,
    /// The program was ended because its call should stop, for this reason.
    Stopped(CancelReason),
}
