//! Pictures that people and tools show the model.
//!
//! Requirements: A51.

use std::time::Duration;

use holdover_core::image::{IMAGE_BYTES_MAX, IMAGE_TOKENS, Image, Images};
use holdover_core::message::{Message, Said};
use holdover_core::model::{ModelAnswer, TokenUsage};
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
    // Whoever takes the session over sees the same.
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
fn a51_a_picture_counts_as_what_it_is_to_a_model_and_not_as_its_bytes() {
    let bench = Bench::new();
    says_and_shows(&bench, picture(IMAGE_BYTES_MAX));
    let mut run = bench.run();
    // This provider counts no tokens.
    run.model(ModelAnswer { usage: TokenUsage::default(), ..text("seen") });
    let tokens = bench.machine().view.tokens;
    assert!((IMAGE_TOKENS..2 * IMAGE_TOKENS).contains(&tokens), "{tokens}");
}
