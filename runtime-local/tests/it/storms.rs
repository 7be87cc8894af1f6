//! All promises hold while workers die at random instants, answers are lost and stops arrive.
//!
//! Requirements: U03.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdover_core::ids::SessionKey;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::{EventCursor, OutcomeKind};
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{Follow, Runtime, Worker, WorkerOptions};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::bench::{agent, agentless, runtime, say, store};
use crate::dice::Dice;
use crate::script::{Say, Script, results};
use crate::stub_store::stumbling;
use crate::tools::Fake;

/// The number of storms, unless `HOLDOVER_SEEDS` sets another.
const SEEDS: u64 = 120;
const SESSIONS: usize = 6;
/// Deaths per storm: fewer than `ATTEMPTS_MAX`, since a session whose run dies five times in a row without progress
/// ends as poisoned.
const DEATHS: u32 = 4;

fn slow(name: &str, effect: EffectClass, ms: u64) -> Fake {
    let tool = Fake::new(name, move |_| async move {
        sleep(Duration::from_millis(ms)).await;
        Ok(ToolOutput::text("done").into())
    });
    tool.effect(effect)
}

/// Requirements: U03.
#[tokio::test(start_paused = true)]
async fn workers_that_die_at_random_lose_nothing_and_repeat_no_effect() {
    let mut all = Damage::default();
    let seeds = std::env::var("HOLDOVER_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    for seed in 0..seeds {
        let damage = storm(seed).await;
        all.stumbles += damage.stumbles;
        all.doubts += damage.doubts;
        all.resends += damage.resends;
    }
    assert!(all.stumbles > 0 && all.doubts > 0 && all.resends > 0, "the storm was none: {all:?}");
}

/// The faults that one storm caused.
#[derive(Debug, Default)]
struct Damage {
    stumbles: u32,
    doubts: usize,
    resends: usize,
}

async fn storm(seed: u64) -> Damage {
    let mut dice = Dice(seed);
    let once = slow("once", EffectClass::AtMostOnce, 700);
    let again = slow("again", EffectClass::Idempotent, 900);
    let read = slow("read", EffectClass::ReadOnly, 300);
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("once", "{}"), ("again", r#"{"n":1}"#), ("read", "{}")]),
        3 => Say::Calls(vec![("again", r#"{"n":2}"#), ("once", r#"{"n":3}"#)]),
        _ => Say::Text("done"),
    });
    let agent = agent(&model).tool(once.clone()).tool(again.clone()).tool(read.clone());
    let agent = Arc::new(agent.build().unwrap());
    let store = stumbling(store());
    let front = agentless(&store);
    let mut keys = Vec::new();
    for _ in 0..SESSIONS {
        keys.push(front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key);
    }
    for _ in 0..DEATHS {
        let mortal = Worker::new(runtime(&store, &agent), WorkerOptions::default());
        let life = tokio::spawn(async move { mortal.run(CancellationToken::new()).await });
        store.layer().commit_answers_to_lose.store(dice.below(3) as u32, Ordering::SeqCst);
        store.layer().commits_to_refuse.store(dice.below(2) as u32, Ordering::SeqCst);
        sleep(Duration::from_millis(dice.below(1_200))).await;
        life.abort();
        // The wait ends before or after the leases end, at random.
        sleep(Duration::from_millis(dice.below(45_000))).await;
    }
    let last = runtime(&store, &agent);
    let _last = crate::bench::worker(&last, WorkerOptions::default());
    let mut doubts = 0;
    for key in &keys {
        let outcome = front.wait(key).await.unwrap();
        assert_eq!(outcome.kind(), OutcomeKind::Completed, "seed {seed}: {outcome:?}");
        doubts += check_transcript(seed, &front, key).await;
        check_events(seed, &front, key).await;
    }
    let resends = check_sends(seed, &once, &again);
    Damage { stumbles: store.layer().fired(), doubts, resends }
}

/// Asserts that every call has exactly one result (INV-08), and returns how many are in doubt.
async fn check_transcript(seed: u64, front: &Runtime, key: &SessionKey) -> usize {
    let (mut asked, mut answered, mut doubts) = (Vec::new(), Vec::new(), 0);
    for entry in front.messages(key).await.unwrap() {
        match entry.message {
            Message::Assistant(said) => asked.extend(said.calls().map(|call| call.id.clone())),
            Message::Tool(result) => {
                let fine = matches!(result.status, ResultStatus::Done | ResultStatus::InDoubt);
                assert!(fine, "seed {seed}: {key}: {result:?}");
                assert!(
                    result.tool == "once" || result.status == ResultStatus::Done,
                    "seed {seed}: {result:?}"
                );
                doubts += usize::from(result.status == ResultStatus::InDoubt);
                answered.push(result.call);
            }
            Message::User(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
    }
    assert_eq!(asked.len(), 5, "seed {seed}: {key}");
    assert_eq!(asked, answered, "seed {seed}: {key}: one result each, in call order");
    doubts
}

/// Asserts that events are dense, and that the turn ends once (INV-02, INV-12).
async fn check_events(seed: u64, front: &Runtime, key: &SessionKey) {
    use futures::StreamExt;
    use holdover_core::event::Event;
    let events: Vec<_> = front.events(key, EventCursor::START, Follow::Available).collect().await;
    let (mut place, mut done, mut ends) = (0, 0, 0);
    for entry in events {
        let entry = entry.unwrap();
        place += 1;
        assert_eq!(entry.seq.0, place, "seed {seed}: {key}");
        done += u32::from(matches!(entry.event, Event::Done { .. }));
        ends += u32::from(matches!(entry.event, Event::AgentEnd { .. }));
    }
    assert_eq!((done, ends), (1, 1), "seed {seed}: {key}");
}

/// Asserts that at-most-once calls are sent at most once (INV-15), and that repeated sends of a call are identical
/// (INV-14). Returns how many calls were sent again.
fn check_sends(seed: u64, once: &Fake, again: &Fake) -> usize {
    let mut sends = BTreeMap::new();
    for call in once.calls() {
        *sends.entry((call.session, call.id)).or_insert(0) += 1;
    }
    assert!(sends.values().all(|count| *count == 1), "seed {seed}: {sends:?}");
    let mut bytes = BTreeMap::new();
    for call in again.calls() {
        let sent = (call.idempotency_key.clone(), call.arguments.to_string());
        let first = bytes.entry((call.session, call.id)).or_insert_with(|| sent.clone());
        assert_eq!(*first, sent, "seed {seed}");
    }
    again.calls().len() - bytes.len()
}
