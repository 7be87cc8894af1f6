//! Runs the test programs of the workspace, several at once: most of them wait more than they compute.
//!
//! `cargo test` runs one program after the other. Cargo builds them here too, and runs the examples in doc comments.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::Deserialize;

/// The programs that take longest. They begin first, so that none of them runs alone at the end.
const LONGEST: &[&str] = &[EXAMPLES, "holdover/trees", "holdover-core/steps"];

/// The programs that run alone, after all others: their workers have leases of seconds, which end early if the machine is
/// busy with something else.
const ALONE: &[&str] = &[
    "holdover-cli/kills",
    "holdover-cli/engines",
    "holdover-runtime-temporal/it",
    "holdover-runtime-restate/it",
];

/// The name of the suite of the examples in doc comments.
const EXAMPLES: &str = "examples in doc comments";

/// The number of files that hold what suites print.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// A test program, or the examples in doc comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// The package and the target, such as `holdover-core/steps`.
    pub name: String,
    /// The program and its arguments.
    command: Vec<String>,
    /// The folder of the package; a test begins there.
    folder: PathBuf,
    package: String,
    /// True if only some tests run. Then one must.
    is_limited: bool,
}

/// What a suite came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The name of the suite.
    pub name: String,
    /// True if all its tests passed.
    pub passed: bool,
    /// The time that it took, in seconds.
    pub seconds: u64,
    /// Everything that it printed.
    pub printed: String,
}

