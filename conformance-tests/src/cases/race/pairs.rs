//! Races every pair of operations at one instant. The result must be one that the model allows: that of one order, of
//! the other, or of an order of the parts into which operations over several sessions are split.

use futures::future::join_all;

use crate::cases::prelude::*;
use crate::difference::differences;
use crate::ops::{Op, Stage};
use crate::random::drawn;
use crate::scenario::{Ask, Scenario};

/// The minimum number of races for each pair: each operation is released first once.
const ROUNDS_MIN: u64 = 2;
/// The maximum number of races for a pair whose two orders were not both seen.
const ROUNDS_MAX: u64 = 6;
/// The number of races of a failed pair alone, to show it without the others.
const ROUNDS_ALONE: u64 = 40;
/// The number of pairs that are raced at the same time, in one store.
const PAIRS_AT_ONCE: usize = 24;
/// The upper bound, exclusive, of the random number of times that one of a pair yields before its request.
const OFFSET_MAX: u64 = 12;

pub(super) async fn race_every_pair(t: &Bench) -> CaseResult {
    for some in pairs(t).chunks(PAIRS_AT_ONCE) {
        let at_once = t.another().await;
        let peers = warm_peers(&at_once).await?;
        let raced = some.iter().map(|pair| pair.race(&at_once, &peers, ROUNDS_MAX));
        for (raced, pair) in join_all(raced).await.into_iter().zip(some) {
            if let Err(failure) = raced {
                return Err(pair.alone(t, failure).await);
            }
        }
    }
    Ok(())
}

/// Two operations, and the stage on which they are raced.
#[derive(Debug, Clone, Copy)]
struct Pair {
    nth: u64,
    stage: Stage,
    ops: [Op; 2],
}

fn pairs(t: &Bench) -> Vec<Pair> {
    let capabilities = t.store.capabilities();
    let all: Vec<Op> = Op::ALL.into_iter().filter(|op| op.is_declared(&capabilities)).collect();
    let mut pairs = Vec::new();
    for (index, first) in all.iter().enumerate() {
        for second in &all[index..] {
            for stage in [Stage::Empty, Stage::Failed, Stage::Due, Stage::Running] {
                // An empty stage or a due one only matters for operations that are made for it.
                let of_stage = [first, second].iter().any(|op| op.stage() == stage);
                if of_stage || [Stage::Failed, Stage::Running].contains(&stage) {
                    pairs.push(Pair { nth: pairs.len() as u64, stage, ops: [*first, *second] });
                }
            }
        }
    }
    pairs
}

/// Opens two peers and lets each make a request, so that neither has to open a connection during the race.
async fn warm_peers(t: &Bench) -> CaseResult<Vec<Handle>> {
    let peers = t.peers(2).await;
    for peer in &peers {
        peer.load_session(&nobody()).await?;
    }
    Ok(peers)
}

/// The answers of two operations, and the state after them.
#[derive(Debug, PartialEq)]
struct Outcome {
    answers: [String; 2],
    session: String,
}

impl Pair {
    /// Races the pair until both orders were seen, in at most `rounds` rounds. Each round has a scenario of its own.
    async fn race(&self, t: &Bench, peers: &[Handle], rounds: u64) -> CaseResult {
        let (mut seen, mut ends) = ([false; 2], Vec::new());
        for round in 0..rounds {
            let found = self.round(t, peers, round, &mut ends).await?;
            if !ends.contains(&found) {
                return Err(neither(&ends, &found));
            }
            seen = [seen[0] || ends[0] == found, seen[1] || ends[1] == found];
            if seen == [true; 2] && round + 1 >= ROUNDS_MIN {
                break;
            }
        }
        Ok(())
    }

    /// Returns the store's actual result. In the first round, sets `ends` to those that the model allows, first the two
    /// sequential orders; they are the same in every round.
    async fn round(
        &self,
        t: &Bench,
        peers: &[Handle],
        round: u64,
        ends: &mut Vec<Outcome>,
    ) -> CaseResult<Outcome> {
        // Nothing waits for these leases, and none may end before the race.
        let lease = t.lease() * 100;
        let scenario = Scenario::new(lease);
        let model = scenario.prepare(&t.store, self.stage).await?;
        let requests = [
            scenario.request(self.ops[0], Ask { tag: "a", lease }),
            scenario.request(self.ops[1], Ask { tag: "b", lease }),
        ];
        if ends.is_empty() {
            let allowed = scenario.ends(&model, requests.each_ref()).into_iter();
            ends.extend(allowed.map(|(answers, session)| Outcome { answers, session }));
        }
        // The operation that is released first has a head start. The two take turns in this, and random offsets are
        // added.
        let order = if round.is_multiple_of(2) { [0, 1] } else { [1, 0] };
        let drawn = drawn(t.seed(), self.nth * ROUNDS_ALONE + round);
        let offsets = [drawn % OFFSET_MAX, (drawn >> 32) % OFFSET_MAX];
        let raced = race(peers.to_vec(), |place, peer| {
            let (scenario, request, offset) =
                (scenario.clone(), requests[order[place]].clone(), offsets[place]);
            Box::pin(async move {
                for _ in 0..offset {
                    tokio::task::yield_now().await;
                }
                scenario.ask(&peer, &request).await
            })
        });
        let mut answers = [String::new(), String::new()];
        for (index, answer) in order.into_iter().zip(raced.await?) {
            answers[index] = answer;
        }
        let session = scenario.snapshot(&t.store).await?;
        Ok(Outcome { answers, session })
    }

    /// Races the failed pair again without the others, so that the failure has a history of its own.
    async fn alone(&self, t: &Bench, failure: Failure) -> Failure {
        let within = |failure: Failure| failure.within(self);
        let bench = t.another().await;
        let peers = match warm_peers(&bench).await {
            Ok(peers) => peers,
            Err(failure) => return within(failure),
        };
        let mut ends = Vec::new();
        for round in 0..ROUNDS_ALONE {
            t.forget_history();
            match self.round(&bench, &peers, round, &mut ends).await {
                Ok(found) if ends.contains(&found) => {}
                Ok(found) => return within(neither(&ends, &found)),
                Err(failure) => return within(failure),
            }
        }
        within(failure.followed_by(&format!(
            "    found beside other pairs, and not in {ROUNDS_ALONE} rounds alone, of which the history is the last"
        )))
    }
}

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [first, second] = self.ops;
        write!(f, "{first:?} beside {second:?}, {:?}", self.stage)
    }
}

fn neither(ends: &[Outcome], found: &Outcome) -> Failure {
    let found = shown(found);
    let [one, other] = [0, 1].map(|order| differences(&shown(&ends[order]), &found));
    Failure::new(format!(
        "expected one order or the other\n    found neither: first before second (-) and found (+) differ in\n{one}\n    \
         second before first (-) and found (+) differ in\n{other}"
    ))
}

/// Formats both answers and the session after them.
fn shown(Outcome { answers: [first, second], session }: &Outcome) -> String {
    format!("first answered {first}, second answered {second}, and then {session}")
}
