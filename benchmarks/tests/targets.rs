//! Checks that the measurements on the published benchmark page keep the engine's promises, and that the page is not
//! stale: what it says of the store and of the bytes of a step is what this version does. Nothing is timed here.
//!
//! The counts behind the promise are asserted without a page by `holdover/tests/growth`.
//!
//! Requirements: U01.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::Command;

const PAGE: &str = include_str!("../../docs/benchmarks.md");
const AGAIN: &str = "measure it again with the command on the page";

/// The maximum cost of step 1,000, as a multiple of the cost of step 10. All are medians.
const LATE_MAX: f64 = 1.2;
/// The maximum cost of step 10,000, as a multiple of the cost of step 10: by the ratios, by the times and by the
/// processor times. All are medians.
const LAST_MAX: f64 = 1.1;
/// The maximum size of the file, as a multiple of the size of the transcripts.
const STORED_MAX: f64 = 1.6;

/// The steps around which the page must have a measurement.
const STEPS: [u64; 4] = [10, 100, 1_000, 10_000];
/// The columns that are held to [`LATE_MAX`].
const COLUMNS: [&str; 4] = ["ms a step", "ratio", "CPU ms a step", "bytes stored a step"];
/// The facts on the page that depend on this version, and not on the machine.
const FACTS: [&str; 7] =
    ["holdover", "schema", "journal_mode", "synchronous", "page_size", "busy_timeout_ms", "wal_bytes_max"];
/// The averages over a whole session that depend on this version, and not on the machine.
const COUNTS: [&str; 2] = ["- Transactions a step: ", "- Bytes of payloads written a step: "];
/// The maximum difference of such an average, as a part of it. Short sessions share the beginning and the end of their
/// turn among fewer steps.
const COUNTS_APART_MAX: f64 = 0.05;

/// A page of benchmarks.
struct Page<'p>(&'p str);

impl<'p> Page<'p> {
    /// Returns a fact about the machine, the version or the store.
    fn fact(&self, name: &str) -> Option<&'p str> {
        let rows =
            self.0.lines().skip_while(|line| *line != "| what | value |").take_while(|line| !line.is_empty());
        rows.map(cells).find(|cells| cells.len() == 2 && cells[0] == name).map(|cells| cells[1])
    }

    /// Returns the lines about one session that grows.
    fn growth(&self) -> impl Iterator<Item = &'p str> {
        let lines = self.0.lines().skip_while(|line| *line != "## One session that grows").skip(1);
        lines.take_while(|line| !line.starts_with("## "))
    }

    /// Returns a median of the measurement around a step.
    fn around(&self, step: u64, column: &str) -> Option<f64> {
        let mut rows = self.growth().filter(|line| line.starts_with('|')).map(cells);
        let at = rows.next()?.into_iter().position(|head| head == column)?;
        let row = rows.find(|cells| cells[0].parse() == Ok(step))?;
        number(row.get(at)?)
    }

    /// Returns the number that follows these words, which begin a line.
    fn said(&self, words: &str) -> Option<f64> {
        number(self.growth().find_map(|line| line.strip_prefix(words))?)
    }
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// Returns the number at the beginning of a text, or `None` unless it is finite and above zero: nothing that is
/// measured is zero.
fn number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// Returns what is wrong with the published page. `fresh` is a page with a short session, written by this version.
fn faults(page: &Page<'_>, fresh: &Page<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut hold = |what: &str, value: Option<f64>, least: f64, most: f64| match value {
        Some(value) if value >= least && value <= most => {}
        Some(value) => faults.push(format!("{what}: {value:.3}, not {least} to {most}")),
        None => faults.push(format!("{what}: is missing: {AGAIN}")),
    };
    for column in COLUMNS {
        for step in STEPS {
            hold(&format!("step {step}, {column}"), page.around(step, column), 0.0, f64::MAX);
        }
        let late = page.around(1_000, column).zip(page.around(10, column)).map(|(late, early)| late / early);
        hold(&format!("step 1000 over step 10, {column}"), late, 0.0, LATE_MAX);
    }
    let last = "- Step 10000 over step 10, a value for each repetition: ";
    let line = page.growth().find_map(|line| line.strip_prefix(last)).unwrap_or_default();
    let ratios: Vec<&str> = line.split(", ").collect();
    for (at, by) in ["by the ratios", "by the times", "by the processor's times"].into_iter().enumerate() {
        let ratio = ratios.get(at).filter(|text| text.contains(by)).and_then(|text| number(text));
        hold(&format!("step 10000 over step 10, {by}"), ratio, 0.0, LAST_MAX);
    }
    hold("the file over the transcripts", page.said("- The file holds "), 1.0, STORED_MAX);
    for count in COUNTS {
        let apart = page.said(count).zip(fresh.said(count)).map(|(then, now)| then / now);
        let what = format!("{count}then over now");
        hold(&what, apart, 1.0 - COUNTS_APART_MAX, 1.0 + COUNTS_APART_MAX);
    }
    for fact in FACTS {
        let (then, now) = (page.fact(fact), fresh.fact(fact));
        if then.is_none() || then != now {
            faults.push(format!("{fact}: {then:?} then, {now:?} now: {AGAIN}"));
        }
    }
    if page.fact("build") != Some("release") {
        faults.push(format!("build: {:?}: {AGAIN}", page.fact("build")));
    }
    faults
}

