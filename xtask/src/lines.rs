//! Counts the lines of code: lines of Rust, SQL and Lua that are not blank. Comments count. Tests, benches, examples
//! and benchmarks do not.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Tree, folder_of};

/// The endings of the files that are counted.
const COUNTED: [&str; 3] = [".rs", ".sql", ".lua"];
/// The names of folders whose files are not counted.
const LEFT_OUT: [&str; 4] = ["tests", "benches", "examples", "benchmarks"];
/// The folder of the broken stores that test the suite. They are counted separately.
const BROKEN_STORES: &str = "conformance-tests/src/bin/mutants/";
/// The attribute before a module of tests.
const TESTS: &str = "#[cfg(test)]";

/// The number of lines of each crate, and of the broken stores.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The number of lines of each crate, by its folder at the root.
    pub crates: BTreeMap<String, usize>,
    /// The number of lines of the broken stores.
    pub broken_stores: usize,
}

impl Lines {
    /// Counts the lines of the files in a tree.
    pub fn of(tree: &Tree) -> Self {
        let paths: Vec<&str> = tree.files().filter(|path| is_counted(path)).collect();
        let files: BTreeMap<&str, File> =
            paths.into_iter().map(|path| (path, File::read(path, tree.read(path)))).collect();
        let tests: BTreeSet<&str> =
            files.values().flat_map(|file| file.tests.iter().map(String::as_str)).collect();
        let mut lines = Self::default();
        for (path, file) in files.iter().filter(|(path, _)| !lies_in(path, &tests)) {
            if path.starts_with(BROKEN_STORES) {
                lines.broken_stores += file.lines;
            } else if let Some((folder, _)) = path.split_once('/') {
                *lines.crates.entry(folder.to_owned()).or_default() += file.lines;
            }
        }
        lines
    }

    /// Returns the number of all lines except those of the broken stores.
    pub fn total(&self) -> usize {
        self.crates.values().sum()
    }

    /// Returns a table with a row for each crate, the largest first, and then rows for the total and the broken stores.
    pub fn table(&self) -> String {
        let mut rows: Vec<_> = self.crates.iter().map(|(name, lines)| (name.as_str(), *lines)).collect();
        rows.sort_by_key(|(name, lines)| (usize::MAX - lines, *name));
        rows.extend([("total", self.total()), ("broken stores, apart", self.broken_stores)]);
        rows.into_iter().map(|(name, lines)| format!("{name:<22} {lines:>7}\n")).collect()
    }
}

fn is_counted(path: &str) -> bool {
    COUNTED.iter().any(|end| path.ends_with(end))
        && folder_of(path).split('/').all(|folder| !LEFT_OUT.contains(&folder))
}

/// Returns true if the file belongs to one of these modules or to a module inside them.
fn lies_in(path: &str, modules: &BTreeSet<&str>) -> bool {
    let module = path.strip_suffix(".rs").unwrap_or(path);
    let ends = module.match_indices('/').map(|(at, _)| &module[..at]).chain([module]);
    ends.into_iter().any(|part| modules.contains(part))
}

/// The counted lines of one file.
struct File {
    lines: usize,
    /// The paths, without extension, of the test modules that have files of their own.
    tests: Vec<String>,
}

impl File {
    fn read(path: &str, text: &str) -> Self {
        let mut file = Self { lines: 0, tests: Vec::new() };
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if line.trim() == TESTS
                && let Some(module) = lines.peek().and_then(|next| module(next))
            {
                match module.strip_suffix(';') {
                    Some(name) => file.tests.push(format!("{}/{name}", folder_within(path))),
                    // Skip to the closing brace that has the indentation of the attribute.
                    None => {
                        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
                        lines.by_ref().find(|line| *line == end);
                        continue;
                    }
                }
                lines.next();
            } else if !line.trim().is_empty() {
                file.lines += 1;
            }
        }
        file
    }
}

/// Returns the text after the word `mod`: a name, and a semicolon or a brace. Returns `None` if the line declares no
/// module.
fn module(line: &str) -> Option<&str> {
    let (before, module) = line.trim().split_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(module)
}

/// Returns the folder in which the submodules of a file lie.
fn folder_within(path: &str) -> &str {
    let module = path.strip_suffix(".rs").unwrap_or(path);
    let is_root = ["/mod", "/lib", "/main"].iter().any(|name| module.ends_with(name));
    if is_root { folder_of(path) } else { module }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_blank_and_no_test_counts() {
        let inline = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {\n    }\n}\nfn c() {}\n";
        let tree = Tree::of(&[
            ("core/src/lib.rs", inline),
            ("core/src/words.rs", "mod a;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nfn alone() {}\n"),
            ("core/src/words/tests.rs", "fn a() {}\n"),
            ("core/src/words/tests/more.rs", "fn a() {}\n"),
            ("core/tests/steps.rs", "fn a() {}\n"),
            ("store-redis/scripts/apply.lua", "return 1\n"),
            ("store-redis/README.md", "text\n"),
            ("benchmarks/src/main.rs", "fn a() {}\n"),
            ("conformance-tests/src/bin/mutants/main.rs", "fn a() {}\n"),
        ]);
        let crates = [("core", 5), ("store-redis", 1)].map(|(name, lines)| (name.to_owned(), lines));
        assert_eq!(Lines::of(&tree), Lines { crates: crates.into(), broken_stores: 1 });
    }
}
