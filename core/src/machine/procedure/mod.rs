//! [Procedures](crate::words::procedure): the table that a procedure is, its moves, and the wait of a parked state.
//!
//! The table is checked and drawn by the code that checks and draws the machine of a session
//! ([`table`](super::table), [`diagram`](super::diagram), [`paths`](super::paths)).

mod check;
mod moves;

pub use check::{ProcedureFault, faults};
pub(crate) use moves::{at_begin, leads_of, moved_by_calls, named, notice, resolve, way_back};

use super::table::{Nature, Row, Table};
use crate::words::agent::AgentSpec;
use crate::words::procedure::{InputName, Procedure, ProcedureNature, ProcedureState, Source, StateName};

/// The name of the tool in the pending call of a parked state. No agent has this tool, and no model sees the call.
pub const PROCEDURE_WAIT: &str = "procedure";

impl Procedure {
    /// Calls `with` with the procedure as a table: the first state first, then the states to which rows lead, in the
    /// order in which they are reached, then the others.
    pub fn with_table<R>(&self, with: impl FnOnce(&Table<'_, &str, &str>) -> R) -> R {
        let states = self.in_order();
        let pairs = || states.iter().flat_map(|(name, state)| state.on.iter().map(move |row| (*name, row)));
        let targets: Vec<[&str; 1]> = pairs().map(|(_, (_, to))| [to.as_str()]).collect();
        let rows: Vec<Row<'_, &str, &str>> = pairs()
            .zip(&targets)
            .map(|((from, (on, _)), to)| Row { from: from.as_str(), on: on.as_str(), to })
            .collect();
        let wakes: Vec<Vec<&str>> =
            states.iter().map(|(_, state)| state.on.keys().map(InputName::as_str).collect()).collect();
        let natures: Vec<(&str, Nature<'_, &str>)> = states
            .iter()
            .zip(&wakes)
            .map(|((name, state), woken_by)| (name.as_str(), self.nature(state, woken_by)))
            .collect();
        let paced: Vec<&str> = self
            .inputs
            .iter()
            .filter(|(_, source)| **source != Source::Deadline)
            .map(|(name, _)| name.as_str())
            .collect();
        with(&Table {
            first: self.first.as_str(),
            rows: &rows,
            natures: &natures,
            bounds: &[],
            paced: &paced,
            failure: None,
        })
    }

    fn nature<'a>(&'a self, state: &'a ProcedureState, woken_by: &'a [&'a str]) -> Nature<'a, &'a str> {
        match state.nature {
            ProcedureNature::Rest => Nature::Rest,
            ProcedureNature::Working => Nature::Working,
            ProcedureNature::Parked => {
                Nature::Parked { woken_by, answered_by: self.awaited(state).next().map(InputName::as_str) }
            }
        }
    }

    /// Returns the states: the first one, then those to which rows lead, in the order in which they are reached, then
    /// the others.
    fn in_order(&self) -> Vec<(&StateName, &ProcedureState)> {
        let mut names: Vec<&StateName> = vec![&self.first];
        let mut at = 0;
        while let Some(name) = names.get(at) {
            for to in self.states.get(*name).into_iter().flat_map(|state| state.on.values()) {
                if !names.contains(&to) {
                    names.push(to);
                }
            }
            at += 1;
        }
        let others: Vec<&StateName> = self.states.keys().filter(|name| !names.contains(name)).collect();
        names.into_iter().chain(others).filter_map(|name| self.states.get_key_value(name)).collect()
    }

    /// Returns the text for a model that ended its turn in a working state: where the work stands, and which calls lead
    /// on.
    pub(crate) fn leads_on(&self, at: Option<&StateName>, state: &ProcedureState) -> String {
        let at = at.map(StateName::as_str).unwrap_or_default();
        let leads = state.on.iter().filter_map(|(input, to)| match self.inputs.get(input)? {
            Source::Done(tool) => Some(format!("{tool} leads to {to}")),
            Source::Failed(tool) => Some(format!("a failure of {tool} leads to {to}")),
            Source::Outside | Source::Deadline | Source::Message => None,
        });
        let leads = leads.collect::<Vec<_>>().join("; ");
        format!(
            "[procedure, not said by the user] The work stands in the state {at} and cannot end there: {leads}."
        )
    }

    /// Returns the state with this name.
    pub(crate) fn at(&self, state: &StateName) -> Option<&ProcedureState> {
        self.states.get(state)
    }

    /// Returns the inputs that an answer from outside may bring in this state.
    pub(crate) fn awaited<'a>(&'a self, state: &'a ProcedureState) -> impl Iterator<Item = &'a InputName> {
        self.from(state, |source| *source == Source::Outside)
    }

    /// Returns the inputs of this state whose source fulfils `is`.
    pub(crate) fn from<'a>(
        &'a self,
        state: &'a ProcedureState,
        is: impl Fn(&Source) -> bool + 'a,
    ) -> impl Iterator<Item = &'a InputName> {
        state.on.keys().filter(move |name| self.inputs.get(*name).is_some_and(&is))
    }
}

impl AgentSpec {
    /// Returns the procedure and its state in which the work stands. `None` if the agent has no procedure, the work has
    /// not begun, or the procedure does not know the state.
    pub(crate) fn stands<'a>(
        &'a self,
        at: Option<&StateName>,
    ) -> Option<(&'a Procedure, &'a ProcedureState)> {
        let procedure = self.procedure.as_deref()?;
        Some((procedure, procedure.at(at?)?))
    }

    /// Returns the tools that are withheld from the model because the state of the procedure does not admit them. The
    /// tool that returns the value of the turn is admitted at rest, because it ends the turn.
    pub(crate) fn not_admitted<'a>(&'a self, at: Option<&StateName>) -> Vec<&'a str> {
        let (Some(_), Some(_)) = (&self.procedure, at) else { return Vec::new() };
        let state = self.stands(at).map(|(_, state)| state);
        let admits =
            |tool: &str| state.is_some_and(|state| state.tools.iter().any(|name| name.as_str() == tool));
        let rests = state.is_some_and(|state| state.nature == ProcedureNature::Rest);
        let output = self.output.as_ref().filter(|_| !rests).map(|output| output.tool.as_str());
        let tools = self.tools.iter().map(|tool| tool.name.as_str()).filter(|tool| !admits(tool));
        tools.chain(output).collect()
    }
}

#[cfg(test)]
mod tests;
