//! The modules of a crate, and which names each of them uses from others.

mod read;
mod resolve;

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Tree;

/// The way from the root of a crate to a module.
pub type Way = Vec<String>;

/// All modules of a crate.
#[derive(Debug, Default)]
pub struct Modules {
    all: BTreeMap<Way, Module>,
}

/// One module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// The file that it stands in.
    pub file: String,
    /// Whether it is built for tests alone.
    pub test: bool,
    /// The names of the modules in it.
    children: BTreeSet<String>,
    /// The names of its own items.
    items: BTreeSet<String>,
    /// Names that `use` brings in, and the path of each as it is written.
    bound: BTreeMap<String, Way>,
    /// Paths of which `use` brings in everything.
    globs: Vec<Way>,
    /// The paths that it names.
    pub named: Vec<Named>,
}

/// A path of two names at least, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The path.
    pub path: Way,
    /// Its line, from 1.
    pub line: usize,
    /// Whether it stands in what is built for tests alone.
    pub test: bool,
    /// Whether `use` brings in everything that is there.
    pub glob: bool,
}

impl Modules {
    /// The modules of the crate whose root is this file.
    pub fn read(tree: &Tree, root: &str) -> Self {
        let mut modules = Self::default();
        read::file(&mut modules.all, tree, root, Way::new(), false);
        modules
    }

    /// Each module and the way to it.
    pub fn iter(&self) -> impl Iterator<Item = (&[String], &Module)> {
        self.all.iter().map(|(way, module)| (way.as_slice(), module))
    }

    /// Whether there is such a module.
    pub fn has(&self, way: &[String]) -> bool {
        self.all.contains_key(way)
    }

    /// The modules that a path leads through when it is written in `from`, re-exports resolved: those along the path as it
    /// is written, then those along the path that a re-export stands for. Empty for a path into another crate.
    pub fn passed(&self, from: &[String], path: &[String]) -> Vec<Way> {
        resolve::passed(&self.all, from, path)
    }
}
