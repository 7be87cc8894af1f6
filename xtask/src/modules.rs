//! The modules of a crate, and the names that each module uses from others.

mod read;
mod resolve;

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Tree;

/// The path from the root of a crate to a module.
pub type Way = Vec<String>;

/// All modules of a crate.
#[derive(Debug, Default)]
pub struct Modules {
    all: BTreeMap<Way, Module>,
}

/// One module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// The file that contains the module.
    pub file: String,
    /// True if the module is built for tests only.
    pub test: bool,
    /// The names of the submodules.
    children: BTreeSet<String>,
    /// The names of the items in the module.
    items: BTreeSet<String>,
    /// The names that `use` imports, with the path of each as it is written.
    bound: BTreeMap<String, Way>,
    /// The paths from which `use` imports everything.
    globs: Vec<Way>,
    /// The paths that the module names.
    pub named: Vec<Named>,
}

/// A path that a `use` imports, or a path of at least two names elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The path.
    pub path: Way,
    /// The line of the path, from 1.
    pub line: usize,
    /// True if the path is in code that is built for tests only.
    pub test: bool,
    /// True if the path imports everything, as `use path::*`.
    pub glob: bool,
}

impl Modules {
    /// Reads the modules of the crate whose root is this file.
    ///
    /// # Panics
    ///
    /// Panics if the file of a module is missing.
    pub fn read(tree: &Tree, root: &str) -> Self {
        let mut modules = Self::default();
        read::file(&mut modules.all, tree, root, Way::new(), false);
        modules
    }

    /// Iterates over the modules and their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&[String], &Module)> {
        self.all.iter().map(|(way, module)| (way.as_slice(), module))
    }

    /// Returns true if there is a module at this path.
    pub fn has(&self, way: &[String]) -> bool {
        self.all.contains_key(way)
    }

    /// Returns the modules that a path leads through when it is written in `from`: first those along the path as it
    /// is written, then those along the paths of re-exports. Empty for a path into another crate.
    pub fn passed(&self, from: &[String], path: &[String]) -> Vec<Way> {
        resolve::passed(&self.all, from, path)
    }
}
