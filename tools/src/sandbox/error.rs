//! Errors of sandboxes.

use std::io;
use std::path::PathBuf;

use holdover_core::error::ErrorInfo;
use holdover_core::tool::ToolError;

/// An error of a sandbox, or of the root of the sandboxes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// Walls are required, and this machine has none.
    #[error("sandbox: walls are required, and there are none: {0}")]
    NoWalls(String),
    /// The root of the sandboxes, or the image, cannot be used.
    #[error("sandbox: root {}: {source}", path.display())]
    Root {
        /// The path of the folder.
        path: PathBuf,
        /// The reason why the folder cannot be used.
        source: io::Error,
    },
    /// The sandbox was still in use, or was still being booted or removed, when the bounded wait ended.
    #[error("sandbox: it is in use by another process")]
    Busy,
    /// The sandbox could not be booted. The parts already created are removed; if that fails, the text says so.
    #[error("sandbox: could not be booted: {0}")]
    Boot(String),
    /// The sandbox could not be freed.
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

/// For a call that needed the sandbox, the error means that nothing was done. If the sandbox is busy, the call may be
/// retried.
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
