//! Checks whether a decision can be carried out, and refuses it before the delivery if it cannot. The checks that
//! only a run can make (a gate elsewhere, a hook) are made when the call is about to run.

use holdover_core::gate::{ArgumentPatterns, GateQuestion};
use holdover_core::ids::{InvalidId, PendingId, SessionKey};
use holdover_core::machine::{MORE_STEPS, Machine, MoreSteps, PROCEDURE_WAIT};
use holdover_core::message::{ClientAnswer, Decision};
use holdover_core::payload::Digest;
use holdover_core::procedure::{ProcedureAnswer, ProcedureWait};
use holdover_core::store::{PendingKind, Session};

use super::Runtime;
use super::answering::Approval;
use super::deliver::EDIT_BYTES_MAX;
use super::pending::{Bound, PendingEntry};
use super::standing::machine_of;
use crate::agent::Definition;
use crate::error::RuntimeError;
use crate::gate;

impl Runtime {
    /// Checks whether [`approve`](Self::approve) would accept this approval, as far as this is known here. Nothing
    /// is stored, so another person may decide in between.
    ///
    /// Errors: those of [`approve`](Self::approve) that are found before the delivery. If the call is closed, errors
    /// that depend on its content are left out.
    pub async fn would_approve(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        approval: &Approval,
    ) -> Result<(), RuntimeError> {
        let Bound { saw, asked, .. } = self.bound_to(key, pending, PendingKind::Approval).await?;
        self.refuse_unfit(asked.as_deref(), &approval.clone().decision(saw)).await
    }

    /// Refuses a decision if the name of the person is empty, if the person may not decide, or if it cannot be carried
    /// out.
    pub(super) async fn refuse_unfit(
        &self,
        asked: Option<&PendingEntry>,
        decision: &Decision,
    ) -> Result<(), RuntimeError> {
        if decision.by.as_deref().is_some_and(|by| by.trim().is_empty()) {
            return Err(InvalidId::Empty { kind: "by: the name of who decides" }.into());
        }
        let Some(asked) = asked else { return Ok(()) };
        if let Some(panel) = asked.body.panel.as_deref() {
            let now = self.now();
            if !panel.may_answer(decision.by.as_deref(), now) {
                return Err(RuntimeError::NotApprover {
                    key: asked.call.key.clone(),
                    pending: asked.call.id.clone(),
                    by: decision.by.clone(),
                    may: panel.who_may(now).map(str::to_owned).collect(),
                });
            }
        }
        match self.unfit(asked, decision).await? {
            None => Ok(()),
            Some(why) => Err(RuntimeError::Unfit {
                key: asked.call.key.clone(),
                pending: asked.call.id.clone(),
                call: asked.call.call.clone(),
                why,
            }),
        }
    }

    /// Refuses an answer to a parked state of a procedure that does not wait for this input.
    pub(super) async fn refuse_unfit_input(
        &self,
        asked: Option<&PendingEntry>,
        answer: &ClientAnswer,
    ) -> Result<(), RuntimeError> {
        let Some(asked) = asked.filter(|asked| asked.body.tool.as_str() == PROCEDURE_WAIT) else {
            return Ok(());
        };
        let session = self.existing(&asked.call.key).await?;
        let waits = |machine: Machine| machine.state.batch().is_some_and(|batch| batch.for_procedure);
        // A tool of the agent may have the same name.
        if !machine_of(&session)?.is_some_and(waits) {
            return Ok(());
        }
        let Ok(wait) = serde_json::from_str::<ProcedureWait>(&asked.body.arguments) else { return Ok(()) };
        let why = if answer.is_error {
            "an error is no input of the procedure".to_owned()
        } else if !answer.changes.is_empty() || !answer.images.is_empty() {
            "it takes no changes of the custom state and no images".to_owned()
        } else {
            match ProcedureAnswer::read(&answer.content, &wait) {
                Ok(_) => return Ok(()),
                Err(why) => why,
            }
        };
        Err(RuntimeError::Unfit {
            key: asked.call.key.clone(),
            pending: asked.call.id.clone(),
            call: asked.call.call.clone(),
            why,
        })
    }

    async fn unfit(&self, asked: &PendingEntry, decision: &Decision) -> Result<Option<String>, RuntimeError> {
        // An edit that is too long is refused when it is delivered.
        let edited = decision.arguments.as_deref().filter(|edited| edited.len() <= EDIT_BYTES_MAX);
        if !decision.approve || (edited.is_none() && !decision.always) {
            return Ok(None);
        }
        let session = self.existing(&asked.call.key).await?;
        let is_for_more = is_for_more(asked, &session);
        let unfit = match edited {
            Some(edited) => self.unfit_edit(asked, &session, edited, is_for_more).await,
            None => None,
        };
        Ok(unfit.or_else(|| not_for_good(asked, decision, is_for_more)))
    }

    /// Returns the reason why the call cannot run with these arguments, as far as this is known here. Uses the
    /// present agent or, if it is not found here, the agent's definition in the session.
    async fn unfit_edit(
        &self,
        asked: &PendingEntry,
        session: &Session,
        edited: &str,
        is_for_more: bool,
    ) -> Option<String> {
        let agent = self.shared.agents.find(&session.key, &session.queue, &session.definition).await.ok();
        let stored = match agent {
            Some(_) => None,
            // If this process cannot read the definition, a run judges the arguments.
            None => Some(Definition::read(&session.definition).ok()?.spec),
        };
        let spec = agent.as_deref().map(|agent| &**agent.spec()).or(stored.as_ref())?;
        if is_for_more {
            return MoreSteps::read(edited, spec.limits.max_steps).err();
        }
        let known = spec.tool(asked.body.tool.as_str())?;
        if let Err(why) = gate::fit(&known.parameters, edited) {
            return Some(why);
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
        gate::foreseen_denial(agent?, question).await
    }
}

/// Returns true if the call asks for more steps. A tool of the agent may have the same name.
fn is_for_more(asked: &PendingEntry, session: &Session) -> bool {
    let asks = |machine: Machine| machine.state.batch().is_some_and(|batch| batch.for_more);
    asked.body.tool.as_str() == MORE_STEPS && machine_of(session).ok().flatten().is_none_or(asks)
}

/// Returns the reason why a decision that also approves later calls cannot be carried out, if there is one.
fn not_for_good(asked: &PendingEntry, decision: &Decision, is_for_more: bool) -> Option<String> {
    if !decision.always {
        return None;
    }
    if asked.body.panel.as_deref().is_some_and(|panel| !panel.terms.is_anyone()) {
        return Some(
            "who must approve is laid down for each call: it cannot be approved for the rest of the session"
                .to_owned(),
        );
    }
    if is_for_more {
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
