//! The arguments of the commands that branch and tidy up.

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
A fork begins as the session was there: same transcript, agent and labels. What was open stays behind. The session itself is not touched.

Examples:
  holdover sessions checkpoints notes
  holdover sessions fork notes --at 17 --to notes-again
  holdover resume notes-again")]
pub(crate) struct Fork {
    /// Which session
    pub(crate) session: SessionId,
    /// From this checkpoint; left out: the newest
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub(crate) at: Option<CheckpointId>,
    /// The name of the fork; left out: one is drawn
    #[arg(long, value_name = "ID")]
    pub(crate) to: Option<SessionId>,
    /// With this label beside those of the session
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The new session begins as a fork does, with a goal. Its model writes down what of the old conversation matters for that goal; from then on it is shown those words, the goal, and what comes after. Until they exist the new session is in handoff (holdover sessions show). If none can be made its turn fails: holdover retry tries again. The session itself is not touched, also while it runs.

GOAL may be - : it is then read from standard input.

Examples:
  holdover sessions handoff notes --goal \"Write the release notes\"
  holdover sessions handoff notes --goal \"Write the release notes\" --to release --draft
  holdover sessions handoff notes --goal \"Translate them\" --agent translator.toml
  holdover resume release                               works on the goal of the draft
  holdover send release --instead-of 8 \"Write a post\"   says it otherwise")]
pub(crate) struct Handoff {
    /// Which session
    pub(crate) session: SessionId,
    /// What the new session is for
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: String,
    /// Let the agent of this file work on it; left out: that of the session
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// With --agent: the folder that its file tools see, instead of the one that the file names
    #[arg(long, value_name = "FOLDER", requires = "agent")]
    pub(crate) root: Option<PathBuf>,
    /// Only prepare it: the new session waits with its goal until it is resumed or something is said to it
    #[arg(long)]
    pub(crate) draft: bool,
    /// From this checkpoint; left out: the newest
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub(crate) at: Option<CheckpointId>,
    /// The name of the new session; left out: one is drawn
    #[arg(long, visible_alias = "session", value_name = "ID")]
    pub(crate) to: Option<SessionId>,
    /// Hand over at most once under this key, and find the session that was made so
    #[arg(long)]
    pub(crate) key: Option<ItemKey>,
    /// With this label beside those of the session
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The session's agent must have this sub-agent, with background = true. The child works in a session of its own, whose name is printed. When it has ended, its parent is told and begins a turn, unless --quiet-end is given: then the parent reads of it in its next turn. Here the child is run to its end, and then the turn of its parent.

What is done with a child afterwards is done with its session: holdover send, holdover sessions show, holdover abort.

TASK may be - : it is then read from standard input.

Examples:
  holdover sessions begin notes clerk \"Sort the invoices of May\"
  holdover sessions begin notes clerk \"Sort the invoices of May\" --quiet-end --detach
  holdover sessions children notes")]
pub(crate) struct Begin {
    /// The parent
    pub(crate) session: SessionId,
    /// Which of its sub-agents
    pub(crate) agent: ToolName,
    /// What the child is to do
    pub(crate) task: String,
    /// Let its end wait for the next turn of its parent
    #[arg(long)]
    pub(crate) quiet_end: bool,
    /// Let it go on if its parent is aborted or deleted
    #[arg(long)]
    pub(crate) detached: bool,
    /// Begin it at most once under this key
    #[arg(long)]
    pub(crate) key: Option<ItemKey>,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Only sessions at rest are touched, in which nothing waits: no unread message, no alarm. With --checkpoints the sessions stay, and each keeps its newest N checkpoints.

Examples:
  holdover sessions purge --unchanged-for 90d
  holdover sessions purge --unchanged-for 1d --status failed --status aborted
  holdover sessions purge --unchanged-for 7d --checkpoints 1")]
pub(crate) struct Purge {
    /// Only sessions in which nothing has changed for so long
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) unchanged_for: Duration,
    /// Only with this status
    #[arg(long, value_name = "STATUS", value_parser = status(resting()))]
    pub(crate) status: Vec<SessionStatus>,
    /// Remove checkpoints instead, but for the newest N of each session
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
