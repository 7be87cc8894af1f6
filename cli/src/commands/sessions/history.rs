//! `sessions history`: prints the moves of a session's machine.

use holdover_core::agent::OnDenial;
use holdover_core::children::{Address, ChildNames};
use holdover_core::history::Shorter;
use holdover_core::ids::PendingId;
use holdover_core::machine::{CallInput, Input, StopCause, Withheld};
use serde_json::json;

use crate::args::History;
use crate::exit::Failure;
use crate::front::Front;
use crate::print::{counted, escape, inline, instant, json};

/// Prints every move of a session's machine, or the state of the machine after one of them.
pub(super) async fn history(front: &Front, args: &History) -> Result<(), Failure> {
    let session = front.session(&args.session).await?;
    if let Some(number) = args.after {
        let machine = front.runtime.machine_after(&session.key, number).await?;
        let machine = machine.ok_or_else(|| {
            let id = &args.session;
            Failure::failed(format!(
                "session {id}: it has fewer moves than {number}: holdover sessions history {id}"
            ))
        })?;
        front.out.plain(&format!("{}\n", escape::json(&json!(machine).to_string())));
        return Ok(());
    }
    for step in front.runtime.moves(&session.key).await? {
        front.out.object(&json::history(&step));
        let (number, from, on, to) =
            (step.number, step.from.as_str(), step.on.kind().as_str(), step.to.as_str());
        let line = format!("{number:>4}  {}  {from:<12}  {on:<14}  {to:<12}  ", instant(step.at));
        let refers = Some(references(&step.on)).filter(|refers| !refers.is_empty());
        let stands = step.procedure.as_ref().map(|state| format!("procedure: {state}"));
        let kept = step.checkpoint.map(|id| format!("checkpoint {id}"));
        let said = refers.into_iter().chain(stands).chain(kept).collect::<Vec<_>>().join("; ");
        front.out.line(format!("{line}{}", inline(&said)).trim_end());
    }
    Ok(())
}

