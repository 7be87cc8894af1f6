//! Summarises old results before they are cleared (requirement A34).
//!
//! A run does not wait for a summary. It requests summaries when results are to be cleared, and goes on with these
//! results still shown. It clears them at the first steering after the answer, or at the end of the turn. So the
//! text of a result changes only once for the model. A result that has no summary by then is shown as the marker
//! for ever.

use crate::engine::action::{Action, ActionId};
use crate::engine::compaction;
use crate::engine::compaction::summarising::CompactionHandler;
use crate::engine::reply::{Shortened, ShortenedInVain};
use crate::store::MessageRange;
use crate::words::agent::Compaction;
use crate::words::ids::MessageSeq;
use crate::words::message::{InShort, Message, Notice};
use crate::words::usage::Usage;

/// The state of the summaries of results that are to be cleared.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Shortening {
    #[default]
    Unasked,
    Asked(ActionId, MessageSeq),
    /// The place up to which results are cleared, the summaries, and the usage of the failed ones.
    Heard(MessageSeq, Vec<Shortened>, Usage),
}

impl CompactionHandler<'_> {
    /// Returns the place up to which results are cleared at this steering, and the usage of their summaries. `ends`
    /// is true if the turn ends at this steering.
    pub(crate) fn clear_results(
        &mut self,
        rules: &Compaction,
        of_step: Option<MessageRange>,
        ends: bool,
    ) -> (Option<MessageSeq>, Usage) {
        let due = self.cx.mind.clears(rules, of_step);
        if !rules.summarises_results() {
            return (due, Usage::default());
        }
        match (std::mem::take(&mut self.cx.mind.shortening), due) {
            (Shortening::Heard(up_to, made, in_vain), _) => {
                let mut usage = self.keep_in_short(&made);
                usage.add(in_vain);
                (Some(up_to), usage)
            }
            (Shortening::Asked(_, up_to), _) if ends => (Some(up_to), Usage::default()),
            (asked @ Shortening::Asked(..), _) => {
                self.cx.mind.shortening = asked;
                (None, Usage::default())
            }
            // The results stay as they are: the next run requests the summaries.
            (Shortening::Unasked, Some(_)) if !ends && self.cx.end.starts_nothing() => {
                (None, Usage::default())
            }
            (Shortening::Unasked, Some(up_to)) if !ends => {
                self.ask_in_short(up_to, of_step);
                (None, Usage::default())
            }
            (Shortening::Unasked, due) => (due, Usage::default()),
        }
    }

    fn ask_in_short(&mut self, up_to: MessageSeq, of_step: Option<MessageRange>) {
        let of_step = of_step.into_iter().flat_map(|range| (range.from.0..=range.to.0).map(MessageSeq));
        let known = self.cx.mind.machine.view.results.iter().copied();
        let results = known.chain(of_step).filter(|seq| *seq <= up_to).collect();
        let id = self.cx.output.next_id();
        self.cx.mind.shortening = Shortening::Asked(id, up_to);
        let (step, model) = (self.cx.mind.machine.step, self.cx.mind.machine.turn.model);
        self.cx.output.push(Action::Shorten { id, step, model, results, shown: self.cx.shown() });
    }

    pub(crate) fn on_shortened(&mut self, id: ActionId, made: Vec<Shortened>, in_vain: &[ShortenedInVain]) {
        if let Shortening::Asked(of, up_to) = self.cx.mind.shortening
            && of == id
        {
            let mut usage = Usage::default();
            in_vain.iter().for_each(|broken| usage.add(self.cx.usage_of_broken_short(broken)));
            self.cx.mind.shortening = Shortening::Heard(up_to, made, usage);
        }
    }

    /// Adds the summaries to the transcript, so that the same texts are shown from now on. Returns their usage.
    fn keep_in_short(&mut self, made: &[Shortened]) -> Usage {
        let mut usage = Usage::default();
        made.iter().for_each(|short| usage.add(self.cx.usage_of(short.usage)));
        let kept = |short: &Shortened| {
            let text = compaction::bounded(&short.text).filter(|_| short.stop.is_whole())?;
            Some(InShort { of: short.of, text })
        };
        let in_short: Vec<InShort> = made.iter().filter_map(kept).collect();
        if !in_short.is_empty() {
            let text = format!("old results shown in short: {}", in_short.len());
            self.cx.append(Message::Notice(Notice { in_short, ..Notice::new(text) }));
        }
        usage
    }
}
