//! Whether a decision can be carried out as it is said. What is certain to come to nothing is refused before it is
//! delivered; what only a run can judge, a gate elsewhere or a hook, is judged when the call is about to run.

use std::sync::Arc;

use holdover_core::gate::{ArgumentPatterns, GateQuestion};
use holdover_core::machine::{MORE_STEPS, MoreSteps};
use holdover_core::message::Decision;
use holdover_core::payload::Digest;
use holdover_core::store::Session;

use super::Runtime;
use super::deliver::EDIT_BYTES_MAX;
use super::pending::PendingEntry;
use crate::agent::Definition;
use crate::error::RuntimeError;
use crate::gate;

impl Runtime {
    /// Refuses a decision on `asked` that is certain not to be carried out.
    pub(super) async fn refuse_unfit(
        &self,
        asked: &PendingEntry,
        decision: &Decision,
    ) -> Result<(), RuntimeError> {
        let why = match &decision.arguments {
            _ if !decision.approve => None,
            // That it is too long is said when it is delivered.
            Some(edited) if edited.len() > EDIT_BYTES_MAX => None,
            Some(edited) => self.unfit_edit(asked, edited).await?.or_else(|| not_for_good(asked, decision)),
            None => not_for_good(asked, decision),
        };
        match why {
            None => Ok(()),
            Some(why) => Err(RuntimeError::Unfit {
                key: asked.call.key.clone(),
                pending: asked.call.id.clone(),
                call: asked.call.call.clone(),
                why,
            }),
        }
    }

    /// Why the call will not run with these arguments, as far as that is known here.
    async fn unfit_edit(&self, asked: &PendingEntry, edited: &str) -> Result<Option<String>, RuntimeError> {
        let session = self.existing(&asked.call.key).await?;
        // What nobody can read here a run judges.
        let Ok(Definition { spec, .. }) = Definition::read(&session.definition) else { return Ok(None) };
        let tool = asked.body.tool.as_str();
        let Some(known) = spec.tool(tool) else {
            let is_for_more = tool == MORE_STEPS;
            let granted = is_for_more.then(|| MoreSteps::read(edited, spec.limits.max_steps));
            return Ok(granted.and_then(Result::err));
        };
        if let Err(why) = gate::fit(&known.parameters, edited) {
            return Ok(Some(why));
        }
        let question = GateQuestion {
            session: asked.call.key.clone(),
            call: asked.call.call.clone(),
            tool: asked.body.tool.clone(),
            arguments: edited.to_owned(),
            digest: Digest::of(edited.as_bytes()),
            effect: known.effect,
            dangerous: known.dangerous,
            approved: true,
            approved_on: asked.body.panel.as_deref().map(|panel| Box::new(panel.terms.clone())),
        };
        Ok(self.foreseen_denial(&session, question).await)
    }

    /// Why the policy is certain to deny it, if the agent is known in this process.
    async fn foreseen_denial(&self, session: &Session, question: GateQuestion) -> Option<String> {
        let agent = self.agent_of(&session.key, &session.queue, &session.definition).await.ok()?;
        gate::foreseen_denial(Arc::clone(&agent), question).await
    }
}

/// Why what is to stand for the rest of the session would be approved this once alone.
fn not_for_good(asked: &PendingEntry, decision: &Decision) -> Option<String> {
    if !decision.always {
        return None;
    }
    if asked.body.panel.as_deref().is_some_and(|panel| !panel.terms.is_anyone()) {
        return Some(
            "who must approve is laid down for each call: it cannot be approved for the rest of the session"
                .to_owned(),
        );
    }
    if asked.body.tool.as_str() == MORE_STEPS {
        return Some(
            "more steps are granted once: they cannot be approved for the rest of the session".to_owned(),
        );
    }
    let runs = decision.arguments.as_ref().unwrap_or(&asked.body.arguments);
    if decision.only.let_through(runs) {
        return None;
    }
    let has = |name: &str| ArgumentPatterns::from_iter([(name, "*")]).fit(runs);
    Some(match decision.only.iter().find(|(name, _)| !has(name)) {
        Some((name, _)) => format!("only: this call has no argument {name:?}"),
        None => format!("only: the arguments of this call do not fit {}", decision.only),
    })
}
