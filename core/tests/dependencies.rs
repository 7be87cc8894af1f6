//! Checks that the core is built only from pure code. The program that drives it (a server, a job, an evaluation)
//! brings its own transport, clock and random numbers. Also checks that stores and their suite are built without the core.
//!
//! Requirements: A21.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::process::Command;

/// All crates that the core may depend on, directly or indirectly.
const ALLOWED: &[&str] = &[
    // Traits with async methods, and streams.
    "async-trait",
    "base64",
    "bytes",
    "futures",
    "futures-channel",
    "futures-core",
    "futures-executor",
    "futures-io",
    "futures-macro",
    "futures-sink",
    "futures-task",
    "futures-util",
    "memchr",
    "pin-project-lite",
    "slab",
    // The store contract, and serialization.
    "holdover-store",
    "itoa",
    "ryu",
    "serde",
    "serde_core",
    "serde_derive",
    "serde_json",
    "uuid",
    "zmij",
    // Digests of stored data.
    "block-buffer",
    "cfg-if",
    "const-oid",
    "cpufeatures",
    "crypto-common",
    "digest",
    "generic-array",
    "hybrid-array",
    "libc",
    "sha2",
    "typenum",
    "version_check",
    // Parsing and printing of dates. Without the features `now` and `clock`, `chrono` reads no clock.
    "chrono",
    "num-traits",
    // Errors, and macros.
    "autocfg",
    "proc-macro2",
    "quote",
    "syn",
    "thiserror",
    "thiserror-impl",
    "unicode-ident",
];

/// Crates that the core must never depend on. They guard against a careless addition to [`ALLOWED`].
const NEVER: &[&str] = &[
    "tokio",
    "async-std",
    "smol",
    "mio",
    "socket2",
    "reqwest",
    "hyper",
    "axum",
    "tower",
    "http",
    "tonic",
    "rand",
    "rand_core",
    "getrandom",
    "fastrand",
    "time",
    "rusqlite",
    "sqlx",
    "tokio-postgres",
    "redis",
    "tracing",
];

#[test]
fn a21_the_core_has_no_transport_no_runtime_no_clock_and_no_dice() {
    let built = built_from("holdover-core");
    let strangers: Vec<_> = built.iter().filter(|name| !ALLOWED.contains(&name.as_str())).collect();
    assert!(strangers.is_empty(), "the core is built from {strangers:?}, which no line here allows");
    let both: Vec<_> = ALLOWED.iter().filter(|name| NEVER.contains(name)).collect();
    assert!(both.is_empty(), "{both:?}");
    assert!(built.contains("serde_json"), "{built:?}");
    let chrono = features_of("holdover-core", "chrono");
    assert_eq!(chrono, ["alloc", "std"], "with more of its features chrono may read a clock");
    // Shows that the search finds a forbidden crate where there is one.
    assert!(built_from("holdover-runtime-local").contains("tokio"));
}

/// Stores hold only bytes, so a store and its tests can be written without the core.
#[test]
fn a_store_and_its_suite_are_built_without_the_core() {
    let stores = ["store-memory", "store-sqlite", "store-postgres", "store-redis", "store-layers"];
    for package in stores.into_iter().chain(["store", "conformance-tests"]) {
        let built = built_from(&format!("holdover-{package}"));
        let of_agents: Vec<_> = built.iter().filter(|name| *name == "holdover-core").collect();
        assert!(!built.is_empty() && of_agents.is_empty(), "{package} is built from {built:?}");
    }
}

/// Returns the names of all packages that `package` is built from, without its dev-dependencies and without the
/// dependencies of other platforms.
fn built_from(package: &str) -> BTreeSet<String> {
    let lines = tree(&["--package", package]);
    let names = lines.lines().filter_map(|line| line.split(' ').next()).filter(|name| *name != package);
    names.map(str::to_owned).collect()
}

/// Returns the features of `dependency` that are enabled when `package` is built alone.
fn features_of(package: &str, dependency: &str) -> Vec<String> {
    let lines = tree(&["--package", package, "--format", "{p} features {f}"]);
    let of = format!("{dependency} ");
    let line = lines.lines().find(|line| line.starts_with(&of)).unwrap();
    let features = line.split_once(" features ").unwrap().1.trim_end_matches(" (*)");
    features.split(',').map(str::to_owned).collect()
}

fn tree(asked: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let all = ["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none"];
    let tree =
        Command::new(cargo).args(all).args(asked).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    String::from_utf8(tree.stdout).unwrap()
}
