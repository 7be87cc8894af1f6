//! Compaction in a run: requests summaries of old messages, and takes the results.

use crate::engine::action::{Action, ActionId, Shown};
use crate::engine::compaction;
use crate::engine::context::Context;
use crate::engine::context::out::ModelOut;
use crate::engine::context::run::Run;
use crate::engine::mind::Mind;
use crate::engine::model::After;
use crate::engine::reply::Summarised;
use crate::machine::view::cleared_up_to;
use crate::machine::{AgentState, CompactionCause};
use crate::store::MessageRange;
use crate::words::agent::Compaction;
use crate::words::error::ErrorInfo;
use crate::words::event::{Event, SummaryCause};
use crate::words::history::{Input, Shorter};
use crate::words::ids::MessageSeq;
use crate::words::letter::LetterCause;
use crate::words::message::{Message, Summary};
use crate::words::model::{ModelError, ModelErrorKind, StopReason};
use crate::words::usage::Usage;

/// The handler of compaction.
pub(crate) struct CompactionHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

impl Mind {
    /// Returns the number of tokens that the model would see.
    pub(crate) fn tokens(&self) -> u64 {
        self.machine.view.tokens.saturating_add(self.transcript.grown)
    }

    /// Returns the place up to which results are to be cleared, or `None` if none are. `of_step` are the places of
    /// the results of the step that has ended, if any.
    pub(crate) fn clears(&self, rules: &Compaction, of_step: Option<MessageRange>) -> Option<MessageSeq> {
        let of_step = of_step.into_iter().flat_map(|range| (range.from.0..=range.to.0).map(MessageSeq));
        let results: Vec<MessageSeq> = self.machine.view.results.iter().copied().chain(of_step).collect();
        cleared_up_to(&results, rules.clear_results_over, rules.kept_results)
    }
}

impl Run {
    /// Returns true if old messages may be summarised automatically.
    pub(crate) fn shortens_unasked(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.compaction.threshold().is_some())
    }
}

