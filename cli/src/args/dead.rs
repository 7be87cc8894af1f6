//! The arguments of `dead`.

use clap::{Args, Subcommand};
use holdover_core::ids::PendingId;

/// The dead letters of a tenant.
#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    /// List the dead letters: sessions whose turn was given up although it may succeed later
    #[command(after_help = LIST)]
    List,
    /// Let the sessions of dead letters try again; a worker runs them
    Replay(ReplayLetters),
}

const LIST: &str = "\
A letter is written if the runs of a session died five times in a row without progress, if a model failed on every retry, or if too many calls in a row could not be run. It is closed when the session goes on, is aborted or is deleted.

Examples:
  holdover dead list
  holdover dead list --tenant acme --json";

#[derive(Debug, Args)]
#[command(after_help = "\
Each letter is replayed at most once, however often the command is repeated. If the session has gone on since without a replay, the letter is closed, and the command fails with exit code 1.

Examples:
  holdover dead replay 01kaw3v9x2c4q8mn01kaw3v9x2c4q8mn.dead-1.1
  holdover dead replay --all && holdover work --until-idle")]
pub(crate) struct ReplayLetters {
    /// The letters (holdover dead list)
    #[arg(value_name = "LETTER", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) letters: Vec<PendingId>,
    /// Replay all open letters of the tenant, except those of children
    #[arg(long)]
    pub(crate) all: bool,
}
