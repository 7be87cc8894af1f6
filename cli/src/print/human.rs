//! Output for people.

use holdover_core::delta::Delta;
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::ids::{CallId, MessageSeq, ToolName};
use holdover_core::machine::StopCause;
use holdover_core::message::{AssistantPart, Message, ResultStatus};
use holdover_core::phrases;
use holdover_core::tool::Progress;
use holdover_runtime_local::TreeMember;

use super::{Out, clean, counted, cut, inline, instant, summaries};

/// The maximum number of characters of arguments and results that are shown during a run.
const PASSING_CHARS: usize = 120;

/// The amount of detail with which a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A short form, for events during a run.
    Passing,
    /// The whole message.
    Whole,
}

/// Prints a message. `said` is true if its text was already shown.
pub(crate) fn message(out: &Out, message: &Message, detail: Detail, said: bool) {
    match message {
        Message::User(user) => {
            for line in clean(&user.text).lines() {
                out.line(out.bold(&format!("> {line}")));
            }
            for image in &user.images {
                out.line(out.bold(&format!("> [a picture: {image}]")));
            }
            for mention in &user.mentions {
                out.line(out.bold(&format!("> [mentions {}]", inline(&mention.to_string()))));
            }
        }
        Message::Assistant(assistant) => {
            for part in &assistant.parts {
                match part {
                    AssistantPart::Text { text } if !said && !text.trim().is_empty() => {
                        out.line(clean(text).trim_end());
                    }
                    AssistantPart::Text { .. } => {}
                    AssistantPart::Reasoning { text, .. } if detail == Detail::Whole => {
                        dimmed(out, "~", text)
                    }
                    AssistantPart::Reasoning { .. } => {}
                    AssistantPart::Call(call) => {
                        let arguments = match detail {
                            Detail::Passing => cut(&call.arguments, PASSING_CHARS),
                            Detail::Whole => indented(&call.arguments),
                        };
                        out.line(out.dim(&format!("→ {} {arguments}  ({})", inline(&call.tool), call.id)));
                    }
                }
            }
            if assistant.aborted {
                out.line(out.dim("(stopped here)"));
            }
        }
        Message::Tool(result) => {
            let head = format!("← {} {}", inline(&result.tool), status(result.status));
            match detail {
                Detail::Passing => {
                    out.line(out.dim(&format!("{head}: {}", cut(&result.content, PASSING_CHARS))));
                }
                Detail::Whole => {
                    out.line(out.dim(&format!("{head}  ({})", result.call)));
                    dimmed(out, " ", &result.content);
                }
            }
        }
        Message::Decision(record) => {
            let decision = &record.decision;
            let word = if decision.approve { "approved" } else { "denied" };
            let by = decision.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            let why = decision.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            let always = match decision.approve && decision.always {
                true if decision.only.is_empty() => " for the rest of the session".to_owned(),
                true => format!(" for the rest of the session where {}", decision.only),
                false => String::new(),
            };
            out.line(out.bold(&inline(&format!("• {word}{always}{by}{why}  ({})", record.call))));
            if let Some(note) = &record.note {
                out.line(out.dim(&format!("  {}", inline(note))));
            }
        }
        Message::Notice(notice) => out.line(out.bold(&format!("! {}", indented(&notice.text)))),
        Message::Summary(summary) => {
            let word = if summary.extract { "extract for a handoff" } else { "summary" };
            out.line(out.dim(&format!("• {word} of all before message {}:", summary.before)));
            dimmed(out, " ", &summary.text);
        }
    }
}

/// Prints lines dimmed, each with this mark in front.
fn dimmed(out: &Out, mark: &str, text: &str) {
    for line in clean(text).lines() {
        out.line(out.dim(&format!("{mark} {line}")));
    }
}

fn status(status: ResultStatus) -> &'static str {
    match status {
        ResultStatus::Done => "done",
        ResultStatus::Error => "error",
        ResultStatus::Denied => "denied by the policy",
        ResultStatus::RejectedByUser => "denied",
        ResultStatus::Cancelled => "cancelled",
        ResultStatus::InDoubt => "in doubt",
    }
}

