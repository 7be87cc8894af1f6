//! Looks for children that have vanished: they would never answer. A session that waits for children looks for them
//! whenever time alone wakes it, and time wakes it every hour.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::action::{Action, ActionId};
use crate::engine::children::ChildrenHandler;
use crate::machine::{Call, CallState};
use crate::store::StoredItem;
use crate::time::Timestamp;
use crate::words::children::{ChildOutcome, Tasks, Unanswered};

/// The longest time for which a session waits for children without looking for them.
const LOOK_EVERY: Duration = Duration::from_hours(1);

impl ChildrenHandler<'_> {
    /// Looks for the children that have not answered, if time alone woke the run. False: there is nothing to look for.
    pub(crate) fn look(&mut self) -> bool {
        if self.cx.end.starts_nothing() || !std::mem::take(&mut self.cx.run.looks) {
            return false;
        }
        let Some(batch) = self.cx.mind.machine.state.batch() else { return false };
        let children: Vec<Unanswered> = batch.calls.iter().filter_map(|call| self.unanswered(call)).collect();
        if children.is_empty() {
            return false;
        }
        let id = self.cx.output.next_id();
        self.cx.out.looking = Some(id);
        self.cx.output.push(Action::FindChildren { id, children });
        true
    }

    fn unanswered(&self, call: &Call) -> Option<Unanswered> {
        let CallState::BlockedOnChild { pending, count, started: true, .. } = &call.state else {
            return None;
        };
        let answers = self.answers(call);
        let outcome = |item: &StoredItem| item.payload.parse::<ChildOutcome>().ok();
        let answered: BTreeSet<u32> =
            answers.iter().filter_map(outcome).map(|outcome| outcome.index).collect();
        let rules = self.cx.run.agent.as_ref()?.sub_agent(&call.tool)?;
        let tasks = Tasks::read(&self.cx.mind.arguments_of(&call.id), rules).ok();
        Some(Unanswered {
            pending: pending.clone(),
            indexes: (0..*count).filter(|index| !answered.contains(index)).collect(),
            fail_fast: tasks.is_some_and(|tasks| tasks.fail_fast),
        })
    }

    /// The children were looked for, and those that are gone have answered.
    pub(crate) fn on_found(&mut self, id: ActionId) {
        if self.cx.out.looking.take_if(|looking| *looking == id).is_some() {
            self.cx.out.news.hear();
        }
    }

    /// Whether children are being begun, stopped or looked for.
    pub(crate) fn are_attended_to(&self) -> bool {
        !self.cx.out.children.is_empty() || self.cx.out.looking.is_some()
    }

    /// The instant at which a session that waits wants a worker: `own`, or earlier to look for its children.
    pub(crate) fn alarm(&self, own: Option<Timestamp>) -> Option<Timestamp> {
        if self.cx.mind.machine.children().is_empty() {
            return own;
        }
        let look = self.cx.run.now.after(LOOK_EVERY);
        Some(own.map_or(look, |own| own.min(look)))
    }
}
