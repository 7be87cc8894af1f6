//! `machine`: the table by which every session moves.

use holdover_core::machine::diagram;

use crate::args::{Common, Machine};
use crate::exit::Exit;
use crate::print::Out;

/// Prints the machine.
pub(crate) fn machine(common: &Common, args: &Machine) -> Exit {
    let out = Out::new(common);
    if common.json {
        diagram::json().as_array().into_iter().flatten().for_each(|row| out.object(row));
    } else if args.mermaid {
        out.plain(&diagram::mermaid());
    } else {
        out.plain(&diagram::text());
    }
    Exit::Completed
}
