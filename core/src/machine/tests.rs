//! The table says what `transition` does, pair by pair; the whole matrix is a committed snapshot.
//!
//! Requirements: A04, A07, A17, A19, B11, B17, B27, C01, C02, C03, C15, C16, C37, C38, D01, D03, D04, D08, D12, D15, D20, D21, H07.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::agent::OnDenial;
use crate::error::ErrorInfo;
use crate::gate::ArgumentPatterns;
use crate::ids::{CallId, MessageSeq, PendingId, StepNumber};
use crate::model::StopReason;
use crate::store::InterruptKind;
use crate::tool::{EffectClass, ResourceProfile, RunsOn};

mod moves;

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
        profile: ResourceProfile::key(id, crate::tool::Access::Write),
        round: 0,
        approved: None,
        panel: None,
        sent_before: false,
        tries: 0,
        changes: Vec::new(),
        state,
    }
}

fn pending() -> PendingId {
    PendingId::new("p.1").unwrap()
}

fn blocked() -> CallState {
    CallState::BlockedOnUser { pending: pending(), deadline: None }
}

fn waiting() -> CallState {
    CallState::Waiting { until: Timestamp::from_ms(9), output: "later".into(), stop: false, again: false }
}

fn to_be_tried_again() -> CallState {
    CallState::Waiting { until: Timestamp::from_ms(9), output: "no".into(), stop: false, again: true }
}

