//! The table agrees with `transition`, pair by pair; the whole matrix is a committed snapshot.
//!
//! Requirements: A04, A07, A17, A19, B11, B17, B27, C01, C02, C03, C15, C16, C37, C38, D01, D03, D04, D08, D12, D15,
//! D20, D21, H07.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::store::InterruptKind;
use crate::words::agent::OnDenial;
use crate::words::background::{Background, Terms};
use crate::words::children::{Allowance, Parent, ReplyBy, ReplyTo};
use crate::words::error::ErrorInfo;
use crate::words::gate::ArgumentPatterns;
use crate::words::ids::{CallId, Incarnation, MessageSeq, PendingId, SessionKey, StepNumber};
use crate::words::model::StopReason;
use crate::words::phrases;
use crate::words::plan::Divergence;
use crate::words::procedure::ProcedureMove;
use crate::words::tool::{EffectClass, ResourceProfile, RunsOn};

mod background;
mod compacting;
mod handing_over;
use background::{awaiting, background, beginning, needs_children, task};
use handing_over::handed_to;
mod losing;
mod moves;
mod refusing;
mod steering;
mod suspending;
mod validation;

fn error() -> ErrorInfo {
    ErrorInfo::new("test", "it broke")
}

fn call(id: &str, state: CallState) -> Call {
    Call {
        id: CallId::new(id).unwrap(),
        tool: id.into(),
        effect: EffectClass::AtMostOnce,
        dangerous: false,
        runs_on: RunsOn::Server,
        arguments: MessageSeq(1),
        profile: ResourceProfile::key(id, crate::words::tool::Access::Write),
        round: 0,
        approved: None,
        panel: None,
        sent_before: false,
        tries: 0,
        instead_of: Vec::new(),
        changes: Vec::new(),
        leads: None,
        state,
    }
}

fn pending() -> PendingId {
    PendingId::new("p.1").unwrap()
}

fn blocked() -> CallState {
    CallState::BlockedOnUser { pending: pending(), deadline: None }
}

fn awaiting_signal() -> CallState {
    CallState::AwaitingSignal { name: "paid".parse().unwrap(), deadline: None }
}

fn waiting() -> CallState {
    CallState::Waiting { until: Timestamp::from_ms(9), output: "later".into(), stop: false, again: false }
}

fn to_be_tried_again() -> CallState {
    CallState::Waiting { until: Timestamp::from_ms(9), output: "no".into(), stop: false, again: true }
}

/// Returns every state that a call may be in.
fn call_states() -> Vec<CallState> {
    vec![
        CallState::Queued,
        CallState::Gating,
        blocked(),
        CallState::BlockedOnClient { pending: pending(), deadline: None },
        children(false),
        children(true),
        beginning(),
        awaiting(),
        awaiting_signal(),
        waiting(),
        to_be_tried_again(),
        CallState::Approved,
        CallState::Preparing,
        CallState::Executing,
        CallState::CleaningUp,
        CallState::Done,
        CallState::Error,
        CallState::RejectedByUser,
        CallState::Cancelled { reason: CancelReason::UserCancelled },
        CallState::InDoubt,
    ]
}

