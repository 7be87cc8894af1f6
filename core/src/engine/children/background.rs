//! Begins background children when a call or a request from outside asks for them.

use crate::engine::action::{Action, ActionId};
use crate::engine::calls::results::result;
use crate::engine::children::ChildrenHandler;
use crate::machine::steering::is_spent;
use crate::machine::{Call, CallState};
use crate::store::{ItemKind, Release, SessionStatus, StoredItem};
use crate::words::agent::ChildRules;
use crate::words::background::{BACKGROUND_MAX, Background, ChildSignal, ChildTool, Terms, task_of};
use crate::words::children::{Allowance, ChildNames, ChildPlan, Tasks};
use crate::words::event::Event;
use crate::words::history::{CallInput, Input};
use crate::words::ids::{CallId, InboxSeq, PendingId, ToolName};
use crate::words::message::ResultStatus;
use crate::words::tool::ResourceProfile;

/// A request from outside for a background child.
pub(crate) struct Request {
    item: InboxSeq,
    pending: PendingId,
    agent: ToolName,
    task: String,
    terms: Terms,
}

impl Request {
    /// Returns the sequence number of the request in the inbox.
    pub(crate) fn seq(&self) -> InboxSeq {
        self.item
    }

    fn of(item: &StoredItem) -> Option<Self> {
        if !matches!(item.kind, ItemKind::Signal { .. }) {
            return None;
        }
        let ChildSignal::BeginChild { pending, agent, task, quiet, detached } = item.payload.parse().ok()?;
        let terms = Terms { quiet, detached, share: Allowance::default() };
        Some(Self { item: item.seq, pending, agent, task, terms })
    }

    fn child(&self) -> Background {
        Background {
            agent: self.agent.clone(),
            pending: self.pending.clone(),
            index: 0,
            terms: self.terms,
            owes: task_of(&self.pending).into_iter().collect(),
        }
    }
}

/// Returns true if an item is a request for a background child.
pub(crate) fn begins_child(item: &StoredItem) -> bool {
    Request::of(item).is_some()
}

