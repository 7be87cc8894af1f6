//! Programs as tools, hooks and summarisers of results, bounded in time and output. The model writes the command line of
//! `run_command`; the author of the agent writes the command line of a declared program.

mod capture;
mod carrier;
mod declared;
mod group;
mod input;
mod process;
mod run;
mod stateful;

pub use carrier::{CommandCarrier, NoProgram};
pub(crate) use declared::tool;
pub use declared::{CommandTool, InvalidCommandTool, check_declaration, no_parameters};
pub(crate) use process::{Finished, in_group, told, watch};
pub(crate) use run::{RunCommand, folder_in, run_command};
