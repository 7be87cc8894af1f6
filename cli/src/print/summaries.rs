//! Describes summaries, and the extracts of handoffs.

use holdover_core::error::ErrorInfo;
use holdover_core::event::SummaryCause;

use super::counted;

/// Describes the start of a summary, in short.
pub(super) fn begins(tokens: u64, threshold: u64, cause: SummaryCause) -> String {
    match cause {
        SummaryCause::Handoff => "what matters for the goal is extracted".to_owned(),
        SummaryCause::TooLong | SummaryCause::Asked if tokens > threshold && threshold > 0 => {
            format!("older messages are summarised: {tokens} tokens are too many")
        }
        SummaryCause::TooLong | SummaryCause::Asked => "older messages are summarised".to_owned(),
    }
}

/// Describes the start of a summary, with all its numbers.
pub(super) fn begins_at(tokens: u64, threshold: u64, cause: SummaryCause) -> String {
    match cause {
        SummaryCause::Handoff => {
            format!("what matters for the goal is extracted from {}", counted(tokens, "token"))
        }
        SummaryCause::TooLong | SummaryCause::Asked => {
            let tokens = counted(tokens, "token");
            format!("older messages are summarised: {tokens}, the threshold is {threshold}")
        }
    }
}

/// Describes a finished summary by the number of tokens that the model gets before and after it.
pub(super) fn made(before: u64, after: u64, cause: SummaryCause) -> String {
    match cause {
        SummaryCause::Handoff => format!("handed over: {} became {after}", counted(before, "token")),
        SummaryCause::TooLong | SummaryCause::Asked if before == after => {
            "nothing is old enough to be summarised".to_owned()
        }
        SummaryCause::TooLong | SummaryCause::Asked => {
            format!("summarised: {} became {after}", counted(before, "token"))
        }
    }
}

/// Describes a failed summary, with the reason.
pub(super) fn failed(error: &ErrorInfo, cause: SummaryCause) -> String {
    match cause {
        SummaryCause::Handoff => format!("no extract: {error}"),
        SummaryCause::TooLong | SummaryCause::Asked => format!("no summary: {error}"),
    }
}
