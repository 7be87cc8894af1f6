//! Invariants that must hold after every commit. They are checked against the store alone.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use holdover_core::custom::{CustomState, StateChange};
use holdover_core::engine::CallOut;
use holdover_core::event::Event;
use holdover_core::history::HistoryRow;
use holdover_core::ids::{CallId, SessionKey};
use holdover_core::letter::Letter;
use holdover_core::machine::{AgentState, CallInput, CallState, DoneReason, Input, Machine};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::payload::Payload;
use holdover_core::store::{EventCursor, EventPage, SessionStatus, StateStore};
use holdover_core::tool::EffectClass;
use serde_json::Value;

use crate::bench::{Bench, now, view_of};
use crate::providers;
use crate::world::{CUT_OFF, effect_of};

/// Checks all that must hold after every commit.
pub(crate) fn invariants(bench: &Bench) {
    let session = bench.session();
    let stored = Stored {
        bench,
        machine: bench.parsed.state(session.state.as_ref()),
        messages: bench.messages_to(session.last_message),
        events: told(bench),
    };
    history_rebuilds(&stored);
    turns_end_once(&stored);
    turns_are_told_in_order(&stored);
    steps_stay_within_their_limit(&stored);
    calls_have_one_result(&stored);
    custom_state_is_that_of_the_results(&stored);
    services_accept(&stored);
}

/// All that the store keeps of a session after a commit, read once for all checks.
struct Stored<'b> {
    bench: &'b Bench,
    machine: Arc<Machine>,
    messages: Vec<Arc<Message>>,
    events: Vec<Arc<Event>>,
}

/// U04: every service accepts the view of the closed steps as a conversation.
fn services_accept(stored: &Stored<'_>) {
    let open = stored.machine.state.batch().filter(|batch| batch.is_step()).map(|batch| batch.message);
    let closed = open.map_or(stored.messages.len(), |message| usize::try_from(message.0 - 1).unwrap());
    providers::accept(&view_of(&stored.machine, &stored.messages[..closed]), false);
}

/// INV-10: the history rows alone rebuild the stored machine.
fn history_rebuilds(stored: &Stored<'_>) {
    let rebuilt = stored.bench.parsed.rebuilt(&stored.events);
    assert_eq!(rebuilt, *stored.machine, "history and state agree");
}

/// Returns the history rows, in order.
pub(crate) fn history(bench: &Bench) -> Vec<HistoryRow> {
    rows_of(&events(bench))
}

pub(crate) fn rows_of(events: &[Event]) -> Vec<HistoryRow> {
    let rows = events.iter().filter_map(|event| match event {
        Event::History { rows } => Some(rows.clone()),
        _ => None,
    });
    rows.flatten().collect()
}

/// INV-12: every turn has one `init`, one `agent_end` and one `done`, in this order.
fn turns_end_once(stored: &Stored<'_>) {
    let marks: Vec<(&str, u64)> = stored
        .events
        .iter()
        .filter_map(|event| match event.as_ref() {
            Event::Init { turn, .. } => Some(("init", turn.0)),
            Event::Done { turn, .. } => Some(("done", turn.0)),
            Event::AgentEnd { turn, .. } => Some(("agent_end", turn.0)),
            _ => None,
        })
        .collect();
    let turn = &stored.machine.turn;
    let mut expected: Vec<(&str, u64)> =
        (1..=turn.number.0).flat_map(|turn| [("init", turn), ("agent_end", turn), ("done", turn)]).collect();
    if turn.open {
        expected.truncate(expected.len() - 2);
    }
    assert_eq!(marks, expected);
}

/// A14, C60, A06: `init` is the first event of a turn and `done` its last. Each step begins once and ends once, in
/// order, within its turn. A turn that fails has an `error` event before its `done`.
fn turns_are_told_in_order(stored: &Stored<'_>) {
    let Stored { bench, events, .. } = stored;
    let (mut within, mut step, mut last, mut failed) = (false, None, 0, false);
    let forked = events.iter().rposition(|event| matches!(event.as_ref(), Event::Forked { .. }));
    let handed = events.iter().find_map(|event| match event.as_ref() {
        Event::Forked { goal, .. } => *goal,
        _ => None,
    });
    for (at, event) in events.iter().enumerate() {
        match event.as_ref() {
            Event::Init { session, .. } => {
                // The events before the fork are copies.
                assert!(forked.is_some_and(|forked| at < forked) || session.as_ref() == Some(&bench.key.id));
                (within, failed) = (true, false);
            }
            Event::StepStarted { step: begun } => {
                assert!(within && step.is_none() && begun.0 == last + 1, "{events:#?}");
                (step, last) = (Some(*begun), begun.0);
            }
            Event::StepEnded { step: ended } => assert_eq!(step.take(), Some(*ended), "{events:#?}"),
            Event::Error { .. } => {
                assert!(within && step.is_none() && !failed, "{events:#?}");
                failed = true;
            }
            Event::Done { ending, .. } => {
                assert!(within && step.is_none(), "{events:#?}");
                assert_eq!(failed, ending.reason == DoneReason::Error, "{events:#?}");
                within = false;
            }
            // Messages of the engine between turns: a summary, or a notice of a rollback.
            Event::Message { role, .. } if role == "summary" || role == "notice" => {}
            Event::Message { seq, .. } if Some(*seq) == handed => assert!(!within, "{events:#?}"),
            Event::Message { .. } | Event::Call { .. } | Event::AgentEnd { .. } | Event::Suspended { .. } => {
                assert!(within, "{event:?} is outside of a turn: {events:#?}");
            }
            _ => {}
        }
    }
    assert_eq!(step, stored.machine.state.open_step());
}

