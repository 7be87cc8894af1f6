//! Checks which crates depend on which, and which versions of other packages they accept.

use std::collections::BTreeSet;

use xtask::fault::{self, Fault};
use xtask::graph::Graph;
use xtask::manifest::{Dependency, For, Manifest, ROOT, Workspace, locked};
use xtask::tree::Tree;

/// The crates that each crate may be built from, and those that only its tests may use. Both lists are complete: an
/// entry that is no longer needed must be removed.
///
/// Outside of tests, the core and the stores depend on the contract, but not on each other, and no store depends on the
/// suite. The harnesses depend on the suite and on the stores.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("holdover-store", &[], &[]),
    ("holdover-core", &["store"], &["store-memory", "store-sqlite"]),
    ("holdover-store-memory", &["store"], &[]),
    ("holdover-store-sqlite", &["store"], &[]),
    ("holdover-store-postgres", &["store"], &["launcher"]),
    ("holdover-store-redis", &["store"], &["launcher"]),
    ("holdover-store-layers", &["store"], &["store-memory", "store-sqlite"]),
    // With a feature, the suite contains the harness of the reference store and the broken stores made from it.
    ("holdover-conformance-tests", &["store", "store-memory"], &["store-memory", "store-sqlite"]),
    (
        "holdover-harnesses",
        &["store", "conformance-tests", "store-layers", "store-postgres", "store-redis", "store-sqlite"],
        &["harnesses", "launcher"],
    ),
    ("holdover-runtime-local", &["core"], &["store-layers", "store-memory", "store-sqlite", "tools"]),
    ("holdover-runtime-temporal", &["core", "runtime-local"], &["launcher", "store-memory", "store-sqlite"]),
    (
        "holdover-flow",
        &["core", "runtime-local", "store-memory"],
        &["flow", "launcher", "store-memory", "store-postgres", "store-redis", "store-sqlite"],
    ),
    ("holdover-schedules", &["core", "flow", "runtime-local"], &["store-memory"]),
    ("holdover-models", &["core"], &["launcher"]),
    ("holdover-gates", &["core"], &["launcher"]),
    ("holdover-elsewhere", &["core", "runtime-local"], &["launcher", "store-memory"]),
    ("holdover-front", &["core", "runtime-local"], &["store-memory", "store-sqlite", "tools"]),
    ("holdover-runtime-restate", &["core", "runtime-local"], &["launcher", "store-memory", "store-sqlite"]),
    ("holdover-tools", &["core"], &[]),
    ("holdover-mcp", &["core"], &["flow", "runtime-local", "store-memory"]),
    (
        "holdover",
        &[
            "core",
            "runtime-local",
            "runtime-restate",
            "runtime-temporal",
            "elsewhere",
            "flow",
            "front",
            "gates",
            "mcp",
            "models",
            "schedules",
            "store-layers",
            "store-memory",
            "store-postgres",
            "store-redis",
            "store-sqlite",
            "tools",
        ],
        &["launcher", "mcp", "store-postgres", "store-redis"],
    ),
    (
        "holdover-cli",
        &[
            "conformance-tests",
            "core",
            "elsewhere",
            "front",
            "gates",
            "harnesses",
            "mcp",
            "models",
            "runtime-local",
            "runtime-restate",
            "runtime-temporal",
            "schedules",
            "store-layers",
            "store-postgres",
            "store-redis",
            "store-sqlite",
            "tools",
        ],
        &["launcher"],
    ),
    ("holdover-launcher", &[], &[]),
    ("holdover-benchmarks", &["holdover", "store"], &["launcher"]),
    ("xtask", &[], &[]),
    // A service depends on the facade, and a store on the contract.
    ("holdover-example-embed", &["holdover"], &["launcher"]),
    ("holdover-example-typed-tools", &["holdover"], &[]),
    ("holdover-example-custom-policy", &["holdover"], &[]),
    ("holdover-example-order", &["holdover"], &["holdover"]),
    ("holdover-example-research", &["holdover"], &[]),
    ("holdover-example-custom-store", &["store"], &["conformance-tests", "holdover"]),
];

#[test]
fn crates_depend_on_each_other_as_the_architecture_says() {
    fault::none(arrows(&Workspace::read(&Tree::here()), ARROWS));
}

/// Dependencies of tests count too: cargo cannot package a crate whose tests need a crate that is published later.
#[test]
fn no_crate_is_built_from_itself() {
    fault::none(cycles(&Workspace::read(&Tree::here())));
}

#[test]
fn every_dependency_names_the_line_of_versions_that_it_takes() {
    let tree = Tree::here();
    fault::none(versions(&Workspace::read(&tree), &locked(&tree)));
}

fn arrows(workspace: &Workspace, arrows: &[(&str, &[&str], &[&str])]) -> Vec<Fault> {
    const HERE: &str = "xtask/tests/dependencies.rs";
    let mut faults = Vec::new();
    for member in &workspace.members {
        let Some((_, normal, dev)) = arrows.iter().find(|(package, ..)| *package == member.package) else {
            let what = format!("say in {HERE} what {} may depend on", member.package);
            faults.push(Fault::at(&member.path, 1, what));
            continue;
        };
        for (allowed, for_tests) in [(normal, false), (dev, true)] {
            let whole = |short: &&str| {
                if *short == "holdover" { (*short).to_owned() } else { format!("holdover-{short}") }
            };
            let allowed: BTreeSet<_> = allowed.iter().map(whole).collect();
            let ours = |one: &&Dependency| {
                (one.of == For::Dev) == for_tests && workspace.member(&one.package).is_some()
            };
            let taken: Vec<_> = member.dependencies.iter().filter(ours).collect();
            for stranger in taken.iter().filter(|one| !allowed.contains(&one.package)) {
                let package = &stranger.package;
                let what =
                    format!("{} must not depend on {package}: see the arrows in {HERE}", member.package);
                faults.push(Fault::at(&member.path, stranger.line, what));
            }
            for unused in allowed.iter().filter(|package| !taken.iter().any(|one| one.package == **package)) {
                let what =
                    format!("{} does not depend on {unused}: take the arrow out of {HERE}", member.package);
                faults.push(Fault::at(&member.path, 1, what));
            }
        }
    }
    for (package, ..) in arrows.iter().filter(|(package, ..)| workspace.member(package).is_none()) {
        faults.push(Fault::at(HERE, 1, format!("there is no crate {package}: take its arrows out")));
    }
    faults
}

