//! Messages for later: no turn takes one before its instant, and the session wakes up for it by itself.

use std::time::Duration;

use holdover_core::engine::{STATE_FORMAT_ALONE, STATE_FORMAT_LATER};
use holdover_core::ids::{InboxSeq, KindName};
use holdover_core::machine::DoneReason;
use holdover_core::mailbox::{self, QueueChange};
use holdover_core::message::{Mentions, Message, MessagePolicy, ResultStatus, Said, WhileAsking};
use holdover_core::payload::Payload;
use holdover_core::store::{InboxItem, InterruptKind, ItemKind, SessionStatus, Start, Wake};
use holdover_core::time::Clock;
use holdover_core::tool::ToolOutput;

use crate::bench::Bench;
use crate::check;
use crate::dying::{Cast, play};
use crate::world::{calls, overloaded, text};

const HOUR: Duration = Duration::from_hours(1);

fn said(messages: &[Message]) -> Vec<String> {
    let user = |message: &Message| match message {
        Message::User(said) => Some(said.text.clone()),
        _ => None,
    };
    messages.iter().filter_map(user).collect()
}

/// Creates a session whose state has the oldest format.
fn old() -> Bench {
    Bench::create(|_| {}, |new| new.format = STATE_FORMAT_ALONE)
}

#[test]
fn one_for_later_and_one_for_now_are_two_turns_each_at_its_time() {
    let bench = old();
    let at = bench.clock.now().after(HOUR);
    bench.say_later(at, "later");
    bench.say("now");
    bench.run().model(text("done"));
    assert_eq!(said(&bench.transcript()), ["now"]);
    let session = bench.session();
    assert_eq!((session.status, session.alarm), (SessionStatus::Idle, Some(at)), "the exact instant");
    assert_eq!(session.format, STATE_FORMAT_LATER, "an older version would forget the alarm");
    bench.clock.pass(HOUR - Duration::from_millis(1));
    assert!(bench.claim().is_none(), "not a millisecond earlier");
    bench.clock.pass(Duration::from_millis(1));
    bench.run().model(text("done"));
    assert_eq!(said(&bench.transcript()), ["now", "later"]);
    let session = bench.session();
    assert_eq!((session.alarm, session.unread, session.format), (None, 0, STATE_FORMAT_ALONE));
    check::at_rest(&bench);
}

#[test]
fn a_run_that_finds_only_one_for_later_sets_the_alarm_and_begins_no_turn() {
    let bench = old();
    let at = bench.clock.now().after(HOUR);
    bench.say_later(at, "later");
    assert!(bench.is_due(), "a run must set the alarm");
    assert!(bench.run().is_over());
    assert_eq!((bench.session().alarm, bench.session().format), (Some(at), STATE_FORMAT_LATER));
    assert!(bench.transcript().is_empty() && bench.dones().is_empty());
    // A claim by name before the instant, with the agent and without it, changes nothing.
    assert!(bench.start(bench.claim_now()).is_over());
    assert_eq!(bench.session().alarm, Some(at));
    let writes = bench.writes.borrow().len();
    let run = holdover_core::engine::StepIterator::end(bench.claim_now(), bench.facts()).unwrap();
    assert!(crate::run::Run::new(&bench, run).is_over());
    assert_eq!((bench.session().alarm, bench.writes.borrow().len()), (Some(at), writes + 1), "given back");
    bench.clock.pass(HOUR);
    bench.run().model(text("done"));
    assert_eq!(said(&bench.transcript()), ["later"]);
    check::at_rest(&bench);
}

#[test]
fn a_session_that_is_created_for_later_has_the_instant_as_its_alarm_and_no_run_before() {
    let at = crate::world::VirtualClock::default().now().after(HOUR);
    let said_later = Said { not_before: Some(at), ..Said::new("later") };
    let item = InboxItem {
        key: "first".parse().unwrap(),
        kind: mailbox::later_kind().unwrap(),
        incarnation: None,
        payload: Payload::json(&said_later).unwrap(),
    };
    let bench = Bench::create(
        |_| {},
        |new| {
            new.items = vec![item];
            new.start = Start::At(at);
        },
    );
    assert_eq!(bench.session().alarm, Some(at));
    assert!(bench.claim().is_none());
    bench.clock.pass(HOUR);
    bench.run().model(text("done"));
    assert_eq!((said(&bench.transcript()), bench.runs().len()), (vec!["later".to_owned()], 1));
    check::at_rest(&bench);
}