/// H08, U12: in each turn the model answers at most as often as its agent's limit and the steps granted by people
/// allow.
fn steps_stay_within_their_limit(stored: &Stored<'_>) {
    let (mut answers, mut most) = (0, 0);
    let rows = stored.events.iter().filter_map(|event| match event.as_ref() {
        Event::History { rows } => Some(rows),
        _ => None,
    });
    for row in rows.flatten() {
        match &row.input {
            Input::TurnRequested { .. } => (answers, most) = (0, stored.bench.agent.limits.max_steps),
            Input::ModelAnswered { .. } => answers += 1,
            Input::Call { input: CallInput::Granted { steps }, .. } => most += steps,
            _ => {}
        }
        assert!(answers <= most, "answer {answers} of {most} in {:?}", stored.machine);
    }
}

/// INV-08: each call of a closed step has one result, in call order, and the state names the calls of an open step.
fn calls_have_one_result(stored: &Stored<'_>) {
    let transcript = &stored.messages;
    match stored.machine.state.batch().filter(|batch| batch.is_step()) {
        None => transcript_is_whole(transcript),
        Some(batch) => {
            let (closed, open) = transcript.split_at(usize::try_from(batch.message.0).unwrap() - 1);
            transcript_is_whole(closed);
            let first = open.split_first().map(|(first, rest)| (first.as_ref(), rest));
            let Some((Message::Assistant(said), rest)) = first else {
                panic!("the open step begins with the model's message: {open:?}");
            };
            let asked: Vec<CallId> = said.calls().map(|call| call.id.clone()).collect();
            let named: Vec<CallId> = batch.calls.iter().map(|call| call.id.clone()).collect();
            assert_eq!(asked, named, "state names the open calls");
            let decided = |message: &Arc<Message>| match message.as_ref() {
                Message::Decision(_) => true,
                Message::Notice(notice) => notice.rewriting.is_some(),
                _ => false,
            };
            assert!(rest.iter().all(decided), "only decisions follow while calls are open: {rest:?}");
        }
    }
}

