//! The crates of the workspace, and their dependencies.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::tree::{Tree, folder_of, resolve};

/// The use of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// The crate itself.
    Normal,
    /// The tests, examples and benches of the crate.
    Dev,
    /// The build script of the crate.
    Build,
}

/// A dependency in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The name of the package, even if the manifest renames it.
    pub package: String,
    /// The use of the dependency.
    pub of: For,
    /// The accepted versions, as they are written. `None` if only the workspace or a path determines the version.
    pub versions: Option<String>,
    /// The line in the manifest, from 1.
    pub line: usize,
}

/// A manifest.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The path of the manifest, relative to the root of the repository.
    pub path: String,
    /// The name of the package.
    pub package: String,
    /// All dependencies of the package.
    pub dependencies: Vec<Dependency>,
}

impl Manifest {
    /// Returns the folder of the crate.
    pub fn folder(&self) -> &str {
        folder_of(&self.path)
    }
}

/// The manifest of the workspace, and those of its members.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The dependencies that members may inherit from the workspace.
    pub shared: Vec<Dependency>,
    /// The members, in the order in which they are listed.
    pub members: Vec<Manifest>,
}

/// The path of the workspace manifest, relative to the root of the repository.
pub const ROOT: &str = "Cargo.toml";

impl Workspace {
    /// Reads all manifests of the workspace.
    ///
    /// # Panics
    ///
    /// Panics if a manifest is missing or is not valid TOML, or if it lacks its `[workspace]` table or the name of its
    /// package.
    pub fn read(tree: &Tree) -> Self {
        let text = tree.read(ROOT);
        let root = parse(ROOT, text);
        let workspace =
            table(root.get_ref(), "workspace").unwrap_or_else(|| panic!("{ROOT}: has no [workspace]"));
        let shared = table(workspace, "dependencies").map(|table| listed(text, table, For::Normal));
        let members = workspace.get("members").and_then(|members| members.get_ref().as_array());
        let members = members.into_iter().flat_map(|members| members.iter());
        let paths = members.filter_map(|member| resolve(member.get_ref().as_str()?, ROOT));
        Self { shared: shared.unwrap_or_default(), members: paths.map(|path| manifest(tree, path)).collect() }
    }

    /// Returns the member whose package has this name.
    pub fn member(&self, package: &str) -> Option<&Manifest> {
        self.members.iter().find(|member| member.package == package)
    }
}

/// Returns the name and version of each package in `Cargo.lock`.
pub fn locked(tree: &Tree) -> Vec<(String, String)> {
    const LOCK: &str = "Cargo.lock";
    let root = parse(LOCK, tree.read(LOCK));
    let packages = root.get_ref().get("package").and_then(|packages| packages.get_ref().as_array());
    let packages = packages.into_iter().flat_map(|packages| packages.iter());
    let pairs = packages.filter_map(|package| {
        let package = package.get_ref().as_table()?;
        Some((text(package, "name")?, text(package, "version")?))
    });
    pairs.collect()
}

fn manifest(tree: &Tree, path: String) -> Manifest {
    let raw = tree.read(&path);
    let root = parse(&path, raw);
    let root = root.get_ref();
    let package = table(root, "package").and_then(|package| text(package, "name"));
    let package = package.unwrap_or_else(|| panic!("{path}: names no package"));
    let mut dependencies = dependencies_of(raw, root);
    for target in table(root, "target").into_iter().flat_map(|targets| targets.values()) {
        dependencies
            .extend(target.get_ref().as_table().into_iter().flat_map(|table| dependencies_of(raw, table)));
    }
    Manifest { path, package, dependencies }
}

fn dependencies_of(raw: &str, root: &DeTable<'_>) -> Vec<Dependency> {
    let tables =
        [("dependencies", For::Normal), ("dev-dependencies", For::Dev), ("build-dependencies", For::Build)];
    let found = tables.into_iter().filter_map(|(name, of)| Some((table(root, name)?, of)));
    found.flat_map(|(table, of)| listed(raw, table, of)).collect()
}

fn listed(raw: &str, table: &DeTable<'_>, of: For) -> Vec<Dependency> {
    let one = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        let value = value.get_ref();
        let detail = |name| value.as_table().and_then(|table| text(table, name));
        Dependency {
            package: detail("package").unwrap_or_else(|| key.get_ref().to_string()),
            of,
            versions: value.as_str().map(str::to_owned).or_else(|| detail("version")),
            line: raw[..key.span().start].matches('\n').count() + 1,
        }
    };
    table.iter().map(one).collect()
}

fn parse<'a>(path: &str, text: &'a str) -> Spanned<DeTable<'a>> {
    DeTable::parse(text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn table<'t, 'a>(table: &'t DeTable<'a>, key: &str) -> Option<&'t DeTable<'a>> {
    table.get(key)?.get_ref().as_table()
}

fn text(table: &DeTable<'_>, key: &str) -> Option<String> {
    Some(table.get(key)?.get_ref().as_str()?.to_owned())
}
