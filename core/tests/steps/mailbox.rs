//! Messages that arrive while a turn runs or is parked.
//!
//! Requirements: B06, B10, B11, B41, B44, B48, B49, C40, U07, U08.

use holdover_core::ids::{InboxSeq, KindName};
use holdover_core::machine::DoneReason;
use holdover_core::mailbox::QueueChange;
use holdover_core::message::{Mentions, Message, MessagePolicy, ResultStatus, Said, WhileAsking};
use holdover_core::payload::Payload;
use holdover_core::store::{InterruptKind, ItemKind, MessageRange, SessionStatus, StateStore, Wake};
use holdover_core::tool::ToolError;

use crate::bench::{Bench, now};
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Returns the texts of the user messages, in the order of the transcript.
fn said(bench: &Bench) -> Vec<String> {
    texts(&bench.transcript())
}

fn texts(messages: &[Message]) -> Vec<String> {
    let user = |message: &Message| match message {
        Message::User(said) => Some(said.text.clone()),
        _ => None,
    };
    messages.iter().filter_map(user).collect()
}

/// Returns the texts of the user messages of each turn.
fn turns(bench: &Bench) -> Vec<Vec<String>> {
    let mut turns: Vec<Vec<String>> = Vec::new();
    let transcript = bench.transcript();
    for event in check::events(bench) {
        match event {
            holdover_core::event::Event::Init { .. } => turns.push(Vec::new()),
            holdover_core::event::Event::Message { seq, .. } => {
                let place = usize::try_from(seq.0).unwrap() - 1;
                turns.last_mut().unwrap().extend(texts(&transcript[place..=place]));
            }
            _ => {}
        }
    }
    turns
}

/// Ends the calls that are being stopped, and checks that the run then ends.
fn let_it_end(run: &mut Run<'_>) {
    if run.is_out("stop_calls") {
        for call in run.calls_out() {
            run.comes_back(&call, Err(ToolError::NotRun("it was not sent yet".into())));
        }
    }
    assert!(run.is_over(), "{:?}", run.steps.machine());
}

#[test]
fn b49_enqueued_messages_begin_one_turn_each_in_order() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    for word in ["one", "two", "three"] {
        bench.say_under(MessagePolicy::Enqueue, word);
    }
    run.model(calls(&["note"]));
    run.news();
    run.returns("c1-0", "noted");
    assert_eq!(said(&bench), ["go"], "not on tool use");
    run.model(text("done"));
    for _ in 0..3 {
        assert!(bench.is_due(), "the next in line");
        bench.run().model(text("done"));
    }
    assert_eq!(turns(&bench), [["go"], ["one"], ["two"], ["three"]]);
    assert!(!bench.is_due());
    check::at_rest(&bench);
}

/// Requirements: B06.
#[test]
fn b48_an_enqueued_message_is_taken_as_soon_as_no_turn_runs_however_it_ended() {
    let bench = Bench::new();
    bench.say_under(MessagePolicy::Enqueue, "at rest");
    let mut run = bench.run();
    bench.say_under(MessagePolicy::Enqueue, "after a stop");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert_eq!(bench.dones(), [DoneReason::UserAbort]);
    let mut run = bench.run();
    bench.say_under(MessagePolicy::Enqueue, "after an error");
    run.news();
    run.model_fails(holdover_core::model::ModelError::new(
        holdover_core::model::ModelErrorKind::Auth,
        "the key is wrong",
    ));
    bench.run().model(text("done"));
    assert_eq!(turns(&bench), [["at rest"], ["after a stop"], ["after an error"]]);
    check::at_rest(&bench);
}

#[test]
fn c40_steering_messages_go_before_those_that_wait_and_a_stop_before_both() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    bench.say_under(MessagePolicy::Enqueue, "later");
    bench.say("now");
    run.news();
    run.returns("c1-0", "noted");
    assert_eq!(said(&bench), ["go", "now"]);
    bench.say("too late");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(run.is_over());
    assert_eq!(said(&bench), ["go", "now"], "the stop comes first");
    bench.run().model(text("done"));
    bench.run().model(text("done"));
    assert_eq!(turns(&bench), [vec!["go", "now"], vec!["too late"], vec!["later"]]);
    check::at_rest(&bench);
}