/// Every state that a call may be in.
fn call_states() -> Vec<CallState> {
    vec![
        CallState::Queued,
        CallState::Gating,
        blocked(),
        CallState::BlockedOnClient { pending: pending(), deadline: None },
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

/// Every input that a call may get, with its name.
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
        ("needs_client", CallInput::NeedsClient { pending: pending(), deadline: None, profile }),
        (
            "approved",
            CallInput::Approved {
                arguments: MessageSeq(2),
                digest: crate::payload::Digest::of(b"{}"),
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
                digest: crate::payload::Digest::of(b"{}"),
                vote: None,
            },
        ),
        ("granted", CallInput::Granted { steps: 2 }),
        ("escalated", CallInput::Escalated),
        ("rejected", CallInput::Rejected { then: OnDenial::GoOn }),
        ("answered", CallInput::Answered { ok: true }),
        ("expired", CallInput::Expired { done: false, approved: None }),
        (
            "expired_approved",
            CallInput::Expired { done: false, approved: Some(crate::payload::Digest::of(b"{}")) },
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

/// Samples of every state: enough of them that every move of the table happens.
fn states() -> Vec<AgentState> {
    let step = StepNumber(1);
    let left = |provisioned| AgentState::TearingDown {
        ending: Ending::of(DoneReason::ModelStop),
        left: Teardown { provisioned },
    };
    let compacting = |why| AgentState::Compacting { why, step, attempt: 0 };
    let mut states = vec![
        AgentState::Idle,
        AgentState::Provisioning { request: TurnRequest::Message },
        AgentState::Provisioning { request: TurnRequest::Resume },
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
        AgentState::Confirming {
            batch: batch(&[CallState::BlockedOnClient { pending: pending(), deadline: None }]),
        },
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
        states.push(AgentState::Executing { batch: batch(&[state, waiting()]) });
    }
    // A dangerous call that was held back behind a parked one, and the parked one's time has come.
    let mut held = batch(&[waiting(), CallState::Approved]);
    held.calls[1].profile = held.calls[0].profile.clone();
    held.calls[1].dangerous = true;
    states.push(AgentState::Confirming { batch: held });
    // The same, and the dangerous call itself holds another back.
    let keys = |names: &[&str]| {
        ResourceProfile::Keys(
            names.iter().map(|name| ((*name).to_owned(), crate::tool::Access::Write)).collect(),
        )
    };
    let mut chain = batch(&[waiting(), CallState::Approved, CallState::Approved]);
    for (call, touched) in chain.calls.iter_mut().zip([&["a"][..], &["a", "b"], &["b"]]) {
        call.profile = keys(touched);
    }
    chain.calls[1].dangerous = true;
    states.push(AgentState::Confirming { batch: chain });
    states
}

/// Samples of every input.
fn inputs() -> Vec<Input> {
    let new = NewCall {
        id: CallId::new("call-0").unwrap(),
        tool: "t".into(),
        effect: EffectClass::ReadOnly,
        dangerous: false,
        runs_on: RunsOn::Server,
    };
    let answered = |calls: Vec<NewCall>| Input::ModelAnswered {
        message: MessageSeq(2),
        calls,
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        tokens: 7,
        counted: false,
    };
    let failed = |retry_at, compact, next| Input::ModelFailed {
        error: error(),
        retry_at,
        compact,
        next,
        usage: Usage::default(),
    };
    let not_compacted =
        |error, retry_at| Input::NotCompacted { error, usage: Usage::default(), retry_at, next: false };
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
    let asked = AskedForMore {
        call: CallId::new("call-0").unwrap(),
        pending: pending(),
        deadline: None,
        notice: MessageSeq(4),
    };
    let mut asks = steered(None);
    if let Input::Steered { asks, .. } = &mut asks {
        *asks = Some(Box::new(asked));
    }
    let mut inputs = vec![
        asks,
        Input::TurnRequested { request: TurnRequest::Message, provisions: false, after: MessageSeq(0) },
        Input::Briefed {
            mode: Some(crate::mode::Mode::Plan),
            prompt: Some(MessageSeq(1)),
            said: MessageSeq(1),
        },
        Input::Claimed { takeover: false },
        Input::Claimed { takeover: true },
        Input::Provisioned,
        Input::ModelCalled { entry: MessageSeq(2), withheld: None },
        Input::LoopFound { tool: "t".into(), count: 8 },
        answered(vec![new]),
        answered(Vec::new()),
        failed(None, false, false),
        failed(None, true, false),
        failed(None, false, true),
        failed(Some(Timestamp::from_ms(5)), false, false),
        steered(None),
        steered(Some(Ending::of(DoneReason::MaxTurns))),
        Input::CompactionRequested,
        Input::Compacted { summary: MessageSeq(9), from: MessageSeq(5), tokens: 11, usage: Usage::default() },
        not_compacted(None, None),
        not_compacted(Some(error()), None),
        not_compacted(Some(error()), Some(Timestamp::from_ms(5))),
        Input::Rewound { to: MessageSeq(2), at: MessageSeq(9), tokens: 4, state: Vec::new() },
        Input::TimerRang,
        Input::Parked,
        Input::Interrupted { kind: InterruptKind::Soft, cause: StopCause::Asked },
        Input::Interrupted { kind: InterruptKind::Abort, cause: StopCause::Asked },
        Input::CutShort { ending: Ending::of(DoneReason::BudgetExceeded), drains: false },
        Input::CutShort { ending: Ending::error(error()), drains: true },
        Input::Failed { error: error() },
        Input::TornDown,
        Input::Forked,
        Input::HandedOff { after: MessageSeq(2), tokens: 4, draft: false },
    ];
    for (_, input) in call_inputs() {
        inputs.push(Input::Call { call: CallId::new("call-0").unwrap(), input });
    }
    inputs
}

fn at(state: AgentState) -> Machine {
    let mut machine = Machine { state, step: StepNumber(1), ..Machine::default() };
    machine.turn.open = !matches!(machine.state, AgentState::Idle | AgentState::Done { .. });
    if let AgentState::Compacting { why: CompactionCause::Handoff, .. } = machine.state {
        machine.handoff = Some(Handoff { after: MessageSeq(1), draft: true });
    }
    machine
}

const FACTS: Facts = Facts { now: Timestamp::from_ms(7) };

/// Where each pair leads, over all samples.
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

#[test]
fn the_table_says_what_transition_does() {
    let table = table::Table { rows: table::ROWS, natures: table::NATURES, bounds: table::BOUNDS };
    for from in StateKind::ALL {
        for on in InputKind::ALL {
            let said: BTreeSet<StateKind> = table.targets(from, on).iter().copied().collect();
            let done = reached(from, on);
            assert_eq!(done, said, "{} on {}", from.as_str(), on.as_str());
        }
    }
}

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

#[test]
fn the_whole_matrix_of_a_call() {
    let mut text = String::new();
    for state in call_states() {
        for (name, input) in call_inputs() {
            let became = match state.step(&input) {
                call::Step::Moved(to) => to.name().to_owned(),
                call::Step::AlreadyThere => "already there".to_owned(),
                call::Step::NotAllowed => "not allowed".to_owned(),
            };
            writeln!(text, "{:<17} {name:<12} {became}", shown(&state)).unwrap();
        }
    }
    insta::assert_snapshot!("call_matrix", text);
}

#[test]
fn the_diagram_is_generated_from_the_table() {
    insta::assert_snapshot!("machine_mermaid", diagram::mermaid());
}

#[test]
fn an_end_of_a_call_never_changes() {
    for state in call_states().into_iter().filter(CallState::is_end) {
        for (name, input) in call_inputs() {
            let moved = matches!(state.step(&input), call::Step::Moved(_));
            assert!(!moved, "{} moved on {name}", state.name());
        }
    }
}

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

mod validation {
    use super::super::table::{BOUNDS, Bound, NATURES, Nature, ROWS, Row, Table, TableError};
    use super::super::{InputKind as I, StateKind as S};

    fn check(change: impl Fn(&mut Vec<Row>, &mut Vec<(S, Nature)>, &mut Vec<Bound>)) -> Vec<TableError> {
        let (mut rows, mut natures, mut bounds) = (ROWS.to_vec(), NATURES.to_vec(), BOUNDS.to_vec());
        change(&mut rows, &mut natures, &mut bounds);
        Table { rows: &rows, natures: &natures, bounds: &bounds }.validate().expect_err("a broken table").0
    }

    #[test]
    fn the_table_of_this_version_is_sound() {
        super::table::validate().expect("sound");
    }

    #[test]
    fn a_missing_target_is_found() {
        let broken = check(|rows, _, _| rows[0].to = &[]);
        assert!(broken.contains(&TableError::MissingTarget(S::Idle, I::TurnRequested)), "{broken:?}");
        let broken = check(|_, natures, _| natures.retain(|(state, _)| *state != S::BackingOff));
        assert!(broken.contains(&TableError::MissingTarget(S::Streaming, I::ModelFailed)), "{broken:?}");
    }

    #[test]
    fn a_dead_end_is_found_also_when_only_an_error_leads_out() {
        let broken = check(|rows, _, _| {
            rows.retain(|row| (row.from, row.on) != (S::BackingOff, I::TimerRang));
        });
        assert!(broken.contains(&TableError::DeadEnd(S::BackingOff)), "{broken:?}");
    }

    #[test]
    fn a_missing_failure_edge_is_found() {
        let broken = check(|rows, _, _| rows.retain(|row| (row.from, row.on) != (S::Thinking, I::Failed)));
        assert!(broken.contains(&TableError::NoFailureEdge(S::Thinking)), "{broken:?}");
    }

    #[test]
    fn a_parked_state_that_nothing_wakes_is_found() {
        let broken = check(|_, natures, _| {
            for (state, nature) in natures.iter_mut().filter(|(state, _)| *state == S::Confirming) {
                assert_eq!(*state, S::Confirming);
                *nature = Nature::Parked { woken_by: &[], answered_by: Some(I::Call) };
            }
        });
        assert!(broken.contains(&TableError::NoWakeUp(S::Confirming)), "{broken:?}");
    }

    #[test]
    fn a_state_whose_answer_leads_nowhere_is_found() {
        let broken = check(|rows, _, _| {
            rows.retain(|row| (row.from, row.on) != (S::Confirming, I::Call));
        });
        assert!(broken.contains(&TableError::NoAnswer(S::Confirming)), "{broken:?}");
    }

    /// A known trap: a validator that stops at the first of several.
    #[test]
    fn all_that_is_wrong_is_found_at_once() {
        let broken = check(|rows, natures, bounds| {
            rows.retain(|row| (row.from, row.on) != (S::Thinking, I::Failed));
            rows.retain(|row| (row.from, row.on) != (S::BackingOff, I::TimerRang));
            rows[0].to = &[];
            for (_, nature) in natures.iter_mut().filter(|(state, _)| *state == S::Confirming) {
                *nature = Nature::Parked { woken_by: &[], answered_by: Some(I::Steered) };
            }
            bounds.clear();
        });
        for expected in [
            TableError::MissingTarget(S::Idle, I::TurnRequested),
            TableError::DeadEnd(S::BackingOff),
            TableError::NoFailureEdge(S::Thinking),
            TableError::NoWakeUp(S::Confirming),
            TableError::NoAnswer(S::Confirming),
        ] {
            assert!(broken.contains(&expected), "{expected}: {broken:?}");
        }
        assert!(broken.iter().any(|one| matches!(one, TableError::UnboundedCycle(_))), "{broken:?}");
    }

    #[test]
    fn a_cycle_that_nothing_bounds_is_found() {
        let broken = check(|_, _, bounds| {
            bounds.retain(|bound| bound.state != S::Steering && bound.state != S::Streaming);
        });
        assert!(broken.iter().any(|one| matches!(one, TableError::UnboundedCycle(_))), "{broken:?}");
    }

    #[test]
    fn a_pair_that_is_listed_twice_is_found() {
        let broken = check(|rows, _, _| rows.push(rows[0]));
        assert!(broken.contains(&TableError::Twice(S::Idle, I::TurnRequested)), "{broken:?}");
    }
}

mod suspending {
    use super::*;
    use crate::store::OutcomeKind;

    /// Every batch of up to three calls, each in one of the states that matter: the precedence table,
    /// exhaustively.
    #[test]
    fn every_mix_of_states_is_classified_by_the_table() {
        let client = CallState::BlockedOnClient { pending: pending(), deadline: None };
        let due = CallState::Waiting { until: FACTS.now, output: String::new(), stop: false, again: false };
        let kinds =
            [blocked(), client, waiting(), due, CallState::Done, CallState::Executing, CallState::Approved];
        let mut mixes: Vec<Vec<CallState>> = vec![Vec::new()];
        for _ in 0..3 {
            let longer: Vec<Vec<CallState>> = mixes
                .iter()
                .flat_map(|mix| {
                    kinds.iter().map(move |kind| [mix.as_slice(), std::slice::from_ref(kind)].concat())
                })
                .collect();
            mixes.extend(longer);
        }
        let mut seen = BTreeSet::new();
        for mix in mixes {
            let has = |holds: &dyn Fn(&CallState) -> bool| mix.iter().any(holds);
            let goes_on = has(&|state| matches!(state, CallState::Executing | CallState::Approved))
                || has(&|state| state.wakes_at().is_some_and(|at| at <= FACTS.now));
            let answers = has(&|state| {
                matches!(state, CallState::BlockedOnUser { .. } | CallState::BlockedOnClient { .. })
            });
            let timers = has(&|state| matches!(state, CallState::Waiting { .. }));
            let ended = has(&CallState::is_end);
            let expected = match (goes_on, answers, timers, ended) {
                (true, ..) | (false, false, false, _) => None,
                (false, true, true, true) => Some(OutcomeKind::SuspendedStepPartial),
                (false, true, ..) => Some(OutcomeKind::SuspendedClientTool),
                (false, false, true, _) => Some(OutcomeKind::SuspendedUntil),
            };
            let found = classify_suspension(&batch(&mix), FACTS.now).map(|suspension| suspension.kind);
            assert_eq!(found, expected, "{mix:?}");
            seen.insert(found);
        }
        assert_eq!(seen.len(), 4, "every class occurred: {seen:?}");
    }

    #[test]
    fn the_earliest_instant_wakes_it_and_everything_owed_is_named() {
        let early = CallState::BlockedOnUser { pending: pending(), deadline: Some(Timestamp::from_ms(8)) };
        let suspension = classify_suspension(&batch(&[waiting(), early]), FACTS.now).expect("parked");
        assert_eq!(suspension.until, Some(Timestamp::from_ms(8)));
        let owed: Vec<OwedKind> = suspension.owed.iter().map(|owed| owed.kind).collect();
        assert_eq!(owed, [OwedKind::Timer, OwedKind::Approval]);
    }
}

mod steering_decides {
    use super::steering::{View, decide};
    use super::*;
    use crate::agent::{AgentSpec, StopCondition};
    use crate::ids::ToolName;
    use crate::model::TokenUsage;

    struct Given {
        from: SteeringFrom,
        steps: u32,
        tokens: u64,
        cost: u64,
        worked_ms: u64,
        messages_wait: bool,
        tools_done: Vec<String>,
        text: &'static str,
    }

    const CALLS: SteeringFrom = SteeringFrom::Calls { stop_signal: false, all_say_stop: false, output: None };
    const ANSWER: SteeringFrom = SteeringFrom::Answer { stop: StopReason::EndTurn };

    fn given(from: SteeringFrom) -> Given {
        Given {
            from,
            steps: 1,
            tokens: 0,
            cost: 0,
            worked_ms: 0,
            messages_wait: false,
            tools_done: vec![],
            text: "",
        }
    }

    fn check(given: Given, expect: Option<DoneReason>) {
        let mut agent = AgentSpec {
            stop_when: vec![
                StopCondition::ToolDone(ToolName::new("finish").unwrap()),
                StopCondition::TextContains("THE END".into()),
            ],
            ..AgentSpec::new("a")
        };
        agent.limits.max_steps = 3;
        agent.limits.max_tokens = Some(100);
        agent.limits.max_cost_microusd = Some(50);
        agent.limits.max_run_ms = Some(1_000);
        let turn =
            Turn { steps: given.steps, worked_ms: given.worked_ms, claimed_at: FACTS.now, ..Turn::default() };
        let tokens = TokenUsage { input: given.tokens, ..TokenUsage::default() };
        let usage = Usage { tokens, cost_microusd: given.cost, ..Usage::default() };
        let decided = decide(&View {
            from: given.from,
            turn: &turn,
            usage: &usage,
            agent: &agent,
            now: FACTS.now,
            messages_wait: given.messages_wait,
            corrected: false,
            tools_done: &given.tools_done,
            text: given.text,
        });
        assert_eq!(decided.map(|ending| ending.reason), expect);
    }

    #[test]
    fn an_answer_ends_the_turn_unless_a_message_raced_it() {
        check(given(ANSWER), Some(DoneReason::ModelStop));
        check(Given { messages_wait: true, ..given(ANSWER) }, None);
    }

    #[test]
    fn an_answer_that_was_refused_or_cut_off_is_an_error() {
        let refusal = SteeringFrom::Answer { stop: StopReason::Refusal };
        let cut = SteeringFrom::Answer { stop: StopReason::MaxTokens };
        check(given(refusal), Some(DoneReason::Error));
        check(Given { messages_wait: true, ..given(refusal) }, Some(DoneReason::Error));
        check(given(cut), Some(DoneReason::Error));
        // The model is asked again anyway.
        check(Given { messages_wait: true, ..given(cut) }, None);
        check(Given { messages_wait: true, steps: 3, ..given(cut) }, Some(DoneReason::MaxTurns));
        check(Given { text: "THE END.", ..given(cut) }, Some(DoneReason::ToolStop));
    }

    #[test]
    fn n_steps_are_exactly_n_model_calls() {
        check(Given { steps: 2, ..given(CALLS) }, None);
        check(Given { steps: 3, ..given(CALLS) }, Some(DoneReason::MaxTurns));
        // The limit matters only to a turn that would go on.
        check(Given { steps: 3, ..given(ANSWER) }, Some(DoneReason::ModelStop));
        check(Given { steps: 3, messages_wait: true, ..given(ANSWER) }, Some(DoneReason::MaxTurns));
    }

    #[test]
    fn each_budget_ends_the_turn_after_the_step_limit_was_looked_at() {
        check(Given { tokens: 99, ..given(CALLS) }, None);
        check(Given { tokens: 100, ..given(CALLS) }, Some(DoneReason::BudgetExceeded));
        check(Given { cost: 50, ..given(CALLS) }, Some(DoneReason::BudgetExceeded));
        check(Given { worked_ms: 1_000, ..given(CALLS) }, Some(DoneReason::BudgetExceeded));
        check(Given { tokens: 100, steps: 3, ..given(CALLS) }, Some(DoneReason::MaxTurns));
        check(Given { tokens: 100, ..given(ANSWER) }, Some(DoneReason::ModelStop));
    }

    #[test]
    fn a_stop_signal_wins() {
        let signal = SteeringFrom::Calls { stop_signal: true, all_say_stop: false, output: None };
        check(Given { steps: 3, tokens: 100, ..given(signal) }, Some(DoneReason::ToolStop));
        check(Given { tools_done: vec!["finish".into()], ..given(CALLS) }, Some(DoneReason::ToolStop));
        check(Given { text: "and so: THE END.", ..given(CALLS) }, Some(DoneReason::ToolStop));
    }
}
