//! Programs as tools, bounded in time and output: `run_command`, whose command line the model writes, and
//! declared programs, whose command line the author of the agent wrote.

mod capture;
mod declared;
mod group;
mod input;
mod process;
mod run;

pub(crate) use declared::tool;
pub use declared::{CommandTool, InvalidCommandTool};
pub(crate) use process::{Finished, in_group, told, watch};
pub(crate) use run::{RunCommand, folder_in, run_command};
