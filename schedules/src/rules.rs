//! A schedule: its times, its target, and its rules.

use std::time::Duration;

use holdover_core::ids::SessionId;
use holdover_core::store::Labels;
use holdover_core::time::Timestamp;
use holdover_flow::Flow;
use holdover_runtime_local::{Agent, AgentRecord};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::InvalidSchedule;
use crate::place::{Born, Place};
use crate::schedules::SCHEDULE_LABEL;
use crate::times::{EVERY_MAX, Ticks, Times};

/// The most instants that are caught up.
pub const CATCH_UP_MAX: u32 = 1_000;

/// What happens at an instant while the session that was started before still works or waits for somebody.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The instant is left out.
    #[default]
    Skip,
    /// The target starts once the earlier session has ended. At most one instant waits; others are left out.
    Queue,
    /// The target starts beside the earlier session.
    Allow,
    /// The earlier session is interrupted, and the target starts once it has ended.
    Replace,
}

impl Overlap {
    /// Returns the name of the rule, as it is recorded.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Queue => "queue",
            Self::Allow => "allow",
            Self::Replace => "replace",
        }
    }
}

/// Which instants are made up for that passed while no worker ran the schedule.
///
/// The rule decides about instants that are not on time. Each instant counts as on time for 5 seconds after it was due, at most
/// 16 at once, and the newest for a minute. Instants that are on time start their targets under each rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// None.
    None,
    /// The newest.
    #[default]
    Last,
    /// The newest ones, at most this many, the oldest first.
    All(u32),
}

impl CatchUp {
    /// Returns the most instants that start at once, besides those that are on time.
    pub(crate) fn most(self) -> usize {
        match self {
            Self::None | Self::Last => 1,
            Self::All(count) => usize::try_from(count).unwrap_or(usize::MAX),
        }
    }
}

/// What a schedule starts at each of its instants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Target {
    /// A new session of an agent or a flow.
    New {
        /// The agent, as its sessions record it. The worker of the schedule needs no code of it.
        agent: Box<AgentRecord>,
        /// The first message, or the input of the flow as JSON.
        message: String,
        /// Labels of the new sessions, besides those of the schedule.
        #[serde(default, skip_serializing_if = "no_labels")]
        labels: Labels,
    },
    /// A message to one session, which exists. The earlier turn of that session is the earlier session in the rules of
    /// [`Overlap`], with two differences: messages that are allowed beside a turn are taken after it, and an interrupt is
    /// that of [`MessagePolicy::Interrupt`](holdover_core::message::MessagePolicy::Interrupt).
    Session {
        /// The session.
        session: SessionId,
        /// The message.
        message: String,
    },
}

fn no_labels(labels: &Labels) -> bool {
    labels.0.is_empty()
}

impl Target {
    /// Starts a new session of an agent with this message.
    pub fn agent(agent: &Agent, message: impl Into<String>) -> Self {
        Self::recorded(agent.record(), message)
    }

    /// Starts a new session of a flow with this input.
    ///
    /// # Errors
    /// The input cannot be written as JSON.
    pub fn flow<I, O>(flow: &Flow<I, O>, input: &I) -> Result<Self, serde_json::Error>
    where
        I: Serialize + DeserializeOwned + Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
    {
        Ok(Self::recorded(flow.agent().record(), serde_json::to_string(input)?))
    }

    /// Starts a new session of a recorded agent with this message.
    pub fn recorded(agent: AgentRecord, message: impl Into<String>) -> Self {
        Self::New { agent: Box::new(agent), message: message.into(), labels: Labels::default() }
    }

    /// Sends this message to a session.
    pub fn session(session: SessionId, message: impl Into<String>) -> Self {
        Self::Session { session, message: message.into() }
    }

    /// Sets the labels of new sessions, at most 31: they have the [label](SCHEDULE_LABEL) of the schedule, too. Has no effect on
    /// a message to one session.
    #[must_use]
    pub fn labelled(self, labels: Labels) -> Self {
        match self {
            Self::New { agent, message, .. } => Self::New { agent, message, labels },
            session @ Self::Session { .. } => session,
        }
    }
}