/// Returns a page with a short session, as this version writes it.
fn fresh() -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_holdover-benchmarks"))
        .args(["growth", "--steps", "10,300", "--repetitions", "1", "--folder"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Requirements: U01.
#[test]
fn u01_a_late_step_was_measured_to_last_little_longer_than_an_early_one() {
    let fresh = fresh();
    let fresh = Page(&fresh);
    let faults_of = |page: &str| faults(&Page(page), &fresh);

    // First, pages that break one rule each: the fault of each must be reported. The published page comes last.
    let told = |page: &str, what: &str| {
        let faults = faults_of(page);
        assert!(faults.iter().any(|fault| fault.starts_with(what)), "{what}: {faults:#?}");
    };
    let good = &fabricated(&fresh);
    assert_eq!(faults_of(good), Vec::<String>::new());
    assert!(faults_of("").len() > 30, "an empty page");
    for step in STEPS {
        told(&without(good, &format!("| {step} |")), &format!("step {step}, "));
    }
    told(&good.replace("| 1000 | 1.2 |", "| 1000 | 1.3 |"), "step 1000 over step 10, ms a step: 1.3");
    told(&good.replace("| 10 | 1.0 |", "| 10 | 0.0 |"), "step 1000 over step 10, ms a step: is missing");
    told(
        &good.replace("1.1 × by the times", "1.2 × by the times"),
        "step 10000 over step 10, by the times: 1.2",
    );
    told(&without(good, "- Step 10000"), "step 10000 over step 10, by the ratios: is missing");
    told(&good.replace("holds 1.6 ", "holds 1.7 "), "the file over the transcripts: 1.7");
    told(&good.replace("| build | release |", "| build | debug |"), "build");
    for count in COUNTS {
        told(&good.replace(count, &format!("{count}1")), count);
    }
    for fact in FACTS {
        told(&good.replace(&format!("| {fact} | "), &format!("| {fact} | not ")), fact);
    }

    assert_eq!(faults_of(PAGE), Vec::<String>::new(), "docs/benchmarks.md");
}

/// Returns a page that just keeps all promises, with the facts and the counts of the fresh one.
fn fabricated(fresh: &Page<'_>) -> String {
    let facts = FACTS.map(|fact| format!("| {fact} | {} |\n", fresh.fact(fact).expect(fact)));
    let rows = STEPS.map(|step| {
        let more = if step == 1_000 { "1.2" } else { "1.0" };
        format!("| {step} | {more} | 1.0 | {more} | {more} | 1.0 | {more} |\n")
    });
    let counts = COUNTS.map(|count| format!("{count}{}\n", fresh.said(count).expect(count)));
    let head = fresh.growth().find(|line| line.starts_with('|')).expect("a table");
    format!(
        "| what | value |\n|---|---|\n| build | release |\n{}\n## One session that grows\n\n{head}\n{}\n\
         - Step 10000 over step 10, a value for each repetition: 1.1 × by the ratios, 1.1 × by the times, \
         1.1 × by the processor's times.\n{}- The file holds 1.6 × the bytes of the transcripts.\n",
        facts.concat(),
        rows.concat(),
        counts.concat()
    )
}

/// Returns the page without the lines that begin with `begin`.
fn without(page: &str, begin: &str) -> String {
    page.lines().filter(|line| !line.starts_with(begin)).map(|line| format!("{line}\n")).collect()
}
