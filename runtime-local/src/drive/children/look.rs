//! Stops children, looks for children that have vanished, and finds successors.

use futures::FutureExt;
use holdover_core::children::{ChildNames, ChildOutcome, Children, Unanswered};
use holdover_core::ids::{InterruptId, PendingId, SessionKey};
use holdover_core::store::{Interrupt, InterruptKind, Session, SessionStatus, StateStore, StoreError};

use super::standing::machine_of;
use super::{Family, LeaseEnded, all};

impl Family {
    /// Aborts the children that have not ended, and stops tasks in other programs. A successor of this session is
    /// aborted even if it has ended.
    pub(super) async fn stop(&self, children: &[Children]) -> Result<(), LeaseEnded> {
        let lines: Vec<_> =
            children.iter().map(|children| children.remote.as_deref().map(|at| self.line(at))).collect();
        let mut each = Vec::new();
        for (named, line) in children.iter().zip(&lines) {
            let Children { pending, count, remote: _ } = named;
            // If the names cannot be made, no session was ever created under them.
            let names = (0..*count).filter_map(|index| ChildNames::of(pending, index).ok());
            if let Some(line) = line {
                each.extend(names.map(|names| {
                    async move {
                        self.stop_elsewhere(line, &names.id).await;
                        Ok(())
                    }
                    .boxed()
                }));
                continue;
            }
            let also_at_rest = named.is_successor();
            each.extend(names.map(|names| self.stop_one(names, also_at_rest).boxed()));
        }
        all(each).await
    }

    async fn stop_one(&self, names: ChildNames, also_at_rest: bool) -> Result<(), LeaseEnded> {
        let mut next = vec![names];
        while let Some(names) = next.pop() {
            next.extend(self.stop_or_next(names, also_at_rest).await?);
        }
        Ok(())
    }

    /// Aborts a child that has not ended, or any child if `also_at_rest` is set. Otherwise returns the sessions that
    /// took over from the child. A child that does not exist is created empty and aborted, so it never begins.
    async fn stop_or_next(
        &self,
        names: ChildNames,
        also_at_rest: bool,
    ) -> Result<Vec<ChildNames>, LeaseEnded> {
        let key = SessionKey::new(self.fence.key.tenant.clone(), names.id.clone());
        let incarnation = names.incarnation;
        let there = self.answered(|| self.store.load_session(&key)).await?;
        match there {
            Ok(Some(child)) if child.incarnation != incarnation => return Ok(Vec::new()),
            Ok(Some(child)) if has_ended(&child) && !also_at_rest => {
                // The successors are stopped in place of the child.
                let next = successors(&child).into_iter();
                return Ok(next.filter_map(|to| ChildNames::of(&to, 0).ok()).collect());
            }
            Ok(None) => {
                let (queue, definition) = (self.queue.clone(), self.definition.clone());
                let empty = self.session(names, queue, definition, self.labels_of_child(), Vec::new());
                if let Err(error) = self.answered(|| self.store.create_session(empty.clone())).await? {
                    tracing::warn!(child = %key, %error, "a child that never began cannot be closed");
                    return Ok(Vec::new());
                }
            }
            Ok(Some(_)) | Err(_) => {}
        }
        let Ok(id) = InterruptId::new(format!("parent.{incarnation}")) else { return Ok(Vec::new()) };
        let interrupt = Interrupt {
            id,
            kind: InterruptKind::Abort,
            reason: "its parent does not wait for it any more".to_owned(),
            at: self.now,
            incarnation: Some(incarnation),
        };
        if let Err(error) = self.answered(|| self.store.request_interrupt(&key, interrupt.clone())).await? {
            tracing::warn!(child = %key, %error, "a child cannot be stopped");
        }
        self.offspring.tell_stopped(key);
        Ok(Vec::new())
    }