/// Returns the line for an event during a run, or `None` if the event is not shown. Messages are printed separately.
pub(crate) fn passing(out: &Out, event: &Event) -> Option<String> {
    let dim = |line: String| Some(out.dim(&inline(&line)));
    let bold = |line: String| Some(out.bold(&inline(&line)));
    match event {
        Event::RunStarted { run, found: holdover_core::store::SessionStatus::Active, .. } => {
            bold(format!("• run {run} takes over: the run before it died"))
        }
        Event::BackingOff { until, error, .. } => {
            dim(format!("• {error}; the model is asked again at {}", instant(*until)))
        }
        Event::FellBack { model, error } => dim(format!("• {error}; {model} is asked instead")),
        Event::CallRetried { tool, until, why, .. } => {
            dim(format!("• {tool} could not be run: {why}; it is tried again at {}", instant(*until)))
        }
        Event::CallFellBack { from, to, why, .. } => {
            dim(format!("• {from} could not be run: {why}; {to} is called instead"))
        }
        Event::CircuitOpened { calls, why } => {
            bold(format!("! {} in a row could not be run; the last: {why}", counted(*calls, "call")))
        }
        Event::CompactionStarted { tokens, threshold, cause } => {
            dim(format!("• {}", summaries::begins(*tokens, *threshold, *cause)))
        }
        Event::CompactionEnded { error: Some(error), cause, .. } => {
            bold(format!("! {}", summaries::failed(error, *cause)))
        }
        Event::CompactionEnded { before, after, cause, .. } => {
            dim(format!("• {}", summaries::made(*before, *after, *cause)))
        }
        Event::TeardownFailed { error } => bold(format!("! {error}")),
        Event::Escalated { call, to, .. } => {
            dim(format!("• call {call} waits: {} may decide, too", to.join(", ")))
        }
        Event::CallSettled { .. } => dim(format!("• {}", self::event(event))),
        Event::Began { .. } | Event::NotBegun { .. } => dim(format!("• {}", self::event(event))),
        Event::StateConflict { .. } => dim(format!("! {}", self::event(event))),
        Event::Diverged { .. } => bold(format!("! {}", self::event(event))),
        Event::Briefed { .. } => dim(format!("• {}", self::event(event))),
        Event::Provisioned { what } => dim(format!("• {}", what.join("; "))),
        // The last line of the output describes the failure.
        Event::Error { .. }
        | Event::Init { .. }
        | Event::StepStarted { .. }
        | Event::StepEnded { .. }
        | Event::RunStarted { .. }
        | Event::Message { .. }
        | Event::Call { .. }
        | Event::Asked { .. }
        | Event::Suspended { .. }
        | Event::Forked { .. }
        | Event::Done { .. }
        | Event::AgentEnd { .. }
        | Event::History { .. } => None,
        // Every event of this version is named above; the lint finds missing ones.
        _ => None,
    }
}

/// Returns the line for an event of a child during a run, or `None` if the event is not shown.
pub(crate) fn passing_child(out: &Out, event: &Event) -> Option<String> {
    if let Event::Done { ending, .. } = event {
        let ended = outcome(&RunOutcome::Ended(ending.clone()));
        return Some(out.dim(&format!("• {ended}")));
    }
    passing(out, event)
}

/// Returns the number of children with its noun.
fn counted_children(children: u32) -> String {
    if children == 1 { "1 child".to_owned() } else { format!("{children} children") }
}

/// Returns the name of a session within the followed tree.
pub(crate) fn member(member: &TreeMember) -> String {
    let name = member.tool.as_ref().map_or(member.session.as_str(), ToolName::as_str);
    let index = member.place.as_ref().map(|place| format!("[{}]", place.index + 1)).unwrap_or_default();
    format!("{name}{index}")
}

