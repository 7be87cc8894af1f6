//! Tests for the required contents of each rendering, with handmade reports.

use std::time::Duration;

use quick_xml::Reader;
use quick_xml::events::Event;

use holdover_store::{CommitSurvives, SharedBy};

use super::*;

fn case(id: &str, level: Level, status: Status) -> CaseReport {
    let failure = CaseFailure {
        found: "found <&>\"' \u{0}\u{1b}[31m \u{fffe} ]]> ü\ttab".into(),
        found_by: FoundBy::Looking,
        at: "here".into(),
        why: "because".into(),
        seed: 1,
        history: vec!["asked\n   → answered".into()],
        again: "again".into(),
    };
    CaseReport {
        id: id.into(),
        title: "title <&>\"\u{7}\n".into(),
        level,
        needs: None,
        kind: Kind::Sequential,
        clause: "clause".into(),
        status,
        milliseconds: 1_234,
        skipped: (status == Status::Skipped).then(|| "why <not>".into()),
        missed: status == Status::Skipped,
        failure: status.is_failure().then_some(failure),
    }
}

fn report(level: Level, cases: Vec<CaseReport>) -> Report {
    Report::of(Run {
        store: StoreInfo::new("a<b", "1"),
        level,
        filter: None,
        left_out: 0,
        settings: Settings { seed: 1, ..Settings::default() },
        stopped: None,
        took: Duration::from_millis(1_500),
        capabilities: None,
        latencies: Latencies::default(),
        cases,
        gaps: Vec::new(),
    })
}

fn of_each_status() -> Report {
    let statuses =
        [Status::Passed, Status::Failed, Status::Flaky, Status::Skipped, Status::NotImplemented].into_iter();
    report(Level::Core, statuses.map(|status| case(&format!("a.{status}"), Level::Core, status)).collect())
}

#[test]
fn junit_is_xml_that_others_read() {
    let xml = of_each_status().junit();
    let mut reader = Reader::from_str(&xml);
    let (mut failures, mut cases, mut text) = (0, 0, String::new());
    loop {
        match reader.read_event().expect("XML") {
            Event::Eof => break,
            Event::Start(tag) | Event::Empty(tag) => {
                failures += usize::from(tag.name().as_ref() == "failure");
                cases += usize::from(tag.name().as_ref() == "testcase");
                for attribute in tag.attributes() {
                    attribute.expect("an attribute");
                }
            }
            Event::Text(part) => text += &part,
            Event::GeneralRef(part) => text += &format!("&{};", &*part),
            Event::End(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_) => {}
        }
    }
    assert_eq!((cases, failures), (5, 3));
    let forbidden = |c: &char| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{fffe}';
    assert_eq!(xml.chars().find(forbidden), None);
    assert!(text.contains("\\u{0}\\u{1b}[31m \\u{fffe} ]]&gt; ü\ttab"), "{text}");
    assert!(xml.contains("a&lt;b") && xml.contains("why &lt;not&gt;"), "{xml}");
}

#[test]
fn every_status_but_passed_keeps_a_level_from_passing() {
    let verdict = |status| {
        let cases = vec![case("a.a", Level::Core, Status::Passed), case("a.b", Level::Core, status)];
        report(Level::Core, cases).verdict()
    };
    assert_eq!(verdict(Status::Passed), Verdict::Passed);
    assert_eq!(verdict(Status::Skipped), Verdict::Incomplete);
    for status in [Status::Failed, Status::Flaky, Status::NotImplemented] {
        assert_eq!(verdict(status), Verdict::Failed, "{status}");
    }
    assert_eq!(report(Level::Core, Vec::new()).verdict(), Verdict::Incomplete);
}

#[test]
fn an_optional_capability_counts_only_when_it_is_run() {
    let optional = |status| CaseReport {
        needs: Some(Capability::ChangeHints),
        missed: false,
        ..case("a.b", Level::Core, status)
    };
    let verdict = |status| {
        report(Level::Core, vec![case("a.a", Level::Core, Status::Passed), optional(status)]).verdict()
    };
    assert_eq!(verdict(Status::Skipped), Verdict::Passed);
    assert_eq!(verdict(Status::Failed), Verdict::Failed);
}

#[test]
fn a_case_that_has_nothing_to_find_out_is_not_missed() {
    let moot = CaseReport { missed: false, ..case("a.b", Level::Core, Status::Skipped) };
    let cases = vec![case("a.a", Level::Core, Status::Passed), moot];
    assert_eq!(report(Level::Core, cases).verdict(), Verdict::Passed);
}

#[test]
fn only_a_killed_process_shows_that_a_commit_survives_one() {
    let page = |status| {
        let kill =
            CaseReport { needs: Some(Capability::ChildProcess), ..case("a.b", Level::Durable, status) };
        let mut report = report(Level::Durable, vec![case("a.a", Level::Core, Status::Passed), kill]);
        report.capabilities = Some(Capabilities {
            backend: "disk".into(),
            commit_survives: CommitSurvives::ProcessKill,
            shared_by: SharedBy::Network,
            change_hints_across_processes: false,
            forks: true,
            retention: true,
            payload_bytes_max: 1,
            commit_bytes_max: 1,
            settings: Vec::new(),
        });
        (report.verdict(), report.markdown())
    };
    let (verdict, text) = page(Status::Passed);
    assert_eq!(verdict, Verdict::Passed);
    assert!(
        text.contains(
            "survives the death of its process; the data is shared by many machines (the store's own word"
        ),
        "{text}"
    );
    let (verdict, text) = page(Status::Skipped);
    assert_eq!(verdict, Verdict::Incomplete);
    assert!(text.contains("survives the death of its process (the store's own word"), "{text}");
}

#[test]
fn a_failure_above_the_asked_level_is_no_pass() {
    let cases =
        vec![case("a.a", Level::Core, Status::Passed), case("a.b", Level::Distributed, Status::Failed)];
    let report = report(Level::Core, cases);
    assert_eq!(report.levels[0].verdict, Verdict::Passed);
    assert_eq!(report.verdict(), Verdict::Failed);
}

#[test]
fn every_form_names_what_failed() {
    let report = of_each_status();
    for text in [report.console(), report.json(), report.junit(), report.markdown()] {
        for id in ["a.FAILED", "a.FLAKY", "a.NOT_IMPLEMENTED"] {
            assert!(text.contains(id), "{id} is missing in {text}");
        }
    }
    assert!(report.badge().contains("3 of 5 cases failed"));
    assert!(report.console().ends_with("failed: core, 1 passed, 3 FAILED, 1 skipped in 1.5 s\n"));
}
