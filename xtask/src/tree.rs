//! The files of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folders with files that are built or downloaded.
const SKIPPED: &[&str] = &["target", "node_modules"];
/// The only hidden folders whose files are read.
const HIDDEN: &[&str] = &[".cargo", ".ci", ".github"];

/// The files below a folder, except those in most hidden folders and in folders of built or downloaded files. Paths are
/// relative to the folder, with `/` between their parts.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    files: BTreeMap<String, OnceLock<String>>,
    folders: BTreeSet<String>,
}

impl Tree {
    /// Reads the repository that contains this crate.
    pub fn here() -> Self {
        Self::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
    }

    /// Reads the files below `root`.
    ///
    /// # Panics
    ///
    /// Panics if a folder cannot be read.
    pub fn at(root: &Path) -> Self {
        let mut paths = Vec::new();
        walk(root, "", &mut paths);
        Self::with(root.to_owned(), paths.into_iter().map(|path| (path, OnceLock::new())).collect())
    }

    /// Creates a tree in memory, for testing a rule.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), OnceLock::from((*text).to_owned())));
        Self::with(PathBuf::new(), files.collect())
    }

    fn with(root: PathBuf, files: BTreeMap<String, OnceLock<String>>) -> Self {
        let mut folders = BTreeSet::new();
        for path in files.keys() {
            folders.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
        }
        Self { root, files, folders }
    }

    /// Iterates over the paths of all files, in order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Iterates over the paths of all files that end with `end`, in order.
    pub fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a str> {
        self.files().filter(move |path| path.ends_with(end))
    }

    /// Returns true if there is such a file.
    pub fn is_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns true if there is such a folder.
    pub fn is_folder(&self, path: &str) -> bool {
        self.folders.contains(path.trim_end_matches('/'))
    }

    /// Returns true if there is such a file or folder.
    pub fn exists(&self, path: &str) -> bool {
        self.is_file(path) || self.is_folder(path)
    }

    /// Returns the text of a file of the tree.
    ///
    /// # Panics
    ///
    /// Panics if there is no such file, or it is not text.
    pub fn read(&self, path: &str) -> &str {
        let Some(text) = self.files.get(path) else { panic!("{path}: there is no such file") };
        text.get_or_init(|| {
            let read = std::fs::read_to_string(self.root.join(path));
            read.unwrap_or_else(|error| panic!("{path}: cannot be read: {error}"))
        })
    }

    /// Writes a file to the disk. The tree itself stays as it was read.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn write(&self, path: &str, text: &str) -> std::io::Result<()> {
        std::fs::write(self.root.join(path), text)
    }
}

fn walk(root: &Path, under: &str, paths: &mut Vec<String>) {
    let folder = root.join(under);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.filter_map(Result::ok) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if under.is_empty() { name.clone() } else { format!("{under}/{name}") };
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_file() {
            paths.push(path);
        } else if kind.is_dir()
            && !SKIPPED.contains(&&*name)
            && (!name.starts_with('.') || HIDDEN.contains(&&*name))
        {
            walk(root, &path, paths);
        }
    }
}

/// Resolves a path that a file in `folder` names. The result is relative to the root. Returns `None` if the path leads
/// out of the repository.
pub fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the folder of a file; empty for a file at the root.
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_resolved_from_its_folder() {
        assert_eq!(resolve("docs/how-to", "../agent-file.md").as_deref(), Some("docs/agent-file.md"));
        assert_eq!(resolve("", "./check").as_deref(), Some("check"));
        assert_eq!(resolve("docs", "../../other"), None);
    }

    #[test]
    fn folders_are_those_of_the_files() {
        let tree = Tree::of(&[("core/src/lib.rs", "")]);
        assert!(tree.is_folder("core/src/") && tree.is_folder("core") && !tree.is_folder("co"));
        assert!(tree.is_file("core/src/lib.rs") && !tree.is_file("core/src"));
    }
}