/// Describes an event on one line, for a list of events.
pub(crate) fn event(event: &Event) -> String {
    let line = match event {
        Event::Init { turn, .. } => format!("turn {turn} begins"),
        Event::StepStarted { step } => format!("step {step} begins"),
        Event::StepEnded { step } => format!("step {step} is over"),
        Event::Error { error } => format!("fails: {error}"),
        Event::Briefed { mode, prompt } => {
            let mode = mode.map(|mode| format!("mode {mode}"));
            let prompt = prompt.map(|at| match at {
                MessageSeq(0) => "the agent's own system prompt".to_owned(),
                at => format!("the system prompt of message {at}"),
            });
            mode.into_iter().chain(prompt).collect::<Vec<_>>().join(", ")
        }
        Event::Provisioned { what } => format!("ready: {}", what.join("; ")),
        Event::RunStarted { run, found, kind } => {
            let kind = kind.map(|kind| format!(" ({})", kind.as_str())).unwrap_or_default();
            format!("run {run} begins{kind}; the session was {}", phrases::status(*found))
        }
        Event::Message { seq, role, mentions, .. } => {
            let mentioned: String = mentions
                .iter()
                .map(|mention| format!("; mentions {}", inline(&mention.to_string())))
                .collect();
            format!("message {seq} by {role}{mentioned}")
        }
        Event::Call { call, tool, is, parameters, duration_ms } => {
            let with: Vec<String> =
                parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let with = if with.is_empty() { String::new() } else { format!(": {}", with.join(" ")) };
            let took = duration_ms.map(|ms| format!(" after {ms} ms")).unwrap_or_default();
            format!("call {call} of {tool} is {}{took}{with}", phrases::call(is))
        }
        Event::Asked { call, tool, kind, pending, reason, children } => {
            let why = reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            let whom = match children {
                0 => phrases::pending(kind).to_owned(),
                some => counted(*some, "other session"),
            };
            format!("call {call} of {tool} waits for {whom} ({pending}){why}")
        }
        Event::Began { agent, children, .. } => {
            format!("{} of {agent} in the background", counted_children(*children))
        }
        Event::NotBegun { agent, why, .. } => format!("no child of {agent} was begun: {why}"),
        Event::Escalated { call, tool, to, .. } => {
            format!("call {call} of {tool} is escalated to {}", to.join(", "))
        }
        Event::CallSettled { call, tool, done, by, .. } => {
            let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            let was = if *done { "was done" } else { "was not done" };
            format!("call {call} of {tool} is settled{by}: it {was}")
        }
        Event::StateConflict { key, calls } => {
            let calls: Vec<&str> = calls.iter().map(CallId::as_str).collect();
            format!("calls {} changed {key} in parallel; the last change counts", calls.join(", "))
        }
        Event::Diverged { found } => format!("the code of the flow has changed: {found}"),
        Event::Suspended { until, owed, .. } => {
            let waits = phrases::suspended(owed, *until);
            let calls: Vec<&str> = owed.iter().map(|owed| owed.call.as_str()).collect();
            if calls.is_empty() { waits } else { format!("{waits}: {}", calls.join(", ")) }
        }
        Event::BackingOff { until, attempt, error } => {
            format!("backs off until {}, then attempt {attempt}: {error}", instant(*until))
        }
        Event::FellBack { model, error } => format!("falls back on {model}: {error}"),
        Event::CallRetried { call, tool, until, attempt, why } => {
            format!("call {call} of {tool} waits until {}, then attempt {attempt}: {why}", instant(*until))
        }
        Event::CallFellBack { call, from, to, why } => {
            format!("call {call} falls back from {from} to {to}: {why}")
        }
        Event::CircuitOpened { calls, why } => {
            let calls = counted(*calls, "call");
            format!("the circuit is open: {calls} in a row could not be run; the last: {why}")
        }
        Event::CompactionStarted { tokens, threshold, cause } => {
            summaries::begins_at(*tokens, *threshold, *cause)
        }
        Event::CompactionEnded { error: Some(error), cause, .. } => summaries::failed(error, *cause),
        Event::CompactionEnded { before, after, cause, .. } => summaries::made(*before, *after, *cause),
        Event::Forked { from, at, goal } => match goal {
            None => format!("forked from {from} at checkpoint {at}"),
            Some(goal) => {
                format!("handed over from {from} at checkpoint {at}, with the goal of message {goal}")
            }
        },
        Event::TeardownFailed { error } => format!("teardown failed: {error}"),
        Event::Done { turn, ending, usage } => {
            let tokens = counted(usage.tokens.total(), "token");
            format!("turn {turn} is done: {}; the session has used {tokens}", ending.reason.as_str())
        }
        Event::AgentEnd { turn, steps, .. } => {
            format!("turn {turn} ended after {}", counted(*steps, "step"))
        }
        Event::History { rows } => {
            let moves: Vec<String> = rows
                .iter()
                .map(|row| format!("{} on {}", row.from.as_str(), row.input.kind().as_str()))
                .collect();
            format!("history: {}", moves.join(", "))
        }
        // Every event of this version is named above; the lint finds missing ones.
        _ => "an event that this version does not know".to_owned(),
    };
    inline(&line)
}