/// Returns every input that a call may get, with its name.
fn call_inputs() -> Vec<(&'static str, CallInput)> {
    let profile = ResourceProfile::Serial;
    vec![
        ("asked", CallInput::Asked),
        ("allowed", CallInput::Allowed { profile: profile.clone() }),
        ("rewritten", CallInput::Rewritten { arguments: MessageSeq(2) }),
        ("synthesised", CallInput::Synthesised { stop: false }),
        ("refused", CallInput::Refused),
        ("output", CallInput::Output { fits: true }),
        (
            "needs_user",
            CallInput::NeedsUser {
                pending: pending(),
                deadline: None,
                profile: profile.clone(),
                arguments: MessageSeq(1),
                panel: None,
            },
        ),
        ("reopened", CallInput::Reopened { pending: PendingId::new("p.2").unwrap() }),
        (
            "needs_client",
            CallInput::NeedsClient { pending: pending(), deadline: None, profile: profile.clone() },
        ),
        ("needs_children", needs_children(None)),
        ("hands_over", CallInput::HandsOver { to: Box::new(handed_to()) }),
        ("begins_children", needs_children(Some(Terms::default()))),
        ("needs_ends", CallInput::NeedsEnds { deadline: None, profile }),
        ("needs_signal", CallInput::NeedsSignal { name: "paid".parse().unwrap(), deadline: None }),
        ("started", CallInput::Started),
        (
            "approved",
            CallInput::Approved {
                arguments: MessageSeq(2),
                digest: crate::words::payload::Digest::of(b"{}"),
                always: false,
                only: ArgumentPatterns::default(),
            },
        ),
        (
            "voted",
            CallInput::Voted {
                vote: Vote { by: "ann".into(), at: Timestamp::from_ms(1), decision: MessageSeq(2) },
            },
        ),
        (
            "edited",
            CallInput::Edited {
                arguments: MessageSeq(2),
                digest: crate::words::payload::Digest::of(b"{}"),
                vote: None,
            },
        ),
        ("granted", CallInput::Granted { steps: 2 }),
        (
            "leads",
            CallInput::Leads {
                to: Box::new(ProcedureMove { from: None, on: None, to: "a".parse().unwrap() }),
            },
        ),
        ("escalated", CallInput::Escalated),
        ("rejected", CallInput::Rejected { then: OnDenial::GoOn, aborts: false }),
        ("answered", CallInput::Answered { ok: true, usage: Usage::default() }),
        ("expired", CallInput::Expired { done: false, approved: None }),
        (
            "expired_approved",
            CallInput::Expired { done: false, approved: Some(crate::words::payload::Digest::of(b"{}")) },
        ),
        ("marked", CallInput::Marked),
        ("sent", CallInput::Sent),
        ("changes", CallInput::Changes { changes: Vec::new() }),
        ("returned", CallInput::Returned { ok: true, stop: false, broken: false }),
        ("try_again", CallInput::TryAgain { until: Timestamp::from_ms(9), why: "no".into(), sent: true }),
        (
            "deferred",
            CallInput::Deferred { until: Timestamp::from_ms(9), output: String::new(), stop: false },
        ),
        ("rang", CallInput::Rang),
        ("stop_asked", CallInput::StopAsked),
        ("cancelled", CallInput::Cancelled { reason: CancelReason::UserCancelled }),
        ("lost", CallInput::Lost { broken: true }),
        ("again", CallInput::Again),
    ]
}

fn batch(states: &[CallState]) -> Batch {
    let calls =
        states.iter().enumerate().map(|(at, state)| call(&format!("call-{at}"), state.clone())).collect();
    Batch::new(StepNumber(1), MessageSeq(1), calls)
}

fn children(started: bool) -> CallState {
    CallState::BlockedOnChild {
        pending: pending(),
        deadline: None,
        count: 2,
        needed: 2,
        started,
        background: None,
        remote: None,
        since: None,
    }
}

fn reply_to() -> ReplyTo {
    let parent = Parent {
        session: SessionKey::new("acme".parse().unwrap(), "parent".parse().unwrap()),
        incarnation: Incarnation::derived([7; 16]),
        pending: pending(),
        index: 0,
        fail_fast: false,
        by: ReplyBy::Answer,
    };
    ReplyTo::parent(parent, Allowance::default())
}

/// Returns an open step with calls in these states.
fn open(states: &[CallState]) -> Batch {
    Batch { open: true, ..batch(states) }
}

