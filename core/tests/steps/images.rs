//! Images that people and tools show to the model.
//!
//! Requirements: A51.

use std::time::Duration;

use holdover_core::ids::MessageSeq;
use holdover_core::image::{IMAGE_BYTES_MAX, IMAGE_TOKENS, Image, Images};
use holdover_core::mailbox::QueueChange;
use holdover_core::message::{ClientAnswer, Mentions, Message, MessagePolicy, Said};
use holdover_core::model::{ModelAnswer, TokenUsage};
use holdover_core::payload::Payload;
use holdover_core::tool::{ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::world::{calls, text};

fn picture(bytes: usize) -> Images {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.resize(bytes, 0);
    Images::of([Image::new(&png).unwrap()]).unwrap()
}

fn shown(messages: &[Message]) -> Vec<usize> {
    let of = |message: &Message| match message {
        Message::User(said) => said.images.iter().count(),
        Message::Tool(result) => result.images.iter().count(),
        _ => 0,
    };
    messages.iter().map(of).collect()
}

fn says_and_shows(bench: &Bench, images: Images) {
    bench.say_as(Said { images, ..Said::new("look at this") });
}

#[test]
fn a51_pictures_of_a_message_and_of_a_result_are_kept_and_shown() {
    let bench = Bench::new();
    says_and_shows(&bench, picture(100));
    let mut run = bench.run();
    let (seen, _) = run.model_sees();
    assert_eq!(shown(&seen), [1]);
    run.model(calls(&["note"]));
    let output = ToolOutput::text("the plan").showing(picture(200));
    run.comes_back("c1-0", Ok(output.into()));
    // The run that takes over sees the same images.
    bench.crash(run);
    let mut run = bench.run();
    let (seen, _) = run.model_sees();
    assert_eq!(shown(&seen), [1, 0, 1]);
    assert_eq!(bench.results()[0].images, picture(200));
    run.model(text("a fine plan"));
    assert!(run.is_over());
}

#[test]
fn a51_a_result_that_is_given_later_or_is_an_error_shows_none() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "put"]));
    let output = ToolOutput::text("later").showing(picture(100));
    run.comes_back("c1-0", Ok(ToolReturn::After { delay: Duration::from_millis(5), output }));
    let output = ToolOutput::text(r#"{"error": "no such plan"}"#).showing(picture(100));
    run.comes_back("c1-1", Ok(output.into()));
    run.wait();
    let results = bench.results();
    assert_eq!(results[0].content, "later\n[not shown: 1 pictures; what is given later has none]");
    assert!(results.iter().all(|result| result.images.is_empty()), "{results:?}");
}

#[test]
fn a51_a_client_shows_pictures_with_its_answer_and_none_with_an_error() {
    for (answer, many) in [
        (ClientAnswer::done("the screen").showing(picture(100)), 1),
        (ClientAnswer::failed("no screen").showing(picture(100)), 0),
        (ClientAnswer::done(r#"{"error": "no screen"}"#).showing(picture(100)), 0),
    ] {
        let bench = Bench::new();
        bench.say("go");
        bench.run().model(calls(&["ask"]));
        bench.answer_with(&bench.asked().id, Payload::json(&answer).unwrap());
        // The run that has read the answer dies.
        bench.crash(bench.run());
        let mut run = bench.run();
        let (seen, _) = run.model_sees();
        assert_eq!(shown(&seen), [0, 0, many], "{answer:?}");
        run.model(text("seen"));
        assert_eq!(bench.results()[0].images.is_empty(), many == 0);
    }
}

#[test]
fn a51_messages_show_their_pictures_whenever_and_however_they_come() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    let says = |policy, bytes| {
        let said = Said { policy: Some(policy), images: picture(bytes), ..Said::new("look at this") };
        bench.say_as(said);
    };
    says(MessagePolicy::Steer, 100);
    says(MessagePolicy::Enqueue, 200);
    run.news();
    // The text of a waiting message can be replaced. Its images stay.
    let waits = bench.queued().pop().unwrap().0;
    bench.signal(&QueueChange::Replaced {
        of: waits,
        text: "or rather at that".into(),
        mentions: Mentions::none(),
    });
    run.news();
    run.comes_back("c1-0", Ok(ToolOutput::text("noted").into()));
    assert_eq!(shown(&run.model_sees().0), [0, 0, 0, 1], "steered");
    run.model(text("seen"));
    let mut run = bench.run();
    let seen = run.model_sees().0;
    assert_eq!(shown(&seen)[4..], [0, 1], "enqueued");
    let Some(Message::User(said)) = seen.last() else { panic!("{seen:?}") };
    assert_eq!((said.text.as_str(), &said.images), ("or rather at that", &picture(200)));
    run.model(text("seen"));
    // The message edits the first one. The images of messages that were taken back are not shown.
    bench.say_as(Said { edits: Some(MessageSeq(1)), images: picture(300), ..Said::new("go on") });
    let seen = bench.run().model_sees().0;
    let pictures: Vec<usize> = shown(&seen).into_iter().filter(|many| *many > 0).collect();
    assert_eq!(pictures, [1], "{seen:?}");
    assert!(matches!(seen.last(), Some(Message::User(said)) if said.images == picture(300)), "{seen:?}");
}

#[test]
fn a51_a_picture_counts_as_what_it_is_to_a_model_and_not_as_its_bytes() {
    let bench = Bench::new();
    says_and_shows(&bench, picture(IMAGE_BYTES_MAX));
    let mut run = bench.run();
    // This provider counts no tokens.
    run.model(ModelAnswer { usage: TokenUsage::default(), ..text("seen") });
    let tokens = bench.machine().view.tokens;
    assert!((IMAGE_TOKENS..2 * IMAGE_TOKENS).contains(&tokens), "{tokens}");
}
