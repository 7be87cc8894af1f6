//! Built-in tools for Holdover agents, and helpers to write your own.
//!
//! [`built_in`] returns a tool by its name, so that an agent file can list names. [`BUILT_IN`] lists all names. The
//! file tools see one folder, the [`Root`], and nothing outside it. Every path is resolved beneath an open handle of
//! that folder: `..`, absolute paths, symbolic links and races do not lead out.
//!
//! | name | does | class |
//! |---|---|---|
//! | `list_files` | lists a folder | read_only |
//! | `read_file` | reads a text file, or some of its lines, or a picture | read_only |
//! | `search_files` | finds text or a regular expression | read_only |
//! | `write_file` | creates or replaces a file, atomically | idempotent |
//! | `edit_file` | replaces an exact text in a file | at_most_once |
//! | `run_command` | runs a program or a shell line; dangerous | at_most_once |
//! | `ask_user` | asks the user who follows the session | read_only, on the client |
//! | `sleep` | waits durably: nothing runs during the wait | idempotent |
//! | `wait_for` | waits durably for a named signal | read_only |
//!
//! [`Root::mentions_in`] finds the files that a message mentions, such as `@src/main.rs`, with their digests and sizes.
//!
//! [`Skills`] are folders of instructions. The prompt holds their index, and `read_skill` reads them. They come from
//! folders, archives and git repositories ([`SkillSource`]).
//!
//! [`FunctionTool`] makes a tool from an async function and a type for its arguments. [`CommandTool`] makes a tool from
//! a program; it is data, so an agent file can declare it. [`CommandCarrier`] makes a hook or a summariser of results from
//! a program.
//!
//! [`Sandboxes`] give the file tools and `run_command` a folder for each session instead of the root. The first call
//! that needs the folder creates it, and the end of the turn frees it. Commands in a sandbox run under bubblewrap if it
//! works and is not turned off.
//!
//! The tools work only on Unix.

mod ask;
mod blocking;
mod command;
mod files;
mod function;
mod sandbox;
mod set;
mod skills;
mod sleep;
#[cfg(test)]
mod testing;
mod wait;

pub use command::{
    CommandCarrier, CommandTool, InvalidCommandTool, NoProgram, check_declaration, no_parameters,
};
pub use files::{MENTIONED_BYTES_MAX, MENTIONED_FILE_BYTES_MAX, Root, RootError};
pub use function::FunctionTool;
pub use sandbox::{
    Exit, Job, LocalSandboxes, Ran, SANDBOX_TOOLS, Sandbox, SandboxError, SandboxOptions, SandboxProvider,
    Sandboxes, Walls, WallsPolicy,
};
pub use set::{BUILT_IN, ToolSet, built_in};
pub use skills::{
    SkillCache, SkillCatalog, SkillError, SkillErrorKind, SkillPin, SkillPlace, SkillSource, Skills,
};
