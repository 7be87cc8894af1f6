//! Looks for children that have vanished: they would never answer. Asks agents of other programs for outcomes, which may
//! have been lost on their way.
//!
//! Time is divided into hours, which begin at another minute for each session. A session that waits for children wants a
//! worker at the beginning of each, and the first run in an hour looks for them, whatever woke it. So does a run
//! that takes over from a dead one, which may have died while it looked. For agents of other programs the parts of time
//! are shorter: [`Remote::look_every_ms`](crate::words::remote::Remote::look_every_ms).

use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::action::{Action, ActionId};
use crate::engine::children::ChildrenHandler;
use crate::machine::{Batch, Call, CallState};
use crate::store::StoredItem;
use crate::time::Timestamp;
use crate::words::children::{ChildOutcome, ReplyBy, Tasks, Unanswered};
use crate::words::ids::Fence;
use crate::words::remote::LOOK_EVERY_MIN_MS;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_hours(1);

/// Whether a run that begins at `now` looks for the children, if the run before it began at `before`.
pub(crate) fn looks_again(fence: &Fence, batch: Option<&Batch>, before: Timestamp, now: Timestamp) -> bool {
    next_look(fence, look_every(batch), before) <= now
}

/// The time between two looks at the children of a step.
fn look_every(batch: Option<&Batch>) -> Duration {
    let every = |call: &Call| {
        let CallState::BlockedOnChild { remote: Some(remote), .. } = &call.state else { return None };
        Some(Duration::from_millis(remote.look_every_ms.max(LOOK_EVERY_MIN_MS)))
    };
    let each = batch.into_iter().flat_map(|batch| batch.calls.iter().filter_map(every));
    each.chain([LOOK_EVERY]).min().unwrap_or(LOOK_EVERY)
}

/// The first instant after `at` at which a part of time of this session begins, if each is as long as `every`.
fn next_look(fence: &Fence, every: Duration, at: Timestamp) -> Timestamp {
    let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
    let (_, bits) = fence.incarnation.0.as_u64_pair();
    let phase = i64::try_from(bits % every.unsigned_abs()).unwrap_or_default();
    let into_it = (at.as_ms().saturating_add(phase)).rem_euclid(every);
    Timestamp::from_ms(at.as_ms().saturating_add(every - into_it))
}

impl ChildrenHandler<'_> {
    /// Looks for the children that have not answered, if the run is to look. False: there is nothing to look for.
    pub(crate) fn look(&mut self) -> bool {
        if self.cx.end.starts_nothing() || !std::mem::take(&mut self.cx.run.looks) {
            return false;
        }
        let Some(batch) = self.cx.mind.machine.state.batch() else { return false };
        let waits = batch.calls.iter().filter_map(|call| self.unanswered(call));
        let children: Vec<Unanswered> = waits.chain(self.unended()).collect();
        if children.is_empty() {
            return false;
        }
        let id = self.cx.output.next_id();
        self.cx.out.looking = Some(id);
        self.cx.output.push(Action::FindChildren { id, children });
        true
    }

    /// The background children for whose ends a call waits, as far as they have not come.
    fn unended(&self) -> impl Iterator<Item = Unanswered> {
        let machine = &self.cx.mind.machine;
        let waits = |call: &Call| matches!(call.state, CallState::AwaitingEnds { .. });
        let any = machine.state.batch().is_some_and(|batch| batch.calls.iter().any(waits));
        machine.running_children().filter(move |_| any).filter_map(|child| {
            Some(Unanswered {
                pending: child.pending.clone(),
                indexes: vec![child.index],
                fail_fast: false,
                by: ReplyBy::Message {
                    agent: child.agent.clone(),
                    quiet: child.terms.quiet,
                    task: child.owes.last()?.clone(),
                },
                tasks: child.owes.clone(),
                remote: None,
            })
        })
    }

    fn unanswered(&self, call: &Call) -> Option<Unanswered> {
        let CallState::BlockedOnChild { pending, count, started: true, remote, .. } = &call.state else {
            return None;
        };
        let answers = self.answers(call);
        let outcome = |item: &StoredItem| item.payload.parse::<ChildOutcome>().ok();
        let answered: BTreeSet<u32> =
            answers.iter().filter_map(outcome).map(|outcome| outcome.index).collect();
        let rules = self.cx.run.agent.as_ref().and_then(|agent| agent.sub_agent(&call.tool));
        let tasks = rules.and_then(|rules| Tasks::read(&self.cx.mind.arguments_of(&call.id), rules).ok());
        Some(Unanswered {
            pending: pending.clone(),
            indexes: (0..*count).filter(|index| !answered.contains(index)).collect(),
            fail_fast: tasks.is_some_and(|tasks| tasks.fail_fast),
            by: ReplyBy::Answer,
            tasks: Vec::new(),
            remote: remote.clone(),
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
        let waits = |call: &Call| {
            matches!(call.state, CallState::BlockedOnChild { .. } | CallState::AwaitingEnds { .. })
        };
        let batch = self.cx.mind.machine.state.batch();
        if !batch.is_some_and(|batch| batch.calls.iter().any(waits)) {
            return own;
        }
        let look = next_look(&self.cx.run.fence, look_every(batch), self.cx.run.now);
        Some(own.map_or(look, |own| own.min(look)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::ids::{Epoch, Incarnation, SessionId, SessionKey, TenantId};

    #[test]
    fn each_hour_of_a_session_has_one_first_run_and_begins_at_its_own_minute() {
        let fence = |bits: u128| Fence {
            key: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
            incarnation: Incarnation(uuid::Uuid::from_u128(bits)),
            epoch: Epoch(1),
        };
        let hour = LOOK_EVERY.as_millis() as i64;
        for bits in [0, 1, 77_777_777] {
            let fence = fence(bits);
            let begins = next_look(&fence, LOOK_EVERY, Timestamp::from_ms(5 * hour));
            assert!((1..=hour).contains(&(begins.as_ms() - 5 * hour)), "{begins}");
            let at = |ms: i64| Timestamp::from_ms(begins.as_ms() + ms);
            assert_eq!(next_look(&fence, LOOK_EVERY, begins), at(hour), "an hour after the last");
            assert!(looks_again(&fence, None, at(-1), begins), "the first of an hour looks");
            assert!(!looks_again(&fence, None, begins, at(hour - 1)), "the others do not");
        }
        let first = |bits| next_look(&fence(bits), LOOK_EVERY, Timestamp::from_ms(0));
        assert_ne!(first(1), first(2));
    }
}
