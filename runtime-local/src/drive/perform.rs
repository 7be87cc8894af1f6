//! Starts each action. Nothing waits here: anything that takes time runs in the background.

use holdover_core::engine::{Action, ActionId, Found, Reply, Ruling};
use holdover_core::error::ErrorInfo;
use holdover_core::gate::GateQuestion;
use holdover_core::hook::{StepEnded, TurnEnds};
use holdover_core::ids::{InboxSeq, SessionKey, TurnNumber};
use holdover_core::machine::AgentState;
use holdover_core::store::{InterruptCheck, MessageRange, StateStore, StateStoreExt};
use holdover_core::time::Timestamp;
use tokio::time::{sleep_until, timeout};

use super::Driver;
use super::done::Done;
use super::running::Streams;
use super::summary::Asking;
use super::transcript::{Reading, Unread};
use crate::agent::Choices;
use crate::gate;
use crate::guard::guarded;
use crate::host::Host;

impl Driver {
    pub(super) fn perform(&mut self, action: Action) {
        match action {
            Action::Read { id, messages, inbox_after, interrupt } => {
                self.read(id, messages, inbox_after, interrupt);
            }
            Action::Provision { id, turn } => self.provision(id, turn),
            Action::CallModel { id, call } => self.call_model(id, call),
            Action::Summarise { id, step, model, asked, refused, handoff, attempt, shown } => {
                self.summarise(id, Asking { step, model, asked, refused, handoff, attempt }, shown);
            }
            Action::Shorten { id, step, model, results, shown } => {
                self.shorten(id, step, model, results, shown);
            }
            Action::Plan { id, begins, again, told, room } => self.plan(id, begins, again, told, room),
            Action::StopModel { of } => self.stop_model(of),
            Action::Consult { id, questions } => self.consult(id, questions),
            Action::Foresee { id, question } => self.foresee(id, question),
            Action::RunEarly { call } => self.run_early(call),
            Action::DropEarly { calls, until } => self.drop_early(&calls, until),
            Action::RunHooks { id, step } => self.run_hooks(id, *step),
            Action::RunCalls { calls, stream, own } => self.run_calls(calls, Streams { now: stream, own }),
            Action::StopCalls { calls, reason, until } => self.stop_calls(&calls, reason, until),
            Action::StageResult { id, staging } => self.stage(id, staging),
            Action::Commit { id, commit } => self.commit(id, commit),
            Action::Sleep { id, until } => self.sleep(id, until),
            Action::StartChildren { id, plan } => self.start_children(id, *plan),
            Action::StopChildren { id, children } => self.stop_children(id, children),
            Action::FindChildren { id, children, successors } => self.find_children(id, children, successors),
            Action::TellOthers { id, children, replies, successor, outcome } => {
                self.tell_others(id, children, replies, successor.map(|successor| *successor), *outcome);
            }
            Action::TearDown { id } => self.tear_down(id),
            // Handled in `drive`.
            Action::Await { .. } | Action::Exit(_) => {}
        }
    }

