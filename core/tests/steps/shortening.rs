//! Summaries of old results, which are made once, beside the run, before the results are cleared.
//!
//! Requirements: A34, A33, A37.

use holdover_core::agent::AgentSpec;
use holdover_core::compaction::{CLEARED, CLEARED_BEGINNING};
use holdover_core::engine::{Action, Reply, ShortenedInVain};
use holdover_core::machine::DoneReason;
use holdover_core::message::Message;
use holdover_core::model::{PartialUse, TokenUsage};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

fn summarising(agent: &mut AgentSpec) {
    agent.compaction.clear_results_over = 2;
    agent.compaction.kept_results = 1;
    agent.compaction.summarise_results = true;
    agent.loops.stop_at = 0;
}

/// Returns a result that is long enough for a summary.
fn long(number: u64) -> String {
    format!("{number}{}", "x".repeat(200))
}

/// Plays a step in which the model calls `look` and gets a long result.
fn look(run: &mut Run<'_>, number: u64) {
    run.model(calls(&["look"]));
    run.returns(&format!("c{number}-0"), &long(number));
}

/// Returns the results that the model is shown.
fn results_seen(run: &Run<'_>) -> Vec<String> {
    let seen = run.model_sees().0.into_iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result.content),
        _ => None,
    });
    seen.collect()
}

/// Starts a run with three results, of which the first two are to be cleared.
fn three_looked(bench: &Bench) -> Run<'_> {
    bench.say("go");
    let mut run = bench.run();
    (1..=3).for_each(|number| look(&mut run, number));
    run
}

fn in_short(seq: u64) -> String {
    format!("{CLEARED_BEGINNING}in short: what {seq} said (call the tool again if all of it is needed)]")
}

#[test]
fn a34_results_are_shown_until_they_are_put_in_short_and_then_in_the_same_words_for_ever() {
    let bench = Bench::with(summarising);
    let mut run = three_looked(&bench);
    let Some(Action::Shorten { results, .. }) =
        run.out.iter().find(|action| matches!(action, Action::Shorten { .. }))
    else {
        panic!("it is asked: {:?}", run.out)
    };
    assert_eq!(results.iter().map(|seq| seq.0).collect::<Vec<_>>(), [3, 5], "those that will be cleared");
    assert_eq!(
        results_seen(&run),
        [long(1), long(2), long(3)],
        "the model is asked meanwhile, and nothing waits"
    );
    let used = bench.machine().usage;
    run.perform("shorten");
    assert_eq!(results_seen(&run).len(), 3);
    look(&mut run, 4);
    let shown = [in_short(3), in_short(5), long(3), long(4)];
    assert_eq!(results_seen(&run), shown);
    assert_eq!(bench.transcript().iter().filter(|message| matches!(message, Message::Notice(_))).count(), 1);
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(results_seen(&run), shown, "another run shows the same");
    run.model(text("done"));
    let spent = bench.machine().usage.tokens.total() - used.tokens.total();
    assert_eq!(spent, 2 * 8 + 2 * 15, "what it used is counted: two summaries, two answers");
    bench.say("and?");
    let run = bench.run();
    assert_eq!(results_seen(&run), shown, "another turn shows the same");
    assert!(!run.is_out("shorten"));
    check::invariants(&bench);
}

#[test]
fn a34_what_is_not_put_in_short_by_the_end_of_the_turn_is_shown_as_the_marker_for_ever() {
    let bench = Bench::with(summarising);
    let mut run = three_looked(&bench);
    let late = run.perform_silently("shorten");
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop], "nobody waits for it");
    run.apply(late);
    bench.say("and?");
    let mut run = bench.run();
    assert_eq!(results_seen(&run), [CLEARED.to_owned(), CLEARED.to_owned(), long(3)]);
    assert!(!run.is_out("shorten"), "it is not asked again");
    run.model(text("that"));
    assert_eq!(bench.roles().iter().filter(|role| **role == "notice").count(), 0);
    check::at_rest(&bench);
}

#[test]
fn a34_a_result_without_a_summary_is_shown_as_the_marker_beside_those_that_have_one() {
    let bench = Bench::with(summarising);
    let mut run = three_looked(&bench);
    let Reply::Shortened { id, mut made, in_vain } = run.perform_silently("shorten") else { unreachable!() };
    made[0].text = " ".into();
    made[1].text = "z".repeat(10_000);
    run.apply(Reply::Shortened { id, made, in_vain });
    look(&mut run, 4);
    let seen = results_seen(&run);
    assert_eq!(seen[0], CLEARED);
    assert!(seen[1].starts_with(CLEARED_BEGINNING) && seen[1].chars().count() == 500, "{}", seen[1]);
    assert_eq!(seen[2..], [long(3), long(4)]);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn a34_a_run_that_dies_before_it_has_heard_asks_again() {
    let bench = Bench::with(summarising);
    let run = three_looked(&bench);
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(results_seen(&run), [long(1), long(2), long(3)]);
    look(&mut run, 4);
    assert!(run.is_out("shorten"));
    run.perform("shorten");
    look(&mut run, 5);
    assert_eq!(results_seen(&run)[..3], [in_short(3), in_short(5), in_short(7)]);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn a34_where_nobody_asked_for_it_results_are_cleared_at_once_and_it_costs_no_byte() {
    let bench = Bench::with(|agent| {
        summarising(agent);
        agent.compaction.summarise_results = false;
    });
    let mut run = three_looked(&bench);
    assert!(!run.is_out("shorten"));
    assert_eq!(results_seen(&run), [CLEARED.to_owned(), CLEARED.to_owned(), long(3)]);
    run.model(text("done"));
    let history = check::history(&bench);
    let steered = serde_json::to_string(&history).unwrap();
    assert!(!steered.contains("in_short") && !steered.contains("\"usage\":{}"), "{steered}");
    let spec = serde_json::to_string(&*bench.agent).unwrap();
    assert!(!spec.contains("summarise_results"), "{spec}");
    check::at_rest(&bench);
}

#[test]
fn a34_what_summaries_of_results_used_that_came_to_nothing_is_counted() {
    let bench = Bench::with(summarising);
    let mut run = three_looked(&bench);
    let Reply::Shortened { id, .. } = run.perform_silently("shorten") else { unreachable!() };
    let before = bench.machine().usage;
    let counted = TokenUsage { input: 70, output: 10, ..TokenUsage::default() };
    let in_vain = vec![
        ShortenedInVain { used: PartialUse { counted, bytes: 40, whole: false }, shown: 60 },
        ShortenedInVain { used: PartialUse { bytes: 40, ..PartialUse::default() }, shown: 60 },
    ];
    run.apply(Reply::Shortened { id, made: Vec::new(), in_vain });
    let answered = calls(&["look"]).usage;
    look(&mut run, 4);
    let used = bench.machine().usage.since(&before);
    assert_eq!(used.model_calls, 1 + 2);
    assert_eq!(used.tokens.total(), answered.total() + 80 + 60 + 10);
    assert_eq!(
        used.estimated_tokens,
        60 + 10,
        "no more than was not counted, and what was shown of one result"
    );
    run.model(text("done"));
    check::at_rest(&bench);
}