impl CompactionHandler<'_> {
    /// Requests the summary, unless it was requested already. Returns false, because the reply must come first.
    pub(crate) fn ask(&mut self) -> bool {
        if self.cx.out.model.is_summarising() {
            return false;
        }
        let Some(agent) = &self.cx.run.agent else { return false };
        let threshold = agent.compaction.threshold().unwrap_or(0);
        let AgentState::Compacting { why, step, attempt } = &self.cx.mind.machine.state else { return false };
        let (cause, step) = (cause_of(why), *step);
        // The attempts of a step that was too long do not count for its summary.
        let attempt = if cause == SummaryCause::Handoff { *attempt } else { 0 };
        let model = self.cx.mind.machine.turn.model;
        self.cx.mind.emit(Event::CompactionStarted { tokens: self.cx.mind.tokens(), threshold, cause });
        let id = self.cx.output.next_id();
        self.cx.out.model = ModelOut::Summarising(id);
        let asked = cause == SummaryCause::Asked;
        let handoff = self.cx.mind.machine.handoff.map(|handoff| handoff.after);
        let handoff = handoff.filter(|_| cause == SummaryCause::Handoff);
        let shown = self.cx.shown();
        let refused = self.cx.mind.machine.turn.refused;
        self.cx.output.push(Action::Summarise { id, step, model, asked, refused, handoff, attempt, shown });
        false
    }

    /// Gives up a summary that was requested at rest. The session rests as before. Messages that came meanwhile are
    /// left to the next run.
    pub(crate) fn give_up_summary(&mut self, error: ErrorInfo) -> bool {
        let (tokens, usage) = (self.cx.mind.tokens(), Usage::default());
        self.cx.mind.emit(Event::CompactionEnded {
            before: tokens,
            after: tokens,
            usage,
            error: Some(error.clone()),
            cause: SummaryCause::Asked,
        });
        self.cx.mind.draft.decided = true;
        self.cx.feed(not_compacted(Some(error), usage, After::default()));
        self.cx.turn().leave_as_it_was();
        true
    }

    pub(crate) fn on_summarised(
        &mut self,
        id: ActionId,
        result: Result<Option<Summarised>, ModelError>,
        shorter: Option<Shorter>,
    ) {
        let AgentState::Compacting { why, attempt, .. } = &self.cx.mind.machine.state else { return };
        if !self.cx.out.model.summarised(id) {
            return;
        }
        let (cause, attempt) = (cause_of(why), *attempt);
        let extract = cause == SummaryCause::Handoff;
        let refused = match why {
            CompactionCause::ContextLimit { error } => Some(error.clone()),
            CompactionCause::Threshold | CompactionCause::Manual { .. } | CompactionCause::Handoff => None,
        };
        let before = self.cx.mind.tokens();
        let usage = match &result {
            Ok(Some(made)) => self.cx.usage_of(made.usage),
            Ok(None) => Usage::default(),
            Err(error) => self.cx.usage_of_broken_summary(error.used),
        };
        let last_resort =
            refused.is_some() && self.cx.model().next_model(ModelErrorKind::ContextLimit).is_none();
        let made = result.and_then(|made| made.map(|made| usable(made, last_resort)).transpose());
        let mut letter = None;
        let (input, after, error) = match made {
            Ok(Some(made)) => {
                // Some providers do not count tokens.
                let new_tokens = made.usage.output.max(compaction::estimate(made.text.len()));
                let tokens = before.saturating_sub(made.old_tokens).saturating_add(new_tokens);
                let from = made.before;
                let summary =
                    self.cx.append(Message::Summary(Summary { text: made.text, before: from, extract }));
                self.cx.mind.transcript.grown = 0;
                (Input::Compacted { summary, from, tokens, before, usage }, tokens, None)
            }
            Ok(None) => {
                let dead_end = refused.as_ref().map(compaction::dead_end);
                let next = self.falls_back(refused);
                // Results are not shortened if the next model may be able to read them whole.
                let shorter = shorter.filter(|_| !next && self.cx.mind.machine.turn.refused > 0);
                let dead_end = dead_end.filter(|_| !next && shorter.is_none());
                let (retry_at, held_until) = (None, None);
                let input =
                    Input::NotCompacted { error: None, usage, retry_at, held_until, shorter, dead_end, next };
                (input, before, None)
            }
            // A turn goes on without a summary, but a handoff needs its extract.
            Err(error) if extract => {
                let after = self.cx.model().after_failure(&error, attempt);
                let ran_out = after.retry_at.is_none() && !after.next && self.cx.model().may_pass(&error);
                let error = Some(ErrorInfo::from(&error));
                letter = error.clone().filter(|_| ran_out);
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
        self.cx.mind.emit(Event::CompactionEnded { before, after, usage, error, cause });
        self.cx.mind.draft.decided = true;
        self.cx.feed(input);
        if let Some(error) = letter {
            self.cx.leave_letter(LetterCause::Retries, error, attempt.saturating_add(1));
        }
    }

    /// Returns true if another model is asked, because nothing was summarised and this model `refused` the messages
    /// as too long. Reports the change.
    fn falls_back(&mut self, refused: Option<ErrorInfo>) -> bool {
        let Some(error) = refused else { return false };
        let next = self.cx.model().next_model(ModelErrorKind::ContextLimit);
        let falls_back = next.is_some();
        if let Some(model) = next {
            self.cx.mind.emit(Event::FellBack { model, error });
        }
        falls_back
    }
}

impl Context {
    /// Returns the messages that the model sees.
    pub(crate) fn shown(&self) -> Shown {
        let view = &self.mind.machine.view;
        Shown {
            ranges: view.ranges(self.mind.transcript.last),
            claimed: self.run.claimed,
            added: self.mind.transcript.added.clone(),
            cleared: view.cleared,
            in_part: view.in_part,
        }
    }
}

fn not_compacted(error: Option<ErrorInfo>, usage: Usage, after: After) -> Input {
    let After { retry_at, held_until, next } = after;
    Input::NotCompacted { error, usage, retry_at, held_until, shorter: None, dead_end: None, next }
}

/// The text at the end of a summary that is accepted although it was cut off.
const CUT_OFF: &str = "\n[this summary was cut off here]";

/// Returns a summary if it can replace old messages: it must be complete and not empty. A summary that was cut off
/// is accepted as a `last_resort`, if no model could read the session without it.
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
