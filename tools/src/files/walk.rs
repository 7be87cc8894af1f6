//! Walks through a folder in a fixed order, never through a symbolic link.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::DirEntry;
use holdover_core::tool::ToolError;

use super::path::RelativePath;
use super::root::{Root, failed};
use super::temporary::is_temporary;
use crate::blocking::Dropped;

/// The deepest level of folders that a walk enters. The folder where it starts is level 1.
const DEPTH_MAX: usize = 64;
/// The most entries of one folder that a walk looks at.
const FOLDER_ENTRIES_MAX: usize = 50_000;
/// The note for the model when a walk left something out.
pub(super) const LEFT_OUT: &str = "[cut: a folder is too full or too deep to be looked at whole]";
/// A walk leaves out entries of this name: there are many files in it, and they are not for reading.
const SKIPPED_FOLDER: &str = ".git";

/// An entry that a walk meets.
pub(super) struct Entry {
    /// The path, relative to the root.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Folder,
    File { bytes: u64 },
    Link,
    Other,
}

/// Whether a walk goes on.
#[derive(PartialEq, Eq)]
pub(super) enum Go {
    On,
    Stop,
}

/// Visits the entries of the folder `start` by name, a folder before its own entries; with `recursive`, also
/// those of the folders beneath it. True: a bound made it leave something out.
pub(super) fn walk(
    root: &Root,
    start: &RelativePath,
    recursive: bool,
    dropped: &Dropped,
    mut visit: impl FnMut(&Entry) -> Result<Go, ToolError>,
) -> Result<bool, ToolError> {
    let mut walk = Walk { root, ahead: Vec::new(), left_out: false };
    root.check_is_there()?;
    let base = if start.is_root() { Path::new("") } else { start.as_path() };
    walk.enter(base, 1).map_err(|error| failed(start, &error))?;
    while let Some((entry, depth)) = walk.ahead.pop() {
        dropped.check()?;
        if visit(&entry)? == Go::Stop {
            break;
        }
        if !recursive || !matches!(entry.kind, Kind::Folder) {
            continue;
        }
        if depth == DEPTH_MAX {
            walk.left_out = true;
            continue;
        }
        // The folder may be gone by now, or not readable. It then counts as empty.
        let _ = walk.enter(&entry.path, depth + 1);
    }
    Ok(walk.left_out)
}

struct Walk<'a> {
    root: &'a Root,
    /// The entries that are still to be visited, last first, with their depth.
    ahead: Vec<(Entry, usize)>,
    left_out: bool,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut entries: Vec<DirEntry> = self
            .root
            .dir()
            .read_dir(place)?
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name() != SKIPPED_FOLDER && !is_temporary(&entry.file_name()))
            .take(FOLDER_ENTRIES_MAX + 1)
            .collect();
        if entries.len() > FOLDER_ENTRIES_MAX {
            entries.truncate(FOLDER_ENTRIES_MAX);
            self.left_out = true;
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
        for entry in entries {
            let Some(kind) = kind_of(&entry) else { continue };
            self.ahead.push((Entry { path: folder.join(entry.file_name()), kind }, depth));
        }
        Ok(())
    }
}

/// Returns the kind of an entry. None: the entry is gone.
fn kind_of(entry: &DirEntry) -> Option<Kind> {
    let kind = entry.file_type().ok()?;
    Some(if kind.is_dir() {
        Kind::Folder
    } else if kind.is_symlink() {
        Kind::Link
    } else if kind.is_file() {
        Kind::File { bytes: entry.metadata().ok()?.len() }
    } else {
        Kind::Other
    })
}
