//! Tests of the suite itself: its reports on stores that panic, hang or are inconsistent, and on incomplete
//! runs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, CaseReport, ClockControl, Gap, Instance, Level, Progress, Report, Status, StoreHarness,
    StoreInfo, Suite, Verdict, VirtualClock, all,
};
use holdover_store::time::{Clock, Timestamp};
use holdover_store_memory::{Limits, MemoryStore};

/// The fault of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// The store panics whenever it reads the clock.
    Panics,
    /// The store blocks its thread for ever.
    Blocks,
    /// Each read of the clock takes a millisecond.
    Slow,
    /// Opening the store never returns.
    NeverOpens,
    /// Of the stores after the probe's, the first has a clock that stands still.
    FirstStandsStill,
}

/// A clock that takes a millisecond to read.
struct Slow(VirtualClock);

impl Clock for Slow {
    fn now(&self) -> Timestamp {
        std::thread::sleep(Duration::from_millis(1));
        self.0.now()
    }
}

/// A clock that panics or blocks.
struct Trap(Wrong);

impl Clock for Trap {
    fn now(&self) -> Timestamp {
        assert_ne!(self.0, Wrong::Panics, "the page <is> \"torn\" & gone");
        loop {
            std::thread::park();
        }
    }
}

#[derive(Clone)]
struct Harness {
    wrong: Wrong,
    clock: VirtualClock,
    opened: Arc<AtomicUsize>,
    gaps: Vec<Gap>,
}

impl Harness {
    fn new(wrong: Wrong) -> Self {
        let gaps = vec![
            Gap::level(Level::Durable, "it is a test"),
            Gap::capability(Capability::ChildProcess, "it is a test"),
        ];
        Self { wrong, clock: VirtualClock::new(), opened: Arc::default(), gaps }
    }

    /// Returns a suite whose cases share one counter of opened stores.
    fn suite(self) -> Suite<Self> {
        Suite::new(move || Self { clock: VirtualClock::new(), ..self.clone() }).jobs(2)
    }
}

#[async_trait]
impl StoreHarness for Harness {
    type Store = MemoryStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("tricky", "1")
    }

    async fn fresh(&self) -> Instance<MemoryStore> {
        let nth = self.opened.fetch_add(1, Ordering::SeqCst);
        let limits = Limits { payload_bytes_max: 2 << 20, commit_bytes_max: 8 << 20 };
        let store = match self.wrong {
            Wrong::Panics | Wrong::Blocks => MemoryStore::with(Trap(self.wrong), limits),
            Wrong::Slow => MemoryStore::with(Slow(self.clock.clone()), limits),
            Wrong::NeverOpens => std::future::pending().await,
            Wrong::FirstStandsStill if nth == 1 => MemoryStore::with(VirtualClock::new(), limits),
            Wrong::FirstStandsStill | Wrong::Nothing => MemoryStore::with(self.clock.clone(), limits),
        };
        Instance::new(store)
    }

    async fn peer(&self, of: &Instance<MemoryStore>) -> MemoryStore {
        MemoryStore::clone(of.store())
    }

    async fn reopen(&self, of: Instance<MemoryStore>) -> Instance<MemoryStore> {
        Instance::new(MemoryStore::clone(of.store()))
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }

    fn gaps(&self) -> Vec<Gap> {
        self.gaps.clone()
    }
}

const ROUNDTRIP: &str = "session.create_then_get_roundtrip";
const EXPIRY: &str = "lease.expires_and_is_reclaimable";

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn run(suite: Suite<Harness>) -> Report {
    block_on(suite.run())
}

fn only(report: &Report) -> &CaseReport {
    assert_eq!(report.cases.len(), 1, "{}", report.console());
    &report.cases[0]
}

fn found(case: &CaseReport) -> &str {
    &case.failure.as_ref().expect("a failure").found
}

