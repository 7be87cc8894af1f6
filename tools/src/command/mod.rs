//! Programs as tools, bounded in time and output: `run_command`, for which the model writes the line, and
//! declared ones, for which whoever made the agent did.

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
