//! Facts about the machine of a measurement, on which the numbers depend.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use holdover::store::{SqliteStore, StateStore};

use crate::Failed;
use crate::stats::Samples;

/// The number of synced appends by which the cost of a sync is measured.
const SYNCS: usize = 100;

/// Facts by name, in the order in which they are reported.
pub(crate) type Facts = Vec<(String, String)>;

/// Returns facts about the machine, the versions, and the store's settings.
pub(crate) async fn facts(folder: &Path) -> Result<Facts, Failed> {
    let mut facts = Facts::new();
    let mut say = |name: &str, value: String| facts.push((name.to_owned(), value));
    say("processor", processor());
    say("cores", std::thread::available_parallelism()?.to_string());
    let system = rustix::system::uname();
    let part = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let system = format!("{} {} {}", part(system.sysname()), part(system.release()), part(system.machine()));
    say("system", system);
    say("load before", load());
    say("sync of a 4 KB append, ms: median (p10–p90)", sync_ms(folder)?.to_string());
    say("holdover", env!("CARGO_PKG_VERSION").to_owned());
    say("commit", commit());
    say("compiler", env!("BENCHMARKS_RUSTC").to_owned());
    say("build", if cfg!(debug_assertions) { "debug: the times mean nothing" } else { "release" }.to_owned());
    let place = tempfile::tempdir_in(folder)?;
    let store: SqliteStore = crate::scene::open(place.path()).await?;
    let capabilities = store.capabilities();
    store.close().await;
    facts.push(("store".to_owned(), capabilities.backend));
    facts.extend(capabilities.settings);
    Ok(facts)
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    let name = model.and_then(|line| line.split_once(": ")).map(|(_, name)| name.trim().to_owned());
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Returns the commit of these sources, and whether they were changed since.
fn commit() -> String {
    let said = std::process::Command::new("git")
        .args([
            "-C",
            env!("CARGO_MANIFEST_DIR"),
            "describe",
            "--always",
            "--exclude=*",
            "--abbrev=12",
            "--dirty",
        ])
        .output();
    let commit = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default();
    if commit.is_empty() { "unknown".to_owned() } else { commit.replace("-dirty", ", changed since") }
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let parts: Vec<&str> = text.split(' ').take(3).collect();
    if parts.is_empty() { "unknown".to_owned() } else { parts.join(" ") }
}

/// Measures the milliseconds for an append of 4 KB and its sync.
fn sync_ms(folder: &Path) -> Result<Samples, Failed> {
    let mut file: File = tempfile::tempfile_in(folder)?;
    let mut samples = Samples::default();
    for _ in 0..SYNCS {
        let began = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        samples.add(began.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(samples)
}