/// A line of what cargo says about the targets that it has built.
#[derive(Deserialize)]
struct Built {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    executable: Option<String>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Makes cargo build the test programs that `cargo test` would run with these arguments, and returns them with the
/// examples in doc comments.
///
/// # Errors
///
/// Returns one line if cargo fails; cargo has printed why.
pub fn build(cargo: &str, root: &Path, arguments: &[&str]) -> Result<Vec<Suite>, String> {
    let mut command = Command::new(cargo);
    command.current_dir(root).args([
        "test",
        "--quiet",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    let output = command.args(arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{cargo}: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not compile".to_owned());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let mut suites: Vec<Suite> = said.lines().filter_map(suite).collect();
    if suites.is_empty() {
        return Err("cargo names no test program".to_owned());
    }
    let examples =
        [cargo, "test", "--quiet", "--doc", "--no-fail-fast"].into_iter().chain(arguments.iter().copied());
    suites.push(Suite {
        name: EXAMPLES.to_owned(),
        command: examples.map(str::to_owned).collect(),
        folder: root.to_owned(),
        package: String::new(),
        is_limited: false,
    });
    Ok(in_order(suites))
}

/// Reads a line of cargo. Returns `None` if it is not about a test program.
fn suite(line: &str) -> Option<Suite> {
    let built: Built = serde_json::from_str(line).ok()?;
    let executable = built.executable.filter(|_| built.profile.is_some_and(|profile| profile.test))?;
    let (manifest, target) = (built.manifest_path?, built.target?);
    let package = package_name(&manifest)?;
    let kind = target.kind.first().filter(|kind| *kind != "test").map(|kind| format!(" ({kind})"));
    Some(Suite {
        name: format!("{package}/{}{}", target.name, kind.unwrap_or_default()),
        command: vec![executable, "--quiet".to_owned()],
        folder: manifest.parent()?.to_owned(),
        package,
        is_limited: false,
    })
}

/// Returns the name of the package of a manifest.
fn package_name(manifest: &Path) -> Option<String> {
    let manifest: toml::Table = std::fs::read_to_string(manifest).ok()?.parse().ok()?;
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// Returns the suites with the longest first, and the others as they were.
fn in_order(mut suites: Vec<Suite>) -> Vec<Suite> {
    let place = |suite: &Suite| LONGEST.iter().position(|name| *name == suite.name).unwrap_or(LONGEST.len());
    suites.sort_by_key(place);
    suites
}

/// Runs the suites, two at a time, and then those that run alone. Tells of each that ends.
pub fn run(suites: Vec<Suite>, tell: &mut (dyn FnMut(&Ended) + Send)) -> Vec<Ended> {
    let (alone, others) = suites.into_iter().partition(|suite| ALONE.contains(&suite.name.as_str()));
    let mut ended = run_at_once(others, 2, tell);
    ended.extend(run_at_once(alone, 1, tell));
    ended
}

fn run_at_once(suites: Vec<Suite>, at_once: usize, tell: &mut (dyn FnMut(&Ended) + Send)) -> Vec<Ended> {
    let (left, told) = (Mutex::new(VecDeque::from(suites)), Mutex::new((tell, Vec::new())));
    std::thread::scope(|threads| {
        for _ in 0..at_once {
            threads.spawn(|| {
                let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(suite) = next() {
                    let ended = suite.run();
                    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                    (told.0)(&ended);
                    told.1.push(ended);
                }
            });
        }
    });
    told.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

impl Suite {
    /// Limits the suite to the tests whose names contain this text.
    pub fn limit(&mut self, filter: &str) {
        self.command.push(filter.to_owned());
        self.is_limited = true;
    }

    /// Runs the suite to its end. A suite that cannot be run has failed.
    fn run(&self) -> Ended {
        let began = Instant::now();
        let (passed, printed) = match self.printed() {
            Ok(ended) => ended,
            Err(error) => (false, format!("{error}\n")),
        };
        let mut ended =
            Ended { name: self.name.clone(), passed, seconds: began.elapsed().as_secs(), printed };
        ended.passed &= !self.is_limited || ended.tests() > 0;
        ended
    }

    fn printed(&self) -> std::io::Result<(bool, String)> {
        // A file, because a program that a test has left behind would keep a pipe open.
        let name = format!("suite-{}-{}", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let file = File::create(&path)?;
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(file.try_clone()?).stderr(file);
        // As cargo sets them.
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("CARGO_PKG_NAME", &self.package);
        let status = command.status();
        let printed = std::fs::read(&path);
        std::fs::remove_file(&path)?;
        Ok((status?.success(), String::from_utf8_lossy(&printed?).into_owned()))
    }
}

impl Ended {
    /// Returns the number of tests that passed.
    pub fn tests(&self) -> u64 {
        let count =
            |line: &str| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<u64>().ok();
        self.printed.lines().filter_map(count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str) -> Suite {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        Suite {
            name: name.to_owned(),
            command,
            folder: std::env::temp_dir(),
            package: name.to_owned(),
            is_limited: false,
        }
    }

    #[test]
    fn all_suites_run_and_those_that_fail_are_told_with_what_they_printed() {
        let good = "echo 'test result: ok. 7 passed; 0 failed'; echo 'test result: ok. 2 passed; 0 failed'";
        let suites = vec![
            shell("good", good),
            shell("bad", "echo \"panicked in $CARGO_PKG_NAME\" >&2; exit 101"),
            Suite { command: vec!["/no/such/program".to_owned()], ..shell("missing", "") },
            Suite { is_limited: true, ..shell("none", "echo 'test result: ok. 0 passed; 0 failed'") },
        ];
        let mut told = Vec::new();
        let mut ended = run(suites, &mut |ended| told.push(ended.name.clone()));
        ended.sort_by(|a, b| a.name.cmp(&b.name));
        let passed: Vec<_> =
            ended.iter().map(|ended| (ended.name.as_str(), ended.passed, ended.tests())).collect();
        assert_eq!(passed, [("bad", false, 0), ("good", true, 9), ("missing", false, 0), ("none", false, 0)]);
        assert_eq!(ended[0].printed, "panicked in bad\n");
        assert_eq!(told.len(), 4);
    }

    #[test]
    fn suites_run_at_the_same_time() {
        let folder = std::env::temp_dir().join(format!("suites-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // Each waits for what the other makes.
        let waits = |mine: &str, other: &str| {
            let folder = folder.display();
            let script = format!("touch {folder}/{mine}; until [ -e {folder}/{other} ]; do sleep 0.01; done");
            shell(mine, &script)
        };
        let ended = run(vec![waits("a", "b"), waits("b", "a")], &mut |_| {});
        assert!(ended.iter().all(|ended| ended.passed), "{ended:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn some_run_alone_after_all_others() {
        let folder = std::env::temp_dir().join(format!("suites-alone-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let ends = folder.join("ended").display().to_string();
        let alone =
            |name: &str| shell(name, &format!("[ $(cat {ends} | wc -l) -ge 2 ] && echo {name} >>{ends}"));
        let other = |name: &str| shell(name, &format!("sleep 0.2; echo {name} >>{ends}"));
        let ended = run(vec![alone(ALONE[0]), alone(ALONE[1]), other("a"), other("b")], &mut |_| {});
        assert!(ended.iter().all(|ended| ended.passed), "{ended:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_test_program_is_found_in_what_cargo_says() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let line = |test: bool, executable: &str| {
            serde_json::json!({
                "reason": "compiler-artifact", "manifest_path": manifest, "executable": executable,
                "target": { "name": "xtask", "kind": ["lib"] }, "profile": { "test": test },
            })
        };
        let found = suite(&line(true, "/t/xtask-1").to_string()).unwrap();
        assert_eq!((found.name.as_str(), found.package.as_str()), ("xtask/xtask (lib)", "xtask"));
        assert_eq!(found.command, ["/t/xtask-1", "--quiet"]);
        assert_eq!(suite(&line(false, "/t/xtask").to_string()), None, "a program that is no test");
        assert_eq!(suite(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
