//! Compares each result of a session that runs effects with the recorded effects and the kills.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::scene::acting;
use crate::support::Fixture;
use crate::world::{Call, Hit, World};

/// Checks the results of one session. Returns the number of its calls that are in doubt.
pub(crate) fn check(fixture: &Fixture, session: usize, world: &World, hits: &[Hit], report: &str) -> usize {
    let name = acting(session);
    let messages = fixture.run(&["sessions", "messages", &name, "--json"]).ends(0).lines();
    let of = |role: &str| -> Vec<&Value> {
        messages.iter().map(|entry| &entry["message"]).filter(|message| message["role"] == role).collect()
    };
    let (results, said) = (of("tool"), of("assistant"));
    assert_eq!(results.len(), 2 * (said.len() - 1), "{name}: one result for each call\n{report}");
    assert_eq!(said.last().unwrap()["parts"][0]["text"], "All done.", "{name}");

    let lost = lost_runs(fixture, &name);
    // A worker that is delayed for longer than its lease loses its run without a kill, or before the kill.
    let held_up = lost.iter().any(|(worker, taken_over)| {
        !hits.iter().any(|hit| hit.worker == *worker && hit.at_ms <= *taken_over)
    });
    let mut doubts = BTreeSet::new();
    for (at, result) in results.iter().enumerate() {
        let call = Call::of_step(session, at / 2 + 1)[at % 2];
        let (starts, ends, status) =
            (world.starts(call), world.ends(call), result["status"].as_str().unwrap());
        let hit = hits.iter().filter(|hit| hit.maybe.contains(&call)).count();
        match (call.sends, status) {
            (true, "done") => assert_eq!((starts, ends), (1, 1), "{call} is done\n{report}"),
            // The effect may still end by itself after its worker died.
            (true, "in_doubt") => {
                assert!(starts <= 1, "{call} is in doubt and began {starts} times\n{report}");
                let runs = || fixture.run(&["sessions", "runs", &name, "--json"]).ends(0).lines();
                assert!(
                    hit > 0 || held_up,
                    "{call} is in doubt and no kill can have hit it\n{}\n{hits:#?}\n{:#?}\n{report}",
                    world.told_of(session),
                    runs()
                );
                doubts.insert(call);
            }
            (false, "done") => {
                assert!(starts >= 1, "{call} is done and did not begin\n{report}");
                assert!(starts <= 1 + hit || held_up, "{call} began {starts} times, {hit} kills\n{report}");
            }
            (_, other) => panic!("{call} is {other}: {result}\n{report}"),
        }
    }
    let inside = hits.iter().flat_map(|hit| &hit.inside).filter(|call| call.session == session && call.sends);
    for call in inside {
        assert!(doubts.contains(call), "{call} was out when its worker died and is not in doubt\n{report}");
    }
    assert!(doubts.len() <= lost.len(), "{name}: {doubts:?} in {} lost runs\n{report}", lost.len());
    doubts.len()
}

/// Returns the workers whose runs of the session were taken over, with the time of each takeover in
/// milliseconds since 1970.
fn lost_runs(fixture: &Fixture, name: &str) -> Vec<(u32, i64)> {
    let runs = fixture.run(&["sessions", "runs", name, "--json"]).ends(0).lines();
    let lost = runs.iter().filter(|run| run["outcome"] == "lost");
    // Worker names have the form `holdover-PROCESS-RANDOM`.
    let process = |run: &Value| {
        let worker = run["worker"].as_str()?.split('-').nth(1)?.parse().ok()?;
        Some((worker, run["ended_at"].as_i64()?))
    };
    lost.map(|run| process(run).unwrap_or_else(|| panic!("{run}"))).collect()
}