/// Checks that each call has one result, in call order, that no other message comes in between, and that the model does
/// not speak twice in a row.
pub(crate) fn transcript_is_whole<M: Borrow<Message> + Debug>(transcript: &[M]) {
    let mut open: Vec<CallId> = Vec::new();
    let mut spoke_last = false;
    for message in transcript {
        match message.borrow() {
            Message::Assistant(said) => {
                assert!(open.is_empty(), "a call was open when the model spoke: {open:?}");
                assert!(!spoke_last, "the model spoke twice in a row: {transcript:#?}");
                open.extend(said.calls().map(|call| call.id.clone()));
                spoke_last = !said.aborted && !said.text().ends_with(CUT_OFF);
            }
            Message::Tool(result) => {
                assert_eq!(open.first(), Some(&result.call), "one result a call, in call order");
                open.remove(0);
                spoke_last = false;
            }
            Message::User(_) => {
                assert!(open.is_empty(), "a call was open when somebody spoke: {open:?}");
                spoke_last = false;
            }
            Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
    }
    assert!(open.is_empty(), "a call has no result: {open:?}");
}

/// H18: the custom state equals the changes of all results that still stand, applied in call order. Results that were
/// taken back do not count.
fn custom_state_is_that_of_the_results(stored: &Stored<'_>) {
    let bench = stored.bench;
    let mut states: Vec<Rc<BTreeMap<String, Value>>> = vec![Rc::default()];
    for message in &stored.messages {
        let mut state = states.last().expect("the empty one").clone();
        match message.as_ref() {
            Message::Tool(result) => {
                assert!(result.status == ResultStatus::Done || result.changes.is_empty(), "{result:?}");
                result.changes.iter().for_each(|change| apply(Rc::make_mut(&mut state), change.clone()));
            }
            Message::Notice(notice) => {
                if let Some(to) = notice.rewound {
                    state = states[usize::try_from(to.0).unwrap()].clone();
                }
            }
            Message::User(_) | Message::Assistant(_) | Message::Decision(_) | Message::Summary(_) => {}
        }
        states.push(state);
    }
    let stored = &stored.machine.custom;
    let made = states.pop().map(|state| CustomState::from_iter(state.as_ref().clone()));
    assert_eq!(made.as_ref(), Some(stored));
    let bytes = serde_json::to_vec(stored).unwrap().len();
    assert!(bytes <= bench.agent.state.bytes_max, "{stored:?}");
    if let Some(schema) = bench.agent.state.schema.as_ref().filter(|_| !stored.is_empty()) {
        let most = &schema["properties"]["log"]["maxItems"];
        let log = stored.get("log").map_or(Some(0), |log| log.as_array().map(Vec::len));
        let fits = log.is_some_and(|len| most.as_u64().is_none_or(|most| len as u64 <= most));
        assert!(fits, "{stored:?}");
    }
}

fn apply(state: &mut BTreeMap<String, Value>, change: StateChange) {
    match change {
        StateChange::Set { key, value } => drop(state.insert(key, value)),
        StateChange::Delete { key } => drop(state.remove(&key)),
        StateChange::Append { key, value } => {
            let list = state.entry(key).or_insert_with(|| Value::Array(Vec::new()));
            list.as_array_mut().expect("a list").push(value);
        }
    }
}

/// INV-13, INV-20: a call with an effect is sent only after its intent and its `allow` are durable.
pub(crate) fn intent_is_durable(bench: &Bench, call: &CallOut) {
    if effect_of(call.tool.as_str()) == EffectClass::ReadOnly {
        return;
    }
    let marked = bench.session().staged.starts.contains(&call.id);
    let machine = bench.machine();
    let stored = machine.state.batch().and_then(|batch| batch.call(&call.id));
    let allowed = stored.is_some_and(|stored| {
        stored.state == CallState::Preparing
            || (marked && !stored.state.is_end() && !stored.state.is_parked())
    });
    assert!(allowed, "sent without a durable intent: {call:?}, stored as {stored:?}");
}

/// Checks what must hold when a session rests.
pub(crate) fn at_rest(bench: &Bench) {
    let session = bench.session();
    assert!(session.status != SessionStatus::Active, "{session:?}");
    assert!(!bench.machine().turn.open, "{:?}", bench.machine());
    assert!(session.staged.results.is_empty() && session.staged.starts.is_empty(), "{:?}", session.staged);
    only_its_letter_is_open(bench);
    assert!(bench.runs().iter().all(|run| run.end.is_some()), "{:?}", bench.runs());
    invariants(bench);
}

/// C52: a session at rest has no open pending call, except the letter of a turn that was given up although it may
/// succeed later.
fn only_its_letter_is_open(bench: &Bench) {
    let machine = bench.machine();
    let pending = bench.pending();
    let error = match &machine.state {
        AgentState::Done { ending, .. } if bench.status() == SessionStatus::Failed => ending.error.clone(),
        _ => None,
    };
    for open in &pending {
        let letter = Letter::of(open).unwrap_or_else(|why| panic!("{why}: {open:?}"));
        assert_eq!((Some(&letter.error), letter.turn), (error.as_ref(), machine.turn.number), "{letter:?}");
    }
    let given_up =
        error.is_some_and(|error| ["engine.poisoned", "engine.circuit_open"].contains(&error.code.as_str()));
    assert!(pending.len() <= 1 && (!given_up || pending.len() == 1), "{pending:?}");
}

pub(crate) fn dones(events: &[Event]) -> Vec<DoneReason> {
    let done = |event: &Event| match event {
        Event::Done { ending, .. } => Some(ending.reason),
        _ => None,
    };
    events.iter().filter_map(done).collect()
}

pub(crate) fn events(bench: &Bench) -> Vec<Event> {
    now(events_in(&bench.store, &bench.key))
}

/// Returns all events of the session, each parsed once.
pub(crate) fn told(bench: &Bench) -> Vec<Arc<Event>> {
    bench.parsed.events(&now(payloads_in(&bench.store, &bench.key)))
}

/// Returns all events of a session.
pub(crate) async fn events_in(store: &impl StateStore, key: &SessionKey) -> Vec<Event> {
    payloads_in(store, key).await.iter().map(|payload| payload.parse().expect("an event")).collect()
}

/// Returns the payloads of all events of a session. They are numbered from 1, without a gap (C60).
async fn payloads_in(store: &impl StateStore, key: &SessionKey) -> Vec<Payload> {
    let (mut all, mut cursor) = (Vec::new(), EventCursor::START);
    loop {
        match store.read_events(key, &cursor, 100).await.unwrap() {
            EventPage::Events { events, next, more, .. } => {
                for event in events {
                    assert_eq!(event.seq.0, all.len() as u64 + 1, "the number of the event");
                    all.push(event.payload);
                }
                cursor = next;
                if !more {
                    return all;
                }
            }
            EventPage::Gone | EventPage::NotFound => panic!("the session is there"),
        }
    }
}
