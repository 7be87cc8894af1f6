//! The check of a procedure: of its table by the code of all tables, and of its names, sources and tools.

use crate::words::ids::ToolName;
use crate::words::procedure::{
    INPUTS_MAX, InputName, Procedure, ProcedureNature, ProcedureState, SAY_BYTES_MAX, STATES_MAX, Source,
    StateName,
};

/// A fault of a procedure, with the key at which it is found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
#[non_exhaustive]
pub struct ProcedureFault {
    /// The key, as in an agent file: `procedure.states.payment`.
    pub key: String,
    /// The reason.
    pub why: String,
}

/// The faults so far.
#[derive(Default)]
struct Found(Vec<ProcedureFault>);

impl Found {
    fn add(&mut self, key: impl std::fmt::Display, why: impl Into<String>) {
        self.0.push(ProcedureFault { key: format!("procedure.{key}"), why: why.into() });
    }
}

/// Returns all faults of a procedure. `has_tool` says whether the agent has a tool of this name.
///
/// A sound procedure keeps these rules. Every target is a state, every state is reached from the first one, and a
/// state of rest is reached from every state. Every input has a source that can bring it in each state with a row for
/// it: a call of a tool that the state admits, somebody outside or a deadline where the work is parked, or a message
/// where it is not. From a working state a call leads on. A parked state admits no tools, waits for somebody or has a
/// deadline, and no cycle leads through deadlines alone. Every input has a row, and no two rows of a state have the
/// same source, unless the source is somebody outside. The numbers, names and texts are within their bounds.
pub fn faults(procedure: &Procedure, has_tool: impl Fn(&ToolName) -> bool) -> Vec<ProcedureFault> {
    let mut found = Found::default();
    bounds(procedure, &mut found);
    procedure.with_table(|table| {
        for fault in table.validate().err().map(|faults| faults.0).unwrap_or_default() {
            let key = match (fault.state(), fault.input()) {
                (Some(state), Some(input)) => format!("states.{state}.on.{input}"),
                (Some(state), None) if procedure.states.keys().any(|name| name.as_str() == state) => {
                    format!("states.{state}")
                }
                (_, _) => "first".to_owned(),
            };
            found.add(key, fault.why());
        }
    });
    for (name, source) in &procedure.inputs {
        let taken = procedure.states.values().any(|state| state.on.contains_key(name));
        if !taken {
            found.add(format_args!("inputs.{name}"), "no state has a row for it");
        }
        if let Source::Done(tool) | Source::Failed(tool) = source
            && !has_tool(tool)
        {
            found.add(format_args!("inputs.{name}"), format!("tool {tool} is none of the agent's tools"));
        }
    }
    for (name, state) in &procedure.states {
        for tool in state.tools.iter().filter(|tool| !has_tool(tool)) {
            found.add(format_args!("states.{name}.tools"), format!("{tool} is none of the agent's tools"));
        }
        for input in state.on.keys() {
            if let Some(why) = sourceless(procedure, state, input) {
                found.add(format_args!("states.{name}.on.{input}"), why);
            }
        }
        for (key, why) in misfits(procedure, state) {
            found.add(format_args!("states.{name}{key}"), why);
        }
    }
    found.0
}

fn bounds(procedure: &Procedure, found: &mut Found) {
    let (states, inputs) = (procedure.states.len(), procedure.inputs.len());
    if states > STATES_MAX {
        found.add("states", format!("there are {states}, at most {STATES_MAX} are allowed"));
    }
    if inputs > INPUTS_MAX {
        found.add("inputs", format!("there are {inputs}, at most {INPUTS_MAX} are allowed"));
    }
    let names = procedure.states.keys().map(|name| (format!("states.{name}"), name.check_new()));
    let inputs = procedure.inputs.keys().map(|name| (format!("inputs.{name}"), name.check_new()));
    for (key, checked) in names.chain(inputs) {
        if let Err(why) = checked {
            found.add(key, why.to_string());
        }
    }
}

/// Returns the reason why nothing can bring this input in this state.
fn sourceless(procedure: &Procedure, state: &ProcedureState, input: &InputName) -> Option<String> {
    let Some(source) = procedure.inputs.get(input) else {
        return Some("the procedure has no such input".to_owned());
    };
    let parked = state.nature == ProcedureNature::Parked;
    match source {
        Source::Done(tool) | Source::Failed(tool) if !state.tools.contains(tool) => {
            Some(format!("the state does not admit {tool}, whose call would bring it"))
        }
        Source::Outside if !parked => {
            Some("nobody outside is asked, because the state is not parked".to_owned())
        }
        Source::Deadline if state.after_ms.is_none() => {
            Some("the state has no deadline: it wants after_ms".to_owned())
        }
        Source::Message if parked => Some("no message begins a turn while the work is parked".to_owned()),
        Source::Done(_) | Source::Failed(_) | Source::Outside | Source::Deadline | Source::Message => None,
    }
}

/// Returns the settings of a state that do not fit its nature or each other: the key in the state, and the reason.
fn misfits(procedure: &Procedure, state: &ProcedureState) -> Vec<(&'static str, String)> {
    let mut wrong: Vec<(&'static str, String)> = Vec::new();
    let parked = state.nature == ProcedureNature::Parked;
    let deadlines = procedure.from(state, |source| *source == Source::Deadline).count();
    let by_call = |source: &Source| matches!(source, Source::Done(_) | Source::Failed(_));
    if parked && !state.tools.is_empty() {
        wrong.push((".tools", "nothing runs while the work is parked".to_owned()));
    }
    if parked && procedure.awaited(state).next().is_none() && deadlines == 0 {
        wrong.push(("", "nothing from outside and no deadline wakes it".to_owned()));
    }
    match state.after_ms {
        Some(_) if !parked => wrong.push((".after_ms", "only a parked state has a deadline".to_owned())),
        Some(0) => wrong.push((".after_ms", "is zero".to_owned())),
        Some(_) if deadlines == 0 => {
            wrong.push((".after_ms", "no row says where the deadline leads".to_owned()));
        }
        Some(_) | None => {}
    }
    if state.nature == ProcedureNature::Working && procedure.from(state, by_call).next().is_none() {
        wrong.push(("", "no call leads on from it".to_owned()));
    }
    if state.say.as_ref().is_some_and(|say| say.len() > SAY_BYTES_MAX) {
        wrong.push((".say", format!("is longer than {SAY_BYTES_MAX} bytes")));
    }
    wrong.extend(twice(procedure, state).map(|why| (".on", why)));
    wrong
}

/// Returns the reason why two rows of a state fight over the same event.
fn twice(procedure: &Procedure, state: &ProcedureState) -> Option<String> {
    let mut seen: Vec<(&Source, &InputName, &StateName)> = Vec::new();
    for (input, to) in &state.on {
        let Some(source) = procedure.inputs.get(input).filter(|source| **source != Source::Outside) else {
            continue;
        };
        if let Some((_, first, _)) = seen.iter().find(|(before, ..)| *before == source) {
            return Some(format!("{first} and {input} have the same source"));
        }
        seen.push((source, input, to));
    }
    None
}