#[test]
fn a_store_that_panics_fails_its_cases_and_the_run_goes_on() {
    let report = run(Harness::new(Wrong::Panics).suite().filter("session"));
    let expected = all().filter(|case| case.category() == "session").count();
    assert_eq!(report.cases.len(), expected);
    let case = report.cases.iter().find(|case| case.id == ROUNDTRIP).unwrap();
    assert_eq!(case.status, Status::Failed);
    assert!(found(case).contains("a panic") && found(case).contains("\"torn\" & gone"), "{}", found(case));
    let last = case.failure.as_ref().unwrap().history.last().unwrap();
    assert!(last.contains("create_session") && last.contains("dropped before it answered"), "{last}");
    assert_eq!(report.verdict(), Verdict::Failed);
    assert!(report.console().ends_with(" s\n") && report.console().contains("\nfailed: core"));
}

#[test]
fn a_store_that_hangs_fails_its_case_in_time_and_is_not_asked_again() {
    let harness = Harness::new(Wrong::Blocks);
    let opened = Arc::clone(&harness.opened);
    let report = run(harness.suite().filter(ROUNDTRIP).case_time_max(Duration::from_millis(50)));
    let case = only(&report);
    assert_eq!((case.status, &report.stopped), (Status::Failed, &None));
    assert!(
        found(case).contains("expected an end within 50ms\n    found    none: 1 of the operations"),
        "{}",
        found(case)
    );
    let asked = case.failure.as_ref().unwrap().history.last().cloned().unwrap_or_default();
    assert!(asked.contains("→ no answer yet"), "{asked}");
    assert_eq!(opened.load(Ordering::SeqCst), 2, "by the probe of the harness, and once");
}

#[test]
fn a_case_that_asks_too_much_is_too_slow_and_does_not_hang() {
    let suite = Harness::new(Wrong::Slow).suite().filter("prop.sequential_model_equivalence");
    let scripts = 320.try_into().unwrap();
    let report = run(suite.scripts(scripts).case_time_max(Duration::from_millis(100)));
    let case = only(&report);
    assert_eq!(case.status, Status::Failed);
    assert!(found(case).contains("within 2s\n    found    none: too slow, though "), "{}", found(case));
    let again = &case.failure.as_ref().unwrap().again;
    assert!(again.contains(".scripts(320.try_into()?)"), "{again}");
    assert_eq!((report.settings.scripts, report.settings.kills.get()), (scripts, 40));
    assert!(report.json().contains("\n  \"scripts\": 320,\n"));
    assert!(report.console().contains(", seed 0, 320 scripts\n"));
}

#[test]
fn a_harness_that_cannot_open_a_store_stops_the_run_at_once() {
    let report = run(Harness::new(Wrong::NeverOpens).suite().case_time_max(Duration::from_millis(50)));
    let stopped = report.stopped.as_deref().unwrap();
    assert_eq!(stopped, "the harness did not return from fresh within 50ms");
    assert_eq!(report.verdict(), Verdict::Failed);
    assert!(report.cases.iter().all(|case| case.status == Status::Skipped));
    assert!(report.console().contains(&format!("\nSTOPPED: {stopped}\n")), "{}", report.console());
    assert!(report.markdown().contains(stopped) && report.junit().contains(stopped));
}

#[test]
fn three_hangs_stop_the_run() {
    let suite = Harness::new(Wrong::Blocks).suite().jobs(1).case_time_max(Duration::from_millis(50));
    let report = run(suite);
    let hung = report.failures().count();
    assert_eq!((hung, report.verdict()), (3, Verdict::Failed), "{}", report.console());
    assert!(report.stopped.as_deref().unwrap().starts_with("3 cases"));
    let skipped = report.cases.iter().filter(|case| case.skipped.as_deref() == Some("the run was stopped"));
    assert!(skipped.count() > 100);
}

