//! Looks for children that have vanished, because they would never answer. Asks agents of other programs for outcomes,
//! because an outcome may have been lost on its way.
//!
//! Time is divided into hours. They begin at a different minute for each session. A session that waits for children,
//! or that rests while its background children run, wants a worker at the beginning of each hour. The first run in an
//! hour looks for the children, whatever woke it. A run that takes over from a dead run also looks, because that run
//! may have died while it looked. At rest, a run looks if an hour has begun since the last turn ended.
//!
//! A session that was handed over looks for its successor in the same way, until the successor rests, if somebody waits
//! for the outcome. A session with an alarm is not purged. A session at rest is therefore kept while its background
//! children or that successor work: they are found by way of this session.
//!
//! Agents of other programs are looked for at shorter intervals. The first interval is
//! [`Remote::look_every_ms`](crate::words::remote::Remote::look_every_ms). The interval grows with the time that the
//! call has waited, because each look costs a run. An outcome is therefore late by at most the first interval or an
//! eighth of the time waited, whichever is longer, but never by more than an hour.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::action::{Action, ActionId};
use crate::engine::children::ChildrenHandler;
use crate::engine::context::run::Look;
use crate::machine::{AgentState, Batch, Call, CallState};
use crate::store::StoredItem;
use crate::time::Timestamp;
use crate::words::background::{Background, ChildEnd};
use crate::words::children::{ChildOutcome, ReplyBy, Tasks, Unanswered};
use crate::words::ids::{Fence, PendingId};
use crate::words::mailbox;
use crate::words::remote::LOOK_EVERY_MIN_MS;

/// The longest time between two looks.
const LOOK_EVERY: Duration = Duration::from_hours(1);

/// The divisor of the time waited so far. The time between two looks at an agent of another program grows up to the
/// quotient.
const LOOKS_IN_WAIT: u32 = 8;

/// Returns true if a run that begins at `now` looks for the children. The run before it began at `before`.
pub(crate) fn looks_again(fence: &Fence, batch: Option<&Batch>, before: Timestamp, now: Timestamp) -> bool {
    // Intervals of calls that began differently need not begin together.
    let every = look_every(batch, before).min(look_every(batch, now));
    next_look(fence, every, before) <= now
}

/// Returns the time between two looks at the children of a step, as it stands at the instant `at`.
fn look_every(batch: Option<&Batch>, at: Timestamp) -> Duration {
    let every = |call: &Call| {
        let CallState::BlockedOnChild { remote: Some(remote), since, .. } = &call.state else { return None };
        let first = Duration::from_millis(remote.look_every_ms.max(LOOK_EVERY_MIN_MS));
        Some(longer(first, since.map_or(Duration::ZERO, |since| since.until(at))))
    };
    let each = batch.into_iter().flat_map(|batch| batch.calls.iter().filter_map(every));
    each.chain([LOOK_EVERY]).min().unwrap_or(LOOK_EVERY)
}

/// Returns the time between two looks for a call that has waited for `waited`: `first`, doubled as often as the wait
/// allows. Each longer interval begins where a shorter one begins, so a run that was woken to look finds that it must
/// look.
fn longer(first: Duration, waited: Duration) -> Duration {
    let most = (waited / LOOKS_IN_WAIT).min(LOOK_EVERY);
    let mut every = first.min(LOOK_EVERY);
    while every * 2 <= most {
        every *= 2;
    }
    every
}

/// Returns the first instant after `at` at which an interval of this session begins. Each interval lasts `every`.
fn next_look(fence: &Fence, every: Duration, at: Timestamp) -> Timestamp {
    let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
    let (_, bits) = fence.incarnation.0.as_u64_pair();
    let phase = i64::try_from(bits % every.unsigned_abs()).unwrap_or_default();
    let into_it = (at.as_ms().saturating_add(phase)).rem_euclid(every);
    Timestamp::from_ms(at.as_ms().saturating_add(every - into_it))
}

