//! The file tools. They reach files beneath one folder, and nothing outside it.

mod edit;
mod list;
mod mention;
mod path;
mod read;
mod root;
mod search;
mod temporary;
mod walk;
mod write;

pub(crate) use edit::edit_file;
pub(crate) use list::list_files;
pub use mention::{MENTIONED_BYTES_MAX, MENTIONED_FILE_BYTES_MAX};
pub(crate) use path::RelativePath;
pub(crate) use read::{read_file, read_whole, show_whole};
pub use root::{Root, RootError};
pub(crate) use search::search_files;
pub(crate) use write::write_file;