impl ChildrenHandler<'_> {
    /// Lets a call begin children in the background, or refuses the call.
    pub(super) fn ask_in_background(
        &mut self,
        call: &Call,
        tasks: &Tasks,
        allowance: Allowance,
        profile: ResourceProfile,
    ) -> Option<CallInput> {
        let count = tasks.count();
        if let Err(why) = self.has_room(count) {
            return self.cx.gate().refuse(call, ResultStatus::Error, &why);
        }
        let terms = Terms { quiet: tasks.quiet, detached: tasks.detached, share: allowance };
        let pending = self.cx.gate().next_pending(call)?;
        let background = Some(terms);
        Some(CallInput::NeedsChildren {
            pending,
            deadline: None,
            profile,
            count,
            needed: 0,
            background,
            remote: None,
            since: None,
        })
    }

    /// Checks that `count` more background children may run. The error says why not.
    fn has_room(&self, count: u32) -> Result<(), String> {
        let machine = &self.cx.mind.machine;
        let begins = |call: &Call| {
            let CallState::BlockedOnChild { count, background: Some(_), .. } = &call.state else {
                return None;
            };
            usize::try_from(*count).ok()
        };
        let beginning: usize =
            machine.state.batch().map_or(0, |batch| batch.calls.iter().filter_map(begins).sum());
        let running = machine.running_children().count() + beginning;
        if running.saturating_add(usize::try_from(count).unwrap_or(usize::MAX)) <= BACKGROUND_MAX {
            return Ok(());
        }
        Err(format!("not begun: {running} background children run, at most {BACKGROUND_MAX} may run at once"))
    }

    /// Tells the model and the followers of the session which children a call has begun in the background.
    pub(super) fn tell_of_background(&mut self, id: &CallId) {
        let Some(call) = self.cx.mind.call(id) else { return };
        let CallState::BlockedOnChild { pending, count, background: Some(terms), .. } = &call.state else {
            return;
        };
        let names = (0..*count).filter_map(|index| ChildNames::of(pending, index).ok());
        let ids: Vec<String> = names.map(|names| names.id.to_string()).collect();
        let told = if terms.quiet {
            "You will read of their ends in your next turn"
        } else {
            "You will be told when each ends"
        };
        let wait = ChildTool::Wait.name();
        let text = format!("begun in the background: {}. {told}; {wait} waits for them.", ids.join(", "));
        let edited = self.cx.mind.edited(&call);
        self.cx.mind.keep_result(result(&call, ResultStatus::Done, text, edited));
        let agent = call.tool.clone();
        self.cx.mind.emit(Event::Began {
            agent,
            pending: pending.clone(),
            children: *count,
            call: Some(call.id.clone()),
        });
    }

    /// Returns the next request from outside for a background child, if the run may begin one now. A request that
    /// cannot be carried out is dropped, and an event says why.
    pub(crate) fn asked_outside(&mut self) -> Option<Request> {
        let ends_for_ever = self
            .cx
            .mind
            .machine
            .state
            .ending()
            .is_some_and(|ending| ending.status() == SessionStatus::Aborted);
        // While the end of the turn is being told, the children to stop and the outcome are fixed.
        let tells = self.cx.out.others.is_some();
        if self.cx.end.starts_nothing() || self.cx.run.agent.is_none() || ends_for_ever || tells {
            return None;
        }
        loop {
            let request = self.cx.mind.inbox.items.iter().find_map(Request::of)?;
            match self.fits(&request) {
                Ok(()) => return Some(request),
                Err(why) => {
                    self.drop_request(&request);
                    let (agent, pending) = (request.agent.to_string(), request.pending);
                    self.cx.mind.emit(Event::NotBegun { agent, pending, why });
                }
            }
        }
    }

    fn fits(&self, request: &Request) -> Result<(), String> {
        let rules = self.cx.run.agent.as_ref().and_then(|agent| agent.sub_agent(request.agent.as_str()));
        let rules: &ChildRules = rules.ok_or("the agent has no such sub-agent")?;
        if !rules.background {
            return Err("its tasks are waited for".to_owned());
        }
        let agent = self.cx.run.agent.as_deref();
        let limits = agent.map(|agent| &agent.limits);
        if limits.is_some_and(|limits| is_spent(&self.cx.mind.machine.used_and_set_aside(), limits)) {
            return Err("this session has no budget left to share".to_owned());
        }
        self.has_room(1)
    }

    fn drop_request(&mut self, request: &Request) {
        self.cx.mind.inbox.items.retain(|item| item.seq != request.item);
        self.cx.mind.draft.consumed.push(request.item);
        self.cx.mind.draft.decided = true;
    }

    fn drop_request_of(&mut self, pending: &PendingId) {
        let request = self.cx.mind.inbox.items.iter().filter_map(Request::of);
        if let Some(request) = request.into_iter().find(|request| request.pending == *pending) {
            self.drop_request(&request);
        }
    }

    /// Begins the child of a request from outside.
    pub(crate) fn begin_outside(&mut self, request: Request) {
        let share = self.allowance(1, true);
        let terms = Terms { share, ..request.terms };
        let child = Background { terms, ..request.child() };
        // A pending id that was not made from a call names no child.
        let Some(task) = task_of(&child.pending) else { return self.drop_request_of(&child.pending) };
        let plan = ChildPlan {
            task,
            tool: request.agent,
            pending: request.pending,
            tasks: vec![request.task],
            fail_fast: false,
            background: Some(terms),
            allowance: share,
            remote: None,
        };
        let id = self.cx.output.next_id();
        self.cx.out.outside.begun = Some((id, Box::new(child)));
        self.cx.output.push(Action::StartChildren { id, plan: Box::new(plan) });
        self.cx.output.irrevocable = true;
    }

    /// Takes the reply that the child of a request from outside exists. Returns false if the reply belongs to another
    /// action.
    pub(super) fn began_outside(&mut self, id: ActionId) -> bool {
        let Some((_, child)) = self.cx.out.outside.begun.take_if(|(begun, _)| *begun == id) else {
            return false;
        };
        self.drop_request_of(&child.pending);
        let (agent, pending) = (child.agent.to_string(), child.pending.clone());
        self.cx.mind.emit(Event::Began { agent, pending, children: 1, call: None });
        self.cx.feed(Input::ChildBegan { child });
        true
    }

    /// Drops a request that an aborted session does not carry out, and counts its child as begun: a run that died may
    /// have created the child, which is then stopped. Returns false if there is no request.
    pub(super) fn take_unbegun(&mut self) -> bool {
        let Some(request) = self.cx.mind.inbox.items.iter().find_map(Request::of) else { return false };
        self.drop_request(&request);
        self.cx.feed(Input::ChildBegan { child: Box::new(request.child()) });
        true
    }

    /// Makes the session due at once if a request for a child waits, so that the next run carries it out. Changes
    /// nothing if the session is aborted.
    pub(crate) fn left_due(&self, release: Release) -> Release {
        let waits = || self.cx.mind.inbox.items.iter().any(begins_child);
        match release {
            Release::To { status, wake_on, .. } if status != SessionStatus::Aborted && waits() => {
                Release::To { status, deadline: Some(self.cx.run.now), wake_on }
            }
            other @ (Release::To { .. } | Release::GiveBack { .. }) => other,
        }
    }
}
