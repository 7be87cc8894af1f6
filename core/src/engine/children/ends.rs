//! Handles the ends of background children: a call waits for them, or the model is shown them as messages.

use std::collections::BTreeSet;

use crate::engine::children::ChildrenHandler;
use crate::engine::mind::Mind;
use crate::machine::steering::is_spent;
use crate::machine::{Call, CallState};
use crate::store::{ItemKind, StoredItem};
use crate::words::background::{Awaited, Background, ChildEnd, ChildSignal, ChildTool, ToChild, find};
use crate::words::children::{OUTCOME_CHARS_MAX, in_part};
use crate::words::history::{CallInput, Input};
use crate::words::ids::InboxSeq;
use crate::words::mailbox;
use crate::words::message::ResultStatus;
use crate::words::tool::ResourceProfile;
use crate::words::usage::Usage;

/// The end of a background child, as the inbox holds it.
struct End {
    item: InboxSeq,
    text: String,
    end: ChildEnd,
}

impl End {
    fn of(item: &StoredItem) -> Option<Self> {
        let end = mailbox::end_of(item)?;
        Some(Self { item: item.seq, text: mailbox::said(item).text, end })
    }
}

/// A child that a call waits for.
struct Waited {
    child: Background,
    /// The ends of the child's turns that are in the inbox. Empty if the child still runs, or if the model has already
    /// been shown its end.
    ends: Vec<End>,
}

impl Waited {
    fn has_ended(&self) -> bool {
        self.child.ends_with(self.ends.iter().map(|end| &end.end))
    }

    fn told(&self, ending: &str, most: usize) -> String {
        if self.ends.is_empty() {
            let id = self.child.names().map(|names| names.id.to_string()).unwrap_or_default();
            let word = if self.child.has_ended() { "had ended before" } else { ending };
            return format!("[{} {id}] {word}", self.child.agent);
        }
        self.ends.iter().map(|end| in_part(&end.text, most)).collect::<Vec<_>>().join("\n")
    }
}

