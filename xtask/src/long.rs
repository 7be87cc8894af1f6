//! `docs/long-run.md`: the record of the tests that are also run with large counts, in parts.
//!
//! A part may take at most an hour; a test checks the times on the page. When a part passes, its row records the count,
//! the commit, the day, the duration and the machine. So a run that was interrupted continues with the remaining parts.

use std::process::Command;
use std::time::Instant;

/// The path of the page.
pub const PAGE: &str = "docs/long-run.md";
/// The longest time that a part may take, in seconds.
pub const SECONDS_MAX: u64 = 3_600;
/// The cell of a part that was never run.
const NOT_RUN: &str = "not run";

/// A group of tests that are run with large counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The name of the part on the command line.
    pub name: &'static str,
    /// The name of the counted units.
    pub what: &'static str,
    /// The environment variables that set the count, with their values.
    pub counts: &'static [(&'static str, u64)],
    /// The arguments of `cargo`.
    pub cargo: &'static [&'static str],
}

const fn part(
    name: &'static str,
    what: &'static str,
    counts: &'static [(&'static str, u64)],
    cargo: &'static [&'static str],
) -> Part {
    Part { name, what, counts, cargo }
}

/// The counts of a suite that runs against one store.
const SUITE: &[(&str, u64)] = &[("HOLDOVER_SUITE_SCRIPTS", 320), ("HOLDOVER_SUITE_KILLS", 500)];

/// All parts, in the order in which they are run.
pub const PARTS: &[Part] = &[
    part(
        "stories",
        "random stories of the step iterator",
        &[("HOLDOVER_CASES", 1_000_000)],
        &["test", "--release", "-p", "holdover-core", "--test", "steps", "--", "random::"],
    ),
    part(
        "storms",
        "storms of dying workers",
        &[("HOLDOVER_SEEDS", 3_000)],
        &["test", "-p", "holdover-runtime-local", "--test", "it", "--", "storms::"],
    ),
    part(
        "kills",
        "workers killed at random moments",
        &[("HOLDOVER_KILLS", 500)],
        &["test", "-p", "holdover-cli", "--features", "full", "--test", "kills"],
    ),
    part(
        "children",
        "points at which the process of a thousand children is killed",
        &[("HOLDOVER_KILLS", 50)],
        &["test", "-p", "holdover", "--all-features", "--test", "trees", "--", "thousand"],
    ),
    part(
        "orders",
        "ways in which a process meets each order to a tree at each write",
        &[("HOLDOVER_ORDERS", 3)],
        &["test", "-p", "holdover", "--all-features", "--test", "trees", "--", "every_write"],
    ),
    part(
        "kills-postgres",
        "Postgres servers killed under load",
        &[("HOLDOVER_SERVER_KILLS", 50)],
        &["test", "-p", "holdover-store-postgres", "--test", "kills"],
    ),
    part(
        "kills-redis",
        "Redis servers killed under load",
        &[("HOLDOVER_SERVER_KILLS", 50)],
        &["test", "-p", "holdover-store-redis", "--test", "kills"],
    ),
    part(
        "suite-memory",
        "random scripts, and processes killed by each case that kills: memory",
        SUITE,
        &["test", "-p", "holdover-harnesses", "--test", "memory"],
    ),
    part(
        "suite-sqlite",
        "the same on SQLite",
        SUITE,
        &["test", "-p", "holdover-harnesses", "--test", "sqlite"],
    ),
    part(
        "suite-postgres",
        "the same on Postgres",
        SUITE,
        &["test", "-p", "holdover-harnesses", "--test", "postgres"],
    ),
    part("suite-redis", "the same on Redis", SUITE, &["test", "-p", "holdover-harnesses", "--test", "redis"]),
    part(
        "suite-redis-cluster",
        "the same on Redis Cluster",
        SUITE,
        &["test", "-p", "holdover-harnesses", "--test", "redis_cluster"],
    ),
    part(
        "broken-stores",
        "every broken store under every case",
        &[],
        &[
            "run",
            "-p",
            "holdover-conformance-tests",
            "--features",
            "mutants",
            "--bin",
            "mutants",
            "--",
            "--all",
        ],
    ),
    part(
        "decisions",
        "decisions of 64 people on each store",
        &[("HOLDOVER_DECISIONS", 200)],
        &["test", "-p", "holdover", "--test", "decisions", "--", "stores::"],
    ),
    part(
        "pending",
        "calls that wait for people at once",
        &[("HOLDOVER_PENDING", 100_000)],
        &["test", "-p", "holdover-runtime-local", "--test", "it", "--", "many::"],
    ),
    part(
        "temporal",
        "sessions that wait on Temporal, and deaths of its workers at calls of the store",
        &[("HOLDOVER_PARKED", 1_000), ("HOLDOVER_CRASHES", 48)],
        &[
            "test",
            "-p",
            "holdover-runtime-temporal",
            "--test",
            "it",
            "--",
            "--test-threads=1",
            "crashes::",
            "shown::",
        ],
    ),
];