fn cycles(workspace: &Workspace) -> Vec<Fault> {
    let mut graph = Graph::default();
    for member in &workspace.members {
        // A crate may depend on itself in its tests. Cargo drops this dependency from the package.
        for one in member.dependencies.iter().filter(|one| one.package != member.package) {
            graph.add(&member.package, &one.package, (&*member.path, one.line));
        }
    }
    let cycles = graph.cycles();
    let faults = cycles.iter().filter_map(|cycle| {
        let (path, line) = graph.why(&cycle[0], &cycle[1])?;
        Some(Fault::at(
            path,
            *line,
            format!("a crate is built from itself: {}: cut the cycle", cycle.join(" -> ")),
        ))
    });
    faults.collect()
}

/// Returns a fault for each version requirement that does not name a major version or, below 1, a minor version. Below
/// 1, the next minor version may be incompatible.
fn versions(workspace: &Workspace, locked: &[(String, String)]) -> Vec<Fault> {
    let shared = workspace.shared.iter().map(|one| (ROOT, one));
    let own = workspace
        .members
        .iter()
        .flat_map(|Manifest { path, dependencies, .. }| dependencies.iter().map(move |one| (&**path, one)));
    let faults = shared.chain(own).filter_map(|(path, one)| {
        let versions = one.versions.as_deref()?;
        let vague = versions.split(',').all(|version| {
            let mut parts = version.trim().trim_start_matches(['^', '=', '~', '>', '<']).trim().split('.');
            let number = |part: Option<&str>| part.and_then(|part| part.parse::<u64>().ok());
            let major = number(parts.next());
            major.is_none() || (major == Some(0) && number(parts.next()).is_none())
        });
        let found: Vec<_> =
            locked.iter().filter(|(name, _)| *name == one.package).map(|(_, version)| &**version).collect();
        vague.then(|| {
            let what = "names no line of versions: name its major, below 1 its minor, too";
            let what =
                format!("{} = \"{versions}\" {what} (Cargo.lock holds {})", one.package, found.join(", "));
            Fault::at(path, one.line, what)
        })
    });
    faults.collect()
}

#[test]
fn a_crate_whose_tests_need_one_that_is_published_after_it_is_found() {
    let tree = Tree::of(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\n"),
        (
            "a/Cargo.toml",
            "[package]\nname = \"holdover-a\"\n[dev-dependencies]\nholdover-a = { path = \".\" }\nholdover-b.workspace = true\n",
        ),
        ("b/Cargo.toml", "[package]\nname = \"holdover-b\"\n[dependencies]\nholdover-a.workspace = true\n"),
    ]);
    let found: Vec<_> =
        cycles(&Workspace::read(&tree)).into_iter().map(|fault| (fault.path, fault.line)).collect();
    assert_eq!(found, [("a/Cargo.toml".to_owned(), 5)]);
}

#[test]
fn what_is_wrong_in_manifests_is_found() {
    let tree = Tree::of(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"a\", \"b\"]\n[workspace.dependencies]\nx = \"0\"\ny = { version = \"*\" }\nz = \"0.3\"\n",
        ),
        (
            "a/Cargo.toml",
            "[package]\nname = \"holdover-a\"\n[dependencies]\nholdover-b.workspace = true\n[dev-dependencies]\nw = \"1\"\n",
        ),
        (
            "b/Cargo.toml",
            "[package]\nname = \"holdover-b\"\n[target.'cfg(unix)'.build-dependencies]\nother = { path = \"../a\", package = \"holdover-a\" }\nv = \"^0\"\n",
        ),
    ]);
    let workspace = Workspace::read(&tree);
    let lines =
        |faults: Vec<Fault>| faults.iter().map(|fault| (fault.path.clone(), fault.line)).collect::<Vec<_>>();
    let (a, b, root) = (
        |line| ("a/Cargo.toml".to_owned(), line),
        |line| ("b/Cargo.toml".to_owned(), line),
        |line| ("Cargo.toml".to_owned(), line),
    );
    assert_eq!(lines(cycles(&workspace)), [a(4)]);
    assert_eq!(lines(versions(&workspace, &[])), [root(4), root(5), b(5)]);
    let right: &[(&str, &[&str], &[&str])] = &[("holdover-a", &["b"], &[]), ("holdover-b", &["a"], &[])];
    assert_eq!(lines(arrows(&workspace, right)), []);
    let wrong: &[(&str, &[&str], &[&str])] = &[("holdover-a", &[], &["b"]), ("holdover-c", &[], &[])];
    assert_eq!(
        lines(arrows(&workspace, wrong)),
        [a(4), a(1), b(1), ("xtask/tests/dependencies.rs".to_owned(), 1)]
    );
}