impl ChildrenHandler<'_> {
    /// Lets a call wait for the ends of background children, or refuses the call.
    pub(crate) fn wait(&mut self, call: &Call, profile: ResourceProfile) -> Option<CallInput> {
        let arguments = self.cx.mind.arguments_of(&call.id);
        match Awaited::read(&arguments, &self.cx.mind.machine.background) {
            Ok(awaited) => {
                // A model may ask for a shorter timeout than the agent's, but not for a longer one.
                let limit = self.cx.run.answer_deadline(None);
                let own = awaited.timeout().and_then(|timeout| self.cx.run.answer_deadline(Some(timeout)));
                let deadline = own.into_iter().chain(limit).chain(self.cx.until()).min();
                Some(CallInput::NeedsEnds { deadline, profile })
            }
            Err(why) => {
                self.cx.gate().refuse(call, ResultStatus::Error, &format!("the arguments do not fit: {why}"))
            }
        }
    }

    /// Ends a call that waits for the ends of background children if enough of them have ended or its deadline has
    /// passed. Returns false if there is no such call.
    pub(super) fn take_ends(&mut self) -> bool {
        let Some(batch) = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        let over = batch.calls.iter().enumerate().find_map(|(at, call)| {
            let CallState::AwaitingEnds { deadline } = &call.state else { return None };
            let is_late = deadline.is_some_and(|deadline| deadline <= self.cx.run.now);
            let (waited, needed) = self.waited(call);
            let ended = waited.iter().filter(|waited| waited.has_ended()).count();
            let is_answered =
                ended >= needed && !batch.calls[..at].iter().any(|earlier| self.may_begin_more(earlier));
            (is_answered || is_late).then(|| (call.clone(), waited, is_answered))
        });
        let Some((call, waited, is_answered)) = over else { return false };
        let ending = if is_answered { "still runs" } else { "still runs: it did not end in time" };
        let most = OUTCOME_CHARS_MAX / waited.len().max(1);
        let none = waited.is_empty().then(|| "no background child runs".to_owned());
        let told = waited.iter().map(|waited| waited.told(ending, most)).collect::<Vec<_>>().join("\n");
        let told = none.unwrap_or(told);
        let ends: Vec<End> = waited.into_iter().flat_map(|waited| waited.ends).collect();
        let taken: BTreeSet<InboxSeq> = ends.iter().map(|end| end.item).collect();
        self.cx.mind.inbox.items.retain(|item| !taken.contains(&item.seq));
        self.cx.mind.draft.consumed.extend(taken);
        for End { end, .. } in ends {
            self.take_end(end);
        }
        let status = if is_answered { ResultStatus::Done } else { ResultStatus::Error };
        self.cx.calls().keep_bounded(&call, status, told);
        let ok = self.cx.mind.is_done(&call.id);
        self.cx
            .feed(Input::Call { call: call.id, input: CallInput::Answered { ok, usage: Usage::default() } });
        self.cx.mind.draft.decided = true;
        true
    }

    /// Returns true if a call may still begin background children for which a later call of the step would wait.
    fn may_begin_more(&self, call: &Call) -> bool {
        let rules = self.cx.run.agent.as_ref().and_then(|agent| agent.sub_agent(&call.tool));
        let waits = match &call.state {
            CallState::Queued | CallState::Gating | CallState::BlockedOnUser { .. } => true,
            CallState::BlockedOnChild { background, .. } => background.is_some(),
            CallState::BlockedOnClient { .. }
            | CallState::AwaitingEnds { .. }
            | CallState::AwaitingSignal { .. }
            | CallState::Waiting { .. }
            | CallState::Approved
            | CallState::Preparing
            | CallState::Executing
            | CallState::CleaningUp
            | CallState::Done
            | CallState::Error
            | CallState::RejectedByUser
            | CallState::Cancelled { .. }
            | CallState::InDoubt => false,
        };
        waits && rules.is_some_and(|rules| rules.background)
    }

    /// Returns the children that a call waits for, and the number of them that must have ended.
    fn waited(&self, call: &Call) -> (Vec<Waited>, usize) {
        let children = &self.cx.mind.machine.background;
        let arguments = self.cx.mind.arguments_of(&call.id);
        // The arguments were read when the call was allowed, but can no longer be read.
        let Ok(awaited) = serde_json::from_str::<Awaited>(&arguments) else { return (Vec::new(), 0) };
        let waited: Vec<Waited> = awaited.among(children).map(|child| self.with_ends(child)).collect();
        let all = waited.len();
        let needed = awaited.first.and_then(|first| usize::try_from(first).ok()).unwrap_or(all);
        (waited, needed.min(all))
    }

    fn with_ends(&self, child: &Background) -> Waited {
        let ends = self.cx.mind.inbox.items.iter().filter_map(End::of);
        Waited { child: child.clone(), ends: ends.filter(|end| child.has_ended_with(&end.end)).collect() }
    }

    /// Allows a call. A call that writes to a background child gives that child one more task, and is refused if the
    /// child is unknown or nothing is left to share.
    pub(crate) fn let_through(&mut self, call: &Call, profile: ResourceProfile) -> Option<CallInput> {
        let Some(agent) =
            self.cx.run.agent.clone().filter(|agent| agent.child_tool(&call.tool) == Some(ChildTool::Send))
        else {
            return Some(CallInput::Allowed { profile });
        };
        let arguments = self.cx.mind.arguments_of(&call.id);
        let to = serde_json::from_str::<ToChild>(&arguments).map_err(|error| error.to_string());
        let found = to.and_then(|to| find(&self.cx.mind.machine.background, &to.id).cloned());
        let child = match found {
            Ok(child) => child,
            Err(why) => return self.cx.gate().refuse(call, ResultStatus::Error, &why),
        };
        let share = self.allowance(1, true);
        if share.steps == Some(0) || is_spent(&self.cx.mind.machine.used_and_set_aside(), &agent.limits) {
            let told = "not sent: this session has no steps or no budget left to share";
            return self.cx.gate().refuse(call, ResultStatus::Error, told);
        }
        let Background { pending, index, .. } = child;
        self.cx.feed(Input::ChildResumed { pending, index, task: call.id.clone(), share });
        Some(CallInput::Allowed { profile })
    }

    /// Counts the end of a child whose text the model is shown.
    pub(crate) fn take_end(&mut self, end: ChildEnd) {
        let ChildEnd { pending, index, tasks, usage, .. } = end;
        self.cx.feed(Input::ChildEnded { pending, index, tasks, usage });
    }
}

impl Mind {
    /// Drops the ends of background children that the session does not know any more: those of an earlier incarnation
    /// of the session, and those that were stopped with the turn that began them.
    pub(crate) fn drop_forgotten_ends(&mut self) {
        let machine = &self.machine;
        let begins = |end: &ChildEnd| {
            let mut calls = machine.state.batch().into_iter().flat_map(|batch| &batch.calls);
            calls.any(|call| matches!(&call.state, CallState::BlockedOnChild { pending, .. } if *pending == end.pending))
        };
        let asked = |end: &ChildEnd| {
            let mut requests =
                self.inbox.items.iter().filter(|item| matches!(item.kind, ItemKind::Signal { .. }));
            requests.any(|item| {
                let signal = item.payload.parse::<ChildSignal>();
                matches!(signal, Ok(ChildSignal::BeginChild { pending, .. }) if pending == end.pending)
            })
        };
        let is_known = |end: &ChildEnd| {
            machine.background.iter().any(|child| child.has_ended_with(end)) || begins(end) || asked(end)
        };
        let forgotten: BTreeSet<InboxSeq> = self
            .inbox
            .items
            .iter()
            .filter(|item| mailbox::end_of(item).is_some_and(|end| !is_known(&end)))
            .map(|item| item.seq)
            .collect();
        self.inbox.items.retain(|item| !forgotten.contains(&item.seq));
        self.draft.consumed.extend(forgotten);
    }
}
