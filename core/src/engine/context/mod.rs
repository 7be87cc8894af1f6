//! The context of a handler: all data that it may read and change. Writes on their way to the store are not part of
//! it.

use crate::engine::action::{Action, ActionId};
use crate::engine::calls::CallsHandler;
use crate::engine::children::ChildrenHandler;
use crate::engine::compaction::summarising::CompactionHandler;
use crate::engine::context::end::End;
use crate::engine::context::out::{Out, PlanOut};
use crate::engine::context::output::Output;
use crate::engine::context::past::Past;
use crate::engine::context::run::Run;
use crate::engine::gate::GateHandler;
use crate::engine::inbox::InboxHandler;
use crate::engine::mind::Mind;
use crate::engine::model::ModelHandler;
use crate::engine::plan::PlanHandler;
use crate::engine::steering::SteeringHandler;
use crate::engine::turn::TurnHandler;
use crate::machine::format::STATE_FORMAT_LED;
use crate::store::MessageRange;
use crate::words::ids::{InboxSeq, StateFormat};

pub(crate) mod end;
pub(crate) mod feed;
pub(crate) mod out;
pub(crate) mod output;
pub(crate) mod past;
pub(crate) mod run;
pub(crate) mod telling;
pub(crate) mod transcript;

/// The context of a handler: all data that it may read and change.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) run: Run,
    /// The decisions so far.
    pub(crate) mind: Mind,
    pub(crate) out: Out,
    /// The code that plans the session, in this run.
    pub(crate) code: PlanOut,
    pub(crate) past: Past,
    pub(crate) output: Output,
    pub(crate) end: End,
}

impl Context {
    /// Returns the oldest format of the state bytes whose readers can go on with the session.
    pub(crate) fn format(&self) -> StateFormat {
        // An agent with a procedure withholds tools even before the work begins.
        let follows = self.run.agent.as_ref().is_some_and(|agent| agent.procedure.is_some());
        let format = self.mind.format();
        if follows { format.max(STATE_FORMAT_LED) } else { format }
    }

    pub(crate) fn inbox(&mut self) -> InboxHandler<'_> {
        InboxHandler { cx: self }
    }

    pub(crate) fn model(&mut self) -> ModelHandler<'_> {
        ModelHandler { cx: self }
    }

    pub(crate) fn plan(&mut self) -> PlanHandler<'_> {
        PlanHandler { cx: self }
    }

    pub(crate) fn gate(&mut self) -> GateHandler<'_> {
        GateHandler { cx: self }
    }

    pub(crate) fn calls(&mut self) -> CallsHandler<'_> {
        CallsHandler { cx: self }
    }

    pub(crate) fn children(&mut self) -> ChildrenHandler<'_> {
        ChildrenHandler { cx: self }
    }

    pub(crate) fn compaction(&mut self) -> CompactionHandler<'_> {
        CompactionHandler { cx: self }
    }

    pub(crate) fn steering(&mut self) -> SteeringHandler<'_> {
        SteeringHandler { cx: self }
    }

    pub(crate) fn turn(&mut self) -> TurnHandler<'_> {
        TurnHandler { cx: self }
    }

    pub(crate) fn read(&mut self, messages: Vec<MessageRange>, after: InboxSeq, interrupt: bool) -> ActionId {
        let id = self.output.next_id();
        self.output.push(Action::Read { id, messages, inbox_after: after, interrupt });
        id
    }
}