/// Describes the items that an input refers to, in a few words.
fn references(input: &Input) -> String {
    match input {
        Input::Briefed { mode, prompt, said: _ } => {
            let mode = mode.map(|mode| format!("mode {mode}"));
            let prompt = prompt.map(|at| format!("system prompt of message {at}"));
            mode.into_iter().chain(prompt).collect::<Vec<_>>().join(", ")
        }
        Input::TurnRequested { request, .. } => match request {
            holdover_core::machine::TurnRequest::Message => "by a message".to_owned(),
            holdover_core::machine::TurnRequest::Resume => "to be taken up again".to_owned(),
        },
        Input::Claimed { takeover: true } => "takes over: the run before died".to_owned(),
        Input::Claimed { takeover: false }
        | Input::Provisioned
        | Input::CompactionRequested
        | Input::TimerRang
        | Input::Parked
        | Input::Told
        | Input::TornDown => String::new(),
        Input::ModelStopped { usage } => format!("it had used {}", counted(usage.tokens.total(), "token")),
        Input::ModelCalled { entry, withheld } => {
            let without = |tool: &Withheld| format!(", without {} until step {}", tool.tool, tool.until);
            format!("will answer in message {entry}{}", withheld.iter().map(without).collect::<String>())
        }
        Input::LoopFound { tool, count } => format!("{} of {tool} are alike", counted(*count, "call")),
        Input::Compacted { summary, from, tokens, .. } => {
            let left = counted(*tokens, "token");
            format!("message {summary} stands for all before message {from}: {left} left")
        }
        Input::NotCompacted { error: Some(error), next: true, .. } => {
            format!("{error}; the next model is asked")
        }
        Input::NotCompacted { error: Some(error), retry_at: Some(at), .. } => {
            format!("{error}; again at {}", instant(*at))
        }
        Input::NotCompacted { error: Some(error), .. } => error.to_string(),
        Input::NotCompacted { error: None, shorter: Some(Shorter::InPart(up_to)), .. } => {
            format!("nothing is old enough; results up to message {up_to} are shown in part")
        }
        Input::NotCompacted { error: None, shorter: Some(Shorter::Cleared(up_to)), .. } => {
            format!("nothing is old enough; results up to message {up_to} are cleared")
        }
        Input::NotCompacted { error: None, .. } => "nothing is old enough".to_owned(),
        Input::ModelAnswered { message, calls, stop: _, usage, tokens: _, counted: _ } => {
            let tokens = counted(usage.tokens.total(), "token");
            let asked: Vec<String> = calls.iter().map(|call| format!("{} {}", call.tool, call.id)).collect();
            let asks =
                if asked.is_empty() { String::new() } else { format!(", asks for {}", asked.join(", ")) };
            format!("in message {message}, {tokens}{asks}")
        }
        Input::Planned { message, calls, ending, carries_on } => {
            let makes: Vec<String> = calls.iter().map(|call| format!("{} {}", call.tool, call.id)).collect();
            match ending {
                Some(ending) => format!("ends: {}", ending.reason.as_str()),
                None if *carries_on => format!("begins again with message {message}"),
                None if makes.is_empty() => String::new(),
                None => format!("in message {message}, makes {}", makes.join(", ")),
            }
        }
        Input::Diverged { found } => found.to_string(),
        Input::ModelFailed { error, compact: true, .. } => format!("{error}; again with a summary"),
        Input::ModelFailed { error, next: true, .. } => format!("{error}; the next model is asked"),
        Input::ModelFailed { error, retry_at, .. } => match retry_at {
            Some(at) => format!("{error}; again at {}", instant(*at)),
            None => error.to_string(),
        },
        Input::Call { call, input } => format!("{call} {}", call_input(input)),
        Input::Steered { stop: None, asks: Some(asked), .. } if asked.for_procedure => {
            format!("the procedure waits: {}", asked.pending)
        }
        Input::Steered { stop: None, corrected: true, .. } => "goes on, corrected by a hook".to_owned(),
        Input::Steered { stop: None, .. } => "goes on".to_owned(),
        Input::Steered { stop: Some(ending), .. } => format!("ends: {}", ending.reason.as_str()),
        Input::Forked => "goes on from here as a fork".to_owned(),
        Input::CutShort { ending, .. } => format!("is cut short: {}", ending.reason.as_str()),
        Input::Interrupted { kind, cause: StopCause::Asked } => kind.as_str().to_owned(),
        Input::Interrupted { kind, cause } => {
            let by = match cause {
                StopCause::Asked => "somebody",
                StopCause::HandedOff => "a handoff",
                StopCause::Message => "a message",
                StopCause::Edit => "an edit",
                StopCause::Rollback => "a message that takes the turn back",
            };
            format!("{} by {by}", kind.as_str())
        }
        Input::HandedOff { after, draft, another, tokens: _, replies: _ } => {
            let by = if *another { "another agent " } else { "" };
            let word = if *draft { ", as a draft" } else { "" };
            format!("{by}works on the goal behind message {after}{word}")
        }
        Input::Rewound { to, at, .. } => format!("to message {to}, as message {at} says"),
        Input::Owed { reply } => match &reply.to {
            Address::Parent(parent) => format!("owes {} its outcome", parent.session),
            Address::Elsewhere { task, .. } => format!("owes the outcome of task {task}"),
        },
        Input::ChildBegan { child } => {
            format!("{} {} began in the background", child.agent, id_of(&child.pending, child.index))
        }
        Input::ChildResumed { pending, index, task: _, share: _ } => {
            format!("{} is given a task more", id_of(pending, *index))
        }
        Input::ChildEnded { pending, index, tasks: _, usage: _ } => {
            format!("{} has ended", id_of(pending, *index))
        }
        Input::NotHandedOver { error } => format!("not handed over: {error}"),
        Input::Failed { error } => error.to_string(),
    }
}

/// Returns the id of a child.
fn id_of(pending: &PendingId, index: u32) -> String {
    ChildNames::of(pending, index).map_or_else(|_| pending.to_string(), |names| names.id.to_string())
}

