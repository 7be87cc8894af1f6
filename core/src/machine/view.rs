//! The part of the transcript that the model sees. The transcript itself is never rewritten. Messages that are
//! summarised, taken back or cleared stay in it, and the view says how the model sees them.

use serde::{Deserialize, Serialize};

use crate::store::MessageRange;
use crate::words::history::Shorter;
use crate::words::ids::MessageSeq;
use crate::words::payload::is_default;

/// The messages that the model sees, in order: the summary, the kept messages, and all messages after `after`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct View {
    /// The place of the summary that is shown first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<MessageSeq>,
    /// The messages that are shown after the summary, in order. None of them stands after `after`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<MessageRange>,
    /// All messages after this one are shown.
    #[serde(skip_serializing_if = "is_default")]
    pub after: MessageSeq,
    /// Tool results up to this message are shown as cleared.
    #[serde(skip_serializing_if = "is_default")]
    pub cleared: MessageSeq,
    /// Tool results up to this message are shown only in part.
    #[serde(skip_serializing_if = "is_default")]
    pub in_part: MessageSeq,
    /// The places of the results that are not cleared, oldest first. The agent's rules limit their number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<MessageSeq>,
    /// The number of tokens of the whole view at the last count.
    #[serde(skip_serializing_if = "is_default")]
    pub tokens: u64,
    /// The number of summaries in a row that have failed.
    #[serde(skip_serializing_if = "is_default")]
    pub failures: u32,
}

impl View {
    /// Returns true if the view is as at the beginning: the whole transcript is shown, and nothing is counted yet.
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the places that are shown, in order, of a transcript that ends with `last`.
    pub fn ranges(&self, last: MessageSeq) -> Vec<MessageRange> {
        let summary = self.summary.map(|at| MessageRange::new(at, at));
        let rest = MessageRange::new(self.after.next(), last);
        let rest = (rest.from <= rest.to).then_some(rest);
        summary.into_iter().chain(self.kept.iter().copied()).chain(rest).collect()
    }

    /// Replaces everything that is shown before `from` by the summary at `at`, the newest message.
    pub(crate) fn compact(&mut self, at: MessageSeq, from: MessageSeq, tokens: u64) {
        let shown = Self { summary: None, ..self.clone() }.ranges(MessageSeq(at.0.saturating_sub(1)));
        self.kept = shown
            .into_iter()
            .map(|range| MessageRange::new(range.from.max(from), range.to))
            .filter(|range| range.from <= range.to)
            .collect();
        self.summary = Some(at);
        self.after = at;
        self.tokens = tokens;
        self.failures = 0;
        self.results.retain(|result| *result >= from);
    }

    /// Returns true if the model is shown the message at `seq`, if there is one.
    pub fn shows(&self, seq: MessageSeq) -> bool {
        seq > self.after || self.summary == Some(seq) || self.kept.iter().any(|range| range.contains(seq))
    }

    /// Hides everything after `to` and before `at`, the newest message, from the model.
    pub(crate) fn rewind(&mut self, to: MessageSeq, at: MessageSeq, tokens: u64) {
        let before = MessageSeq(at.0.saturating_sub(1));
        let shown = Self { summary: None, ..self.clone() }.ranges(before);
        self.kept = shown
            .into_iter()
            .map(|range| MessageRange::new(range.from, range.to.min(to)))
            .filter(|range| range.from <= range.to)
            .collect();
        self.after = before;
        self.tokens = tokens;
        self.results.retain(|result| *result <= to);
    }

    /// Shows results shorter from now on.
    pub(super) fn shorten(&mut self, shorter: Shorter) {
        match shorter {
            Shorter::InPart(up_to) => self.in_part = up_to,
            Shorter::Cleared(up_to) => self.add_results(None, Some(up_to)),
        }
    }

    /// Adds the results of a step. Those up to `cleared` are shown as cleared from now on.
    pub(super) fn add_results(&mut self, of_step: Option<MessageRange>, cleared: Option<MessageSeq>) {
        if let Some(range) = of_step {
            self.results.extend((range.from.0..=range.to.0).map(MessageSeq));
        }
        if let Some(cleared) = cleared {
            self.cleared = cleared;
            self.results.retain(|result| *result > cleared);
        }
    }
}

