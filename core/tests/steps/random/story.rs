//! The events that can happen in a random scenario, and their probabilities.

use holdover_core::custom::StateChange;
use holdover_core::engine::{ATTEMPTS_MAX, Drain};
use holdover_core::message::MessagePolicy;
use holdover_core::mode::Mode;
use holdover_core::store::InterruptKind;
use proptest::prelude::*;
use serde_json::json;

/// An answer of the model. When none is left, the model says that it is done.
#[derive(Debug, Clone)]
pub(super) enum Thought {
    Calls(Vec<&'static str>),
    Text,
    /// Text that the hook corrects, if the hook is asked.
    Wrong,
    Busy(Option<u64>),
    TooLong,
    Fatal,
}

/// The way in which a call ends.
#[derive(Debug, Clone)]
pub(super) enum Return {
    Output { stop: bool, changes: Vec<StateChange> },
    After(u64, Vec<StateChange>),
    Failed,
    NotRun,
    Transient(u64),
    Lost,
}

/// An event of the scenario.
#[derive(Debug, Clone)]
pub(super) enum Happens {
    Say(Option<MessagePolicy>),
    /// A message that does not wake the session.
    Note,
    SayIn(Mode),
    SetMode(Mode),
    /// Withdraws a waiting message, or replaces its text.
    Change {
        which: usize,
        withdraw: bool,
    },
    StopCall {
        which: usize,
    },
    Decide {
        which: usize,
        approve: bool,
        edit: Option<&'static str>,
    },
    Garbage {
        which: usize,
    },
    Retry,
    RetryByStatus,
    Compact,
    Stop(InterruptKind),
    /// Performs an action that is in flight. The reply is not applied yet.
    Perform {
        which: usize,
        returns: Return,
    },
    /// Applies a reply.
    Arrive {
        which: usize,
    },
    /// Performs the oldest action and applies the oldest reply, `actions` times.
    GoOn {
        actions: usize,
    },
    WriteFails,
    News,
    Crash,
    /// As many runs in a row crash before they have done anything.
    Crashes {
        runs: u32,
    },
    Drain(Drain),
    WithoutAgent,
    Pass {
        ms: u64,
    },
}

pub(super) fn thought() -> impl Strategy<Value = Thought> {
    let tools = ["look", "put", "pay", "bill", "peep", "note", "edit", "wipe", "ask", "serial", "fly"];
    let several = r#"edit:{"terms": {"approvers": {"needed": 2}, "at_expiry": "approve"}}"#;
    let some = r#"edit:{"terms": {"approvers": {"names": ["ann"]}, "escalate": [{"after_ms": 1000, "to": ["bob"]}]}}"#;
    let more = ["edit", "note:bad", "pay:forbidden", several, some];
    let hooked = ["put:rewrite", "edit:rewrite", "ask:rewrite", "pay:known", "edit:known", "note:fatal"];
    let all: Vec<&'static str> = tools.into_iter().chain(more).chain(hooked).collect();
    prop_oneof![
        6 => prop::collection::vec(prop::sample::select(all), 1..5).prop_map(Thought::Calls),
        1 => Just(Thought::Text),
        1 => Just(Thought::Wrong),
        1 => prop::option::of(0..3_000_u64).prop_map(Thought::Busy),
        1 => Just(Thought::TooLong),
        1 => Just(Thought::Fatal),
    ]
}

impl Return {
    /// Returns the result of a call in which nothing goes wrong.
    pub(super) fn calm() -> Self {
        Self::Output { stop: false, changes: Vec::new() }
    }
}

/// Generates changes of the custom state. They use few keys, and some are invalid.
pub(super) fn changes() -> impl Strategy<Value = Vec<StateChange>> {
    let key = || prop::sample::select(vec!["log", "word", "long"]).prop_map(str::to_owned);
    let value =
        || prop_oneof![Just(json!("a")), Just(json!(1)), Just(json!([])), Just(json!("x".repeat(90)))];
    let change = prop_oneof![
        2 => (key(), value()).prop_map(|(key, value)| StateChange::Set { key, value }),
        2 => (key(), value()).prop_map(|(key, value)| StateChange::Append { key, value }),
        1 => key().prop_map(|key| StateChange::Delete { key }),
    ];
    prop::collection::vec(change, 0..4)
}

pub(super) fn returns() -> impl Strategy<Value = Return> {
    prop_oneof![
        6 => (prop::bool::weighted(0.1), changes()).prop_map(|(stop, changes)| Return::Output { stop, changes }),
        2 => (0..3_000_u64, changes()).prop_map(|(ms, changes)| Return::After(ms, changes)),
        1 => Just(Return::Failed),
        1 => Just(Return::NotRun),
        1 => (0..3_000_u64).prop_map(Return::Transient),
        1 => Just(Return::Lost),
    ]
}

/// Mostly one crash. Now and then so many in a row that the session is poisoned.
fn crash() -> impl Strategy<Value = Happens> {
    prop_oneof![
        7 => Just(Happens::Crash),
        1 => (2..ATTEMPTS_MAX + 3).prop_map(|runs| Happens::Crashes { runs }),
    ]
}

pub(super) fn happens() -> impl Strategy<Value = Happens> {
    let edit = prop::option::of(prop::sample::select(vec![
        "{\"place\": \"edited\"}",
        "{\"steps\": 1}",
        "bad",
        "forbidden",
        "rewrite",
    ]));
    let stop = prop_oneof![6 => Just(InterruptKind::Soft), 1 => Just(InterruptKind::Abort)];
    prop_oneof![
        3 => prop::option::of(prop::sample::select(MessagePolicy::ALL.to_vec())).prop_map(Happens::Say),
        1 => Just(Happens::Note),
        1 => (0..4_usize, any::<bool>()).prop_map(|(which, withdraw)| Happens::Change { which, withdraw }),
        1 => (0..4_usize).prop_map(|which| Happens::StopCall { which }),
        1 => prop::sample::select(Mode::ALL.to_vec()).prop_map(Happens::SayIn),
        1 => prop::sample::select(Mode::ALL.to_vec()).prop_map(Happens::SetMode),
        6 => (0..4_usize, prop::bool::weighted(0.8), edit)
            .prop_map(|(which, approve, edit)| Happens::Decide { which, approve, edit }),
        1 => (0..4_usize).prop_map(|which| Happens::Garbage { which }),
        1 => Just(Happens::Retry),
        1 => Just(Happens::RetryByStatus),
        1 => Just(Happens::Compact),
        2 => stop.prop_map(Happens::Stop),
        12 => (0..4_usize, returns()).prop_map(|(which, returns)| Happens::Perform { which, returns }),
        12 => (0..4_usize).prop_map(|which| Happens::Arrive { which }),
        8 => (1..12_usize).prop_map(|actions| Happens::GoOn { actions }),
        1 => Just(Happens::WriteFails),
        4 => Just(Happens::News),
        2 => crash(),
        2 => prop::sample::select(vec![Drain::Calls, Drain::Step, Drain::Turn]).prop_map(Happens::Drain),
        1 => Just(Happens::WithoutAgent),
        3 => prop_oneof![0..2_000_u64, 2_000..120_000_u64, Just(31 * 60 * 1000)]
            .prop_map(|ms| Happens::Pass { ms }),
    ]
}