#[test]
fn each_case_is_told_of_when_it_ends() {
    type Told = (String, Status, usize, usize);
    let told: Arc<Mutex<Vec<Told>>> = Arc::default();
    let tell = Arc::clone(&told);
    let suite = Harness::new(Wrong::Nothing).suite().filter("list").on_case(move |now: Progress<'_>| {
        tell.lock().unwrap().push((now.case.id.clone(), now.case.status, now.ended, now.of));
    });
    let report = run(suite);
    let told = told.lock().unwrap();
    assert_eq!(told.len(), report.cases.len());
    for (place, (id, status, ended, of)) in told.iter().enumerate() {
        assert!(report.cases.iter().any(|case| case.id == *id && case.status == *status));
        assert_eq!((*ended, *of), (place + 1, told.len()));
    }
}

#[test]
fn a_level_without_its_kills_is_incomplete() {
    let gaps = |gaps: &[Gap]| Harness { gaps: gaps.into(), ..Harness::new(Wrong::Nothing) };
    let kill = "crash.sigkill_acked_is_durable";
    let undeclared = run(gaps(&[]).suite().filter(kill));
    let declared = run(gaps(&[Gap::capability(Capability::ChildProcess, "none")]).suite().filter(kill));
    for report in [undeclared, declared] {
        let case = only(&report);
        // A store in memory declares that nothing survives.
        assert!(case.missed || case.status == Status::Failed, "{case:?}");
        assert_ne!(report.levels[1].verdict, Verdict::Passed);
    }
    let forks = run(gaps(&[Gap::capability(Capability::Forks, "none")]).suite().filter("fork.unknown"));
    assert!(!only(&forks).missed);
}

#[test]
fn what_passes_the_second_time_is_flaky_and_a_failure() {
    let harness = Harness { gaps: Vec::new(), ..Harness::new(Wrong::FirstStandsStill) };
    let opened = Arc::clone(&harness.opened);
    let report = run(harness.suite().filter(EXPIRY));
    let case = only(&report);
    assert_eq!((case.status, opened.load(Ordering::SeqCst)), (Status::Flaky, 3), "{}", report.console());
    assert!(case.failure.is_some(), "what it said the first time is kept");
    assert_eq!(report.verdict(), Verdict::Failed);
    let level = report.levels.iter().find(|one| one.level == Level::Distributed).unwrap();
    assert_eq!((level.verdict, level.failed), (Verdict::Failed, 1));
    assert!(report.console().contains(&format!("FLAKY           {EXPIRY}")), "{}", report.console());
}

#[test]
fn a_sound_store_passes_what_it_claims_and_no_more() {
    let report = run(Harness::new(Wrong::Nothing).suite());
    let verdicts: Vec<_> = report.levels.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Verdict::Passed, Verdict::Incomplete, Verdict::Incomplete], "{}", report.console());
    assert_eq!((report.level, report.verdict()), (Level::Core, Verdict::Passed));
    assert_eq!(report.cases.len(), all().count());
    // The skipped cases do not apply to a store that never waits and has small limits, need an optional
    // capability of the harness, or are at a level that is not claimed.
    let skipped = report.cases.iter().filter(|case| case.status == Status::Skipped);
    let skipped = skipped
        .filter(|case| ![Some(Capability::WireFaults), Some(Capability::RawData)].contains(&case.needs));
    let (missed, moot): (Vec<_>, Vec<_>) = skipped.partition(|case| case.missed);
    let mut moot: Vec<_> = moot.iter().map(|case| case.id.as_str()).collect();
    moot.sort_unstable();
    assert_eq!(
        moot,
        [
            "crash.cancel_sweep_every_mutating_op",
            "lease.never_returned_already_expired",
            "page.a_row_of_its_own_size_is_a_page"
        ]
    );
    for case in missed {
        assert_eq!(
            (case.level, case.skipped.as_deref()),
            (Level::Durable, Some("durable is not claimed: it is a test"))
        );
    }
    assert!(
        report
            .operations
            .iter()
            .any(|one| one.operation == "deliver" && one.calls > 0 && one.p50_us <= one.p99_us)
    );
    assert_eq!(report.capabilities.as_ref().unwrap().payload_bytes_max, 2 << 20);
}

