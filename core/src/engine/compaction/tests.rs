//! Requirements: A33, A67.

use super::*;
use crate::words::ids::{CallId, SessionId, TenantId};
use crate::words::image::Images;
use crate::words::message::{AssistantMessage, AssistantPart, CallRequest, Notice, ResultStatus, Summary};

fn session() -> SessionKey {
    SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap())
}

/// Builds a transcript from a short form: `u` is a message of a user, `s` a step of one call and its result, `n` a
/// notice, `S` a summary. Results have `result_chars` characters.
fn transcript(short: &str, result_chars: usize) -> Vec<(MessageSeq, Arc<Message>)> {
    let mut messages = Vec::new();
    for (at, kind) in short.chars().enumerate() {
        let text = format!("text {at}");
        match kind {
            'u' => messages.push(Message::User(UserMessage::new(text))),
            'n' => messages.push(Message::Notice(Notice::new(text))),
            'S' => messages.push(Message::Summary(Summary { text, before: MessageSeq(1), extract: false })),
            's' => {
                let id = CallId::new(format!("c{at}-0")).unwrap();
                let call =
                    CallRequest { id: id.clone(), tool: "look".to_owned(), arguments: "{}".to_owned() };
                messages.push(Message::Assistant(AssistantMessage::new(vec![AssistantPart::Call(call)])));
                messages.push(Message::Tool(ToolResult {
                    call: id,
                    tool: "look".to_owned(),
                    status: ResultStatus::Done,
                    content: "x".repeat(result_chars),
                    edited_arguments: None,
                    duration_ms: None,
                    stop: false,
                    broken: false,
                    sent: None,
                    denial: None,
                    changes: Vec::new(),
                    instead_of: Vec::new(),
                    images: Images::none(),
                }));
            }
            other => panic!("{other}"),
        }
    }
    (1..).map(MessageSeq).zip(messages.into_iter().map(Arc::new)).collect()
}

/// Returns rules that leave room for about `tokens` tokens after the cut.
fn rules(tokens: u64) -> Compaction {
    Compaction { context_tokens: tokens * 2, threshold_percent: 100, kept_turns: 2, ..Compaction::default() }
}

fn cut_at(short: &str, result_chars: usize, tokens: u64, asked: bool) -> Option<u64> {
    cut(&transcript(short, result_chars), &rules(tokens), asked, 0).map(|seq| seq.0)
}

#[test]
fn a67_the_newest_turns_stay_and_it_is_cut_before_a_user_message() {
    assert_eq!(cut_at("ususus", 10, 10_000, false), Some(4), "two of three turns stay");
    assert_eq!(cut_at("usuusnsus", 10, 10_000, false), Some(5));
    // No message is older.
    assert_eq!(cut_at("", 10, 10_000, false), None);
    assert_eq!(cut_at("us", 10, 10_000, false), None);
    assert_eq!(cut_at("usus", 10, 10_000, false), None);
    assert_eq!(cut_at("Susus", 10, 10_000, false), None, "a summary alone is nothing old");
    assert_eq!(cut_at("Sususus", 10, 10_000, false), Some(5));
}

#[test]
fn where_the_newest_turns_are_too_long_fewer_stay() {
    // A step is about 1,000 tokens.
    assert_eq!(cut_at("usssussus", 4_000, 1_500, false), Some(13), "the last turn alone");
    assert_eq!(cut_at("usssussus", 4_000, 4_500, false), Some(8), "both");
}

/// Requirements: A67.
#[test]
fn where_one_turn_is_too_long_it_is_cut_between_its_steps() {
    assert_eq!(cut_at("ussssss", 4_000, 2_500, false), Some(10), "two steps stay");
    assert_eq!(cut_at("ussssss", 4_000, 1_500, false), Some(12), "one");
    assert_eq!(cut_at("ussssss", 4_000, 10, false), Some(12), "one, however long");
    for short in ["ussssss", "usussss", "Ssssss"] {
        let messages = transcript(short, 4_000);
        let at = cut(&messages, &rules(2_500), false, 0).unwrap();
        let first = &messages.iter().find(|(seq, _)| *seq == at).unwrap().1;
        assert!(matches!(**first, Message::Assistant(_)), "{short}: never between a call and its result");
    }
}

