//! Beginning each action. Nothing here waits: what takes time goes out.

use std::sync::Arc;

use futures::future::BoxFuture;
use holdover_core::error::ErrorInfo;
use holdover_core::gate::GateQuestion;
use holdover_core::ids::{InboxSeq, SessionKey, TurnNumber};
use holdover_core::provision::Provisioner;
use holdover_core::step::{Action, ActionId, Found, Reply, Ruling};
use holdover_core::store::{InterruptCheck, MessageRange, StateStore, StateStoreExt};
use holdover_core::time::Timestamp;
use tokio::time::{sleep_until, timeout};

use super::Driver;
use super::done::Done;
use super::summary::Asking;
use super::transcript::Unread;
use crate::clock::Lease;
use crate::gate;
use crate::guard::guarded;
use crate::runtime::{GivenUp, Runtime, until_answered};

impl Driver {
    pub(super) fn perform(&mut self, action: Action) {
        match action {
            Action::Read { id, messages, inbox_after, interrupt } => {
                self.read(id, messages, inbox_after, interrupt);
            }
            Action::Provision { id, turn } => self.provision(id, turn),
            Action::CallModel { id, call } => self.call_model(id, call),
            Action::Summarise { id, step, model, asked, shown } => {
                self.summarise(id, Asking { step, model, asked }, shown);
            }
            Action::StopModel { of } => self.stop_model(of),
            Action::Consult { id, questions } => self.consult(id, questions),
            Action::RunCalls { calls } => self.run_calls(calls),
            Action::StopCalls { calls, until } => self.stop_calls(&calls, until),
            Action::StageResult { id, staging } => self.stage(id, staging),
            Action::Commit { id, commit } => self.commit(id, commit),
            Action::Sleep { id, until } => self.sleep(id, until),
            Action::TearDown { id, left } => self.tear_down(id, left.provisioned),
            // Taken in `drive`.
            Action::Await { .. } | Action::Exit(_) => {}
        }
    }

    fn read(&mut self, id: ActionId, messages: Vec<MessageRange>, inbox_after: InboxSeq, interrupt: bool) {
        let reading =
            Reading { store: Arc::clone(&self.store), fence: self.fence.clone(), lease: self.lease.clone() };
        self.send(async move {
            match reading.all(messages, inbox_after, interrupt).await {
                Ok(found) => Done::Reply(Reply::Read { id, result: Ok(found) }),
                Err(Unread::LeaseEnded) => Done::LeaseLost,
                Err(Unread::Broken(error)) => {
                    let error = ErrorInfo::new("store.unreadable", error.to_string());
                    Done::Reply(Reply::Read { id, result: Err(error) })
                }
            }
        });
    }

    fn consult(&mut self, id: ActionId, questions: Vec<GateQuestion>) {
        match self.agent.clone() {
            Some(agent) => self.send(async move {
                let rulings = gate::consult(agent, questions).await;
                Done::Reply(Reply::Consulted { id, rulings })
            }),
            None => self.send(async move {
                let detail = String::from("the session runs without its agent");
                let rulings = questions
                    .into_iter()
                    .map(|question| (question.call, Ruling::Unavailable { detail: detail.clone() }))
                    .collect();
                Done::Reply(Reply::Consulted { id, rulings })
            }),
        };
    }

    fn sleep(&mut self, id: ActionId, until: Timestamp) {
        let until = self.clock.instant(until);
        self.send(async move {
            sleep_until(until).await;
            Done::Reply(Reply::Slept { id })
        });
    }

    fn provision(&mut self, id: ActionId, turn: TurnNumber) {
        let provisioner = self.agent.as_ref().and_then(|agent| agent.provisioner()).cloned();
        let (key, runtime, lease) = (self.fence.key.clone(), self.runtime.clone(), self.lease.clone());
        self.send(async move {
            // Making something ready is an effect: another run may have the session, and its surroundings.
            if !lease.runs() {
                return Done::LeaseLost;
            }
            let result = match provisioner {
                Some(provisioner) => {
                    in_time(&runtime, "provision", async move { provisioner.provision(&key, turn).await })
                        .await
                }
                None => Ok(()),
            };
            Done::Reply(Reply::Provisioned { id, result })
        });
    }

