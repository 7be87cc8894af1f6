//! Runs one script on a store and on the model.

use std::fmt::Debug;

use crate::cases::prelude::*;
use crate::difference::compared;
use crate::script::{Answer, Asking, By, Coverage, Op, Play, Request, Who};
use crate::shown::without_instants;

/// The results that are compared with the model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    /// Answers, and after each operation everything that can be read of the sessions that it may change.
    Rows,
    /// Only answers.
    Answers,
}

/// The way in which a script is played: with or without reopening the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Story {
    Straight,
    /// The store is reopened before every fifth operation.
    Reopened,
}

/// The result of a script, and the number of its operations that were begun.
pub(super) struct Played {
    pub(super) steps: usize,
    pub(super) result: CaseResult,
}

/// Plays a script in a store of its own.
pub(super) async fn play(
    bench: Bench,
    script: &[(By, Op)],
    compare: Compare,
    story: Story,
    reached: &mut Coverage,
) -> Played {
    let mut played = Played { steps: 0, result: Ok(()) };
    let begun = Stage::new(bench, compare).await;
    let mut stage = match begun {
        Ok(stage) => stage,
        Err(failure) => return Played { result: Err(failure), ..played },
    };
    for (nth, (by, op)) in script.iter().enumerate() {
        played.steps = nth + 1;
        if story == Story::Reopened && nth % 5 == 4 {
            stage = stage.reopen().await;
        }
        if let Err(failure) = stage.step(*by, op, reached).await {
            played.result = Err(failure.within(format!("operation {}, {op:?}", nth + 1)));
            return played;
        }
    }
    played.result = stage.compare_everything().await;
    played
}

struct Stage {
    bench: Bench,
    peer: Handle,
    play: Play,
    compare: Compare,
}

impl Stage {
    async fn new(bench: Bench, compare: Compare) -> CaseResult<Self> {
        let play = Play::new(bench.powers(), bench.now().await?);
        Ok(Self { peer: bench.peer().await, bench, play, compare })
    }

    async fn reopen(self) -> Self {
        let Self { bench, peer, .. } = self;
        drop(peer);
        let bench = bench.reopen().await;
        Self { peer: bench.peer().await, bench, ..self }
    }

    async fn step(&mut self, by: By, op: &Op, reached: &mut Coverage) -> CaseResult {
        if let Some(passed) = self.play.pass(op) {
            self.bench.advance(passed).await;
        }
        let Some((request, expected)) = self.play.ask(op) else { return Ok(()) };
        let store = match by {
            By::First => &self.bench.store,
            By::Peer => &self.peer,
        };
        let found = request.ask(store).await?;
        self.same_answer(&expected, &found, || "the answer".into())?;
        reached.note(&request, &found);
        match self.compare {
            Compare::Answers => Ok(()),
            Compare::Rows => self.compare_rows(&request).await,
        }
    }

    /// Compares everything that a peer can read of the sessions that the operation may change.
    async fn compare_rows(&self, request: &Request) -> CaseResult {
        for who in Who::ALL.into_iter().filter(|who| request.is_about(&who.key())) {
            self.compare_session(who).await?;
        }
        Ok(())
    }

    async fn compare_session(&self, who: Who) -> CaseResult {
        let found = snapshot(&self.peer, &who.key()).await?;
        self.same(&self.play.model.snapshot(&who.key()), &found, || format!("the rows of {}", who.key()))
    }

    async fn compare_everything(&self) -> CaseResult {
        for who in Who::ALL {
            self.compare_session(who).await?;
            for request in [
                Request::ListSessions(SessionQuery::all(who.key().tenant)),
                Request::ListPending(PendingQuery::all(who.key().tenant)),
            ] {
                let expected = request.ask_model(&mut self.play.model.clone());
                let found = request.ask(&self.bench.store).await?;
                self.same_answer(&expected, &found, || {
                    format!("{} of {}", request.operation(), who.key().tenant)
                })?;
            }
        }
        Ok(())
    }

    fn same_answer(&self, expected: &Answer, found: &Answer, what: impl FnOnce() -> String) -> CaseResult {
        if self.play.powers.moves_time {
            return self.same(expected, found, what);
        }
        self.same(&expected.clone().by_key(), &found.clone().by_key(), what)
    }

    /// Compares two values. On a clock that cases cannot move, instants are left out.
    fn same<T: Debug + PartialEq>(
        &self,
        expected: &T,
        found: &T,
        what: impl FnOnce() -> String,
    ) -> CaseResult {
        if expected == found {
            return Ok(());
        }
        let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
        if !self.play.powers.moves_time && without_instants(&expected) == without_instants(&found) {
            return Ok(());
        }
        Err(Failure::new(format!("{}\n{}", what(), compared(&expected, &found))))
    }
}
