//! Background children that are requested from outside while a run is doing something else.
//!
//! Requirements: H21.

use std::collections::BTreeMap;
use std::time::Duration;

use holdover_core::agent::ChildRules;
use holdover_core::background::{ChildSignal, begun_outside};
use holdover_core::children::{Allowance, Parent, ReplyBy, ReplyTo};
use holdover_core::engine::{Action, Drain};
use holdover_core::ids::{
    CallId, Incarnation, ItemKey, PendingId, SessionId, SessionKey, TenantId, ToolName,
};
use holdover_core::message::Said;
use holdover_core::store::InterruptKind;

use crate::bench::Bench;
use crate::run::Run;
use crate::world::{calls, overloaded, text};

fn bench() -> Bench {
    Bench::with(|agent| {
        agent.provisions = false;
        let rules = ChildRules { background: true, ..ChildRules::default() };
        agent.sub_agents = BTreeMap::from([(ToolName::new("crew").unwrap(), rules)]);
    })
}

fn ask(bench: &Bench, agent: &str) {
    let key = ItemKey::new("one").unwrap();
    bench.signal(&ChildSignal::BeginChild {
        pending: begun_outside(bench.session().incarnation, &key).unwrap(),
        agent: ToolName::new(agent).unwrap(),
        task: "dig".into(),
        quiet: false,
        detached: false,
    });
}

/// Returns a task whose outcome a parent with this incarnation waits for.
fn task(life: u128) -> Said {
    let life = Incarnation(uuid::Uuid::from_u128(life));
    let parent = Parent {
        session: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("parent").unwrap()),
        incarnation: life,
        pending: PendingId::of(life, &CallId::new("c1-0").unwrap(), 1).unwrap(),
        index: 0,
        fail_fast: false,
        by: ReplyBy::Answer,
    };
    let reply = ReplyTo::parent(parent, Allowance::default());
    Said { reply: Some(Box::new(reply)), ..Said::new("go") }
}

/// Performs the `TellOthers` actions of the run. Returns the incarnations of the parents that were told, and the number
/// of calls whose children were stopped.
fn tells(run: &mut Run<'_>) -> (Vec<Incarnation>, usize) {
    let (mut told, mut stopped) = (Vec::new(), 0);
    while run.is_out("tell_others") {
        let action = run.take("tell_others");
        if let Action::TellOthers { replies, children, .. } = &action {
            told.extend(replies.iter().filter_map(|reply| Some(reply.to.parent()?.incarnation)));
            stopped += children.len();
        }
        let reply = run.reply_to(action);
        run.apply(reply);
    }
    (told, stopped)
}

#[test]
fn a_request_that_comes_while_others_are_told_of_the_end_waits_until_they_know() {
    let bench = bench();
    bench.say_as(task(9));
    let mut run = bench.run();
    run.model(text("done"));
    assert!(run.is_out("tell_others"), "{:?}", run.out);
    ask(&bench, "crew");
    run.news();
    assert!(!run.is_out("start_children"), "{:?}", run.out);
    assert_eq!(tells(&mut run), (vec![Incarnation(uuid::Uuid::from_u128(9))], 0));
    run.perform("start_children");
    assert!(run.is_over());
    assert_eq!(bench.machine().background.len(), 1, "it is known, and ends with its parent");
}

#[test]
fn a_task_that_comes_while_others_are_told_of_an_abort_is_answered_too() {
    let bench = bench();
    bench.say_as(task(9));
    let mut run = bench.run();
    bench.interrupt(InterruptKind::Abort);
    run.news();
    assert!(run.is_out("tell_others"), "{:?}", run.out);
    bench.say_as(task(10));
    run.news();
    let (told, _) = tells(&mut run);
    assert_eq!(told, [9, 10].map(|life| Incarnation(uuid::Uuid::from_u128(life))));
    assert!(run.is_over());
}

#[test]
fn a_run_that_leaves_leaves_the_request_due_at_once() {
    let bench = bench();
    bench.say("go");
    let mut run = bench.run();
    run.drain(Drain::Calls);
    ask(&bench, "crew");
    run.news();
    run.model_fails(overloaded(Some(Duration::from_hours(1))));
    assert!(run.is_over() && bench.is_due());
    let mut next = bench.run();
    next.perform("start_children");
    assert_eq!(bench.machine().background.len(), 1);
}

#[test]
fn a_request_that_cannot_be_carried_out_leaves_no_trace_between_calls_and_their_results() {
    let bench = bench();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay", "look"]));
    ask(&bench, "nobody");
    run.news();
    while let Some(call) = run.calls_out().into_iter().next() {
        run.returns(&call, "ok");
    }
    run.model(text("done"));
    crate::check::at_rest(&bench);
    assert_eq!(bench.machine().background, []);
}