#[test]
fn a_level_skips_what_is_above_it() {
    let report = run(Harness::new(Wrong::Nothing).suite().level(Level::Core));
    assert_eq!((report.level, report.verdict()), (Level::Core, Verdict::Passed));
    let above: Vec<_> = report.cases.iter().filter(|case| case.level == Level::Distributed).collect();
    assert!(above.iter().all(|case| case.skipped.as_deref() == Some("distributed was not asked for")));
    assert!(!above.is_empty());
    let report = run(Harness::new(Wrong::Nothing).suite().level(Level::Distributed));
    assert_eq!(report.verdict(), Verdict::Incomplete, "a level below is not claimed");
    assert!(report.console().contains(" cases were not run: durable is not claimed"), "{}", report.console());
}

#[test]
fn a_filtered_run_is_never_a_pass() {
    let whole_category = run(Harness::new(Wrong::Nothing).suite().filter("status"));
    assert_eq!(only(&whole_category).status, Status::Passed);
    // Any filter makes the run incomplete, even one that matches every case.
    let everything = run(Harness::new(Wrong::Nothing).suite().filter(".").level(Level::Core));
    assert_eq!((everything.left_out, everything.cases.len()), (0, all().count()));
    for report in [whole_category, everything] {
        assert_eq!(report.verdict(), Verdict::Incomplete);
        assert!(report.levels.iter().all(|one| one.verdict == Verdict::Incomplete));
        assert!(report.badge().contains("\"incomplete\""));
    }
}

#[test]
fn an_empty_run_is_never_a_pass() {
    let report = run(Harness::new(Wrong::Nothing).suite().filter("no such case"));
    assert_eq!((report.cases.len(), report.verdict()), (0, Verdict::Incomplete));
    let gaps = Level::ALL.map(|level| Gap::level(level, "it claims nothing"));
    let report = run(Harness { gaps: gaps.into(), ..Harness::new(Wrong::Nothing) }.suite());
    assert!(report.cases.iter().all(|case| case.status == Status::Skipped));
    assert_eq!(report.verdict(), Verdict::Incomplete);
}

#[test]
fn a_filter_names_a_case_or_a_category_or_a_part() {
    let chosen = |filter: &str| {
        let report = run(Harness::new(Wrong::Nothing).suite().level(Level::Core).filter(filter));
        report.cases.into_iter().map(|case| case.id).collect::<Vec<_>>()
    };
    assert_eq!(chosen(ROUNDTRIP), [ROUNDTRIP]);
    assert!(chosen("run").iter().all(|id| id.starts_with("run.")));
    assert!(chosen("roundtrip").len() > 1);
}

#[test]
fn the_seed_and_the_command_stand_in_the_failure() {
    let suite = Harness::new(Wrong::Panics).suite().filter(ROUNDTRIP).seed(7).command("my-suite");
    let report = run(suite);
    let text = only(&report).in_full();
    for part in [
        "FAILED",
        "clause: ",
        "seed: 7",
        "again: my-suite --filter session.create_then_get_roundtrip --seed 7",
        "#0 create_session NewSession { key: acme/",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn json_says_everything_and_comes_back() {
    let report = run(Harness::new(Wrong::Panics).suite().filter(ROUNDTRIP));
    let again: Report = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(again, report);
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["verdict"], "failed");
    assert_eq!(json["cases"][0]["status"], "FAILED");
    assert_eq!(json["cases"][0]["kind"], "sequential");
}

#[test]
fn junit_holds_what_a_store_says() {
    let report = run(Harness::new(Wrong::Panics).suite().filter(ROUNDTRIP));
    let xml = report.junit();
    assert!(xml.contains("the page &lt;is&gt; &quot;torn&quot; &amp; gone"), "{xml}");
    assert!(xml.contains("failures=\"1\"") && xml.contains("type=\"FAILED\""), "{xml}");
}

#[test]
fn markdown_is_the_same_each_time() {
    let page = |seed| run(Harness::new(Wrong::Nothing).suite().seed(seed)).markdown();
    let (one, other) = (page(1), page(2));
    assert_eq!(one, other);
    assert!(one.contains("**core: passed**") && one.contains("- durable: it is a test"), "{one}");
}
