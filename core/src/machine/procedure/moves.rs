//! The moves of a procedure: by the beginning of a turn, by the calls of a step, and by the answer to a wait.

use crate::machine::{Batch, Call, CallState};
use crate::words::agent::AgentSpec;
use crate::words::ids::{MessageSeq, ToolName};
use crate::words::message::Notice;
use crate::words::procedure::{
    CallLeads, InputName, Procedure, ProcedureBack, ProcedureBegins, ProcedureMove, ProcedureNature, Source,
    StateName,
};

impl Procedure {
    /// Returns the move that this input makes in this state, if there is a row.
    fn row(&self, from: &StateName, on: &InputName) -> Option<ProcedureMove> {
        let to = self.at(from)?.on.get(on)?.clone();
        Some(ProcedureMove { from: Some(from.clone()), on: Some(on.clone()), to })
    }

    fn rows_from(&self, is: impl Fn(&Source) -> bool) -> Vec<ProcedureMove> {
        let inputs = || self.inputs.iter().filter(|(_, source)| is(source)).map(|(name, _)| name);
        self.states.keys().flat_map(|from| inputs().filter_map(move |on| self.row(from, on))).collect()
    }
}

/// Returns the moves with which a turn begins. `message` is true if a message of the user begins it.
pub(crate) fn at_begin(agent: &AgentSpec, at: Option<&StateName>, message: bool) -> ProcedureBegins {
    let Some(procedure) = agent.procedure.as_deref() else { return ProcedureBegins::default() };
    let mut moves = Vec::new();
    if at.is_none() {
        moves.push(ProcedureMove { from: None, on: None, to: procedure.first.clone() });
    }
    let from = at.unwrap_or(&procedure.first).clone();
    if message && let Some(state) = procedure.at(&from) {
        let said = procedure.from(state, |source| *source == Source::Message).next();
        moves.extend(said.and_then(|on| procedure.row(&from, on)));
    }
    let stands = moves.last().map_or(&from, |last| &last.to);
    let parked = procedure.at(stands).is_some_and(|state| state.nature == ProcedureNature::Parked);
    ProcedureBegins { moves, parked }
}

/// Returns the rows on which the end of a call of this tool moves the work. `None` if there are none, or if the state
/// does not admit the tool.
pub(crate) fn leads_of(agent: &AgentSpec, at: Option<&StateName>, tool: &str) -> Option<Box<CallLeads>> {
    let (procedure, state) = agent.stands(at)?;
    state.tools.iter().find(|name| name.as_str() == tool)?;
    let done = procedure.rows_from(|source| matches!(source, Source::Done(name) if name.as_str() == tool));
    let failed =
        procedure.rows_from(|source| matches!(source, Source::Failed(name) if name.as_str() == tool));
    (!done.is_empty() || !failed.is_empty()).then(|| Box::new(CallLeads { done, failed }))
}

/// Returns the move that this input makes from the state, if it has a row.
pub(crate) fn resolve(agent: &AgentSpec, at: Option<&StateName>, on: &InputName) -> Option<ProcedureMove> {
    agent.procedure.as_deref()?.row(at?, on)
}

/// Returns the moves that the calls of a step make, in call order.
pub(crate) fn moved_by_calls(at: Option<&StateName>, batch: &Batch) -> Vec<ProcedureMove> {
    let Some(mut stands) = at.cloned() else { return Vec::new() };
    let mut moves = Vec::new();
    let rows = |call: &Call| match (&call.leads, &call.state) {
        (Some(leads), CallState::Done) => leads.done.clone(),
        (Some(leads), CallState::Error) => leads.failed.clone(),
        (_, _) => Vec::new(),
    };
    for rows in batch.calls.iter().map(rows) {
        if let Some(moved) = rows.into_iter().find(|row| row.from.as_ref() == Some(&stands)) {
            stands = moved.to.clone();
            moves.push(moved);
        }
    }
    moves
}

/// Returns the notice of these moves. The model sees it. `words` are those of an answer from outside.
pub(crate) fn notice(agent: Option<&AgentSpec>, moves: &[ProcedureMove], words: Option<&str>) -> Notice {
    let made: Vec<String> = moves.iter().map(ToString::to_string).collect();
    let mut text = format!("[procedure, not said by the user] {}.", made.join("; "));
    if let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) {
        text.push_str(&format!(" The answer says: {words}"));
    }
    let stands = moves.last().and_then(|last| agent?.stands(Some(&last.to)));
    if let Some((_, state)) = stands {
        if let Some(say) = &state.say {
            text.push('\n');
            text.push_str(say.trim_end());
        }
        if state.nature != ProcedureNature::Parked {
            text.push_str(&format!(
                "\nTools in this state: {}.",
                named(state.tools.iter().map(ToolName::as_str))
            ));
        }
    }
    Notice { told: true, procedure: moves.to_vec(), ..Notice::new(text) }
}

/// Returns names as a list for people, or `none`.
pub(crate) fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Returns the state to which the work goes back if everything after message `to` is taken back. `notices` are the
/// notices of the session, newest first. `None` if no move is taken back.
pub(crate) fn way_back<'a>(
    to: MessageSeq,
    notices: impl Iterator<Item = (MessageSeq, &'a Notice)>,
) -> Option<Box<ProcedureBack>> {
    let standing = crate::machine::custom::standing(to, notices);
    let first = standing.filter_map(|notice| notice.procedure.first()).last()?;
    Some(Box::new(ProcedureBack { to: first.from.clone() }))
}
