//! `machine`: shows the state machine that every session follows, or the procedure of an agent, as a table, a diagram or
//! paths.

use std::path::Path;

use holdover_core::machine::StateKind;
use holdover_core::machine::table::{Name, SESSION, Table};
use serde_json::json;

use crate::agent_file::{self, Instead};
use crate::args::{Common, Machine};
use crate::exit::{Exit, Failure};
use crate::print::Out;

/// Prints the state machine of sessions, or the procedure of an agent.
pub(crate) fn machine(common: &Common, args: &Machine) -> Result<Exit, Failure> {
    match &args.agent {
        None => show(common, args, &SESSION, args.from.unwrap_or(StateKind::Idle)),
        Some(file) => of_agent(common, args, file)?,
    }
    Ok(Exit::Completed)
}

fn of_agent(common: &Common, args: &Machine, file: &Path) -> Result<(), Failure> {
    let blueprint = agent_file::read(file, &Instead::default())?;
    let Some(procedure) = &blueprint.spec.procedure else {
        return Err(Failure::wrong_use(format!("{}: procedure: the agent has none", file.display())));
    };
    procedure.with_table(|table| show(common, args, table, procedure.first.as_str()));
    Ok(())
}

fn show<S: Name, I: Name>(common: &Common, args: &Machine, table: &Table<'_, S, I>, from: S) {
    let out = Out::new(common);
    if let Some(depth) = args.paths {
        table.each_path(from, usize::from(depth), |path| {
            out.line(path.to_string());
            out.object(&json!({
                "from": path.from.name(),
                "rests": path.rests,
                "moves": path.moves.iter().map(|edge| json!({
                    "on": edge.on.iter().map(Name::name).collect::<Vec<_>>(),
                    "to": edge.to.name(),
                })).collect::<Vec<_>>(),
            }));
        });
    } else if common.json {
        table.json().as_array().into_iter().flatten().for_each(|row| out.object(row));
    } else if args.mermaid {
        out.plain(&table.mermaid());
    } else {
        out.plain(&table.text());
    }
}