/// A row of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    name: String,
    /// The cells after the count: the commit, the day, the duration, and the machine.
    ran: [String; 4],
}

impl Row {
    /// Creates the row of a part that passed.
    pub fn passed(part: &Part, commit: &str, day: &str, seconds: u64, machine: &str) -> Self {
        let ran = [commit.to_owned(), day.to_owned(), format!("{seconds} s"), machine.to_owned()];
        Self { name: part.name.to_owned(), ran }
    }

    /// Returns the time that the part took when it last passed, in seconds, or `None` if it never passed.
    pub fn seconds(&self) -> Option<u64> {
        self.ran[2].strip_suffix(" s")?.parse().ok()
    }

    /// Returns the name of the part.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the commit at which the part last passed, or `None` if it never passed.
    pub fn commit(&self) -> Option<&str> {
        Some(self.ran[0].as_str()).filter(|commit| *commit != NOT_RUN)
    }
}

/// Returns one row for each part. A part that has no row on the page, or a row with another count, gets the row of a
/// part that was never run.
pub fn rows(page: &str) -> Vec<Row> {
    let row_of = |part: &Part| {
        let mut lines =
            page.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
        let ran = lines.find_map(|cells| match cells[..] {
            [name, _, counts, commit, day, took, machine] if name == part.name && counts == part.count() => {
                Some([commit, day, took, machine].map(str::to_owned))
            }
            _ => None,
        });
        Row {
            name: part.name.to_owned(),
            ran: ran.unwrap_or_else(|| [NOT_RUN, "", "", ""].map(str::to_owned)),
        }
    };
    PARTS.iter().map(row_of).collect()
}

/// Returns the page with these rows, one for each part, in order.
pub fn page(rows: &[Row]) -> String {
    let mut page = "# The long run\n\n\
        Written by `./check --long`: the tests that are run again with large counts. Each part may take an hour at most, and its \
        row says at which commit it passed last. `./check --long` runs the parts that did not pass at this commit, one after the \
        other, and may be interrupted between them; `./check --long NAME` runs one.\n\n\
        | part | what is counted | count | commit | day | time | machine |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (part, row) in PARTS.iter().zip(rows) {
        let [commit, day, took, machine] = &row.ran;
        page += &format!(
            "| {} | {} | {} | {commit} | {day} | {took} | {machine} |\n",
            part.name,
            part.what,
            part.count()
        );
    }
    page
}

impl Part {
    fn count(&self) -> String {
        self.counts.iter().map(|(_, count)| count.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Runs the part. Returns the time that it took, in seconds.
    ///
    /// # Errors
    ///
    /// Returns one line if cargo cannot be started, or if it fails.
    pub fn run(&self) -> Result<u64, String> {
        let counts = self.counts.iter().map(|(name, count)| (name, count.to_string()));
        let began = Instant::now();
        let status = Command::new("cargo").args(self.cargo).envs(counts).status();
        let status = status.map_err(|error| format!("{}: cargo cannot be started: {error}", self.name))?;
        status.success().then(|| began.elapsed().as_secs()).ok_or_else(|| format!("{}: failed", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_it_is_written() {
        let mut rows = rows("");
        assert!(rows.iter().all(|row| row.commit().is_none()));
        rows[2] = Row::passed(&PARTS[2], "abc1234", "2026-01-31", 90, "Linux, 2 cores");
        assert_eq!(super::rows(&page(&rows)), rows);
        assert_eq!((rows[2].commit(), rows[2].seconds()), (Some("abc1234"), Some(90)));
    }

    #[test]
    fn a_part_with_another_count_was_not_run() {
        let mut rows = rows("");
        rows[0] = Row::passed(&PARTS[0], "abc1234", "2026-01-31", 90, "Linux, 2 cores");
        let page = page(&rows).replace("| 1000000 |", "| 7 |");
        assert_eq!(super::rows(&page)[0].commit(), None);
    }
}