/// Requirements: B41.
#[test]
fn b44_a_message_that_interrupts_cancels_the_calls_and_the_approvals() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["edit", "note"]));
    assert_eq!(bench.pending().len(), 1);
    bench.say_under(MessagePolicy::Interrupt, "stop that");
    run.news();
    let_it_end(&mut run);
    assert!(bench.pending().is_empty(), "nobody is asked any more");
    let results = bench.results();
    assert_eq!(bench.statuses(), [ResultStatus::Cancelled; 2]);
    assert!(results.iter().all(|result| result.content.contains("user:interrupted")), "{results:?}");
    bench.run().model(text("as you say"));
    assert_eq!(turns(&bench), [["go"], ["stop that"]]);
    assert_eq!(bench.dones(), [DoneReason::UserAbort, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn b44_a_message_that_interrupts_ends_a_parked_turn_and_one_in_which_the_model_speaks() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    bench.say_under(MessagePolicy::Interrupt, "not that");
    run.news();
    assert!(run.is_over() && run.is_out("stop_model"));
    bench.run().model(calls(&["edit"]));
    assert_eq!(bench.status(), SessionStatus::Suspended);
    bench.say_under(MessagePolicy::Interrupt, "nor that");
    assert!(bench.run().is_over());
    assert_eq!(bench.statuses(), [ResultStatus::Cancelled]);
    bench.run().model(text("done"));
    assert_eq!(turns(&bench), [["go"], ["not that"], ["nor that"]]);
    check::at_rest(&bench);
}

#[test]
fn u08_the_policy_of_the_agent_stands_where_a_message_names_none() {
    let bench = Bench::with(|agent| agent.on_message = Some(MessagePolicy::Enqueue));
    bench.say("go");
    let mut run = bench.run();
    bench.say("later");
    bench.say_under(MessagePolicy::Steer, "now");
    run.news();
    run.model(text("done"));
    run.model(text("done"));
    bench.run().model(text("done"));
    assert_eq!(turns(&bench), [vec!["go", "now"], vec!["later"]]);
    check::at_rest(&bench);
}

#[test]
fn u08_a_turn_that_is_rolled_back_is_not_shown_and_what_took_effect_is_said() {
    let bench = Bench::new();
    bench.say("hello");
    bench.run().model(text("hello"));
    bench.say("pay twice");
    let mut run = bench.run();
    run.model(calls(&["pay:{\"to\": \"ann\"}", "look"]));
    for call in run.calls_out() {
        run.returns(&call, "fine");
    }
    run.model(calls(&["note"]));
    let before = bench.transcript();
    bench.say_under(MessagePolicy::Rollback, "pay nobody");
    run.news();
    let_it_end(&mut run);
    let run = bench.run();
    let (sees, _) = run.model_sees();
    assert_eq!(texts(&sees).len(), 3, "{sees:?}");
    assert_eq!(texts(&sees)[0], "hello");
    let told = &texts(&sees)[1];
    assert!(told.contains("pay {\"to\": \"ann\"} (done)"), "{told}");
    assert!(!told.contains("look") && !told.contains("note"), "only what took effect: {told}");
    assert_eq!(texts(&sees)[2], "pay nobody");
    assert!(!sees.iter().any(|message| matches!(message, Message::Tool(_))), "{sees:?}");
    assert_eq!(bench.transcript()[..before.len()], before, "nothing stored is removed");
    let mut run = run;
    run.model(text("good"));
    check::at_rest(&bench);
}

#[test]
fn u08_a_turn_that_took_no_effect_is_rolled_back_without_a_word_to_the_model() {
    let bench = Bench::new();
    bench.say("look");
    let mut run = bench.run();
    run.model(calls(&["look"]));
    bench.say_under(MessagePolicy::Rollback, "look elsewhere");
    run.news();
    let_it_end(&mut run);
    bench.crash(bench.run());
    let mut run = bench.run();
    assert_eq!(texts(&run.model_sees().0), ["look elsewhere"]);
    run.model(text("done"));
    assert_eq!(said(&bench), ["look", "look elsewhere"]);
    check::at_rest(&bench);
}

#[test]
fn u08_a_rollback_goes_back_behind_a_summary_of_the_turn() {
    let bench = Bench::with(|agent| {
        agent.compaction.context_tokens = 100;
        agent.compaction.kept_turns = 1;
    });
    bench.say("first");
    bench.run().model(text("done"));
    bench.say("second");
    let mut run = bench.run();
    let mut answer = calls(&["look"]);
    answer.usage.input = 0;
    run.model(answer);
    run.returns("c2-0", &"x".repeat(400));
    run.summarise("all of it").expect("a summary");
    run.model(calls(&["look"]));
    bench.say_under(MessagePolicy::Rollback, "third");
    run.news();
    let_it_end(&mut run);
    let run = bench.run();
    let sees = run.model_sees().0;
    assert_eq!(texts(&sees), ["first", "third"], "{sees:?}");
}

#[test]
fn u07_a_message_during_an_approval_is_its_denial_if_the_agent_says_so() {
    let bench = Bench::with(|agent| agent.on_message_while_asking = WhileAsking::Deny);
    bench.say("edit");
    bench.run().model(calls(&["edit", "edit"]));
    bench.say_under(MessagePolicy::Enqueue, "and then the next");
    assert!(bench.run().is_over());
    assert_eq!(bench.status(), SessionStatus::Suspended, "what waits for the end denies nothing");
    let correction = Said { correction_by: Some("ann".into()), ..Said::new("mind the time") };
    bench.say_as(Said { policy: Some(MessagePolicy::Steer), ..correction });
    assert!(bench.run().is_over());
    assert_eq!(bench.status(), SessionStatus::Suspended, "a correction decides nothing");
    bench.say("use the other file");
    let mut run = bench.run();
    assert_eq!(bench.statuses(), [ResultStatus::Error; 2], "as a denial that says why");
    assert!(bench.results().iter().all(|result| result.content.contains("use the other file")));
    assert!(bench.pending().is_empty());
    run.model(text("the other one"));
    bench.run().model(text("done"));
    let corrected = "[course correction by ann, not said by the user] mind the time";
    assert_eq!(turns(&bench), [vec!["edit", corrected, "use the other file"], vec!["and then the next"]]);
    check::at_rest(&bench);
}

#[test]
fn u07_a_decision_that_came_before_the_message_stands() {
    let bench = Bench::with(|agent| agent.on_message_while_asking = WhileAsking::Deny);
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    bench.say("use the other file");
    let mut run = Run::holding(&bench, bench.claim().unwrap(), &["commit"]);
    bench.approve(&bench.asked());
    run.let_go("commit");
    assert_eq!(run.calls_out(), ["c1-0"], "it was approved before its denial was stored");
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done]);
    check::at_rest(&bench);
}

