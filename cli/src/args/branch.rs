//! The arguments of the commands that fork, hand over and purge sessions, and begin children.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use holdover_core::ids::{CheckpointId, ItemKey, SessionId, ToolName};
use holdover_core::store::SessionStatus;

use super::drive::{Drive, Leave};
use super::look::status;

#[derive(Debug, Args)]
#[command(after_help = "\
A fork starts with the transcript that the session had at the checkpoint, and with its agent and labels. Calls that were open there are not continued. The session itself is not changed.

Examples:
  holdover sessions checkpoints notes
  holdover sessions fork notes --at 17 --to notes-again
  holdover resume notes-again")]
pub(crate) struct Fork {
    /// The session to fork
    pub(crate) session: SessionId,
    /// Checkpoint to fork from (holdover sessions checkpoints) [default: the newest]
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub(crate) at: Option<CheckpointId>,
    /// Id of the fork [default: a new id]
    #[arg(long, value_name = "ID")]
    pub(crate) to: Option<SessionId>,
    /// Label to add to those of the session; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The new session starts as a fork, with a goal. Its model first extracts what matters for the goal from the old conversation. From then on, the model sees the extract, the goal and later messages. Until the extract exists, the new session is in handoff (holdover sessions show). If the extract cannot be made, the turn fails; holdover retry tries again. The original session is not changed, even while it runs.

If GOAL is -, it is read from standard input.

Examples:
  holdover sessions handoff notes --goal \"Write the release notes\"
  holdover sessions handoff notes --goal \"Write the release notes\" --to release --draft
  holdover sessions handoff notes --goal \"Translate them\" --agent translator.toml
  holdover resume release                               start work on the goal of the draft
  holdover send release --instead-of 8 \"Write a post\"   replace the goal of the draft")]
pub(crate) struct Handoff {
    /// The session to hand over
    pub(crate) session: SessionId,
    /// Goal of the new session
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: String,
    /// Agent file (TOML) for the new session [default: the agent of the session]
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// With --agent: folder for its file tools [default: the root in its file, else the current folder]
    #[arg(long, value_name = "FOLDER", requires = "agent")]
    pub(crate) root: Option<PathBuf>,
    /// Only prepare the new session: it waits with its goal until it is resumed or gets a message
    #[arg(long)]
    pub(crate) draft: bool,
    /// Checkpoint to start from (holdover sessions checkpoints) [default: the newest]
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub(crate) at: Option<CheckpointId>,
    /// Id of the new session [default: a new id]
    #[arg(long, visible_alias = "session", value_name = "ID")]
    pub(crate) to: Option<SessionId>,
    /// Idempotency key: the same key hands over at most once, and a repeat finds that session
    #[arg(long)]
    pub(crate) key: Option<ItemKey>,
    /// Label to add to those of the session; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The session's agent must have this sub-agent, with background = true. The child works in a session of its own, whose id is printed. When the child ends, its parent is told and begins a turn. With --quiet-end, the parent is told in its next turn instead. This command runs the child to its end, and then that turn of the parent.

Use the child's session to work with it later: holdover send, holdover sessions show, holdover abort.

If TASK is -, it is read from standard input.

Examples:
  holdover sessions begin notes clerk \"Sort the invoices of May\"
  holdover sessions begin notes clerk \"Sort the invoices of May\" --quiet-end --detach
  holdover sessions children notes")]
pub(crate) struct Begin {
    /// The parent session
    pub(crate) session: SessionId,
    /// The sub-agent that does the task
    pub(crate) agent: ToolName,
    /// The task of the child
    pub(crate) task: String,
    /// Begin no turn of the parent when the child ends; tell the parent in its next turn
    #[arg(long)]
    pub(crate) quiet_end: bool,
    /// Let the child continue if its parent is aborted or deleted
    #[arg(long)]
    pub(crate) detached: bool,
    /// Idempotency key: the same key begins at most one child
    #[arg(long)]
    pub(crate) key: Option<ItemKey>,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Only sessions at rest in which nothing waits are purged: those without an unread message, an alarm, a stop request, a dead letter or a call in doubt to settle. With --checkpoints, the sessions stay, and each keeps its newest N checkpoints.

Examples:
  holdover sessions purge --unchanged-for 90d
  holdover sessions purge --unchanged-for 1d --status failed --status aborted
  holdover sessions purge --unchanged-for 7d --checkpoints 1")]
pub(crate) struct Purge {
    /// Only sessions that have not changed for this time
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) unchanged_for: Duration,
    /// Only sessions with this status; may be repeated
    #[arg(long, value_name = "STATUS", value_parser = status(resting()))]
    pub(crate) status: Vec<SessionStatus>,
    /// Remove checkpoints instead of sessions, except the newest N of each session
    #[arg(long, value_name = "N")]
    pub(crate) checkpoints: Option<NonZeroU32>,
}

fn checkpoint(text: &str) -> Result<CheckpointId, String> {
    text.parse().map(CheckpointId).map_err(|_| String::from("a checkpoint is a number"))
}

pub(super) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err(String::from("write NAME=VALUE")),
    }
}

fn resting() -> impl Iterator<Item = SessionStatus> {
    SessionStatus::ALL.into_iter().filter(|status| status.at_rest())
}
