//! The children of the scenario, as the outside world sees them.

use holdover_core::background::{ChildEnd, end_key, task_of};
use holdover_core::children::{ChildNames, ChildOutcome, ChildPlan, Children};
use holdover_core::ids::{ItemKey, PendingId, SessionId};
use holdover_core::machine::{Machine, Usage};
use holdover_core::message::Said;
use holdover_core::payload::Payload;
use holdover_core::store::{Delivery, InboxItem, ItemKind, PendingCall, PendingQuery, StateStore, Wake};

use super::driver::{Place, Teller};
use super::scenario::TEAM_SIZE;

/// The present state of the children of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Became {
    Working,
    Answered,
    Stopped,
}

impl<P: Place> Teller<P> {
    /// Ends the children of a call, each with its answer. Returns false if they have not begun, because the run that
    /// was to begin them died and no other has taken over yet, or if they have already ended.
    pub(super) async fn answer_as_children(&mut self, pending: &PendingCall) -> bool {
        match self.children.get_mut(&pending.id) {
            Some(became @ Became::Working) => *became = Became::Answered,
            Some(Became::Answered | Became::Stopped) | None => return false,
        }
        for index in 0..TEAM_SIZE {
            let (session, text) =
                (Some(SessionId::new(format!("child-{index}")).unwrap()), "half".to_owned());
            let outcome = ChildOutcome { index, session, ok: true, text, usage: Usage::default() };
            let item = InboxItem {
                key: ItemKey::new(format!("child-{index}-{}", pending.id)).unwrap(),
                kind: ItemKind::Answer { pending: pending.id.clone(), settles: false },
                incarnation: Some(pending.incarnation),
                payload: Payload::json(&outcome).unwrap(),
            };
            let delivery = self.store.deliver(&self.key, item).await.unwrap();
            assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
        }
        true
    }

    pub(super) fn stop_children(&mut self, children: &[Children]) {
        for Children { pending, count, remote: _ } in children {
            assert_eq!(*count, TEAM_SIZE);
            let became = self.children.entry(pending.clone()).or_insert(Became::Stopped);
            if *became == Became::Working {
                *became = Became::Stopped;
            }
        }
    }

    /// Returns true if the call that begins these children is durable: as a pending call or, for background children,
    /// in the stored state.
    pub(super) async fn may_begin(&self, plan: &ChildPlan) -> bool {
        if plan.background.is_none() {
            return self.open(&plan.pending).await;
        }
        let session = self.store.load_session(&self.key).await.unwrap().unwrap();
        let machine: Machine = session.state.expect("a state").parse().unwrap();
        machine.children().iter().any(|children| children.pending == plan.pending)
    }

    /// Ends the background children, each with a message. Returns false if none is working.
    pub(super) async fn end_crew(&mut self) -> bool {
        let mut ended = false;
        for pending in self.crew.clone() {
            let became = self.children.get_mut(&pending).expect("it has begun");
            if *became != Became::Working {
                continue;
            }
            *became = Became::Answered;
            for index in 0..TEAM_SIZE {
                let end = ChildEnd {
                    pending: pending.clone(),
                    index,
                    tasks: vec![task_of(&pending).unwrap()],
                    ok: true,
                    quiet: index > 0,
                    usage: Usage::default(),
                };
                let said = Said { ended: Some(Box::new(end)), ..Said::new("half") };
                let item = InboxItem {
                    key: end_key(&ChildNames::of(&pending, index).unwrap(), &task_of(&pending).unwrap())
                        .unwrap(),
                    kind: ItemKind::Message { wake: Wake::Now },
                    incarnation: None,
                    payload: Payload::json(&said).unwrap(),
                };
                let delivery = self.store.deliver(&self.key, item).await.unwrap();
                assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
            }
            ended = true;
        }
        ended
    }

    async fn open(&self, pending: &PendingId) -> bool {
        let open = self.store.list_pending(&PendingQuery::all(self.key.tenant.clone())).await.unwrap();
        open.items.iter().any(|call| call.id == *pending)
    }
}
