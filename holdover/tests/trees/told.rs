//! The state of the world and of the store when a story is over, and what must be true of it.

use holdover::session::{Labels, Message, ResultStatus, Session, SessionStatus, Usage, machine_of};
use holdover::tools::CallId;

use crate::dying::Fault;
use crate::orders::Order;

/// The answer of both clerks if they are not stopped.
const JOINED: &str = "[1] done: clerk did: alone\n[2] done: clerk did: with the page";

/// The answers if the clerk with the page is stopped before or after its last words.
const WITHOUT_CLERK: [&str; 2] = [
    "[1] done: clerk did: alone\n[2] failed: ended by user_abort",
    "[1] done: clerk did: alone\n[2] failed: ended by user_abort. It had said: clerk did: with the page",
];

/// The depths of the sessions of a tree: the root, two clerks, the runner and its heir, and the page.
const SESSIONS: [u32; 6] = [0, 1, 1, 1, 1, 2];

/// The tokens of one answer of a model.
const TOKENS: u64 = 11;

/// The state of the world and of the store when a story is over.
pub(crate) struct Told {
    pub(crate) fault: Option<Fault>,
    pub(crate) fired: bool,
    /// True if the order was to fork a root that had no checkpoint yet.
    pub(crate) too_soon: bool,
    pub(crate) writes: usize,
    pub(crate) usage: Usage,
    /// Every session: first those of the tree, each before its children.
    pub(crate) seen: Vec<Seen>,
    pub(crate) owed: usize,
    pub(crate) counted: Vec<usize>,
}

/// A session when a story is over.
pub(crate) struct Seen {
    /// The number of sessions above this one in the tree; `None` for a session outside the tree.
    pub(crate) depth: Option<u32>,
    /// The call of the parent that began the session.
    pub(crate) call: Option<CallId>,
    pub(crate) session: Session,
    pub(crate) messages: Vec<Message>,
    /// The number of times that the session's calls wrote.
    pub(crate) written: usize,
}

impl Seen {
    fn is_aborted(&self) -> bool {
        self.session.status == SessionStatus::Aborted
    }

    /// Returns true if the session was forked from the root, not handed over by a child.
    fn is_fork_of(&self, root: &Seen) -> bool {
        let from = self.session.labels.0.get(Labels::FORKED_FROM);
        from.is_some_and(|from| from == root.session.key.id.as_str())
    }

    fn is_heir(&self) -> bool {
        self.session.labels.0.get(Labels::AGENT).is_some_and(|agent| agent.ends_with(">heir"))
    }

    /// Returns true if the session has run and rests as idle.
    fn has_ended(&self) -> bool {
        self.session.status == SessionStatus::Idle && self.session.epoch.0 > 0
    }

    /// Returns the tokens that the session's model used, from its durable messages. An heir's transcript includes an
    /// answer of its predecessor; that answer stands for the extract that the heir paid for.
    fn paid(&self) -> u64 {
        let said = self.messages.iter().filter(|message| matches!(message, Message::Assistant(_)));
        TOKENS * said.count() as u64
    }

    /// Returns true if the session's call to this child was stopped.
    fn has_stopped(&self, child: &Seen) -> bool {
        self.messages.iter().any(|message| match message {
            Message::Tool(result) => {
                Some(&result.call) == child.call.as_ref() && result.status == ResultStatus::Cancelled
            }
            Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => false,
        })
    }

    /// Returns the status of the session's `write` call, or `None` if there is no result of one.
    fn write(&self) -> Option<ResultStatus> {
        self.messages.iter().find_map(|message| match message {
            Message::Tool(result) if result.tool == "write" => Some(result.status),
            Message::Tool(_)
            | Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        })
    }

    /// Returns the number of times that the session was told this text, by a result or a message.
    fn heard(&self, text: &str) -> usize {
        let told = self.messages.iter().filter_map(|message| match message {
            Message::Tool(result) => Some(result.content.as_str()),
            Message::User(said) => Some(said.text.as_str()),
            Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => None,
        });
        told.map(|told| told.matches(text).count()).sum()
    }
}

impl Told {
    fn root(&self) -> &Seen {
        &self.seen[0]
    }

