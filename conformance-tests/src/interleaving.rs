//! Splits operations over several sessions into parts.
//!
//! No operation is atomic over several sessions. The change that `purge` makes to each session is a write of its own,
//! and these writes may come in any order. A fork reads its source at one instant and is made at a later one. So two
//! concurrent operations have one possible result for each order of their parts. An operation on one session has one
//! part.

use holdover_store::ids::SessionKey;
use holdover_store::{Answer as Answered, PurgeReport, Request};

use crate::model::{Life, Model};
use crate::script::{Answer, Asking};

/// One part of a request.
#[derive(Clone)]
enum Part {
    /// The whole request.
    Whole,
    /// The part of a purge that concerns one session.
    Purge(SessionKey),
    /// The read of a fork's source.
    Read,
    /// The creation of the fork, if its source was there.
    Make,
}

/// The progress of two requests.
#[derive(Clone)]
struct Underway {
    model: Model,
    answers: [Option<Answer>; 2],
    read: [Option<Life>; 2],
}

/// Returns the possible ends of two requests that are made at one instant: the answers and the model afterwards. `keys`
/// are all sessions concerned. The first two ends are those in which one request is over before the other begins.
pub(crate) fn ends(model: &Model, requests: [&Request; 2], keys: &[SessionKey]) -> Vec<([Answer; 2], Model)> {
    let begin = Underway { model: model.clone(), answers: [None, None], read: [None, None] };
    let orders = requests.map(|request| orders(request, keys));
    let mut ends = Vec::new();
    for first in [0, 1] {
        let one_by_one = |at: usize| orders[at].first().into_iter().flatten().map(move |part| (at, part));
        let parts = one_by_one(first).chain(one_by_one(1 - first));
        ends.push(parts.fold(begin.clone(), |underway, (at, part)| underway.after(requests, at, part)));
    }
    for one in &orders[0] {
        for other in &orders[1] {
            interleave(begin.clone(), requests, [one, other], &mut ends);
        }
    }
    let ended = ends.into_iter().filter_map(|end| match end.answers {
        [Some(one), Some(other)] => Some(([one, other], end.model)),
        _ => None,
    });
    ended.collect()
}

/// Returns the possible orders of a request's parts. The parts of a purge may come in the order of `keys` or in
/// reverse, which is every order of two sessions.
fn orders(request: &Request, keys: &[SessionKey]) -> Vec<Vec<Part>> {
    if let Request::Purge(rule) = request
        && rule.check().is_ok()
    {
        let parts: Vec<Part> = keys.iter().cloned().map(Part::Purge).collect();
        return vec![parts.clone(), parts.into_iter().rev().collect()];
    }
    if let Request::Fork(from, _, new) = request
        && new.check(from).is_ok()
    {
        return vec![vec![Part::Read, Part::Make]];
    }
    vec![vec![Part::Whole]]
}

/// Adds every end that the remaining parts can lead to.
fn interleave(underway: Underway, requests: [&Request; 2], left: [&[Part]; 2], ends: &mut Vec<Underway>) {
    let mut over = true;
    for at in [0, 1] {
        let Some((part, rest)) = left[at].split_first() else { continue };
        over = false;
        let mut left = left;
        left[at] = rest;
        interleave(underway.clone().after(requests, at, part), requests, left, ends);
    }
    if over {
        ends.push(underway);
    }
}

impl Underway {
    /// Applies one more part of one of the requests.
    fn after(mut self, requests: [&Request; 2], at: usize, part: &Part) -> Self {
        let request = requests[at];
        match (part, request) {
            (Part::Purge(key), Request::Purge(rule)) => {
                let mut report = match self.answers[at].as_ref().and_then(Answer::answered) {
                    Some(Answered::Purged(report)) => report.clone(),
                    _ => PurgeReport::default(),
                };
                let removed = self.model.purge_one(rule, key);
                report.sessions += removed.sessions;
                report.checkpoints += removed.checkpoints;
                self.answers[at] = Some(report.into());
            }
            (Part::Read, Request::Fork(from, place, new)) => {
                match self.model.read_for_fork(from, *place, new) {
                    Ok(life) => self.read[at] = Some(life),
                    Err(refused) => self.answers[at] = Some(refused.into()),
                }
            }
            (Part::Make, Request::Fork(_, place, new)) => {
                if let Some(life) = self.read[at].take() {
                    self.answers[at] = Some(self.model.make_fork(life, *place, new).into());
                }
            }
            _ => self.answers[at] = Some(request.ask_model(&mut self.model)),
        }
        self
    }
}
