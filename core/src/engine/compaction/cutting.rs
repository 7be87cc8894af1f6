//! Decides where to cut the transcript, and what else to show shorter when a provider refuses it as too long
//! (requirements A33, A67, B38).

use std::sync::Arc;

use super::{SUMMARY_TOKENS_MIN, tokens_of, worth_clearing};
use crate::engine::Shown;
use crate::words::agent::Compaction;
use crate::words::error::ErrorInfo;
use crate::words::history::Shorter;
use crate::words::ids::MessageSeq;
use crate::words::message::Message;

/// A provider may refuse one step so often as too long, each time after something was shown shorter; then the turn ends.
pub const REFUSALS_MAX: u32 = 6;

/// Of a result that is shown in part, because a provider refused the whole, so many characters stay.
pub const PART_CHARS: usize = 1_000;

/// So much of what a provider says stays before the ways out.
const DETAIL_CHARS: usize = 1_000;

/// Where to cut what the model is shown: what stands before this message is summarised. None: nothing is old enough.
///
/// It is cut before a user message, so that the newest `kept_turns` of them stay with all that follows. Where these
/// are still more than half of the threshold, fewer stay; where one alone is, it is cut before one of the newest
/// `kept_turns` steps, and so it is where somebody asked for it. Never between a call and its result.
///
/// `refused`: how often a provider has refused the step as too long, whatever the threshold says. Then no more than half
/// of what is shown stays, from the second time on the newest turn alone, or its newest step.
pub fn cut(
    shown: &[(MessageSeq, Arc<Message>)],
    rules: &Compaction,
    asked: bool,
    refused: u32,
) -> Option<MessageSeq> {
    // How many tokens stand from each message on.
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
    // A summary that stands first is made anew from itself: alone it is nothing old, unless it is what is too long.
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
        // The first of the newest turns fits, and there is nothing before it.
        Some(at) if *at > oldest => *at,
        Some(_) if !asked || all_steps.len() <= kept => return None,
        Some(_) | None => *steps.iter().find(fits).or(steps.last().max(said.last()))?,
    };
    (at > oldest).then(|| shown.get(at).map(|(seq, _)| *seq)).flatten()
}

/// What can be shown shorter of the `messages` that are shown: first results in part, then none. None: nothing.
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

/// The error of a turn that no model can be shown any shorter: what the provider said, and the ways out.
pub fn dead_end(error: &ErrorInfo) -> ErrorInfo {
    let detail = format!(
        "{}; nothing older is left to put in short: say the newest message shorter in its place, go on in a fork from \
         before it, or use a model with a longer context, shorter instructions or a smaller limits.max_output_tokens",
        in_brief(error)
    );
    ErrorInfo { detail, ..error.clone() }
}

/// The error of a turn that is too long where nothing is put in short unasked: what the provider said, and the ways out.
pub fn kept_long(error: &ErrorInfo) -> ErrorInfo {
    let detail = format!(
        "{}; compaction.threshold_percent is 0, so nothing is put in short unasked: ask for it (compact) and retry, set a \
         threshold, or use a model with a longer context",
        in_brief(error)
    );
    ErrorInfo { detail, ..error.clone() }
}

/// The error of a turn that no model can be shown any shorter because no summary could be made: what the provider said, and
/// why there is none.
pub fn not_summarised(error: &ErrorInfo, why: &ErrorInfo) -> ErrorInfo {
    let (said, why) = (in_brief(error), format!("{}: {}", why.code, in_brief(why)));
    let detail = format!(
        "{said}; what is older could not be put in short ({why}): try the turn again, or use a model with a longer context"
    );
    ErrorInfo { detail, ..error.clone() }
}

/// Whatever a provider says, room is left for the ways out.
fn in_brief(error: &ErrorInfo) -> String {
    error.detail.chars().take(DETAIL_CHARS).collect()
}