    /// Looks for the children. Answers in place of those that do not exist any more, or that ended without their
    /// tasks. For tasks in other programs, asks for the outcomes.
    pub(super) async fn find(&self, children: &[Unanswered]) -> Result<(), LeaseEnded> {
        let lines: Vec<_> =
            children.iter().map(|children| children.remote.as_deref().map(|at| self.line(at))).collect();
        let mut each = Vec::new();
        for (unanswered, line) in children.iter().zip(&lines) {
            each.extend(unanswered.indexes.iter().map(|index| match line {
                Some(line) => self.find_elsewhere(line, unanswered, *index).boxed(),
                None => self.find_one(unanswered, *index).boxed(),
            }));
        }
        all(each).await
    }

    /// Returns a child as it is stored, or its newest successor. Returns `None` if that session is gone.
    pub(super) async fn newest(
        &self,
        names: ChildNames,
    ) -> Result<Result<Option<Session>, StoreError>, LeaseEnded> {
        let mut names = names;
        loop {
            let key = SessionKey::new(self.fence.key.tenant.clone(), names.id.clone());
            let found = match self.answered(|| self.store.load_session(&key)).await? {
                Ok(found) => found.filter(|found| found.incarnation == names.incarnation),
                Err(error) => return Ok(Err(error)),
            };
            let next = found.as_ref().and_then(|found| successors(found).pop());
            match next.and_then(|to| ChildNames::of(&to, 0).ok()) {
                Some(next) => names = next,
                None => return Ok(Ok(found)),
            }
        }
    }

    /// Returns true if none of the successors works or waits. A successor that cannot be read counts as working.
    pub(super) async fn rest(&self, successors: &[PendingId]) -> Result<bool, LeaseEnded> {
        for to in successors {
            let Ok(names) = ChildNames::of(to, 0) else { continue };
            match self.newest(names).await? {
                Ok(found) if found.as_ref().is_none_or(has_ended) => {}
                Ok(_) | Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    async fn find_one(&self, children: &Unanswered, index: u32) -> Result<(), LeaseEnded> {
        let Unanswered { pending, fail_fast, by, tasks, .. } = children;
        let fail_fast = *fail_fast;
        let Ok(names) = ChildNames::of(pending, index) else { return Ok(()) };
        match self.newest(names).await? {
            Ok(Some(child)) => {
                // The child ended without this task, since the run that was to give it died. If the child had already
                // told its end, the store ignores this answer as a duplicate.
                if tasks.is_empty() || !has_ended(&child) {
                    return Ok(());
                }
                let outcome = ChildOutcome::not_created(index, "it had ended");
                self.answer_for(pending, fail_fast, by, tasks, &outcome).await
            }
            // The next look, within an hour, asks again.
            Err(_) => Ok(()),
            Ok(_) => {
                let outcome = ChildOutcome::not_created(index, "it is gone");
                self.answer_for(pending, fail_fast, by, tasks, &outcome).await
            }
        }
    }
}

/// Returns the pending ids of the successors of a session, newest last. The names of the sessions follow from them.
pub(crate) fn successors(session: &Session) -> Vec<PendingId> {
    let machine = machine_of(session).ok();
    machine.map(|machine| machine.successors.into_iter().map(|to| to.pending).collect()).unwrap_or_default()
}

/// Returns true if a child was aborted, or has run and is at rest with nothing to do. A child that was set aside has not
/// ended.
pub(crate) fn has_ended(child: &Session) -> bool {
    // Notes and the ends of quiet children stay unread at rest, and wake nobody.
    let has_work = child.interrupt.is_some() || (child.unread > 0 && child.alarm.is_some());
    let rests = child.status.at_rest() && child.epoch.0 > 0 && !has_work;
    child.status == SessionStatus::Aborted || (rests && !is_set_aside(child))
}

/// Returns true if a session was set aside because a run could not read it, and nobody has gone on with it since. A failed
/// session that cannot be read here either counts as set aside.
pub(crate) fn is_set_aside(session: &Session) -> bool {
    let status = session.status;
    machine_of(session).map_or(status == SessionStatus::Failed, |machine| machine.is_set_aside(status))
}
