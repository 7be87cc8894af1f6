//! Compaction in a run: when what is old is summarised, and what becomes of it.

use super::thinking::After;
use super::{Action, ActionId, Shown, StepIterator, Summarised};
use crate::agent::Compaction;
use crate::compaction::{self, Shorter};
use crate::error::ErrorInfo;
use crate::event::{Event, SummaryCause};
use crate::ids::MessageSeq;
use crate::machine::view::cleared_up_to;
use crate::machine::{AgentState, CompactionCause, Input, Usage};
use crate::message::{Message, Summary};
use crate::model::{ModelError, ModelErrorKind, StopReason};
use crate::store::MessageRange;

impl StepIterator {
    /// What the model would be shown, in tokens.
    pub(super) fn tokens(&self) -> u64 {
        self.mind.machine.view.tokens.saturating_add(self.mind.grown)
    }

    /// Whether a summary comes before the step that is about to begin (A52). Not twice for the same step, and not
    /// after several failures in a row (A69).
    pub(super) fn is_too_long(&self) -> bool {
        let Some(agent) = &self.agent else { return false };
        let (rules, machine) = (&agent.compaction, &self.mind.machine);
        rules.threshold().is_some_and(|threshold| self.tokens() > threshold)
            && machine.view.failures < rules.failures_max
            && machine.turn.compacted != Some(machine.step)
    }

    /// Whether to show less may mend this failure of a model call (B38). While another model is left, one summary is made
    /// for the step, and one that failed may be tried again; the last model is shown less and less, for as often as
    /// [`REFUSALS_MAX`](compaction::REFUSALS_MAX). Fails that too, the turn ends.
    pub(super) fn may_mend(&self, error: &ModelError) -> bool {
        let machine = &self.mind.machine;
        error.kind == ModelErrorKind::ContextLimit
            && self.shortens_unasked()
            && match self.next_model(error.kind) {
                Some(_) => machine.turn.compacted != Some(machine.step) || machine.view.failures > 0,
                None => machine.turn.refused < compaction::REFUSALS_MAX,
            }
    }

