//! The arguments of `skills`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The skills of an agent file.
#[derive(Debug, Subcommand)]
pub(crate) enum Skills {
    /// List the skills of an agent with their sources and digests
    #[command(after_help = "\
Archives and commits that are not in the cache are fetched.

Examples:
  holdover skills list agent.toml
  holdover skills list agent.toml --json")]
    List(OfAgent),
    /// Fetch the skills of an agent into the cache, so that its sessions need no network
    #[command(after_help = "\
Prints each source with its digest. A source that is in the cache is only checked.

Examples:
  holdover skills fetch agent.toml")]
    Fetch(OfAgent),
}

#[derive(Debug, Args)]
pub(crate) struct OfAgent {
    /// The agent file (TOML)
    pub(crate) agent: PathBuf,
}
