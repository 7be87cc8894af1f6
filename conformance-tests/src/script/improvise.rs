//! Draws requests that make sense while others are in progress, from the states that a session may have by now.

use std::collections::BTreeSet;

use holdover_store::ids::OperationId;
use holdover_store::time::Timestamp;
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use proptest_state_machine::ReferenceStateMachine;

use super::draw::{Scripts, focus};
use super::{Look, Meant, Op, Play, Powers, Request, Who, runner};
use crate::fixture::id;
use crate::model::Model;
use crate::random::drawn;

/// One in this many requests is a read, drawn separately. Otherwise a history would contain too few reads.
const READS: u64 = 3;
/// The maximum number of tries to draw an operation that makes a request.
const TRIES_MAX: usize = 20;

/// A generator of requests. It draws each request as if all earlier ones had been answered in order.
/// [`learn`](Self::learn) corrects the state of the generator from the real answers.
pub(crate) struct Improviser {
    play: Play,
    runner: TestRunner,
    seed: u64,
    drawn: u64,
    forks: BTreeSet<OperationId>,
}

impl Improviser {
    pub(crate) fn new(powers: Powers, now: Timestamp, seed: u64) -> Self {
        Self {
            play: Play::new(powers, now),
            runner: runner(seed, 0, 0),
            seed,
            drawn: 0,
            forks: BTreeSet::new(),
        }
    }

    /// Sets the time of the model.
    pub(crate) fn passed(&mut self, now: Timestamp) {
        self.play.model.now = now;
    }

    /// Sets the state of a session to one that it may have.
    pub(crate) fn learn(&mut self, who: Who, state: &Model) {
        self.play.learn(who, state.life(&who.key()).cloned());
    }

    /// Draws the next request. Returns `None` if none of `TRIES_MAX` operations makes a request.
    pub(crate) fn next(&mut self) -> Option<Request> {
        (0..TRIES_MAX).find_map(|_| {
            let op = self.draw()?;
            let request = self.play.guess(&op)?;
            self.apart(request)
        })
    }

    fn draw(&mut self) -> Option<Op> {
        self.drawn += 1;
        let drawn = drawn(self.seed, self.drawn);
        if drawn.is_multiple_of(READS) {
            return Some(look(focus(&self.play), drawn >> 8));
        }
        let tree = Scripts::transitions(&self.play).new_tree(&mut self.runner).ok()?;
        Some(tree.current().1)
    }

    /// Gives a fork a session of its own, and returns any other request unchanged. Returns `None` if this fork was
    /// requested before.
    fn apart(&mut self, mut request: Request) -> Option<Request> {
        if let Request::Fork(_, _, new) = &mut request {
            new.key.id = id(&format!("of-{}", new.operation));
            return self.forks.insert(new.operation.clone()).then_some(request);
        }
        Some(request)
    }
}

fn look(who: Who, drawn: u64) -> Op {
    let all = [
        Look::Session,
        Look::Inbox { after: 0, limit: 100 },
        Look::Messages { from: 1, to: 100 },
        Look::Events { of: Meant::AnyLife, limit: 100 },
        Look::Session,
        Look::Runs,
        Look::Checkpoints,
    ];
    let nth = usize::try_from(drawn % all.len() as u64).unwrap_or_default();
    Op::Look { who, at: all.get(nth).copied().unwrap_or(Look::Session) }
}
