//! Requests that make sense while others are under way: drawn from the states that a session may be in by
//! now.

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

/// Of so many requests one is a read that is drawn apart: else a history would see too little.
const READS: u64 = 3;
/// How often one is drawn until it asks something.
const TRIES_MAX: usize = 20;

/// Draws one request after the other, each as if those before it had been answered at once, one after the other.
/// What they were answered in truth it may be told.
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

    /// The clock was moved.
    pub(crate) fn passed(&mut self, now: Timestamp) {
        self.play.model.now = now;
    }

    /// A session may be as it is in this state.
    pub(crate) fn learn(&mut self, who: Who, state: &Model) {
        self.play.learn(who, state.life(&who.key()).cloned());
    }

    /// The next request. None: nothing was drawn that asks something.
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

    /// A fork goes into a session of its own, once.
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
