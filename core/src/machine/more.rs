//! More steps than an agent may take: a person is asked for them where the turn would end otherwise
//! (requirement C42).
//!
//! The request is a pending call like any other, of a tool that no agent has and no model is told of. It
//! stands alone in a [`Batch`] that is no step. So everything that holds for a call that waits for a person
//! holds for it: it is listed, it expires, it outlives its run, and whatever stops the turn withdraws it.

use serde::{Deserialize, Serialize};

use super::{AskedForMore, Batch, Call, CallState};
use crate::words::ids::StepNumber;
use crate::words::tool::{EffectClass, ResourceProfile, RunsOn};

/// The name of the tool under which more steps are asked for.
pub const MORE_STEPS: &str = "more_steps";

/// The most steps that one answer grants, unless the agent itself may take more.
pub(crate) const MORE_STEPS_MAX: u32 = 1_000;

/// The request, as the arguments of the call: an answer that edits them grants another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoreSteps {
    /// The number of steps.
    pub steps: u32,
}

impl MoreSteps {
    /// Reads the number of steps that an answer with these arguments grants, for an agent that may take
    /// `max_steps` by itself.
    ///
    /// Errors: what is wrong with the arguments.
    pub fn read(arguments: &str, max_steps: u32) -> Result<Self, String> {
        let most = MORE_STEPS_MAX.max(max_steps);
        match serde_json::from_str::<Self>(arguments) {
            Ok(more) if (1..=most).contains(&more.steps) => Ok(more),
            Ok(more) => Err(format!("{} is not from 1 to {most}", more.steps)),
            Err(error) => Err(format!("it wants the form {{\"steps\": 10}}: {error}")),
        }
    }
}

/// The batch that stands for this request after `step`.
pub(crate) fn batch(step: StepNumber, asked: &AskedForMore) -> Batch {
    let call = Call {
        id: asked.call.clone(),
        tool: MORE_STEPS.to_owned(),
        effect: EffectClass::ReadOnly,
        dangerous: false,
        runs_on: RunsOn::Server,
        arguments: asked.notice,
        profile: ResourceProfile::Keys(Vec::new()),
        round: 1,
        approved: None,
        panel: None,
        sent_before: false,
        tries: 0,
        changes: Vec::new(),
        state: CallState::BlockedOnUser { pending: asked.pending.clone(), deadline: asked.deadline },
    };
    Batch { for_more: true, ..Batch::new(step, asked.notice, vec![call]) }
}
