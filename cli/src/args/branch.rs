//! The commands that branch and tidy up.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use holdover_core::ids::{CheckpointId, SessionId};
use holdover_core::store::SessionStatus;

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