/// Returns samples of every state: enough for every move of the table.
pub(super) fn states() -> Vec<AgentState> {
    let step = StepNumber(1);
    let left = |provisioned| AgentState::TearingDown {
        ending: Ending::of(DoneReason::ModelStop),
        left: Teardown { provisioned, ..Teardown::default() },
    };
    let compacting = |why| AgentState::Compacting { why, step, attempt: 0 };
    let mut states = vec![
        AgentState::Idle,
        AgentState::Provisioning { request: TurnRequest::Message, parked: false },
        AgentState::Provisioning { request: TurnRequest::Resume, parked: false },
        AgentState::Provisioning { request: TurnRequest::Message, parked: true },
        AgentState::Thinking { step, attempt: 0 },
        AgentState::Streaming { step, attempt: 0, entry: MessageSeq(2) },
        AgentState::Steering { from: SteeringFrom::Resumed },
        compacting(CompactionCause::Threshold),
        compacting(CompactionCause::ContextLimit { error: error() }),
        compacting(CompactionCause::Manual { ending: Ending::of(DoneReason::ModelStop) }),
        compacting(CompactionCause::Handoff),
        AgentState::BackingOff { step, attempt: 1, until: Timestamp::from_ms(5), error: error() },
        left(false),
        left(true),
        AgentState::Done { ending: Ending::of(DoneReason::ModelStop), usage: Usage::default() },
        AgentState::Confirming { batch: batch(&[blocked()]) },
        AgentState::Confirming { batch: batch(&[waiting()]) },
        AgentState::Confirming { batch: Batch { for_more: true, ..batch(&[blocked()]) } },
        AgentState::Confirming { batch: batch(&[waiting(), blocked()]) },
        AgentState::Confirming { batch: batch(&[awaiting_signal()]) },
        AgentState::Confirming {
            batch: batch(&[CallState::BlockedOnClient { pending: pending(), deadline: None }]),
        },
        AgentState::Executing { batch: batch(&[children(false)]) },
        AgentState::Executing { batch: batch(&[children(false), waiting()]) },
        AgentState::Executing { batch: batch(&[children(false), children(true)]) },
        AgentState::Executing { batch: batch(&[beginning()]) },
        AgentState::Dispatching { batch: batch(&[awaiting()]) },
        AgentState::Dispatching { batch: batch(&[children(true)]) },
        AgentState::Dispatching { batch: batch(&[children(true), children(true)]) },
        AgentState::Confirming { batch: batch(&[children(true), waiting()]) },
        AgentState::Confirming { batch: batch(&[blocked(), children(true)]) },
        AgentState::TearingDown {
            ending: Ending::of(DoneReason::ModelStop),
            left: Teardown { replies: vec![reply_to()], ..Teardown::default() },
        },
        AgentState::TearingDown {
            ending: Ending::handing_over(handed_to()),
            left: Teardown {
                successor: Some(Box::new(Successor { to: handed_to(), replies: vec![reply_to()] })),
                ..Teardown::default()
            },
        },
        // Steps that code plans.
        AgentState::Executing { batch: open(&[]) },
        AgentState::Executing { batch: open(&[CallState::Executing]) },
        AgentState::Confirming { batch: open(&[blocked()]) },
        AgentState::Confirming { batch: open(&[waiting()]) },
        AgentState::Dispatching { batch: open(&[children(true)]) },
        // Stopped while one call is out: a claim finds the turn ready to end.
        AgentState::Executing {
            batch: Batch {
                stopping: Some(Ending::stopped(InterruptKind::Soft)),
                ..batch(&[CallState::CleaningUp])
            },
        },
    ];
    let working = [
        CallState::Queued,
        CallState::Gating,
        CallState::Approved,
        CallState::Preparing,
        CallState::Executing,
        CallState::CleaningUp,
    ];
    for state in working {
        states.push(AgentState::Executing { batch: batch(std::slice::from_ref(&state)) });
        states.push(AgentState::Executing { batch: batch(&[state.clone(), waiting()]) });
        states.push(AgentState::Executing { batch: batch(&[state, children(true)]) });
    }
    // A dangerous call is held back by a parked one.
    let mut held = batch(&[waiting(), CallState::Approved]);
    held.calls[1].profile = held.calls[0].profile.clone();
    held.calls[1].dangerous = true;
    states.push(AgentState::Confirming { batch: held });
    // The same, but the dangerous call also holds back another.
    let keys = |names: &[&str]| {
        ResourceProfile::Keys(
            names.iter().map(|name| ((*name).to_owned(), crate::words::tool::Access::Write)).collect(),
        )
    };
    let mut chain = batch(&[waiting(), CallState::Approved, CallState::Approved]);
    for (call, touched) in chain.calls.iter_mut().zip([&["a"][..], &["a", "b"], &["b"]]) {
        call.profile = keys(touched);
    }
    chain.calls[1].dangerous = true;
    states.push(AgentState::Confirming { batch: chain.clone() });
    chain.calls[0].state = children(true);
    states.push(AgentState::Dispatching { batch: chain });
    states
}

