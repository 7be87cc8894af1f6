//! The errors of starting a server.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// The error of a server that could not be started. The message is one line that names the server, the package or the
/// path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A program is missing, and this process cannot install it because it does not run as root.
    #[error("{program} is not installed, and only root can install it: apt-get install {package}")]
    Missing {
        /// The name of the program.
        program: String,
        /// The name of the Debian package that contains the program.
        package: String,
    },
    /// A package could not be installed, or does not contain the program.
    #[error("package {package}: {detail}")]
    Install {
        /// The name of the Debian package.
        package: String,
        /// The reason.
        detail: String,
    },
    /// The user that a server must run as does not exist.
    #[error("there is no user {user}, whom {server} runs as")]
    NoUser {
        /// The name of the user.
        user: String,
        /// The name of the server.
        server: String,
    },
    /// A file, a folder or a process could not be created or used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path of the file, the folder or the program.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A server ended or did not answer in time, or a program that prepares it failed.
    #[error("{server}: {detail}; the last line of its log: {log}")]
    NotUp {
        /// The name of the server.
        server: String,
        /// The reason.
        detail: String,
        /// The last line of the server's log or of the program's output.
        log: String,
    },
}

impl LaunchError {
    /// Returns a function for `map_err` that adds the path to an error.
    pub(crate) fn at(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { path, source }
    }

    /// Returns an error unless the program `who`, which prepares `server`, has succeeded. The last line of its
    /// output `said` goes into the error.
    pub(crate) fn unless_well(server: &str, who: &str, status: ExitStatus, said: &[u8]) -> Result<(), Self> {
        if status.success() {
            return Ok(());
        }
        let log = String::from_utf8_lossy(said).lines().last().unwrap_or("nothing").to_owned();
        Err(Self::NotUp { server: server.into(), detail: format!("{who} ended with {status}"), log })
    }
}
