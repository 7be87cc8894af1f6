//! Files that a message mentions.
//!
//! Requirements: B09, G02.

use std::sync::Arc;

use holdover_core::agent::Compaction;
use holdover_core::compaction;
use holdover_core::event::Event;
use holdover_core::ids::MessageSeq;
use holdover_core::mailbox::QueueChange;
use holdover_core::message::{Mention, Mentions, Message, MessagePolicy, Said};
use holdover_core::payload::Digest;

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

fn of(paths: &[&str]) -> Mentions {
    let file = |path: &&str| Mention::file(*path, Digest::of(path.as_bytes()), path.len() as u64).unwrap();
    Mentions::of(paths.iter().map(file)).unwrap()
}

/// Returns the mentioned paths of each message that mentions any.
fn mentioned<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Vec<&'a str>> {
    let paths = |message: &'a Message| message.mentions().iter().map(Mention::path).collect::<Vec<_>>();
    messages.into_iter().map(paths).filter(|paths| !paths.is_empty()).collect()
}

fn mentions(text: &str, paths: &[&str]) -> Said {
    Said { mentions: of(paths), ..Said::new(text) }
}

#[test]
fn b09_mentions_come_with_their_message_to_the_transcript_its_event_and_the_model() {
    let bench = Bench::new();
    bench.say_as(mentions("look at @a.rs", &["a.rs"]));
    let mut run = bench.run();
    assert_eq!(mentioned(&run.model_sees().0), [["a.rs"]]);
    run.model(calls(&["note"]));
    // The run that takes over sees them, too.
    bench.crash(run);
    let mut run = bench.run();
    let seen = run.model_sees().0;
    assert_eq!(mentioned(&seen), [["a.rs"]]);
    assert!(matches!(&seen[0], Message::User(said) if said.text == "look at @a.rs"), "{seen:?}");
    run.model(text("seen"));
    assert!(run.is_over());
    bench.say("and now?");
    bench.run().model(text("done"));

    let transcript = bench.transcript();
    assert_eq!(transcript[0].mentions(), &of(&["a.rs"]));
    let told: Vec<(MessageSeq, Mentions)> = check::events(&bench)
        .into_iter()
        .filter_map(|event| {
            let Event::Message { seq, mentions, .. } = event else { return None };
            (!mentions.is_empty()).then_some((seq, mentions))
        })
        .collect();
    assert_eq!(told, [(MessageSeq(1), of(&["a.rs"]))], "and only the event of that message tells of it");
}

#[test]
fn b09_mentions_stay_and_go_with_their_message() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    bench.say_as(Said { policy: Some(MessagePolicy::Steer), ..mentions("see @a.rs", &["a.rs"]) });
    bench.say_as(Said { policy: Some(MessagePolicy::Enqueue), ..mentions("see @b.rs", &["b.rs"]) });
    run.news();
    // A new text of a waiting message has mentions of its own.
    let waits = bench.queued().pop().unwrap().0;
    let text_of = |text: &str, paths: &[&str]| QueueChange::Replaced {
        of: waits,
        text: text.to_owned(),
        mentions: of(paths),
    };
    bench.signal(&text_of("rather @c.rs", &["c.rs"]));
    run.news();
    run.returns("c1-0", "noted");
    assert_eq!(mentioned(&run.model_sees().0), [["a.rs"]], "steered");
    run.model(text("seen"));
    let mut run = bench.run();
    assert_eq!(mentioned(&run.model_sees().0), [["a.rs"], ["c.rs"]], "enqueued");
    run.model(text("seen"));

    // The message edits the first one. The mentions of messages that were taken back are not shown.
    bench.say_as(Said { edits: Some(MessageSeq(1)), ..mentions("see @d.rs", &["d.rs"]) });
    let mut run = bench.run();
    assert_eq!(mentioned(&run.model_sees().0), [["d.rs"]]);
    run.model(text("seen"));

    // A correction and a note have mentions, too.
    let by = Some("reviewer".to_owned());
    bench.say_as(Said { correction_by: by, ..mentions("compare @e.rs", &["e.rs"]) });
    let mut run = bench.run();
    assert_eq!(mentioned(&run.model_sees().0), [["d.rs"], ["e.rs"]]);
    run.model(text("seen"));
    let stored = bench.transcript();
    assert_eq!(mentioned(&stored), [["a.rs"], ["c.rs"], ["d.rs"], ["e.rs"]], "nothing is deleted");
}

#[test]
fn b09_a_waiting_message_whose_text_is_replaced_no_longer_mentions_the_old_files() {
    let bench = Bench::new();
    bench.say_as(mentions("see @a.rs", &["a.rs"]));
    let (waits, _) = bench.queued().pop().unwrap();
    // Older versions wrote this form, without mentions.
    bench.signal(&serde_json::json!({ "signal": "replaced", "of": waits, "text": "never mind" }));
    let run = bench.run();
    let seen = run.model_sees().0;
    assert!(matches!(&seen[..], [Message::User(said)] if said.text == "never mind"), "{seen:?}");
    assert_eq!(mentioned(&seen), [[""; 0]; 0]);
}

#[test]
fn b09_who_summarises_old_messages_is_told_of_their_mentions() {
    let bench = Bench::new();
    bench.say_as(mentions("look at @a.rs", &["a.rs"]));
    bench.run().model(text("seen"));
    let old: Vec<_> = (1..).map(MessageSeq).zip(bench.transcript().into_iter().map(Arc::new)).collect();
    let asked = compaction::request(&bench.key, &old, &Compaction::default(), 1, 0);
    let Message::User(said) = &*asked.messages[0] else { panic!("a text") };
    assert!(said.text.contains("USER: look at @a.rs\n[mentioned files: a.rs (4 bytes)]\n"), "{}", said.text);
}