/// Returns samples of every input.
pub(super) fn inputs() -> Vec<Input> {
    let new = NewCall {
        id: CallId::new("call-0").unwrap(),
        tool: "t".into(),
        effect: EffectClass::ReadOnly,
        dangerous: false,
        runs_on: RunsOn::Server,
        leads: None,
    };
    let answered = |calls: Vec<NewCall>| Input::ModelAnswered {
        message: MessageSeq(2),
        calls,
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        tokens: 7,
        counted: false,
    };
    let planned = |calls, ending| Input::Planned { message: MessageSeq(2), calls, ending, carries_on: false };
    let failed = |retry_at, compact, next| Input::ModelFailed {
        error: error(),
        retry_at,
        held_until: None,
        too_long: false,
        compact,
        next,
        usage: Usage::default(),
    };
    let not_compacted = |error, retry_at| Input::NotCompacted {
        error,
        usage: Usage::default(),
        retry_at,
        held_until: None,
        shorter: None,
        dead_end: None,
        next: false,
    };
    let steered = |stop| Input::Steered {
        stop,
        no_output: false,
        tokens: 3,
        results: None,
        cleared: None,
        usage: Usage::default(),
        corrected: false,
        asks: None,
    };
    let asked = EngineRequest {
        call: CallId::new("call-0").unwrap(),
        pending: pending(),
        deadline: None,
        notice: MessageSeq(4),
        for_procedure: false,
    };
    let asks = |asked| {
        let mut asks = steered(None);
        if let Input::Steered { asks, .. } = &mut asks {
            *asks = Some(Box::new(asked));
        }
        asks
    };
    let mut inputs = vec![
        asks(EngineRequest { for_procedure: true, ..asked.clone() }),
        asks(asked),
        Input::TurnRequested {
            request: TurnRequest::Message,
            provisions: false,
            after: MessageSeq(0),
            asks_in_doubt: false,
            procedure: Box::default(),
            planned: false,
        },
        Input::Briefed {
            mode: Some(crate::words::mode::Mode::Plan),
            prompt: Some(MessageSeq(1)),
            said: MessageSeq(1),
        },
        Input::Claimed { takeover: false },
        Input::Claimed { takeover: true },
        Input::Provisioned,
        Input::ModelCalled { entry: MessageSeq(2), withheld: Vec::new() },
        Input::LoopFound { tool: "t".into(), count: 8 },
        planned(vec![NewCall { id: CallId::new("call-9").unwrap(), ..new.clone() }], None),
        planned(Vec::new(), Some(Ending::of(DoneReason::ModelStop))),
        planned(Vec::new(), None),
        Input::Diverged {
            found: Box::new(Divergence { at: 1, expected: "a()".to_owned(), found: "b()".to_owned() }),
        },
        answered(vec![new]),
        answered(Vec::new()),
        failed(None, false, false),
        failed(None, true, false),
        failed(None, false, true),
        failed(Some(Timestamp::from_ms(5)), false, false),
        steered(None),
        steered(Some(Ending::of(DoneReason::MaxTurns))),
        Input::CompactionRequested,
        Input::Compacted {
            summary: MessageSeq(9),
            from: MessageSeq(5),
            tokens: 11,
            before: 40,
            usage: Usage::default(),
        },
        not_compacted(None, None),
        not_compacted(Some(error()), None),
        not_compacted(Some(error()), Some(Timestamp::from_ms(5))),
        Input::Rewound {
            to: MessageSeq(2),
            at: MessageSeq(9),
            tokens: 4,
            state: Vec::new(),
            procedure: None,
        },
        Input::TimerRang,
        Input::Parked,
        Input::Interrupted { kind: InterruptKind::Soft, cause: StopCause::Asked },
        Input::Interrupted { kind: InterruptKind::Abort, cause: StopCause::Asked },
        Input::CutShort { ending: Ending::of(DoneReason::BudgetExceeded), drains: false },
        Input::CutShort { ending: Ending::error(error()), drains: true },
        Input::Failed { error: error() },
        Input::ModelStopped { usage: Usage { model_calls: 1, ..Usage::default() } },
        Input::Owed { reply: Box::new(reply_to()) },
        Input::Told,
        Input::NotHandedOver { error: error() },
        Input::ChildBegan { child: Box::new(background()) },
        Input::ChildResumed { pending: pending(), index: 1, task: task(), share: Allowance::default() },
        Input::ChildEnded { pending: pending(), index: 1, tasks: vec![task()], usage: Usage::default() },
        Input::TornDown,
        Input::Forked,
        Input::HandedOff {
            after: MessageSeq(2),
            tokens: 4,
            draft: false,
            another: false,
            replies: Vec::new(),
        },
        Input::HandedOff { after: MessageSeq(2), tokens: 4, draft: true, another: true, replies: Vec::new() },
    ];
    for (_, input) in call_inputs() {
        inputs.push(Input::Call { call: CallId::new("call-0").unwrap(), input });
    }
    inputs
}