impl ChildrenHandler<'_> {
    /// Looks for the children that have not answered, and for the successors, if this run must look. Returns false if
    /// it need not, or if there is nothing to look for.
    pub(crate) fn look(&mut self) -> bool {
        if self.cx.end.starts_nothing() || self.cx.run.look != Look::Due {
            return false;
        }
        self.cx.run.look = Look::NotDue;
        let batch = self.cx.mind.machine.state.batch();
        let waits = batch.into_iter().flat_map(|batch| &batch.calls).filter_map(|call| self.unanswered(call));
        let children: Vec<Unanswered> = waits.chain(self.unended()).collect();
        let newest = self.successor().cloned();
        let successors: Vec<PendingId> = match &newest {
            Some(_) => self.cx.mind.machine.awaited_successors().map(|to| to.pending.clone()).collect(),
            None => Vec::new(),
        };
        if children.is_empty() && successors.is_empty() {
            return false;
        }
        let id = self.cx.output.next_id();
        self.cx.out.looking = Some((id, newest));
        self.cx.output.push(Action::FindChildren { id, children, successors });
        true
    }

    /// Returns the newest successor of a session at rest whose outcome somebody awaits. Returns `None` if there is
    /// none, or if all such successors are known to rest.
    fn successor(&self) -> Option<&PendingId> {
        let machine = &self.cx.mind.machine;
        let rests = matches!(machine.state, AgentState::Idle | AgentState::Done { .. });
        let newest = machine.awaited_successors().next_back().filter(|_| rests).map(|to| &to.pending);
        let resting = match &self.cx.run.look {
            Look::Done { resting } => resting.as_ref(),
            Look::NotDue | Look::Due => None,
        };
        newest.filter(|newest| Some(*newest) != resting)
    }

    /// Returns the background children whose ends have not arrived.
    fn unended(&self) -> impl Iterator<Item = Unanswered> {
        let ends: Vec<ChildEnd> = self.cx.mind.inbox.items.iter().filter_map(mailbox::end_of).collect();
        let runs =
            move |child: &&Background| !child.ends_with(ends.iter().filter(|end| child.has_ended_with(end)));
        self.cx.mind.machine.running_children().filter(runs).filter_map(|child| {
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

    /// Takes the reply to a look. The runtime has answered in place of the children that are gone.
    pub(crate) fn on_found(&mut self, id: ActionId, successors_rest: bool) {
        if let Some((_, newest)) = self.cx.out.looking.take_if(|(looking, _)| *looking == id) {
            self.cx.run.look = Look::Done { resting: newest.filter(|_| successors_rest) };
            self.cx.out.news.hear();
        }
    }

    /// Returns true while children are being begun, stopped or looked for.
    pub(crate) fn are_attended_to(&self) -> bool {
        !self.cx.out.children.is_empty() || self.cx.out.looking.is_some()
    }

    /// Returns the instant at which a session that waits or rests wants a worker: `own`, or an earlier instant at which
    /// to look for its children or its successor.
    pub(crate) fn alarm(&self, own: Option<Timestamp>) -> Option<Timestamp> {
        let waits = |call: &Call| matches!(call.state, CallState::BlockedOnChild { .. });
        let batch = self.cx.mind.machine.state.batch();
        let has_children =
            batch.is_some_and(|batch| batch.calls.iter().any(waits)) || self.unended().next().is_some();
        if !has_children && self.successor().is_none() {
            return own;
        }
        let now = self.cx.run.now;
        let look = next_look(&self.cx.run.fence, look_every(batch, now), now);
        Some(own.map_or(look, |own| own.min(look)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::ids::{Epoch, Incarnation, SessionId, SessionKey, TenantId};

    fn fence(bits: u128) -> Fence {
        Fence {
            key: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
            incarnation: Incarnation(uuid::Uuid::from_u128(bits)),
            epoch: Epoch(1),
        }
    }

    #[test]
    fn each_hour_of_a_session_has_one_first_run_and_begins_at_its_own_minute() {
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

    #[test]
    fn looks_at_an_agent_elsewhere_grow_rare_and_none_is_missed() {
        let seconds = Duration::from_secs;
        let first = seconds(15);
        let of = |waited| longer(first, waited).as_secs();
        assert_eq!([0, 239, 240, 479, 480, 86_400].map(|at| of(seconds(at))), [15, 15, 30, 30, 60, 1_920]);
        assert_eq!(longer(seconds(7_200), seconds(1_000_000)), LOOK_EVERY, "at most an hour");

        let fence = fence(77_777_777);
        let (begin, mut at) = (Timestamp::from_ms(1_000), Timestamp::from_ms(1_000));
        let mut looks = 0;
        while begin.until(at) < Duration::from_hours(24) {
            let every = |at| longer(first, begin.until(at));
            // A run works for a while before it parks.
            for works in [0, 1, 4_999] {
                let parks = at.after(Duration::from_millis(works));
                let rings = next_look(&fence, every(parks), parks);
                assert!(
                    next_look(&fence, every(at), at) <= rings,
                    "at {at} for {works} ms: the run would not look"
                );
            }
            at = next_look(&fence, every(at), at);
            looks += 1;
        }
        assert!((60..200).contains(&looks), "{looks} looks in a day");
    }
}
