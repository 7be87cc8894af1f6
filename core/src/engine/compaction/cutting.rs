//! Decides where to cut the transcript, and which results to shorten when a provider refuses it as too long
//! (requirements A33, A67, B38).

use std::sync::Arc;

use super::{SUMMARY_TOKENS_MIN, tokens_of, worth_clearing};
use crate::engine::Shown;
use crate::words::agent::Compaction;
use crate::words::error::ErrorInfo;
use crate::words::history::Shorter;
use crate::words::ids::MessageSeq;
use crate::words::message::Message;

/// The number of times that a model may refuse one step as too long. Each time something more is shortened. After
/// that, the turn ends.
pub const REFUSALS_MAX: u32 = 6;

/// The number of characters that stay of a result that is shown in part. Results are shown in part after a provider
/// refused the request as too long.
pub(crate) const PART_CHARS: usize = 1_000;

/// The most characters of a provider's error that are kept before the suggestions.
const DETAIL_CHARS: usize = 1_000;

/// Returns the first message after the cut: all shown messages before it are summarised. Returns `None` if no
/// message is old enough.
///
/// The cut lies before a user message, so that the newest `kept_turns` user messages stay with everything that
/// follows them. If these are more than half of the threshold, fewer stay. If even the newest one is, the cut lies
/// before one of the newest `kept_turns` steps. If `asked`, it also lies there if nothing is older than the user
/// messages. The cut never lies between a call and its result.
///
/// `refused` is the number of times that a provider refused the step as too long. After one refusal, the messages
/// that stay have at most half of all tokens; after a second one, at most the newest turn or its newest step stays.
pub fn cut(
    shown: &[(MessageSeq, Arc<Message>)],
    rules: &Compaction,
    asked: bool,
    refused: u32,
) -> Option<MessageSeq> {
    // The number of tokens from each message to the end.
    let mut from: Vec<u64> = shown
        .iter()
        .rev()
        .scan(0_u64, |sum, (_, message)| {
            *sum = sum.saturating_add(tokens_of(message));
            Some(*sum)
        })
        .collect();
    from.reverse();
    let half = from.first().copied().unwrap_or_default() / 2;
    let allowed = rules.threshold().unwrap_or(rules.context_tokens) / 2;
    let room = if refused > 0 { allowed.min(half) } else { allowed };
    let kept = if refused > 1 { 1 } else { (rules.kept_turns as usize).max(1) };
    // A summary at the beginning is summarised again only with later messages, unless it alone is too long.
    let is_old = |(_, first): &(MessageSeq, Arc<Message>)| match **first {
        Message::Summary(_) => refused > 0 && tokens_of(first) > half.max(SUMMARY_TOKENS_MIN.into()),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Notice(_) => true,
    };
    let oldest = usize::from(!shown.first().is_none_or(is_old));
    let places = |is: fn(&Message) -> bool| -> Vec<usize> {
        shown.iter().enumerate().filter(|(_, (_, message))| is(message)).map(|(at, _)| at).collect()
    };
    let newest = |places: &[usize]| places[places.len().saturating_sub(kept)..].to_vec();
    let said = newest(&places(|message| matches!(message, Message::User(_))));
    let all_steps = places(|message| matches!(message, Message::Assistant(_)));
    let steps = newest(&all_steps);
    let fits = |at: &&usize| from.get(**at).is_some_and(|tokens| *tokens <= room);
    let at = match said.iter().find(fits) {
        Some(at) if *at > oldest => *at,
        // The oldest turn that is kept fits, and nothing is older.
        Some(_) if !asked || all_steps.len() <= kept => return None,
        Some(_) | None => *steps.iter().find(fits).or(steps.last().max(said.last()))?,
    };
    (at > oldest).then(|| shown.get(at).map(|(seq, _)| *seq)).flatten()
}

/// Returns the next way to shorten the shown `messages`: first results are shown in part, then they are cleared.
/// Returns `None` if nothing can be shortened.
pub fn shorter(messages: &[(MessageSeq, Arc<Message>)], shown: &Shown) -> Option<Shorter> {
    let results = messages.iter().filter_map(|(seq, message)| match &**message {
        Message::Tool(result) if *seq > shown.cleared => Some((*seq, result)),
        Message::Tool(_)
        | Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    let newest = shown.newest();
    let in_part = results.clone().any(|(seq, result)| {
        seq > shown.in_part
            && result.content.len() > PART_CHARS
            && result.content.chars().count() > PART_CHARS
    });
    if in_part {
        return Some(Shorter::InPart(newest));
    }
    results.clone().any(|(_, result)| worth_clearing(result)).then_some(Shorter::Cleared(newest))
}

/// Returns the error of a turn that cannot be shortened further: the provider's error, and suggestions.
pub(crate) fn dead_end(error: &ErrorInfo) -> ErrorInfo {
    let detail = format!(
        "{}; nothing older is left to put in short: say the newest message shorter in its place, go on in a fork from \
         before it, or use a model with a longer context, shorter instructions or a smaller limits.max_output_tokens",
        in_brief(error)
    );
    ErrorInfo { detail, ..error.clone() }
}

/// Returns the error of a turn that is too long while automatic summaries are off: the provider's error, and
/// suggestions.
pub(crate) fn kept_long(error: &ErrorInfo) -> ErrorInfo {
    let detail = format!(
        "{}; compaction.threshold_percent is 0, so nothing is put in short unasked: ask for it (compact) and retry, set a \
         threshold, or use a model with a longer context",
        in_brief(error)
    );
    ErrorInfo { detail, ..error.clone() }
}

/// Returns the error of a turn that is too long because no summary could be made: the provider's error, and why
/// there is no summary.
pub(crate) fn not_summarised(error: &ErrorInfo, why: &ErrorInfo) -> ErrorInfo {
    let (said, why) = (in_brief(error), format!("{}: {}", why.code, in_brief(why)));
    let detail = format!(
        "{said}; what is older could not be put in short ({why}): try the turn again, or use a model with a longer context"
    );
    ErrorInfo { detail, ..error.clone() }
}

/// Shortens a provider's error, so that there is room for the suggestions.
fn in_brief(error: &ErrorInfo) -> String {
    error.detail.chars().take(DETAIL_CHARS).collect()
}