pub(super) fn at(state: AgentState) -> Machine {
    let ended = Background { owes: Vec::new(), ..background() };
    let known = if matches!(state, AgentState::Executing { .. }) { vec![ended] } else { Vec::new() };
    let mut machine = Machine { state, step: StepNumber(1), background: known, ..Machine::default() };
    machine.turn.open = !matches!(machine.state, AgentState::Idle | AgentState::Done { .. });
    if let AgentState::Compacting { why: CompactionCause::Handoff, .. } = machine.state {
        machine.handoff = Some(Handoff { after: MessageSeq(1), draft: true });
    }
    machine
}

pub(super) const FACTS: Facts = Facts { now: Timestamp::from_ms(7) };

/// Returns the states to which this pair leads, over all samples.
fn reached(from: StateKind, on: InputKind) -> BTreeSet<StateKind> {
    let mut reached = BTreeSet::new();
    for state in states().into_iter().filter(|state| state.kind() == from) {
        for input in inputs().into_iter().filter(|input| input.kind() == on) {
            let machine = at(state.clone());
            match transition(&machine, &input, &FACTS) {
                Ok(moved) => drop(reached.insert(moved.next.state.kind())),
                Err(refused) => assert_eq!((refused.state, refused.input), (from, on)),
            }
        }
    }
    reached
}

/// Requirements: C02, D01, D08, D15.
#[test]
fn the_table_says_what_transition_does() {
    let table = table::SESSION;
    for from in StateKind::ALL {
        for on in InputKind::ALL {
            let said: BTreeSet<StateKind> = table.targets(from, on).iter().copied().collect();
            let done = reached(from, on);
            assert_eq!(done, said, "{} on {}", from.as_str(), on.as_str());
        }
    }
}

/// Requirements: A04, A07, B11, C01, C02, C16, C37, D04.
#[test]
fn the_whole_matrix() {
    let mut text = String::new();
    for from in StateKind::ALL {
        for on in InputKind::ALL {
            let to: Vec<&str> = reached(from, on).iter().map(|to| to.as_str()).collect();
            let to = if to.is_empty() { "refused".to_owned() } else { to.join(" | ") };
            writeln!(text, "{:<13} {:<20} {to}", from.as_str(), on.as_str()).unwrap();
        }
    }
    insta::assert_snapshot!("machine_matrix", text);
}

fn shown(state: &CallState) -> &'static str {
    if matches!(state, CallState::Waiting { again: true, .. }) { "waiting (again)" } else { state.name() }
}

/// Requirements: B27, D08, D12.
#[test]
fn the_whole_matrix_of_a_call() {
    let mut text = String::new();
    for state in call_states() {
        for (name, input) in call_inputs() {
            let became = match state.after(&input) {
                call::CallMove::Moved(to) => to.name().to_owned(),
                call::CallMove::AlreadyThere => "already there".to_owned(),
                call::CallMove::NotAllowed => "not allowed".to_owned(),
            };
            writeln!(text, "{:<17} {name:<12} {became}", shown(&state)).unwrap();
        }
    }
    insta::assert_snapshot!("call_matrix", text);
}

#[test]
fn people_read_no_wire_name_of_a_call_state() {
    for phrase in CallState::NAMES.map(phrases::call) {
        assert!(!phrase.contains('_') && !phrase.contains("client"), "{phrase}");
    }
}

#[test]
fn the_diagram_is_generated_from_the_table() {
    insta::assert_snapshot!("machine_mermaid", diagram::mermaid());
}

/// Requirements: B27.
#[test]
fn an_end_of_a_call_never_changes() {
    for state in call_states().into_iter().filter(CallState::is_end) {
        for (name, input) in call_inputs() {
            let moved = matches!(state.after(&input), call::CallMove::Moved(_));
            assert!(!moved, "{} moved on {name}", state.name());
        }
    }
}

/// Requirements: C03, D03.
#[test]
fn a_refused_input_changes_nothing_and_says_where() {
    let machine = at(AgentState::Idle);
    let refused = transition(&machine, &Input::TornDown, &FACTS).expect_err("nothing to tear down");
    assert_eq!(refused.to_string(), "a session that is idle does not take torn_down");
    let unknown = Input::Call { call: CallId::new("other").unwrap(), input: CallInput::Sent };
    let machine = at(AgentState::Executing { batch: batch(&[CallState::Approved]) });
    let refused = transition(&machine, &unknown, &FACTS).expect_err("no such call");
    assert_eq!(
        refused.to_string(),
        "a session that is executing does not take call: no call other in this step"
    );
}