    /// Whether what is old may be put in short without anybody asking for it.
    pub(super) fn shortens_unasked(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.compaction.threshold().is_some())
    }

    /// Up to where results are shown as cleared, now that those of a step stand here.
    pub(super) fn clears(&self, rules: &Compaction, of_step: Option<MessageRange>) -> Option<MessageSeq> {
        let of_step = of_step.into_iter().flat_map(|range| (range.from.0..=range.to.0).map(MessageSeq));
        let results: Vec<MessageSeq> =
            self.mind.machine.view.results.iter().copied().chain(of_step).collect();
        cleared_up_to(&results, rules.clear_results_over, rules.kept_results)
    }

    /// Asks for the summary, if it is not asked for already.
    pub(super) fn compact(&mut self) -> bool {
        // Of a turn that is open this was asked when the run began.
        if !self.mind.machine.turn.open
            && let Some(error) = self.doom()
        {
            return self.give_up_summary(error);
        }
        self.commit_if_due();
        if self.is_held() || (self.is_sync() && self.writing.is_some()) || self.summarising.is_some() {
            return false;
        }
        let Some(agent) = &self.agent else { return false };
        let threshold = agent.compaction.threshold().unwrap_or(0);
        let AgentState::Compacting { why, step, attempt } = &self.mind.machine.state else { return false };
        let (cause, step) = (cause_of(why), *step);
        // The attempts of a step that was too long are not those of its summary.
        let attempt = if cause == SummaryCause::Handoff { *attempt } else { 0 };
        let model = self.mind.machine.turn.model;
        self.emit(Event::CompactionStarted { tokens: self.tokens(), threshold, cause });
        let id = self.next_id();
        self.summarising = Some(id);
        let asked = cause == SummaryCause::Asked;
        let handoff = self.mind.machine.handoff.map(|handoff| handoff.after);
        let handoff = handoff.filter(|_| cause == SummaryCause::Handoff);
        let shown = self.shown();
        let refused = self.mind.machine.turn.refused;
        self.actions.push_back(Action::Summarise {
            id,
            step,
            model,
            asked,
            refused,
            handoff,
            attempt,
            shown,
        });
        false
    }

    /// The summary that somebody asked for at rest is not made. The session rests as before; what was said meanwhile is
    /// for the next run.
    fn give_up_summary(&mut self, error: ErrorInfo) -> bool {
        let (tokens, usage) = (self.tokens(), Usage::default());
        self.emit(Event::CompactionEnded {
            before: tokens,
            after: tokens,
            usage,
            error: Some(error.clone()),
            cause: SummaryCause::Asked,
        });
        self.mind.draft.decided = true;
        self.feed(not_compacted(Some(error), usage, After::default()));
        self.leave_as_it_was();
        true
    }

    pub(super) fn on_summarised(
        &mut self,
        id: ActionId,
        result: Result<Option<Summarised>, ModelError>,
        shorter: Option<Shorter>,
    ) {
        let AgentState::Compacting { why, attempt, .. } = &self.mind.machine.state else { return };
        if self.summarising != Some(id) {
            return;
        }
        self.summarising = None;
        let (cause, attempt) = (cause_of(why), *attempt);
        let extract = cause == SummaryCause::Handoff;
        let refused = match why {
            CompactionCause::ContextLimit { error } => Some(error.clone()),
            CompactionCause::Threshold | CompactionCause::Manual { .. } | CompactionCause::Handoff => None,
        };
        let before = self.tokens();
        let usage = match &result {
            Ok(Some(made)) => self.usage_of(made.usage),
            Ok(None) => Usage::default(),
            Err(error) => self.usage_of_broken_summary(error.used),
        };
        let last_resort = refused.is_some() && self.next_model(ModelErrorKind::ContextLimit).is_none();
        let made = result.and_then(|made| made.map(|made| usable(made, last_resort)).transpose());
        let (input, after, error) = match made {
            Ok(Some(made)) => {
                // Not every provider counts.
                let new_tokens = made.usage.output.max(compaction::estimate(made.text.len()));
                let tokens = before.saturating_sub(made.old_tokens).saturating_add(new_tokens);
                let from = made.before;
                let summary =
                    self.append(Message::Summary(Summary { text: made.text, before: from, extract }));
                self.mind.grown = 0;
                (Input::Compacted { summary, from, tokens, before, usage }, tokens, None)
            }
            Ok(None) => {
                let dead_end = refused.as_ref().map(compaction::dead_end);
                let next = self.falls_back(refused);
                // What another model may read whole is not shown shorter.
                let shorter = shorter.filter(|_| !next && self.mind.machine.turn.refused > 0);
                let dead_end = dead_end.filter(|_| !next && shorter.is_none());
                let (retry_at, held_until) = (None, None);
                let input =
                    Input::NotCompacted { error: None, usage, retry_at, held_until, shorter, dead_end, next };
                (input, before, None)
            }
            // A turn goes on without a summary; a handoff is nothing without its extract.
            Err(error) if extract => {
                let after = self.after_failure(&error, attempt);
                let error = Some(ErrorInfo::from(&error));
                (not_compacted(error.clone(), usage, after), before, error)
            }
            Err(error) => {
                let error = ErrorInfo::from(&error);
                let next = self.falls_back(refused.clone());
                let refused = refused.filter(|_| !next);
                let shorter = shorter.filter(|_| refused.is_some());
                let dead_end = refused.filter(|_| shorter.is_none());
                let dead_end = dead_end.map(|refused| compaction::not_summarised(&refused, &error));
                let (retry_at, held_until, error) = (None, None, Some(error));
                let input = Input::NotCompacted {
                    error: error.clone(),
                    usage,
                    retry_at,
                    held_until,
                    shorter,
                    dead_end,
                    next,
                };
                (input, before, error)
            }
        };
        self.emit(Event::CompactionEnded { before, after, usage, error, cause });
        self.mind.draft.decided = true;
        self.feed(input);
    }

    /// Whether another model is asked, now that nothing was summarised and this one has `refused` what it would be shown as
    /// too long. Says so.
    fn falls_back(&mut self, refused: Option<ErrorInfo>) -> bool {
        let Some(error) = refused else { return false };
        let next = self.next_model(ModelErrorKind::ContextLimit);
        let falls_back = next.is_some();
        if let Some(model) = next {
            self.emit(Event::FellBack { model, error });
        }
        falls_back
    }

    /// What the model is shown.
    pub(super) fn shown(&self) -> Shown {
        let view = &self.mind.machine.view;
        Shown {
            ranges: view.ranges(self.mind.last_message),
            claimed: self.claimed_messages,
            added: self.mind.added.clone(),
            cleared: view.cleared,
            in_part: view.in_part,
        }
    }
}

fn not_compacted(error: Option<ErrorInfo>, usage: Usage, after: After) -> Input {
    let After { retry_at, held_until, next } = after;
    Input::NotCompacted { error, usage, retry_at, held_until, shorter: None, dead_end: None, next }
}

/// What stands at the end of a summary that is taken although it was cut off.
const CUT_OFF: &str = "\n[this summary was cut off here]";

/// A summary that can stand for what is old: one that is whole and says something. As a `last_resort`, where without it no
/// model could be shown the session any more, one that was cut off is taken too.
fn usable(mut made: Summarised, last_resort: bool) -> Result<Summarised, ModelError> {
    let unusable = |kind, why| Err(ModelError::new(kind, why));
    match made.stop {
        StopReason::Refusal => unusable(ModelErrorKind::Declined, "the model refused to write the summary"),
        StopReason::MaxTokens if last_resort && !made.text.trim().is_empty() => {
            made.text.push_str(CUT_OFF);
            Ok(made)
        }
        StopReason::MaxTokens => {
            unusable(ModelErrorKind::CutOff, "the summary ran into the cap on tokens, and ends in the middle")
        }
        StopReason::EndTurn | StopReason::ToolUse if made.text.trim().is_empty() => {
            unusable(ModelErrorKind::Malformed, "the summary was empty")
        }
        StopReason::EndTurn | StopReason::ToolUse => Ok(made),
    }
}

fn cause_of(why: &CompactionCause) -> SummaryCause {
    match why {
        CompactionCause::Threshold | CompactionCause::ContextLimit { .. } => SummaryCause::TooLong,
        CompactionCause::Manual { .. } => SummaryCause::Asked,
        CompactionCause::Handoff => SummaryCause::Handoff,
    }
}
