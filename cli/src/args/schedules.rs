//! The arguments of `schedules`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use holdover_core::ids::{ItemKey, SessionId};
use holdover_schedules::{CatchUp, Overlap, ScheduleName};

use super::branch::label;

/// The schedules of a tenant.
#[derive(Debug, Subcommand)]
pub(crate) enum Schedules {
    /// Add a schedule: an agent starts at the times of a cron line, or at an interval
    Add(Box<AddSchedule>),
    /// List the schedules with their next instants and last starts, newest first
    #[command(after_help = LIST)]
    List,
    /// Show a schedule: its rules, its next instant, and what became of the last one
    #[command(after_help = SHOW)]
    Show(OneSchedule),
    /// Pause a schedule: its instants are left out; sessions that it started go on
    #[command(after_help = PAUSE)]
    Pause(OneSchedule),
    /// Resume a paused or failed schedule at its first instant from now on
    #[command(after_help = RESUME)]
    Resume(OneSchedule),
    /// Remove a schedule; sessions that it started go on
    #[command(after_help = REMOVE)]
    Remove(OneSchedule),
    /// Start the target of a schedule now, beside its instants
    Trigger(Trigger),
}

const LIST: &str = "\
Examples:
  holdover schedules list
  holdover schedules list --json
  holdover sessions list --label schedule=daily     the sessions that a schedule started";

const SHOW: &str = "\
Examples:
  holdover schedules show daily
  holdover schedules show daily --json";

const PAUSE: &str = "\
Examples:
  holdover schedules pause daily";

const RESUME: &str = "\
Instants during the pause are left out, whatever --catch-up says.

Examples:
  holdover schedules resume daily";

const REMOVE: &str = "\
Examples:
  holdover schedules remove daily";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("times").required(true).args(["cron", "every"]))]
#[command(group = ArgGroup::new("target").required(true).args(["agent", "to"]))]
#[command(after_help = "\
A worker (holdover work) runs schedules. At each instant, it starts a new session of the agent with PROMPT, or sends PROMPT to the session of --to. The agent is stored with the schedule: later changes of its file do not change the schedule.

A cron line has five fields: minute, hour, day of the month, month, day of the week; with six, the first is the second. On a day on which the clock of the zone is changed, a time that does not exist comes at the first instant after the gap, and a time that comes twice counts once. A line with * in its minutes or hours follows the clock instead.

If PROMPT is missing or -, it is read from standard input. A repeat with the same arguments changes nothing. To change a schedule, remove it and add it again.

Examples:
  holdover schedules add daily --agent clerk.toml --cron '0 9 * * 1-5' --zone Europe/Berlin \"The daily round\"
  holdover schedules add poll --agent clerk.toml --every 15m --jitter 30s --overlap queue \"Is the build through?\"
  holdover schedules add nudge --to notes --cron @daily --catch-up none \"What is left to do?\"")]
pub(crate) struct AddSchedule {
    /// The name: letters, digits, _ and -, at most 64
    pub(crate) name: ScheduleName,
    /// The message to the agent
    pub(crate) prompt: Option<String>,
    /// The agent file (TOML) of the new sessions
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// Send the message to this session instead of starting new ones
    #[arg(long, value_name = "SESSION")]
    pub(crate) to: Option<SessionId>,
    /// Times as a cron line, such as '0 9 * * 1-5', or @hourly, @daily, @weekly, @monthly, @yearly
    #[arg(long, value_name = "LINE")]
    pub(crate) cron: Option<String>,
    /// IANA name of the time zone of --cron, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC", conflicts_with = "every")]
    pub(crate) zone: String,
    /// Times as an interval from now on, such as 15m, from 1s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) every: Option<Duration>,
    /// Start later by a part of TIME, another one at each instant, before the next instant
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) jitter: Duration,
    /// What happens at an instant while the earlier session works or waits
    #[arg(long, value_name = "RULE", default_value = "skip")]
    pub(crate) overlap: OverlapRule,
    /// Which instants are made up for that passed while no worker ran: none, last, or all:N (the newest N)
    #[arg(long, value_name = "RULE", default_value = "last")]
    pub(crate) catch_up: CatchUpRule,
    /// Label of the new sessions (see sessions list --label); may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = label, conflicts_with = "to")]
    pub(crate) label: Vec<(String, String)>,
    /// Folder that the file tools see [default: the root in the agent file, else the current folder]
    #[arg(long, value_name = "FOLDER", conflicts_with = "to")]
    pub(crate) root: Option<PathBuf>,
}

/// A schedule by its name.
#[derive(Debug, Args)]
pub(crate) struct OneSchedule {
    /// The name of the schedule
    pub(crate) name: ScheduleName,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Starts in any case: whatever --overlap says, and also while the schedule is paused. A worker runs the session.

Examples:
  holdover schedules trigger daily
  holdover schedules trigger daily --key release-7 && holdover work --until-idle")]
pub(crate) struct Trigger {
    /// The name of the schedule
    pub(crate) name: ScheduleName,
    /// Idempotency key: the same key starts the target once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<ItemKey>,
}

/// The rule for instants at which the earlier session still works.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OverlapRule {
    /// The instant is left out
    Skip,
    /// Start once the earlier session has ended; at most one instant waits
    Queue,
    /// Start beside the earlier session
    Allow,
    /// Interrupt the earlier session, and start once it has ended
    Replace,
}

impl From<OverlapRule> for Overlap {
    fn from(rule: OverlapRule) -> Self {
        match rule {
            OverlapRule::Skip => Self::Skip,
            OverlapRule::Queue => Self::Queue,
            OverlapRule::Allow => Self::Allow,
            OverlapRule::Replace => Self::Replace,
        }
    }
}

/// The rule for missed instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CatchUpRule(pub(crate) CatchUp);

impl FromStr for CatchUpRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = || text.strip_prefix("all:")?.parse().ok();
        match text {
            "none" => Ok(Self(CatchUp::None)),
            "last" => Ok(Self(CatchUp::Last)),
            _ => count()
                .map(|count| Self(CatchUp::All(count)))
                .ok_or_else(|| "write none, last or all:N".to_owned()),
        }
    }
}
