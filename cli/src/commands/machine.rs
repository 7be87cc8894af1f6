//! `machine`: the table by which every session moves.

use holdover_core::machine::diagram;
use serde_json::Value;

use crate::args::{Common, Machine};
use crate::exit::Exit;
use crate::print::Out;

/// Prints the machine.
pub(crate) fn machine(common: &Common, args: &Machine) -> Exit {
    let out = Out::new(common);
    if common.json {
        match diagram::json() {
            Value::Array(rows) => rows.iter().for_each(|row| out.object(row)),
            whole => out.object(&whole),
        }
    } else if args.mermaid {
        out.plain(&diagram::mermaid());
    } else {
        out.plain(&diagram::text());
    }
    Exit::Completed
}
