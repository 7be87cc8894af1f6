//! `machine`: shows the state machine that every session follows, as a table, a diagram or paths.

use holdover_core::machine::StateKind;
use holdover_core::machine::diagram;
use holdover_core::machine::paths::paths;
use serde_json::json;

use crate::args::{Common, Machine};
use crate::exit::Exit;
use crate::print::Out;

/// Prints the state machine.
pub(crate) fn machine(common: &Common, args: &Machine) -> Exit {
    let out = Out::new(common);
    if let Some(depth) = args.paths {
        for path in paths(args.from.unwrap_or(StateKind::Idle), usize::from(depth)) {
            out.line(path.to_string());
            out.object(&json!({
                "from": path.from.as_str(),
                "rests": path.rests,
                "moves": path.moves.iter().map(|edge| json!({
                    "on": edge.on.iter().map(|input| input.as_str()).collect::<Vec<_>>(),
                    "to": edge.to.as_str(),
                })).collect::<Vec<_>>(),
            }));
        }
    } else if common.json {
        diagram::json().as_array().into_iter().flatten().for_each(|row| out.object(row));
    } else if args.mermaid {
        out.plain(&diagram::mermaid());
    } else {
        out.plain(&diagram::text());
    }
    Exit::Completed
}
