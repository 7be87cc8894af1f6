//! Errors of skills.

use std::path::{Path, PathBuf};

use holdover_core::error::ErrorInfo;

/// The error for skills that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {why}", named(name.as_deref()), path.display())]
#[non_exhaustive]
pub struct SkillError {
    /// The name of the source, if it has one.
    pub name: Option<String>,
    /// The path of the folder or file, or the address of the source.
    pub path: PathBuf,
    /// The kind of the error.
    pub kind: SkillErrorKind,
    /// The reason, as one line.
    pub why: String,
}

/// The kind of a [`SkillError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillErrorKind {
    /// The declaration or the content of a source is not valid, or exceeds a bound.
    Invalid,
    /// A file of this machine cannot be read or written.
    Unreadable,
    /// The server or the repository of a source does not give its content, and the cache does not have it. Another
    /// attempt may succeed.
    Unreachable,
    /// The content of a source does not have the digest that was declared or recorded.
    Changed,
}

impl SkillErrorKind {
    /// Returns the code of this error in an [`ErrorInfo`].
    pub(super) fn code(self) -> &'static str {
        match self {
            // The code is the same as before sources had names.
            Self::Invalid | Self::Unreadable => "skills.unreadable",
            Self::Unreachable => "skills.unreachable",
            Self::Changed => "skills.changed",
        }
    }
}

impl From<SkillError> for ErrorInfo {
    fn from(error: SkillError) -> Self {
        Self::new(error.kind.code(), error.to_string())
    }
}

fn named(name: Option<&str>) -> String {
    name.map(|name| format!("source {name:?}: ")).unwrap_or_default()
}

/// Returns an error about a path, of no named source.
pub(super) fn wrong(path: &Path, kind: SkillErrorKind, why: impl Into<String>) -> SkillError {
    SkillError { name: None, path: path.to_owned(), kind, why: why.into() }
}