#[test]
fn u08_queued_messages_are_listed_changed_and_withdrawn_before_they_are_taken() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    for word in ["one", "two", "three"] {
        bench.say_under(MessagePolicy::Enqueue, word);
    }
    run.news();
    let queued = bench.queued();
    bench.signal(&QueueChange::Replaced {
        of: queued[0].0,
        text: "one and a half".into(),
        mentions: Mentions::none(),
    });
    bench.signal(&QueueChange::Withdrawn { of: queued[1].0 });
    let texts: Vec<String> = bench.queued().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one and a half", "three"]);
    run.news();
    run.model(text("done"));
    bench.run().model(text("done"));
    // A message that was taken can no longer be withdrawn.
    bench.signal(&QueueChange::Withdrawn { of: queued[0].0 });
    bench.run().model(text("done"));
    assert_eq!(turns(&bench), [["go"], ["one and a half"], ["three"]]);
    assert_eq!(bench.session().unread, 0);
    check::at_rest(&bench);
}

#[test]
fn u08_a_session_whose_only_message_is_withdrawn_goes_back_to_rest() {
    let bench = Bench::new();
    bench.say("go");
    bench.signal(&QueueChange::Withdrawn { of: bench.queued()[0].0 });
    assert!(bench.run().is_over());
    assert_eq!((bench.dones().len(), bench.session().unread, bench.is_due()), (0, 0, false));
}