/// Returns the newest result to clear; all before it are cleared, too. `results` are the places of the results in
/// order. If there are more than `over`, all but the newest `kept` are cleared (A33). Returns `None` if none is
/// cleared; if `over` is 0, none ever is.
pub(crate) fn cleared_up_to(results: &[MessageSeq], over: u32, kept: u32) -> Option<MessageSeq> {
    let (over, kept) = (over as usize, kept as usize);
    let clears = over > 0 && results.len() > over;
    clears.then(|| results.len().checked_sub(kept + 1).and_then(|at| results.get(at).copied())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: u64, to: u64) -> MessageRange {
        MessageRange::new(MessageSeq(from), MessageSeq(to))
    }

    #[test]
    fn a_view_that_was_never_cut_is_the_transcript() {
        assert_eq!(View::default().ranges(MessageSeq(0)), []);
        assert_eq!(View::default().ranges(MessageSeq(9)), [range(1, 9)]);
    }

    #[test]
    fn a_summary_stands_first_and_for_all_before_the_cut() {
        let mut view = View::default();
        view.compact(MessageSeq(10), MessageSeq(7), 40);
        assert_eq!(view.ranges(MessageSeq(10)), [range(10, 10), range(7, 9)]);
        assert_eq!(view.ranges(MessageSeq(12)), [range(10, 10), range(7, 9), range(11, 12)]);
        assert_eq!(view.tokens, 40);
        // A new summary replaces the one before it, wherever the cut lies.
        let mut later = view.clone();
        later.compact(MessageSeq(20), MessageSeq(15), 30);
        assert_eq!(later.ranges(MessageSeq(21)), [range(20, 20), range(15, 19), range(21, 21)]);
        view.compact(MessageSeq(20), MessageSeq(8), 30);
        let shown = [range(20, 20), range(8, 9), range(11, 19), range(21, 21)];
        assert_eq!(view.ranges(MessageSeq(21)), shown);
    }

    #[test]
    fn b10_what_is_taken_back_is_shown_no_more_and_a_summary_of_before_stays() {
        let mut view = View::default();
        view.rewind(MessageSeq(3), MessageSeq(8), 5);
        assert_eq!(view.ranges(MessageSeq(9)), [range(1, 3), range(8, 9)]);
        assert!(view.shows(MessageSeq(3)) && !view.shows(MessageSeq(4)) && view.shows(MessageSeq(8)));
        view.rewind(MessageSeq(2), MessageSeq(10), 5);
        assert_eq!(view.ranges(MessageSeq(10)), [range(1, 2), range(10, 10)], "twice");
        let mut view = View::default();
        view.compact(MessageSeq(10), MessageSeq(7), 40);
        view.rewind(MessageSeq(8), MessageSeq(12), 20);
        assert_eq!(view.ranges(MessageSeq(12)), [range(10, 10), range(7, 8), range(12, 12)]);
        let mut view = View::default();
        view.rewind(MessageSeq(0), MessageSeq(5), 0);
        assert_eq!(view.ranges(MessageSeq(5)), [range(5, 5)], "all of it");
    }

    #[test]
    fn a33_old_results_are_cleared_in_one_go_when_there_are_too_many() {
        let results: Vec<MessageSeq> = (1..=16).map(|at| MessageSeq(at * 2)).collect();
        assert_eq!(cleared_up_to(&results[..15], 15, 5), None);
        assert_eq!(cleared_up_to(&results, 15, 5), Some(MessageSeq(22)), "the newest five stay");
        assert_eq!(cleared_up_to(&results, 0, 5), None, "never");
        assert_eq!(cleared_up_to(&results, 15, 16), None, "all stay");
        let mut view = View { results: results[..15].to_vec(), ..View::default() };
        view.add_results(Some(range(32, 32)), Some(MessageSeq(22)));
        assert_eq!(view.results, results[11..]);
        assert_eq!(view.cleared, MessageSeq(22));
    }
}
