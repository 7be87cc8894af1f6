//! Checks that the history rows of a session and its stored state agree (INV-10).

use serde::Serialize;
use serde_json::Value;

use super::Machine;

/// A place at which two machines differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The place, as field names and list positions separated by dots: `usage.tool_calls`.
    pub place: String,
    /// The value that the rows produce, or `None` if they produce none.
    pub rows: Option<Value>,
    /// The value in the stored state, or `None` if there is none.
    pub state: Option<Value>,
}

/// Fields that older versions did not write into the state. Only the rows produce them, so their absence is not a
/// difference.
const ADDED: [&str; 2] = ["state.ending.step", "turn.used_before"];

/// Returns the places at which the machine that was rebuilt from rows differs from the stored one. Fields that older
/// versions did not write are left out if the stored machine lacks them.
///
/// # Errors
/// Returns the error of a machine that cannot be written as JSON.
pub fn differences(rows: &Machine, state: &Machine) -> Result<Vec<Difference>, serde_json::Error> {
    let (rows, state) = (serde_json::to_value(rows)?, serde_json::to_value(state)?);
    let mut found = Vec::new();
    compare(String::new(), Some(&rows), Some(&state), &mut found);
    Ok(found)
}

fn compare(place: String, rows: Option<&Value>, state: Option<&Value>, found: &mut Vec<Difference>) {
    if rows == state {
        return;
    }
    let within = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match (rows, state) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let new = right.keys().filter(|name| !left.contains_key(*name));
            for name in left.keys().chain(new) {
                compare(within(name), left.get(name), right.get(name), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for at in 0..left.len().max(right.len()) {
                compare(within(&at.to_string()), left.get(at), right.get(at), found);
            }
        }
        (Some(_), None) if ADDED.contains(&place.as_str()) => {}
        _ => found.push(Difference { place, rows: rows.cloned(), state: state.cloned() }),
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".into(), Value::to_string);
        write!(f, "{}: the rows say {}, the state says {}", self.place, shown(&self.rows), shown(&self.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::AgentState;
    use crate::words::ending::Ending;
    use crate::words::error::ErrorInfo;
    use crate::words::ids::{MessageSeq, StepNumber, TurnNumber};
    use crate::words::usage::Usage;

    #[test]
    fn u09_what_an_older_version_did_not_write_is_no_difference() {
        let failed = |step| {
            let ending = Ending { step, ..Ending::error(ErrorInfo::new("model.refused", "no")) };
            Machine { state: AgentState::Done { ending, usage: Usage::default() }, ..Machine::default() }
        };
        let (old, new) = (failed(None), failed(Some(StepNumber(2))));
        assert_eq!(differences(&new, &old).unwrap(), []);
        assert_eq!(differences(&old, &new).unwrap().len(), 1, "the rows make all that is written");
        assert_eq!(differences(&new, &failed(Some(StepNumber(3)))).unwrap().len(), 1);
    }

    #[test]
    fn c57_each_place_that_differs_is_named() {
        let mut state = Machine::default();
        assert_eq!(differences(&Machine::default(), &state).unwrap(), []);
        state.usage.tool_calls = 2;
        state.turn.number = TurnNumber(3);
        let found = differences(&Machine::default(), &state).unwrap();
        let places: Vec<&str> = found.iter().map(|difference| difference.place.as_str()).collect();
        assert_eq!(places, ["turn.number", "usage.tool_calls"]);
        assert_eq!(found[0].to_string(), "turn.number: the rows say 0, the state says 3");
        assert!(found[1].to_string().ends_with("the state says 2"), "{}", found[1]);

        // An item that only one of two lists has is a difference, too.
        let with = |results: &[u64]| {
            let mut machine = Machine::default();
            machine.view.results = results.iter().copied().map(MessageSeq).collect();
            machine
        };
        let found = differences(&with(&[3]), &with(&[3, 5])).unwrap();
        let place = "view.results.1".to_owned();
        assert_eq!(found, [Difference { place: place.clone(), rows: None, state: Some(5.into()) }]);
        let found = differences(&with(&[3, 5]), &with(&[3])).unwrap();
        assert_eq!(found, [Difference { place, rows: Some(5.into()), state: None }]);
    }
}