/// Requirements: B06, B11, B41.
#[test]
fn b10_an_edit_of_an_earlier_message_stops_the_turn_and_takes_back_what_followed() {
    let bench = Bench::new();
    bench.say("red");
    bench.run().model(text("red it is"));
    bench.say("paint");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    bench.say_instead(1, "blue");
    run.news();
    let_it_end(&mut run);
    assert!(bench.results()[0].content.contains("system:edited"), "{:?}", bench.results());
    let mut run = bench.run();
    assert_eq!(texts(&run.model_sees().0), ["blue"]);
    let rewound = bench.transcript().into_iter().find_map(|message| match message {
        Message::Notice(notice) => notice.rewound,
        _ => None,
    });
    assert_eq!(rewound.map(|to| to.0), Some(0));
    run.model(text("blue it is"));
    check::at_rest(&bench);
    // Messages are edited at rest, in the middle of a turn, and twice.
    bench.say("and green");
    bench.run().model(text("green it is"));
    let place =
        bench.transcript().iter().position(|message| texts(std::slice::from_ref(message)) == ["and green"]);
    bench.say_instead(place.unwrap() as u64 + 1, "and yellow");
    let mut run = bench.run();
    let sees = run.model_sees().0;
    assert_eq!(texts(&sees), ["blue", "and yellow"], "{sees:?}");
    run.model(text("done"));
    let whole = MessageRange::new(holdover_core::ids::MessageSeq(1), bench.session().last_message);
    assert_eq!(bench.transcript().len() as u64, whole.to.0, "nothing stored is removed");
    check::at_rest(&bench);
}

#[test]
fn b11_a_note_wakes_nobody_stops_nothing_and_is_told_with_whatever_comes_next() {
    let agents = [(MessagePolicy::Interrupt, WhileAsking::Deny), (MessagePolicy::Enqueue, WhileAsking::Hold)];
    for (on_message, while_asking) in agents {
        let bench = Bench::with(|agent| {
            agent.on_message = Some(on_message);
            agent.on_message_while_asking = while_asking;
        });
        bench.note("cargo fmt was run by hand");
        assert!(!bench.is_due());
        bench.say("go");
        let mut run = bench.run();
        assert_eq!(texts(&run.model_sees().0), ["cargo fmt was run by hand", "go"]);
        // Notes arrive in the middle of a step, and while an approval is pending.
        bench.note("tests were run by hand");
        run.news();
        run.model(calls(&["pay", "edit"]));
        run.returns("c1-0", "paid");
        assert_eq!((bench.dones().len(), bench.is_due()), (0, false), "it waits for the approval alone");
        assert!(bench.approve(&bench.asked()).is_in());
        let mut run = bench.run();
        run.returns("c1-1", "edited");
        assert_eq!(texts(&run.model_sees().0).last().map(String::as_str), Some("tests were run by hand"));
        // A note that arrives with the last answer does not continue the turn.
        bench.note("all is well");
        run.news();
        run.model(text("done"));
        assert_eq!((bench.dones().len(), bench.is_due(), bench.session().unread), (1, false, 1));
        bench.retry();
        assert!(bench.run().is_over(), "there is nothing to take up");
        bench.say("and now?");
        let mut run = bench.run();
        let seen = texts(&run.model_sees().0);
        assert_eq!(seen[seen.len() - 2..], ["all is well", "and now?"]);
        run.model(text("nothing"));
        check::at_rest(&bench);
    }
}

/// Checks that an item of an unknown kind is left for a newer version and keeps no run busy, at rest and beside a turn.
#[test]
fn an_item_of_a_newer_version_is_left_where_it_is() {
    let bench = Bench::new();
    let newer = || ItemKind::Other { name: KindName::new("newer").unwrap(), wake: Wake::Now };
    let deliver = || assert!(bench.deliver_bytes(newer(), None, Payload::new("whatever it says")).is_in());
    deliver();
    assert!(bench.is_due());
    assert!(bench.run().is_over(), "there is nothing to take up");
    assert!(!bench.is_due());
    bench.say("go");
    let mut run = bench.run();
    deliver();
    run.news();
    run.model(text("done"));
    assert_eq!(said(&bench), ["go"]);
    assert!(!bench.is_due());
    let left = now(bench.store.read_inbox(&bench.key, InboxSeq(0), 10)).unwrap().items;
    assert_eq!(left.iter().map(|item| item.kind.clone()).collect::<Vec<_>>(), [newer(), newer()]);
    check::at_rest(&bench);
}