    fn read(&mut self, id: ActionId, messages: Vec<MessageRange>, inbox_after: InboxSeq, interrupt: bool) {
        let reading = self.reading();
        self.ask(async move {
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
            Some(agent) => self.ask(async move {
                let rulings = gate::consult(agent, questions).await;
                Done::Reply(Reply::Consulted { id, rulings })
            }),
            None => self.ask(async move {
                let detail = String::from("the session runs without its agent");
                let rulings = questions
                    .into_iter()
                    .map(|question| (question.call, Ruling::Unavailable { detail: detail.clone() }))
                    .collect();
                Done::Reply(Reply::Consulted { id, rulings })
            }),
        };
    }

    fn foresee(&mut self, id: ActionId, question: GateQuestion) {
        let agent = self.agent.clone();
        self.ask(async move {
            let profile = match agent {
                Some(agent) => gate::foresee(agent, question).await,
                None => None,
            };
            Done::Reply(Reply::Foreseen { id, profile })
        });
    }

    fn run_hooks(&mut self, id: ActionId, step: StepEnded) {
        let hooks = self.agent.as_ref().map(|agent| agent.hooks().clone()).unwrap_or_default();
        self.ask(async move {
            let (stop, corrections) = hooks.after_step(&step).await;
            Done::Reply(Reply::HooksRan { id, stop, corrections })
        });
    }

    fn sleep(&mut self, id: ActionId, until: Timestamp) {
        let until = self.clock.instant(until);
        self.send(async move {
            sleep_until(until).await;
            Done::Reply(Reply::Slept { id })
        });
    }

    fn tear_down(&mut self, id: ActionId) {
        let (key, ends) = (self.fence.key.clone(), self.turn_ends());
        let turn = self.steps.machine().turn.number;
        let (agent, definition, cx) = (self.agent.clone(), self.definition.clone(), self.cx.clone());
        let lease = self.lease.clone();
        let reads_over = self.early.none_is_out();
        self.ask(async move {
            // A call that was begun early may still use what is freed.
            reads_over.await;
            // A session that is ended without its agent still frees its resources, if the agent is found.
            let agent = match agent {
                Some(agent) => Ok(agent),
                None => cx.agents.find(&key, &definition.0, &definition.1).await,
            };
            if !lease.runs() {
                return Done::LeaseLost;
            }
            let result = match agent {
                Ok(agent) => {
                    let told = match &ends {
                        Some(ends) => agent.hooks().agent_end(ends).await,
                        None => Ok(()),
                    };
                    let freed = free(&cx.host, agent.provisioners().to_vec(), key, turn).await;
                    freed.and(told)
                }
                Err(error) => Err(ErrorInfo::new("runtime.agent_unknown", error.to_string())),
            };
            Done::Reply(Reply::TornDown { id, result })
        });
    }

    /// Returns the facts about the ending turn that hooks get.
    fn turn_ends(&self) -> Option<TurnEnds> {
        let machine = self.steps.machine();
        let AgentState::TearingDown { ending, .. } = &machine.state else { return None };
        Some(TurnEnds {
            session: self.fence.key.clone(),
            turn: machine.turn.number,
            ending: ending.clone(),
            steps: machine.turn.steps,
            usage: machine.turn.spent.turn,
            session_usage: machine.usage,
        })
    }
}

/// Lets each provisioner and each fallback free its resources, even if others fail. Returns the first error.
async fn free(
    host: &Host,
    provisioners: Vec<Choices>,
    key: SessionKey,
    turn: TurnNumber,
) -> Result<(), ErrorInfo> {
    let mut result = Ok(());
    let in_order =
        provisioners.into_iter().flat_map(|choices| [vec![choices.first], choices.fallbacks].concat());
    for provisioner in in_order.collect::<Vec<_>>().into_iter().rev() {
        let key = key.clone();
        let freed = in_time(host, "tear_down", async move { provisioner.tear_down(&key, turn).await }).await;
        result = result.and(freed);
    }
    result
}

/// Returns the answer of a provisioner, or an error if it panics or takes too long.
pub(super) async fn in_time<T: Send + 'static>(
    host: &Host,
    what: &str,
    doing: impl Future<Output = Result<T, ErrorInfo>> + Send + 'static,
) -> Result<T, ErrorInfo> {
    let at_most = host.options().provision_timeout;
    match timeout(at_most, guarded(doing)).await {
        Ok(Ok(result)) => result,
        Ok(Err(panicked)) => Err(ErrorInfo::new(format!("{what}.panicked"), panicked.0)),
        Err(_) => {
            Err(ErrorInfo::new(format!("{what}.timed_out"), format!("no answer in {} s", at_most.as_secs())))
        }
    }
}

impl Reading {
    /// Reads the messages, the inbox and, if asked for, the interrupt of the session.
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
            match self.answered(|| self.store.take_interrupt(&self.fence)).await? {
                InterruptCheck::Waiting(interrupt) => Some(interrupt),
                InterruptCheck::Clear => None,
                InterruptCheck::StaleFence => return Err(Unread::LeaseEnded),
            }
        } else {
            None
        };
        Ok(Found { messages, items, interrupt })
    }
}