    fn tear_down(&mut self, id: ActionId, provisioned: bool) {
        let (key, turn) = (self.fence.key.clone(), self.steps.machine().turn.number);
        let (agent, definition, runtime) =
            (self.agent.clone(), self.definition.clone(), self.runtime.clone());
        let lease = self.lease.clone();
        self.send(async move {
            if !provisioned {
                return Done::Reply(Reply::TornDown { id, result: Ok(()) });
            }
            // A session that is ended without its agent still frees what it holds, if the agent is found.
            let agent = match agent {
                Some(agent) => Ok(agent),
                None => runtime.agent_of(&key, &definition.0, &definition.1).await,
            };
            if !lease.runs() {
                return Done::LeaseLost;
            }
            let result = match agent {
                Ok(agent) => free(&runtime, agent.provisioner().cloned(), key, turn).await,
                Err(error) => Err(ErrorInfo::new("runtime.agent_unknown", error.to_string())),
            };
            Done::Reply(Reply::TornDown { id, result })
        });
    }
}

async fn free(
    runtime: &Runtime,
    provisioner: Option<Arc<dyn Provisioner>>,
    key: SessionKey,
    turn: TurnNumber,
) -> Result<(), ErrorInfo> {
    match provisioner {
        Some(provisioner) => {
            in_time(runtime, "tear_down", async move { provisioner.tear_down(&key, turn).await }).await
        }
        None => Ok(()),
    }
}

/// What a provisioner answers, unless it panics or takes too long.
async fn in_time(
    runtime: &Runtime,
    what: &str,
    doing: impl Future<Output = Result<(), ErrorInfo>> + Send + 'static,
) -> Result<(), ErrorInfo> {
    let at_most = runtime.options().provision_timeout;
    match timeout(at_most, guarded(doing)).await {
        Ok(Ok(result)) => result,
        Ok(Err(panicked)) => Err(ErrorInfo::new(format!("{what}.panicked"), panicked.0)),
        Err(_) => {
            Err(ErrorInfo::new(format!("{what}.timed_out"), format!("no answer in {} s", at_most.as_secs())))
        }
    }
}

/// What a run reads of its session.
struct Reading {
    store: Arc<dyn StateStore>,
    fence: holdover_core::ids::Fence,
    lease: Lease,
}

impl Reading {
    async fn all(
        &self,
        ranges: Vec<MessageRange>,
        inbox_after: InboxSeq,
        interrupt: bool,
    ) -> Result<Found, Unread> {
        let key = &self.fence.key;
        let messages = if ranges.is_empty() {
            Vec::new()
        } else {
            self.answered(|| self.store.read_all_messages(key, &ranges)).await?
        };
        let items = self.answered(|| self.store.read_whole_inbox(key, inbox_after)).await?;
        let interrupt = if interrupt {
            match self.answered(|| self.store.check_interrupt_flag(&self.fence)).await? {
                InterruptCheck::Waiting(interrupt) => Some(interrupt),
                InterruptCheck::Clear => None,
                InterruptCheck::StaleFence => return Err(Unread::LeaseEnded),
            }
        } else {
            None
        };
        Ok(Found { messages, items, interrupt })
    }

    async fn answered<'a, T>(
        &self,
        request: impl FnMut() -> BoxFuture<'a, Result<T, holdover_core::store::StoreError>> + Send,
    ) -> Result<T, Unread> {
        match until_answered(&self.lease, request).await {
            Ok((answer, _)) => Ok(answer),
            Err(GivenUp::LeaseEnded) => Err(Unread::LeaseEnded),
            Err(GivenUp::Final(error)) => Err(Unread::from(error)),
        }
    }
}