#[test]
fn what_is_asked_for_is_done_also_if_nothing_is_long() {
    assert_eq!(cut_at("ussss", 10, 10_000, false), None);
    assert_eq!(cut_at("ussss", 10, 10_000, true), Some(6), "two steps stay");
    assert_eq!(cut_at("ususus", 10, 10_000, true), Some(4));
    assert_eq!(cut_at("u", 10, 10_000, true), None);
    assert_eq!(cut_at("uss", 10, 10_000, true), None);
    assert_eq!(cut_at("usss", 10, 10_000, true), Some(4));
}

#[test]
fn a68_a_summary_is_asked_for_in_six_parts_from_what_is_old_alone() {
    let old = transcript("Suns", 10);
    let request = request(&session(), &old, &rules(1_000), 7, 0);
    let heads: Vec<&str> = request.system.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let six =
        ["Current State", "Original Task", "Key Data", "Actions Taken", "Errors & Corrections", "Next Steps"];
    assert_eq!(heads, six);
    assert_eq!((request.tools.len(), request.max_output_tokens, request.step), (0, 500, 7));
    assert_eq!(request.messages.len(), 1);
    let Message::User(said) = &*request.messages[0] else { panic!("a user message") };
    let expected = "SUMMARY OF WHAT CAME BEFORE: text 0\n\nUSER: text 1\n\nAGENT CALLS look (c3-0): {}\n\n\
                    RESULT OF look (c3-0): xxxxxxxxxx\n\n";
    assert_eq!(said.text, expected, "no notice");
}

#[test]
fn a71_long_results_are_cut_in_their_middle_and_so_is_all_of_it() {
    let text = |chars, tokens| {
        let request = request(&session(), &transcript("us", chars), &rules(tokens), 1, 0);
        let Message::User(said) = &*request.messages[0] else { panic!("{:?}", request.messages) };
        said.text.clone()
    };
    let long = text(3_000, 10_000);
    assert!(long.contains("[1000 characters left out]"), "{long}");
    assert_eq!(long.matches('x').count(), 2_000 + "text".matches('x').count());
    let short = text(2_000, 200);
    assert!(short.starts_with("USER: text 0"), "{short}");
    assert!(short.contains("characters left out]") && short.chars().count() < 900, "{short}");
    assert_eq!(middle_out("äöü€", 2), "ä\n[2 characters left out]\n€");
}

/// Requirements: A33.
#[test]
fn a_summary_is_shown_as_said_by_a_user_and_old_results_as_cleared() {
    let messages = transcript("Sssn", 500);
    let see = |cleared| -> Vec<Arc<Message>> {
        messages
            .iter()
            .filter_map(|(seq, message)| shown(*seq, message, &Cleared::of(&[], MessageSeq(cleared)), 20_000))
            .collect()
    };
    let seen = see(3);
    assert_eq!(seen.len(), 5, "no notice");
    let expected = UserMessage::new(format!("{SUMMARY_MARKER}\n\ntext 0"));
    assert_eq!(*seen[0], Message::User(expected));
    let contents: Vec<&str> = seen
        .iter()
        .filter_map(|message| {
            let Message::Tool(result) = &**message else { return None };
            Some(result.content.as_str())
        })
        .collect();
    assert_eq!(contents, [CLEARED, &"x".repeat(500)]);
    let Message::Tool(result) = &*seen[2] else { panic!("{:?}", seen[2]) };
    assert_eq!((result.call.as_str(), result.tool.as_str()), ("c1-0", "look"), "its call is known");
    // A result that is shorter than the marker stays.
    let short = transcript("s", 5);
    assert_eq!(
        shown(MessageSeq(2), &short[1].1, &Cleared::of(&[], MessageSeq(2)), 20_000),
        Some(Arc::clone(&short[1].1))
    );
}

#[test]
fn a52_a_token_is_about_four_characters() {
    assert_eq!([0, 1, 4, 5].map(estimate), [0, 1, 1, 2]);
}

#[test]
fn a51_a_long_result_is_shown_as_its_beginning_and_its_end_and_a_word_between() {
    let content = format!("{}{}{}", "a".repeat(2_000), "é".repeat(16_001), "z".repeat(2_000));
    let cut = snipped(&content, 20_000).unwrap();
    let head = format!("{}\n[16001 characters left out]\n", "a".repeat(2_000));
    assert!(cut.starts_with(&head) && cut.ends_with(&"z".repeat(2_000)), "{} bytes", cut.len());
    assert_eq!(cut.len(), head.len() + 2_000);
    assert_eq!(snipped(&"é".repeat(20_000), 20_000), None, "characters are counted, not bytes");
    assert_eq!(snipped(&"x".repeat(3_000), 10), None, "it would grow");
}