fn call_input(input: &CallInput) -> String {
    let word = match input {
        CallInput::Asked => "goes to the gate",
        CallInput::Allowed { .. } => "is allowed",
        CallInput::Rewritten { arguments } => {
            return format!("is rewritten by a hook, arguments in message {arguments}");
        }
        CallInput::Synthesised { .. } => "is answered by a hook",
        CallInput::Refused => "is refused",
        CallInput::Output { fits: true } => "gives the value that the turn owes",
        CallInput::Output { fits: false } => "gives a value that does not fit",
        CallInput::NeedsUser { pending, .. } => return format!("needs a person: {pending}"),
        CallInput::NeedsClient { pending, .. } => return format!("needs its client: {pending}"),
        CallInput::NeedsChildren { pending, count, background: Some(_), .. } => {
            return format!("begins {} in the background: {pending}", counted(*count, "other session"));
        }
        CallInput::HandsOver { to } => return format!("hands over to {}: {}", to.agent, to.session),
        CallInput::NeedsSignal { name, .. } => return format!("waits for the signal {name}"),
        CallInput::NeedsEnds { .. } => "waits for sessions in the background",
        CallInput::NeedsChildren { pending, count, .. } => {
            return format!("needs {}: {pending}", counted(*count, "other session"));
        }
        CallInput::Started => "has begun its sessions",
        CallInput::Reopened { pending } => return format!("is asked about again: {pending}"),
        CallInput::Approved { arguments, always: false, .. } => {
            return format!("is approved, arguments in message {arguments}");
        }
        CallInput::Approved { arguments, always: true, .. } => {
            return format!("is approved for the rest of the session, arguments in message {arguments}");
        }
        CallInput::Granted { steps } => return format!("is granted {}", counted(*steps, "more step")),
        CallInput::Leads { to } => return format!("ends the wait: {to}"),
        CallInput::Voted { vote } => return format!("is approved by {}, one of several", vote.by),
        CallInput::Edited { arguments, .. } => {
            return format!("is edited, arguments in message {arguments}; approvals before are void");
        }
        CallInput::Changes { .. } => "is to change the custom state",
        CallInput::Escalated => "may be decided on by more people",
        CallInput::Rejected { aborts: true, then: OnDenial::EndTurn } => {
            "is aborted by a person with the rest of its step, and its turn ends"
        }
        CallInput::Rejected { aborts: true, .. } => "is aborted by a person with the rest of its step",
        CallInput::Rejected { then: OnDenial::GoOn, .. } => "is denied by a person",
        CallInput::Rejected { then: OnDenial::CancelRest, .. } => {
            "is denied by a person, and the rest with it"
        }
        CallInput::Rejected { then: OnDenial::EndTurn, .. } => "is denied by a person, and its turn ends",
        CallInput::Answered { ok: true, .. } => "is answered",
        CallInput::Answered { ok: false, .. } => "is answered: it could not be done",
        CallInput::Expired { approved: Some(_), .. } => "was not answered in time, and runs",
        CallInput::Expired { .. } => "was not answered in time",
        CallInput::Marked => "is marked to start",
        CallInput::Sent => "is out",
        CallInput::Returned { broken: true, .. } => "could not be run",
        CallInput::TryAgain { until, .. } => {
            return format!("could not be run; again at {}", instant(*until));
        }
        CallInput::FellBack { to, .. } => return format!("could not be run; {to} is called in its place"),
        CallInput::Returned { ok: true, .. } => "came back",
        CallInput::Returned { ok: false, .. } => "came back with an error",
        CallInput::Deferred { until, .. } => return format!("sleeps until {}", instant(*until)),
        CallInput::Rang => "wakes",
        CallInput::StopAsked => "is told to stop",
        CallInput::Cancelled { reason } => return format!("is cancelled: {}", reason.as_str()),
        CallInput::Lost { .. } => "is in doubt",
        CallInput::Again => "is sent again",
    };
    word.to_owned()
}
