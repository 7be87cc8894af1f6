//! `completions`: scripts for command completion in shells.

use clap_complete::generate;

use crate::args::{Cli, Common, Completions};
use crate::exit::Exit;
use crate::print::Out;

/// Prints a completion script.
pub(crate) fn completions(common: &Common, args: &Completions) -> Exit {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::described(), "holdover", &mut script);
    Out::new(common).plain(&String::from_utf8_lossy(&script));
    Exit::Completed
}
