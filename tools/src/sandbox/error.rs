//! Errors of sandboxes.

use std::io;
use std::path::PathBuf;

use holdover_core::error::ErrorInfo;
use holdover_core::tool::ToolError;

/// Something that is wrong with a sandbox, or with the place for them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// Walls are required, and this machine has none.
    #[error("sandbox: walls are required, and there are none: {0}")]
    NoWalls(String),
    /// The folder for sandboxes cannot be used.
    #[error("sandbox: root {}: {source}", path.display())]
    Root {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others are in it.
    #[error("sandbox: it is in use by another process")]
    Busy,
    /// It could not be booted. Nothing of it is left.
    #[error("sandbox: could not be booted: {0}")]
    Boot(String),
    /// It could not be freed.
    #[error("sandbox: could not be freed: {0}")]
    Free(String),
}

impl SandboxError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoWalls(_) => "sandbox.no_walls",
            Self::Root { .. } => "sandbox.root",
            Self::Busy => "sandbox.busy",
            Self::Boot(_) => "sandbox.boot",
            Self::Free(_) => "sandbox.free",
        }
    }
}

impl From<SandboxError> for ErrorInfo {
    fn from(error: SandboxError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// What it means for a call that needed the sandbox: nothing was done.
impl From<SandboxError> for ToolError {
    fn from(error: SandboxError) -> Self {
        let detail = error.to_string();
        match error {
            SandboxError::Busy => Self::Transient { detail, wait: None },
            SandboxError::NoWalls(_)
            | SandboxError::Root { .. }
            | SandboxError::Boot(_)
            | SandboxError::Free(_) => Self::NotRun(detail),
        }
    }
}