#[test]
fn several_keep_their_own_instants_and_one_in_the_past_is_for_now() {
    let bench = old();
    let start = bench.clock.now();
    bench.say_later(start.after(HOUR * 2), "second");
    bench.say_later(start.after(HOUR), "first");
    bench.say_later(start, "at once");
    bench.run().model(text("done"));
    assert_eq!((said(&bench.transcript()), bench.alarm_in()), (vec!["at once".to_owned()], Some(HOUR)));
    for (words, next) in [("first", Some(HOUR)), ("second", None)] {
        bench.clock.pass(HOUR);
        bench.run().model(text("done"));
        assert_eq!(said(&bench.transcript()).last().unwrap(), words);
        assert_eq!(bench.alarm_in(), next);
    }
    assert_eq!(bench.dones().len(), 3);
    check::at_rest(&bench);
}

#[test]
fn a_turn_takes_one_along_from_its_instant_on_and_not_before() {
    let bench = old();
    bench.say("go");
    let mut run = bench.run();
    bench.say_later(bench.clock_in(5), "later");
    run.model(calls(&["note"]));
    run.returns("c1-0", "noted");
    assert_eq!(said(&run.model_sees().0), ["go"], "steering passes it over");
    bench.clock.pass(Duration::from_secs(5));
    run.model(calls(&["note"]));
    run.returns("c2-0", "noted");
    assert_eq!(said(&run.model_sees().0), ["go", "later"]);
    run.model(text("done"));
    assert_eq!((bench.dones().len(), bench.session().alarm), (1, None));
    check::at_rest(&bench);
}

#[test]
fn one_that_interrupts_stops_a_turn_whose_calls_are_out_at_its_instant() {
    let bench = old();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    let said_later = Said { policy: Some(MessagePolicy::Interrupt), ..Said::new("stop that") };
    let at = bench.clock_in(4);
    bench.say_later_as(at, said_later);
    run.news();
    assert_eq!((run.until(), run.calls_out()), (Some(at), vec!["c1-0".to_owned()]), "it is woken then");
    bench.clock.move_to(at);
    run.apply(holdover_core::engine::Reply::TimePassed);
    assert!(run.is_out("stop_calls"));
    run.returns("c1-0", "noted");
    bench.run().model(text("done"));
    assert_eq!(said(&bench.transcript()), ["go", "stop that"]);
    assert_eq!(bench.dones(), [DoneReason::UserAbort, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn it_decides_no_approval_before_its_instant_and_wakes_a_parked_turn_then() {
    let bench = Bench::with(|agent| agent.on_message_while_asking = WhileAsking::Deny);
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["edit"]));
    bench.say_later(bench.clock_in(60), "do not");
    let mut woken = bench.run();
    assert!(woken.is_over(), "it parks again");
    assert_eq!((bench.pending().len(), bench.alarm_in()), (1, Some(Duration::from_secs(60))));
    bench.clock.pass(Duration::from_secs(60));
    woken = bench.run();
    woken.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Error]);
    assert_eq!(said(&bench.transcript()), ["go", "do not"]);
    check::at_rest(&bench);
}

#[test]
fn one_that_has_come_and_must_wait_wakes_a_parked_turn_only_once() {
    let bench = old();
    bench.say("go");
    bench.run().model(calls(&["edit"]));
    let asked = bench.alarm_in();
    bench.say_later_as(
        bench.clock_in(60),
        Said { policy: Some(MessagePolicy::Enqueue), ..Said::new("then this") },
    );
    assert!(bench.run().is_over());
    bench.clock.pass(Duration::from_secs(60));
    assert!(bench.run().is_over(), "it parks again");
    assert!(!bench.is_due());
    assert_eq!(bench.alarm_in().map(|left| left + Duration::from_secs(60)), asked);
    assert_eq!(bench.session().format, STATE_FORMAT_LATER, "the item in the store is still of the new kind");
    bench.approve(&bench.asked());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    bench.run().model(text("done"));
    assert_eq!((said(&bench.transcript()).len(), bench.dones().len()), (2, 2));
    check::at_rest(&bench);
}

#[test]
fn it_outlives_an_interrupt_a_failure_and_a_back_off_but_not_an_abort() {
    let bench = Bench::with(|agent| agent.limits.max_steps = 9);
    let start = bench.clock.now();
    bench.say_later(start.after(HOUR), "one");
    bench.say_later(start.after(HOUR * 2), "two");
    bench.say_later(start.after(HOUR * 3), "three");
    bench.say("go");
    let mut run = bench.run();
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(run.is_over());
    assert_eq!(
        (bench.status(), bench.session().alarm),
        (SessionStatus::Interrupted, Some(start.after(HOUR)))
    );
    bench.clock.pass(HOUR);
    let mut run = bench.run();
    run.model_fails(holdover_core::model::ModelError::new(
        holdover_core::model::ModelErrorKind::Refused,
        "no",
    ));
    assert_eq!((bench.status(), bench.session().alarm), (SessionStatus::Failed, Some(start.after(HOUR * 2))));
    bench.clock.pass(HOUR);
    let mut run = bench.run();
    run.model_fails(overloaded(Some(HOUR + HOUR)));
    assert_eq!(bench.session().alarm, Some(start.after(HOUR * 3)), "before the next attempt");
    bench.clock.pass(HOUR);
    assert!(bench.run().is_over(), "the back-off goes on");
    assert_eq!(bench.alarm_in(), Some(HOUR));
    bench.clock.pass(HOUR);
    let mut run = bench.run();
    run.model(text("done"));
    run.model(text("done: the message steered"));
    assert_eq!(said(&bench.transcript()), ["go", "one", "two", "three"]);
    bench.say_later(bench.clock.now().after(HOUR), "never");
    bench.interrupt(InterruptKind::Abort);
    assert!(bench.end().is_over());
    assert_eq!((bench.status(), bench.session().alarm), (SessionStatus::Aborted, None));
}

