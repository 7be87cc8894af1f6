//! Derives what must be found after a crash from the action at which the run stopped.
//!
//! For each call, the run without a fault shows when its `allow`, its start mark and its result became durable, and
//! when it was sent. The crash falls between two of these. The tool's class then decides (design, section 5):
//!
//! | stop | read_only | idempotent | at_most_once | dangerous |
//! |---|---|---|---|---|
//! | before the `allow` was durable | runs | runs | runs | runs |
//! | allowed, no mark | runs | runs | runs | cancelled, `system:safety` |
//! | marked, not sent | runs | runs | in doubt, never sent | in doubt, never sent |
//! | sent, result not durable | runs again | runs again | in doubt, sent once | in doubt, sent once |
//! | result durable | as it was | as it was | as it was | as it was |

use holdover_core::ids::CallId;
use holdover_core::machine::DoneReason;
use holdover_core::message::ResultStatus;
use holdover_core::store::SessionStatus;
use holdover_core::tool::EffectClass;

use super::driver::Point;
use super::scenario::{CREW, End, TEAM, WAIT, find};
use super::sends::Send;

pub(crate) struct Expected {
    pub(crate) end: End,
    /// For each call: its id, its tool, and the least and most times that it may be sent.
    pub(crate) sends: Vec<(CallId, &'static str, usize, usize)>,
}

/// The calls of the scenario, with their results in a run without a fault.
const CALM: [(&str, &str, ResultStatus); 22] = [
    ("c1-0", "look", ResultStatus::Done),
    ("c1-1", "look", ResultStatus::Done),
    ("c2-0", "put", ResultStatus::Done),
    ("c2-1", "pay", ResultStatus::Done),
    ("c2-2", "note", ResultStatus::Done),
    ("c2-3", "fail", ResultStatus::Error),
    ("c3-0", "edit", ResultStatus::Done),
    ("c3-1", "wipe", ResultStatus::Done),
    ("c3-2", "bill", ResultStatus::RejectedByUser),
    ("c3-3", "ask", ResultStatus::Done),
    ("c3-4", "nap", ResultStatus::Done),
    ("c3-5", "look", ResultStatus::Done),
    ("c3-6", TEAM, ResultStatus::Done),
    ("c4-0", "put", ResultStatus::Done),
    ("c4-1", "drop", ResultStatus::Done),
    ("c4-2", "edit", ResultStatus::Done),
    ("c5-0", CREW, ResultStatus::Done),
    ("c6-0", WAIT, ResultStatus::Done),
    ("c8-0", "slow", ResultStatus::InDoubt),
    ("c8-1", "gentle", ResultStatus::Cancelled),
    ("c8-2", "held", ResultStatus::Cancelled),
    ("c8-3", TEAM, ResultStatus::Cancelled),
];

/// The tools whose calls are never sent in a run without a fault.
const NEVER_SENT: [&str; 6] = ["bill", "ask", "held", TEAM, CREW, WAIT];

struct Life {
    allowed: Option<usize>,
    marked: Option<usize>,
    sent: Option<usize>,
    settled: Option<usize>,
}

impl Life {
    fn of(call: &CallId, points: &[Point]) -> Self {
        let first = |holds: &dyn Fn(&Point) -> bool| points.iter().position(holds).map(|at| at + 1);
        Self {
            allowed: first(&|point| point.allowed.contains(call)),
            marked: first(&|point| point.marked.contains(call)),
            sent: first(&|point| point.sent.as_ref().is_some_and(|(sent, _)| sent == call)),
            settled: first(&|point| point.settled.contains(call)),
        }
    }
}

impl Expected {
    pub(crate) fn calm() -> Self {
        Self::after(&[], 0)
    }

    /// Returns what must be found when a run stopped after action `stop` of these points, counted from 1.
    pub(crate) fn after(points: &[Point], stop: usize) -> Self {
        let passed = |at: Option<usize>| at.is_some_and(|at| at <= stop);
        let mut results = Vec::new();
        let mut sends = Vec::new();
        for (id, tool, calm) in CALM {
            let tool = find(tool);
            let id = CallId::new(id).unwrap();
            let life = Life::of(&id, points);
            let (mut status, mut least, mut most) = match calm {
                _ if NEVER_SENT.contains(&tool.name) => (calm, 0, 0),
                _ => (calm, 1, 1),
            };
            let out = passed(life.marked) && !passed(life.settled);
            let sent_before = usize::from(passed(life.sent));
            match (tool.dangerous, tool.effect) {
                (true, _) if passed(life.allowed) && !passed(life.marked) => {
                    (status, least, most) = (ResultStatus::Cancelled, 0, 0);
                }
                (true, _) | (false, EffectClass::AtMostOnce) if out => {
                    (status, least, most) = (ResultStatus::InDoubt, sent_before, sent_before);
                }
                (false, EffectClass::Idempotent) if out => {
                    (least, most) = (1 + sent_before, 1 + sent_before);
                }
                (false, EffectClass::ReadOnly) if most > 0 => most = 2,
                _ => {}
            }
            results.push((tool.name, status));
            sends.push((id, tool.name, least, most));
        }
        let mut expected = Self {
            end: End {
                turns: vec![DoneReason::ModelStop, DoneReason::UserAbort, DoneReason::UserAbort],
                results,
                status: SessionStatus::Interrupted,
            },
            sends,
        };
        expected.stop_is_asked_for_by_the_send(points, stop);
        expected
    }

    /// Corrects the expectation for a crash after the start mark of `slow` and before its sending. A person stops the
    /// second turn when `slow` is sent. After such a crash `slow` ends in doubt, so no stop is asked for: `held` is
    /// approved and runs, and the last call waits for its children.
    fn stop_is_asked_for_by_the_send(&mut self, points: &[Point], stop: usize) {
        let slow = Life::of(&CallId::new("c8-0").unwrap(), points);
        let (Some(marked), Some(sent)) = (slow.marked, slow.sent) else { return };
        if marked <= stop && stop < sent {
            self.end.turns[1] = DoneReason::ModelStop;
            let held = self.sends.iter().position(|(_, tool, ..)| *tool == "held").unwrap();
            self.end.results[held].1 = ResultStatus::Done;
            self.end.results[held + 1].1 = ResultStatus::Done;
            (self.sends[held].2, self.sends[held].3) = (1, 1);
        }
    }

    pub(crate) fn check_world(&self, sends: &[Send], stop: usize, at: &Point) {
        for (call, tool, least, most) in &self.sends {
            let count = sends.iter().filter(|send| send.call == *call).count();
            assert!(
                (*least..=*most).contains(&count),
                "stopped after action {stop} ({at:?}): {tool} ({call}) was sent {count} times, \
                 expected {least} to {most}"
            );
        }
        let known = |send: &Send| self.sends.iter().any(|(call, ..)| *call == send.call);
        assert!(sends.iter().all(known), "a call that nobody asked for: {sends:?}");
    }
}
