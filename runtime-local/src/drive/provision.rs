//! Prepares the environment of a turn: retries each provisioner, then asks its fallbacks (requirement C53).
//!
//! The waits are short, and the run holds the session meanwhile. If the run dies, the next one begins again with the first
//! provisioner: preparing twice does no harm.

use std::sync::Arc;

use holdover_core::agent::Retries;
use holdover_core::engine::{ActionId, Reply};
use holdover_core::error::ErrorInfo;
use holdover_core::hook::TurnBegins;
use holdover_core::ids::{SessionKey, TurnNumber};
use holdover_core::machine::AgentState;
use holdover_core::provision::Provisioner;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Driver;
use super::done::Done;
use super::perform::in_time;
use crate::agent::Choices;
use crate::clock::Lease;
use crate::host::Host;

/// The preparation of the environment of one turn.
struct Preparing {
    host: Host,
    lease: Lease,
    retries: Retries,
    /// Cancelled once the turn no longer needs its environment.
    stopped: CancellationToken,
    key: SessionKey,
    turn: TurnNumber,
}

/// The descriptions of an environment, or the error of the last try. `None` if the lease has ended.
type Prepared = Option<Result<Vec<String>, ErrorInfo>>;

impl Driver {
    pub(super) fn provision(&mut self, id: ActionId, turn: TurnNumber) {
        let agent = self.agent.as_ref();
        let provisioners = agent.map_or_else(Vec::new, |agent| agent.provisioners().to_vec());
        let hooks = agent.map(|agent| agent.hooks().clone()).unwrap_or_default();
        let retries = agent.map_or_else(Retries::none, |agent| agent.spec().retries.clone());
        self.provisioning = CancellationToken::new();
        let preparing = Preparing {
            host: self.cx.host.clone(),
            lease: self.lease.clone(),
            retries,
            stopped: self.provisioning.clone(),
            key: self.fence.key.clone(),
            turn,
        };
        self.ask(async move {
            // Provisioning is an effect: another run may own the session and its environment.
            if !preparing.lease.runs() {
                return Done::LeaseLost;
            }
            let begins = TurnBegins { session: preparing.key.clone(), turn };
            let result = match hooks.agent_start(&begins).await {
                Ok(()) => preparing.all(provisioners).await,
                Err(error) => Some(Err(error)),
            };
            result.map_or(Done::LeaseLost, |result| Done::Reply(Reply::Provisioned { id, result }))
        });
    }

    /// Ends the waits of provisioners if the turn is over or was stopped.
    pub(super) fn end_provisioning(&self) {
        if !matches!(self.steps.machine().state, AgentState::Provisioning { .. }) {
            self.provisioning.cancel();
        }
    }
}

impl Preparing {
    /// Lets the provisioners prepare one after another, up to the first that fails with all its fallbacks.
    async fn all(&self, provisioners: Vec<Choices>) -> Prepared {
        let mut told = Vec::new();
        for choices in provisioners {
            match self.one_of(choices).await? {
                Ok(what) => told.extend(what),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(told))
    }

    async fn one_of(&self, choices: Choices) -> Prepared {
        let mut error = match self.with_retries(choices.first).await? {
            Ok(what) => return Some(Ok(what)),
            Err(error) => error,
        };
        for fallback in choices.fallbacks {
            if self.stopped.is_cancelled() {
                break;
            }
            match self.with_retries(fallback).await? {
                Ok(mut what) => {
                    what.push(format!("prepared by a fallback, because another provisioner failed: {error}"));
                    return Some(Ok(what));
                }
                Err(newer) => error = newer,
            }
        }
        Some(Err(error))
    }

    async fn with_retries(&self, provisioner: Arc<dyn Provisioner>) -> Prepared {
        let mut attempt = 0;
        let mut before: Option<ErrorInfo> = None;
        loop {
            if !self.lease.runs() {
                return None;
            }
            let (error, is_transient) = match self.once(&provisioner).await {
                Ok(what) => {
                    let retried =
                        before.map(|error| format!("prepared on try {}, after {error}", attempt + 1));
                    return Some(Ok(what.into_iter().chain(retried).collect()));
                }
                Err(failed) => failed,
            };
            let (session, turn) = (&self.key, self.turn);
            tracing::warn!(%session, %turn, %error, attempt, "a provisioner failed");
            let wait = self.retries.after_provisioning(attempt).filter(|_| is_transient);
            let Some(wait) = wait else { return Some(Err(error)) };
            tokio::select! {
                biased;
                () = self.stopped.cancelled() => return Some(Err(error)),
                () = sleep(wait) => {}
            }
            attempt += 1;
            before = Some(error);
        }
    }

    /// Asks the provisioner once. Returns its description, or the error and whether it is transient. A time-out is
    /// transient, and a panic is not. Of other errors, the provisioner says whether they are.
    async fn once(&self, provisioner: &Arc<dyn Provisioner>) -> Result<Option<String>, (ErrorInfo, bool)> {
        let (provisioner, key, turn) = (Arc::clone(provisioner), self.key.clone(), self.turn);
        let made = in_time(&self.host, "provision", async move {
            Ok(match provisioner.provision(&key, turn).await {
                Ok(()) => Ok(provisioner.describe()),
                Err(error) => {
                    let is_transient = provisioner.is_transient(&error);
                    Err((error, is_transient))
                }
            })
        });
        made.await.unwrap_or_else(|error| {
            let is_transient = error.code == "provision.timed_out";
            Err((error, is_transient))
        })
    }
}