/// A schedule: its times, its target, and its rules. By default, instants are left out while the earlier session works, and the
/// newest missed instant is made up for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) rules: Rules,
    pub(crate) target: Target,
}

impl Schedule {
    /// Creates a schedule with the default rules.
    pub fn new(times: Times, target: Target) -> Self {
        let rules = Rules { times, jitter_ms: 0, overlap: Overlap::default(), catch_up: CatchUp::default() };
        Self { rules, target }
    }

    /// Sets the jitter: each instant is due later by a part of this time. The part differs from instant to instant and from
    /// schedule to schedule, is the same after a crash, and ends before the next instant.
    #[must_use]
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.rules.jitter_ms = u64::try_from(jitter.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Sets the rule for instants at which the earlier session still works.
    #[must_use]
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.rules.overlap = overlap;
        self
    }

    /// Sets the rule for instants that passed while no worker ran the schedule.
    #[must_use]
    pub fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.rules.catch_up = catch_up;
        self
    }

    /// Checks the target and all rules. The schedule begins with `born`.
    pub(crate) fn check(&self, born: Born) -> Result<(), InvalidSchedule> {
        match &self.target {
            Target::New { labels, .. } => check_labels(labels)?,
            Target::Session { .. } => {}
        }
        self.rules.check(born)
    }

    /// Returns the times.
    pub fn times(&self) -> &Times {
        &self.rules.times
    }

    /// Returns the target.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

/// Refuses labels beside which there is no room for that of the schedule, without which overlap would not be seen.
pub(crate) fn check_labels(labels: &Labels) -> Result<(), InvalidSchedule> {
    let max = Labels::LABELS_MAX - 1;
    match labels.0.keys().filter(|name| *name != SCHEDULE_LABEL).count() {
        count if count > max => Err(InvalidSchedule::Labels { count, max }),
        _ => Ok(()),
    }
}

/// A schedule without its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rules {
    pub(crate) times: Times,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) jitter_ms: u64,
    pub(crate) overlap: Overlap,
    pub(crate) catch_up: CatchUp,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Rules {
    /// Checks all rules. The schedule begins with `born`.
    fn check(&self, born: Born) -> Result<(), InvalidSchedule> {
        let jitter = Duration::from_millis(self.jitter_ms);
        if jitter > EVERY_MAX {
            return Err(InvalidSchedule::Jitter { jitter, max: EVERY_MAX });
        }
        if let CatchUp::All(count) = self.catch_up
            && !(1..=CATCH_UP_MAX).contains(&count)
        {
            return Err(InvalidSchedule::CatchUp { count, max: CATCH_UP_MAX });
        }
        let ticks = self.ticks(born)?;
        match (&self.times, ticks.after(born.at)) {
            (Times::Cron { line, .. }, None) => Err(InvalidSchedule::Never { cron: line.clone() }),
            (Times::Cron { .. } | Times::Every { .. }, _) => Ok(()),
        }
    }

    /// Returns the instants of the schedule.
    pub(crate) fn ticks(&self, born: Born) -> Result<Ticks, InvalidSchedule> {
        let clock = self.times.clock()?;
        Ok(Ticks { clock, jitter_ms: self.jitter_ms, life: born.life, added: born.at })
    }
}

/// The input of the flow that runs a schedule. The first message has the target; what the flow carries on with does not, so
/// it stays small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    pub(crate) rules: Rules,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<Target>,
    /// The instant after which the schedule begins. `None`: that at which it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Timestamp>,
    /// True if the schedule was paused before the flow began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) paused: bool,
    /// The place of a flow that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<Place>,
}

impl Input {
    pub(crate) fn begin(rules: Rules, target: Option<Target>, from: Option<Timestamp>) -> Self {
        Self { rules, target, from, paused: false, place: None }
    }
}
