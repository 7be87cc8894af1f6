//! The extract of a handoff: the parts of an old conversation that matter for a goal (requirement B50).

use std::fmt::Write as _;
use std::sync::Arc;

use super::{render, summary_cap, told_cap};
use crate::words::agent::Compaction;
use crate::words::ids::{MessageSeq, SessionKey};
use crate::words::list::SharedList;
use crate::words::message::{Message, UserMessage};
use crate::words::model::{ModelRequest, ModelTool};

/// The beginning of an extract as the model sees it.
pub const EXTRACT_MARKER: &str = "[Handed over from an earlier conversation, for the goal that follows]";

/// The parts of an extract, in order.
pub(crate) const EXTRACT_SECTIONS: [&str; 5] =
    ["Background", "Decisions & Constraints", "Files & Places", "Done So Far", "Open Ends & Pitfalls"];

/// Returns the first message after the old conversation of which an extract is made. Returns `None` if there is no
/// old message, or no goal.
pub fn cut_for_handoff(shown: &[(MessageSeq, Arc<Message>)], after: MessageSeq) -> Option<MessageSeq> {
    // A summary is shown first, wherever its place in the transcript is.
    let is_new = |(seq, message): &(MessageSeq, Arc<Message>)| {
        *seq > after && !matches!(**message, Message::Summary(_))
    };
    let at = shown.iter().position(is_new).filter(|at| *at > 0)?;
    shown.get(at).map(|(seq, _)| *seq)
}

/// Returns the request to a model for an extract of `old`, for the goal in `new`. `attempt` counts from 0.
pub fn request_for_handoff(
    session: &SessionKey,
    old: &[(MessageSeq, Arc<Message>)],
    new: &[(MessageSeq, Arc<Message>)],
    rules: &Compaction,
    step: u64,
    attempt: u32,
    refused: u32,
) -> ModelRequest {
    let cap = summary_cap(rules, refused);
    let mut system = String::from(
        "You hand the work of an agent over to another one. The other one is given a goal, and sees nothing of the \
         old conversation but what you write. Write down what it needs of it to reach that goal, and leave out what \
         does not matter for it. Keep names, paths, numbers, identifiers and decisions exactly. Do not work on the \
         goal, do not answer the conversation, and ask for no tool. Use these headings, in this order, each with \
         what belongs there, or \"none\":\n",
    );
    for section in EXTRACT_SECTIONS {
        // Writing to a String does not fail.
        let _ = writeln!(system, "## {section}");
    }
    system.push_str(&told_cap(cap));
    let text =
        format!("THE GOAL: {}\n\nTHE OLD CONVERSATION:\n\n{}", said_in(new), render(old, rules, refused));
    ModelRequest {
        session: session.clone(),
        system: Arc::from(system),
        messages: SharedList::from([Arc::new(Message::User(UserMessage::new(text)))]),
        tools: Arc::<[ModelTool]>::from([]),
        max_output_tokens: cap,
        step,
        attempt,
    }
}

fn said_in(messages: &[(MessageSeq, Arc<Message>)]) -> String {
    let said = messages.iter().filter_map(|(_, message)| match &**message {
        Message::User(said) => Some(said.text.as_str()),
        Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    said.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::ids::{SessionId, TenantId};
    use crate::words::message::Summary;

    fn said(seq: u64, text: &str) -> (MessageSeq, Arc<Message>) {
        (MessageSeq(seq), Arc::new(Message::User(UserMessage::new(text))))
    }

    fn summary(seq: u64) -> (MessageSeq, Arc<Message>) {
        let summary = Summary { text: "so far".into(), before: MessageSeq(1), extract: false };
        (MessageSeq(seq), Arc::new(Message::Summary(summary)))
    }

    #[test]
    fn b50_what_stands_before_the_goal_is_old_also_a_summary_that_was_made_later() {
        let shown = [said(1, "a"), said(2, "b"), said(3, "the goal")];
        assert_eq!(cut_for_handoff(&shown, MessageSeq(2)), Some(MessageSeq(3)));
        assert_eq!(cut_for_handoff(&shown, MessageSeq(0)), None, "nothing old");
        assert_eq!(cut_for_handoff(&shown, MessageSeq(3)), None, "no goal");
        let shown = [summary(9), said(2, "b"), said(10, "another goal")];
        assert_eq!(cut_for_handoff(&shown, MessageSeq(2)), Some(MessageSeq(10)));
    }

    #[test]
    fn b50_the_request_names_the_goal_and_shows_the_old_conversation() {
        let shown = [summary(4), said(2, "keep the blue one"), said(5, "paint"), said(6, "the door")];
        let session = SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap());
        let asked = request_for_handoff(&session, &shown[..2], &shown[2..], &Compaction::default(), 7, 0, 0);
        let Message::User(text) = &*asked.messages[0] else { panic!("{asked:?}") };
        assert!(
            text.text.starts_with("THE GOAL: paint\n\nthe door\n\nTHE OLD CONVERSATION:\n\n"),
            "{text:?}"
        );
        assert!(
            text.text.contains("so far") && text.text.ends_with("USER: keep the blue one\n\n"),
            "{text:?}"
        );
        assert!(asked.system.contains("at most 2000 words"), "half of the tokens: {}", asked.system);
        for section in EXTRACT_SECTIONS {
            assert!(asked.system.contains(section));
        }
    }
}
