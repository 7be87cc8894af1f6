//! Walks through folders in a fixed order, without following symbolic links.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::DirEntry;
use holdover_core::tool::ToolError;

use super::path::RelativePath;
use super::root::{Root, failed};
use super::temporary::is_temporary;
use crate::blocking::Dropped;

/// The maximum depth of folders that a walk enters. The folder where it starts has depth 1.
const DEPTH_MAX: usize = 64;
/// The maximum number of entries of one folder that a walk visits.
const FOLDER_ENTRIES_MAX: usize = 50_000;
/// The note for the model if a walk left something out.
pub(super) const LEFT_OUT: &str = "[cut: a folder is too full or too deep to be looked at whole]";
/// The name of entries that walks leave out: `.git` holds many files that are not meant for reading.
const SKIPPED_FOLDER: &str = ".git";

/// An entry that a walk visits.
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

/// The decision after an entry: continue the walk or stop it.
#[derive(PartialEq, Eq)]
pub(super) enum Go {
    On,
    Stop,
}

/// Visits the entries of the folder `start` by name, a folder before its own entries. With `recursive`, also visits the
/// entries of the folders beneath it. Returns true if a bound made the walk leave something out.
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
        // The folder may be gone by now, or unreadable. It then counts as empty.
        let _ = walk.enter(&entry.path, depth + 1);
    }
    Ok(walk.left_out)
}

struct Walk<'a> {
    root: &'a Root,
    /// The entries that are still to be visited, in reverse order, with their depth.
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

/// Returns the kind of an entry, or `None` if the entry is gone.
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
