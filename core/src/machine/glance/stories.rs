//! Sample turns as lists of inputs, and the machines that they lead through, for the tests of the views.

use crate::machine::{Facts, Machine, transition};
use crate::store::InterruptKind;
use crate::time::Timestamp;
use crate::words::agent::OnDenial;
use crate::words::ending::{DoneReason, Ending, StopCause};
use crate::words::error::ErrorInfo;
use crate::words::gate::ArgumentPatterns;
use crate::words::history::{CallInput, EngineRequest, Input, NewCall, TurnRequest};
use crate::words::ids::{CallId, MessageSeq, PendingId};
use crate::words::model::StopReason;
use crate::words::payload::Digest;
use crate::words::tool::{EffectClass, ResourceProfile, RunsOn};
use crate::words::usage::Usage;

fn error() -> ErrorInfo {
    ErrorInfo::new("test", "it broke")
}

fn begins(request: TurnRequest) -> Vec<Input> {
    vec![
        Input::TurnRequested {
            request,
            provisions: false,
            after: MessageSeq(0),
            asks_in_doubt: false,
            procedure: Box::default(),
            planned: false,
        },
        Input::Provisioned,
    ]
}

fn asked() -> Input {
    Input::ModelCalled { entry: MessageSeq(2), withheld: Vec::new() }
}

fn answered(calls: usize) -> Input {
    let new = |at| NewCall {
        id: CallId::new(format!("c-{at}")).unwrap(),
        tool: "look".into(),
        effect: EffectClass::ReadOnly,
        dangerous: false,
        runs_on: RunsOn::Server,
        leads: None,
    };
    Input::ModelAnswered {
        message: MessageSeq(2),
        calls: (0..calls).map(new).collect(),
        stop: if calls == 0 { StopReason::EndTurn } else { StopReason::ToolUse },
        usage: Usage::default(),
        tokens: 0,
        counted: false,
    }
}

fn call(input: CallInput) -> Input {
    Input::Call { call: CallId::new("c-0").unwrap(), input }
}

fn returned() -> Vec<Input> {
    vec![
        call(CallInput::Asked),
        call(CallInput::Allowed { profile: ResourceProfile::Serial }),
        call(CallInput::Sent),
        call(CallInput::Returned { ok: true, stop: false, broken: false }),
    ]
}

/// Returns the inputs of a call that a person approves and that then runs.
fn approved() -> Vec<Input> {
    let needs_user = CallInput::NeedsUser {
        pending: PendingId::new("p.1").unwrap(),
        deadline: None,
        profile: ResourceProfile::Serial,
        arguments: MessageSeq(2),
        panel: None,
    };
    let approved = CallInput::Approved {
        arguments: MessageSeq(2),
        digest: Digest::of(b"{}"),
        always: false,
        only: ArgumentPatterns::default(),
    };
    // The gate is asked once more about the approved call.
    [CallInput::Asked, needs_user, approved].map(call).into_iter().chain(returned()).collect()
}

/// Returns the inputs of a call that children answer.
fn joined() -> Vec<Input> {
    let needs_children = CallInput::NeedsChildren {
        pending: PendingId::new("p.1").unwrap(),
        deadline: None,
        profile: ResourceProfile::Keys(Vec::new()),
        count: 2,
        needed: 2,
        background: None,
        remote: None,
        since: None,
    };
    let begun = [CallInput::Asked, needs_children, CallInput::Started].map(call);
    let answered = call(CallInput::Answered { ok: true, usage: Usage::default() });
    begun.into_iter().chain([Input::Parked, Input::Claimed { takeover: false }, answered]).collect()
}

fn steered(stop: Option<DoneReason>) -> Input {
    Input::Steered {
        stop: stop.map(Ending::of),
        no_output: false,
        tokens: 0,
        results: None,
        cleared: None,
        asks: None,
        usage: Usage::default(),
        corrected: false,
    }
}