#[test]
fn a51_a_picture_of_an_old_result_is_cleared_with_it_and_a_summary_says_that_it_was_there() {
    let png = crate::words::image::Image::new(b"\x89PNG\r\n\x1a\n").unwrap();
    let mut messages = transcript("us", 10);
    let (seq, message) = messages.last_mut().unwrap();
    let Message::Tool(result) = &**message else { panic!("a result") };
    let result = ToolResult { images: Images::of([png]).unwrap(), ..result.clone() };
    *message = Arc::new(Message::Tool(result));
    let (seq, message) = (*seq, Arc::clone(message));

    let seen = |up_to| shown(seq, &message, &Cleared::of(&messages, up_to), usize::MAX).unwrap();
    assert_eq!(seen(MessageSeq(0)), message);
    let Message::Tool(cleared) = &*seen(seq) else { panic!("a result") };
    assert_eq!((cleared.content.as_str(), cleared.images.is_empty()), (CLEARED, true));

    let asked = request(&session(), &messages, &rules(10_000), 1, 0);
    let Message::User(said) = &*asked.messages[0] else { panic!("a text") };
    assert!(said.text.contains("xxxxxxxxxx\n[a picture: image/png, 8 bytes]"), "{}", said.text);
    assert!(said.images.is_empty());
}

#[test]
fn a69_the_model_is_told_how_long_a_summary_may_be_in_half_as_many_words_as_it_has_tokens() {
    for (summary_tokens, told) in [(4_000, "at most 2000 words"), (1, "at most 1 words")] {
        let rules = Compaction { summary_tokens, ..rules(10_000) };
        let asked = request(&session(), &transcript("us", 10), &rules, 1, 0);
        assert_eq!(asked.max_output_tokens, summary_tokens);
        assert!(asked.system.contains(told), "{}", asked.system);
    }
}

#[test]
fn b38_the_more_often_a_provider_refuses_the_less_stays() {
    let cut = |short: &str, refused| {
        cut(&transcript(short, 400), &Compaction::default(), false, refused).map(|seq| seq.0)
    };
    // All messages together are below the threshold, and no turn is older than those that stay.
    assert_eq!(cut("usususus", 0), None);
    assert_eq!(cut("usususus", 1), Some(7), "half");
    assert_eq!(cut("usususus", 2), Some(10), "the newest turn");
    assert_eq!(cut("ussss", 1), Some(6), "half of one turn");
    assert_eq!(cut("ussss", 2), Some(8), "its newest step");
    assert_eq!(cut("Ss", 2), None, "nothing is left");
    assert_eq!(cut("u", 2), None);
}

#[test]
fn b38_a_newest_message_that_is_more_than_half_stays_alone() {
    let mut messages = transcript("usus", 400);
    messages.push((MessageSeq(7), Arc::new(Message::User(UserMessage::new("x".repeat(9_000))))));
    for refused in 1..=3 {
        assert_eq!(cut(&messages, &Compaction::default(), false, refused), Some(MessageSeq(7)));
    }
    // A summary that alone is too long is summarised again.
    let summary = Summary { text: "y".repeat(9_000), before: MessageSeq(1), extract: false };
    let mut messages = vec![(MessageSeq(1), Arc::new(Message::Summary(summary)))];
    messages.push((MessageSeq(2), Arc::new(Message::User(UserMessage::new("go on")))));
    assert_eq!(cut(&messages, &Compaction::default(), false, 0), None);
    assert_eq!(cut(&messages, &Compaction::default(), false, 1), Some(MessageSeq(2)));
}

#[test]
fn b38_each_refused_request_for_a_summary_is_followed_by_one_of_a_quarter() {
    let old = transcript("usssss", 2_000);
    let lengths: Vec<(usize, u32)> = (0..SUMMARY_TRIES)
        .map(|refused| {
            let request = request(&session(), &old, &Compaction::default(), 1, refused);
            let Message::User(said) = &*request.messages[0] else { panic!("{request:?}") };
            (said.text.chars().count(), request.max_output_tokens)
        })
        .collect();
    for pair in lengths.windows(2) {
        assert!(pair[1].0 < pair[0].0 / 4 + 40, "{lengths:?}");
        assert!(pair[1].1 <= pair[0].1, "{lengths:?}");
    }
    assert_eq!((lengths[0].1, lengths[5].1), (4_000, 128));
    let small = Compaction { context_tokens: 3_000, ..Compaction::default() };
    assert_eq!(
        request(&session(), &old, &small, 1, 0).max_output_tokens,
        750,
        "no more than a quarter of what it reads"
    );
}
