//! Plays a script on the model.

use std::time::Duration;

use holdover_store::Capabilities;
use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::time::Timestamp;
use uuid::Uuid;

use super::{Answer, Asking, Op, Request, Span, Who};
use crate::fixture::key_of;
use crate::model::{Life, Model};

/// The lease of scripts. It is long, so that none ends on a real clock.
pub(crate) const LEASE: Duration = Duration::from_secs(3600);

/// The optional features of the store under test, and whether cases move its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Powers {
    pub(crate) forks: bool,
    pub(crate) retention: bool,
    pub(crate) moves_time: bool,
    /// Set if the order in which due sessions are claimed is known.
    pub(crate) due_order: bool,
}

impl Powers {
    pub(crate) fn of(capabilities: &Capabilities, moves_time: bool, due_order: bool) -> Self {
        let Capabilities { forks, retention, .. } = *capabilities;
        Self { forks, retention, moves_time, due_order }
    }
}

/// The model, with the facts that a script's words refer to.
#[derive(Debug, Clone)]
pub(crate) struct Play {
    pub(crate) model: Model,
    pub(crate) powers: Powers,
    /// The requests so far, oldest first.
    pub(super) asked: Vec<Request>,
    /// The number of lives that each session has had.
    pub(super) lives: [u64; 3],
}

impl Play {
    pub(crate) fn new(powers: Powers, now: Timestamp) -> Self {
        Self { model: Model::new(now), powers, asked: Vec::new(), lives: [0; 3] }
    }

    /// Advances the time if the operation says so and cases can move the clock. Returns by how much, or `None` if the
    /// time stays.
    pub(crate) fn pass(&mut self, op: &Op) -> Option<Duration> {
        let Op::Pass(span) = op else { return None };
        let by = self.powers.moves_time.then(|| duration(*span))?;
        self.model.now = self.model.now.after(by);
        Some(by)
    }

    /// Sends the operation's request to the model. Returns `None` if the operation makes no request, or if the answer
    /// is not determined.
    pub(crate) fn ask(&mut self, op: &Op) -> Option<(Request, Answer)> {
        let request = self.resolve(op).filter(|request| self.is_decided(request))?;
        let answer = request.ask_model(&mut self.model);
        self.note_life(&request);
        self.asked.push(request.clone());
        Some((request, answer))
    }

    /// Returns the operation's request and applies it to the model, although other requests run at the same time and
    /// may change the answer. Forks are not applied, because the caller gives each a session that no script refers to.
    /// Returns `None` if the operation makes no request.
    pub(crate) fn guess(&mut self, op: &Op) -> Option<Request> {
        let request = self.resolve(op)?;
        if !request.forks() {
            request.ask_model(&mut self.model);
            self.note_life(&request);
        }
        self.asked.push(request.clone());
        Some(request)
    }

    /// Replaces the guessed state of a session by one that it may have.
    pub(crate) fn learn(&mut self, who: Who, life: Option<Life>) {
        let Some(life) = life else {
            self.model.lives.remove(&who.key());
            return;
        };
        let born = self.lives[who as usize];
        let number = (0..=born).rev().find(|ago| {
            self.incarnation(who, -i64::try_from(*ago).unwrap_or_default()) == life.row.incarnation
        });
        self.lives[who as usize] = born - number.unwrap_or_default();
        self.model.lives.insert(who.key(), life);
    }

    /// Returns true if the answer is determined. Not every store defines which of several due sessions comes first.
    fn is_decided(&self, request: &Request) -> bool {
        let Request::ClaimDue(due) = request else { return true };
        let in_order = self.powers.due_order && !self.model.takes_turns(due);
        in_order || self.model.count_due(due) < 2
    }

    fn note_life(&mut self, request: &Request) {
        let Some((key, _)) = request.creates() else { return };
        for who in Who::ALL.into_iter().filter(|who| who.key() == *key) {
            let born = self.model.life(key).map(|life| life.row.incarnation);
            if born == Some(self.incarnation(who, 1)) {
                self.lives[who as usize] += 1;
            }
        }
    }

    /// Returns the incarnation of the life that is `ahead` lives after the newest, or before it if `ahead` is negative.
    pub(super) fn incarnation(&self, who: Who, ahead: i64) -> Incarnation {
        let life = self.lives[who as usize].saturating_add_signed(ahead);
        // The distinguishing digits come first, where a failure shows them.
        Incarnation(Uuid::from_u128((1 << 28 | u128::from(life) << 8 | who as u128) << 96))
    }
}

impl Who {
    pub(crate) const ALL: [Self; 3] = [Self::A, Self::B, Self::Z];

    pub(crate) fn key(self) -> SessionKey {
        match self {
            Self::A => key_of("acme", "a"),
            Self::B => key_of("acme", "b"),
            Self::Z => key_of("other", "a"),
        }
    }
}

pub(super) fn duration(span: Span) -> Duration {
    match span {
        Span::NoTime => Duration::ZERO,
        Span::Moment => Duration::from_secs(1),
        Span::MostOfALease => LEASE * 2 / 3,
        Span::Lease => LEASE,
    }
}
