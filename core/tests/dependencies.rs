//! What the core is built from: pure code alone. Whatever drives it (a server, a job, an evaluation) brings its own
//! transport, clock and dice.
//!
//! Requirements: A21.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::process::Command;

/// All that the core may be built from, by whichever way it comes in.
const ALLOWED: &[&str] = &[
    // Traits with async methods, and what a stream is.
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
    // What is stored, and by which contract.
    "holdover-store",
    "itoa",
    "ryu",
    "serde",
    "serde_core",
    "serde_derive",
    "serde_json",
    "uuid",
    "zmij",
    // Digests of it.
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
    // Dates, parsed and printed. Without the features `now` and `clock` it reads no clock.
    "chrono",
    "num-traits",
    // Errors, and code that writes code.
    "autocfg",
    "proc-macro2",
    "quote",
    "syn",
    "thiserror",
    "thiserror-impl",
    "unicode-ident",
];

/// Some of what it must never be built from, so that a widened list is looked at twice.
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
    // The search finds such a thing where it is.
    assert!(built_from("holdover-runtime-local").contains("tokio"));
}

/// A store keeps bytes: whoever writes one, or tests it, needs nothing of what an agent is.
#[test]
fn a_store_and_its_suite_are_built_without_the_core() {
    let stores = ["store-memory", "store-sqlite", "store-postgres", "store-redis", "store-layers"];
    for package in stores.into_iter().chain(["store", "conformance-tests"]) {
        let built = built_from(&format!("holdover-{package}"));
        let of_agents: Vec<_> = built.iter().filter(|name| *name == "holdover-core").collect();
        assert!(!built.is_empty() && of_agents.is_empty(), "{package} is built from {built:?}");
    }
}

/// The names of all packages that `package` is built from, those for its tests and those of other platforms left out.
fn built_from(package: &str) -> BTreeSet<String> {
    let lines = tree(&["--package", package]);
    let names = lines.lines().filter_map(|line| line.split(' ').next()).filter(|name| *name != package);
    names.map(str::to_owned).collect()
}

/// The features of `dependency` that `package` asks for when it is built alone.
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