#[test]
fn it_can_be_listed_taken_back_and_replaced_before_its_instant() {
    let bench = old();
    bench.say_later(bench.clock_in(60), "one");
    bench.say_later(bench.clock_in(90), "two");
    assert!(bench.run().is_over());
    assert_eq!(bench.queued(), [(InboxSeq(1), "one".to_owned()), (InboxSeq(2), "two".to_owned())]);
    bench.signal(&QueueChange::Withdrawn { of: InboxSeq(1) });
    let mentions = Mentions::none();
    bench.signal(&QueueChange::Replaced { of: InboxSeq(2), text: "changed".into(), mentions });
    assert_eq!(bench.queued(), [(InboxSeq(2), "changed".to_owned())]);
    assert!(bench.run().is_over());
    assert_eq!(bench.alarm_in(), Some(Duration::from_secs(90)), "that of the one that was withdrawn is gone");
    bench.clock.pass(Duration::from_secs(90));
    bench.run().model(text("done"));
    assert_eq!((said(&bench.transcript()), bench.session().unread), (vec!["changed".to_owned()], 0));
    check::at_rest(&bench);
}

/// A version that does not know the kind keeps the item. It is shown here with another name of a kind.
#[test]
fn a_version_that_does_not_know_it_neither_takes_nor_drops_it() {
    let bench = old();
    let kind = ItemKind::Other { name: KindName::new("much_later").unwrap(), wake: Wake::Now };
    let later = Said { not_before: Some(bench.clock.now()), ..Said::new("later") };
    assert!(bench.deliver_bytes(kind, None, Payload::json(&later).unwrap()).is_in());
    assert!(bench.run().is_over());
    assert_eq!((bench.session().unread, bench.transcript().len()), (1, 0));
    bench.say_later(bench.clock_in(60), "known");
    assert!(bench.run().is_over());
    let due = holdover_core::store::ClaimDue {
        newest_format: holdover_core::ids::StateFormat(STATE_FORMAT_LATER.0 - 1),
        runs: vec!["r-old".parse().unwrap()],
        worker: "old".parse().unwrap(),
        lease: crate::bench::LEASE,
        queues: holdover_core::store::Queues::All,
        tenant: None,
    };
    bench.clock.pass(Duration::from_secs(60));
    let claimed = crate::bench::now(holdover_core::store::StateStore::claim_due(&bench.store, due)).unwrap();
    assert!(claimed.is_empty(), "an older version does not get a session that holds one");
}

#[test]
fn killed_at_every_action_each_is_taken_once_and_never_early() {
    let cast = Cast {
        think: &|seen| match seen.last() {
            Some(Message::User(said)) if said.text == "now" => calls(&["note"]),
            _ => text("done"),
        },
        tool: &|_| Ok(ToolOutput::text("noted").into()),
    };
    let tell = |stop: Option<usize>| {
        let bench = old();
        let start = bench.clock.now();
        bench.say_later(start.after(HOUR), "one");
        bench.say_later(start.after(HOUR * 2), "two");
        bench.say("now");
        let before = play(&bench, start.after(HOUR / 2), stop, &cast);
        assert_eq!(said(&bench.transcript()), ["now"], "stopped after {stop:?}");
        assert_eq!(bench.session().alarm, Some(start.after(HOUR)), "stopped after {stop:?}");
        let rest = stop.and_then(|stop| stop.checked_sub(before));
        let after = play(&bench, start.after(HOUR * 3), rest.filter(|rest| *rest > 0), &cast);
        assert_eq!(said(&bench.transcript()), ["now", "one", "two"], "stopped after {stop:?}");
        assert_eq!((bench.dones().len(), bench.session().unread), (3, 0), "stopped after {stop:?}");
        check::at_rest(&bench);
        before + after
    };
    let actions = tell(None);
    assert!(actions > 12, "{actions}");
    for stop in 1..=actions {
        tell(Some(stop));
    }
}
