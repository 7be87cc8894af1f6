//! Begins the children of a call, here or in another program.

use futures::FutureExt;
use holdover_core::children::{ChildNames, ChildOutcome, ChildPlan, Parent, ReplyTo};
use holdover_core::engine::STATE_FORMAT_LED;
use holdover_core::ids::ItemKey;
use holdover_core::message::Said;
use holdover_core::payload::Payload;
use holdover_core::store::{CreateOutcome, InboxItem, ItemKind, NewSession, StateStore, Wake};

use super::elsewhere::Line;
use super::{Family, LeaseEnded, all};
use crate::agent::Agent;

impl Family {
    /// Begins the children of a call: creates their sessions, or gives their tasks to another program. Answers in
    /// place of each child that cannot be begun.
    pub(super) async fn begin(&self, agent: Option<&Agent>, plan: &ChildPlan) -> Result<(), LeaseEnded> {
        let line = plan.remote.as_deref().map(|remote| self.line(remote));
        let mut each = Vec::new();
        for (task, index) in plan.tasks.iter().zip(0_u32..) {
            each.push(self.begin_one(agent, line.as_ref(), plan, task, index).boxed());
        }
        all(each).await
    }

    async fn begin_one(
        &self,
        agent: Option<&Agent>,
        line: Option<&Line<'_>>,
        plan: &ChildPlan,
        task: &str,
        index: u32,
    ) -> Result<(), LeaseEnded> {
        let created = match line {
            Some(line) => self.begin_elsewhere(line, plan, task, index).await?,
            None => self.create(agent, plan, task, index).await?,
        };
        let why = match created {
            Created::There => {
                self.offspring.tell_open();
                return Ok(());
            }
            Created::Not(why) => why,
        };
        let by = plan.told_by();
        let (tasks, outcome) = (std::slice::from_ref(&plan.task), ChildOutcome::not_created(index, why));
        self.answer_for(&plan.pending, plan.fail_fast, &by, tasks, &outcome).await
    }

    async fn create(
        &self,
        agent: Option<&Agent>,
        plan: &ChildPlan,
        task: &str,
        index: u32,
    ) -> Result<Created, LeaseEnded> {
        let Some(agent) = agent else {
            return Ok(Created::Not(format!("there is no sub-agent {}", plan.tool)));
        };
        let new = match self.new_child(agent, plan, task, index) {
            Ok(new) => new,
            Err(why) => return Ok(Created::Not(why)),
        };
        let outcome = match self.answered(|| self.store.create_session(new.clone())).await? {
            Ok(outcome) => outcome,
            Err(error) => return Ok(Created::Not(error.to_string())),
        };
        Ok(match outcome {
            CreateOutcome::Created { .. } => Created::There,
            CreateOutcome::AlreadyExists { incarnation, .. } if incarnation == new.incarnation => {
                Created::There
            }
            CreateOutcome::AlreadyExists { .. } => {
                Created::Not("its id belongs to another session".to_owned())
            }
            CreateOutcome::Deleted => Created::Not("it was deleted".to_owned()),
            CreateOutcome::ItemConflict { .. } => Created::Not("its task was given twice".to_owned()),
        })
    }

    fn new_child(
        &self,
        agent: &Agent,
        plan: &ChildPlan,
        task: &str,
        index: u32,
    ) -> Result<NewSession, String> {
        let names = ChildNames::of(&plan.pending, index).map_err(|error| error.to_string())?;
        let parent = Parent {
            session: self.fence.key.clone(),
            incarnation: self.fence.incarnation,
            pending: plan.pending.clone(),
            index,
            fail_fast: plan.fail_fast,
            by: plan.told_by(),
        };
        let reply = ReplyTo::parent(parent, plan.allowance);
        let said = Said { reply: Some(Box::new(reply)), ..Said::new(task) };
        let item = InboxItem {
            key: ItemKey::new("task").map_err(|error| error.to_string())?,
            kind: ItemKind::Message { wake: Wake::Now },
            incarnation: None,
            payload: Payload::json(&said).map_err(|error| error.to_string())?,
        };
        let labels = agent.labelled(self.labels_of_child());
        let (queue, definition) = (agent.queue().clone(), agent.definition().clone());
        let mut new = self.session(names, queue, definition, labels, vec![item]);
        if agent.spec().procedure.is_some() {
            new.format = STATE_FORMAT_LED;
        }
        Ok(new)
    }
}

/// The result of creating a child.
pub(super) enum Created {
    There,
    Not(String),
}
