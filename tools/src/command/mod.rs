//! `run_command`: one program or shell line in the root folder, bounded in time and output.

mod capture;
mod group;
mod run;

pub(crate) use run::run_command;