/// Returns an input by which a person is asked for more steps, and the person's decision.
fn asks_for_more(decided: CallInput) -> Vec<Input> {
    let call = CallId::new("more").unwrap();
    let pending = PendingId::new("p.2").unwrap();
    let notice = MessageSeq(3);
    let asked = EngineRequest { call: call.clone(), pending, notice, deadline: None, for_procedure: false };
    let asks = Input::Steered {
        stop: None,
        no_output: false,
        tokens: 0,
        results: None,
        cleared: None,
        asks: Some(Box::new(asked)),
        usage: Usage::default(),
        corrected: false,
    };
    vec![asks, Input::Parked, Input::Claimed { takeover: false }, Input::Call { call, input: decided }]
}

fn out_of_time() -> Input {
    Input::CutShort { ending: Ending::of(DoneReason::BudgetExceeded), drains: false }
}

fn fails() -> Input {
    Input::Failed { error: error() }
}

fn stopped() -> Input {
    Input::Interrupted { kind: InterruptKind::Soft, cause: StopCause::Asked }
}

fn failed(retry_at: Option<i64>) -> Input {
    let retry_at = retry_at.map(Timestamp::from_ms);
    Input::ModelFailed {
        error: error(),
        retry_at,
        held_until: None,
        too_long: false,
        compact: false,
        next: false,
        usage: Usage::default(),
    }
}

/// Returns turns that together pass through every state. Most of them end: by an answer, a tool, a stop, a limit or an
/// error.
pub(super) fn stories() -> Vec<Vec<Input>> {
    let message = || begins(TurnRequest::Message);
    let answer = || vec![asked(), answered(0)];
    let ends = |reason| vec![steered(Some(reason)), Input::TornDown];
    let again = || [begins(TurnRequest::Resume), vec![steered(None), asked()]].concat();
    vec![
        [message(), answer(), ends(DoneReason::ModelStop), vec![Input::CompactionRequested]].concat(),
        [message(), answer(), vec![steered(None)], answer(), ends(DoneReason::ModelStop), message()].concat(),
        [message(), vec![asked(), answered(1)], returned(), vec![steered(None)], answer()].concat(),
        [message(), vec![asked(), answered(1)], returned(), ends(DoneReason::ToolStop)].concat(),
        [message(), vec![asked(), answered(1)], approved(), ends(DoneReason::ToolStop)].concat(),
        [message(), vec![asked(), answered(1)], joined(), ends(DoneReason::ToolStop)].concat(),
        [message(), vec![asked(), answered(1), stopped(), Input::TornDown], again()].concat(),
        [message(), vec![asked(), answered(1), Input::Failed { error: error() }, Input::TornDown]].concat(),
        [message(), vec![asked(), failed(Some(5)), Input::TimerRang, asked(), failed(None), Input::TornDown]]
            .into_iter()
            .chain([again()])
            .flatten()
            .collect(),
        [message(), vec![asked(), failed(Some(5)), stopped(), Input::TornDown], message()].concat(),
        [message(), vec![asked(), stopped(), Input::TornDown], message()].concat(),
        [
            message(),
            vec![asked(), answered(1)],
            returned(),
            asks_for_more(CallInput::Granted { steps: 2 }),
            vec![steered(None)],
            answer(),
            asks_for_more(CallInput::Rejected { then: OnDenial::GoOn, aborts: false }),
            vec![Input::TornDown],
        ]
        .concat(),
        [message(), vec![asked(), failed(Some(5)), out_of_time(), Input::TornDown]].concat(),
        [message(), answer(), vec![fails(), Input::TornDown]].concat(),
        [message(), vec![asked(), answered(1)], returned(), vec![fails(), Input::TornDown]].concat(),
        [message(), vec![asked(), answered(1)], returned(), vec![stopped(), Input::TornDown]].concat(),
        [
            message(),
            vec![
                Input::CompactionRequested,
                Input::NotCompacted {
                    error: None,
                    usage: Usage::default(),
                    retry_at: None,
                    held_until: None,
                    shorter: None,
                    dead_end: None,
                    next: false,
                },
            ],
        ]
        .concat(),
    ]
}

/// Returns the machine before the first of these inputs, and after each.
pub(super) fn play(inputs: &[Input]) -> Vec<Machine> {
    let mut machines = vec![Machine::default()];
    for input in inputs {
        let facts = Facts { now: Timestamp::from_ms(1) };
        let next = transition(machines.last().unwrap(), input, &facts).unwrap().next;
        machines.push(next);
    }
    machines
}
