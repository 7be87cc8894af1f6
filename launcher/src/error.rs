//! Errors before a server runs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Why a server could not be had. One line; it names the server, the folder or the package.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A program is not there and cannot be installed.
    #[error("{program} is not installed, and only root can install it: apt-get install {package}")]
    Missing {
        /// The program.
        program: String,
        /// The Debian package that brings it.
        package: String,
    },
    /// A package brought no such program, or could not be installed.
    #[error("package {package}: {detail}")]
    Install {
        /// The Debian package.
        package: String,
        /// What went wrong.
        detail: String,
    },
    /// The user whom a server must run as is not there.
    #[error("there is no user {user}, whom {server} runs as")]
    NoUser {
        /// The user.
        user: String,
        /// The server.
        server: String,
    },
    /// A file, a folder or a process could not be had.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A server ended, or did not answer in time.
    #[error("{server}: {detail}; the last line of its log: {log}")]
    NotUp {
        /// The server.
        server: String,
        /// What went wrong.
        detail: String,
        /// The last line of its log.
        log: String,
    },
}

impl LaunchError {
    /// For `map_err`: names the path.
    pub(crate) fn at(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { path, source }
    }

    /// Unless the program `who`, a step before `server` runs, has ended well, with these as its words.
    pub(crate) fn unless_well(server: &str, who: &str, status: ExitStatus, said: &[u8]) -> Result<(), Self> {
        if status.success() {
            return Ok(());
        }
        let log = String::from_utf8_lossy(said).lines().last().unwrap_or("nothing").to_owned();
        Err(Self::NotUp { server: server.into(), detail: format!("{who} ended with {status}"), log })
    }
}