/// Describes a delta on one line.
pub(crate) fn delta(delta: &Delta) -> String {
    inline(&match delta {
        Delta::Text { text } => format!("says {text:?}"),
        Delta::Reasoning { text } => format!("thinks {text:?}"),
        Delta::CallStarted { tool } => format!("asks for {tool}"),
        Delta::CallRunning { call, tool } => format!("call {call} of {tool} is out"),
        Delta::CallProgress { call, tool, progress: reported } => {
            format!("call {call} of {tool}: {}", progress(reported, &reported.message))
        }
        // Every delta of this version is named above; the lint finds missing ones.
        _ => "a delta that this version does not know".to_owned(),
    })
}

/// Describes the progress of a call on one line: its amounts, and `text`.
pub(crate) fn progress(progress: &Progress, text: &str) -> String {
    let amounts = progress.done.map(|done| match progress.total {
        Some(total) => format!("{done} of {total}"),
        None => done.to_string(),
    });
    let text = Some(inline(text)).filter(|text| !text.is_empty());
    amounts.into_iter().chain(text).collect::<Vec<_>>().join(": ")
}

/// Describes the state of a session, in a few words.
pub(crate) fn outcome(outcome: &RunOutcome) -> String {
    let kind = phrases::outcome(outcome.kind());
    let line = match outcome {
        RunOutcome::Ended(ending) => match &ending.error {
            Some(error) => {
                let step = ending.step.map(|step| format!("step {step}: ")).unwrap_or_default();
                format!("{kind}: {step}{error}")
            }
            None if ending.cause == StopCause::HandedOff => {
                format!("{kind}: it has a goal, and nobody works on it yet")
            }
            None => format!("{kind} ({})", ending.reason.as_str()),
        },
        RunOutcome::Suspended(suspension) => phrases::suspended(&suspension.owed, suspension.until),
        RunOutcome::BackingOff { until, error } => format!("{}: {error}", phrases::waits(&[], Some(*until))),
        RunOutcome::Released => "there was nothing to do".to_owned(),
        RunOutcome::Lost => kind.to_owned(),
    };
    inline(&line)
}

/// Returns `text` with all lines except the first indented.
fn indented(text: &str) -> String {
    clean(text).lines().collect::<Vec<_>>().join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_one_line_stays_one() {
        assert_eq!(delta(&Delta::CallStarted { tool: "a\nb".into() }), r"asks for a\nb");
        let (call, tool) = (CallId::new("c1-0").unwrap(), ToolName::new("copy").unwrap());
        let progress = Progress::text("a\nb").of(1, Some(2));
        assert_eq!(delta(&Delta::CallProgress { call, tool, progress }), r"call c1-0 of copy: 1 of 2: a\nb");
        assert_eq!(indented("a\nb"), "a\n  b");
    }
}