    /// Returns the sessions at this depth of the tree.
    fn at(&self, depth: u32) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| seen.depth == Some(depth))
    }

    /// Returns the order of the story's fault, even if it had no effect.
    pub(crate) fn given(&self) -> Option<Order> {
        self.fault.and_then(Fault::order).map(|(order, _)| order)
    }

    /// Returns the order of the story's fault, if it reached a session at work.
    fn order(&self) -> Option<Order> {
        self.given().filter(|_| self.fired)
    }

    /// Returns true if it is unknown whether the page wrote.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.at(2).any(|page| page.write() == Some(ResultStatus::InDoubt))
    }

    /// Returns true if the root learned that its clerk was stopped.
    pub(crate) fn is_without_clerk(&self) -> bool {
        results(&self.root().messages).iter().any(|(_, content)| WITHOUT_CLERK.contains(&content.as_str()))
    }

    /// Returns true if the heir was purged before it began. Then the root is told once that the handoff was refused.
    fn is_handoff_lost(&self) -> bool {
        let told = self.at(0).map(|root| root.heard("handoff.refused")).sum::<usize>();
        matches!(self.order(), Some(Order::Purge)) && told == 1
    }

    /// Asserts that the fault had only the effects that it may have.
    pub(crate) fn check(&self) {
        match self.order() {
            None => {
                self.check_whole();
                self.check_usage();
            }
            Some(Order::StopRoot) => {
                self.check_resumed();
                self.check_usage();
            }
            Some(Order::AbortRoot) => {
                assert!(self.root().is_aborted(), "{:?}: {:?}", self.fault, self.root().session);
                self.check_stopped(&self.seen[1..]);
            }
            Some(Order::DeleteRoot) => self.check_stopped(&self.seen),
            Some(Order::ForkRoot) => {
                self.check_fork();
                self.check_whole();
                self.check_usage();
            }
            Some(Order::Purge) => self.check_purged(),
            Some(Order::StopClerk | Order::AbortClerk) => {
                self.check_clerk_stopped();
                self.check_usage();
            }
            // The root no longer counts what the deleted clerk used.
            Some(Order::DeleteClerk) => self.check_clerk_stopped(),
        }
        self.check_rest();
    }

    /// Asserts that the story ended as if nothing had happened, except for calls in doubt after a death.
    fn check_whole(&self) {
        let fault = &self.fault;
        self.check_root(&[JOINED]);
        let of_tree = self.seen.iter().filter(|seen| !seen.is_fork_of(self.root()));
        let mut depths: Vec<_> = of_tree.map(|seen| seen.depth).collect();
        depths.sort_unstable();
        assert_eq!(depths, SESSIONS.map(Some), "{fault:?}: no child is there twice");
        assert_eq!(self.seen.iter().filter(|seen| seen.is_heir()).count(), 1, "{fault:?}: one heir");
        assert_eq!(self.counted.len(), 1, "{fault:?}: {:?}", self.counted);
        let page = self.at(2).next().unwrap();
        match page.write() {
            Some(ResultStatus::Done) => {}
            // The first run asked, and the second sent the call, so a third must have taken over.
            Some(ResultStatus::InDoubt) => assert!(page.session.epoch.0 >= 3, "{fault:?}: {}", page.written),
            other => panic!("{fault:?}: the call ended {other:?}"),
        }
    }

    /// Asserts that there is one fork, which has not run, has none of the children, and got no message.
    fn check_fork(&self) {
        let forks: Vec<&Seen> = self.seen.iter().filter(|seen| seen.is_fork_of(self.root())).collect();
        let [fork] = forks.as_slice() else { panic!("{:?}: {} forks", self.fault, forks.len()) };
        let Session { status, alarm, .. } = &fork.session;
        assert!(status.at_rest() && alarm.is_none(), "{:?}: {:?}", self.fault, fork.session);
        assert_eq!((fork.depth, fork.session.unread), (None, 0), "{:?}: {:?}", self.fault, fork.session);
    }

    /// Asserts that the root has heard from all its children. Some of the other sessions may be gone; the rest have
    /// ended.
    fn check_purged(&self) {
        let fault = &self.fault;
        // At the last writes the root may be at rest, and may have been purged.
        if self.seen.first().is_some_and(|seen| seen.depth == Some(0)) {
            self.check_root(&[JOINED]);
        }
        for seen in self.seen.iter().filter(|seen| seen.depth != Some(0)) {
            // A runner that finds its heir purged fails. The heir may have ended and reported before.
            let is_failed = seen.depth == Some(1) && seen.session.status == SessionStatus::Failed;
            let ended = seen.has_ended() || is_failed && !self.seen.iter().any(Seen::is_heir);
            assert!(ended, "{fault:?}: at depth {:?} {:?}", seen.depth, seen.session);
        }
        assert!(self.seen.len() <= SESSIONS.len(), "{fault:?}: {} sessions", self.seen.len());
        assert_eq!(self.counted.len(), 1, "{fault:?}: {:?}", self.counted);
    }

    /// Asserts that the root has ended, and that each of its calls was done once, whatever was stopped before.
    fn check_root(&self, joined: &[&str]) {
        let (fault, root) = (&self.fault, self.root());
        assert_eq!(root.session.status, SessionStatus::Idle, "{fault:?}");
        let results = results(&root.messages);
        let done: Vec<&str> = results
            .iter()
            .filter(|(status, _)| *status == ResultStatus::Done)
            .map(|(_, content)| content.as_str())
            .collect();
        assert_eq!(done.len(), 3, "{fault:?}: {results:?}");
        let begun = done.iter().filter(|content| content.starts_with("begun in the background: child-"));
        assert_eq!(begun.count(), 1, "{fault:?}: {results:?}");
        assert_eq!(
            done.iter().filter(|content| joined.contains(content)).count(),
            1,
            "{fault:?}: {results:?}"
        );
        let told = root.heard("heir did: errand");
        let is_lost = told == 0 && self.is_handoff_lost();
        assert!(told == 1 || is_lost, "{fault:?}: {told} times: {:#?}", root.messages);
    }

    /// Asserts that the root's turn was stopped, and that the calls stopped with it were made again.
    fn check_resumed(&self) {
        let fault = &self.fault;
        self.check_root(&[JOINED]);
        let results = results(&self.root().messages);
        let stopped = results.iter().filter(|(status, _)| *status != ResultStatus::Done);
        let stopped: Vec<_> = stopped.map(|(status, _)| *status).collect();
        assert!(
            stopped.len() <= 2 && stopped.iter().all(|status| *status == ResultStatus::Cancelled),
            "{fault:?}: one step was stopped: {results:?}"
        );
        self.check_stopped(&self.seen[1..]);
    }

    /// Asserts that the root learned that the clerk with the page was stopped, unless the clerk had answered before,
    /// and that no session below the root goes on.
    fn check_clerk_stopped(&self) {
        let had_ended = !self.is_without_clerk();
        self.check_root(if had_ended { &[JOINED] } else { &WITHOUT_CLERK });
        for seen in &self.seen[1..] {
            let stopped = seen.session.status == SessionStatus::Interrupted && !had_ended;
            let ended = stopped || seen.is_aborted() || seen.has_ended();
            assert!(ended, "{:?}: at depth {:?} {:?}", self.fault, seen.depth, seen.session);
        }
    }

    /// Asserts that these sessions have ended and that none of them goes on.
    fn check_stopped(&self, seen: &[Seen]) {
        for seen in seen {
            let ended = seen.is_aborted() || seen.has_ended();
            assert!(ended, "{:?}: at depth {:?} {:?}", self.fault, seen.depth, seen.session);
        }
    }

    /// Asserts that no answer is owed, every session rests, and effects happened no more often than promised.
    fn check_rest(&self) {
        let fault = &self.fault;
        assert_eq!(self.owed, 0, "{fault:?}: an answer is owed");
        for seen in &self.seen {
            let session = &seen.session;
            // An aborted session does not read what is delivered to it.
            let is_read = session.unread == 0 || seen.is_aborted();
            // A session that was handed over looks at its successor once an hour.
            let looks = machine_of(session).unwrap().is_some_and(|machine| !machine.successors.is_empty());
            let rests = (session.alarm.is_none() || looks) && session.interrupt.is_none();
            assert!(rests && is_read, "{fault:?}: {session:?}");
            let promised = match seen.write() {
                Some(ResultStatus::Done) => 1..=1,
                Some(ResultStatus::InDoubt) => 0..=1,
                // The call was stopped before it acted.
                Some(_) | None => 0..=0,
            };
            assert!(
                promised.contains(&seen.written),
                "{fault:?}: written {} times: {session:?}",
                seen.written
            );
        }
        // A run that takes over sends an idempotent call again, under the same key.
        let runs = self.seen.iter().map(|seen| seen.session.epoch.0).max().unwrap_or_default();
        assert!(self.counted.iter().all(|times| *times as u64 <= runs), "{fault:?}: {:?}", self.counted);
    }

    /// Asserts that usage is counted once: that of the root and of each child that has answered. A stopped child may
    /// have answered before, or too late.
    fn check_usage(&self) {
        let of_clerk = matches!(self.order(), Some(Order::StopClerk | Order::AbortClerk));
        let (mut least, mut most) = (0, 0);
        let mut above: Vec<(&Seen, bool)> = Vec::new();
        for (seen, depth) in self.seen.iter().filter_map(|seen| Some((seen, seen.depth?))) {
            above.truncate(depth as usize);
            let is_counted = above.last().is_none_or(|(parent, is_counted)| {
                // The clerk that was stopped has also answered.
                let answered = seen.has_ended() || of_clerk && depth == 1;
                *is_counted && answered && !parent.has_stopped(seen)
            });
            least += if is_counted { seen.paid() } else { 0 };
            most += seen.paid();
            above.push((seen, is_counted));
        }
        let used = self.usage.tokens.total();
        assert!((least..=most).contains(&used), "{:?}: {used} of {least} to {most} are counted", self.fault);
    }
}

/// Returns the results of the calls of a session, in order.
pub(crate) fn results(messages: &[Message]) -> Vec<(ResultStatus, String)> {
    let results = messages.iter().filter_map(|message| match message {
        Message::Tool(result) => Some((result.status, result.content.clone())),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    results.collect()
}
