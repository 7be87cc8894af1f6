//! What one step asks of the store, counted: the same early in a session and late.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::agent;
use crate::watch::{Cost, Watched};

const COMMIT: &str = "save_state_and_promote_staging";
const STAGE: &str = "stage_result";

/// What a step of one kind costs.
struct Step {
    asks: &'static [&'static str],
    /// Operations of the store. No step reads: the run knows what it wrote, and receipts bring the news.
    calls: &'static [(&'static str, usize)],
    /// SQL statements, from BEGIN to COMMIT.
    statements: usize,
    /// Bytes of state and events at most, in all commits of the step together; numbers of a long session
    /// have more digits.
    beside_max: usize,
}

/// By place: the kinds of steps take turns. Each operation of the store is one transaction when the session
/// is alone: at most one sync.
const KINDS: [Step; 4] = [
    // Two durable points: the intent with its start mark, then the result with what follows from it.
    // Statements, 7 and 8: begin, look at the row, update it, put the state, drop start marks, append the
    // messages, append the events, commit; the second keeps a checkpoint.
    Step { asks: &["send"], calls: &[(COMMIT, 2)], statements: SEND, beside_max: 1400 },
    // The same two: its intent too is durable before it is sent.
    Step { asks: &["put"], calls: &[(COMMIT, 2)], statements: SEND, beside_max: 1520 },
    // One durable point: answer, results and steering together.
    Step { asks: &["look"], calls: &[(COMMIT, 1)], statements: LOOK, beside_max: 1020 },
    // Two, and one staging: the first result is durable before its sibling is back. The staging is 5
    // statements; promoting what it staged is one more read and one more removal.
    Step { asks: &["send", "put"], calls: &[(COMMIT, 2), (STAGE, 1)], statements: BOTH, beside_max: 2200 },
];
const SEND: usize = 17;
const LOOK: usize = 9;
const BOTH: usize = 24;

/// The answer that ends the turn: one commit, which ends the run as well.
const ENDING: usize = 10;

const STEPS: u64 = 504;

#[tokio::test]
async fn a_step_costs_as_many_writes_statements_and_bytes_late_as_early() {
    let _alone = crate::ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let store = Watched::new(agent::open(folder.path()).await);
    let costs = Arc::new(Mutex::new(Vec::<Cost>::new()));
    let before_answer: agent::Before = {
        let (store, costs) = (store.clone(), Arc::clone(&costs));
        Arc::new(move || {
            let (store, costs) = (store.clone(), Arc::clone(&costs));
            Box::pin(async move {
                let cost = store.settled().await;
                costs.lock().unwrap().push(cost);
            })
        })
    };
    let calls: agent::Calls = |step| KINDS[place(step)].asks;
    agent::run(Arc::new(store.clone()), agent::agent(calls, STEPS, before_answer)).await;
    let last = store.settled().await;
    // The cost of a step is known when the model is asked for the next one.
    let costs = costs.lock().unwrap();
    let of = |step: u64| costs[usize::try_from(step).unwrap()].clone();
    for step in (5..9).chain(STEPS - 3..=STEPS) {
        check(step, &of(step), &KINDS[place(step)]);
    }
    for early in 5..9 {
        let late = early + STEPS - 8;
        assert_eq!(of(early).statements, of(late).statements, "steps {early} and {late}");
    }
    assert_eq!((last.transactions, last.statements.len()), (1, ENDING), "{:#?}", last.statements);
}

fn place(step: u64) -> usize {
    usize::try_from((step - 1) % KINDS.len() as u64).unwrap()
}

#[track_caller]
fn check(step: u64, cost: &Cost, kind: &Step) {
    let expected: BTreeMap<_, _> = kind.calls.iter().copied().collect();
    assert_eq!(cost.calls, expected, "step {step}");
    let writes: usize = kind.calls.iter().map(|(_, times)| times).sum();
    assert_eq!(cost.transactions, writes as u64, "step {step}");
    assert_eq!(cost.statements.len(), kind.statements, "step {step}: {:#?}", cost.statements);
    assert!(cost.beside <= kind.beside_max, "step {step}: {} bytes beside the transcript", cost.beside);
}
